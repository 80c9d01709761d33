"""EncT5's data: its description, rows that lose nothing, and batches of them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import enct5_models
import numpy as np
import pytest
import torch
from fairseq.data import ListDataset
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.systems.enct5.dataset import DESCRIPTION, EncT5Dataset, Example, Metadata, pack
from lev_plugins.systems.enct5.problem_types import ProblemType

LABELS = 5
TAGGING = ProblemType.TAGGING


def test_a_description_comes_back_as_it_was_written(tmp_path):
    written = Metadata("tagging", ["a", "b ä", "\u2028"], ["x"], [1, 2, 3], texts_per_example=2)
    written.write(str(tmp_path))
    kept = {"description": asdict(written)}
    assert Metadata.from_folder(str(tmp_path)) == written == Metadata.from_state(kept, "x")


@pytest.mark.parametrize("content", [None, "", "{", "null", "{}", '{"kind": "tag"}'])
def test_what_is_no_description_is_named(tmp_path, content):
    path = tmp_path / DESCRIPTION
    if content is not None:
        path.write_text(content)
    with refuses(path):
        Metadata.from_folder(str(tmp_path))


@given(
    examples=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=40),
    row=st.integers(4, 16),
    most=st.integers(4, 12),
)
def test_packed_rows_hold_every_example_once_and_nothing_that_is_left_over_fits(
    examples, row, most
):
    rows = pack(examples, (row, most))
    assert sorted(sum(rows, [])) == list(range(len(examples)))
    sizes = [[examples[i] for i in numbers] for numbers in rows]
    for number, inside in enumerate(sizes):
        pieces, latents = map(sum, zip(*inside))
        assert len(inside) == 1 or (pieces <= row and latents <= most)
        later = sum(sizes[number + 1 :], [])
        assert inside[0] >= max(later, default=(0, 0)), "the longest is next"
        for more, needs in [min(later), max(later)] if later else []:
            assert pieces + more > row or latents + needs > most


def examples(kind: ProblemType, count: int, longest: int) -> list[Example]:
    """Random ones as enct5_prepare writes them; some taggers' words were cut off."""
    texts = []
    for length in torch.randint(1, longest + 1, (count,)).tolist():
        text = enct5_models.example(kind, length, LABELS)
        lost = text.labels[: kind is TAGGING and length % 2]
        texts.append(text._replace(labels=torch.cat([text.labels, lost])))
    return texts


def dataset(kind: ProblemType, examples: Sequence[Example], **options: Any) -> EncT5Dataset:
    pieces, spans, labels = (
        ListDataset(column, np.array(list(map(len, column)), np.int32))
        for column in zip(*(example[:3] for example in examples))
    )
    return EncT5Dataset(pieces, spans if kind is TAGGING else None, labels, kind, LABELS, **options)


@given(
    kind=st.sampled_from(list(ProblemType)),
    limits=st.sampled_from([None, (30, 40), (1, 1)]),
    seed=st.integers(0, 10**6),
)
def test_a_batch_is_as_large_as_its_rows_say_and_has_the_targets_in_order(kind, limits, seed):
    torch.manual_seed(seed)
    data = dataset(kind, examples(kind, 25, 12), limits=limits)
    numbers = torch.randperm(len(data))[:4].tolist()
    batch = data.collater([data[i] for i in numbers])
    columns = batch["net_input"]
    filled = [columns[name].ne(0).sum(1) for name in ("example_ids", "latent_example_ids")]
    sizes = torch.stack(filled, 1)
    assert sizes.tolist() == data.sizes[numbers].tolist()
    counts = sizes.amax(1).tolist()
    assert data.num_tokens_vec(numbers).tolist() == counts == [*map(data.num_tokens, numbers)]
    inside = [example for number in numbers for example in data[number]]
    reached = [example.labels[: example.num_words or None] for example in inside]
    assert batch["target"].equal(kind.targets(reached, LABELS))
    assert batch["id"].tolist() == [i for number in numbers for i in data.rows[number]]
    assert batch["labels"] == [kind.plain_labels(example.labels) for example in inside]
    assert batch["num_predictions"] == [example.num_words or 1 for example in inside]
