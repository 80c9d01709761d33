"""What fairseq's commands read: typed lines, text for ``--bpe``."""

import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairseq import checkpoint_utils
from fairseq.dataclass import FairseqDataclass
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY, FairseqLanguageModel
from fairseq.registry import REGISTRIES
from hydra.core.config_store import ConfigStore
from torch import Tensor

from ..errors import UserError
from ..io.lines import chunks, typed_lines
from ..io.patching import Stock, patches
from ..io.program import program_modules
from ..io.text_files import plain_spaces
from .imports import is_lean, untouched_root_logger


def read_interactive_lines(input: str, buffer_size: int) -> Iterator[list[str]]:
    """Stands in for ``fairseq_cli.interactive.buffered_read`` (``input``: a file, or ``-``).

    Fault: fairseq strips every line, so that spaces at its ends, which are text of a file that is
    binarised, are lost, as is a tab (an empty source, an empty draft); it ends a line at a lone
    carriage return and reads in the locale's encoding. It waits for ``buffer_size`` lines, however
    long none comes, and what it has printed stays in a buffer of Python's.

    Returns:
        the lines as they stand, up to ``buffer_size`` at a time.
    """
    for buffer in chunks(typed_lines(input), input, buffer_size):
        yield buffer
        sys.stdout.flush()


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

    with untouched_root_logger():
        eval_lm = importlib.import_module("fairseq_cli.eval_lm")
    stock_eval_lm = eval_lm.main

    def main(cfg: Any, **options: Any) -> Any:
        """Fault: a model that is no language model ends in a traceback, as late as it can."""
        _require_language_model(cfg.common_eval.path)
        return stock_eval_lm(cfg, **options)

    for module in program_modules("eval_lm"):
        vars(module)["main"] = main


def _require_language_model(path: str) -> None:
    """Raises :class:`UserError` for a checkpoint of any other model."""
    if not (path and os.path.isfile(path)):
        return  # which fairseq tells
    cfg = checkpoint_utils.load_checkpoint_to_cpu(path)["cfg"].model
    name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
    model = ARCH_MODEL_REGISTRY.get(name) or MODEL_REGISTRY.get(name)
    if model is not None and not issubclass(model, FairseqLanguageModel):
        raise UserError(
            f"{path}: {name} is no language model, and fairseq-eval-lm takes no other; "
            "fairseq-validate gives the loss of any model"
        )


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
