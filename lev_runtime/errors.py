"""The one exception for a user's mistake, the line that commands print for it, common checks."""

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from numbers import Integral, Real
from typing import Any

LARGEST = sys.maxsize  #: of a number that has no other limit
_LONGEST = 2_000  # characters of a message; a line of text that it quotes may have any number
# Reorder or break a line without being seen. Joiners stay: scripts need them.
_UNSEEN = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
#: Categories of Unicode: controls, half surrogate pairs, and what ends lines and paragraphs.
_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})


class UserError(ValueError):
    """Something the user can fix: a missing file, a line that cannot be read, a bad value.

    The message is a single line that names the file, line or value and the way out, without
    control characters. Commands print it after ``error:`` and exit with status 1.
    """

    def __init__(self, message: str) -> None:
        line = " ".join(str(message).split())
        text = printable(line)
        if len(text) > _LONGEST:  # the way out stands at the end
            half = _LONGEST // 2
            text = f"{text[:half]} […] {text[-half:]}"
        super().__init__(text)


def printable(text: str) -> str:
    r"""Escapes control characters, line breaks and the like (``\x1b``)."""
    if text.isascii() and text.isprintable():
        return text
    shown = []
    for char in text:
        is_seen = char not in _UNSEEN and unicodedata.category(char) not in _CONTROLS
        shown.append(char if is_seen else char.encode("unicode_escape").decode("ascii"))
    return "".join(shown)


def flag(name: str) -> str:
    """Returns an option as it is typed: ``max_iter`` as ``--max-iter``."""
    return "--" + name.replace("_", "-")


def counted(count: int, noun: str) -> str:
    """Returns ``1 line``, ``2,000 lines``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def require_number(
    shown: str, value: Any, least: float, most: float = LARGEST, kind: type = float
) -> Any:
    """Returns a number of [least, most], also one of numpy, as a ``kind``: float or int.

    Args:
        shown: ``name=`` or ``--flag ``, for the message.

    Raises:
        UserError: another number, or none; True and False are none, and 1.0 is no int.
    """
    base, noun = (Integral, "whole number") if kind is int else (Real, "number")
    is_number = isinstance(value, base) and not isinstance(value, bool)
    if is_number and least <= value <= most:
        return kind(value)
    limits = f"between {least:.2g} and {most:.2g}"
    raise UserError(f"{shown}{value!r:.60}: must be a {noun} {limits}")


def require_count(name: str, value: Any) -> Any:
    """Returns an int of 1 or more; errors of :func:`require_number`."""
    return require_number(f"{name}=", value, 1, kind=int)


def require_share(flag: str, value: float) -> None:
    """Refuses a number outside [0, 1], or none."""
    require_number(f"{flag} ", value, 0, 1)


def parse_names(flag: str, text: str, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """Splits ``insert,delete``, each name once; a UserError for one that is not ``known``."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UserError(f"{flag} {text}: no {what} {name!r}; choose from {', '.join(known)}")
    return tuple(dict.fromkeys(names))


#: extra → modules that all of it needs
_NEEDED = {
    "train": ("fairseq", "torch"),
    "export": ("onnx",),
    "lsp": ("pygls",),
    "serve": ("fastapi", "uvicorn"),
}
#: what it brings besides: some of it works without
_BROUGHT = {
    **dict.fromkeys("hydra omegaconf sacrebleu scipy sklearn yaml".split(), "train"),
    **dict.fromkeys(("pydantic", "starlette", "prometheus_client"), "serve"),
}


class MissingExtra(UserError, ImportError):
    """Modules that an extra brings are not installed."""


def require_extra(*extras: str, what: str = "", modules: Sequence[str] = ()) -> None:
    """Raises :class:`MissingExtra` where a module of one of the extras is missing.

    Args:
        what: needs them (default: the running program). modules: of the extra (default: those that
            all of it needs).
    """
    needed = modules or [name for extra in extras for name in _NEEDED[extra]]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        program = os.path.basename(sys.argv[0])
        what = what or ("this" if program in ("", "-c", "__main__.py") else program)
        raise MissingExtra(
            f"{what} needs {' and '.join(missing)}: pip install '.[{','.join(extras)}]' in a clone "
            "of lev_plugins (README.md, Install)"
        )


def require_module(name: str) -> None:
    """Raises :class:`MissingExtra` where an extra brings a module that could not be imported."""
    module = name.partition(".")[0]
    for extra, needed in _NEEDED.items():
        if module in needed:
            require_extra(extra)
    if module in _BROUGHT:
        require_extra(_BROUGHT[module], modules=[module])


def strings(name: str, values: Iterable[Any], optional: bool = False, first: int = 1) -> list[Any]:
    """Returns a list of strings, or of strings and None; ``first``: the number of the first.

    Raises:
        UserError: it is none; a single string, whose characters would be the texts, included.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise UserError(f"{name}: takes a list, not {values!r:.60}")
    texts = list(values)
    for number, text in enumerate(texts, first):
        if not isinstance(text, str) and not (optional and text is None):
            kind = name.replace("_", " ").removesuffix("s")
            raise UserError(f"{kind} {number}: {text!r:.60} is not text; give strings")
    return texts
