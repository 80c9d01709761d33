r"""Marks that a person puts on a draft: what stays, what goes, which terms are wanted whole.

    [=text=]   stays: no token of it is deleted
    [-text-]   goes: it is deleted, and not written again
    [+text+]   a term: stays, and nothing is inserted inside it
    [~text~]   is replaced: as [-text-], and something else is written in its place

``\[=``, ``\[-``, ``\[+`` and ``\[~`` are the marks' own characters; inside a mark ``\=]``,
``\-]``, ``\+]`` and ``\~]`` are. A backslash right before any of these is written twice:
``C:\\[=x=]`` is ``C:\`` and a mark. A backslash anywhere else is a backslash. Marks do not stand
inside each other.

What stays is whole words where it begins or ends with one: nothing is written onto them.

The marks of a token are bits: KEEP, DROP, JOINED (to the token that follows), BEGINS and ENDS (a
word that stays, onto which something could be written before or behind the token), and REPLACE
(beside DROP).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import UserError
from .joining import Joining

KEEP, DROP, JOINED, BEGINS, ENDS, REPLACE = 1, 2, 4, 8, 16, 32
_BITS = {"keep": KEEP, "drop": DROP, "term": KEEP, "replace": DROP | REPLACE}
_KINDS = {"=": "keep", "-": "drop", "+": "term", "~": "replace"}
_SIGNS = {kind: sign for sign, kind in _KINDS.items()}
# what is meant by the bracket is told by the backslashes before it: an odd number, the bracket
_OPENING = re.compile(r"(?<!\\)(\\*)\[([=+~-])")


@dataclass(frozen=True)
class Mark:
    """Characters ``start`` … ``end`` (exclusive) of the plain text, and what is to happen there.

    kind: keep, drop, term or replace.
    """

    start: int
    end: int
    kind: str


def parse_markup(text: str) -> tuple[str, list[Mark]]:
    """Text with marks → the plain text, and the marks with their places in it.

    Raises:
        UserError: a mark that is not closed, is empty, or stands inside another.
    """
    plain: list[str] = []
    marks: list[Mark] = []
    length = position = 0
    while found := _OPENING.search(text, position):
        escaped, before = _backslashes(found[1])
        before = text[position : found.start()] + before
        position = found.end()
        if escaped:
            piece = f"{before}[{found[2]}"
            plain.append(piece)
            length += len(piece)
            continue
        inside, position = _inside(text, found.end() - 2, position, found[2])
        plain += [before, inside]
        start = length + len(before)
        length = start + len(inside)
        marks.append(Mark(start, length, _KINDS[found[2]]))
    plain.append(text[position:])
    return "".join(plain), marks


def _inside(text: str, opening: int, start: int, sign: str) -> tuple[str, int]:
    """What a mark holds, and where the text continues behind it."""
    close = re.compile(rf"(?<!\\)(\\*)\{sign}\]")
    shown = text[opening : opening + 20]
    pieces, position = [], start
    while found := close.search(text, position):
        escaped, before = _backslashes(found[1])
        pieces.append(text[position : found.start()] + before + (f"{sign}]" if escaped else ""))
        position = found.end()
        if escaped:
            continue
        inside = "".join(pieces)
        openings = _OPENING.finditer(text, start, found.start())
        nested = next((f"[{one[2]}" for one in openings if len(one[1]) % 2 == 0), None)
        if nested:
            raise UserError(
                f"the mark {shown!r} has {nested!r} inside; close it with '{sign}]' first, or "
                f"write \\{nested} for the characters themselves"
            )
        if not inside.strip():
            raise UserError(f"the mark '[{sign}{sign}]' is empty; put the text inside")
        return _unescaped(inside), position
    raise UserError(
        f"the mark {shown!r} is not closed; end it with '{sign}]', or write \\[{sign} for the "
        "characters themselves"
    )


def _backslashes(run: str) -> tuple[bool, str]:
    """Whether the backslashes before a bracket make it one, and those of them that are text."""
    return len(run) % 2 == 1, run[: len(run) // 2]


def _unescaped(inside: str) -> str:
    return _OPENING.sub(lambda found: f"{_backslashes(found[1])[1]}[{found[2]}", inside)


def escape_markup(text: str, before_mark: bool = False) -> str:
    """Text in which nothing is taken for a mark: ``parse_markup(escape_markup(t)) == (t, [])``.

    Args:
        before_mark: a mark follows, which the end of the text must not change.
    """
    text = re.sub(r"(?<!\\)(\\*)(\[[=+~-])", r"\1\1\\\2", text)
    return _doubled_at_the_end(text) if before_mark else text


def write_mark(text: str, kind: str) -> str:
    """The mark that holds a text, whatever it is.

    Args:
        kind: keep, drop, term or replace.

    Raises:
        UserError: the text is blank, or the kind is none.
    """
    if kind not in _SIGNS or not text.strip():
        raise UserError(f"no mark {kind!r} on {text[:20]!r}; kinds are {', '.join(_SIGNS)}")
    sign = _SIGNS[kind]
    inside = re.sub(rf"(?<!\\)(\\*)(\{sign}\])", r"\1\1\\\2", escape_markup(text))
    return f"[{sign}{_doubled_at_the_end(inside)}{sign}]"


def _doubled_at_the_end(text: str) -> str:
    return text + text[len(text.rstrip("\\")) :]


def token_marks(
    text: str, marks: Sequence[Mark], encode: Callable[[str], str]
) -> tuple[list[str], list[int]]:
    """Tokens of the plain text and the mark bits of each.

    A mark that begins or ends inside a token covers the whole token. Tokens are found by coding
    the text on both sides of a border, so any tokenizer and any subwords will do.

    Args:
        encode: text → tokens separated by spaces.

    Returns:
        the tokens, and for each its bits. Of a term, and of what goes, every token but the last
        is JOINED to the next.

    Raises:
        UserError: a mark that covers no token, or a token that is to stay and to go.
    """
    tokens = encode(text).split()
    bits = [0] * len(tokens)
    for mark in marks:
        first, _ = _border(text, mark.start, tokens, encode)
        _, last = _border(text, mark.end, tokens, encode)
        if first >= last:
            raise UserError(f"no token stands under the mark on {text[mark.start : mark.end]!r}")
        for i in range(first, last):
            bits[i] |= _BITS[mark.kind]
            if mark.kind != "keep" and i < last - 1:
                bits[i] |= JOINED
            if bits[i] & KEEP and bits[i] & DROP:
                raise UserError(
                    f"the token {tokens[i]!r} of {text[mark.start : mark.end]!r} is marked to stay "
                    "and to go; put the marks at the borders of words"
                )
    return tokens, bits


def whole_words(tokens: Sequence[str], bits: Sequence[int], joining: Joining) -> list[int]:
    """The bits with BEGINS and ENDS, and with JOINED inside each word that stays.

    Args:
        tokens: of a draft. bits: of its tokens. joining: of its dictionary.
    """
    edges = [joining.edges(token) for token in tokens]
    words = list(bits)
    for i, (left, right) in enumerate(edges):
        if not bits[i] & KEEP:
            continue
        if left and not (i and edges[i - 1][1]):
            words[i] |= BEGINS
        if right and not (i + 1 < len(edges) and edges[i + 1][0]):
            words[i] |= ENDS
        elif right and bits[i + 1] & KEEP:
            words[i] |= JOINED
    return words


def _border(
    text: str, place: int, tokens: Sequence[str], encode: Callable[[str], str]
) -> tuple[int, int]:
    """How many tokens stand before a place in the text: at least, and at most.

    The numbers differ where the place is inside a token.
    """
    before, behind = encode(text[:place]).split(), encode(text[place:]).split()
    least = _common(before, tokens)
    most = len(tokens) - _common(behind[::-1], tokens[::-1])
    # one side may look different at a cut, such as the last piece of a word ("ab@@" and "ab")
    if least == len(before):
        return least, least
    if len(tokens) - most == len(behind):
        return most, most
    return least, most


def _common(part: Sequence[str], whole: Sequence[str]) -> int:
    """How many tokens both begin with."""
    length = 0
    for one, other in zip(part, whole):
        if one != other:
            break
        length += 1
    return length
