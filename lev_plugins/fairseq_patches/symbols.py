"""Checkpoints name the symbols of their dictionaries."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..io.patching import Stock, patches

if TYPE_CHECKING:
    from fairseq.tasks.translation import TranslationTask

_SYMBOLS = "symbols"  # in a checkpoint's ``task_state``


def difference(there: Sequence[str], here: Sequence[str]) -> tuple[int, str, str] | None:
    """The first symbol that differs between two dictionaries.

    Returns:
        its index, and what stands there on either side, quoted (``missing`` behind the shorter
        end); None where all are equal.
    """
    for index in range(max(len(there), len(here))):
        one, other = (repr(s[index]) if index < len(s) else "missing" for s in (there, here))
        if one != other:
            return index, one, other
    return None


def _refuse_other_symbols(task: "TranslationTask", kept: Mapping[str, Sequence[str]]) -> None:
    """Refuse other dictionaries than those that a checkpoint's task has kept, with a UserError.

    One may continue behind the end of the checkpoint's: ours have a placeholder, and for other
    sizes the parameters do not fit. Checkpoints of plain fairseq have no symbols.
    """
    for side, dictionary in (("source", task.src_dict), ("target", task.tgt_dict)):
        there = kept.get(side, [])
        if found := difference(there, dictionary.symbols[: len(there)]):
            index, one, other = found
            raise UserError(
                f"the checkpoint was trained with another {side} dictionary (symbol {index} is "
                f"{one} there and {other} in {task.cfg.data}); give the data folder it was trained "
                "with, or preprocess yours with its --srcdict and --tgtdict"
            )


def keep_symbols() -> None:
    """Lets no translation task resume, or decode, with a dictionary whose symbols have moved.

    Fault: fairseq keeps its dictionaries beside the data alone: made anew, with as many symbols in
    another order, a model decodes other words in silence.
    """
    from fairseq.tasks.translation import TranslationTask

    @patches(TranslationTask, "state_dict")
    def state_dict(stock: Stock, self: TranslationTask) -> dict[str, Any]:
        """fairseq's, with the symbols of both sides."""
        source, target = (list(side.symbols) for side in (self.src_dict, self.tgt_dict))
        symbols = {"source": source, "target": source if source == target else target}
        return {**stock(self), _SYMBOLS: symbols}

    @patches(TranslationTask, "load_state_dict")
    def load_state_dict(stock: Stock, self: TranslationTask, state_dict: dict[str, Any]) -> None:
        """fairseq's, where the dictionaries are those of the checkpoint; else a UserError."""
        _refuse_other_symbols(self, state_dict.get(_SYMBOLS, {}))
        stock(self, {name: one for name, one in state_dict.items() if name != _SYMBOLS})
