"""Writing text with an exported PBD or Transformer, by beam search."""

import functools
import sys
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ..batching import BUFFER, Pause, chunks, in_batches
from ..errors import UserError, require_count, strings
from .draft_guided import GuidedPrefixes
from .options import SearchOptions
from .prefixes import PrefixModel

#: a text, or a text and its draft
Source = str | tuple[str, str | None]


class Generation(NamedTuple):
    """A text that a model wrote.

    score: mean log-probability of its tokens, ``</s>`` included, in nats; with ``lenpen``, their
    sum divided by their number to that power.
    """

    text: str
    score: float


class Unit(NamedTuple):
    """The numbers of what is read of a source, </s> after it, and of the draft that guides."""

    source: list[int]
    draft: list[int]


class Generator(PrefixModel):
    """An exported model with its dictionaries and text processing; several threads may use one.

    >>> from lev_runtime import Generator
    >>> [best, second] = next(Generator("pbd").stream_nbest(["a source"], nbest=2, max_len_b=3))
    >>> best.score > second.score, len(best.text.split())
    (True, 3)

    Arguments and errors are those of :class:`.PrefixModel`.
    """

    def stream_nbest(
        self, sources: Iterable[Source | Pause], nbest: int = 1, *,
        batch_size: int = 16, buffer: int = BUFFER, **options: Any,
    ) -> Iterator[list[Generation]]:  # fmt: skip
        """Yields an n-best list for every source, the best first, as ``fairseq-generate`` has it.

        Args:
            sources: plain text, one sentence each, or tuples of it and a draft, for a
                ``transformer_concat`` and for ``draft_guided``; may be without an end.
            nbest: texts given back at most.
            batch_size: sources searched at once; does not change the outputs.
            buffer: sources that are taken, sorted by length and searched in batches; 1 answers each
                before the next is asked for, a :class:`.Pause` what came before it.
            options: of the search (:class:`.SearchOptions`).

        Raises:
            UserError: no list of strings; an option that cannot be; a source beyond the model's
                limit.
        """
        search = SearchOptions(**options)
        require_count("nbest", nbest)
        if nbest > search.beam:
            raise UserError(f"nbest={nbest}, beam={search.beam}: beam must be no less than nbest")

        def write(batch: list[Unit]) -> list[list[Generation]]:
            return [found[:nbest] for found in self._search(batch, search)]

        first = 1
        for chunk in chunks(sources, buffer):
            is_pair = [isinstance(item, tuple) and len(item) == 2 for item in chunk]
            pairs = [item if pair else (item, None) for item, pair in zip(chunk, is_pair)]
            texts = strings("sources", [source for source, _ in pairs], first=first)
            drafts = strings("drafts", [draft for _, draft in pairs], True, first)
            units = list(map(self._unit, texts, drafts, count(first)))
            yield from in_batches(write, units, (len(unit.source) for unit in units), batch_size)
            first += len(chunk)

    def stream(self, sources: Iterable[Source | Pause], **options: Any) -> Iterator[Generation]:
        """Yields a text for every source, in order; options and errors of :meth:`stream_nbest`."""
        for best, *_ in self.stream_nbest(sources, **options):
            yield best

    def generate(self, sources: Iterable[Source], **options: Any) -> list[Generation]:
        """Writes a text for every source; options and errors as of :meth:`stream_nbest`."""
        return list(self.stream(sources, buffer=sys.maxsize, **options))

    def _unit(self, source: str, draft: str | None, number: int) -> Unit:
        words = self.codec.encode(source).split()
        draft_words = [] if draft is None else self.codec.encode(draft).split()
        longest, _ = self.settings["limits"]
        read = words, draft_words if self.joins_draft else []  # else a draft only guides
        size = 1 + max(map(len, read))
        if size > longest:
            fault = f"{size} tokens where the model's limit is {longest}"
            raise UserError(f"source {number}: {fault}")
        guide = self.target.encode(words if draft is None else draft_words)
        return Unit(self.numbers(words, draft_words), guide[1:-1])

    def _search(self, batch: list[Unit], options: SearchOptions) -> list[list[Generation]]:
        """Returns what is found for each of a batch, the best first."""
        sources = [unit.source for unit in batch]
        limits = options.limits(np.array(list(map(len, sources))), self.longest)
        guided = None
        if options.draft_guided:
            guided = functools.partial(GuidedPrefixes, drafts=[unit.draft for unit in batch])
        found = self.beam_search(sources, limits, options, guided)
        return [[self._generation(*rated, options) for rated in texts] for texts in found]

    def _generation(self, written: str, log: float, options: SearchOptions) -> Generation:
        numbers = [number for number in map(ord, written) if number != self.target.bos]
        text = self.codec.decode(" ".join(self.target.symbols[number] for number in numbers))
        return Generation(text, options.score(log, len(written) + 1))
