"""Log-probabilities of texts that were not searched for."""

from collections.abc import Sequence

import numpy as np

from lev_runtime.beam.prefixes import PrefixModel, Sources
from lev_runtime.beam.search import Floats, Numbers, code_points, search


class Given:
    """Texts of each unit, to be rated; read as a :class:`lev_runtime.beam.search.Beam` is."""

    def __init__(self, texts: Sequence[Sequence[str]], eos: int) -> None:
        self.texts = texts
        ended = [text + chr(eos) for group in texts for text in group]
        self.sizes = np.array([len(text) for text in ended], dtype=np.int64)
        longest = self.sizes.max(initial=0)
        is_symbol = np.arange(longest) < self.sizes[:, None]
        self.symbols = np.zeros((len(ended), longest), dtype=np.int64)
        self.symbols[is_symbol] = code_points(ended)
        self.logs = np.zeros(self.symbols.shape)
        counts = [len(group) for group in texts]
        self.units = self.rows = np.repeat(np.arange(len(texts)), counts)
        self.going = np.arange(len(ended))
        self._depth = 0

    def step(self, logs: Floats, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """Notes log-probabilities; returns the next prefixes as ``Beam.step`` does."""
        going = symbols = self.going
        if len(going):
            symbols = self.symbols[going, self._depth]
            self.logs[going, self._depth] = logs[self.rows, symbols]
        self._depth += 1
        on = self.sizes[going] > self._depth
        self.going, self.rows = going[on], self.rows[on]
        return self.rows, symbols[on]

    def place(self, rows: Numbers) -> None:
        """Takes the numbers of the prefixes wanted last, as ``Beam.place`` does."""
        self.rows = rows

    def rated(self, unit: int) -> list[tuple[str, float]]:
        """Returns the texts of a unit, with their log-probabilities."""
        return list(zip(self.texts[unit], map(sum, self.symbol_logs(unit)), strict=True))

    def symbol_logs(self, unit: int) -> list[list[float]]:
        """Returns for each text of a unit the log-probabilities of its symbols, and of </s>."""
        rows = np.flatnonzero(self.units == unit)
        return [self.logs[row, : self.sizes[row]].tolist() for row in rows]


def symbol_logs(
    model: PrefixModel, sources: Sources, texts: Sequence[Sequence[str]]
) -> list[list[list[float]]]:
    """Returns for each text of each source the log-probabilities of its symbols and </s>."""
    target, count = model.target, len(sources)
    reader = Given(texts, target.eos)
    search(model.prefixes(sources), count, [reader], target.eos, target.pad)
    return [reader.symbol_logs(row) for row in range(count)]
