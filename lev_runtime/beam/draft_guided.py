"""Greedy search that reads ahead in a draft, and writes the same text in fewer passes.

A decoder reads what its text is expected to go on with, a stretch of the draft, in one pass. Up to
the first symbol that the search does not want, it need not read again; there the draft is read on
from where the text then stands in it (aggressive decoding: Sun et al., 2021; Ge et al., 2022). The
draft decides how many passes there are, never what is written.

Shapes: R prefixes, N symbols that were read of a text, T symbols of a pass, V symbols.
"""

from collections.abc import Sequence

import numpy as np

from .prefixes import Prefixes
from .search import Floats, Numbers

#: symbols that are guessed at once. On lines of OCR no other number wrote more in the time of a
#: pass, which costs as much again with some 30 guesses; nor did a choice by what was right before
AHEAD = 20
#: how far away in the draft a stretch may be that ends as the text does, by its length
REACH = {4: 64, 3: 16, 2: 3, 1: 2}


class DraftGuide:
    """A draft, and how far in it the text has come that is being written.

    place: symbols of the draft that have been passed.
    """

    def __init__(self, draft: Sequence[int]) -> None:
        self.draft = list(draft)
        self.place = 0
        self.end: list[int] = []  # of the text

    def guess(self, most: int) -> list[int]:
        """Returns the next symbols, at most so many; none at the end of the draft."""
        return self.draft[self.place : self.place + most]

    def follow(self, written: Sequence[int]) -> None:
        """Goes on after what was written since the last guess.

        The text stands where the draft ends as it does; else one of its symbols is another's.
        """
        expected = self.place + len(written)
        self.end = [*self.end, *written][-max(REACH) :]
        for size in range(len(self.end), 0, -1):
            first = max(size, expected - REACH[size])
            last = min(len(self.draft), expected + REACH[size])
            end = self.end[-size:]
            places = [p for p in range(first, last + 1) if self.draft[p - size : p] == end]
            if places:
                self.place = min(places, key=lambda place: abs(place - expected))
                return
        self.place = min(expected, len(self.draft))


class GuidedText:
    """Keeps what was read of a text.

    past: keys and values of its symbols. size: number of these, and of those ``written`` since.
    ahead: symbols that were guessed, the next one last, and what follows each.
    """

    def __init__(self, draft: Sequence[int], past: dict[str, Floats]) -> None:
        self.guide = DraftGuide(draft)
        self.past = past
        self.size = 0
        self.written: list[int] = []
        self.ahead: list[tuple[int, Floats]] = []


class GuidedPrefixes:
    """Reads as :class:`.Prefixes` what a greedy search wants, and guesses of each text with it."""

    def __init__(self, prefixes: Prefixes, drafts: Sequence[Sequence[int]]) -> None:
        self.model, self.encoder_out = prefixes.model, prefixes.encoder_out
        past = {name: values[:1] for name, values in prefixes.past.items()}
        begin = self.model.target.eos
        self.texts = [GuidedText([begin, *draft], past) for draft in drafts]

    def read(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Floats:
        """Returns log-probabilities of what follows prefixes, R × V, at most one of each unit."""
        rows = []
        for unit, symbol in zip(units.tolist(), symbols.tolist()):
            text = self.texts[unit]
            text.written.append(symbol)
            if not text.ahead or text.ahead[-1][0] != symbol:
                self._read_ahead(unit, text)
            _, logs = text.ahead.pop()
            rows.append(logs)
        return np.stack(rows)

    def _read_ahead(self, unit: int, text: GuidedText) -> None:
        """Reads the last symbol of a text and a guess of what follows; what was wrong is cut."""
        text.guide.follow(text.written)
        text.size += len(text.written)
        count = text.size - 1
        block = [text.written[-1], *text.guide.guess(AHEAD)]
        block = block[: self.model.longest + 1 - count]
        seen = np.tri(len(block), count + len(block), count, dtype=np.int32)
        inputs = {
            **self.encoder_out,
            **{name: values[:, :, :count] for name, values in text.past.items()},
            "units": np.array([unit]),
            "parents": np.array([0]),
            "symbols": np.array([block]),
            "place": np.arange(count, count + len(block))[None],
            "seen": seen[None],
        }
        logs, text.past = self.model.run("block_reader", inputs)
        text.ahead = list(zip(block, logs, strict=True))[::-1]
        text.written = []
