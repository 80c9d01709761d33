"""An exported PBD or Transformer, which reads prefixes of what it could write, many at once.

Shapes: B sources, S source tokens, R prefixes of N symbols, H heads, D channels of a head,
V symbols.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import UserError
from ..folder import EXPORT_AGAIN, Arrays, Folder, Session
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
        self.sessions: dict[str, Session] = {}
        #: the names of the keys and values of prefixes that were read
        self.past = [
            f"{kind}_past_{number}"
            for number in range(graphs["blocks"])
            for kind in ("key", "value")
        ]
        self.shape = graphs["heads"], 0, graphs["head_width"]
        self.codec = TextCodec(folder)
        self.source, self.target = read_dictionaries(folder)
        #: whether it reads a source and its draft, one after the other
        self.joins_draft: bool = self.settings.get("joins_draft", False)

    def graph(self, name: str) -> Session:
        """Returns a graph, loaded when first run: a corrector of right text runs none.

        name: encoder; reader, of a symbol at a time, or block_reader, of several
        (:mod:`.draft_guided`).
        """
        if name not in self.sessions:
            described = self.folder.description["graphs"].get(name)
            if described is None:
                fault = "was exported by a version without draft-guided decoding"
                raise UserError(f"{self.folder.path} {fault}; {EXPORT_AGAIN}")
            self.sessions[name] = self.folder.session(described, self.threads)
        return self.sessions[name]

    def numbers(self, source: Sequence[str], draft: Sequence[str] = ()) -> list[int]:
        """Returns the numbers that the encoder reads of tokens, </s> after them."""
        _, *numbers = self.source.encode(source)
        return numbers + self.source.encode(draft)[1:] if self.joins_draft else numbers

    def run(self, reader: str, inputs: Arrays) -> tuple[Floats, dict[str, Floats]]:
        """Returns log-probabilities of what follows prefixes; keys and values of these by name."""
        outputs = ["logs", *(f"{name}_next" for name in self.past)]
        logs, *newest = self.graph(reader)(outputs, inputs)
        return logs, dict(zip(self.past, newest))

    def prefixes(self, sources: Sources) -> "Prefixes":
        """Encodes sources, which end with </s>; returns a reader of prefixes of their outputs."""
        tokens = padded(sources, self.source.pad)
        real = (tokens != self.source.pad).astype(np.int32)
        encoder = self.graph("encoder")
        states = encoder(encoder.outputs, {"tokens": tokens, "mask": real})
        encoder_out = {"source_mask": real}
        encoder_out |= zip(encoder.outputs, states)
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
        logs, self.past = self.model.run("reader", inputs)
        self.depth += 1
        return logs
