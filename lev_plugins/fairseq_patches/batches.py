"""Batches that hold every sentence, are the same after a break, and end with the training."""

import atexit
import logging
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from fairseq.data import EpochBatchIterator, FairseqDataset, iterators
from fairseq.data.iterators import BackgroundConsumer
from fairseq.tasks import FairseqTask

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command

logger = logging.getLogger(__name__)
_PATIENCE = 30.0  # seconds; a thread that reads ahead is at most one batch away from its end


@patches(FairseqDataset, "batch_by_size")
def batch_by_size(
    stock: Stock, self: FairseqDataset, indices: Sequence[int], *limits: Any, **named: Any
) -> list[Any]:
    """Faults: the last batch is thrown away when its size is no multiple of 8, whatever the task.

    Of no sentence it raises IndexError, and a training never ends; that is a UserError.
    """
    if len(indices) > 0:
        batches = [one for one in stock(self, indices, *limits, **named) if len(one) > 0]
        rest = np.asarray(indices, dtype=np.int64)[sum(map(len, batches)) :]
        return [*batches, rest] if len(rest) else batches
    if running_command() in ("train", "hydra-train"):
        raise UserError(
            "a data set has no sentence, or none within --max-source-positions, "
            "--max-target-positions and --max-tokens"
        )
    return []


@patches(FairseqTask, "get_batch_iterator")
def get_batch_iterator(
    stock: Stock, self: FairseqTask, dataset: FairseqDataset, *limits: object, **options: Any
) -> EpochBatchIterator:
    """Lets a training resume after a break, in whatever epoch, as if there had been none.

    Faults: batches that serve all epochs are cut in an order that is sampled with the epoch in
    which the training began, or was resumed; all are cut as for epoch 1 now, but where they are
    cut anew for every epoch. And fairseq-interactive keeps all lines that it has read.
    """
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


@patches(EpochBatchIterator, "load_state_dict")
def load_state_dict(stock: Stock, self: EpochBatchIterator, state_dict: dict[str, Any]) -> None:
    """Fault: a training whose epoch has fewer batches than it had read does not resume."""
    read = state_dict.get("iterations_in_epoch", 0)
    if 0 < read >= len(self):
        following = state_dict["epoch"] + 1
        said = "%d batches were read of an epoch that has %d now; epoch %d begins"
        logger.warning(said, read, len(self), following)
        state_dict = {**state_dict, "epoch": following, "iterations_in_epoch": 0}
    stock(self, state_dict)


# A collater may make several batches where one would be more than ``--max-tokens``: they are read
# as one, and one update learns from them, as from those of ``--update-freq``.


@patches(iterators, "_chunk_iterator")
def chunk_iterator(stock: Stock, *arguments: Any, **named: Any) -> Iterator[list[Any]]:
    """The batches of an update; those that were read as one stand side by side."""
    for chunk in stock(*arguments, **named):
        parts = (batch if isinstance(batch, list) else [batch] for batch in chunk)
        yield [part for batch in parts for part in batch]


def end_readers() -> None:
    """Ends all threads of this process that read ahead, and waits for them, within reason."""
    readers = [one for one in threading.enumerate() if isinstance(one, BackgroundConsumer)]
    end = time.monotonic() + _PATIENCE
    while any(one.is_alive() for one in readers) and time.monotonic() < end:
        for reader in readers:
            reader._max_len = 0  # it ends after its present batch, unless its queue is full
            # torch's signal handler raises where a process that loads data has died
            with suppress(queue.Empty, RuntimeError):
                reader.join(0.05)
                reader._queue.get_nowait()


# Fault: ``BufferedIterator`` reads ahead in a daemon thread that nobody stops; ended within torch's
# code while Python shuts down (up to 3.13) it aborts the process, with status 134. Last registered,
# first called: the worker processes that a reader may wait for live on.
atexit.register(end_readers)
