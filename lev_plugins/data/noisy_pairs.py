"""Pairs of lines, read from text, made noisy and cut into tokens when they are asked for."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary, LanguagePairDataset
from torch import Tensor

from lev_runtime.batching import by_budget

from .batch import truncate
from .noise.noiser import Noise
from .noise.rng import FIXED, sentence_random
from .text_side import TextDataset

logger = logging.getLogger(__name__)
Sample = dict[str, Any]


class NoisyTranslationDataset(LanguagePairDataset):
    """fairseq's language pairs of text, whose sources are made noisy before they are cut.

    What happens to a line depends on the seeds, the epoch and its number alone: it is the same in
    any process and order. The epoch lies in shared memory, because fairseq keeps the processes that
    read data, and with them their copy of a data set, from one epoch to the next.

    Lengths are those of the clean text: one cut into batches serves all epochs, and
    ``--max-tokens`` holds about. Where they are estimates it holds exactly: see :meth:`collater`.

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
        self.longest_target: float = np.inf
        self.estimated = any(side is not None and side.estimated for side in (src, tgt))
        self.max_tokens: int | None = None  # of a batch
        self.skipped: set[int] = set()  # lines that were found to be too long
        self._take_sizes()
        self._epoch = torch.full((1,), FIXED).share_memory_()

    def _take_sizes(self) -> None:
        """The sides' own arrays, where fairseq makes copies."""
        self.src_sizes = self.src.sizes
        if self.truncate:
            self.src_sizes = np.minimum(self.src_sizes, self.longest)
        self.tgt_sizes = None if self.tgt is None else self.tgt.sizes

    def set_epoch(self, epoch: int) -> None:
        """Noise of that epoch, from 1; without effect where noise is fixed."""
        if self.run is not None:
            self._epoch.fill_(epoch)

    # batches ----------------------------------------------------------------------------------

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: None | int | Sequence[int]
    ) -> tuple[np.ndarray, list[int]]:
        """By the clean text; noise then stays below the limit as well. What is estimated to be
        too long is measured first."""
        limits = max_sizes if isinstance(max_sizes, Sequence) else (max_sizes, max_sizes)
        self.longest = min(self.longest, limits[0] or self.longest)
        self.longest_target = limits[1] or np.inf
        if self.estimated:
            self._measure_doubtful()
        self._take_sizes()
        return super().filter_indices_by_size(indices, max_sizes)

    def _measure_doubtful(self) -> None:
        for side, limit in ((self.src, self.longest), (self.tgt, self.longest_target)):
            cut = self.truncate and side is self.src
            left = 0 if side is None or cut else side.measure_above(limit)
            if left:
                logger.warning(
                    "%d lines of %s are taken to be longer than %d tokens by their characters and "
                    "words", left, side.lines.path, limit,
                )  # fmt: skip

    def batch_by_size(
        self, indices: Sequence[int], max_tokens: int | None = None, *limits: Any, **named: Any
    ) -> list[np.ndarray]:
        """fairseq's; notes ``max_tokens`` for :meth:`collater`."""
        self.max_tokens = max_tokens
        return super().batch_by_size(indices, max_tokens, *limits, **named)

    def collater(
        self, samples: Sequence[Sample], pad_to_length: dict[str, int] | None = None
    ) -> Sample | list[Sample]:
        """fairseq's batch. Where lengths were estimated: what is too long after all is left out,
        and told; and of sentences that fill more than ``--max-tokens`` it makes several batches,
        which :mod:`..fairseq_patches.split_batches` gives to one update.
        """
        if not self.estimated:
            return super().collater(samples, pad_to_length)
        samples = [sample for sample in samples if self._fits(sample)]
        samples.sort(key=_longest_side)
        sizes = [*map(_longest_side, samples)]
        budget = self.max_tokens or sum(sizes) * len(samples)
        batches = []
        for places in by_budget(sizes, budget):
            batch = [samples[place] for place in places]
            batches.append(super().collater(batch, pad_to_length))
        if len(batches) > 1:
            return batches
        return batches[0] if batches else {}

    def _fits(self, sample: Sample) -> bool:
        source_size, target_size = _sizes(sample)
        if source_size <= self.longest and target_size <= self.longest_target:
            return True
        if sample["id"] not in self.skipped:
            self.skipped.add(sample["id"])
            logger.warning(
                "line %d is skipped: it has %d/%d tokens (source/target) where the limit is %g/%g",
                sample["id"] + 1, source_size, target_size, self.longest, self.longest_target,
            )  # fmt: skip
        return False

    # sentences --------------------------------------------------------------------------------

    def __getitem__(self, index: int) -> Sample:
        target = None if self.tgt is None else self.tgt[index]
        return {"id": index, "source": self._source(index), "target": target}

    def _source(self, number: int) -> Tensor:
        clean = self.src.lines[number]
        rng = sentence_random(self.seed, int(self._epoch), number, self.run or 0)
        if not self.share:
            line = self.noise(clean, rng)
        elif rng.random() < self.share:
            line = self.noise(self.tgt.lines[number], rng)
        else:
            line = clean
        tokens = self.src.tokens(line)
        if len(tokens) > self.longest and not self.truncate:
            return self.src.tokens(clean)
        return truncate(tokens, self.longest)


def _sizes(sample: Sample) -> tuple[int, int]:
    """Tokens of source and target, 0 where there is none."""
    target = sample["target"]
    return len(sample["source"]), 0 if target is None else len(target)


def _longest_side(sample: Sample) -> int:
    return max(_sizes(sample))
