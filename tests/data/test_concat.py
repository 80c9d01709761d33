"""Source and draft as one sequence: joined, told apart again, and batched."""

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.systems.transformer_concat.dataset import (
    ConcatEditDataset,
    join_draft,
    parts_and_positions,
)

SYMBOLS = tiny.dictionary()
BOS, PAD, EOS = SYMBOLS.bos(), SYMBOLS.pad(), SYMBOLS.eos()
words = st.lists(st.integers(SYMBOLS.nspecial, len(SYMBOLS) - 1), max_size=6)


@st.composite
def batches(draw):
    """Sources and drafts as lists, and as padded tensors with or without <s>."""
    size = draw(st.integers(1, 4))
    lists, tensors = [], []
    for _ in range(2):
        rows = [draw(words) for _ in range(size)]
        begin = [BOS] if draw(st.booleans()) else []
        padded = [torch.tensor([*begin, *row, EOS]) for row in rows]
        lists.append(rows)
        extra = draw(st.integers(0, 2))
        tensors.append(tiny.stack(padded, PAD, left=draw(st.booleans()), extra=extra))
    return lists, tensors


@given(batches(), st.integers(1, 8))
def test_joining_is_source_end_draft_end_whatever_the_padding(batch, multiple):
    (sources, drafts), tensors = batch
    joined = join_draft(*tensors, PAD, BOS, multiple)
    rows = [[*s, EOS, *d, EOS] for s, d in zip(sources, drafts, strict=True)]
    width = max(map(len, rows))
    width += -width % multiple
    assert joined.tolist() == [row + [PAD] * (width - len(row)) for row in rows]


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
        return made, [len(tokens) for tokens in made]

    source, target, draft = map(side, zip(*ROWS, strict=True))
    target = target if targets else (None, None)
    return ConcatEditDataset(
        *source, SYMBOLS, *target, SYMBOLS, draft=draft[0], draft_sizes=draft[1], **options
    )


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
