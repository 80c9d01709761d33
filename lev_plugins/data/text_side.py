"""A text as tokens, and how long its lines are: measured, or estimated where they are many.

Cutting ten million lines into subwords takes most of an hour. A data set needs their lengths at
its start, the tokens themselves only when it is asked for a sentence.
"""

from collections.abc import Callable, Sequence

import numpy as np
from fairseq.data import Dictionary, FairseqDataset
from torch import Tensor

from .length_estimates import estimated_lengths
from .text_lines import TextLines

#: lines of a training text that are all measured; of more, SAMPLE_LINES are
MEASURED_LINES = 100_000
SAMPLE_LINES = 10_000


class TextDataset(FairseqDataset):
    """The lines of a text as tokens with </s> behind them.

    Attributes:
        sizes: lengths in tokens, </s> counted, int32; measured, or from :func:`.estimated_lengths`.
        estimated: whether some of them are estimates.
        looked_at, unknown: tokens that were made to measure, and how many of them are <unk>.

    Args:
        lines: the text.
        encode: cuts a line into subwords with spaces between them (``--tokenizer``, ``--bpe``).
        dictionary: numbers the subwords; a control symbol typed as text becomes <unk>.
        estimates: lengths may be estimated, above :data:`MEASURED_LINES` lines.
        sizes: where they are known from another side.
    """

    def __init__(
        self,
        lines: TextLines,
        encode: Callable[[str], str],
        dictionary: Dictionary,
        estimates: bool = False,
        sizes: np.ndarray | None = None,
    ) -> None:
        self.lines = lines
        self.encode = encode
        self.dictionary = dictionary
        self.looked_at = self.unknown = 0
        self.estimated = estimates and len(lines) > MEASURED_LINES
        if sizes is not None:
            self.sizes = sizes
        elif self.estimated:
            sample = np.linspace(0, len(lines) - 1, SAMPLE_LINES).astype(np.int64)
            lengths = self._measured(sample)
            self.sizes = estimated_lengths(lines, sample, lengths, self._token_count)
        else:
            self.sizes = self._measured(range(len(lines)))

    def _measured(self, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Lengths of these lines in tokens, int32."""
        sizes = np.zeros(len(numbers), dtype=np.int32)
        for place, number in enumerate(numbers):
            tokens = self[int(number)]
            sizes[place] = len(tokens)
            self.looked_at += len(tokens)
            self.unknown += int(tokens.eq(self.dictionary.unk()).sum())
        return sizes

    def _token_count(self, word: str) -> int:
        return len(self.encode(word).split())

    def measure_above(self, limit: float) -> int:
        """Measures the lines that are estimated to be longer than ``limit``, of many the shortest;
        returns how many are left as they are estimated."""
        doubtful = np.flatnonzero(self.sizes > limit)
        order = np.argsort(self.sizes[doubtful], kind="stable")
        measured = doubtful[order][:MEASURED_LINES]
        self.sizes[measured] = self._measured(measured)
        return len(doubtful) - len(measured)

    def tokens(self, line: str) -> Tensor:
        """Tokens of a line, long."""
        subwords = self.encode(line)
        tokens = self.dictionary.encode_line(subwords, add_if_not_exist=False).long()
        words = tokens[:-1]
        words.masked_fill_(words < self.dictionary.nspecial, self.dictionary.unk())
        return tokens

    def __getitem__(self, number: int) -> Tensor:
        return self.tokens(self.lines[number])

    def __len__(self) -> int:
        return len(self.lines)
