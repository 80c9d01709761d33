"""From a folder to a backbone."""

import dataclasses
import json
from dataclasses import dataclass
from types import ModuleType

from fairseq.data import Dictionary

from ..errors import UserError
from ..nn.backbone import Backbone
from . import bart, bert, t5
from .directory import Directory, Weights, few
from .filling import Filling, whole
from .parts import Dropouts, check_plan
from .vocabulary import Vocabulary, family, read_vocabulary

Plan = bart.BartPlan | bert.BertPlan | t5.T5Plan
KINDS: dict[str, tuple[ModuleType, type[Plan]]] = {
    "bart": (bart, bart.BartPlan),
    "bert": (bert, bert.BertPlan),
    "t5": (t5, t5.T5Plan),
}


def load_backbone(
    directory: str,
    source: Dictionary,
    target: Dictionary,
    *,
    dropout: float,
    attention_dropout: float,
    activation_dropout: float,
    tie: bool = False,
) -> Backbone:
    """An encoder-decoder with a checkpoint's weights.

    Args:
        directory: local folder: configuration, weights, tokenizer.
        source, target: symbols of the checkpoint, in any order and not necessarily all of them.
        dropout, attention_dropout, activation_dropout: as in fairseq; the checkpoint's are not
            looked at.
        tie: BERT: the decoder is the encoder, but for the cross-attention.

    Raises:
        UserError: a folder that lacks something or holds something else; symbols that the
            checkpoint does not know.
    """
    dropouts = Dropouts(dropout, attention_dropout, activation_dropout)
    backbone, _ = _filled(*_read(Directory(directory)), (source, target), dropouts, tie)
    return backbone


def describe_backbone(directory: str) -> str:
    """What :func:`build_backbone` needs to know of a folder: one line of JSON for a checkpoint.

    Raises:
        UserError: a folder that lacks something or holds something else.
    """
    kind, plan, _, vocabulary = _read(Directory(directory))
    mask = vocabulary.mask_symbol()
    return json.dumps({"kind": kind, "mask": mask, "plan": dataclasses.asdict(plan)})


def build_backbone(
    description: str,
    source: Dictionary,
    target: Dictionary,
    *,
    dropout: float,
    attention_dropout: float,
    activation_dropout: float,
    tie: bool = False,
) -> Backbone:
    """The modules that :func:`load_backbone` made, randomly initialised, for a saved model to be
    loaded into; arguments as there, and equal to what they were.

    Raises:
        UserError: the description is none of :func:`describe_backbone`.
    """
    kind, plan, mask = read_description(description)
    dropouts = Dropouts(dropout, attention_dropout, activation_dropout)
    backbone = KINDS[kind][0].build(plan, source, target, dropouts, _checked_tie(kind, tie))
    return _with_mask(backbone, source, mask)


def read_description(description: str) -> tuple[str, Plan, str | None]:
    """What :func:`describe_backbone` wrote: kind, sizes, and the symbol of a masked token.

    Raises:
        UserError: it is no description.
    """
    try:
        found = json.loads(description)
        kind, mask = found["kind"], found["mask"]
        plan = KINDS[kind][1](**found["plan"])
        check_plan(plan)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(
            f"not the description of a backbone ({error}): {str(description)[:80]!r}"
        ) from error
    return kind, plan, mask


SHOWN = 6  # names of tensors that are not used


@dataclass
class Inspection:
    """What a folder holds.

    kind: bert, bart or t5. sizes: name → number. loaded, new: parameters of the backbone that are
    the checkpoint's, and that are not. left: tensors that a backbone has no use for.
    """

    kind: str
    sizes: dict[str, object]
    vocabulary: Vocabulary
    dictionary: Dictionary
    loaded: int
    new: int
    left: list[str]

    def lines(self, directory: str) -> list[str]:
        """A fact a line; ``directory``: the folder."""
        from .bpe import tokenizer_name

        sizes = ", ".join(f"{name} {value}" for name, value in self.sizes.items())
        new = f"; {self.new:,} more are new in a tied decoder" if self.new else ""
        mask = self.vocabulary.mask_symbol()
        lines = [
            f"{directory}: {self.kind.upper()} ({sizes})",
            f"parameters: {self.loaded:,} loaded{new}",
            f"vocabulary: {len(self.vocabulary)} symbols, "
            + (f"masked ones are {mask}" if mask else "none for masked ones"),
            f"tokenizer: --bpe {tokenizer_name(Directory(directory))} --hf-directory {directory}",
        ]
        return [*lines, f"not used: {few(self.left, SHOWN)}"] if self.left else lines


def inspect(directory: str) -> Inspection:
    """Loads a folder to the last tensor, and says what was in it.

    Raises:
        UserError: a folder that lacks something or holds something else.
    """
    kind, plan, weights, vocabulary = _read(Directory(directory))
    dictionary = vocabulary.dictionary()
    both = dictionary, dictionary
    none = Dropouts(0.0, 0.0, 0.0)
    backbone, left = _filled(kind, plan, weights, vocabulary, both, none, kind == "bert")
    new = sum(one.numel() for part in backbone.new for one in part.parameters())
    total = sum(one.numel() for one in whole(backbone).parameters())
    sizes = dataclasses.asdict(plan)
    return Inspection(kind, sizes, vocabulary, dictionary, total - new, new, left)


def _filled(
    kind: str,
    plan: Plan,
    weights: Weights,
    vocabulary: Vocabulary,
    dictionaries: tuple[Dictionary, Dictionary],
    dropouts: Dropouts,
    tie: bool,
) -> tuple[Backbone, list[str]]:
    """A backbone with its weights, and the tensors that it has no use for."""
    module = KINDS[kind][0]
    rows = [vocabulary.rows_of(one) for one in dictionaries]
    backbone = module.build(plan, *dictionaries, dropouts, _checked_tie(kind, tie))
    filling = Filling(weights, module.LEFT)
    module.fill(backbone, plan, filling, *rows)
    left = filling.finish(whole(backbone), backbone.new)
    return _with_mask(backbone, dictionaries[0], vocabulary.mask_symbol()), left


def _read(place: Directory) -> tuple[str, Plan, Weights, Vocabulary]:
    kind = family(place)
    module, make = KINDS[kind]
    weights = place.weights().renamed(module.rename)
    plan = make.read(place.config, weights)
    vocabulary = read_vocabulary(place)
    highest = max(vocabulary.rows.values())
    if highest >= plan.rows:
        raise UserError(
            f"{vocabulary.file}: has a token of number {highest}, and {weights.file} {plan.rows} "
            "rows for them; the files belong to different models"
        )
    return kind, plan, weights, vocabulary


def _checked_tie(kind: str, tie: bool) -> bool:
    if tie and kind != "bert":
        raise UserError(
            f"--tie-backbone: {kind} has a decoder of its own; leave the option out, it is for BERT"
        )
    return tie


def _with_mask(backbone: Backbone, source: Dictionary, symbol: str | None) -> Backbone:
    backbone.mask = source.indices.get(symbol)
    return backbone
