"""EncT5's data: its description, rows that lose nothing, and batches of them."""

import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from torch import Tensor

from lev_plugins.systems.enct5.dataset import (
    COLUMNS,
    EncT5Dataset,
    Example,
    collate,
    pack,
)
from lev_plugins.systems.enct5.metadata import DESCRIPTION, Metadata
from lev_plugins.systems.enct5.problem_types import KINDS, ProblemType, bits_of
from lev_plugins.systems.enct5.tokenizer import Tokenizer

LABELS = 5
EOS = 1


def metadata(**changes: Any) -> Metadata:
    values = {"kind": "multilabel", "labels": ["joy", "ärger"], "pieces": Tokenizer(None).pieces}
    return Metadata(**{**values, "counts": [3, 0], "texts": 2, "max_length": 99, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "tagging", "labels": ["a", "b c", "\u2028"], "counts": [1, 2, 3], "texts": 1},
        {"kind": "regression", "labels": [], "counts": [], "low": -1.5, "high": 0.1 + 0.2},
    ],
)
def test_a_description_comes_back_as_it_was_written(tmp_path: Path, changes: dict[str, Any]):
    written = metadata(**changes)
    written.write(str(tmp_path))
    kept = {"description": asdict(written)}
    assert Metadata.read(str(tmp_path)) == written == Metadata.of(kept, "a checkpoint")
    assert Metadata.read(str(tmp_path)).tokenizer("x").cut("é") == Tokenizer(None).cut("é")


@pytest.mark.parametrize("content", [None, "", "{", "null", "{}", '{"kind": "tag"}'])
def test_what_is_no_description_is_named(tmp_path: Path, content: str | None):
    path = tmp_path / DESCRIPTION
    if content is not None:
        path.write_text(content)
    with refuses(path):
        Metadata.read(str(tmp_path))


@given(
    examples=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=40),
    row=st.integers(4, 16),
    most=st.integers(4, 12),
)
def test_packed_rows_hold_every_example_once_and_nothing_that_is_left_over_fits(
    examples, row, most
):
    rows = pack(examples, (row, most))
    assert sorted(i for inside in rows for i in inside) == list(range(len(examples)))
    filled = [tuple(sum(examples[i][side] for i in inside) for side in range(2)) for inside in rows]
    for number, (inside, (pieces, latents)) in enumerate(zip(rows, filled, strict=True)):
        assert len(inside) == 1 or (pieces <= row and latents <= most)
        later = [examples[i] for others in rows[number + 1 :] for i in others]
        for more, needs in [min(later), max(later)] if later else []:
            assert pieces + more > row or latents + needs > most
        assert all(examples[inside[0]] >= one for one in later), "the longest is next"


def test_packing_leaves_little_padding_in_long_and_short_texts():
    rng = np.random.default_rng(1)
    sizes = np.clip(rng.lognormal(3.3, 0.7, 30_000), 2, 128).astype(int).tolist()
    rows = pack([(size, 1) for size in sizes], (128, 1024))
    assert sum(sizes) > 0.93 * 128 * len(rows)


class Memory(list[Tensor]):
    """An indexed data set in memory."""

    @property
    def sizes(self) -> np.ndarray:
        return np.array([len(one) for one in self], dtype=np.int32)


def examples(kind: ProblemType, count: int, seed: int, longest: int = 12) -> list[Example]:
    """Random ones as enct5_prepare writes them; some taggers' words were cut off."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        length = rng.randint(1, longest)
        pieces = [rng.randint(3, 90) for _ in range(length)]
        words = [1]
        for _ in range(length - 1):
            words.append(words[-1] + rng.randint(0, 1))
        lost = rng.choice((0, 0, 2))
        labels = {
            ProblemType.CLASSIFICATION: [rng.randrange(LABELS)],
            ProblemType.REGRESSION: bits_of([rng.uniform(-9, 9)]).tolist(),
            ProblemType.TAGGING: [rng.randrange(LABELS) for _ in range(words[-1] + lost)],
        }.get(kind, rng.sample(range(LABELS), rng.randint(0, 3)))
        spans = [*words, 0] if kind is ProblemType.TAGGING else []
        tensors = (torch.tensor(one, dtype=torch.long) for one in ([*pieces, EOS], spans, labels))
        made.append(Example(*tensors))
    return made


def dataset(kind: ProblemType, made: Sequence[Example], **options: Any) -> EncT5Dataset:
    pieces, spans, labels = (Memory(column) for column in zip(*made)) if made else [Memory()] * 3
    return EncT5Dataset(
        pieces, spans if kind is ProblemType.TAGGING else None, labels, kind, LABELS, **options
    )


def slow_row(row: Sequence[Example], kind: ProblemType) -> dict[str, list[int]]:
    """A row subword by piece."""
    found: dict[str, list[int]] = {name: [] for name in COLUMNS}
    words = 0
    for segment, one in enumerate(row, start=1):
        spans = one.spans.tolist() or [0] * len(one.pieces)
        for piece, span in zip(one.pieces.tolist(), spans, strict=True):
            found["tokens"].append(piece)
            found["segments"].append(segment)
            found["spans"].append(span + words if span else 0)
        here = max(spans) if kind is ProblemType.TAGGING else 0
        asked = LABELS if kind is ProblemType.MULTILABEL else here or 1
        for place in range(asked):
            found["latents"].append(place if kind is ProblemType.MULTILABEL else 0)
            found["latent_segments"].append(segment)
            found["latent_spans"].append(words + place + 1 if kind is ProblemType.TAGGING else 0)
        words += here
    return found


@given(
    kind=st.sampled_from(list(ProblemType)),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
)
def test_a_batch_is_its_rows_with_zeros_behind_them(kind, sizes, seed):
    made = examples(kind, sum(sizes), seed)
    rows = [[made.pop() for _ in range(size)] for size in sizes]
    found = collate(rows, kind, LABELS)
    assert list(found) == list(COLUMNS)
    for number, row in enumerate(rows):
        for name, values in slow_row(row, kind).items():
            column = found[name][number].tolist()
            assert found[name].dtype == torch.long
            assert column == values + [0] * (len(column) - len(values)), name
    for name in COLUMNS:
        assert found[name].shape[1] == max(len(slow_row(row, kind)[name]) for row in rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", [None, (30, 40), (1, 1)])
def test_rows_know_their_size_and_targets_stand_in_the_order_of_the_predictions(kind, limits):
    kind = ProblemType(kind)
    made = examples(kind, 25, 5)
    data = dataset(kind, made, limits=limits)
    assert sorted(i for inside in data.rows for i in inside) == list(range(25))
    for number in range(len(data)):
        columns = slow_row(data[number], kind)
        size = len(columns["tokens"]), len(columns["latents"])
        assert tuple(data.sizes[number].tolist()) == size
        assert data.num_tokens(number) == max(size) == data.num_tokens_vec([number])[0]
    batch = data.collater([data[i] for i in (3, 0, 1)])
    inside = [made[i] for number in (3, 0, 1) for i in data.rows[number]]
    tagging = kind is ProblemType.TAGGING
    wanted = [one.labels[: int(one.spans.max())] if tagging else one.labels for one in inside]
    assert batch["target"].equal(kind.targets(wanted, LABELS))
    assert batch["nsentences"] == len(inside)
    assert batch["ntokens"] == sum(len(one.pieces) for one in inside)
    asked = batch["net_input"]["latent_segments"].ne(0).sum()
    pooled = kind is ProblemType.MULTILABEL_POOLED
    assert asked == (len(inside) if pooled else batch["target"].numel())
    told = [(one.labels.tolist(), int(one.spans.max())) for one in inside if tagging]
    assert batch["sentences"] == told


def test_rows_that_cost_what_the_labels_cost_still_stand_by_their_pieces():
    made = examples(ProblemType.MULTILABEL, 60, 11, longest=4)
    data = dataset(ProblemType.MULTILABEL, made, shuffle=True)
    np.random.seed(1)
    first, second = data.ordered_indices().tolist(), data.ordered_indices().tolist()
    assert first != second and sorted(first) == sorted(second) == list(range(60))
    sizes = [tuple(data.sizes[number]) for number in first]
    assert len({max(size) for size in sizes}) < len({size[0] for size in sizes})
    assert sizes == sorted(sizes, key=lambda size: (max(size), size[0]))
