"""Show what a model did with a line: every iteration of a LevT, or the gates of gated-Trans.

Text goes to stdout (a LevT's as in Figure 3 of its paper), ``--html FILE`` writes a page as well,
``--json`` one JSON object a line: the keys of
:meth:`lev_runtime.history.EditTrace.to_dict`, or of
:class:`lev_plugins.reports.gates.Record`.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from lev_runtime.batching import Pause, chunks
from lev_runtime.errors import UserError, counted
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
    say,
    text_processing,
)
from lev_runtime.io.output import refuse_overwriting, standard_output, whole_file

from ..registration import register

Row = tuple[str, str | None, str | None]
#: Answers rows, in order.
Show = Callable[[Iterable[Row | Pause]], Iterator[Any]]
GIVE_DRAFTS = "Give 'source<TAB>draft'; to correct the source itself: paste FILE FILE"
FORM = "a line is 'source', 'source<TAB>draft' or 'source<TAB>draft<TAB>old source'"


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "trace",
        "Show what a model did with each line: the deletions and insertions of a "
        "Levenshtein Transformer in each iteration, or the gates of a gated_transformer at "
        "each token.",
        "--path checkpoint_best.pt --html page.html < lines.txt",
    )
    add, files = adder(parser), {"nargs": "?", "const": STANDARD_STREAM}
    add("--path CHECKPOINT", "checkpoint or its folder", required=True)
    form = "UTF-8 lines of 'source'; for a LevT also 'source<TAB>draft' (trained with "
    form += "--old-source: also '<TAB>old source') (default: standard input)"
    add("--input FILE", form, STANDARD_STREAM)
    add("--html FILE", "also write a self-contained HTML page")
    add(
        "--json FILE",
        "also write JSON lines; without FILE, print them instead of the text",
        **files,
    )
    add("--max-iter N", "LevT: maximum iterations (default: 10)", type=int)
    add("--markup", "LevT: read marks in drafts: [=keep=], [-delete-], [+term+]")
    add("--beam N", "gated_transformer: beam size (default: 5)", type=int)
    add("--device NAME", "device, such as cuda (default: cpu)")
    add("--batch-size N", "sentences per batch (default: 64)", 64, advanced=True)
    add_model_data(add, advanced=True)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    at_least_one(args, "max_iter", "beam", "batch_size")
    refuse_overwriting({"--html": args.html, "--json": args.json}, [("--input", args.input)])
    if args.html == STANDARD_STREAM:
        raise UserError(
            "--html -: standard output is used for the text or the records; name a file"
        )
    if not lines.is_stream(args.input):
        for _ in _rows(args.input):  # a line that cannot be read is told before the model loads
            pass
    register()
    number, kept = 0, []
    with ExitStack() as stack:
        # Opened first, for the same reason.
        page = stack.enter_context(whole_file(args.html)) if args.html else None
        records = stack.enter_context(whole_file(args.json)) if args.json else None
        text = None if args.json == STANDARD_STREAM else standard_output()
        with as_flags(args):
            show, pages, draft_lang = load(args)
        rows = lines.with_pauses(_noted(_rows(args.input), draft_lang), args.input)
        shown = show(rows)
        answers = progress(shown, "sentences", "-", args.input)
        for number, answer in enumerate(answers, start=1):
            if text is not None:
                text.write(("\n" if number > 1 else "") + pages.render_text(answer, number))
                text.flush()
            if records is not None:
                records.write(json_line(answer.to_dict()))
                records.flush()
            if page is not None:
                kept.append(answer)
        if page is not None:
            page.write(pages.render_html(kept, f"What {Path(args.path).name} did"))
    written = [file for file in (args.json, args.html) if file and file != STANDARD_STREAM]
    say(*(f"{counted(number, 'sentence')} written to {file}" for file in written))


def load(args: argparse.Namespace) -> tuple[Show, Any, str | None]:
    """The model of ``--path``, imported only here, to keep ``--help`` quick.

    Returns:
        what answers lines, the module that renders answers, and the suffix of the drafts that the
        model was trained with.
    """
    from ..inference.checkpoints import find_checkpoint, names_in

    gated = names_in(find_checkpoint(args.path))["model"].startswith("gated_transformer")
    for name in ("max_iter", "markup") if gated else ("beam",):
        if getattr(args, name):
            other = "an edit model" if gated else "a model with gates"
            raise UserError(
                f"--{name.replace('_', '-')} only works with {other}, which {args.path} is not"
            )
    model = {"data": args.data, "device": args.device}
    processing, size = text_processing(args), args.batch_size
    buffer = size * lines.BATCHES_PER_CHUNK
    if gated:
        from ..reports import gates

        recorder = gates.Recorder(args.path, args.beam or 5, processing=processing, **model)

        def recorded(rows: Iterable[Row | Pause]) -> Iterator[Any]:
            first = 1
            for chunk in chunks(rows, buffer):
                for number, (_, draft, _) in enumerate(chunk, first):
                    if draft is not None:
                        raise UserError(
                            f"line {number}: a gated_transformer takes no drafts; remove the tab"
                        )
                yield from recorder.records([source for source, *_ in chunk], size, first)
                first += len(chunk)

        return recorded, gates, None
    from ..inference.editor import LevenshteinEditor
    from ..reports import traces

    editor = LevenshteinEditor.from_pretrained(args.path, **model, **processing)

    steps = args.max_iter or 10
    options = {"max_iter": steps, "batch_size": size, "markup": args.markup, "buffer": buffer}
    return partial(editor.stream, **options), traces, editor.task.draft_lang


def _rows(path: str) -> Iterator[Row]:
    """Source, draft and old source of each line, an empty one too; None behind its last tab."""
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
