"""From a folder to a backbone, and from a line of JSON to the same modules."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from fairseq.data import Dictionary
from torch import Tensor, nn

from ..errors import UserError
from ..nn.backbone import Backbone
from ..nn.t5 import FEED_FORWARD
from .directory import Directory, one_line
from .filling import Filling
from .post_norm import BartPlan, BertPlan
from .t5 import T5Plan
from .vocabulary import read_vocabulary

PLANS: dict[str, Any] = {"bert": BertPlan, "bart": BartPlan, "t5": T5Plan}


class Pretrained:
    """A folder that was read.

    kind: bert, bart or t5. plan: its sizes. left: tensors that were of no use.

    Raises:
        UserError: it lacks something or holds something else.
    """

    def __init__(self, path: str) -> None:
        self.place = Directory(path)
        self.kind, self.filling, self.left = self.place.kind, Filling(self.place), list[str]()
        self.plan = PLANS[self.kind].read(self.place.config, self.filling)
        activation = getattr(self.plan, "feed_forward", None) or self.plan.activation
        if activation not in FEED_FORWARD:
            raise UserError(
                f"{path}: its activation is {activation!r}; known are {', '.join(FEED_FORWARD)}"
            )
        self.vocabulary = read_vocabulary(self.place)
        if max(self.vocabulary.rows.values()) >= self.place.config.vocab_size:
            raise UserError(
                f"{path}: its tokenizer has more subwords than its weights have rows "
                f"({self.place.config.vocab_size}); the files belong to different models"
            )

    def description(self) -> str:
        """What :func:`build_backbone` needs to know: one line of JSON."""
        sizes = asdict(self.plan).items()
        plan = {name: value for name, value in sizes if "dropout" not in name}
        return json.dumps({"kind": self.kind, "mask": self.vocabulary.mask, "plan": plan})

    def backbone(
        self, source: Dictionary, target: Dictionary, tie: bool = False, **dropouts: float
    ) -> Backbone:
        """An encoder-decoder with the weights in it.

        Args:
            source, target: symbols of the checkpoint, in any order and not necessarily all of them.
            tie: BERT: the decoder is the encoder, but for the cross-attention.
            dropouts: ``dropout``, ``attention_dropout``, ``activation_dropout``, as in fairseq; the
                checkpoint's are not looked at.

        Raises:
            UserError: the folder lacks something; symbols that it does not know.
        """
        if self.kind == "t5" and not self.plan.decoder_layers:
            raise UserError(
                f"{self.place.path}: the encoder of a T5 alone; give a whole T5 (EncT5's --t5-dir "
                "needs no more than this)"
            )
        sides = {"source": source, "target": target}
        rows = {side: self.vocabulary.rows_of(one.symbols) for side, one in sides.items()}
        try:
            made = build_backbone(self.description(), source, target, tie, **dropouts)
            parts = {name: one for name, one in vars(made).items() if isinstance(one, nn.Module)}
            whole = nn.ModuleDict({**parts, "blocks": nn.ModuleList(made.blocks)})
            self.fill(whole, rows, made.new)
        except (ArithmeticError, RuntimeError, TypeError) as error:
            said = f"no model has the sizes of its config.json ({one_line(error)})"
            raise UserError(f"{self.place.path}: {said}") from error
        return made

    def fill(
        self,
        modules: nn.ModuleDict,
        rows: Mapping[str, Tensor],
        new: Iterable[nn.Module] = (),
        left: tuple[str, ...] = (),
    ) -> None:
        """:meth:`.Filling.fill`; and all tensors are accounted for, as :meth:`.Filling.finish`
        has it, ``left`` out besides what the kind leaves out.
        """
        self.filling.fill(modules, self.plan.names(), rows, new)
        self.left = self.filling.finish(self.plan.left + left)


def build_backbone(
    description: str, source: Dictionary, target: Dictionary, tie: bool = False, **dropouts: float
) -> Backbone:
    """The modules of :meth:`Pretrained.backbone`, randomly initialised, for a saved model to be
    loaded into; arguments as there, and equal to what they were.

    Raises:
        UserError: a kind that cannot be tied.
    """
    kind, plan, mask = read_description(description)
    if tie and kind != "bert":
        raise UserError(
            f"--tie-backbone: {kind} has a decoder of its own; leave the option out, it is for BERT"
        )
    made: Backbone = plan.build(source, target, tie, dropouts)
    made.mask = source.indices.get(mask)
    return made


def read_description(description: str) -> tuple[str, Any, str | None]:
    """Kind, sizes, and the symbol of a masked token, of :meth:`Pretrained.description`."""
    found = json.loads(description)
    return found["kind"], PLANS[found["kind"]](**found["plan"]), found["mask"]
