"""What a checkpoint says besides what fairseq keeps: its symbols, and the length it learnt from."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UserError
from ..io.patching import Stock, patches

if TYPE_CHECKING:
    from fairseq.data import Dictionary
    from fairseq.tasks.translation import TranslationTask
    from fairseq.trainer import Trainer

# ---------------------------------------------------------------- symbols

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


# ---------------------------------------------------------------- lengths

WORDS_LEARNT = "words_learnt"  # in a checkpoint's ``extra_state``
_LOOKED_AT = 2000  # sources
_RARE = 99  # percentile


def _begins(dictionary: "Dictionary") -> np.ndarray:
    """Of each symbol, whether a word begins, or ends, with it, as the marks of subwords tell."""
    symbols = dictionary.symbols
    usual = [one for one in symbols[dictionary.nspecial :] if not one.startswith(("madeup", "<"))]
    letters = sum(len(one) == 1 for one in usual)
    begun = sum(one.startswith("\u2581") for one in usual)
    # sentencepiece, or a space among characters; not a mark that a text had somewhere
    if begun and max(2 * letters, 10 * begun) > len(usual):
        return np.array([one.startswith("\u2581") for one in symbols])
    if any(one.endswith("@@") for one in usual):  # on all but the last piece of a word
        return np.array([not one.endswith("@@") for one in symbols])
    return np.array([not one.startswith("##") for one in symbols])  # BERT's, or words


def words_learnt(sources: Sequence[Any], dictionary: "Dictionary") -> int | None:
    """Words that a model learns to read at once; None where all sources are empty.

    Where more than half of the sources have the same number it is this: segments, of which only
    what was torn or ends a line differs. Else 99 % of them have at most so many.

    Args:
        sources: tensors of ids, one or more; 2,000 of them, evenly spaced, are looked at.
    """
    begins = _begins(dictionary)
    silent = (dictionary.pad(), dictionary.bos(), dictionary.eos())
    counts = []
    for place in sorted({int(one) for one in np.linspace(0, len(sources) - 1, _LOOKED_AT)}):
        ids = sources[place].tolist()  # data of another dictionary are refused later
        found = begins[[one for one in ids if one not in silent and one < len(begins)]]
        if len(found):  # among characters a space stands between words, at neither end
            counts.append(int(found.sum()) + int(not found[0] and not found[-1]))
    if not counts:
        return None
    usual = int(np.bincount(counts).argmax())
    if counts.count(usual) > len(counts) / 2:
        return usual
    return int(np.ceil(np.percentile(counts, _RARE)))


def keep_lengths(trainer: "Trainer") -> None:
    """Let the checkpoints of a training that begins say :func:`words_learnt` of its pairs, if any.

    Fault: a model that learnt from segments, or from short lines, stops early in longer ones, and
    the rest of the line is lost; nothing in a checkpoint of fairseq's tells them apart.
    """
    data = trainer.task.datasets.get(trainer.cfg.dataset.train_subset)
    sources, dictionary = getattr(data, "src", None), getattr(data, "src_dict", None)
    if sources is not None and dictionary is not None and len(sources):
        words = words_learnt(sources, dictionary)
        if words is not None:  # what a task gives here, fairseq puts into ``extra_state``
            trainer.task.get_checkpoint_dict = functools.partial(dict, {WORDS_LEARNT: words})
