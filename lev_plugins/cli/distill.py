"""Sequence-level distillation: a bitext whose targets are a teacher's translations.

    python -m lev_plugins.cli.distill --path teacher.pt --data DATA-BIN \
        --source train.en --reference train.de --output-prefix out/train

The second expert of the paper (§3.2): a left-to-right model, trained on the same data, translates
every source by beam search, and its outputs stand for the targets (Kim and Rush 2016). Out come
``out/train.en``, the source byte for byte, and ``out/train.de``, line n of which belongs to line n
of the source.

The text is as preprocess was given it: tokens or subwords between spaces. A translation that
cannot be right (:func:`judge`) gives way to the reference where there is one, and is kept and
counted where there is none. Finished lines go into a journal beside the outputs, a chunk at a
time, from which ``--resume`` takes an interrupted run up; the outputs appear at the end, both.
"""

import argparse
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.text_files import require_files
from ..registration import register
from .options import adder, at_least_one, make_parser

if TYPE_CHECKING:
    from ..inference.distillation.text import Files


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "distill",
        "Translate a text with a trained left-to-right model by beam search and write "
        "the bitext to train an editor on (sequence-level knowledge distillation).",
        "--path teacher.pt --data data-bin --source train.en "
        "--reference train.de --output-prefix distilled/train --beam 5 --lenpen 0.6",
    )
    add = adder(parser)
    add(
        "--path CHECKPOINT",
        "the teacher, a checkpoint of fairseq's task translation or its folder; a.pt:b.pt is an "
        "ensemble",
        required=True,
    )
    add("--data DIR", "folder with the teacher's dictionaries", required=True)
    add("--source FILE", "text as preprocess was given it", required=True)
    add(
        "--output-prefix PREFIX",
        "PREFIX.SOURCE-LANG and PREFIX.TARGET-LANG are written; neither may be there yet",
        required=True,
    )
    add("--reference FILE", "the real targets, for lines that the teacher fails")
    for side in ("source", "target"):
        add(f"--{side}-lang LANG", f"{side} language (default: the teacher's)")
    _add_search_options(parser)
    _add_running_options(parser)
    return parser


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "search", "As in fairseq-generate, but <unk> is never written."
    )
    add = adder(group)
    add("--beam N", "beam size (default: 5)", 5)
    add("--lenpen P", "length penalty (default: 1)", 1.0)
    add(
        "--interpolate",
        "of the beam's translations take the one nearest to the reference by sentence BLEU; needs "
        "--reference",
    )
    add(
        "--max-len-a A",
        "a translation has at most A * source tokens + B tokens (default: 0). Above 0 only "
        "sources of one length share a batch, since the longest of a batch counts",
        0.0,
    )
    add("--max-len-b B", "see --max-len-a (default: 200)", 200)
    add(
        "--max-ratio R",
        "a translation fails that has more than R times the source's tokens, or less than an "
        "Rth of them, by more than 5 tokens; inf for any (default: 3)",
        3.0,
    )


def _add_running_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("running", "Outputs depend on none of these but --fp16.")
    add = adder(group)
    add(
        "--max-tokens N",
        "most source tokens in a batch, padding counted; a longer line is a batch of its own "
        "(default: 4000)",
        4000,
    )
    add("--batch-size N", "most sentences in a batch (default: any)", type=int)
    add(
        "--chunk-size N",
        "lines that are sorted by length together and saved together (default: 4096)",
        4096,
    )
    add("--cpu", "leave the GPU alone")
    add("--fp16", "half precision, on a GPU; close calls may differ")
    add("--resume", "take up an interrupted run, or begin if none was")


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse ``argv`` (None: the command line); raises :class:`UserError` for impossible values."""
    args = build_parser().parse_args(argv)
    at_least_one(args, "beam", "max_len_b", "max_tokens", "batch_size", "chunk_size")
    if not 0 <= args.max_len_a < math.inf:
        raise UserError(f"--max-len-a {args.max_len_a}: must be 0 or more")
    if not math.isfinite(args.lenpen):
        raise UserError(f"--lenpen {args.lenpen}: must be a number")
    if not args.max_ratio >= 1:
        raise UserError(f"--max-ratio {args.max_ratio}: must be 1 or more, or inf for any length")
    if args.interpolate and (args.reference is None or args.beam == 1):
        raise UserError("--interpolate chooses by --reference in a --beam above 1: give both")
    if args.fp16:
        import torch

        if args.cpu or not torch.cuda.is_available():
            raise UserError("--fp16 needs a GPU; leave it out")
    return args


def require_inputs(args: argparse.Namespace) -> None:
    """Raise :class:`UserError` where a file or folder that the options name is not there."""
    from ..inference.checkpoints import find_checkpoints

    find_checkpoints(args.path)
    require_files([path for path in (args.source, args.reference) if path is not None])
    if not os.path.isdir(args.data):
        raise UserError(f"--data {args.data}: no such folder; give the teacher's data folder")
    require_place("--output-prefix", args.output_prefix)
    if os.path.basename(args.output_prefix) == "":
        raise UserError(
            f"--output-prefix {args.output_prefix}: names a folder; give {args.output_prefix}train"
        )


def run_settings(
    args: argparse.Namespace, files: "Files", languages: Sequence[str]
) -> dict[str, object]:
    """All that the distilled lines depend on, by the flag that sets it."""
    from ..data.binarization import dictionary_path
    from ..inference.checkpoints import find_checkpoints
    from ..inference.distillation.journal import digest

    flags = ("beam", "lenpen", "max_len_a", "max_len_b", "max_ratio", "chunk_size", "fp16")
    return {
        "--path": digest(find_checkpoints(args.path)),
        "--data": digest([dictionary_path(args.data, lang) for lang in languages]),
        "--source": digest([files.source]),
        "--reference": digest(files.inputs[1:]),
        **{"--" + flag.replace("_", "-"): getattr(args, flag) for flag in flags},
        **({"--interpolate": True} if args.interpolate else {}),  # older journals lack it
    }


def require_place(flag: str, path: str) -> None:
    """Refuse a file to write whose folder is not there and cannot be made (:func:`made_folder`)."""
    folder = os.path.dirname(path) or "."
    missing = _missing_folders(folder)
    there = (os.path.dirname(missing[-1]) or ".") if missing else folder
    if not os.path.isdir(there) or not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{flag} {path}: {there} is no folder to write to; choose another one")


@contextmanager
def made_folder(path: str) -> Iterator[None]:
    """Make the folder of a file to write; it goes again where anything fails and it is empty.

    Raises:
        UserError: it cannot be made.
    """
    missing = _missing_folders(os.path.dirname(path) or ".")
    try:
        if missing:
            os.makedirs(missing[0], exist_ok=True)
    except OSError as error:
        raise UserError(f"{missing[0]}: cannot be made ({error.strerror})") from error
    try:
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):
                os.rmdir(folder)
        raise


def _missing_folders(folder: str) -> list[str]:
    """The folder and those above it that are not there, the deepest first."""
    missing = []
    while folder and not os.path.exists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError` with no output written."""
    args = parse_args(argv)
    register(lean=True)
    from ..data.binarization import dictionary_path
    from ..inference.distillation.journal import Journal
    from ..inference.distillation.lines import decode_all
    from ..inference.distillation.teacher import load_teacher
    from ..inference.distillation.text import check_text, plan_files, publish
    from ..reports.distillation import SUSPICIOUS, summarise

    require_inputs(args)
    teacher, languages = load_teacher(args)
    files = plan_files(args.source, args.reference, args.output_prefix, languages, args.resume)
    text = check_text(files, teacher)
    if text.unknown > SUSPICIOUS * text.tokens:
        print(
            f"note: {text.unknown / text.tokens:.1%} of the source tokens are not in "
            f"{dictionary_path(args.data, languages[0])}; the text has to be cut as it was for "
            "preprocess",
            file=sys.stderr,
        )
    settings = run_settings(args, files, languages)
    with (
        made_folder(args.output_prefix),
        Journal(files.journal, settings, args.chunk_size, text.lines) as journal,
    ):
        if journal.done:
            print(f"resuming after line {journal.done:,} of {text.lines:,}", file=sys.stderr)
        decode_all(files, journal, teacher, text.lines, args)
        figures = publish(files, journal)
        os.unlink(files.journal)
    print(summarise(args, files, figures, languages))
    return 0


if __name__ == "__main__":
    run_cli(main)
