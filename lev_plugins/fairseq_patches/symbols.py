"""Checkpoints name the symbols of their dictionaries."""

import contextlib
import contextvars
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..io.patching import Stock, patches

if TYPE_CHECKING:
    from fairseq.tasks import FairseqTask
    from fairseq.tasks.translation import TranslationTask

_SYMBOLS = "symbols"  # in a checkpoint's ``task_state``
_resuming: contextvars.ContextVar[Any] = contextvars.ContextVar("resuming", default=None)


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


def refuse_other_symbols(what: str, saved: Sequence[str], here: Sequence[str], data: str) -> None:
    """Refuse a checkpoint that was trained with other symbols than these.

    Args:
        what: the dictionary, as in ``another source dictionary``.
        saved: symbols of the checkpoint.
        here: symbols of the dictionary in the folder ``data``.

    Raises:
        UserError: with the first symbol that differs.
    """
    found = difference(saved, here)
    if found is not None:
        index, one, other = found
        raise UserError(
            f"the checkpoint was trained with {what} (symbol {index} is {one} there and {other} in "
            f"{data}); give the data folder it was trained with, or preprocess yours with its "
            "--srcdict and --tgtdict"
        )


def compare_symbols(task: "TranslationTask", task_state: Mapping[str, Any]) -> None:
    """Compare a task's dictionaries with those that a checkpoint's task has kept.

    A dictionary may continue behind the end of the checkpoint's: ours have a placeholder, and for
    other sizes the parameters do not fit. Stock checkpoints have no symbols.

    Raises:
        UserError: with the first symbol that differs.
    """
    for side, dictionary in (("source", task.src_dict), ("target", task.tgt_dict)):
        there = task_state.get(_SYMBOLS, {}).get(side, [])
        here = dictionary.symbols[: len(there)]
        refuse_other_symbols(f"another {side} dictionary", there, here, task.cfg.data)


@contextlib.contextmanager
def resumed_by(task: "FairseqTask") -> Iterator[None]:
    """Inside, a checkpoint that is read is the one from which this task's training resumes."""
    left = _resuming.set(task)
    try:
        yield
    finally:
        _resuming.reset(left)


def keep_symbols() -> None:
    """Lets no translation model resume, or decode, with a dictionary whose symbols have moved.

    Faults: fairseq's task ``translation``, with which PBD and gated-Trans are trained, keeps its
    dictionaries beside the data alone: made anew, with as many symbols in another order, a model
    decodes other words in silence. And what a task keeps in a checkpoint, the trainer does not
    give back to it.
    """
    from fairseq import checkpoint_utils
    from fairseq.tasks.translation import TranslationTask

    @patches(TranslationTask, "state_dict")
    def state_dict(stock: Stock, self: TranslationTask) -> dict[str, Any]:
        """fairseq's, with the symbols of a task that does not compare them itself."""
        if type(self).load_state_dict is not load_state_dict:
            return stock(self)
        source, target = (list(side.symbols) for side in (self.src_dict, self.tgt_dict))
        symbols = {"source": source, "target": source if source == target else target}
        return {**stock(self), _SYMBOLS: symbols}

    @patches(TranslationTask, "load_state_dict")
    def load_state_dict(stock: Stock, self: TranslationTask, state_dict: dict[str, Any]) -> None:
        """fairseq's, where the dictionaries are those of the checkpoint; else a UserError."""
        compare_symbols(self, state_dict)
        stock(self, {name: one for name, one in state_dict.items() if name != _SYMBOLS})

    @patches(checkpoint_utils, "load_checkpoint_to_cpu")
    def load_checkpoint(stock: Stock, path: str, *arguments: object, **options: object) -> Any:
        """fairseq's; a training's task gets its state back."""
        state = stock(path, *arguments, **options)
        task = _resuming.get()
        if isinstance(task, TranslationTask) and isinstance(state.get("task_state"), dict):
            task.load_state_dict(state["task_state"])
        return state
