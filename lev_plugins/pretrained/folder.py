"""From a folder to a backbone, and from a line of JSON to the same modules."""

import json
from dataclasses import asdict
from typing import Any

from fairseq.data import Dictionary

from lev_runtime.errors import UserError

from ..nn.backbone import Backbone
from .bert_bart import BartConfig, BertConfig
from .directory import Directory
from .t5 import T5Config
from .vocabulary import read_vocabulary
from .weights import WeightLoader

CONFIGS: dict[str, Any] = {"bert": BertConfig, "bart": BartConfig, "t5": T5Config}


class Pretrained:
    """A folder that was read; what it lacks or should not hold raises :class:`UserError`.

    kind: bert, bart or t5. config: its sizes. unused: tensors that were of no use.
    """

    def __init__(self, path: str) -> None:
        self.directory = Directory(path)
        self.kind = self.directory.kind
        self.loader = WeightLoader(self.directory)
        self.config = CONFIGS[self.kind].read(self.directory, self.loader)
        self.config.check(path)
        self.vocabulary = read_vocabulary(self.directory)
        self.unused: list[str] = []

    def description(self) -> str:
        """Returns what :func:`build_backbone` needs: one line of JSON."""
        sizes = asdict(self.config)
        plan = {name: value for name, value in sizes.items() if "dropout" not in name}
        description = {"kind": self.kind, "mask": self.vocabulary.mask, "plan": plan}
        return json.dumps(description)

    def backbone(
        self, source: Dictionary, target: Dictionary, tie: bool = False, **dropouts: float
    ) -> Backbone:
        """Returns an encoder-decoder with the weights in it.

        Args:
            source, target: symbols of the checkpoint, some or all, in any order.
            tie: BERT's decoder is its encoder, but for the cross-attention.
            dropouts: three rates, named as in fairseq.
        """
        rows = self.vocabulary.rows_of(source.symbols), self.vocabulary.rows_of(target.symbols)
        try:
            backbone = build_backbone(self.description(), source, target, tie, **dropouts)
        except (ArithmeticError, LookupError, RuntimeError, TypeError) as error:
            message = f"no model can be made of its config.json ({error!r:.200})"
            raise UserError(f"{self.directory.path}: {message}") from None
        self.config.load(self.loader, backbone, rows)
        self.unused = self.loader.check_unused(self.config.ignored_tensors)
        return backbone


def build_backbone(
    description: str, source: Dictionary, target: Dictionary, tie: bool = False, **dropouts: float
) -> Backbone:
    """Returns the modules of :meth:`Pretrained.backbone`, randomly initialised, for a saved model
    to be loaded into; arguments as there, and equal to what they were.
    """
    kind, config, mask = read_description(description)
    if tie and kind != "bert":
        raise UserError(
            f"--tie-backbone only works with BERT; {kind} has a decoder of its own, so leave it out"
        )
    backbone: Backbone = config.build(source, target, tie, dropouts)
    backbone.mask = source.indices.get(mask)
    return backbone


def read_description(description: str) -> tuple[str, Any, str | None]:
    """Returns kind, sizes, and the symbol of a masked token, of :meth:`Pretrained.description`."""
    values = json.loads(description)
    config = CONFIGS[values["kind"]](**values["plan"])
    return values["kind"], config, values["mask"]
