"""Replaces functions of fairseq by ours, which may call them."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

#: a function of fairseq, as a replacement gets it
Stock = Callable[..., Any]


def patches(owner: Any, name: str) -> Callable[[Stock], Stock]:
    """Returns a decorator: the function replaces ``owner.name``, of a module or class.

    It gets the original as its first argument, before those of the call. The replacement keeps it
    as ``__wrapped__``, with its name and attributes, and stays a static method where that is one.
    """
    stock = getattr(owner, name)
    static = isinstance(inspect.getattr_static(owner, name), staticmethod)

    def replace(function: Stock) -> Stock:
        @functools.wraps(stock)
        def patched(*args: object, **options: object) -> object:
            return function(stock, *args, **options)

        setattr(owner, name, staticmethod(patched) if static else patched)
        return patched

    return replace
