"""What fairseq's commands read: typed lines, text for ``--bpe``."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.registry import REGISTRIES
from hydra.core.config_store import ConfigStore
from torch import Tensor

from ..io.lines import typed_lines
from ..io.patching import Stock, patches
from ..io.program import program_modules
from ..io.text_files import plain_spaces
from .imports import is_lean, untouched_root_logger


def read_interactive_lines(input: str, buffer_size: int) -> Iterator[list[str]]:
    """Stands in for ``fairseq_cli.interactive.buffered_read`` (``input``: a file, or ``-``).

    Fault: fairseq strips every line, so a tab at either end (an empty source, an empty draft) is
    lost; it also ends a line at a lone carriage return and reads in the locale's encoding.

    Returns:
        ``buffer_size`` lines at a time, without spaces at the ends of what stands between tabs.
    """
    cut = (line.split("\t") for line in typed_lines(input))
    found = ("\t".join(field.strip() for field in fields) for fields in cut)
    while buffer := list(islice(found, buffer_size)):
        yield buffer


if not is_lean():
    bleu = importlib.import_module("fairseq.scoring.bleu")

    @patches(bleu.Scorer, "add")
    def add(stock: Stock, self: Any, ref: Tensor, pred: Tensor) -> None:
        """Fault: the <s> of an edit model's text counts as a word, and a right one."""
        stock(self, *(one[one != 0] for one in (ref, pred)))

    with untouched_root_logger():  # the module sets up logging when it is imported
        importlib.import_module("fairseq_cli.interactive")
    for module in program_modules("interactive"):
        vars(module)["buffered_read"] = read_interactive_lines


@dataclass
class PlainEncoderConfig(FairseqDataclass):
    """No options: ``--bpe characters`` has no config dataclass, without which it is not taken."""


_known = REGISTRIES["bpe"]
if _known["dataclass_registry"].get("characters") is None:
    _known["dataclass_registry"]["characters"] = PlainEncoderConfig
    _node = PlainEncoderConfig()
    _node._name = "characters"
    ConfigStore.instance().store(name=_node._name, group="bpe", node=_node, provider="fairseq")


def _encode(stock: Stock, *arguments: object, **named: object) -> str:
    """Fault: another space than the plain one becomes a part of a token, or joins words."""
    *owner, text = (*arguments, *named.values())
    return str(stock(*owner, plain_spaces(str(text))))


for name in ("sentencepiece", "characters", "subword_nmt"):
    patches(_known["registry"][name], "encode")(_encode)
