"""Options of configurations, and named sizes: what an architecture sets by itself."""

from argparse import Namespace
from dataclasses import field, fields
from typing import Any, List, Optional  # noqa: UP035

from lev_runtime.errors import UserError, flag

# Types of a configuration's fields. fairseq builds its command line from them and understands
# typing's own names there, not X | None and list[float].
OptionalStr = Optional[str]  # noqa: UP045
OptionalInt = Optional[int]  # noqa: UP045
OptionalFloat = Optional[float]  # noqa: UP045
Floats = List[float]  # noqa: UP006


#: intervals of numbers, as they are written: what stands at a round bracket is left out
SHARE, BELOW_ONE, NOT_NEGATIVE, COUNT = "[0, 1]", "[0, 1)", "[0, inf)", "[1, inf)"


def option(default: Any, help: str, within: str = "") -> Any:
    """Returns a field of a configuration, with what ``--help`` says of it.

    within: the interval of its numbers, which :func:`require_ranges` looks at.
    """
    return field(default=default, metadata={"help": help, "within": within})


def require_ranges(settings: Any, kind: Any) -> None:
    """Raises :class:`UserError` for a setting outside of the interval of its option.

    kind: the dataclass of the options; None: they have no intervals.
    """
    for field_ in fields(kind) if kind else ():
        interval = field_.metadata.get("within")
        value = getattr(settings, field_.name, None)
        if interval and value is not None and not _is_within(value, interval):
            raise UserError(f"{flag(field_.name)} {value} is outside {interval}")


def _is_within(value: float, interval: str) -> bool:
    least, most = map(float, interval[1:-1].split(","))
    is_end = value == least and interval[0] == "[" or value == most and interval[-1] == "]"
    return is_end or least < value < most


def set_defaults(args: Namespace, **values: Any) -> None:
    """Sets the options that the command line left open."""
    for name, value in values.items():
        setattr(args, name, getattr(args, name, value))
