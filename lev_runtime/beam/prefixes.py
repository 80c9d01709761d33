"""An exported PBD, which reads prefixes of what it could write, many at once.

Shapes: B sources, S source tokens, R prefixes of N symbols, H heads, D channels of a head,
V symbols.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..folder import Folder
from ..refine.arrays import padded
from ..text.codec import TextCodec, read_dictionaries
from .search import Beam, Floats, Given, Numbers, search

MODEL = "pbd_transformer"
Sources = Sequence[Sequence[int]]  # tokens, with </s> at the end


class PrefixModel:
    """An encoder, and a decoder that reads by the symbol; several threads may use one.

    Args:
        path: a folder that ``lev-export`` has written, or what was read of it.
        threads: that a pass computes with, by default as many as there are cores.

    Raises:
        UserError: no such folder, a damaged one, or one of another kind of model.
    """

    def __init__(self, path: str | os.PathLike[str] | Folder, threads: int | None = None) -> None:
        folder = Folder.holding(MODEL, path, type(self).__name__)
        self.settings: dict[str, Any] = folder.description["settings"]
        graphs: dict[str, Any] = folder.description["graphs"]
        self.encoder = folder.session(graphs["encoder"], threads)
        self.reader = folder.session(graphs["reader"], threads)
        self.past = self.names_of(graphs)
        self.shape = graphs["heads"], 0, graphs["head_width"]
        self.codec = TextCodec(folder)
        self.source, self.target = read_dictionaries(folder)

    @staticmethod
    def names_of(graphs: dict[str, Any]) -> list[str]:
        """Returns the names of the keys and values of prefixes that were read."""
        blocks = range(graphs["blocks"])
        return [f"{kind}_past_{number}" for number in blocks for kind in ("key", "value")]

    def prefixes(self, sources: Sources) -> "Prefixes":
        """Encodes sources, which end with </s>; returns a reader of prefixes of their outputs."""
        tokens = padded(sources, self.source.pad)
        real = (tokens != self.source.pad).astype(np.int32)
        outputs = self.encoder.outputs
        states = self.encoder(outputs, {"tokens": tokens, "mask": real})
        encoder_out = {"source_mask": real}
        encoder_out |= zip(outputs, states)
        return Prefixes(self, encoder_out)

    def beam_search(
        self, sources: Sources, limits: Numbers, beam: int
    ) -> list[list[tuple[str, float]]]:
        """Searches freely; returns for each source its texts and their log-probabilities.

        The best text comes first. ``limits``: the most symbols of each text, below the model's.
        """
        _, longest = self.settings["limits"]
        width = min(beam, len(self.target.symbols) - 1)
        reader = Beam(width, np.minimum(limits, longest - 1), self.target.eos)
        return [reader.best(row) for row in self._searched(sources, reader)]

    def symbol_logs(
        self, sources: Sources, texts: Sequence[Sequence[str]]
    ) -> list[list[list[float]]]:
        """Returns for each text of each source the log-probabilities of its symbols and </s>."""
        reader = Given(texts, self.target.eos)
        return [reader.symbol_logs(row) for row in self._searched(sources, reader)]

    def _searched(self, sources: Sources, reader: Beam | Given) -> range:
        """Runs the search for one reader; returns the numbers of the sources."""
        count = len(sources)
        search(self.prefixes(sources), count, [reader], self.target.eos, self.target.pad)
        return range(count)


class Prefixes:
    """Keeps the keys and values of sources and prefixes (:class:`.search.PrefixReader`)."""

    def __init__(self, model: PrefixModel, encoder_out: dict[str, np.ndarray]) -> None:
        self.model = model
        self.encoder_out = encoder_out
        self.depth = 0
        count = len(encoder_out["source_mask"])
        nothing = np.zeros((count, *model.shape), np.float32)
        self.past = dict.fromkeys(model.past, nothing)

    def read(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Floats:
        """Returns log-probabilities of the next symbol of each prefix, R × V.

        Of each prefix: its source, its parent among the prefixes read last (at first the sources)
        and its last symbol (at first </s>).
        """
        rows = {"units": units, "parents": parents, "symbols": symbols}
        inputs = {**self.encoder_out, **self.past, **rows, "place": np.array([self.depth])}
        names = self.model.past
        outputs = ["logs", *(f"{name}_next" for name in names)]
        logs, *newest = self.model.reader(outputs, inputs)
        self.past = dict(zip(names, newest))
        self.depth += 1
        return logs
