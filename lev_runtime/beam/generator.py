"""Writing text with an exported PBD, by beam search."""

import sys
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ..batching import BUFFER, Pause, chunks, in_batches
from ..errors import UserError, require_count
from ..text.sentences import strings
from .prefixes import PrefixModel


class Generation(NamedTuple):
    """A text that a model wrote.

    score: mean log-probability of its tokens, ``</s>`` included, in nats.
    """

    text: str
    score: float


class Generator(PrefixModel):
    """An exported model with its dictionaries and text processing; several threads may use one.

    >>> from lev_runtime import Generator
    >>> [best, second] = next(Generator("pbd").stream_nbest(["a source"], nbest=2, max_len_b=3))
    >>> best.score > second.score, len(best.text.split())
    (True, 3)

    Arguments and errors are those of :class:`.PrefixModel`.
    """

    def stream_nbest(
        self, sources: Iterable[str | Pause], nbest: int = 1, *, beam: int = 5,
        max_len_b: int = 200, batch_size: int = 16, buffer: int = BUFFER,
    ) -> Iterator[list[Generation]]:  # fmt: skip
        """Yields an n-best list for every source, the best first, as ``fairseq-generate`` has it.

        Args:
            sources: plain text, one sentence each; may be without an end.
            nbest, beam: texts given back at most, and width of the search; 1 is greedy.
            max_len_b: a text has no more tokens than this, and than the model can write.
            batch_size: sources searched at once; does not change the outputs.
            buffer: sources that are taken, sorted by length and searched in batches; 1 answers each
                before the next is asked for, a :class:`.Pause` what came before it.

        Raises:
            UserError: no list of strings; an option that cannot be; a source beyond the model's
                limit.
        """
        for name, value in {"nbest": nbest, "beam": beam, "max_len_b": max_len_b}.items():
            require_count(name, value)
        if nbest > beam:
            raise UserError(f"nbest={nbest}, beam={beam}: beam must be no less than nbest")

        def search(batch: list[list[int]]) -> list[list[Generation]]:
            candidates = self.beam_search(batch, np.full(len(batch), max_len_b), beam)
            return [[self._generation(*rated) for rated in texts[:nbest]] for texts in candidates]

        first = 1
        for chunk in chunks(sources, buffer):
            texts = strings("sources", chunk, first=first)
            rows = list(map(self._numbers, texts, count(first)))
            yield from in_batches(search, rows, map(len, rows), batch_size)
            first += len(chunk)

    def stream(self, sources: Iterable[str | Pause], **options: Any) -> Iterator[Generation]:
        """Yields a text for every source, in order; options and errors of :meth:`stream_nbest`."""
        for best, *_ in self.stream_nbest(sources, **options):
            yield best

    def generate(self, sources: Iterable[str], **options: Any) -> list[Generation]:
        """Writes a text for every source; options and errors as of :meth:`stream_nbest`."""
        return list(self.stream(sources, buffer=sys.maxsize, **options))

    def _numbers(self, source: str, number: int) -> list[int]:
        """Returns a source's tokens, with </s> at the end."""
        _, *tokens = self.source.encode(self.codec.encode(source).split())
        longest, _ = self.settings["limits"]
        if len(tokens) > longest:
            fault = f"{len(tokens)} tokens where the model's limit is {longest}"
            raise UserError(f"source {number}: {fault}")
        return tokens

    def _generation(self, written: str, log: float) -> Generation:
        numbers = [number for number in map(ord, written) if number != self.target.bos]
        text = self.codec.decode(" ".join(self.target.symbols[number] for number in numbers))
        return Generation(text, log / (len(written) + 1))
