"""One thread that owns the model, and batches of what many clients ask it.

Requests of the same kind with equal options share a batch. One of more rows than a batch takes its
turn like all others after each batch, so a long file does not hold up a person who types.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from ..errors import UserError

#: of a row, as JSON has it
Result = dict[str, Any]
Runner = Callable[[Any, Sequence[Any]], list[Result]]


class Full(Exception):
    """As many requests wait as may."""


class Stopped(Exception):
    """The server is shutting down."""


class _Job:
    """The rows of a request, the first of which may have their results."""

    def __init__(self, kind: str, options: Hashable, rows: Sequence[object]) -> None:
        self.kind, self.options, self.rows = kind, options, rows
        self.results: list[Result] = []
        self.future: Future[list[Result]] = Future()

    @property
    def key(self) -> tuple[str, Hashable]:
        """What requests that share a batch have in common."""
        return self.kind, self.options

    def take(self, count: int) -> Sequence[object]:
        """The next rows, as many as ``count``."""
        done = len(self.results)
        return self.rows[done : done + count]

    def add(self, results: Sequence[Result]) -> bool:
        """Note results; returns whether rows are left."""
        self.results += results
        if len(self.results) < len(self.rows):
            return True
        with suppress(InvalidStateError):  # nobody waits for it any more
            self.future.set_result(self.results)
        return False

    def fail(self, error: BaseException) -> None:
        """Gives the error to whoever waits."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)


class Batcher:
    """Answers requests, one batch at a time.

    Args:
        runners: for each kind of request a function of options and rows that returns as many
            results; called in one thread only.
        batch_size: rows of a batch at most.
        waiting: requests that may wait at most.
        report: called with the kind and the rows of every batch that was run.
    """

    def __init__(
        self,
        runners: Mapping[str, Runner],
        batch_size: int = 64,
        waiting: int = 256,
        report: Callable[[str, int], None] = lambda kind, rows: None,
    ) -> None:
        self.runners, self.batch_size, self.waiting = runners, batch_size, waiting
        self.report = report
        self._jobs: deque[_Job] = deque()
        self._running = 0
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="lev-serve model", daemon=True)
        self._thread.start()

    def submit(
        self, kind: str, options: Hashable, rows: Sequence[object]
    ) -> "Future[list[Result]]":
        """Has rows answered; cancelling the future takes what is left of them from the queue.

        Raises:
            Full: too many requests wait. Stopped: the batcher was closed.
        """
        job = _Job(kind, options, rows)
        with self._changed:
            if self._stopped:
                raise Stopped
            if len(self) >= self.waiting:
                raise Full
            if rows:
                self._jobs.append(job)
                self._changed.notify()
            else:
                job.add(())
        return job.future

    def __len__(self) -> int:
        """Requests that wait or are being answered."""
        return len(self._jobs) + self._running

    def close(self) -> None:
        """Answers nothing more; what waits fails with :class:`Stopped`."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._stopped)
                if self._stopped:
                    for job in self._jobs:
                        job.fail(Stopped())
                    self._jobs.clear()
                    return
                batch = self._next()
                self._running = len(batch)
            left = self._run(batch)
            with self._changed:
                self._running = 0
                self._jobs.extend(left)

    def _next(self) -> list[tuple[_Job, Sequence[object]]]:
        """Rows of the first request and of those that go with it; they leave the queue."""
        jobs = [job for job in self._jobs if not job.future.cancelled()]
        batch: list[tuple[_Job, Sequence[object]]] = []
        room = self.batch_size
        for job in jobs:
            if room and job.key == jobs[0].key:
                rows = job.take(room)
                batch.append((job, rows))
                room -= len(rows)
        chosen = {id(job) for job, _ in batch}
        self._jobs = deque(job for job in jobs if id(job) not in chosen)
        return batch

    def _run(self, batch: list[tuple[_Job, Sequence[object]]]) -> list[_Job]:
        """Returns the requests that have rows left."""
        if not batch:
            return []
        first = batch[0][0]
        rows = [row for _, part in batch for row in part]
        try:
            results = self.runners[first.kind](first.options, rows)
        except Exception as error:
            if len(batch) == 1:
                if (done := len(first.results)) and isinstance(error, UserError):
                    error = UserError(f"{error} (counted behind the first {done} of the request)")
                first.fail(error)
                return []
            # One of them is at fault, and the others must not suffer from it.
            return [job for part in batch for job in self._run([part])]
        self.report(first.kind, len(rows))
        left, start = [], 0
        for job, part in batch:
            if job.add(results[start : start + len(part)]):
                left.append(job)
            start += len(part)
        return left
