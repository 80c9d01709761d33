"""Pairs of lines, read from text, made noisy and cut into tokens when they are asked for."""

from collections.abc import Callable, Sequence

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
        self.unknown = 0  # subwords, where sizes are measured
        if sizes is None:
            sizes = np.zeros(len(lines), dtype=np.int32)
            for number in range(len(lines)):
                tokens = self.tokens(self.text(number))
                sizes[number] = len(tokens)
                self.unknown += int(tokens.eq(dictionary.unk()).sum())
        self.sizes = sizes

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

    A line that noise makes longer than the limit is read without noise.

    Args:
        clean: the same lines without noise.
        noise: what is done to them.
        seed: of the noise.
        run: the training's seed, None where noise is to be the same every time.
        longest: most tokens, </s> counted.
        truncate: cut what is longer, noise or not, and keep </s>.
        target: text of the targets: a ``share`` of the lines (each with this probability) is made
            anew from them, with noise; the others are read without noise.

    Attributes:
        sizes: for batches: lengths of the noisy lines where noise is fixed, elsewhere those of
            one sample, that of epoch 0; never above the limit where the clean line is not.
        clean_sizes: lengths without noise, for all limits.
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
        self.longest, self.truncate = longest, truncate
        self.target, self.share = target, share
        self._epoch = torch.full((1,), FIXED).share_memory_()
        known = None if noise.options.kinds else clean.sizes
        super().__init__(clean.lines, clean.encode, clean.dictionary, known)
        self.unknown = self.unknown or clean.unknown
        self.clean_sizes = clean.sizes
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

    def set_epoch(self, epoch: int) -> None:
        """Noise of that epoch, from 1."""
        self.src.set_epoch(epoch)

    def limit(self, longest: int, max_tokens: float) -> None:
        """Sources are to have ``longest`` tokens at most, a batch ``max_tokens``.

        A line that fits into a batch without noise does with it.
        """
        self.src.limit(longest)
        sizes = self.src.sizes
        self.src_sizes = np.where(sizes > max_tokens, self.src.clean_sizes, sizes)

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
