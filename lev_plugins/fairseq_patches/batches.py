"""Batches that hold every sentence."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command

Batch = Sequence[int] | np.ndarray


def lossless_batches(indices: Sequence[int] | np.ndarray, batches: Sequence[Batch]) -> list[Batch]:
    """Put the sentences back that fairseq dropped at the end, in order.

    Fault: ``fairseq.data.data_utils.batch_by_size`` throws the last batch away when its size is no
    multiple of ``required_batch_size_multiple`` (8 unless told otherwise), so ``fairseq-generate``
    loses sentences and a set of fewer than eight gives nothing.

    fairseq cuts ``indices`` from left to right, where a batch would pass ``max_tokens`` or
    ``max_sentences``; what it threw away is one batch that it had cut so itself.

    Args:
        indices: all sentences, in the order in which they were batched.
        batches: what ``batch_by_size`` made of them.

    Returns:
        The batches, and one more where sentences were missing.
    """
    order = np.asarray(indices, dtype=np.int64)
    kept = [batch for batch in batches if len(batch) > 0]
    done = sum(len(batch) for batch in kept)
    return kept if done == len(order) else [*kept, order[done:]]


def keep_last_batch() -> None:
    """Lets no data set of fairseq lose its last batch, those of fairseq's own tasks included.

    Faults: see :func:`lossless_batches`; in training the sentences that no epoch sees are always
    the longest ones. And with no sentence at all fairseq raises IndexError.
    """
    from fairseq.data import FairseqDataset

    @patches(FairseqDataset, "batch_by_size")
    def batch_by_size(
        stock: Stock, self: FairseqDataset, indices: Sequence[int], *limits: Any, **named: Any
    ) -> list[Batch]:
        """fairseq's batches, the last one included.

        Raises:
            UserError: there is nothing to train on: fairseq would begin one epoch after another.
        """
        if len(indices) > 0:
            return lossless_batches(indices, stock(self, indices, *limits, **named))
        if running_command() in ("train", "hydra-train"):
            raise UserError(
                "a data set has no sentence, or none within the limits of the model; check the "
                "text that preprocess was given, or raise --max-source-positions, "
                "--max-target-positions or --max-tokens"
            )
        return []


def deterministic_batching() -> None:
    """Lets a training resume after a break, in whatever epoch, as if there had been none.

    Faults: batches that serve all epochs are cut from sentences in the order of their lengths, and
    among equal lengths in one that is sampled with the epoch in which the training began, or was
    resumed: it then continued with other batches. All are cut as for the first epoch now; tasks
    that cut batches anew for every epoch get those of that epoch. And fairseq-interactive keeps
    every line that it has read, in iterators for epochs to come.
    """
    from fairseq.data import EpochBatchIterator, FairseqDataset
    from fairseq.tasks import FairseqTask

    @patches(FairseqTask, "get_batch_iterator")
    def get_batch_iterator(
        stock: Stock, self: FairseqTask, dataset: FairseqDataset, *limits: object, **options: Any
    ) -> EpochBatchIterator:
        """fairseq's iterator, with the batches of a training that begins with epoch 1."""
        if "epoch" not in options:  # it is used once
            return stock(self, dataset, *limits, **{"disable_iterator_cache": True} | options)
        anew = options.get("disable_iterator_cache") or options.get("update_epoch_batch_itr")
        made = dataset in self.dataset_to_epoch_iter
        if made or anew or not self.can_reuse_epoch_itr(dataset):
            return stock(self, dataset, *limits, **options)
        iterator = stock(self, dataset, *limits, **{**options, "epoch": 1})
        iterator.epoch = max(options["epoch"], 1)
        # before fairseq resumes where a training stopped: it then begins to read at once
        dataset.set_epoch(iterator.epoch)
        return iterator
