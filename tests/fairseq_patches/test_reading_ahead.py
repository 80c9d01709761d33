"""Reading ahead: fairseq's threads end in time, and a program with its own status."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fairseq.data.iterators import BackgroundConsumer, BufferedIterator

import lev_plugins
from lev_plugins.fairseq_patches.batches import end_readers

OPERATIONS = """
import torch
from fairseq.data.iterators import BufferedIterator

class Operations:
    def __len__(self):
        return 1000
    def __iter__(self):
        ones = torch.ones(64)
        for _ in range(1000):
            for _ in range(1000):
                sum = ones + 1
            yield sum
"""
# One process forks for every case, so that each comes to its own end: how the cases begin is here,
# the status and what was printed come back.
ENDINGS = f"""
import gc, json, os, signal, sys, time
{OPERATIONS}
import lev_plugins

def begin(size=1000, source=None):
    iterator = BufferedIterator(size, source or Operations())
    next(iterator)
    return iterator

def ahead():
    return begin()
def full():
    iterator = begin(1, range(1000))
    while not iterator._queue.full():
        time.sleep(0.001)
    return iterator
def workers():
    return begin(2, torch.utils.data.DataLoader(list(range(1000)), num_workers=1))
def failing():
    iterator = begin()
    raise RuntimeError("no more")
def terminal():
    os.setpgid(0, 0)
    iterator = workers()
    os.killpg(0, signal.SIGINT)
    time.sleep(60)

def ending(case):
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(case.__name__, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        global iterator
        iterator = case()
        sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open(case.__name__) as said:
        return status, said.read()

gc.freeze()
cases = (ahead, full, workers, failing, terminal)
print(json.dumps({{case.__name__: ending(case) for case in cases}}))
"""


@pytest.fixture(scope="module")
def endings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Status and standard error of each case."""
    home = str(Path(lev_plugins.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", ENDINGS], cwd=tmp_path_factory.mktemp("endings"), check=True,
        env=os.environ | {"PYTHONPATH": home}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return {name: (status, said) for name, (status, said) in json.loads(done.stdout).items()}


@pytest.mark.parametrize("case", ["ahead", "full", "workers"])
def test_a_program_that_stops_reading_early_ends_well_and_in_silence(endings, case):
    assert endings[case] == (0, "")


def test_errors_and_signals_end_the_program_as_ever(endings):
    status, said = endings["failing"]
    assert status == 1 and said.startswith("Traceback ") and said.endswith("Error: no more\n")
    assert "atexit" not in said
    status, said = endings["terminal"]  # Ctrl-C reaches the processes that load data too
    assert status == -signal.SIGINT and said.endswith("KeyboardInterrupt\n")
    assert said.count("Traceback") == 1 and "atexit" not in said


def test_a_training_that_ends_early_leaves_no_thread_that_reads_ahead_and_ends_no_other():
    done = threading.Event()
    other = threading.Thread(target=done.wait, daemon=True)
    other.start()
    kept = [BufferedIterator(size, range(1000)) for size in (1, 20)]
    assert [next(iterator) for iterator in kept] == [0, 0]
    readers = [one for one in threading.enumerate() if isinstance(one, BackgroundConsumer)]
    end_readers()
    end_readers()
    assert len(readers) == 2 and not any(one.is_alive() for one in readers) and other.is_alive()
    done.set()
    other.join()
