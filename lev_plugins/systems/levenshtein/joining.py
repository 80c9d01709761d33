"""Which tokens would be written as one word when they stand side by side.

What a tokenizer calls the beginning or the rest of a word is told by the dictionary's symbols:
``▁`` (sentencepiece; characters, where it stands for the space) and ``Ġ`` (byte-level BPE) stand
before a word, ``##`` (WordPiece) before what continues one, ``@@`` (subword-nmt) behind what
continues. Without any of these every token is a word.
"""

import re
import unicodedata
from collections.abc import Sequence

SPACES = ("\u2581", "\u0120")
# written without spaces: there a letter beside a word is no sign that it continues
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)


class Joining:
    """How tokens of one dictionary join.

    Args:
        symbols: of the dictionary; special ones (``<…>``) join nothing.
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        self.sign = _sign([symbol for symbol in symbols if not _is_special(symbol)])

    def edges(self, symbol: str) -> tuple[bool, bool]:
        """Whether a token can continue with what stands before it, and with what stands behind
        it.
        """
        if _is_special(symbol) or not symbol or not self.sign:
            return False, False
        text = symbol.removeprefix(self.sign).removesuffix(self.sign)
        left, right = _in_word(text[:1]), _in_word(text[-1:])
        if self.sign == "@@":
            return left, right and symbol.endswith("@@")
        if self.sign == "##":
            return left and symbol.startswith("##"), right
        return left and not symbol.startswith(self.sign), right and not symbol.endswith(self.sign)

    def joined(self, before: str, behind: str) -> bool:
        """Whether two neighbours are written as one word."""
        return self.edges(before)[1] and self.edges(behind)[0]


def _sign(symbols: Sequence[str]) -> str:
    """What tells words apart in these symbols; "" where every symbol is a word."""
    for space in SPACES:
        starts = sum(symbol.startswith(space) for symbol in symbols)
        if space in symbols and all(len(symbol) == 1 for symbol in symbols):
            return space
        if 20 * starts > len(symbols):  # a few may be words that were typed with it
            return space
    continued = {
        "##": sum(symbol.startswith("##") for symbol in symbols),
        "@@": sum(symbol.endswith("@@") for symbol in symbols),
    }
    best = max(continued, key=lambda sign: continued[sign])
    return best if continued[best] else ""


def _in_word(character: str) -> bool:
    """Whether it is a letter, a digit or a mark on one, of a script that has spaces."""
    return unicodedata.category(character or " ")[0] in "LMN" and not _NO_SPACES.match(character)


def _is_special(symbol: str) -> bool:
    return len(symbol) > 2 and symbol[0] == "<" and symbol[-1] == ">"
