"""Edits as lines of text, after Figure 3 of the Levenshtein Transformer paper.

Text is marked as wdiff does: ``[-deleted-]`` and ``{+inserted+}``.
"""

import re
import unicodedata
from itertools import groupby

from lev_runtime.history import MARKED, EditTrace, Mark, Termination
from lev_runtime.io.output import printable

_SYMBOL = re.compile("<.+>", re.DOTALL)
#: what sentencepiece writes for a space; a word's first piece begins with it
WORD_BEGIN = "▁"
#: marks as a terminal shows them: red and green
COLOURED: dict[Mark, str] = {
    "kept": MARKED["kept"],
    "deleted": f"\x1b[31m{MARKED['deleted']}\x1b[0m",
    "inserted": f"\x1b[32m{MARKED['inserted']}\x1b[0m",
}
ENDINGS: dict[Termination, str] = {
    "unchanged": "nothing to delete, nothing to insert",
    "loop": "an earlier state came back",
    "max_iterations": "the iteration limit was reached",
}


def render_text(trace: EditTrace, number: int, in_colour: bool = False) -> str:
    """Returns a sentence and its iterations as lines of words, with wdiff's marks."""
    joiner, marks = _joiner(trace), COLOURED if in_colour else MARKED

    def text(tokens: list[tuple[Mark, str]]) -> str:
        shown = ""
        for mark, run in groupby(tokens, key=lambda token: token[0]):
            words = printable(joiner.join(symbol for _, symbol in run)).replace(WORD_BEGIN, " ")
            begin = " " if joiner or words.startswith(" ") else ""  # stays outside of the mark
            shown += begin + marks[mark].format(words.removeprefix(" "))
        return shown.removeprefix(" ")

    lines = [_line(f"(sentence {number})", "source", printable(trace.source))]
    if trace.draft is not None:
        lines.append(_line("", "draft", printable(trace.draft)))
    steps = trace.iterations
    if trace.terminated == "unchanged" and steps and not steps[-1].changed:
        steps = steps[:-1]  # the last one only found that nothing is left to do
    for count, step in enumerate(steps, start=1):
        name, tokens = f"(iteration {count})", step.merged()
        for verb, done in (("delete", "deleted"), ("insert", "inserted")):
            if done in dict(tokens):
                marked = [token for token in tokens if token[0] in ("kept", done)]
                lines.append(_line(name, verb, text(marked)))
            else:
                lines.append(f"{name:<15} nothing to {verb}")
            name = ""
    lines.append(f"{'':<15} {ENDINGS[trace.terminated]} » [terminate]")
    net = trace.net()
    if len(steps) > 1 and net.before and net.changed:
        lines.append(_line("", "edits", text(net.merged())))
    lines.append(_line("", "output", printable(trace.text)))
    lines.append(_line("", "score", f"{trace.score:.4f}"))
    return "\n".join(lines) + "\n"


def _joiner(trace: EditTrace) -> str:
    """Returns ``""`` if the tokens are pieces of words or characters, else a space.

    A combining mark belongs to its character; symbols such as ``<unk>`` decide nothing.
    """
    tokens = set[str]()
    for step in trace.iterations:
        tokens |= {*step.before, *step.after}
    plain = [token for token in tokens if not _SYMBOL.fullmatch(token)]
    after_first = "".join(token[1:] for token in plain)
    marks = all(unicodedata.category(char)[0] == "M" for char in after_first)
    are_pieces = any(token.startswith(WORD_BEGIN) for token in plain)
    return "" if plain and (marks or are_pieces) else " "


def _line(name: str, what: str, text: str) -> str:
    return f"{name:<15} {what:<6} » {text or '(empty)'}"
