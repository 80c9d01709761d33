"""Tiny models of the package beside their exports."""

from pathlib import Path
from typing import Any

import tiny
import torch

from lev_plugins import LevenshteinEditor
from lev_plugins.export.folder import editor_writer, write_folder
from lev_runtime import Editor


def with_biases(model: Any) -> Any:
    """The model, its biases no longer 0, as after training."""
    torch.manual_seed(4)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.3)
    return model


def both_editors(
    folder: Path,
    int8: bool = False,
    joined: bool = False,
    encoders: Any = (),
    counts: bool = False,
    **options: Any,
) -> tuple[LevenshteinEditor, Editor]:
    """An editor of :func:`tiny.task`'s letters, and the runtime's of its export.

    encoders: fairseq's tokenizer and subwords. counts: the number of deletions counts, which is
    zero at first.
    """
    task = tiny.task(joined)
    # more, and rounding decides of what comes out
    model = with_biases(tiny.sharpen(tiny.model(task, 3, **options), 2.0))
    if counts:
        torch.nn.init.normal_(model.deleted.count.weight)
    ours = LevenshteinEditor([model], task, *encoders)
    write_folder(folder, editor_writer(ours), int8)
    return ours, Editor(folder, threads=1)
