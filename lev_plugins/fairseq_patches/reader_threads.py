"""Fault: ``BufferedIterator`` reads ahead in a daemon thread that nobody stops.

Ended within torch's code while Python shuts down (up to 3.13) it aborts the process, with status
134.
"""

import atexit
import queue
import threading
import time
from contextlib import suppress

from fairseq.data.iterators import BackgroundConsumer

_PATIENCE = 30.0  # seconds; a thread that reads ahead is at most one batch away from its end


def end_readers() -> None:
    """Ends all threads of this process that read ahead, and waits for them, within reason."""
    readers = [thread for thread in threading.enumerate() if isinstance(thread, BackgroundConsumer)]
    end = time.monotonic() + _PATIENCE
    while any(reader.is_alive() for reader in readers) and time.monotonic() < end:
        for reader in readers:
            reader._max_len = 0  # it ends after its present batch, unless its queue is full
            # torch's signal handler raises where a process that loads data has died
            with suppress(queue.Empty, RuntimeError):
                reader.join(0.05)
                reader._queue.get_nowait()


# last registered, first called: the worker processes that a reader may wait for live on
atexit.register(end_readers)
