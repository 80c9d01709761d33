"""An exported PBD or Transformer, which reads prefixes of what it could write, many at once.

Shapes: B sources, S source tokens, R prefixes of N symbols, H heads, D channels of a head,
V symbols.
"""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import UserError
from ..folder import Arrays, Folder, Session
from ..refine.arrays import padded
from ..text.codec import TextCodec, read_dictionaries
from .options import SearchOptions
from .search import Beam, Floats, Numbers, PrefixReader, search

#: those that write from left to right
MODELS = "pbd_transformer", "transformer", "transformer_concat", "gated_transformer"
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
        self.folder = folder = Folder.holding(MODELS, path, type(self).__name__)
        self.threads = threads
        self.settings: dict[str, Any] = folder.description["settings"]
        graphs: dict[str, Any] = folder.description["graphs"]
        self.past = self.names_of(graphs)
        self.shape = graphs["heads"], 0, graphs["head_width"]
        self.codec = TextCodec(folder)
        self.source, self.target = read_dictionaries(folder)
        #: whether it reads a source and its draft, one after the other
        self.joins_draft: bool = self.settings.get("joins_draft", False)

    @cached_property
    def encoder(self) -> Session:
        """Returns the encoder, loaded when first run: a corrector of right text runs none."""
        return self.folder.session(self.folder.description["graphs"]["encoder"], self.threads)

    @cached_property
    def reader(self) -> Session:
        """Returns the decoder that reads a symbol at a time."""
        return self.folder.session(self.folder.description["graphs"]["reader"], self.threads)

    @cached_property
    def block_reader(self) -> Session:
        """Returns the decoder that reads several symbols at once (:mod:`.draft_guided`)."""
        graph = self.folder.description["graphs"].get("block_reader")
        if graph is None:
            fault = "was exported by a version without draft-guided decoding"
            raise UserError(f"{self.folder.path} {fault}; export the model again with lev-export")
        return self.folder.session(graph, self.threads)

    @staticmethod
    def names_of(graphs: dict[str, Any]) -> list[str]:
        """Returns the names of the keys and values of prefixes that were read."""
        blocks = range(graphs["blocks"])
        return [f"{kind}_past_{number}" for number in blocks for kind in ("key", "value")]

    def numbers(self, source: Sequence[str], draft: Sequence[str] = ()) -> list[int]:
        """Returns the numbers that the encoder reads of tokens, </s> after them."""
        _, *numbers = self.source.encode(source)
        return numbers + self.source.encode(draft)[1:] if self.joins_draft else numbers

    def run(self, reader: Session, inputs: Arrays) -> tuple[Floats, dict[str, Floats]]:
        """Returns log-probabilities of what follows prefixes; keys and values of these by name."""
        outputs = ["logs", *(f"{name}_next" for name in self.past)]
        logs, *newest = reader(outputs, inputs)
        return logs, dict(zip(self.past, newest))

    def prefixes(self, sources: Sources) -> "Prefixes":
        """Encodes sources, which end with </s>; returns a reader of prefixes of their outputs."""
        tokens = padded(sources, self.source.pad)
        real = (tokens != self.source.pad).astype(np.int32)
        outputs = self.encoder.outputs
        states = self.encoder(outputs, {"tokens": tokens, "mask": real})
        encoder_out = {"source_mask": real}
        encoder_out |= zip(outputs, states)
        return Prefixes(self, encoder_out)

    @property
    def longest(self) -> int:
        """Returns the most symbols of a text, without </s>."""
        return int(self.settings["limits"][1]) - 1

    def beam_search(
        self,
        sources: Sources,
        limits: Numbers,
        options: SearchOptions,
        guided: "Callable[[Prefixes], PrefixReader] | None" = None,
    ) -> list[list[tuple[str, float]]]:
        """Searches freely; returns for each source its texts and their log-probabilities.

        The best text comes first.

        Args:
            limits: symbols of each text at most, besides the model's own.
            guided: makes a reader that reads ahead in drafts (:mod:`.draft_guided`).
        """
        target = self.target
        width = min(options.beam, len(target.symbols) - 1)
        limits = np.minimum(limits, self.longest)
        reader = Beam(width, limits, target.eos, options=options, unk=target.unk)
        prefixes = self.prefixes(sources)
        layer = guided(prefixes) if guided else prefixes
        search(layer, len(sources), [reader], target.eos, target.pad)
        return [reader.best(row) for row in range(len(sources))]


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
        logs, self.past = self.model.run(self.model.reader, inputs)
        self.depth += 1
        return logs
