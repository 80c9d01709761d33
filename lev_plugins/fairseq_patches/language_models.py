"""Fault: fairseq-eval-lm ends in a traceback, late, for a model that is no language model."""

import importlib
import os
from typing import Any

from fairseq import checkpoint_utils
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY, FairseqLanguageModel

from lev_runtime.errors import UserError

from ..io.patching import Stock, patches
from ..io.program import program_modules
from .imports import untouched_root_logger


def evaluate(stock: Stock, cfg: Any, **options: Any) -> Any:
    """fairseq-eval-lm's; raises :class:`UserError` for a checkpoint of any other model."""
    path = cfg.common_eval.path
    if path and os.path.isfile(path):  # else fairseq says so
        settings = checkpoint_utils.load_checkpoint_to_cpu(path)["cfg"].model
        name = getattr(settings, "_name", None) or getattr(settings, "arch", None)
        model = ARCH_MODEL_REGISTRY.get(name) or MODEL_REGISTRY.get(name)
        if model is not None and not issubclass(model, FairseqLanguageModel):
            raise UserError(
                f"{path}: {name} is not a language model, which fairseq-eval-lm needs; "
                "fairseq-validate reports the loss of any model"
            )
    return stock(cfg, **options)


with untouched_root_logger():
    importlib.import_module("fairseq_cli.eval_lm")
for module in program_modules("eval_lm"):
    patches(module, "main")(evaluate)
