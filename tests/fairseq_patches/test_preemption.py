"""Whose signals are handled, and until when; what becomes of a training: tests/commands."""

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from lev_plugins.fairseq_patches import trainings as preemption

TERM, USR1 = preemption.SIGNALS


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Signals act as in a shell within a test, and as before afterwards."""
    before = {number: signal.getsignal(number) for number in preemption.SIGNALS}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_act_as_before_behind_a_training_and_a_handler_of_the_users_stays():
    def theirs(*any: Any) -> None:
        pass

    with preemption.watched(True):
        assert signal.SIG_DFL not in (signal.getsignal(TERM), signal.getsignal(USR1))
        signal.raise_signal(USR1)
    assert signal.getsignal(TERM) == signal.getsignal(USR1) == signal.SIG_DFL
    signal.signal(USR1, theirs)
    with preemption.watched(True):
        assert signal.getsignal(USR1) == theirs != signal.getsignal(TERM)
    assert signal.getsignal(USR1) == theirs


def test_a_thread_handles_none():
    def train() -> None:
        with preemption.watched(True):
            assert signal.getsignal(TERM) == signal.SIG_DFL

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()


def test_the_status_of_spawned_processes_is_passed_on():
    for code, kind in ((143, SystemExit), (1, torch.multiprocessing.ProcessExitedException)):
        with pytest.raises(kind), preemption.watched(True):
            signal.raise_signal(TERM)
            raise torch.multiprocessing.ProcessExitedException("", 0, 1, code)
