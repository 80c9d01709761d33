"""Batches that hold every sentence."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command

if TYPE_CHECKING:
    from fairseq.data import FairseqDataset

Batch = Sequence[int] | np.ndarray


def lossless_batches(indices: Sequence[int] | np.ndarray, batches: Sequence[Batch]) -> list[Batch]:
    """Put the sentences back that fairseq dropped at the end, in order.

    Fault: ``fairseq.data.data_utils.batch_by_size`` throws the last batch away when its size is no
    multiple of ``required_batch_size_multiple`` (8 unless told otherwise), so ``fairseq-generate``
    loses sentences and a set of fewer than eight gives nothing.

    fairseq cuts ``indices`` from left to right, and cuts where a batch would pass
    ``max_tokens`` or ``max_sentences``; what it threw away is one batch that it had cut so
    itself. Given back whole it therefore keeps to both limits.

    Args:
        indices: all sentences, in the order in which they were batched.
        batches: what ``batch_by_size`` made of them.

    Returns:
        The batches, and one more where sentences were missing.

    Raises:
        ValueError: if the batches are not the start of ``indices`` (fairseq has changed).
    """
    order = np.asarray(indices, dtype=np.int64)
    kept = [batch for batch in batches if len(batch) > 0]
    done = sum(len(batch) for batch in kept)
    if kept and not np.array_equal(np.concatenate(kept), order[:done]):
        raise ValueError(
            f"batches of {done} sentences are not the start of the {len(order)} sentences given"
        )
    return kept if done == len(order) else [*kept, order[done:]]


def _refuse_low_limit(
    dataset: "FairseqDataset", indices: Sequence[int] | np.ndarray, error: AssertionError
) -> None:
    """Says how many tokens a batch has to hold, where fairseq asserts that it holds them."""
    told = re.match(r"Sentences lengths should not exceed max_tokens=(\d+)", str(error))
    if told is not None:
        longest = max(dataset.num_tokens(int(index)) for index in indices)
        raise UserError(
            f"the longest line has {longest} tokens, and a batch at most {told[1]} (--max-tokens; "
            f"in validation --max-tokens-valid); raise it to {longest}, or shorten such lines"
        ) from error


def keep_last_batch() -> None:
    """Let no data set of fairseq lose its last batch, those of fairseq's own tasks included.

    Fault: see :func:`lossless_batches`. fairseq-generate with ``--task translation`` prints up to
    seven sentences too few and scores the others. In training the loss is not a matter of chance
    either: batches are cut from sentences in the order of their lengths, so it is always the
    longest ones that no epoch sees. A last batch of an odd size costs a moment at most.

    Fault: with no sentence at all fairseq raises IndexError.
    """
    from fairseq.data import FairseqDataset

    @patches(FairseqDataset, "batch_by_size")
    def batch_by_size(
        stock: Stock,
        self: FairseqDataset,
        indices: Sequence[int],
        *limits: object,
        **named_limits: object,
    ) -> list[Batch]:
        """fairseq's batches, the last one included.

        Raises:
            UserError: a sentence is longer than a batch may be; or there is nothing to train on:
                fairseq would begin one epoch after another for ever.
        """
        if len(indices) > 0:
            try:
                return lossless_batches(indices, stock(self, indices, *limits, **named_limits))
            except AssertionError as error:
                _refuse_low_limit(self, indices, error)
                raise
        if running_command() in ("train", "hydra-train"):
            raise UserError(
                "a data set has no sentence, or none within the limits of the model; check the "
                "text that preprocess was given, or raise --max-source-positions, "
                "--max-target-positions or --max-tokens"
            )
        return []


def deterministic_batching() -> None:
    """Let a training resume after a break, in whatever epoch, as if there had been none.

    Fault: batches that serve all epochs are cut from sentences in the order of their lengths, and
    among equal lengths in one that is sampled with the epoch in which the training began, or was
    resumed: it then continued with other batches. All are cut as for the first epoch now.
    Tasks that cut batches anew for every epoch get those of that epoch, as before.
    """
    from fairseq.data import EpochBatchIterator, FairseqDataset
    from fairseq.tasks import FairseqTask

    @patches(FairseqTask, "get_batch_iterator")
    def get_batch_iterator(
        stock: Stock, self: FairseqTask, dataset: FairseqDataset, *limits: object, **options: Any
    ) -> EpochBatchIterator:
        """fairseq's iterator, with the batches of a training that begins with epoch 1."""
        anew = options.get("disable_iterator_cache") or options.get("update_epoch_batch_itr")
        made = dataset in self.dataset_to_epoch_iter
        if made or anew or "epoch" not in options or not self.can_reuse_epoch_itr(dataset):
            return stock(self, dataset, *limits, **options)
        iterator = stock(self, dataset, *limits, **{**options, "epoch": 1})
        iterator.epoch = max(options["epoch"], 1)
        # before fairseq resumes where a training stopped: it then begins to read at once
        dataset.set_epoch(iterator.epoch)
        return iterator


def shuffle_when_asked() -> None:
    """Let ``--curriculum N`` end after N epochs, and a resumed training have the same order.

    Fault: an iterator keeps the sampler of its first epoch, and with it whether batches are
    shuffled. With ``--curriculum`` no epoch was ever shuffled, unless the training was resumed
    later: then all were.
    """
    from fairseq.data.iterators import EpochBatchIterator

    @patches(EpochBatchIterator, "_get_iterator_for_epoch")
    def get_iterator_for_epoch(
        stock: Stock,
        self: EpochBatchIterator,
        epoch: int,
        shuffle: bool,
        *more: object,
        **named: object,
    ) -> object:
        """fairseq's, from a sampler that is told about every epoch."""
        if self.dataloader is not None:
            self.epoch_batch_sampler.shuffle = shuffle
        return stock(self, epoch, shuffle, *more, **named)
