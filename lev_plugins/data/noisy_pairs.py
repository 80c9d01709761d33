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

    def __getitem__(self, number: int) -> Tensor:
        return self.tokens(self.text(number))

    def __len__(self) -> int:
        return len(self.lines)


class NoisySide(TextSide):
    """A side whose lines are made noisy before they are cut.

    What happens to a line depends on the seeds, the epoch and its number alone: it is the same in
    any process and order. The epoch lies in shared memory, because fairseq keeps the processes that
    read data, and with them their copy of a data set, from one epoch to the next.

    Args:
        clean: the same lines without noise.
        seed: of the noise. run: the training's, None where noise is the same every time.
        longest: most tokens, </s> counted. A line that noise makes longer is read without noise;
            with ``truncate`` any line is cut, and keeps </s>.
        target: text of the targets: each line is made anew from it, with noise, with the
            probability ``share``, else it is read without noise.

    Attributes:
        sizes: lengths of the noisy lines where noise is fixed, elsewhere those of epoch 0.
        clean_sizes: lengths without noise.
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
        known = None if noise.kinds else clean.sizes
        super().__init__(clean.lines, clean.encode, clean.dictionary, known)
        self.unknown = self.unknown or clean.unknown
        self.clean_sizes = clean.sizes

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

    One cut into batches serves all epochs: it is by the sizes of one sample of the noise, so
    ``--max-tokens`` holds about; which sentences are too long is decided by the clean text.
    """

    src: NoisySide

    def __init__(
        self,
        src: NoisySide,
        src_dict: Dictionary,
        tgt: TextSide | None,
        tgt_dict: Dictionary,
        **options: object,
    ) -> None:
        sizes = None if tgt is None else tgt.sizes
        super().__init__(src, src.sizes, src_dict, tgt, sizes, tgt_dict, **options)
        self.limit(src.longest)

    def set_epoch(self, epoch: int) -> None:
        """See :meth:`NoisySide.set_epoch`."""
        self.src.set_epoch(epoch)

    def limit(self, longest: int, max_tokens: float = np.inf) -> None:
        """Sources are to have ``longest`` tokens at most, a batch ``max_tokens``.

        A line that fits without noise does with it.
        """
        side = self.src
        side.longest = min(side.longest, longest)
        if side.truncate:
            side.clean_sizes = np.minimum(side.clean_sizes, side.longest)
        grown = side.sizes > min(side.longest, max_tokens)
        self.src_sizes = np.where(grown, side.clean_sizes, side.sizes)

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
