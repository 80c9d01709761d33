"""Writes a trained model as a folder that ``lev_runtime`` decodes without torch and fairseq.

ONNX graphs, dictionaries, the subword model and settings; for ``levenshtein_editor``, ``enct5``,
``pbd_transformer``, ``transformer_concat``, ``gated_transformer`` and fairseq's own
``transformer``. Beside a corrector's
model also its settings and lists, which load at once.
"""

import argparse
import os
from collections.abc import Callable, Sequence

from lev_runtime.errors import require_extra
from lev_runtime.io.options import (
    add_model_data,
    adder,
    at_least_one,
    make_parser,
    text_processing,
)

from ..registration import register


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
    add("--card", "also write README.md, with the head that model hubs read")
    add("--license NAME", "licence of the model, for --card (default: unknown)", "unknown")
    add("--safetensors", "also write the parameters as model.safetensors, by fairseq's names")
    about = "iterations of a LevT unless its user says another number (default: 10)"
    add("--max-iter N", about, type=int)
    add_model_data(add, none=", or none", advanced=True)
    return parser


def _completing(args: argparse.Namespace) -> Callable[[str], None]:
    """Returns what writes the rest of an export into its folder."""
    from ..export.hub import write_card, write_safetensors
    from ..inference.checkpoints import find_checkpoint, load_state
    from ..inference.correcting import settings_writer

    write_settings = settings_writer(args.checkpoint)

    def complete(folder: str) -> None:
        write_settings(folder)
        if args.card or args.safetensors:
            state = load_state(find_checkpoint(args.checkpoint))
        if args.card:
            write_card(folder, state, os.path.basename(os.path.abspath(args.out)), args.license)
        if args.safetensors:
            write_safetensors(folder, state)

    return complete


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command; raises :class:`.UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    at_least_one(args, "max_iter")
    require_extra("train", "export")
    if args.safetensors:
        require_extra("export", modules=["safetensors"])
    register()
    from ..export.folder import export

    processing = text_processing(args)
    complete = _completing(args)
    export(args.checkpoint, args.out, args.int8, args.data, complete, args.max_iter, **processing)
    print(f"{args.out}: exported for lev_runtime")
