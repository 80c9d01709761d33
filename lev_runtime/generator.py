"""Writing text with an exported PBD, by beam search."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .arguments import each_string, strings
from .batching import BUFFER, Pause, chunks, in_batches
from .errors import UserError
from .folder import Folder
from .prefixes import PrefixModel


@dataclass(frozen=True)
class Generation:
    """A text that was written for a source.

    score: mean log-probability of its tokens, ``</s>`` included, in nats. tokens: as the model
    wrote them.
    """

    source: str
    text: str
    score: float
    tokens: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


class Generator:
    """An exported model with its dictionaries and text processing; several threads may use one.

    Args:
        path: a folder that ``lev-export`` has written, or what was read of it.
        threads: that a pass computes with, by default as many as there are cores.

    Raises:
        UserError: no such folder, a damaged one, or one of another kind of model.
    """

    def __init__(self, path: str | os.PathLike[str] | Folder, threads: int | None = None) -> None:
        self.model = PrefixModel(path, threads, type(self).__name__)
        self.codec = self.model.codec
        self.longest, _ = self.model.settings["limits"]

    def generate_nbest(
        self, sources: Iterable[str], nbest: int = 1, *, beam: int = 5, max_len_a: float = 0.0,
        max_len_b: int = 200, batch_size: int = 16, first: int = 1,
    ) -> list[list[Generation]]:  # fmt: skip
        """Returns an n-best list for every source, the best first, as ``fairseq-generate`` does.

        Args:
            sources: plain text, one sentence each.
            nbest, beam: texts given back at most, and width of the search; 1 is greedy.
            max_len_a, max_len_b: a text has at most a·|source| + b tokens, ``</s>`` of the source
                included, and no more than the model can write.
            batch_size: sources searched at once; does not change the outputs.
            first: number of the first source in messages.

        Raises:
            UserError: no list of strings; an option that cannot be; a source beyond the model's
                limit.
        """
        least = {"nbest": 1, "beam": 1, "max_len_a": 0, "max_len_b": 1}
        given = {"nbest": nbest, "beam": beam, "max_len_a": max_len_a, "max_len_b": max_len_b}
        for name, value in given.items():
            if value < least[name]:
                raise UserError(f"{name}={value}: must be {least[name]} or more")
        if nbest > beam:
            raise UserError(f"nbest={nbest} is more than beam={beam}; give beam={nbest} or more")
        texts = strings("sources", "source", sources)
        rows = [self._numbers(number, text) for number, text in enumerate(texts, first)]

        def search(batch: list[list[int]]) -> list[list[tuple[str, float]]]:
            sizes = np.array([*map(len, batch)])
            limits = (max_len_a * sizes + max_len_b).astype(np.int64)
            return self.model.beam_search(batch, limits, beam)

        found = in_batches(search, rows, map(len, rows), batch_size)
        return [
            [self._generation(text, *rated) for rated in group[:nbest]]
            for text, group in zip(texts, found, strict=True)
        ]

    def generate(self, sources: Iterable[str], **options: Any) -> list[Generation]:
        """Writes a text for every source; options and errors as of :meth:`generate_nbest`."""
        return [best for best, *_ in self.generate_nbest(sources, **options)]

    def stream(
        self, sources: Iterable[str | Pause], *, buffer: int = BUFFER, **options: Any
    ) -> Iterator[Generation]:
        """Yields a text for every source, in order; reads no more than a buffer ahead.

        Args:
            buffer: sources that are taken, sorted by length and searched in batches; 1 answers each
                before the next is asked for, a :class:`.Pause` what came before it.
            **options: of :meth:`generate`; so are the errors.
        """
        first = 1
        for chunk in chunks(each_string("sources", "source", sources), buffer):
            yield from self.generate(chunk, first=first, **options)
            first += len(chunk)

    def _numbers(self, number: int, text: str) -> list[int]:
        """A source's tokens, </s> behind them."""
        _, *tokens = self.model.source.encode(self.codec.encode(text).split())
        if len(tokens) > self.longest:
            raise UserError(
                f"source {number}: {len(tokens)} tokens where the model's limit is {self.longest}"
            )
        return tokens

    def _generation(self, source: str, written: str, log: float) -> Generation:
        target = self.model.target
        numbers = [number for number in map(ord, written) if number != target.bos]
        tokens = tuple(target.symbols[number] for number in numbers)
        text = self.codec.decode(" ".join(tokens))
        return Generation(source, text, log / (len(written) + 1), tokens)
