r"""Marks that a person puts on a draft: what stays, what goes, and terms that are wanted.

    [=text=]   stays: no token of it is deleted
    [-text-]   goes: it is deleted, and not written again
    [+text+]   a term: stays, and nothing is inserted inside it

``\[=``, ``\[-`` and ``\[+`` are the marks' own characters; inside a mark ``\=]``, ``\-]`` and
``\+]`` are. A backslash right before any of these is written twice: ``C:\\[=x=]`` is ``C:\`` and a
mark. Marks do not stand inside each other.

The marks of a token are bits: KEEP, DROP, JOINED (to the token that follows), BEGINS and ENDS (a
word that stays, onto which something could be written).
"""

import functools
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..errors import UserError

KEEP, DROP, JOINED, BEGINS, ENDS = 1, 2, 4, 8, 16
_KINDS = {"=": "keep", "-": "drop", "+": "term"}
# What ends a stretch of text outside of marks, and inside each. After an odd number of backslashes
# it is text. In ``[=a[=]`` the last three characters are a bracket and the mark's end.
_EDGES = {"": re.compile(r"(?<!\\)(\\*)(\[[=+-])")} | {
    sign: re.compile(rf"(?<!\\)(\\*)(\[(?!\{sign}\])[=+-]|\{sign}\])") for sign in _KINDS
}


class Mark(NamedTuple):
    """Characters ``start`` … ``end`` (exclusive) of the plain text; kind: keep, drop or term."""

    start: int
    end: int
    kind: str


def parse_markup(text: str) -> tuple[str, list[Mark]]:
    """Splits a text with marks into the plain text and the marks with their places in it.

    Raises:
        UserError: a mark that is not closed, is empty, or stands inside another.
    """
    plain, marks = "", []
    sign, opened, start, position = "", 0, 0, 0
    while match := _EDGES[sign].search(text, position):
        backslashes, edge = match.groups()
        plain += text[position : match.start()] + backslashes[: len(backslashes) // 2]
        position = match.end()
        if len(backslashes) % 2:
            plain += edge
        elif not sign:
            sign, opened, start = edge[1], position - 2, len(plain)
        elif edge[0] == "[":  # marks do not stand inside each other
            break
        elif not plain[start:].strip():
            raise UserError(f"the mark '[{sign}{sign}]' is empty; put the text inside")
        else:
            marks.append(Mark(start, len(plain), _KINDS[sign]))
            sign = ""
    if sign:
        raise UserError(
            f"the mark {text[opened : opened + 20]!r} is not closed; end it with '{sign}]', or "
            f"write \\[{sign} for the characters themselves"
        )
    return plain + text[position:], marks


def escape_markup(text: str, before_mark: bool = False, sign: str = "") -> str:
    """Escapes marks or, inside a mark, its ``sign``; ``before_mark``: also a mark that follows."""
    text = _EDGES[sign].sub(r"\1\1\\\2", text)
    return text + text[len(text.rstrip("\\")) :] if before_mark else text


def write_mark(text: str, kind: str) -> str:
    """Writes a mark (keep, drop or term) around a text, which is not blank."""
    sign = {name: sign for sign, name in _KINDS.items()}[kind]
    return f"[{sign}{escape_markup(text, True, sign)}{sign}]"


def write_marks(text: str, marks: Iterable[tuple[int, int, str]]) -> str:
    """Writes marks (start, end, kind), in order and none inside another, into a text."""
    parts, done = list[str](), 0
    for start, end, kind in marks:
        parts.append(escape_markup(text[done:start], before_mark=True))
        parts.append(write_mark(text[start:end], kind))
        done = end
    return "".join([*parts, escape_markup(text[done:])])


# words ----------------------------------------------------------------------------------------

# ▁ (sentencepiece; characters, where it stands for the space) and Ġ (byte-level BPE) stand before a
# word, ## (WordPiece) before what continues one, @@ (subword-nmt) after what continues. Without
# any of these every token is a word.
SPACES = ("\u2581", "\u0120")
# scripts without spaces: there a letter next to a word is no sign that the word continues
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)


class Joining:
    """How tokens of one dictionary join to words; special symbols (``<…>``) join nothing."""

    def __init__(self, symbols: Sequence[str]) -> None:
        self.sign = _sign([symbol for symbol in symbols if not _is_special(symbol)])

    def edges(self, symbol: str) -> tuple[bool, bool]:
        """Returns whether a token can continue the one before it, and the one after it."""
        if _is_special(symbol) or not symbol or not self.sign:
            return False, False
        text = symbol.removeprefix(self.sign).removesuffix(self.sign)
        left, right = in_word(text[:1]), in_word(text[-1:])
        is_before = symbol.startswith(self.sign)
        is_behind = symbol.endswith(self.sign)
        if self.sign == "@@":
            return left, right and is_behind
        if self.sign == "##":
            return left and is_before, right
        return left and not is_before, right and not is_behind


#: the same, made once for each dictionary
joining_of = functools.lru_cache(maxsize=4)(Joining)


def _sign(symbols: Sequence[str]) -> str:
    """Returns the sign that tells words apart; "" where every symbol is a word."""
    for space in SPACES:
        if space in symbols and all(len(symbol) == 1 for symbol in symbols):
            return space
        # 5 %: a dictionary of another kind may have a few words that were typed with it
        if 20 * sum(symbol.startswith(space) for symbol in symbols) > len(symbols):
            return space
    hashes = sum(symbol.startswith("##") for symbol in symbols)
    ats = sum(symbol.endswith("@@") for symbol in symbols)
    return "##" if hashes and hashes >= ats else "@@" if ats else ""


def in_word(character: str) -> bool:
    """Returns whether it is a letter, a digit or a mark on one, of a script that has spaces."""
    return unicodedata.category(character or " ")[0] in "LMN" and not _NO_SPACES.match(character)


def _is_special(symbol: str) -> bool:
    return len(symbol) > 2 and symbol[0] == "<" and symbol[-1] == ">"


def token_marks(
    text: str, marks: Sequence[Mark], encode: Callable[[str], str]
) -> tuple[list[str], list[int]]:
    """Cuts the plain text into tokens; returns them and their mark bits.

    ``encode``: text → tokens with spaces between them.

    A mark that begins or ends inside a token covers all of it. Of a term, and of what goes, every
    token but the last is JOINED to the next.

    Raises:
        UserError: a mark that covers no token, or a token that is to stay and to go.
    """
    tokens = encode(text).split()
    bits = [0] * len(tokens)
    for mark in marks:
        marked = text[mark.start : mark.end]
        first, _ = _border(text, mark.start, tokens, encode)
        _, last = _border(text, mark.end, tokens, encode)
        if first >= last:
            raise UserError(f"no token stands under the mark on {marked!r}")
        for i in range(first, last):
            bits[i] |= DROP if mark.kind == "drop" else KEEP
            if mark.kind != "keep" and i < last - 1:
                bits[i] |= JOINED
            if bits[i] & KEEP and bits[i] & DROP:
                raise UserError(
                    f"the token {tokens[i]!r} of {marked!r} is marked to stay and to go; put the "
                    "marks at the borders of words"
                )
    return tokens, bits


def whole_words(tokens: Sequence[str], bits: Sequence[int], joining: Joining) -> list[int]:
    """Adds BEGINS and ENDS to the tokens' bits, and JOINED inside each word that stays."""
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
    text: str, place: int, tokens: list[str], encode: Callable[[str], str]
) -> tuple[int, int]:
    """Returns how many tokens stand before a place: at least, and at most (inside a token).

    It encodes the text on both sides, which works for any tokenizer and any subwords.
    """
    before = encode(text[:place]).split()
    after = encode(text[place:]).split()
    prefix = os.path.commonprefix([before, tokens])
    suffix = os.path.commonprefix([after[::-1], tokens[::-1]])
    least, most = len(prefix), len(tokens) - len(suffix)
    # one side may look different at a cut, such as the last piece of a word ("ab@@" and "ab")
    if least == len(before):
        return least, least
    if len(suffix) == len(after):
        return most, most
    return least, most


def removed_runs(tokens: list[int], marks: list[int]) -> list[list[int]]:
    """Returns the sequences of tokens that have to go, each once."""
    runs = []
    run = list[int]()
    for token, mark in zip(tokens + [0], marks + [0]):
        if mark & DROP:
            run.append(token)
        if run and not (mark & DROP and mark & JOINED):
            if run not in runs:
                runs.append(run)
            run = []
    return runs
