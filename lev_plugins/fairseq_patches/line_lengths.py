"""Fault: a model that learnt from short lines stops early in longer ones; no checkpoint says so."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from fairseq.data import Dictionary

WORDS_LEARNT = "words_learnt"  # in a checkpoint's ``extra_state``
_SAMPLE_SIZE = 2000  # sources
_PERCENTILE = 99


def words_learnt(sources: Sequence[Any], dictionary: Dictionary) -> int | None:
    """Returns how many words a model learns to read at once; None where all sources are empty.

    The number that more than half of the sources have (segments, of which only what ends a line
    differs), else what 99 % of them have at most.

    Args:
        sources: tensors of ids; 2,000 of them, evenly spaced, are looked at.
    """
    is_sentencepiece = any(symbol.startswith("\u2581") for symbol in dictionary.symbols)
    cut, pad = "sentencepiece" if is_sentencepiece else "@@ ", {dictionary.pad()}
    counts = []
    for index in np.unique(np.linspace(0, len(sources) - 1, _SAMPLE_SIZE).astype(int)).tolist():
        ids = sources[index].tolist()  # a tenth of the time that its elements take one by one
        text = dictionary.string(ids, cut, extra_symbols_to_ignore=pad)
        counts.append(len(text.replace(" ##", "").split()))  # as a BERT cuts them
    counts = [count for count in counts if count]
    if not counts:
        return None
    usual_count = int(np.bincount(counts).argmax())
    if counts.count(usual_count) > len(counts) / 2:
        return usual_count
    return int(np.ceil(np.percentile(counts, _PERCENTILE)))


def keep_lengths(trainer: Any) -> None:
    """Lets a training's checkpoints say :func:`words_learnt` of its pairs, if any."""
    data = trainer.task.datasets.get(trainer.cfg.dataset.train_subset)
    sources, dictionary = getattr(data, "src", None), getattr(data, "src_dict", None)
    if sources is None or dictionary is None or len(sources) == 0:
        return
    words = words_learnt(sources, dictionary)
    if words is not None:  # what a task gives here, fairseq puts into ``extra_state``
        trainer.task.get_checkpoint_dict = functools.partial(dict, {WORDS_LEARNT: words})
