"""Edits as lines of text, after Figure 3 of the Levenshtein Transformer paper.

With colours, deleted tokens are red and struck through, inserted ones bold, blue and underlined;
without, they are marked as wdiff does: ``[-deleted-]`` and ``{+inserted+}``.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby

from ..io.output import printable
from ..systems.levenshtein.decoding.history import EditTrace, Iteration, Mark, Termination

MarkedToken = tuple[Mark, str]

PLAIN_MARKS: dict[Mark, tuple[str, str]] = {
    "kept": ("", ""),
    "deleted": ("[-", "-]"),
    "inserted": ("{+", "+}"),
}
COLOR_MARKS: dict[Mark, tuple[str, str]] = {
    "kept": ("", ""),
    "deleted": ("\x1b[31;9m", "\x1b[0m"),
    "inserted": ("\x1b[1;34;4m", "\x1b[0m"),
}
ENDINGS: dict[Termination, str] = {
    "unchanged": "nothing to delete, nothing to insert",
    "loop": "an earlier state came back",
    "max_iterations": "the iteration limit was reached",
}


def deletion_view(step: Iteration) -> list[MarkedToken]:
    """Return the tokens before the iteration, with the deleted ones marked."""
    marks: list[Mark] = ["deleted" if gone else "kept" for gone in step.deleted]
    return list(zip(marks, step.before, strict=True))


def insertion_view(step: Iteration) -> list[MarkedToken]:
    """Return the tokens after the iteration, with the inserted ones marked."""
    marks: list[Mark] = ["inserted" if new else "kept" for new in step.inserted]
    return list(zip(marks, step.after, strict=True))


def choose_joiner(trace: EditTrace) -> str:
    """Return ``""`` if the tokens of ``trace`` are characters, else a space.

    A combining mark belongs to its character; symbols such as ``<unk>`` decide nothing.
    """
    tokens = {token for step in trace.iterations for token in (*step.before, *step.after)}
    plain = {token for token in tokens if not is_symbol(token)}
    marks = (unicodedata.category(char)[0] == "M" for token in plain for char in token[1:])
    return "" if plain and all(marks) else " "


def is_symbol(token: str) -> bool:
    """Whether a token is one of the dictionary's own, such as ``<unk>``."""
    return len(token) > 2 and token[0] == "<" and token[-1] == ">"


def runs(tokens: Iterable[MarkedToken], joiner: str) -> list[MarkedToken]:
    """Merge neighbours of the same mark into one piece of printable text."""
    return [
        (mark, printable(joiner.join(token for _, token in run)))
        for mark, run in groupby(tokens, key=lambda item: item[0])
    ]


def marked_text(tokens: Iterable[MarkedToken], joiner: str, *, color: bool) -> str:
    """Return tokens in one line, marked in colour or as wdiff does."""
    marks = COLOR_MARKS if color else PLAIN_MARKS
    pieces = [f"{marks[mark][0]}{text}{marks[mark][1]}" for mark, text in runs(tokens, joiner)]
    return printable(joiner).join(pieces)


def shown_iterations(trace: EditTrace) -> Sequence[Iteration]:
    """Return the iterations without a last one that only found that nothing is left to do."""
    steps = trace.iterations
    if trace.terminated == "unchanged" and steps and not steps[-1].changed:
        return steps[:-1]
    return steps


def shows_net(trace: EditTrace) -> bool:
    """Say whether there is a net edit to show: there was text before, and it changed."""
    net = trace.net()
    return bool(net.before) and net.changed


def render_text(trace: EditTrace, number: int, *, color: bool = False) -> str:
    """A sentence and its iterations as lines, in ANSI colours or wdiff's marks."""

    def tokens(view: list[MarkedToken]) -> str:
        return marked_text(view, choose_joiner(trace), color=color)

    lines = [labelled(f"(sentence {number})", "source", printable(trace.source))]
    if trace.draft is not None:
        lines.append(labelled("", "draft", printable(trace.draft)))
    steps = shown_iterations(trace)
    for count, step in enumerate(steps, start=1):
        name = f"(iteration {count})"
        if step.nothing_deleted:
            lines.append(labelled(name, "nothing to delete"))
        else:
            lines.append(labelled(name, "delete", tokens(deletion_view(step))))
        if step.nothing_inserted:
            lines.append(labelled("", "nothing to insert"))
        else:
            lines.append(labelled("", "insert", tokens(insertion_view(step))))
    lines.append(labelled("", ENDINGS[trace.terminated], "[terminate]"))
    # a lone iteration that did only one thing shows the net edit already
    lone = len(steps) == 1 and (steps[0].nothing_deleted or steps[0].nothing_inserted)
    if shows_net(trace) and not lone:
        lines.append(labelled("", "edits", tokens(trace.net().merged())))
    lines.append(labelled("", "output", printable(trace.text)))
    lines.append(labelled("", "score", f"{trace.score:.4f}"))
    return "\n".join(lines) + "\n"


def labelled(name: str, what: str, text: str | None = None) -> str:
    """A line of text: a name in a column of its own, what it shows, and that."""
    if text is None:
        return f"{name:<15} {what}"
    return f"{name:<15} {what:<6} » {text or '(empty)'}"
