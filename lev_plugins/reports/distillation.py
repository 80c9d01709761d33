"""What ``distill`` wrote, and the command to type next."""

import argparse
import shlex
from collections.abc import Sequence

from ..data.binarization import dictionary_path
from ..errors import counted
from ..inference.distillation.journal import RATIO, REASONS
from ..inference.distillation.text import Figures, Files

SUSPICIOUS = 0.05  # share of lines, or of tokens, at which something is wrong with the text
PACKAGE = (__package__ or "").rpartition(".")[0]


def summarise(
    args: argparse.Namespace, files: Files, figures: Figures, languages: Sequence[str]
) -> str:
    """What came of it, and the command that takes it further."""
    replaced = sum(named.count for named in figures.replaced.values())
    lines = [
        f"{files.source_output}, {files.target_output}: {figures.lines:,} lines, "
        f"{figures.lines - figures.sources:,} with an empty source, {replaced:,} replaced by the "
        "reference",
        f"target tokens per source token, mean over the lines: "
        f"{figures.ratios / max(figures.sources, 1):.2f}",
    ]
    for what, outcome in (("replaced", figures.replaced), ("kept", figures.kept)):
        for reason, said in REASONS.items():
            if reason in outcome:
                named = outcome[reason]
                lines.append(f"{what}: {said}: {named.count:,}, lines {named}")
    odd = sum(kind[RATIO].count for kind in (figures.replaced, figures.kept) if RATIO in kind)
    if odd > SUSPICIOUS * figures.sources:
        lines.append(
            f"note: {counted(odd, 'line')} outside --max-ratio {args.max_ratio:g}; where targets "
            "are by nature much shorter or longer than sources, raise it"
        )
    return "\n".join([*lines, f"next: {next_command(args, languages)}"])


def next_command(args: argparse.Namespace, languages: Sequence[str]) -> str:
    """The command that binarises the outputs with the teacher's dictionaries."""
    source, target = languages
    words = ["python", "-m", f"{PACKAGE}.cli.preprocess", "--source-lang", source]
    words += ["--target-lang", target, "--trainpref", args.output_prefix]
    words += ["--srcdict", dictionary_path(args.data, source)]
    words += ["--tgtdict", dictionary_path(args.data, target)]
    words += ["--destdir", f"{args.output_prefix}-bin"]
    return shlex.join(words)
