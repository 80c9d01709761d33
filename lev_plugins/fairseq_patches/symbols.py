"""Fault: fairseq keeps its dictionaries beside the data alone.

Made anew, with as many symbols in another order, a model decodes other words in silence.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from fairseq.tasks.translation import TranslationTask

from lev_runtime.errors import UserError

from ..io.patching import Stock, patches

_SYMBOLS = "symbols"  # in a checkpoint's ``task_state``


class Difference(NamedTuple):
    """Where two lists of symbols part: the position, and both symbols, quoted or ``missing``."""

    position: int
    there: str
    here: str


def difference(there: Sequence[str], here: Sequence[str]) -> Difference | None:
    """The first symbol that differs; None for none."""
    for position, symbols in enumerate(zip_longest(there, here)):
        if symbols[0] != symbols[1]:
            names = ("missing" if symbol is None else repr(symbol) for symbol in symbols)
            return Difference(position, *names)
    return None


@patches(TranslationTask, "state_dict")
def state_dict(stock: Stock, self: TranslationTask) -> dict[str, Any]:
    """fairseq's, with the symbols of both sides."""
    source, target = list(self.src_dict.symbols), list(self.tgt_dict.symbols)
    if source == target:
        target = source  # stored once
    return {**stock(self), _SYMBOLS: {"source": source, "target": target}}


@patches(TranslationTask, "load_state_dict")
def load_state_dict(stock: Stock, self: TranslationTask, state_dict: dict[str, Any]) -> None:
    """fairseq's; raises :class:`UserError` where the checkpoint has other symbols.

    A dictionary may continue behind the end of the checkpoint's: ours have a placeholder.
    """
    state = dict(state_dict)
    kept = state.pop(_SYMBOLS, {})
    for side, dictionary in (("source", self.src_dict), ("target", self.tgt_dict)):
        there = kept.get(side, [])
        if differs := difference(there, dictionary.symbols[: len(there)]):
            raise UserError(
                f"the checkpoint was trained with another {side} dictionary (symbol "
                f"{differs.position} is {differs.there} there and {differs.here} in "
                f"{self.cfg.data}); give the data folder it was trained with"
            )
    stock(self, state)
