"""Threads that read batches ahead of the training."""

import atexit
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING

from ..io.patching import Stock, patches

if TYPE_CHECKING:
    from fairseq.data.iterators import BackgroundConsumer

_PATIENCE = 30.0  # seconds; a reader is at most one batch away from its end
_MOMENT = 0.05


def tell_to_end(reader: "BackgroundConsumer") -> None:
    """Let a reader end after the batch that it is at; what it has read is thrown away.

    A count that is reached ends it, and a queue that takes everything holds it up no longer. The
    lock is not waited for: where the garbage collector calls this, the caller itself may hold it.

    Args:
        reader: fairseq's ``BackgroundConsumer``; one that has ended already stays as it is.
    """
    reader._max_len = 0
    queue = reader._queue
    if queue.mutex.acquire(timeout=_MOMENT):
        try:
            queue.maxsize = sys.maxsize
            queue.queue.clear()
            queue.not_full.notify_all()
        finally:
            queue.mutex.release()


def end_readers() -> None:
    """End all threads of this process that read ahead, and wait for them, within reason.

    A source that gives no batch for half a minute is waited for no longer, and neither is any
    after Ctrl-C.
    """
    from fairseq.data.iterators import BackgroundConsumer

    readers = [one for one in threading.enumerate() if isinstance(one, BackgroundConsumer)]
    end = time.monotonic() + _PATIENCE
    while any(one.is_alive() for one in readers) and time.monotonic() < end:
        try:
            for reader in readers:
                tell_to_end(reader)
                reader.join(_MOMENT)
        except KeyboardInterrupt:
            return
        except RuntimeError:  # torch's signal handler: a process that loads data has died
            continue


def stop_prefetch_threads() -> None:
    """End a thread that reads ahead when nobody wants its batches, at the latest at exit.

    Fault: ``BufferedIterator`` reads up to ``--data-buffer-size`` batches ahead in a daemon thread
    which nobody ever stops. A training that ends within an epoch leaves it at work while Python
    shuts down; up to Python 3.13 it is then ended in the middle of torch's code, and a finished
    training says "terminate called without an active exception" and "Aborted" with status 134. An
    iterator that is dropped before its end (``--max-valid-steps``) leaves its thread behind, with
    the data and a full queue, until the command ends.

    Batches, their order and ``take`` stay fairseq's.
    """
    from fairseq.data.iterators import BufferedIterator

    @patches(BufferedIterator, "_create_consumer")
    def create_consumer(stock: Stock, self: BufferedIterator) -> None:
        """Start the reader, which ends when its iterator does."""
        stock(self)
        weakref.finalize(self, tell_to_end, self._consumer).atexit = False

    # Last registered, first called: the worker processes that a reader may wait for live on.
    atexit.register(end_readers)
