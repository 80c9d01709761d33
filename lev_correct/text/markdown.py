"""Which characters of a Markdown text are prose, by ``markdown-it-py``, which is loaded for the
first such text.

The parser's blocks say which lines are code. Its tokens within a block have no places: the rules
that make them are wrapped, so that they note where they stood.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

from .markup import NO_WORD, is_prose, parts_word

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

    Rule = Callable[[StateInline, bool], bool]

#: Endings of the names of Markdown files.
ENDINGS = {".md", ".mdx", ".markdown", ".mdown", ".mkd"}
#: What is shown for a character of markup, and of code in a line of prose, which no word touches.
MARKUP, CODE = " ", NO_WORD

#: Elements of HTML whose text is code.
CODE_ELEMENTS = set("code kbd pre samp script style textarea tt var".split())
#: What the parser would take for the end of a line, for no letter, or could not write.
_UNREADABLE = re.compile("[\r\0\ufeff\ud800-\udfff]")
_FRONT_MATTER = re.compile(r"---[^\S\n]*\n(?:.*\n)*?(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)")
_SIGNS = re.compile(r"[*_~`\[<]")
_TAG = re.compile(r"<!--|-->|<(?P<closes>/?)(?P<name>[A-Za-z][\w-]*)[^<>]*>")
_TITLE = re.compile(r"\s[\"'(](.+?)[\"')]\s*\)?\s*\Z", re.DOTALL)
#: An identifier, and signs inside a word.
_NO_EMPHASIS = re.compile(r"(?<!\w)__\w+__(?!\w)|(?<=[^\W_])[*_~]+(?=[^\W_])")
_EMPHASIS = re.compile(r"(?:em|strong|s)_(?:open|close)")


class Mark(NamedTuple):
    """Characters of a text that are no prose, and what is shown for each of them."""

    start: int
    end: int
    shown: str


class Markdown(NamedTuple):
    """The lines of a text: which are code, and each as its words are read, as long as it is."""

    code: Sequence[bool]
    shown: Sequence[str]


def is_markdown(path: str | None) -> bool:
    """Whether a file is Markdown, by its name."""
    return os.path.splitext(path or "")[1].lower() in ENDINGS


def read_markdown(lines: Sequence[str]) -> Markdown:
    """Reads a whole text, of lines without their ends."""
    text = _Text(lines)
    blocks: list[Token] = []
    _parser().block.parse(text.unread, _parser(), text.env, blocks)
    for token in blocks:
        if token.map:
            text.read(token, *token.map)
    text.read_definitions()
    return Markdown(text.code, "".join(text.shown).split("\n"))


class _Text:
    """A text of which block by block is read.

    shown: its characters, of which those that are no prose give way to others. unread: what is
    left to be read, behind as many line ends as were before it. env: the parser's notes.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = [_UNREADABLE.sub(" ", line) for line in lines]
        self.env: dict[str, Any] = {}
        text = "\n".join(self.lines)
        self.shown = [*"\n".join(lines)]
        self.code = [False] * len(lines)
        self._begins = [0, *accumulate(len(line) + 1 for line in lines)]
        #: Where in each line the next cell of a table may begin.
        self._columns = [0] * len(lines)
        front = _FRONT_MATTER.match(text)
        count = front[0].count("\n") if front else 0
        for number in range(count):
            _, _, value = self.lines[number].partition(": ")
            self.code[number] = not is_prose(value)
        self.unread = "\n" * count + "\n".join(self.lines[count:])

    def read(self, token: "Token", first: int, end: int) -> None:
        """Reads a block: the lines from the first to before the end."""
        if token.type in ("fence", "code_block"):
            self.code[first:end] = [True] * (end - first)
        elif token.type == "html_block":
            self._hide(first, self.lines[first:end], marks_of_html)
        elif token.type == "inline":
            self._hide(first, token.content.split("\n"), self._marks)

    def read_definitions(self) -> None:
        """Reads the titles of the targets of links, whose labels stay."""
        listed = self.env.get("references", {}).values()
        for definition in chain(listed, self.env.get("duplicate_refs", ())):
            first, end = definition["map"]
            self._hide(first, self.lines[first:end], marks_of_target)

    def _hide(
        self, first: int, parts: Sequence[str], marks_of: Callable[[str], Iterable[Mark]]
    ) -> None:
        """Shows other characters for what is marked in a text, of which each part stands in a line
        from the first on; not for what the parser has written in another way."""
        places: list[int] = []
        for number, part in enumerate(parts, start=first):
            column = self.lines[number].find(part, self._columns[number])
            if column < 0:
                return
            self._columns[number] = column + len(part)
            begin = self._begins[number] + column
            places += range(begin, begin + len(part) + 1)
        content = "\n".join(parts)
        for mark in marks_of(content) if _SIGNS.search(content) else ():
            for place in places[mark.start : mark.end]:
                if self.shown[place] != "\n":
                    self.shown[place] = mark.shown

    def _marks(self, content: str) -> Iterator[Mark]:
        """Of a block's text; of code last."""
        notes = Notes()
        env = {**self.env, "notes": notes}
        _parser().inline.parse(content, _parser(), env, [])
        marks = [*marks_of_html(content), *notes.marks, *notes.emphasis()]
        marks += (Mark(*match.span(), CODE) for match in _NO_EMPHASIS.finditer(content))
        return iter(sorted(marks, key=lambda mark: mark.shown == CODE))


def marks_of_html(text: str) -> Iterator[Mark]:
    """Of tags and the signs of comments, and of elements whose text is code."""
    opened: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        yield Mark(*tag.span(), CODE if parts_word(tag) else MARKUP)
        name = (tag["name"] or "").lower()
        if tag["closes"] and name in opened:
            yield Mark(opened.pop(name), tag.end(), CODE)
        elif name in CODE_ELEMENTS:
            opened.setdefault(name, tag.start())


def marks_of_target(text: str) -> Iterator[Mark]:
    """Of all of a link's target but its title."""
    title = _TITLE.search(text)
    end, begin = title.span(1) if title else (len(text), len(text))
    yield Mark(0, end, MARKUP)
    yield Mark(begin, len(text), MARKUP)


class Notes:
    """What the parser's rules tell of a block's text."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        #: Signs of emphasis, if there is a second one to each: where they begin.
        self.signs: list[tuple[int, int, Token]] = []

    def emphasis(self) -> Iterator[Mark]:
        """Marks of the signs that have come to be emphasis."""
        for start, end, token in self.signs:
            if not token.content or _EMPHASIS.fullmatch(token.type):
                yield Mark(start, end, MARKUP)


def _noting_code(rule: "Rule") -> "Rule":
    def read(state: "StateInline", silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        is_read = rule(state, silent)
        if len(state.tokens) > count:
            state.env["notes"].marks.append(Mark(start, state.pos, CODE))
        return is_read

    return read


def _noting_emphasis(rule: "Rule") -> "Rule":
    def read(state: "StateInline", silent: bool) -> bool:
        start = state.pos
        is_read = rule(state, silent)
        place, tokens = state.pos, reversed(state.tokens)
        while place > start:
            token = next(tokens)
            end, place = place, place - len(token.content)
            state.env["notes"].signs.append((place, end, token))
        return is_read

    return read


def _noting_link(rule: "Rule") -> "Rule":
    def read(state: "StateInline", silent: bool) -> bool:
        start, notes = state.pos, state.env["notes"]
        before = len(notes.marks), len(notes.signs)
        is_image = state.src[start] == "!"
        is_read = rule(state, silent)
        if not is_read or silent:
            return is_read
        if is_image:  # its text was read apart, with places of its own
            del notes.marks[before[0] :], notes.signs[before[1] :]
        label = start + is_image
        end = state.md.helpers.parseLinkLabel(state, label, not is_image)
        target = state.src[end : state.pos]
        if target in ("]", "][]"):  # the text is the name of a target
            notes.marks.append(Mark(start, state.pos, CODE))
        else:
            notes.marks.append(Mark(start, label + 1, MARKUP))
            for mark in marks_of_target(target):
                notes.marks.append(Mark(end + mark.start, end + mark.end, MARKUP))
        return is_read

    return read


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt, rules_inline

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    rules = {
        "backticks": _noting_code(rules_inline.backtick),
        "autolink": _noting_code(rules_inline.autolink),
        "emphasis": _noting_emphasis(rules_inline.emphasis.tokenize),
        "strikethrough": _noting_emphasis(rules_inline.strikethrough.tokenize),
        "link": _noting_link(rules_inline.link),
        "image": _noting_link(rules_inline.image),
    }
    for name, rule in rules.items():
        parser.inline.ruler.at(name, rule)
    parser.inline.ruler2.disable("fragments_join")  # which would take signs for text
    return parser
