"""Batches that do not depend on where a training begins."""

from typing import Any

from fairseq.data import EpochBatchIterator, FairseqDataset
from fairseq.tasks import FairseqTask


class LastingBatches(FairseqTask):
    """A task whose training goes on after a break, in whatever epoch, as if there had been none.

    Batches that serve all epochs are drawn by the engine with a seed that has the epoch in it in
    which the training began, or was taken up again: it then went on with others.
    """

    def get_batch_iterator(
        self,
        dataset: FairseqDataset,
        *args: Any,
        epoch: int = 1,
        disable_iterator_cache: bool = False,
        update_epoch_batch_itr: bool = False,
        **options: Any,
    ) -> EpochBatchIterator:
        """The engine's, with the batches of a training that begins with the first epoch."""
        lasting = not (disable_iterator_cache or update_epoch_batch_itr)
        made = dataset in self.dataset_to_epoch_iter
        iterator = super().get_batch_iterator(
            dataset,
            *args,
            epoch=1 if lasting else epoch,
            disable_iterator_cache=disable_iterator_cache,
            update_epoch_batch_itr=update_epoch_batch_itr,
            **options,
        )
        if lasting and not made:
            iterator.epoch = max(epoch, 1)
            # before the engine goes on where a training stopped: it then begins to read at once
            dataset.set_epoch(iterator.epoch)
        return iterator
