"""How a function of fairseq is replaced by one of ours that may call it."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

#: a function of fairseq, as a replacement gets it
Stock = Callable[..., Any]


def patches(owner: Any, name: str) -> Callable[[Stock], Stock]:
    """A decorator: the function takes the place of ``owner.name``.

    It gets the original as its first argument, before those of the call. The replacement keeps the
    original as ``__wrapped__``, its attributes, and stays a static method where that is one.

    Args:
        owner: a module or a class.
    """
    stock = getattr(owner, name)
    static = isinstance(inspect.getattr_static(owner, name), staticmethod)

    def replace(function: Stock) -> Stock:
        def patched(*args: object, **options: object) -> object:
            return function(stock, *args, **options)

        patched.__name__, patched.__doc__ = function.__name__, function.__doc__
        functools.update_wrapper(patched, stock, assigned=())
        setattr(owner, name, staticmethod(patched) if static else patched)
        return patched

    return replace
