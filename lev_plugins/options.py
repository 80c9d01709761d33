"""Options of configurations, and named sizes: what an architecture sets by itself."""

from argparse import Namespace
from dataclasses import field
from typing import Any


def option(default: Any, help: str) -> Any:
    """A field of a configuration, with what ``--help`` says of it."""
    return field(default=default, metadata={"help": help})


def set_defaults(args: Namespace, **values: Any) -> None:
    """Sets the options that the command line left open."""
    for name, value in values.items():
        setattr(args, name, getattr(args, name, value))
