"""Scores, edits and iterations of outputs, side by side and beside the drafts themselves.

    python -m lev_plugins.cli.report generate.out --drafts test.mt

Reads what fairseq-generate and fairseq-interactive print, and plain text. A table goes to stdout;
``--json FILE`` writes all numbers (the keys of :func:`.figures.compute`), ``--png FILE`` a
picture.
"""

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.lines import STANDARD_STREAM
from ..io.output import refuse_overwriting, require_names, standard_output, whole_file
from ..io.text_files import SUBWORDS
from ..metrics.corpus import METRICS
from ..metrics.correction import CORRECTION_METRICS
from ..reports.figures import DEFAULT_METRICS, NO_EDIT_BASELINE, UNITS, Settings, compute
from ..reports.input import AGAINST, SIDES, Given, gather
from ..reports.plots import draw
from ..reports.table import render_table
from .options import adder, make_parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    args.hypotheses = args.hypotheses or []
    _check(args)
    settings = Settings(
        args.metrics, args.unit, args.length_step, args.ter_case_sensitive, args.bleu_tokenize
    )
    with ExitStack() as stack:
        # Opened first: a folder that cannot be written is told before anything is computed.
        outputs = {
            kind: stack.enter_context(whole_file(path))
            for kind in ("json", "png")
            if (path := getattr(args, kind)) is not None
        }
        names = _names(args)
        named = {one.name: vars(args)[one.name] for one in fields(Given) if one.name in args}
        given = Given(printed=args.outputs, split=args.gen_subset, **named)
        figures = compute(gather(given), names, settings)
        if "json" in outputs:
            json.dump(figures, outputs["json"], ensure_ascii=True, allow_nan=False, indent=1)
            outputs["json"].write("\n")
        if "png" in outputs:
            outputs["png"].buffer.write(draw(figures, args.title))
    standard_output().write(render_table(figures))


def _names(args: argparse.Namespace) -> list[str]:
    """A name for every system: those given, else the files', as short as tells them apart."""
    paths = [*args.outputs, *args.hypotheses]
    if args.names is None:
        names = [os.path.basename(path) for path in paths]
        return names if len(set(names)) == len(names) else paths
    if len(args.names) != len(paths):
        raise UserError(
            f"--names {','.join(args.names)}: {len(args.names)} names for {len(paths)} systems; "
            "give one for each, separated by commas"
        )
    for name in args.names:
        if args.names.count(name) > 1 or name in ("", NO_EDIT_BASELINE):
            raise UserError(f"--names: {name!r} does not tell a system from others; choose another")
    return args.names


# ---------------------------------------------------------------- options


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "report",
        "Scores, edits against the drafts and iterations of one or more outputs.",
        "ours.out stock.out --names ours,stock --drafts test.mt --json report.json "
        "--png report.png",
    )
    _add_texts(parser)
    _add_settings(parser)
    return parser


def _add_texts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Sentences", "line n of a text file is sentence n − 1")
    add = adder(group)
    add(
        "outputs GENERATE_OUTPUT",
        "what fairseq-generate or fairseq-interactive printed; - is stdin",
        nargs="*",
    )
    add("--hypotheses FILE", "files of outputs as plain text, each a system", nargs="+")
    add("--references FILE", "references as text (default: the T- lines)")
    add("--drafts FILE", "drafts as text (default: --data, else E-…_0 lines)")
    add(
        "--sources FILE",
        "sources as text, for their lengths and for --against source (default: the S- lines)",
    )
    add(
        "--against",
        "what was corrected: the drafts, or the sources themselves where a corrector reads no "
        "draft; not together with --drafts or --data (default: draft)",
        AGAINST[0],
        choices=AGAINST,
    )
    add("--data DIR", "folder of preprocess to read the drafts from")
    add("--draft-lang LANG", "suffix of the drafts in --data, such as mt")
    add("--gen-subset SPLIT", "split in --data (default: test)", "test")
    add(
        "--remove-bpe",
        "join subwords or characters of the drafts; none: they are as they should be",
        choices=sorted(SUBWORDS),
    )
    add(
        "--remove-bpe-from SIDES",
        f"what --remove-bpe is for, of {','.join(SIDES)} (default: drafts)",
        "drafts",
        type=_listed,
    )
    add("--allow-missing", "leave out, for all systems, the sentences that an output lacks")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add = adder(parser.add_argument_group("Report"))
    add("--names A,B", "names of the systems, as ours,stock (default: their files)", type=_listed)
    add(
        "--metrics NAMES",
        f"of {','.join([*METRICS, *CORRECTION_METRICS])} (default: all but those of ERRANT)",
        ",".join(DEFAULT_METRICS),
        type=_listed,
    )
    add("--unit", "what is edited (default: word)", "word", choices=sorted(UNITS))
    add("--length-step N", "width of the classes of source lengths, in tokens (default: 10)", 10)
    add("--ter-case-sensitive", "case counts in plain TER too; in normalised TER it always does")
    add("--bleu-tokenize NAME", "a tokeniser of sacrebleu, such as zh, ja-mecab (default: 13a)")
    add("--json FILE", "also write all numbers as JSON, with the signatures of the metrics")
    add("--png FILE", "also draw iterations, their means by length, and edits")
    add("--title TEXT", "title of the picture")


def _check(args: argparse.Namespace) -> None:
    if not args.outputs and not args.hypotheses:
        raise UserError("nothing to report on: give an output of fairseq-generate, or --hypotheses")
    if args.outputs.count(STANDARD_STREAM) > 1:
        raise UserError("standard input (-) can be read only once")
    if args.length_step < 1:
        raise UserError(f"--length-step {args.length_step}: give 1 or more")
    for flag, values, known in (
        ("--metrics", args.metrics, [*METRICS, *CORRECTION_METRICS]),
        ("--remove-bpe-from", args.remove_bpe_from, list(SIDES)),
    ):
        for value in values:
            if value not in known:
                raise UserError(f"{flag} {value}: choose of {','.join(known)}")
    if args.data is not None and args.drafts is not None:
        raise UserError("--drafts and --data both name drafts: give one of them")
    if (args.data is None) != (args.draft_lang is None):
        raise UserError("--data and --draft-lang name drafts together: give both or neither")
    if args.against == "source" and (args.data is not None or args.drafts is not None):
        named = "--data" if args.drafts is None else "--drafts"
        raise UserError(f"--against source and {named} both name what was corrected: give one")
    written = {"--json": args.json, "--png": args.png}
    require_names(written)
    outputs = [("the output", path) for path in (*args.outputs, *args.hypotheses)]
    texts = [(f"--{name}", getattr(args, name)) for name in ("references", "drafts", "sources")]
    refuse_overwriting(written, outputs + texts)
    _check_tokenizer(args.bleu_tokenize)


def _check_tokenizer(name: str | None) -> None:
    from sacrebleu.metrics import BLEU

    if name is not None and name not in BLEU.TOKENIZERS:
        raise UserError(f"--bleu-tokenize {name}: choose of {','.join(BLEU.TOKENIZERS)}")


if __name__ == "__main__":
    run_cli(main)
