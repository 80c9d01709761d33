"""Batches hold every sentence, and fairseq keeps nothing of those that it reads once."""

import sys

import numpy as np
import pytest
import tiny
from fairseq.data import FairseqDataset, data_utils
from hypothesis import given, settings
from hypothesis import strategies as st

import lev_plugins  # noqa: F401  (patches)
from lev_plugins.errors import UserError


class Lengths(FairseqDataset):
    """Sentences of given lengths."""

    def __init__(self, lengths: list[int], buckets: list[int] | None = None) -> None:
        self.lengths = np.array(lengths, dtype=np.int64)
        self.shapes = buckets and [(None, bucket) for bucket in buckets]

    def get_batch_shapes(self) -> list[tuple[None, int]] | None:
        return self.shapes

    def num_tokens(self, index: int) -> int:
        return int(self.lengths[index])

    def num_tokens_vec(self, indices: np.ndarray) -> np.ndarray:
        return self.lengths[indices]


def test_fairseq_drops_the_last_batch_and_fails_on_none():
    size = {"num_tokens_fn": lambda i: 1, "required_batch_size_multiple": 8}
    assert list(data_utils.batch_by_size(np.arange(5), **size)) == []
    kept = data_utils.batch_by_size(np.arange(13), max_sentences=8, **size)
    assert sum(len(batch) for batch in kept) == 8
    with pytest.raises(IndexError):
        data_utils.batch_by_size(np.arange(0), **size)


@settings(deadline=None, max_examples=200)
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
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert max_tokens is None or longest * len(batch) <= max_tokens
        assert max_sentences is None or len(batch) <= max_sentences
    for batch in batches[:-1]:
        assert len(batch) < multiple or len(batch) % multiple == 0


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 20), max_size=60))
def test_every_sentence_is_in_one_batch_of_a_fixed_shape(lengths):
    order = np.argsort(lengths, kind="stable").astype(np.int64)
    batches = Lengths(lengths, [5, 10, 20]).batch_by_size(order, 60, None, 8)
    assert [i for batch in batches for i in batch] == list(order)


def test_nothing_to_train_on_is_told_where_fairseq_never_ends(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-train"])
    with pytest.raises(UserError, match="has no sentence, or none within"):
        Lengths([]).batch_by_size(np.arange(0), 60, None, 8)


def test_what_is_read_once_is_not_kept():
    """As the buffers of fairseq-interactive; what serves many epochs is."""
    task = tiny.task()
    data = task.build_dataset_for_inference(*task.get_interactive_tokens_and_lengths(["a"], str))
    iterator = task.get_batch_iterator(dataset=data, max_sentences=1)
    assert len(list(iterator.next_epoch_itr(shuffle=False))) == 1
    assert not task.dataset_to_epoch_iter
    task.get_batch_iterator(dataset=data, max_sentences=1, epoch=2)
    assert data in task.dataset_to_epoch_iter
