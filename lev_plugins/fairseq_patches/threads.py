"""Threads that read batches ahead of the training."""

import atexit
import sys
import threading
import time
from contextlib import suppress

_PATIENCE = 30.0  # seconds; a reader is at most one batch away from its end
_MOMENT = 0.05


def end_readers() -> None:
    """Ends all threads of this process that read ahead, and waits for them, within reason.

    Each ends after the batch that it is at: a count that is reached ends it, and a queue that takes
    everything holds it up no longer. What it has read is thrown away.
    """
    from fairseq.data.iterators import BackgroundConsumer

    readers = [one for one in threading.enumerate() if isinstance(one, BackgroundConsumer)]
    end = time.monotonic() + _PATIENCE
    while any(one.is_alive() for one in readers) and time.monotonic() < end:
        # torch's signal handler raises where a process that loads data has died
        with suppress(RuntimeError):
            for reader in readers:
                reader._max_len = 0
                with reader._queue.mutex:
                    reader._queue.maxsize = sys.maxsize
                    reader._queue.queue.clear()
                    reader._queue.not_full.notify_all()
                reader.join(_MOMENT)


def stop_prefetch_threads() -> None:
    """Lets a training that ends within an epoch exit with its own status.

    Fault: ``BufferedIterator`` reads up to ``--data-buffer-size`` batches ahead in a daemon thread
    which nobody ever stops. It is still at work while Python shuts down and is then ended in the
    middle of torch's code (up to Python 3.13): a finished training says "terminate called without
    an active exception" and "Aborted", with status 134.
    """
    # Last registered, first called: the worker processes that a reader may wait for live on.
    atexit.register(end_readers)
