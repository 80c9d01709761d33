"""Options of configurations, and named sizes: what an architecture sets by itself."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import field
from typing import Any, List, Optional  # noqa: UP035

from .errors import UserError

# Types of a configuration's fields. fairseq builds its command line from them and understands
# typing's own names there, not X | None and list[float].
OptionalStr = Optional[str]  # noqa: UP045
OptionalInt = Optional[int]  # noqa: UP045
OptionalFloat = Optional[float]  # noqa: UP045
Floats = List[float]  # noqa: UP006


def option(default: Any, help: str) -> Any:
    """A field of a configuration, with what ``--help`` says of it."""
    return field(default=default, metadata={"help": help})


def set_defaults(args: Namespace, **values: Any) -> None:
    """Sets the options that the command line left open."""
    for name, value in values.items():
        setattr(args, name, getattr(args, name, value))


def require_share(flag: str, value: float, of: str) -> None:
    """Refuses what is no share ``of`` something: a number outside [0, 1], or none."""
    if not 0 <= value <= 1:
        raise UserError(f"{flag} {value} is outside [0, 1]; give a share of {of}")


def parse_names(flag: str, text: str, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """``insert,delete`` → both names, each once.

    Raises:
        UserError: a name that there is not.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            there = ", ".join(known)
            raise UserError(f"{flag} {text}: there is no {what} {name!r}; there are {there}")
    return tuple(dict.fromkeys(names))
