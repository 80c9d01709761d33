"""Options of configurations, and named sizes: what an architecture sets by itself."""

from argparse import Namespace
from dataclasses import field
from typing import Any, List, Optional  # noqa: UP035

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
