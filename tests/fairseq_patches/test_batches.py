"""Batches hold every sentence and are the same after a break; what reads ahead ends in time."""

import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from fairseq.data import FairseqDataset, LanguagePairDataset, ListDataset
from fairseq.tasks import FairseqTask
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import lev_plugins
from lev_plugins.fairseq_patches.small import share


class Lengths(FairseqDataset):
    """Sentences of given lengths."""

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = np.array(lengths, dtype=np.int64)

    def get_batch_shapes(self) -> None: ...

    def num_tokens_vec(self, indices: np.ndarray) -> np.ndarray:
        return self.lengths[indices]

    num_tokens = num_tokens_vec


@settings(deadline=None)
@given(
    lengths=st.lists(st.integers(1, 20), max_size=60),
    max_tokens=st.none() | st.integers(20, 200),
    max_sentences=st.none() | st.integers(1, 20),
    multiple=st.integers(1, 9),
    shuffled=st.randoms(use_true_random=False),
)
def test_every_sentence_is_in_one_batch_within_the_limits(
    lengths, max_tokens, max_sentences, multiple, shuffled
):
    order = list(range(len(lengths)))
    shuffled.shuffle(order)
    indices = np.array(order, dtype=np.int64)
    batches = Lengths(lengths).batch_by_size(indices, max_tokens, max_sentences, multiple)
    assert [i for batch in batches for i in batch] == order
    for number, batch in enumerate(batches, 1):
        longest = max(lengths[i] for i in batch)
        assert longest * len(batch) <= (max_tokens or np.inf)
        assert len(batch) <= (max_sentences or np.inf)
        is_last = number == len(batches)
        assert is_last or len(batch) < multiple or len(batch) % multiple == 0


def test_a_sentence_that_no_batch_holds_is_named_with_its_split():
    task = tiny.task()
    task.datasets["valid"] = Lengths([3, 9, 12, 4])
    with refuses("valid: line 3 has 12 tokens", "--max-tokens-valid", "=5"):
        task.dataset("valid").batch_by_size(np.arange(4), max_tokens=5)
    with refuses("line 2 has 9 tokens"):
        Lengths([3, 9]).batch_by_size([1, 0], 5, None, 8)


def test_nothing_to_train_on_is_refused_where_fairseq_never_ends(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-train"])
    with refuses("a data set has no sentence"):
        Lengths([]).batch_by_size(np.arange(0), 60, None, 8)


@settings(deadline=None, max_examples=30)
@given(count=st.integers(1, 40), shards=st.integers(1, 9), size=st.integers(1, 9))
def test_shards_share_all_sentences_and_none_is_without(count, shards, size):
    rows = [torch.full((1 + 7 * number % 5,), 4 + number) for number in range(count)]
    lengths, symbols = [len(row) for row in rows], tiny.dictionary(map(str, range(count)))
    data = LanguagePairDataset(ListDataset(rows, lengths), lengths, symbols)

    def ids(shard: int) -> list[int]:
        token = share.set(slice(shard, None, shards))
        try:
            iterator = FairseqTask(Namespace()).get_batch_iterator(data, max_sentences=size)
        finally:
            share.reset(token)
        batches = iterator.next_epoch_itr(shuffle=False)
        return [number for batch in batches for number in batch["id"].tolist()]

    if count < shards:
        with refuses("--num-shards", f"{count} sentences"):
            ids(0)
        return
    parts = [ids(shard) for shard in range(shards)]
    assert sorted(sum(parts, [])) == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert len(data.batch_by_size(data.ordered_indices(), max_sentences=1)) == count


# a training that resumes --------------------------------------------------------------------------

STOCK_BATCHES = FairseqTask.get_batch_iterator.__wrapped__


def begun(epoch: int, get: Any = FairseqTask.get_batch_iterator, **options: Any) -> Any:
    """An iterator of a task that starts in an epoch, over pairs, many of them of one length."""
    rows = [torch.full((1 + number % 3,), 4 + number) for number in range(20)]
    sizes, symbols = [len(row) for row in rows], tiny.dictionary(map(str, range(20)))
    side = ListDataset(rows, sizes)
    data = LanguagePairDataset(side, sizes, symbols, side, sizes, symbols, shuffle=True)
    return get(FairseqTask(Namespace()), data, max_sentences=3, seed=7, epoch=epoch, **options)


def batches(iterator: Any) -> list[list[int]]:
    return [list(map(int, batch)) for batch in iterator.frozen_batches]


def test_batches_do_not_depend_on_the_epoch_in_which_a_training_is_taken_up():
    """Whatever the task: fairseq's own, which PBD and gated-Trans train with, have no more."""
    first, later = begun(1), begun(4)
    assert batches(later) == batches(first) and len(batches(first)) == 7
    assert batches(first) == batches(begun(1, STOCK_BATCHES)), "as if nothing had stopped it"
    assert later.epoch == 4 and later.next_epoch_idx == 4
    orders = [[x["id"].tolist() for x in iterator.next_epoch_itr()] for iterator in (first, later)]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1], "epochs differ"


@pytest.mark.parametrize("option", ["disable_iterator_cache", "update_epoch_batch_itr", ""])
def test_batches_that_are_cut_anew_for_every_epoch_stay_that_epochs(option, monkeypatch):
    if not option:  # the data set changes with the epochs
        monkeypatch.setattr(LanguagePairDataset, "can_reuse_epoch_itr_across_epochs", False)
    options = {option: True} if option else {}
    assert batches(begun(4, **options)) == batches(begun(4, STOCK_BATCHES, **options))


# threads that read ahead --------------------------------------------------------------------------

# One process forks for every case, so that each comes to its own end: how the cases begin is here,
# the status and what was printed come back.
ENDINGS = """
import gc, json, os, signal, sys, time
import torch
from fairseq.data.iterators import BufferedIterator
import lev_plugins

class Operations:
    def __len__(self):
        return 1000
    def __iter__(self):
        for _ in range(1000):
            for _ in range(1000):
                sum = torch.ones(64) + 1
            yield sum

def begin(size=1000, source=Operations()):
    iterator = BufferedIterator(size, source)
    next(iterator)
    return iterator
def workers():
    return begin(2, torch.utils.data.DataLoader(list(range(1000)), num_workers=1))
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
print(json.dumps([ending(case) for case in (begin, workers, terminal)]))
"""


@pytest.mark.slow
def test_a_program_that_stops_reading_early_ends_well_and_one_that_is_stopped_as_ever(tmp_path):
    """A thread reads ahead, in torch's code or behind a process that loads data."""
    home = str(Path(lev_plugins.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", ENDINGS], cwd=tmp_path, check=True,
        env=os.environ | {"PYTHONPATH": home}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    *early, (status, message) = json.loads(done.stdout)
    assert early == [[0, ""]] * 2
    # Ctrl-C reaches the processes that load data too
    assert status == -signal.SIGINT and message.endswith("KeyboardInterrupt\n")
    assert message.count("Traceback") == 1 and "atexit" not in message
