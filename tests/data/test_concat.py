"""Source and draft as one sequence: joined, told apart again, and batched."""

import numpy as np
import pytest
import tiny
import torch
from fairseq.data import ListDataset
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.systems.transformer_concat.model import parts_and_positions
from lev_plugins.systems.transformer_concat.task import JoinedDataset

SYMBOLS = tiny.dictionary()
BOS, PAD, EOS = SYMBOLS.bos(), SYMBOLS.pad(), SYMBOLS.eos()
words = st.lists(st.integers(SYMBOLS.nspecial, len(SYMBOLS) - 1), max_size=6)


@given(
    st.lists(st.lists(words, min_size=1, max_size=3), min_size=1, max_size=4),
    st.booleans(),
    st.integers(0, 3),
)
def test_parts_and_positions_are_those_of_counting_token_by_token(sentences, left, extra):
    rows = [
        torch.tensor([token for part in parts for token in [*part, EOS]]) for parts in sentences
    ]
    tokens = tiny.stack(rows, PAD, left=left, extra=extra)
    found_parts, found_positions = parts_and_positions(tokens, PAD, EOS)
    for row, one_parts, one_positions in zip(tokens, found_parts, found_positions, strict=True):
        part = position = 0
        for token, found_part, found_position in zip(
            row.tolist(), one_parts.tolist(), one_positions.tolist(), strict=True
        ):
            if token == PAD:
                assert found_position == PAD
                continue
            position += 1
            assert (found_part, found_position) == (part, PAD + position)
            if token == EOS:
                part, position = part + 1, 0


ROWS = [
    tiny.Triple("abc", "abh", "ab"),
    tiny.Triple("a", "bcdefgh", "cdefgh"),
    tiny.Triple("", "h", ""),
    tiny.Triple("abcdefgh", "a", "b"),
]


def data_set(targets=True, **options):
    def side(texts):
        made = [tiny.sentence(text, SYMBOLS)[1:] for text in texts]
        return ListDataset(made, np.array([len(tokens) for tokens in made]))

    source, target, draft = map(side, zip(*ROWS, strict=True))
    return JoinedDataset(source, draft, SYMBOLS, target if targets else None, **options)


def test_a_batch_joins_source_and_draft_and_feeds_the_target_back():
    data = data_set()
    batch = data.collater([data[i] for i in range(4)])
    assert batch["id"].tolist() == [3, 0, 1, 2]
    for i, number in enumerate(batch["id"].tolist()):
        row = ROWS[number]
        for tokens, texts in (
            (batch["net_input"]["src_tokens"][i], [row.source, row.draft]),
            (batch["target"][i], [row.target]),
        ):
            expected = [one for text in texts for one in tiny.sentence(text, SYMBOLS)[1:].tolist()]
            assert tokens[tokens.ne(PAD)].tolist() == expected
        fed = batch["net_input"]["prev_output_tokens"][i]
        assert fed[fed.ne(PAD)].tolist() == [
            EOS,
            *tiny.sentence(row.target, SYMBOLS)[1:-1].tolist(),
        ]
    assert "draft" not in batch


def test_source_and_draft_count_together():
    data = data_set()
    assert data.num_tokens_vec(np.arange(4)).tolist() == [7, 9, 2, 11]
    assert [data.num_tokens(i) for i in range(4)] == [7, 9, 2, 11]
    assert data_set(shuffle=False).ordered_indices().tolist() == [2, 0, 1, 3]
    assert data.size(1) == (2, 8, 7)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ((9, 8), [0, 1, 2, 3]),
        ((8, 8), [0, 1, 2]),
        ((7, 8), [0, 1, 2]),
        ((6, 8), [0, 2]),  # the second draft has seven tokens
        ((9, 7), [0, 2, 3]),
        (4, [0, 2]),
        (None, [0, 1, 2, 3]),
    ],
)
def test_source_and_draft_are_each_held_to_the_sources_limit(limits, kept):
    found, ignored = data_set().filter_indices_by_size(np.arange(4), limits)
    assert found.tolist() == kept
    assert sorted([*found, *ignored]) == [0, 1, 2, 3]


def test_batches_hold_every_sentence():
    data = data_set()
    order = data.ordered_indices()
    batches = data.batch_by_size(order, max_sentences=3, required_batch_size_multiple=8)
    assert sorted(i for batch in batches for i in batch) == [0, 1, 2, 3]
