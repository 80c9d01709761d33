"""The one exception for a user's mistake, and the line that commands print for it."""

import difflib
import functools
import inspect
import os
import unicodedata
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from types import NoneType
from typing import Any, ParamSpec, TypeVar

_LONGEST = 2_000  # characters of a message; a line of text that it quotes may have any number
# Characters that would reorder or break a line without being seen: embeddings, overrides and
# isolates of the bidirectional algorithm, and the byte order mark. Joiners stay: scripts need them.
_UNSEEN = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
#: How an argument is annotated → the types that it may have, and what to call them.
_KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    int: ((Integral,), "a whole number"),
    float: ((Real,), "a number"),
    str: ((str,), "text"),
}
_KINDS |= {one | None: ((*types, NoneType), said) for one, (types, said) in _KINDS.items()}
P = ParamSpec("P")
R = TypeVar("R")


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


class UnknownArgument(UserError, TypeError):
    """An argument that a function does not have; a :class:`TypeError` too, as Python's own is."""


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


def checks_arguments(
    also: Callable[[], Iterable[str]] = tuple, **elsewhere: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function refuse a named argument that it does not have, and say what was meant.

    What is annotated as text or a number has to be such. A path may be a :class:`pathlib.Path`: the
    function gets it as text.

    Args:
        also: the names that its ``**`` takes; none by default.
        **elsewhere: for arguments of other functions, what to do instead.

    Raises:
        UnknownArgument: from the function, in place of Python's TypeError.
        UserError: from the function, for an argument of another type.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        """The function behind the checks."""
        parameters = inspect.signature(function).parameters
        own = [name for name, one in parameters.items() if one.kind is not one.VAR_KEYWORD]
        kinds = {
            name: _KINDS[how] for name in own if (how := parameters[name].annotation) in _KINDS
        }

        @functools.wraps(function)
        def checked(*args: P.args, **named: P.kwargs) -> R:
            """The function, once its arguments have passed."""
            for name in named:
                known = own[1:]  # less self
                if name not in known and name not in (known := [*known, *also()]):
                    way = elsewhere.get(name) or _meant(name, known)
                    raise UnknownArgument(f"{function.__name__}() has no argument {name}; {way}")
            texts: dict[str, Any] = {name: _as_text(value) for name, value in named.items()}
            values = [_as_text(value) for value in args]
            for name, value in (*zip(own, values), *texts.items()):
                types, said = kinds.get(name, ((object,), ""))
                if not isinstance(value, types):
                    raise UserError(f"{name} {value!r:.60}: must be {said}")
            return function(*values, **texts)

        return checked

    return decorate


def _as_text(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _meant(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"it has {', '.join(known)}"
