"""Edits as lines of text, after Figure 3 of the Levenshtein Transformer paper.

Text is marked as wdiff does: ``[-deleted-]`` and ``{+inserted+}``.
"""

import re
import unicodedata
from itertools import groupby

from lev_runtime.history import (
    EditTrace,
    Iteration,
    Mark,
    Termination,
)
from lev_runtime.io.output import printable

_SYMBOL = re.compile("<.+>", re.DOTALL)
#: Text with what became of it.
Runs = list[tuple[Mark, str]]

PLAIN: dict[Mark, str] = {"kept": "{}", "deleted": "[-{}-]", "inserted": "{{+{}+}}"}
ENDINGS: dict[Termination, str] = {
    "unchanged": "nothing to delete, nothing to insert",
    "loop": "an earlier state came back",
    "max_iterations": "the iteration limit was reached",
}


class View:
    """What is shown of a trace.

    iterations: what each deleted and what it inserted, None for nothing; without a last one that
    only found that nothing is left to do. net: all of them as one; None where there was no text
    before, or it is as it was. joiner: what stands between runs.
    """

    def __init__(self, trace: EditTrace) -> None:
        self.joiner = _joiner(trace)
        steps = trace.iterations
        if trace.terminated == "unchanged" and steps and not steps[-1].changed:
            steps = steps[:-1]
        self.iterations = [
            (self._marked("deleted", step), self._marked("inserted", step)) for step in steps
        ]
        self.net = None
        net = trace.net()
        if net.before and net.changed:
            self.net = self._runs(net.merged())

    def _marked(self, mark: Mark, step: Iteration) -> Runs | None:
        """What is kept, and what is deleted or inserted; None where nothing is."""
        marked = [(kind, token) for kind, token in step.merged() if kind in ("kept", mark)]
        return self._runs(marked) if (mark in dict(marked)) else None

    def _runs(self, tokens: Runs) -> Runs:
        """Neighbours of the same mark as one piece of printable text."""
        return [
            (mark, printable(self.joiner.join(token for _, token in run)))
            for mark, run in groupby(tokens, key=lambda item: item[0])
        ]


def _joiner(trace: EditTrace) -> str:
    """``""`` if the tokens are characters, else a space.

    A combining mark belongs to its character; symbols such as ``<unk>`` decide nothing.
    """
    tokens = set[str]()
    for step in trace.iterations:
        tokens |= {*step.before, *step.after}
    plain = [token for token in tokens if not _SYMBOL.fullmatch(token)]
    behind_first = "".join(token[1:] for token in plain)
    marks = all(unicodedata.category(char)[0] == "M" for char in behind_first)
    return "" if plain and marks else " "


def render_text(trace: EditTrace, number: int) -> str:
    """A sentence and its iterations as lines, with wdiff's marks."""
    shown = View(trace)

    def text(runs: Runs) -> str:
        return shown.joiner.join(PLAIN[mark].format(run) for mark, run in runs)

    lines = [labelled(f"(sentence {number})", "source", printable(trace.source))]
    if trace.draft is not None:
        lines.append(labelled("", "draft", printable(trace.draft)))
    for count, (deletion, insertion) in enumerate(shown.iterations, start=1):
        steps = (f"(iteration {count})", "delete", deletion), ("", "insert", insertion)
        for name, what, runs in steps:
            if runs is None:
                lines.append(labelled(name, f"nothing to {what}"))
            else:
                lines.append(labelled(name, what, text(runs)))
    lines.append(labelled("", ENDINGS[trace.terminated], "[terminate]"))
    # a lone iteration that did only one thing shows the net edit already
    if shown.net and not (len(shown.iterations) == 1 and None in shown.iterations[0]):
        lines.append(labelled("", "edits", text(shown.net)))
    lines.append(labelled("", "output", printable(trace.text)))
    lines.append(labelled("", "score", f"{trace.score:.4f}"))
    return "\n".join(lines) + "\n"


def labelled(name: str, what: str, text: str | None = None) -> str:
    """A line of text: a name in a column of its own, what it shows, and that."""
    if text is None:
        return f"{name:<15} {what}"
    return f"{name:<15} {what:<6} » {text or '(empty)'}"
