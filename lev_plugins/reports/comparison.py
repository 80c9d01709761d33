"""Two systems' outputs side by side: their numbers, and these as a table of text."""

import re
from collections.abc import Sequence
from typing import Any

from ..errors import UserError, counted
from ..io.output import printable
from ..io.text_files import read_parallel
from ..metrics.corpus import WORD_METRICS, Metric
from ..metrics.significance import compared
from ..metrics.words import is_char_tokenized

_PRINTED = re.compile(r"[HSTDPI]-[0-9]+\t")


def compare(a: str, b: str, reference: str, metrics: Sequence[Metric]) -> dict[str, Any]:
    """The numbers of two files of outputs, one sentence a line.

    Raises:
        UserError: files that cannot be compared, or nothing to compare with.
    """
    lines = list(read_parallel([a, b, reference]))
    _refuse_others((a, b, reference), lines, metrics)
    scored = [line for line in lines if line[2].split()]
    if not scored:
        raise UserError(f"{reference} has no words: there is nothing to compare with")
    return {
        "a": a,
        "b": b,
        "reference": reference,
        "sentences": len(scored),
        "without_reference": len(lines) - len(scored),
        "metrics": [compared(metric, scored) for metric in metrics],
    }


def _refuse_others(
    paths: Sequence[str], lines: Sequence[Sequence[str]], metrics: Sequence[Metric]
) -> None:
    """Refuse files that are no plain outputs: their scores would mean nothing."""
    if not lines:
        raise UserError(f"no lines in {', '.join(paths)}; give files with some")
    for path, texts in zip(paths, zip(*lines)):
        if any(_PRINTED.match(text) for text in texts):
            raise UserError(
                f"{path} is what fairseq prints; take the text out of it: "
                f"grep ^H- {path} | sort -V | cut -f 3-"
            )
        words = [metric.name for metric in metrics if metric.name in WORD_METRICS]
        if words and is_char_tokenized(texts):
            raise UserError(
                f"{path}: its lines are characters, not words, which {words[0]} counts; join them "
                "with --remove-bpe, or leave it out of --metrics"
            )


def render_table(found: dict[str, Any]) -> str:
    """The numbers of the command ``compare`` as text, a line for each metric."""
    empty = found["without_reference"]
    left_out = f"; {empty} left out, whose reference has no words" if empty else ""
    lines = [
        f"A: {printable(found['a'])}",
        f"B: {printable(found['b'])}",
        f"{counted(found['sentences'], 'sentence')}; means of sentence scores" + left_out,
        "",
        f"{'metric':<16}{'A':>9}{'B':>9}{'A - B':>9}{'A better':>10}{'B better':>10}"
        f"{'t':>9}{'df':>9}{'p':>10}{'p (A > B)':>11}{'p paired':>10}",
    ]
    for one in found["metrics"]:
        better = "" if one["higher_is_better"] else " (lower)"
        means = (one["mean_a"], one["mean_b"], one["difference"])
        lines.append(
            f"{one['metric'] + better:<16}"
            + "".join(f"{value:>9.2f}" for value in means)
            + "".join(f"{count:>10}" for count in one["better"])
            + f"{_shown(one['t'], '.3f'):>9}{_shown(one['df'], '.1f'):>9}"
            + f"{_shown(one['p'], '.2g'):>10}{_shown(one['p_one_sided'], '.2g'):>11}"
            + f"{_shown(one['p_paired'], '.2g'):>10}"
        )
    lines += ["", *(f"{one['metric']}: {one['signature']}" for one in found["metrics"])]
    return "\n".join(lines) + "\n"


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"
