"""Greedy decoding that reads ahead in a draft (:mod:`.guesses`), by an exported model.

Shapes: R texts that are being written, N columns that were read of them, T columns of a pass,
V symbols.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..refine.arrays import padded
from .guesses import GuidedText, Reach, accept
from .options import SearchOptions
from .prefixes import PrefixModel, Sources
from .search import Floats, Numbers

#: columns for each token of the longest text from which on those that were wrong are taken out
MAX_COLUMNS_PER_TOKEN = 1.25


def write_guided(
    model: PrefixModel,
    sources: Sources,
    drafts: Sequence[Sequence[int]],
    limits: Numbers,
    options: SearchOptions,
) -> list[GuidedText]:
    """Returns what greedy search writes for a batch of sources, guided by drafts, in order.

    Args:
        drafts: numbers of the target's symbols. limits: symbols of each text at most.

    Raises:
        UserError: an export of an older version; no symbol can follow (:class:`.GuidedText`).
    """
    target = model.target
    reader = BlockReader(model, sources)
    reach = Reach(len(target.symbols))
    texts = [
        GuidedText(row, target.eos, draft, limit)
        for row, (draft, limit) in enumerate(zip(drafts, limits.tolist(), strict=True))
    ]
    writing = texts
    while writing:
        most = reach.best(len(writing))
        guesses = [text.guess(most) for text in writing]
        blocks = [[text.tokens[-1], *guess] for text, guess in zip(writing, guesses, strict=True)]
        written = np.array([len(text.tokens) - 1 for text in writing])
        logs = reader.read(padded(blocks, target.pad), written)
        longest = np.array([text.longest for text in writing])
        restrict(logs, model, written, longest, options)
        tokens = logs.argmax(2)
        scores = np.take_along_axis(logs, tokens[:, :, None], 2)[:, :, 0]
        read = tokens.tolist(), scores.tolist()
        going, counts = accept(writing, guesses, *read, reach, target.eos)
        if going:
            reader.keep(going, np.array(counts))
        writing = [writing[number] for number in going]
    return texts


def restrict(
    logs: Floats, model: PrefixModel, written: Numbers, longest: Numbers, options: SearchOptions
) -> None:
    """Takes away, in place, what fairseq's search would not write: R × T × V.

    ``written``: R, symbols of each text so far; ``longest``: at most.
    """
    target = model.target
    logs[..., target.pad] = -np.inf
    logs[..., target.unk] -= options.unkpen
    places = written[:, None] + np.arange(logs.shape[1])
    logs[places < options.min_len, target.eos] = -np.inf
    is_last = places >= longest[:, None]
    ends = logs[is_last, target.eos]
    logs[is_last] = -np.inf
    logs[is_last, target.eos] = ends


class BlockReader:
    """Reads several new symbols of each text at once, and forgets those that were wrong.

    Keys and values of a text's symbols stand in any columns, in their order.
    """

    def __init__(self, model: PrefixModel, sources: Sources) -> None:
        self.model = model
        self.session = model.block_reader()
        self.encoder_out = model.encode(sources)
        count = len(sources)
        self.units = self.rows = np.arange(count)
        self.past = dict.fromkeys(model.past, np.zeros((count, *model.shape), np.float32))
        self.is_kept: NDArray[np.bool_] = np.zeros((count, 0), np.bool_)

    def read(self, block: Numbers, written: Numbers) -> Floats:
        """Log-probabilities of what follows each of R × T symbols, padded on the right: R × T × V;
        ``written``: R, symbols of each text before the first."""
        count, width = block.shape
        places = written[:, None] + np.arange(width)
        causal = np.tri(width, dtype=np.bool_)[None].repeat(count, 0)
        before = self.is_kept[:, None].repeat(width, 1)
        inputs = {
            **self.encoder_out,
            **self.past,
            "units": self.units,
            "parents": self.rows,
            "symbols": block,
            "place": np.minimum(places, self.model.longest),  # padding
            "seen": np.concatenate([before, causal], 2).astype(np.int32),
        }
        names = self.model.past
        logs, *newest = self.session(["logs", *(f"{name}_next" for name in names)], inputs)
        self.past = dict(zip(names, newest, strict=True))
        return logs.reshape(count, width, -1)

    def keep(self, rows: Sequence[int], counts: Numbers) -> None:
        """Goes on with some of the texts; of what was read last the first ``counts`` (R) stay."""
        width = next(iter(self.past.values())).shape[2] - self.is_kept.shape[1]
        is_right = np.arange(width) < counts[:, None]
        self.is_kept = np.concatenate([self.is_kept, is_right], 1)[rows]
        self.units, self.rows = self.units[rows], np.array(rows)
        longest = self.is_kept.sum(1).max(initial=0)
        if self.is_kept.shape[1] > longest * MAX_COLUMNS_PER_TOKEN:
            self._take_out(longest)

    def _take_out(self, longest: int) -> None:
        """Moves the columns of each text together."""
        columns = np.argsort(~self.is_kept, axis=1, kind="stable")[:, :longest]
        self.is_kept = np.take_along_axis(self.is_kept, columns, 1)
        rows = self.rows[:, None]
        for name, values in self.past.items():
            self.past[name] = values[rows, :, columns].transpose(0, 2, 1, 3)
        self.rows = np.arange(len(columns))
