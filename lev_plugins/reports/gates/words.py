"""Tokens as readers know them: subwords and characters as parts of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Piece:
    """A token as it is shown. text: without marks of subwords. starts: whether a word begins."""

    text: str
    starts: bool


SPACE_MARK = "\u2423"  # what a character model's token for a space is shown as
_SPACES = ("\u2581", "\u0120")  # sentencepiece and characters; byte-level BPE


def subword_marks(tokens: Sequence[str]) -> str:
    """How the tokens of a text say where words begin.

    ``▁`` and ``Ġ`` (before a word), ``##`` (before what continues), ``@@`` (behind what continues),
    ``""`` (every token is a character) or a space (every token is a word).
    """
    plain = [token for token in tokens if not is_symbol(token)]
    for mark in _SPACES:
        if any(token.startswith(mark) for token in plain):
            return mark
    if any(token.startswith("##") and len(token) > 2 for token in plain):
        return "##"
    if any(token.endswith("@@") and len(token) > 2 for token in plain):
        return "@@"
    return "" if plain and all(len(token) == 1 for token in plain) else " "


def pieces(tokens: Sequence[str], marks: str) -> list[Piece]:
    """The tokens as they are shown, by :func:`subword_marks` of all that is shown."""
    starts = [_starts(token, before, marks) for before, token in pairwise(["", *tokens])]
    return [Piece(_shown(token, marks), start) for token, start in zip(tokens, starts)]


def _starts(token: str, before: str, marks: str) -> bool:
    if not before or is_symbol(token) or is_symbol(before):
        return True
    if marks in _SPACES:
        return token.startswith(marks) or before == marks
    if marks == "##":
        return not token.startswith("##")
    return marks == " " or (marks == "@@" and not before.endswith("@@"))


def _shown(token: str, marks: str) -> str:
    if marks in _SPACES:
        return token.removeprefix(marks) or SPACE_MARK
    if marks == "##" and len(token) > 2:
        return token.removeprefix("##")
    if marks == "@@" and len(token) > 2:
        return token.removesuffix("@@")
    return token


def is_symbol(token: str) -> bool:
    """Whether a token is one of the dictionary's own, such as ``<unk>``."""
    return len(token) > 2 and token[0] == "<" and token[-1] == ">"
