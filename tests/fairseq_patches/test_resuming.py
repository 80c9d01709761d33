"""A resumed training continues with the same batches."""

from argparse import Namespace
from typing import Any

import pytest
import torch
from fairseq.data import Dictionary, LanguagePairDataset, ListDataset
from fairseq.tasks import FairseqTask

import lev_plugins  # noqa: F401  (patches fairseq)

STOCK_BATCHES = FairseqTask.get_batch_iterator.__wrapped__


def sentences() -> LanguagePairDataset:
    """Twenty pairs, many of one length, whose order is a matter of chance."""
    rows = [torch.full((1 + number % 3,), 4 + number) for number in range(20)]
    sizes = [len(row) for row in rows]
    symbols = Dictionary()
    for number in range(20):
        symbols.add_symbol(str(number))
    data = ListDataset(rows, sizes)
    return LanguagePairDataset(data, sizes, symbols, data, sizes, symbols, shuffle=True)


def begun(epoch: int, get: Any = None, **options: Any) -> tuple[FairseqTask, Any]:
    """A task that starts in an epoch, and its iterator."""
    task, data = FairseqTask(Namespace()), sentences()
    get = get or FairseqTask.get_batch_iterator
    return task, get(task, data, max_sentences=3, seed=7, epoch=epoch, **options)


def batches(iterator: Any) -> list[list[int]]:
    return [list(map(int, batch)) for batch in iterator.frozen_batches]


def test_batches_do_not_depend_on_the_epoch_in_which_a_training_is_taken_up():
    """Whatever the task: fairseq's own, which PBD and gated-Trans train with, have no more."""
    _, first = begun(1)
    task, later = begun(4)
    assert batches(later) == batches(first) and len(batches(first)) == 7
    assert later.epoch == 4 and later.next_epoch_idx == 4
    orders = [[x["id"].tolist() for x in one.next_epoch_itr()] for one in (first, later)]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1], "epochs differ"
    assert FairseqTask.get_batch_iterator(task, later.dataset, epoch=5) is later


def test_fairseq_alone_resumes_with_other_batches():
    _, first = begun(1, STOCK_BATCHES)
    _, later = begun(4, STOCK_BATCHES)
    assert batches(first) != batches(later)
    assert batches(first) == batches(begun(1)[1]), "a training that is not stopped has these"


@pytest.mark.parametrize("option", ["disable_iterator_cache", "update_epoch_batch_itr"])
def test_batches_that_are_cut_anew_for_every_epoch_stay_that_epochs(option):
    for epoch in (1, 4):
        theirs = begun(epoch, STOCK_BATCHES, **{option: True})[1]
        assert batches(begun(epoch, **{option: True})[1]) == batches(theirs)


def test_a_data_set_that_changes_with_the_epochs_is_cut_anew(monkeypatch):
    monkeypatch.setattr(LanguagePairDataset, "can_reuse_epoch_itr_across_epochs", False)
    assert batches(begun(4)[1]) == batches(begun(4, STOCK_BATCHES)[1])
