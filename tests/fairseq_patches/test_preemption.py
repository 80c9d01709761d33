"""Signals that ask a training to end: which are handled, when, and in which process."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fairseq import checkpoint_utils

from lev_plugins.fairseq_patches import preemption

TERM, USR1 = preemption.SIGNALS
TIMEOUT = 60  # seconds


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Signals act as in a shell within a test, and as before afterwards."""
    before = {number: signal.getsignal(number) for number in preemption.SIGNALS}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    with preemption.watched(False):
        yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def update(monkeypatch) -> Callable[..., tuple[Any, list[Any]]]:
    """Begins a training; each call is an update, and gives what it returns and what was saved."""
    saved: list[Any] = []
    monkeypatch.setattr(checkpoint_utils, "save_checkpoint", lambda *told: saved.append(told[3]))
    monkeypatch.setattr(os, "register_at_fork", lambda **_: None)
    program = SimpleNamespace(validate_and_save=lambda *told: ([1.5], told[-1]))
    trainer = SimpleNamespace(is_data_parallel_master=True, get_num_updates=lambda: 7)
    cfg = SimpleNamespace(checkpoint=SimpleNamespace(no_save=False))
    for _ in range(2):  # a second time changes nothing
        preemption.save_on_signals(program)
    return lambda stop=False: (program.validate_and_save(cfg, trainer, None, None, [], stop), saved)


@pytest.mark.parametrize("number", preemption.SIGNALS)
def test_a_training_ends_behind_the_update_with_a_checkpoint(update, capsys, number):
    assert update() == (([1.5], False), [])
    os.kill(os.getpid(), number)
    assert update(True) == (([1.5], True), [None]), "it ends by itself"
    with pytest.raises(SystemExit) as ended:
        update()
    assert ended.value.code == 128 + number
    assert f"{number.name}: the training ends after 7 updates" in capsys.readouterr().err


def test_signals_act_as_before_behind_a_training():
    with preemption.watched(True):
        assert signal.getsignal(TERM) != signal.SIG_DFL
        os.kill(os.getpid(), USR1)
    assert signal.getsignal(TERM) == signal.getsignal(USR1) == signal.SIG_DFL


def test_a_handler_of_the_users_stays(update):
    with preemption.watched(False):
        pass

    def theirs(*any: Any) -> None:
        pass

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
            os.kill(os.getpid(), TERM)
            raise torch.multiprocessing.ProcessExitedException("", 0, 1, code)


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


@pytest.mark.parametrize("from_the_training", [False, True])
def test_a_process_that_loads_data_ends_by_the_signal_of_the_training_alone(
    update, from_the_training
):
    ready, tell = os.pipe()

    def child() -> None:
        preemption._leave_signals_to_the_training()
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
