"""Show how a Levenshtein Transformer edits: every iteration of every sentence.

    python -m lev_plugins.cli.trace --path checkpoint_best.pt < lines.txt

A line is ``source``, or ``source<TAB>draft``. Text goes to stdout as in Figure 3 of the paper;
``--html FILE`` writes a page as well, ``--json`` one JSON object a line (the keys of
:meth:`lev_plugins.systems.levenshtein.decoding.history.EditTrace.to_dict`).
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ..errors import counted
from ..fairseq_patches import run_cli
from ..io.lines import (
    BATCHES_PER_CHUNK,
    STANDARD_STREAM,
    chunks,
    input_fields,
    is_stream,
    json_line,
)
from ..io.notes import GIVE_DRAFTS, say_no_draft
from ..io.output import refuse_overwriting, require_names, standard_output, whole_file
from ..io.progress import lines_of, progress
from ..registration import register
from .options import add_model_data, adder, at_least_one, make_parser, text_processing

if TYPE_CHECKING:
    from ..inference.editor import LevenshteinEditor
    from ..systems.levenshtein.decoding.history import EditTrace

Pair = tuple[str, str | None]
Sink = Callable[["EditTrace", int], object]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    _check(args)
    number = 0
    register(lean=True)
    traces: list[EditTrace] = []
    with ExitStack() as stack:
        # Outputs are opened first: a folder that cannot be written is told before the model loads.
        sinks = _sinks(args, stack)
        page = stack.enter_context(whole_file(args.html)) if args.html else None
        if page is not None:
            sinks.append(lambda trace, _: traces.append(trace))
        editor = load_editor(args.path, args.data, text_processing(args))
        pairs = _noted(_pairs(args.input), editor.draft_lang)
        edited = progress(_edited(editor, pairs, args), "sentences", lines_of(args.input), "-")
        for number, trace in enumerate(edited, start=1):
            for sink in sinks:
                sink(trace, number)
        if page is not None:
            title = args.title or f"Edits by {Path(args.path).name}"
            from ..reports.trace_page import render_html

            page.write(render_html(traces, title, joiner=args.joiner))
    for file in (args.json, args.html):
        if file and file != STANDARD_STREAM:
            print(f"{counted(number, 'sentence')} written to {file}", file=sys.stderr)


def load_editor(path: str, data: str | None, processing: dict[str, str]) -> "LevenshteinEditor":
    """Return the editor of a checkpoint; it is imported only here, to keep ``--help`` quick."""
    from ..inference.editor import LevenshteinEditor

    return LevenshteinEditor.from_pretrained(path, data=data, **processing)


def _pairs(path: str) -> Iterator[Pair]:
    """Source and draft of each line, an empty one too; no draft where there is no tab."""
    form = "a line is 'source' or 'source<TAB>draft'"
    prompt = "one line per sentence, 'source' or 'source<TAB>draft':"
    for source, *drafts in input_fields(path, prompt, {1, 2}, form):
        yield source, drafts[0] if drafts else None


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "trace",
        "Show every refinement iteration of a Levenshtein Transformer: what it "
        "deletes and what it inserts.",
    )
    add = adder(parser)
    add("--path CHECKPOINT", "the trained model", required=True)
    add_model_data(add)
    add(
        "--input FILE",
        "lines of 'source' or 'source<TAB>draft' in UTF-8 (default: stdin)",
        STANDARD_STREAM,
    )
    add("--markup", "drafts have marks: [=stays=], [-goes-], [+term+]; \\[= is text")
    add("--max-iter N", "most iterations (default: 10)", 10)
    add("--batch-size N", "sentences at once (default: 64)", 64)
    add("--html FILE", "also write a page that opens anywhere")
    add("--title TEXT", "title of the page (default: Edits by CHECKPOINT)")
    add(
        "--json FILE",
        "also write one JSON object a line; to stdout, in place of text, without FILE",
        nargs="?",
        const=STANDARD_STREAM,
    )
    add(
        "--color",
        "colours; without them marks are [-deleted-] and {+inserted+} (default: auto, which is "
        "never where NO_COLOR is set or stdout is no terminal)",
        "auto",
        choices=("auto", "always", "never"),
    )
    add(
        "--joiner TEXT",
        "what stands between tokens (default: nothing between characters, else a space)",
    )
    return parser


def _check(args: argparse.Namespace) -> None:
    at_least_one(args, "max_iter", "batch_size")
    require_names({"--html": args.html})
    refuse_overwriting({"--html": args.html, "--json": args.json}, [("--input", args.input)])
    if not is_stream(args.input):
        for _ in _pairs(args.input):  # as check_lines does, and for its tabs
            pass


def _noted(pairs: Iterator[Pair], draft_lang: str | None) -> Iterator[Pair]:
    """The pairs; a note on standard error where a model of drafts gets a line without one."""
    told = draft_lang is None
    for number, (source, draft) in enumerate(pairs, start=1):
        if draft is None and not told:
            told = True
            say_no_draft(f"line {number} has no draft", draft_lang or "", GIVE_DRAFTS)
        yield source, draft


def _edited(
    editor: "LevenshteinEditor", pairs: Iterator[Pair], args: argparse.Namespace
) -> Iterator["EditTrace"]:
    """Yield the traces of all lines; memory holds one chunk of them."""
    for chunk in chunks(pairs, args.input, args.batch_size * BATCHES_PER_CHUNK):
        sources, drafts = zip(*chunk)
        yield from editor.edit(
            sources, drafts, max_iter=args.max_iter, batch_size=args.batch_size, markup=args.markup
        )


def _sinks(args: argparse.Namespace, stack: ExitStack) -> list[Sink]:
    """Return what each trace is handed to as it comes."""
    if args.json == STANDARD_STREAM:
        return [_json_sink(standard_output())]
    sinks = [_text_sink(standard_output(), args)]
    if args.json is not None:
        sinks.append(_json_sink(stack.enter_context(whole_file(args.json))))
    return sinks


def _text_sink(stream: TextIO, args: argparse.Namespace) -> Sink:
    from ..reports.trace_text import render_text

    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    colors = not plain and stream.isatty()
    color = {"always": True, "never": False}.get(args.color, colors)

    def write(trace: "EditTrace", number: int) -> None:
        gap = "\n" if number > 1 else ""
        stream.write(gap + render_text(trace, number, color=color, joiner=args.joiner))
        stream.flush()

    return write


def _json_sink(stream: TextIO) -> Sink:
    def write(trace: "EditTrace", _: int) -> None:
        stream.write(json_line(trace.to_dict()))
        stream.flush()

    return write


if __name__ == "__main__":
    run_cli(main)
