"""An exported PBD or Transformer, which reads prefixes of what it could write, many at once.

Shapes: B sources, S source tokens, R prefixes of N symbols, H heads, D channels of a head,
V symbols.
"""

import os
from functools import cache, partial
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import UserError
from ..folder import Folder, Session
from ..refine.arrays import padded
from ..text.codec import TextCodec, read_dictionaries
from .options import SearchOptions
from .search import Beam, Floats, Given, Numbers, search

#: those that write from left to right
MODELS = "pbd_transformer", "transformer", "transformer_concat"
Sources = Sequence[Sequence[int]]  # tokens, </s> behind them


class PrefixModel:
    """An encoder, and a decoder that reads by the symbol; several threads may use one.

    Args:
        path: a folder that ``lev-export`` has written, or what was read of it.
        threads: that a pass computes with, by default as many as there are cores.

    Raises:
        UserError: no such folder, a damaged one, or one of another kind of model.
    """

    def __init__(self, path: str | os.PathLike[str] | Folder, threads: int | None = None) -> None:
        folder = Folder.holding(MODELS, path, type(self).__name__)
        self.settings: dict[str, Any] = folder.description["settings"]
        graphs: dict[str, Any] = folder.description["graphs"]
        self.encoder = folder.session(graphs["encoder"], threads)
        self.reader = folder.session(graphs["reader"], threads)
        self.block_reader = cache(partial(self._block_reader, folder, threads))
        self.past = self.names_of(graphs)
        self.shape = graphs["heads"], 0, graphs["head_width"]
        self.codec = TextCodec(folder)
        self.source, self.target = read_dictionaries(folder)
        #: whether it reads a source and its draft, one after the other
        self.joins_draft: bool = self.settings.get("joins_draft", False)

    @staticmethod
    def _block_reader(folder: Folder, threads: int | None) -> Session:
        """The decoder that reads several symbols of a text at once (:mod:`.draft_guided`)."""
        graph = folder.description["graphs"].get("block_reader")
        if graph is None:
            fault = "was exported by a version without draft-guided decoding"
            raise UserError(f"{folder.path} {fault}; export the model again with lev-export")
        return folder.session(graph, threads)

    @staticmethod
    def names_of(graphs: dict[str, Any]) -> list[str]:
        """Returns the names of the keys and values of prefixes that were read."""
        blocks = range(graphs["blocks"])
        return [f"{kind}_past_{number}" for number in blocks for kind in ("key", "value")]

    def numbers(self, source: Sequence[str], draft: Sequence[str] = ()) -> list[int]:
        """Returns the numbers that the encoder reads of tokens, </s> after them."""
        _, *numbers = self.source.encode(source)
        return numbers + self.source.encode(draft)[1:] if self.joins_draft else numbers

    def encode(self, sources: Sources) -> dict[str, np.ndarray]:
        """What the decoder reads of sources."""
        tokens = padded(sources, self.source.pad)
        real = (tokens != self.source.pad).astype(np.int32)
        outputs = self.encoder.outputs
        states = self.encoder(outputs, {"tokens": tokens, "mask": real})
        encoder_out = {"source_mask": real}
        encoder_out |= zip(outputs, states)
        return encoder_out

    def prefixes(self, sources: Sources, unkpen: float = 0.0) -> "Prefixes":
        """A reader of prefixes of what could be written for sources, which end with </s>."""
        return Prefixes(self, self.encode(sources), unkpen)

    @property
    def longest(self) -> int:
        """Symbols of a text at most, without </s>."""
        return int(self.settings["limits"][1]) - 1

    def beam_search(
        self, sources: Sources, limits: Numbers, options: SearchOptions
    ) -> list[list[tuple[str, float]]]:
        """Returns texts of a free search for each of a batch of sources, the best first, and their
        log-probabilities; ``limits``: symbols of each text at most, besides the model's own."""
        width = min(options.beam, len(self.target.symbols) - 1)
        limits = np.minimum(limits, self.longest)
        least, lenpen = options.min_len, options.lenpen
        reader = Beam(width, limits, self.target.eos, least=least, lenpen=lenpen)
        rows = self._searched(sources, reader, options.unkpen)
        return [reader.best(row) for row in rows]

    def symbol_logs(
        self, sources: Sources, texts: Sequence[Sequence[str]]
    ) -> list[list[list[float]]]:
        """Returns for each text of each source the log-probabilities of its symbols and </s>."""
        reader = Given(texts, self.target.eos)
        return [reader.symbol_logs(row) for row in self._searched(sources, reader)]

    def _searched(self, sources: Sources, reader: Beam | Given, unkpen: float = 0.0) -> range:
        """The numbers of the sources, once the reader has read all that it wants of them."""
        count = len(sources)
        search(self.prefixes(sources, unkpen), count, [reader], self.target.eos, self.target.pad)
        return range(count)


class Prefixes:
    """Keeps the keys and values of sources and prefixes (:class:`.search.PrefixReader`).

    ``unkpen``: is taken off the log-probability of an unknown word.
    """

    def __init__(
        self, model: PrefixModel, encoder_out: dict[str, np.ndarray], unkpen: float = 0.0
    ) -> None:
        self.model = model
        self.unkpen = unkpen
        self.encoder_out = encoder_out
        self.depth = 0
        count = len(encoder_out["source_mask"])
        nothing = np.zeros((count, *model.shape), np.float32)
        self.past = dict.fromkeys(model.past, nothing)

    def read(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Floats:
        """Log-probabilities of what follows prefixes, R × V; of each its source, its parent among
        the prefixes read last (at first the sources), and its last symbol, at first </s>."""
        rows = {"units": units, "parents": parents, "symbols": symbols}
        inputs = {**self.encoder_out, **self.past, **rows, "place": np.array([self.depth])}
        names = self.model.past
        outputs = ["logs", *(f"{name}_next" for name in names)]
        logs, *newest = self.model.reader(outputs, inputs)
        self.past = dict(zip(names, newest))
        self.depth += 1
        logs[:, self.model.target.unk] -= self.unkpen
        return logs
