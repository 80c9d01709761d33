"""Pairs of lines, read from text, made noisy and cut into tokens when they are asked for."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary, FairseqDataset, LanguagePairDataset
from torch import Tensor

from .batch import shortened
from .noise.noiser import Noise
from .noise.rng import FIXED, sentence_random


class TextSide(FairseqDataset):
    """The lines of a text as tokens with </s> behind them.

    Args:
        lines: the text.
        encode: cuts a line into subwords with spaces between them (``--tokenizer``, ``--bpe``).
        dictionary: numbers the subwords; a control symbol typed as text becomes <unk>.
        sizes: lengths in tokens, </s> counted; measured where they are not given.
    """

    def __init__(
        self,
        lines: Sequence[str],
        encode: Callable[[str], str],
        dictionary: Dictionary,
        sizes: np.ndarray | None = None,
    ) -> None:
        self.lines, self.encode, self.dictionary = lines, encode, dictionary
        self.unknown = 0  # subwords, where sizes are measured
        if sizes is None:
            sizes = np.zeros(len(lines), dtype=np.int32)
            for number, tokens in enumerate(map(self.tokens, lines)):
                sizes[number] = len(tokens)
                self.unknown += int(tokens.eq(dictionary.unk()).sum())
        self.sizes = sizes

    def tokens(self, line: str) -> Tensor:
        """Tokens of a line, long."""
        made = self.dictionary.encode_line(self.encode(line), add_if_not_exist=False).long()
        words = made[:-1]
        words.masked_fill_(words < self.dictionary.nspecial, self.dictionary.unk())
        return made

    def __getitem__(self, number: int) -> Tensor:
        return self.tokens(self.lines[number])

    def __len__(self) -> int:
        return len(self.lines)


class NoisyPairs(LanguagePairDataset):
    """fairseq's language pairs of text, whose sources are made noisy before they are cut.

    What happens to a line depends on the seeds, the epoch and its number alone: it is the same in
    any process and order. The epoch lies in shared memory, because fairseq keeps the processes that
    read data, and with them their copy of a data set, from one epoch to the next.

    Lengths are those of the clean text: one cut into batches serves all epochs, and
    ``--max-tokens`` holds about.

    Args:
        src, src_dict, tgt, tgt_dict: the two sides without noise and what numbers their tokens.
        noise: of the sources. seed: of the noise. run: the training's, None where noise is the
            same every time.
        longest: most tokens of a source, </s> counted. A line that noise makes longer is read
            without noise; with ``truncate`` any line is cut, and keeps </s>.
        share: above 0 a source is the target with noise with this probability, else it is read
            without noise.
        **options: of fairseq's class.
    """

    def __init__(
        self,
        src: TextSide,
        src_dict: Dictionary,
        tgt: TextSide | None,
        tgt_dict: Dictionary,
        *,
        noise: Noise,
        seed: int,
        run: int | None,
        longest: int,
        truncate: bool = False,
        share: float = 0.0,
        **options: object,
    ) -> None:
        sizes = np.minimum(src.sizes, longest) if truncate else src.sizes
        target_sizes = None if tgt is None else tgt.sizes
        super().__init__(src, sizes, src_dict, tgt, target_sizes, tgt_dict, **options)
        self.noise, self.seed, self.run, self.share = noise, seed, run, share
        self.longest, self.truncate = longest, truncate
        self._epoch = torch.full((1,), FIXED).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Noise of that epoch, from 1; without effect where noise is fixed."""
        if self.run is not None:
            self._epoch.fill_(epoch)

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: None | int | Sequence[int]
    ) -> tuple[np.ndarray, list[int]]:
        """By the clean text; noise then stays below the limit as well."""
        longest = max_sizes[0] if isinstance(max_sizes, Sequence) else max_sizes
        self.longest = min(self.longest, longest or self.longest)
        if self.truncate:
            self.src_sizes = np.minimum(self.src.sizes, self.longest)
        return super().filter_indices_by_size(indices, max_sizes)

    def __getitem__(self, index: int) -> dict[str, Any]:
        target = None if self.tgt is None else self.tgt[index]
        return {"id": index, "source": self._source(index), "target": target}

    def _source(self, number: int) -> Tensor:
        clean = self.src.lines[number]
        rng = sentence_random(self.seed, int(self._epoch), number, self.run or 0)
        if not self.share:
            line = self.noise(clean, rng)
        else:
            line = clean if rng.random() >= self.share else self.noise(self.tgt.lines[number], rng)
        tokens = self.src.tokens(line)
        if len(tokens) > self.longest and not self.truncate:
            return self.src.tokens(clean)
        return shortened(tokens, self.longest)
