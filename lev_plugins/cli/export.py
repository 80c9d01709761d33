"""Writes a trained model as a folder that ``lev_runtime`` decodes without torch and fairseq.

ONNX graphs, dictionaries, the subword model and settings; for ``levenshtein_editor``, ``enct5``,
``pbd_transformer``, ``transformer_concat`` and fairseq's own ``transformer``. Beside a corrector's
model also its settings and lists, which load at once.
"""

import argparse
from collections.abc import Sequence

from lev_runtime.errors import require_extra
from lev_runtime.io.options import (
    add_model_data,
    adder,
    make_parser,
    text_processing,
)


def build_parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    about = "Export a trained model to a folder that lev_runtime runs without torch and fairseq."
    parser = make_parser("export", about, "checkpoints/checkpoint_best.pt exported --int8")
    add = adder(parser)
    add("checkpoint CHECKPOINT", "checkpoint or its folder")
    add("out FOLDER", "new folder, complete or not written at all")
    add(
        "--int8",
        "8-bit layers: smaller and faster; near ties may end differently, in every batch alike",
    )
    add_model_data(add, none=", or none", advanced=True)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command; raises :class:`.UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    require_extra("train", "export")
    from ..export.folder import export
    from ..inference.correcting import settings_writer

    write_settings = settings_writer(args.checkpoint)
    processing = text_processing(args)
    export(args.checkpoint, args.out, args.int8, args.data, write_settings, **processing)
    print(f"{args.out}: exported for lev_runtime")
