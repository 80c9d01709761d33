"""Show what a model did with a line: every iteration of a LevT, or the gates of gated-Trans.

Text goes to stdout (a LevT's as in Figure 3 of its paper), ``--html FILE`` writes a page as well,
``--json`` one JSON object a line: the keys of
:meth:`lev_plugins.systems.levenshtein.decoding.history.EditTrace.to_dict`, or of
:class:`lev_plugins.reports.gates.Record`.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UserError, counted
from ..fairseq_patches import run_cli
from ..io import lines
from ..io.lines import STANDARD_STREAM, json_line
from ..io.notes import GIVE_DRAFTS, say_no_draft
from ..io.output import refuse_overwriting, report_file, require_names, standard_output, whole_file
from ..io.progress import lines_of, progress
from ..registration import register
from .options import add_model_data, adder, at_least_one, make_parser, text_processing

Pair = tuple[str, str | None]


class Model(NamedTuple):
    """What answers lines, and how that is shown.

    show: answers to pairs, the first of which has the number. text: an answer by its number. page:
    all of them, with a title. draft_lang: of a model of drafts.
    """

    show: Callable[[Sequence[Pair], int], Sequence[Any]]
    text: Callable[[Any, int], str]
    page: Callable[[Sequence[Any], str], str]
    draft_lang: str | None = None


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "trace",
        "Show what a model did with each line: every iteration of a Levenshtein Transformer, what "
        "it deletes and inserts; or the gates of a gated_transformer at every token.",
        "--path checkpoint_best.pt --html page.html < lines.txt",
    )
    add, files = adder(parser), {"nargs": "?", "const": STANDARD_STREAM}
    add("--path CHECKPOINT", "the trained model", required=True)
    add("--input FILE", "lines of 'source', or 'source<TAB>draft' (gates: 'source<TAB>target', "
        "which is forced) in UTF-8 (default: stdin)", STANDARD_STREAM)  # fmt: skip
    add("--html FILE", "also write a page that opens anywhere")
    add("--json FILE", "also write JSON lines; without FILE to stdout, not the text", **files)
    add("--max-iter N", "LevT: most iterations (default: 10)", type=int)
    add("--markup", "LevT: drafts have marks: [=stays=], [-goes-], [+term+]")
    add("--beam N", "gates: width of the search (default: 5)", type=int)
    add("--device NAME", "such as cuda (default: the CPU)")
    add("--batch-size N", "sentences at once (default: 64)", 64, advanced=True)
    color = {"choices": ("auto", "always", "never"), "advanced": True}
    add("--color", "colours; auto: on a terminal, unless NO_COLOR is set", "auto", **color)
    add_model_data(add, advanced=True)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    at_least_one(args, "max_iter", "beam", "batch_size")
    require_names({"--html": args.html})
    refuse_overwriting({"--html": args.html, "--json": args.json}, [("--input", args.input)])
    if not lines.is_stream(args.input):
        for _ in _pairs(args.input):  # a line that cannot be read is told before the model loads
            pass
    register(lean=True)
    number, kept = 0, []
    with ExitStack() as stack:
        # Opened first, for the same reason.
        page = stack.enter_context(whole_file(args.html)) if args.html else None
        records = stack.enter_context(report_file(args.json)) if args.json else None
        text = None if args.json == STANDARD_STREAM else standard_output()
        model = load(args)
        answers = progress(_answers(args, model), "sentences", lines_of(args.input), "-")
        for number, answer in enumerate(answers, start=1):
            if text is not None:
                text.write(("\n" if number > 1 else "") + model.text(answer, number))
                text.flush()
            if records is not None:
                records.write(json_line(answer.to_dict()))
                records.flush()
            if page is not None:
                kept.append(answer)
        if page is not None:
            page.write(model.page(kept, f"What {Path(args.path).name} did"))
    for file in (args.json, args.html):
        if file and file != STANDARD_STREAM:
            print(f"{counted(number, 'sentence')} written to {file}", file=sys.stderr)


def load(args: argparse.Namespace) -> Model:
    """The model of ``--path``; it is imported only here, to keep ``--help`` quick."""
    from ..inference.checkpoints import find_checkpoints, names_in

    gated = names_in(find_checkpoints(args.path)[0])["model"].startswith("gated_transformer")
    for name in ("max_iter", "markup") if gated else ("beam",):
        if getattr(args, name):
            other = "an edit model" if gated else "a model with gates"
            raise UserError(f"--{name.replace('_', '-')} is for {other}, and {args.path} is none")
    return (_gates if gated else _edits)(args, args.path, args.data, args.device)


def _gates(args: argparse.Namespace, path: str, data: str | None, device: str | None) -> Model:
    from ..reports import gates
    from ..reports.gate_recorder import Recorder

    how = {"data": data, "device": device, "processing": text_processing(args)}
    recorder = Recorder(path, args.beam or 5, **how)
    return Model(
        lambda pairs, first: recorder.records(pairs, args.batch_size, first),
        lambda record, _: gates.render_text(record),
        gates.render_html,
    )


def _edits(args: argparse.Namespace, path: str, data: str | None, device: str | None) -> Model:
    from ..inference.editor import LevenshteinEditor
    from ..reports import traces

    editor = LevenshteinEditor.from_pretrained(path, data, device, **text_processing(args))
    options: dict[str, Any] = {"max_iter": args.max_iter or 10, "batch_size": args.batch_size}
    options["markup"] = args.markup
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    terminal = not plain and lines.is_terminal(sys.stdout)
    color = args.color == "always" or args.color == "auto" and terminal
    return Model(
        lambda pairs, _: editor.edit(
            [source for source, _ in pairs], [draft for _, draft in pairs], **options
        ),
        lambda trace, number: traces.render_text(trace, number, color),
        traces.render_html,
        editor.draft_lang,
    )


def _pairs(path: str) -> Iterator[Pair]:
    """Source and draft of each line, an empty one too; no draft where there is no tab."""
    form = "a line is 'source' or 'source<TAB>draft'"
    for source, *drafts in lines.input_fields(path, f"{form}:", {1, 2}, form):
        yield source, drafts[0] if drafts else None


def _answers(args: argparse.Namespace, model: Model) -> Iterator[Any]:
    """What is shown of all lines, in order; memory holds one chunk of them."""
    first, told = 1, model.draft_lang is None
    size = args.batch_size * lines.BATCHES_PER_CHUNK
    for chunk in lines.chunks(_pairs(args.input), args.input, size):
        bare = [number for number, (_, draft) in enumerate(chunk, first) if draft is None]
        if bare and not told:
            told = True
            say_no_draft(f"line {bare[0]} has no draft", model.draft_lang or "", GIVE_DRAFTS)
        yield from model.show(chunk, first)
        first += len(chunk)


if __name__ == "__main__":
    run_cli(main)
