"""A training that resumes reads what it would have read without a break."""

import logging
from typing import Any

from fairseq.data import EpochBatchIterator, FairseqDataset
from fairseq.tasks import FairseqTask

from ..io.patching import Stock, patches

logger = logging.getLogger(__name__)


@patches(FairseqTask, "get_batch_iterator")
def get_batch_iterator(
    stock: Stock, self: FairseqTask, dataset: FairseqDataset, *limits: object, **options: Any
) -> EpochBatchIterator:
    """Faults: batches that serve all epochs are cut in an order that is sampled with the epoch in
    which the training began, or was resumed; all are cut as for epoch 1 now, but where they are
    cut anew for every epoch. And fairseq-interactive keeps all lines that it has read.
    """
    if "epoch" not in options:  # it is used once
        return stock(self, dataset, *limits, **{"disable_iterator_cache": True} | options)
    cut_anew = options.get("disable_iterator_cache") or options.get("update_epoch_batch_itr")
    is_cached = dataset in self.dataset_to_epoch_iter
    if cut_anew or is_cached or not self.can_reuse_epoch_itr(dataset):
        return stock(self, dataset, *limits, **options)
    iterator = stock(self, dataset, *limits, **{**options, "epoch": 1})
    iterator.epoch = max(options["epoch"], 1)
    # before fairseq resumes where a training stopped: it then begins to read at once
    dataset.set_epoch(iterator.epoch)
    return iterator


@patches(EpochBatchIterator, "load_state_dict")
def load_state_dict(stock: Stock, self: EpochBatchIterator, state_dict: dict[str, Any]) -> None:
    """Fault: a training whose epoch has fewer batches than it had read does not resume."""
    batches_read = state_dict.get("iterations_in_epoch", 0)
    if 0 < batches_read >= len(self):
        epoch = state_dict["epoch"] + 1
        message = "%d batches were read of an epoch that has %d now; epoch %d begins"
        logger.warning(message, batches_read, len(self), epoch)
        state_dict = {**state_dict, "epoch": epoch, "iterations_in_epoch": 0}
    stock(self, state_dict)
