"""The one exception for a user's mistake, and the line that commands print for it."""

import unicodedata

_LONGEST = 2_000  # characters of a message; a line of text that it quotes may have any number
# Characters that would reorder or break a line without being seen: embeddings, overrides and
# isolates of the bidirectional algorithm, and the byte order mark. Joiners stay: scripts need them.
_UNSEEN = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


class UserError(ValueError):
    """Something the user can fix: a missing file, a line that cannot be read, a bad value.

    The message is a single line that names the file, line or value and the way out; control
    characters in it are escaped (:func:`printable`). Commands print it after ``error:`` and exit
    with status 1 (see ``fairseq_patches.reports``); in Python it is a :class:`ValueError`.
    """

    def __init__(self, message: str) -> None:
        text = printable(" ".join(str(message).split()))
        if len(text) > _LONGEST:  # the way out stands at the end
            text = f"{text[: _LONGEST // 2]} […] {text[-_LONGEST // 2 :]}"
        super().__init__(text)


def printable(text: str) -> str:
    """Return ``text`` with control characters, line breaks and the like as escapes (``\\x1b``)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if _is_unsafe(char) else char for char in text)


def counted(count: int, noun: str) -> str:
    """``1 line``, ``2,000 lines``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _is_unsafe(char: str) -> bool:
    return char in _UNSEEN or unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
