"""Batches that hold every sentence, are the same after a break, and end with the training."""

import atexit
import queue
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command

Batch = Sequence[int] | np.ndarray
_PATIENCE = 30.0  # seconds; a thread that reads ahead is at most one batch away from its end


def keep_last_batch() -> None:
    """Lets no data set of fairseq lose its last batch, those of fairseq's own tasks included.

    Faults: ``batch_by_size`` throws the last batch away when its size is no multiple of 8 (unless
    told otherwise): fairseq-generate loses sentences, a set of fewer than eight gives nothing, and
    what no epoch of a training sees are always the longest. Of no sentence it raises IndexError.
    """
    from fairseq.data import FairseqDataset

    @patches(FairseqDataset, "batch_by_size")
    def batch_by_size(
        stock: Stock, self: FairseqDataset, indices: Sequence[int], *limits: Any, **named: Any
    ) -> list[Batch]:
        """fairseq's batches and, of what is missing at the end, the one that it had cut.

        Raises:
            UserError: there is nothing to train on: fairseq would begin one epoch after another.
        """
        if len(indices) > 0:
            batches = [one for one in stock(self, indices, *limits, **named) if len(one) > 0]
            rest = np.asarray(indices, dtype=np.int64)[sum(map(len, batches)) :]
            return [*batches, rest] if len(rest) else batches
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
    resumed: it went on with other batches. All are cut as for epoch 1 now, but where they are cut
    anew for every epoch. And fairseq-interactive keeps all lines that it has read, in iterators.
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


def end_readers() -> None:
    """Ends all threads of this process that read ahead, and waits for them, within reason.

    A count that is reached ends one after its present batch; what it has read is thrown away, so
    that no full queue holds it up.
    """
    from fairseq.data.iterators import BackgroundConsumer

    readers = [one for one in threading.enumerate() if isinstance(one, BackgroundConsumer)]
    end = time.monotonic() + _PATIENCE
    while any(one.is_alive() for one in readers) and time.monotonic() < end:
        for reader in readers:
            reader._max_len = 0
            # torch's signal handler raises where a process that loads data has died
            with suppress(queue.Empty, RuntimeError):
                reader.join(0.05)
                reader._queue.get_nowait()


def stop_prefetch_threads() -> None:
    """Lets a training that ends within an epoch exit with its own status.

    Fault: ``BufferedIterator`` reads ahead in a daemon thread that nobody stops. At work while
    Python shuts down it is ended within torch's code (up to Python 3.13): "Aborted", status 134.
    """
    # Last registered, first called: the worker processes that a reader may wait for live on.
    atexit.register(end_readers)
