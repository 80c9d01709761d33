"""A checkpoint says how many words the sources had that its model learnt from.

Fault: a model that learnt from segments, or from short lines, stops early in longer ones, and the
rest of the line is lost; nothing in a checkpoint of fairseq's tells them apart.
"""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fairseq.data import Dictionary
    from fairseq.trainer import Trainer

WORDS_LEARNT = "words_learnt"  # in a checkpoint's ``extra_state``
_LOOKED_AT = 2000  # sources
_RARE = 99  # percentile


def _marked(dictionary: "Dictionary") -> np.ndarray:
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
    """Words that a model learns to read at once.

    Where more than half of the sources have the same number it is this: segments, of which only
    what was torn or ends a line differs. Else 99 % of them have at most so many.

    Args:
        sources: tensors of ids, one or more; 2,000 of them, evenly spaced, are looked at.

    Returns:
        None where all are empty.
    """
    marked = _marked(dictionary)
    silent = (dictionary.pad(), dictionary.bos(), dictionary.eos())
    counts = []
    for place in sorted({int(one) for one in np.linspace(0, len(sources) - 1, _LOOKED_AT)}):
        ids = sources[place].tolist()  # data of another dictionary are refused later
        found = marked[[one for one in ids if one not in silent and one < len(marked)]]
        if len(found):  # among characters a space stands between words, at neither end
            counts.append(int(found.sum()) + int(not found[0] and not found[-1]))
    if not counts:
        return None
    usual = int(np.bincount(counts).argmax())
    if counts.count(usual) > len(counts) / 2:
        return usual
    return int(np.ceil(np.percentile(counts, _RARE)))


def keep_lengths(trainer: "Trainer") -> None:
    """Let the checkpoints of a training that begins say :func:`words_learnt` of its training set.

    Without pairs of texts they say nothing.
    """
    data = trainer.task.datasets.get(trainer.cfg.dataset.train_subset)
    sources, dictionary = getattr(data, "src", None), getattr(data, "src_dict", None)
    if sources is not None and dictionary is not None and len(sources):
        words = words_learnt(sources, dictionary)
        if words is not None:  # what a task gives here, fairseq puts into ``extra_state``
            trainer.task.get_checkpoint_dict = functools.partial(dict, {WORDS_LEARNT: words})
