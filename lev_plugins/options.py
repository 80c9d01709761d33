"""Named sizes: what an architecture sets where the user says nothing."""

from argparse import Namespace
from typing import Any


def set_defaults(args: Namespace, **values: Any) -> None:
    """Sets the options that the command line left open."""
    for name, value in values.items():
        setattr(args, name, getattr(args, name, value))
