"""Signals that ask a training to end: which are handled, when, and in which process."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from lev_plugins.fairseq_patches import preemption

TERM, USR1 = preemption.SIGNALS
TIMEOUT = 60  # seconds


@pytest.fixture
def watch(monkeypatch):
    """The watch of a training that runs; signals act as before afterwards."""
    before = {number: signal.getsignal(number) for number in preemption.SIGNALS}
    made = preemption.Watch()
    monkeypatch.setattr(preemption, "WATCH", made)
    for number in preemption.SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    yield made
    for number, handler in before.items():
        signal.signal(number, handler)


def ending(child: Callable[[], Any]) -> int:
    """How a process ends that runs ``child``."""
    pid = os.fork()
    if not pid:
        try:
            child()
        finally:
            os._exit(99)
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("it hangs")


def test_signals_are_handled_while_a_training_runs_and_no_longer(watch):
    watch.begin(tpu=False)
    assert signal.getsignal(TERM) == signal.SIG_DFL, "nothing to save as yet"
    watch.install()
    assert signal.getsignal(TERM) == signal.getsignal(USR1) == watch.receive
    os.kill(os.getpid(), USR1)
    assert watch.number == USR1
    watch.end()
    assert signal.getsignal(TERM) == signal.getsignal(USR1) == signal.SIG_DFL
    watch.begin(tpu=False)
    assert watch.number == 0, "the next training of a sweep has got no signal"


def test_a_handler_of_the_users_stays(watch):
    def theirs(*any: Any) -> None:
        pass

    interrupt = signal.getsignal(signal.SIGINT)
    signal.signal(USR1, theirs)
    watch.begin(tpu=False)
    watch.install()
    assert signal.getsignal(USR1) == theirs and signal.getsignal(TERM) == watch.receive
    signal.signal(TERM, theirs)  # set within the training
    watch.end()
    assert signal.getsignal(USR1) == signal.getsignal(TERM) == theirs
    assert signal.getsignal(signal.SIGINT) == interrupt


def test_a_thread_and_a_tpu_handle_none(watch):
    thread = threading.Thread(target=watch.begin, args=(False,))
    thread.start()
    thread.join()
    assert not watch.handled
    watch.begin(tpu=True)
    assert not watch.handled


@pytest.mark.parametrize(("seconds", "status"), [(0, 99), (10, -TERM)])
def test_a_second_signal_ends_at_once_unless_it_comes_with_the_first(watch, seconds, status):
    def child() -> None:
        watch.begin(tpu=False)
        watch.install()
        os.kill(os.getpid(), USR1)
        watch.since -= seconds
        os.kill(os.getpid(), TERM)

    assert ending(child) == status


@pytest.mark.parametrize("from_the_training", [False, True])
def test_a_process_that_loads_data_ends_by_the_signal_of_the_training_alone(
    watch, from_the_training
):
    watch.begin(tpu=False)
    ready, tell = os.pipe()

    def child() -> None:
        preemption.leave_signals_to_the_training()
        os.kill(os.getpid(), USR1)
        if not from_the_training:
            subprocess.run(["kill", "-TERM", str(os.getpid())], check=True)
            time.sleep(0.1)
            os._exit(98)
        os.write(tell, f"{os.getpid()}\n".encode())
        time.sleep(TIMEOUT)

    if from_the_training:
        thread = threading.Thread(target=lambda: os.kill(int(os.read(ready, 20)), TERM))
        thread.start()
    assert ending(child) == (0 if from_the_training else 98)


def waiting(rank: int, training: int) -> None:
    """A spawned process of a training: it ends as it has to where it is asked to."""
    signal.signal(TERM, lambda *any: sys.exit(128 + TERM))
    if rank == 1:
        time.sleep(0.2)  # until the training knows of it
        os.kill(training, TERM)
    time.sleep(TIMEOUT)


def test_spawned_processes_get_the_signal_of_the_one_that_waits_for_them(watch):
    with pytest.raises(SystemExit) as end, preemption.pass_signals_on():
        torch.multiprocessing.start_processes(
            waiting, args=(os.getpid(),), nprocs=2, start_method="fork"
        )
    assert end.value.code == 128 + TERM
    assert signal.getsignal(TERM) == signal.SIG_DFL


def test_what_ends_spawned_processes_otherwise_is_an_error(watch):
    def fail(rank: int) -> None:
        sys.exit(5)

    with pytest.raises(torch.multiprocessing.ProcessExitedException):
        with preemption.pass_signals_on():
            torch.multiprocessing.start_processes(fail, nprocs=1, start_method="fork")
