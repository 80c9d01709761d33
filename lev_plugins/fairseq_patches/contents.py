"""What a checkpoint says besides what fairseq keeps: symbols, lengths, unrounded parameters."""

import functools
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from fairseq.data import Dictionary
from fairseq.optim.fp16_optimizer import FP16Optimizer
from fairseq.tasks.translation import TranslationTask
from torch import Tensor

from ..errors import UserError
from ..io.patching import Stock, patches

_SYMBOLS = "symbols"  # in a checkpoint's ``task_state``
_MASTERS = "fp32_params"  # in a checkpoint's ``last_optimizer_state``
WORDS_LEARNT = "words_learnt"  # in a checkpoint's ``extra_state``
_LOOKED_AT, _RARE = 2000, 99  # sources, percentile


def difference(there: Sequence[str], here: Sequence[str]) -> tuple[int, str, str] | None:
    """The first symbol that differs: its index, and both, quoted or ``missing``; None for none."""
    for index, pair in enumerate(zip_longest(there, here)):
        if pair[0] != pair[1]:
            one, other = ("missing" if symbol is None else repr(symbol) for symbol in pair)
            return index, one, other
    return None


def _refuse_other_symbols(task: TranslationTask, kept: Mapping[str, Sequence[str]]) -> None:
    """One may continue behind the end of the checkpoint's: ours have a placeholder."""
    for side, dictionary in (("source", task.src_dict), ("target", task.tgt_dict)):
        there = kept.get(side, [])
        if found := difference(there, dictionary.symbols[: len(there)]):
            raise UserError(
                f"the checkpoint was trained with another {side} dictionary (symbol {found[0]} is "
                f"{found[1]} there and {found[2]} in {task.cfg.data}); give the data folder it was "
                "trained with"
            )


@patches(TranslationTask, "state_dict")
def state_dict(stock: Stock, self: TranslationTask) -> dict[str, Any]:
    """Fault: fairseq keeps its dictionaries beside the data alone.

    Made anew, with as many symbols in another order, a model decodes other words in silence.
    """
    source, target = (list(side.symbols) for side in (self.src_dict, self.tgt_dict))
    symbols = {"source": source, "target": source if source == target else target}
    return {**stock(self), _SYMBOLS: symbols}


@patches(TranslationTask, "load_state_dict")
def load_state_dict(stock: Stock, self: TranslationTask, state_dict: dict[str, Any]) -> None:
    _refuse_other_symbols(self, state_dict.get(_SYMBOLS, {}))
    stock(self, {name: one for name, one in state_dict.items() if name != _SYMBOLS})


def words_learnt(sources: Sequence[Any], dictionary: Dictionary) -> int | None:
    """Words that a model learns to read at once; None where all sources are empty.

    The number that more than half of the sources have (segments, of which only what ends a line
    differs), else what 99 % of them have at most.

    Args:
        sources: tensors of ids; 2,000 of them, evenly spaced, are looked at.
    """
    marked = any(one.startswith("\u2581") for one in dictionary.symbols)
    cut, pad = "sentencepiece" if marked else "@@ ", {dictionary.pad()}
    counts = []
    for place in sorted({int(one) for one in np.linspace(0, len(sources) - 1, _LOOKED_AT)}):
        ids = sources[place].tolist()  # a tenth of the time that its elements take one by one
        text = dictionary.string(ids, cut, extra_symbols_to_ignore=pad)
        if words := len(text.replace(" ##", "").split()):  # as a BERT cuts them
            counts.append(words)
    if not counts:
        return None
    usual_count = int(np.bincount(counts).argmax())
    most = counts.count(usual_count) > len(counts) / 2
    return usual_count if most else int(np.ceil(np.percentile(counts, _RARE)))


def keep_lengths(trainer: Any) -> None:
    """Let the checkpoints of a training that begins say :func:`words_learnt` of its pairs, if any.

    Fault: a model that learnt from short lines stops early in longer ones; no checkpoint says so.
    """
    data = trainer.task.datasets.get(trainer.cfg.dataset.train_subset)
    sources, dictionary = getattr(data, "src", None), getattr(data, "src_dict", None)
    if sources is not None and dictionary is not None and len(sources):
        words = words_learnt(sources, dictionary)
        if words is not None:  # what a task gives here, fairseq puts into ``extra_state``
            trainer.task.get_checkpoint_dict = functools.partial(dict, {WORDS_LEARNT: words})


def _masters(optimizer: Any) -> Sequence[Tensor]:
    """What ``--bf16`` and ``--fp16`` move; fault: a checkpoint holds it rounded."""
    found = optimizer.fp32_params  # one for each device, or each parameter
    return list(found.values()) if isinstance(found, dict) else found


@patches(FP16Optimizer, "state_dict")
def optimizer_state_dict(stock: Stock, self: Any) -> dict[str, Any]:
    return {**stock(self), _MASTERS: [one.data for one in _masters(self)]}


@patches(FP16Optimizer, "load_state_dict")
def load_optimizer_state_dict(
    stock: Stock, self: Any, state_dict: dict[str, Any], *more: Any, **named: Any
) -> None:
    rest = {name: one for name, one in state_dict.items() if name != _MASTERS}
    stock(self, rest, *more, **named)
    for one, saved in zip(_masters(self), state_dict.get(_MASTERS, ())):
        one.data.copy_(saved)
