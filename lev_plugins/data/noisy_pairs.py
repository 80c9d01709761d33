"""Pairs of lines, read from text, made noisy and cut into tokens when they are asked for."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary, FairseqDataset, LanguagePairDataset, data_utils
from torch import Tensor

from .batch import shortened
from .noise import FIXED, Noise, sentence_random


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
        self.unknown = 0
        self.sizes = self._measured() if sizes is None else sizes

    def _measured(self) -> np.ndarray:
        """Sizes of all lines, each of which is cut once; counts unknown subwords on the way."""
        sizes = np.zeros(len(self.lines), dtype=np.int32)
        for number in range(len(self.lines)):
            tokens = self.tokens(self.text(number))
            sizes[number] = len(tokens)
            self.unknown += int(tokens.eq(self.dictionary.unk()).sum())
        return sizes

    def tokens(self, line: str) -> Tensor:
        """Tokens of a line, long."""
        made = self.dictionary.encode_line(self.encode(line), add_if_not_exist=False).long()
        words = made[:-1]
        words.masked_fill_(words < self.dictionary.nspecial, self.dictionary.unk())
        return made

    def text(self, number: int) -> str:
        """The line that is read as sentence ``number``."""
        return self.lines[number]

    def get_original_text(self, number: int) -> str:
        """The subwords of a line, as ``--replace-unk`` wants them."""
        return self.encode(self.text(number))

    def __getitem__(self, number: int) -> Tensor:
        return self.tokens(self.text(number))

    def __len__(self) -> int:
        return len(self.lines)


class NoisySide(TextSide):
    """A side whose lines are made noisy before they are cut.

    What happens to a line depends on the seeds, the epoch and the line's number alone, so it is the
    same in any process and any order. The epoch lies in shared memory: fairseq keeps the processes
    that read data, and with them their copy of a data set, from one epoch to the next.

    A line that noise makes longer than ``longest`` is read without noise.

    Args:
        clean: the same lines without noise.
        noise: what is done to them.
        seed: of the noise.
        run: the training's seed, None where noise is to be the same every time.
        longest: most tokens, </s> counted.
        truncate: cut what is longer, noise or not, and keep </s>.
        target: text of the targets: lines are made anew from them, with noise, and only ``share``
            of the lines (each with this probability); the others are read without noise.

    Attributes:
        sizes: for batches: lengths of the noisy lines where noise is fixed, elsewhere those of
            one sample, that of epoch 0; never above ``longest`` where the clean line is not.
        clean_sizes: lengths without noise, for all limits.
        grown: the lines that noise makes too long, in that sample.
    """

    def __init__(
        self,
        clean: TextSide,
        noise: Noise,
        seed: int,
        run: int | None,
        longest: int,
        truncate: bool = False,
        target: Sequence[str] | None = None,
        share: float = 1.0,
    ) -> None:
        self.noise, self.seed, self.run = noise, seed, run
        self.truncate, self.longest = truncate, longest
        self.target, self.share = target, share
        self._epoch = torch.full((1,), FIXED).share_memory_()
        lines, encode, dictionary = clean.lines, clean.encode, clean.dictionary
        super().__init__(lines, encode, dictionary, None if noise.options.kinds else clean.sizes)
        if not noise.options.kinds:
            self.unknown = clean.unknown
        self.clean_sizes = clean.sizes
        self.grown = np.flatnonzero((self.sizes > longest) & (clean.sizes <= longest))
        self.limit(longest)

    def limit(self, longest: int) -> None:
        """Lowers the limit, for a model with fewer positions."""
        self.longest = min(self.longest, longest)
        if self.truncate:
            self.clean_sizes = np.minimum(self.clean_sizes, self.longest)
        self.sizes = np.where(self.sizes > self.longest, self.clean_sizes, self.sizes)

    def set_epoch(self, epoch: int) -> None:
        """Noise of that epoch, from 1; without effect where noise is fixed."""
        if self.run is not None:
            self._epoch.fill_(epoch)

    def text(self, number: int) -> str:
        """A line with its noise."""
        rng = sentence_random(self.seed, int(self._epoch), number, self.run or 0)
        if self.target is None:
            return self.noise(self.lines[number], rng)
        if rng.random() >= self.share:
            return self.lines[number]
        return self.noise(self.target[number], rng)

    def __getitem__(self, number: int) -> Tensor:
        tokens = self.tokens(self.text(number))
        if len(tokens) > self.longest and not self.truncate:
            return self.tokens(self.lines[number])
        return shortened(tokens, self.longest)


class NoisyPairs(LanguagePairDataset):
    """fairseq's language pairs with a :class:`NoisySide` as source.

    Batches are cut by the sizes of one sample of the noise, so ``--max-tokens`` holds about; which
    sentences are too long is decided by the clean text and is the same in every epoch. So one cut
    serves all epochs.
    """

    src: NoisySide

    def __init__(
        self,
        source: NoisySide,
        source_dictionary: Dictionary,
        target: TextSide | None,
        target_dictionary: Dictionary,
        **options: object,
    ) -> None:
        sizes = None if target is None else target.sizes
        super().__init__(
            source, source.sizes, source_dictionary, target, sizes, target_dictionary, **options
        )

    def set_epoch(self, epoch: int) -> None:
        """Noise of that epoch, from 1."""
        self.src.set_epoch(epoch)

    def limit(self, longest: int) -> None:
        """Sources are to have ``longest`` tokens at most."""
        self.src.limit(longest)
        self.src_sizes = self.src.sizes

    def size(self, index: int) -> tuple[int, int]:
        """Lengths of the clean source and the target, in tokens."""
        target = 0 if self.tgt_sizes is None else int(self.tgt_sizes[index])
        return int(self.src.clean_sizes[index]), target

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: None | int | Sequence[int]
    ) -> tuple[np.ndarray, list[int]]:
        """By the length of the clean source."""
        return data_utils.filter_paired_dataset_indices_by_size(
            self.src.clean_sizes, self.tgt_sizes, indices, max_sizes
        )

    def batch_by_size(
        self, indices: np.ndarray, max_tokens: int | None = None, *limits: Any, **named: Any
    ) -> list[Sequence[int] | np.ndarray]:
        """fairseq's batches; a line that fits into ``max_tokens`` without noise does with it."""
        if max_tokens is not None:
            grown = self.src_sizes > max_tokens
            self.src_sizes = np.where(grown, self.src.clean_sizes, self.src_sizes)
        return super().batch_by_size(indices, max_tokens, *limits, **named)
