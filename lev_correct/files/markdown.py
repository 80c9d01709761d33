"""Which characters of a Markdown text are prose, by ``markdown-it-py``, which is loaded for the
first such text.

The parser's blocks say which lines are code, and which lines belong together; patterns say what is
code or markup in them.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .formats import hidden, masked, settled
from .markup import Span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

#: What the parser would take for the end of a line, for no letter, or could not write.
_UNREADABLE = re.compile("[\r\0-\5\ufeff\ud800-\udfff]")
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[^\S\n]*\n(?:.*\n)*?(?:\1|\.\.\.)[^\S\n]*(?:\n|\Z)")
#: What may be the name of a link's target.
_LABEL = re.compile(r"\[([^\[\]]+)\](?:\[\])?")


class Prose(NamedTuple):
    """The lines of a text: which are code, and each as its words are read, as long as it is.

    kind: as of :func:`.kind_of`. strings: of source code to which no apostrophe comes; literals:
    all of it that are prose, by places of the whole text; None for what is no source code.
    left_out: the kind of a file of which nothing is written, as its comments alone are read.
    """

    code: Sequence[bool]
    shown: Sequence[str]
    kind: str = ""
    strings: Sequence[Span] = ()
    literals: Sequence[Span] | None = None
    left_out: str = ""


def read_markdown(lines: Sequence[str]) -> Prose:
    """Reads a whole text, of lines without their ends."""
    from markdown_it.common.utils import normalizeReference

    text = _UNREADABLE.sub(" ", "\n".join(lines))
    readable, code, shown = text.split("\n"), [False] * len(lines), list(lines)
    front = _FRONT_MATTER.match(text)
    count = front[0].count("\n") if front else 0
    if front:
        shown[:count] = settled(masked(front[0], "front matter")).split("\n")[:count]
    blocks: list[Token] = []
    env: dict[str, Any] = {}
    _parser().block.parse("\n" * count + "\n".join(readable[count:]), _parser(), env, blocks)
    names = env.get("references", {})

    def named(label: re.Match[str]) -> str:
        return hidden(label[0]) if normalizeReference(label[1]) in names else label[0]

    for block in blocks:
        if block.map and block.type in ("fence", "code_block"):
            first, end = block.map
            code[first:end] = [True] * (end - first)
    text = "\n".join("" if mark else line for line, mark in zip(readable, code, strict=True))
    prose = masked(text, "template").split("\n")
    targets = [target["map"] for target in (*names.values(), *env.get("duplicate_refs", ()))]
    texts = [block.map for block in blocks if block.type in ("inline", "html_block")]
    for first, end in (*targets, *filter(None, texts)):
        part = masked("\n".join(prose[first:end]), "markdown")
        shown[first:end] = settled(_LABEL.sub(named, part)).split("\n")
    return Prose(code, shown)


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")
