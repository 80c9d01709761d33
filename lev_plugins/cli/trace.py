"""Shows what a LevT did with a line, iteration by iteration.

Text goes to stdout, as in Figure 3 of the paper; ``--json`` writes one JSON object a line, with the
keys of :meth:`lev_runtime.history.EditTrace.to_dict`.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from lev_runtime.folder import is_export
from lev_runtime.io import lines
from lev_runtime.io.lines import (
    STANDARD_STREAM,
    json_line,
    progress,
    say_no_draft,
)
from lev_runtime.io.options import (
    add_model_data,
    adder,
    as_flags,
    at_least_one,
    make_parser,
    refuse_options,
    say,
    text_processing,
)
from lev_runtime.io.output import refuse_overwriting, standard_output, whole_file
from lev_runtime.io.signature import signature
from lev_runtime.refine.editor import Editor
from lev_runtime.text.sentences import TextEditor

from ..packaged import DEMO_LINES, ENGLISH_SPANISH
from ..registration import register
from ..reports.traces import render_text

Row = tuple[str, str | None, str | None]
GIVE_DRAFTS = "Give 'source<TAB>draft'; to correct the source itself: paste FILE FILE"
FORM = "a line is 'source', 'source<TAB>draft' or 'source<TAB>draft<TAB>old source'"


def build_parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = make_parser(
        "trace",
        "Show what a Levenshtein Transformer did with each line: the deletions and insertions of "
        "each iteration.",
        "--path checkpoint_best.pt < lines.txt",
    )
    add, files = adder(parser), {"nargs": "?", "const": STANDARD_STREAM}
    choose = adder(parser.add_mutually_exclusive_group(required=True))
    choose("--path CHECKPOINT", "checkpoint, its folder or one of lev-export")
    choose(
        "--demo",
        "the LevT of this package, which updates Spanish translations, on lines of its own",
    )
    form = "UTF-8 lines of 'source' or 'source<TAB>draft' (trained with "
    form += "--old-source: also '<TAB>old source') (default: standard input)"
    add("--input FILE", form)
    add(
        "--json FILE",
        "also write JSON lines; without FILE, print them instead of the text",
        **files,
    )
    add("--max-iter N", "maximum iterations (default: 10)", type=int)
    add("--signature", "tell version, model and settings, also in every JSON record")
    add("--markup", "read marks in drafts: [=keep=], [-delete-], [+term+]")
    add("--device NAME", "device, such as cuda (default: cpu)")
    add("--batch-size N", "sentences per batch (default: 64)", 64, advanced=True)
    add_model_data(add, advanced=True)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    if args.demo:
        args.path = str(ENGLISH_SPANISH)
    args.input = args.input or (str(DEMO_LINES) if args.demo else STANDARD_STREAM)
    at_least_one(args, "max_iter", "batch_size")
    refuse_overwriting({"--json": args.json}, [("--input", args.input)])
    if not lines.is_stream(args.input):
        for _ in _rows(args.input):  # names a line that cannot be read before the model loads
            pass
    with ExitStack() as stack:
        records = stack.enter_context(whole_file(args.json)) if args.json else None
        text = None if args.json == STANDARD_STREAM else standard_output()
        in_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        options = {"data": args.data, "device": args.device, **text_processing(args)}
        with as_flags(args):
            editor, draft_lang = _load(args.path, options)
        signed = {}
        if args.signature:
            markup = "yes" if args.markup else "no"
            signed["signature"] = signature(args.path, max_iter=args.max_iter or 10, markup=markup)
            say(f"signature: {signed['signature']}")
        rows = _noted(_rows(args.input), draft_lang)
        traces = editor.stream(
            lines.with_pauses(rows, args.input),
            max_iter=args.max_iter or 10,
            batch_size=args.batch_size,
            markup=args.markup,
            buffer=args.batch_size * lines.BATCHES_PER_CHUNK,
        )
        shown = progress(traces, "sentences", "-", args.input)
        for number, trace in enumerate(shown, start=1):
            if text is not None:
                text.write(("\n" if number > 1 else "") + render_text(trace, number, in_colour))
                text.flush()
            if records is not None:
                records.write(json_line({**trace.to_dict(), **signed}))
                records.flush()


def _load(path: str, options: Mapping[str, Any]) -> tuple[TextEditor, str | None]:
    """Returns the editor, and the name of its drafts; of an export, which needs no torch, None."""
    if is_export(path):
        refuse_options(options, "an export has its own, and computes on the CPU")
        return Editor(path), None
    register()
    from ..inference.editor import LevenshteinEditor

    editor = LevenshteinEditor.from_pretrained(path, **options)
    return editor, editor.task.draft_lang


def _rows(path: str) -> Iterator[Row]:
    """Yields source, draft and old source of each line; None after its last tab."""
    for fields in lines.input_fields(path, {1, 2, 3}, FORM):
        source, draft, old = [*fields, None, None][:3]
        yield source or "", draft, old


def _noted(rows: Iterable[Row], draft_lang: str | None) -> Iterator[Row]:
    """Yields the rows; tells of the first without a draft if the model was trained with some."""
    for number, row in enumerate(rows, start=1):
        if draft_lang and row[1] is None:
            say_no_draft(f"line {number} has no draft", draft_lang, GIVE_DRAFTS)
            draft_lang = None
        yield row
