"""From a folder to a backbone, and from a line of JSON to the same modules."""

import json
from dataclasses import asdict
from typing import Any

from fairseq.data import Dictionary
from torch import nn

from ..errors import UserError
from ..nn.backbone import Backbone
from .directory import Directory
from .filling import Filling
from .plans import BartPlan, BertPlan, T5Plan
from .vocabulary import read_vocabulary

PLANS: dict[str, Any] = {"bert": BertPlan, "bart": BartPlan, "t5": T5Plan}


def require_plan(directory: str, plan: str | None) -> None:
    """Refuses a checkpoint that does not say what sizes it has, of a model from a ``directory``."""
    if not plan:
        raise UserError(
            f"the checkpoint began with {directory}, and does not tell the sizes of that, as those "
            "of fairseq-hydra-train in versions up to 0.6: repeat its training command with one "
            "update more, which resumes it and notes them"
        )


class Pretrained:
    """A folder that was read; what it lacks or should not hold raises :class:`UserError`.

    kind: bert, bart or t5. plan: its sizes. left: tensors that were of no use.
    """

    def __init__(self, path: str) -> None:
        self.place = Directory(path)
        self.kind, self.filling, self.left = self.place.kind, Filling(self.place), list[str]()
        self.plan = PLANS[self.kind].read(self.place.config, self.filling)
        self.vocabulary = read_vocabulary(self.place)

    def description(self) -> str:
        """What :func:`build_backbone` needs to know: one line of JSON."""
        sizes = asdict(self.plan).items()
        plan = {name: value for name, value in sizes if "dropout" not in name}
        return json.dumps({"kind": self.kind, "mask": self.vocabulary.mask, "plan": plan})

    def backbone(
        self, source: Dictionary, target: Dictionary, tie: bool = False, **dropouts: float
    ) -> Backbone:
        """An encoder-decoder with the weights in it.

        source, target: symbols of the checkpoint, some or all, in any order. tie: BERT's decoder is
        its encoder, but for the cross-attention. dropouts: three rates, named as in fairseq.
        """
        rows = {
            "source": self.vocabulary.rows_of(source.symbols),
            "target": self.vocabulary.rows_of(target.symbols),
        }
        try:
            made = build_backbone(self.description(), source, target, tie, **dropouts)
            parts = {name: one for name, one in vars(made).items() if isinstance(one, nn.Module)}
            whole = nn.ModuleDict({**parts, "blocks": nn.ModuleList(made.blocks)})
            self.filling.fill(whole, self.plan.names(), rows, made.new)
            self.left = self.filling.finish(self.plan.left)
        except (ArithmeticError, LookupError, RuntimeError, TypeError) as error:
            said = f"no model can be made of its config.json ({error!r:.200})"
            raise UserError(f"{self.place.path}: {said}") from error
        return made


def build_backbone(
    description: str, source: Dictionary, target: Dictionary, tie: bool = False, **dropouts: float
) -> Backbone:
    """The modules of :meth:`Pretrained.backbone`, randomly initialised, for a saved model to be
    loaded into; arguments as there, and equal to what they were.
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
