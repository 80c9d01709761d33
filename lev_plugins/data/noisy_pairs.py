"""Pairs of lines, read from text, made noisy and cut into tokens when they are asked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary, LanguagePairDataset
from torch import Tensor

from .batch import truncate
from .noise.noiser import Noise
from .noise.rng import FIXED, sentence_random
from .text_side import TextDataset

Sample = dict[str, Any]


class NoisyTranslationDataset(LanguagePairDataset):
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
        src: TextDataset,
        src_dict: Dictionary,
        tgt: TextDataset | None,
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
        target_sizes = None if tgt is None else tgt.sizes
        super().__init__(src, src.sizes, src_dict, tgt, target_sizes, tgt_dict, **options)
        self.noise = noise
        self.seed = seed
        self.run = run
        self.share = share
        self.longest = longest
        self.truncate = truncate
        self._take_sizes()
        self._epoch = torch.full((1,), FIXED).share_memory_()

    def _take_sizes(self) -> None:
        """Takes the sides' own arrays, where fairseq makes copies."""
        self.src_sizes = self.src.sizes
        if self.truncate:
            self.src_sizes = np.minimum(self.src_sizes, self.longest)
        self.tgt_sizes = None if self.tgt is None else self.tgt.sizes

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the noise, from 1; without effect where noise is fixed."""
        if self.run is not None:
            self._epoch.fill_(epoch)

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: None | int | Sequence[int]
    ) -> tuple[np.ndarray, list[int]]:
        """Filters by the clean text; noise then stays below the limit as well."""
        limit = max_sizes[0] if isinstance(max_sizes, Sequence) else max_sizes
        self.longest = min(self.longest, limit or self.longest)
        self._take_sizes()
        return super().filter_indices_by_size(indices, max_sizes)

    def __getitem__(self, index: int) -> Sample:
        target = None if self.tgt is None else self.tgt[index]
        return {"id": index, "source": self._source(index), "target": target}

    def _source(self, number: int) -> Tensor:
        clean = self.src.line(number)
        rng = sentence_random(self.seed, int(self._epoch), number, self.run or 0)
        if not self.share:
            line = self.noise(clean, rng)
        elif rng.random() < self.share:
            line = self.noise(self.tgt.line(number), rng)
        else:
            line = clean
        tokens = self.src.tokens(line)
        if len(tokens) > self.longest and not self.truncate:
            return self.src.tokens(clean)
        return truncate(tokens, self.longest)
