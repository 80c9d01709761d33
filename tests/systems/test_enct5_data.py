"""EncT5's data: a description that is whole or refused, rows that lose nothing, batches of them."""

import base64
import json
import pickle
import random
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fairseq.data import indexed_dataset
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from torch import Tensor

from lev_plugins.errors import UserError
from lev_plugins.systems.enct5.dataset import COLUMNS, EncT5Dataset, Example, collate
from lev_plugins.systems.enct5.metadata import DESCRIPTION, Metadata
from lev_plugins.systems.enct5.packing import pack
from lev_plugins.systems.enct5.problem_types import KINDS, ProblemType, bits_of, values_of
from lev_plugins.systems.enct5.tokenizer import Tokenizer

LABELS = 5
EOS = 1

# the description -------------------------------------------------------------------------------


def metadata(**changes: Any) -> Metadata:
    values = {"kind": "multilabel", "labels": ["joy", "ärger"], "pieces": Tokenizer(None).pieces}
    return Metadata(**{**values, "counts": [3, 0], "texts": 2, "max_length": 99, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"kind": "tagging", "labels": ["a", "b c", "\u2028"], "counts": [1, 2, 3], "texts": 1},
        {"kind": "regression", "labels": [], "counts": [], "low": -1.5, "high": 0.1 + 0.2},
    ],
)
def test_a_description_comes_back_as_it_was_written(tmp_path: Path, changes: dict[str, Any]):
    written = metadata(**changes)
    written.write(str(tmp_path))
    assert Metadata.read(str(tmp_path)) == written
    assert Metadata.of(asdict(written), "a checkpoint") == written
    assert Metadata.read(str(tmp_path)).tokenizer().cut("é") == Tokenizer(None).cut("é")


MISSING = object()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", MISSING),
        ("kind", "translation"),
        ("kind", ["multilabel"]),
        ("kind", None),
        ("kind", "regression"),  # which has no labels
        ("labels", MISSING),
        ("labels", "joy"),
        ("labels", [1, 2]),
        ("labels", []),
        ("labels", ["joy", "joy"]),
        ("labels", {"joy": 1}),
        ("pieces", ["<pad>", "<s>", "</s>"]),
        ("pieces", ["<pad>", "</s>", "<unk>"]),  # which lack the bytes
        ("pieces", [*Tokenizer(None).pieces, "<0x00>"]),
        ("counts", [1]),
        ("counts", [1, -1]),
        ("counts", [1, 10**30]),
        ("counts", [1.0, 2.0]),
        ("counts", [True, False]),
        ("counts", None),
        ("low", "0"),
        ("low", float("nan")),
        ("low", 2.0),
        ("high", float("inf")),
        ("high", 10**400),
        ("texts", 0),
        ("texts", 3),
        ("texts", True),
        ("max_length", 1),
        ("max_length", 12.5),
        ("max_length", 2**31),
        ("model", 7),
        ("model", "no base64!"),
        ("model", ""),
        ("model", base64.b64encode(b"no model").decode()),
        ("unknown", 1),
    ],
)
def test_a_damaged_description_is_one_line_that_names_the_file(tmp_path, field, value):
    values = asdict(metadata())
    values[field] = value
    if value is MISSING:
        del values[field]
    path = tmp_path / DESCRIPTION
    path.write_text(json.dumps(values))
    with refuses(path) as caught:
        Metadata.read(str(tmp_path))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b'{"kind": "tag', b"{}"],
    ids=range(9),
)
def test_a_file_that_is_no_description_is_one_line_that_names_it(tmp_path: Path, content: bytes):
    path = tmp_path / DESCRIPTION
    path.write_bytes(content)
    with refuses(path):
        Metadata.read(str(tmp_path))


def test_a_missing_description_tells_the_command_that_makes_one(tmp_path: Path):
    with pytest.raises(UserError, match=f"{DESCRIPTION} does not exist.*enct5-prepare"):
        Metadata.read(str(tmp_path))
    (tmp_path / DESCRIPTION).mkdir()
    with pytest.raises(UserError, match=f"{DESCRIPTION} cannot be read"):
        Metadata.read(str(tmp_path))


@given(seed=st.integers(0, 10**6), data=st.data())
def test_whatever_stands_in_a_description_is_read_or_refused(seed, data):
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=4,
    )
    values = asdict(metadata())
    field = random.Random(seed).choice(sorted(values))
    values[field] = data.draw(anything)
    try:
        found = Metadata.of(values, "here")
    except UserError as error:
        assert str(error).startswith("here: ")
    else:
        assert asdict(found) == values


# kinds -----------------------------------------------------------------------------------------


@given(values=st.lists(st.floats(allow_nan=False), max_size=5))
def test_values_survive_as_integers(values):
    bits = bits_of(values)
    assert bits.dtype == torch.int32 and len(bits) == 2 * len(values)
    for stored in (bits, bits.long(), torch.cat([bits.new_zeros(1), bits])[1:]):
        assert values_of(stored).tolist() == values


def test_targets_are_what_each_kind_predicts():
    ids = [torch.tensor([2]), torch.tensor([0])]
    assert ProblemType.CLASSIFICATION.targets(ids, 3).tolist() == [2, 0]
    assert ProblemType.TAGGING.targets([torch.tensor([1, 2]), ids[0]], 3).tolist() == [1, 2, 2]
    assert ProblemType.REGRESSION.targets([bits_of([1.5]), bits_of([-2])], 1).tolist() == [
        1.5,
        -2.0,
    ]
    some = [torch.tensor([2, 0, 2]), torch.tensor([], dtype=torch.long)]
    for kind in (ProblemType.MULTILABEL, ProblemType.MULTILABEL_POOLED):
        assert kind.targets(some, 3).tolist() == [[True, False, True], [False] * 3]


# packing ---------------------------------------------------------------------------------------


def slow_pack(sizes: Sequence[int], latents: Sequence[int], row: int, most: int) -> list[list[int]]:
    """Each example, the longest first, into the first row with room for it."""
    rows: list[list[int]] = []
    for example in sorted(range(len(sizes)), key=lambda i: (-sizes[i], -latents[i])):
        for inside in rows:
            together = [*inside, example]
            if sum(sizes[i] for i in together) <= row and sum(latents[i] for i in together) <= most:
                inside.append(example)
                break
        else:
            rows.append([example])
    return rows


@given(
    examples=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=40),
    row=st.integers(5, 16),
    most=st.integers(5, 12),
)
def test_packing_is_first_fit_by_falling_size(examples, row, most):
    sizes, latents = ([example[i] for example in examples] for i in range(2))
    rows = pack(sizes, latents, row, most)
    assert sorted(i for inside in rows for i in inside) == list(range(len(examples)))
    for inside in rows:
        fits = sum(sizes[i] for i in inside) <= row and sum(latents[i] for i in inside) <= most
        assert fits or len(inside) == 1
    assert sorted(map(sorted, rows)) == sorted(map(sorted, slow_pack(sizes, latents, row, most)))


def test_thirty_thousand_examples_are_packed_in_a_moment():
    rng = np.random.default_rng(1)
    sizes = np.clip(rng.lognormal(5.5, 1, 30_000), 2, 512).astype(int)
    latents = np.maximum(1, sizes // rng.integers(1, 6, 30_000))
    started = time.process_time()
    rows = pack(sizes.tolist(), latents.tolist(), 512, 256)
    assert time.process_time() - started < 8  # half a second where nothing else runs
    assert sum(map(len, rows)) == 30_000


def test_a_row_of_any_length_can_be_filled():
    assert pack([3, 2, 2], [1, 1, 1], 10**12, 10**12) == [[0, 1, 2]]
    assert pack([], [], 10, 10) == []
    assert pack([7, 7], [1, 1], 5, 5) == [[0], [1]]
    assert pack([1, 1], [9, 9], 5, 5) == [[0], [1]]


# rows and batches ------------------------------------------------------------------------------


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
@pytest.mark.parametrize("row", [None, 30])
def test_targets_stand_in_the_order_of_the_predictions(kind: str, row: int | None):
    made = examples(ProblemType(kind), 25, 5)
    data = dataset(ProblemType(kind), made, row=row, most=40)
    batch = data.collater([data[i] for i in (3, 0, 1)])
    inside = [made[i] for number in (3, 0, 1) for i in data.rows[number]]
    tagging = kind == "tagging"
    wanted = [one.labels[: int(one.spans.max())] if tagging else one.labels for one in inside]
    assert batch["target"].equal(ProblemType(kind).targets(wanted, LABELS))
    assert batch["nsentences"] == len(inside)
    assert batch["ntokens"] == sum(len(one.pieces) for one in inside)
    asked = batch["net_input"]["latent_segments"].ne(0).sum()
    predictions = batch["target"].numel() if kind != "multilabel_pooled" else len(inside)
    assert asked == predictions
    lost = sum(len(one.labels) - int(one.spans.max()) for one in inside) if tagging else 0
    assert batch["cut"] == lost


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", [None, 1, 20, 10**6])
def test_rows_hold_every_example_once_and_know_their_size(kind: str, row: int | None):
    made = examples(ProblemType(kind), 50, 7)
    data = dataset(ProblemType(kind), made, row=row, most=30)
    assert sorted(i for inside in data.rows for i in inside) == list(range(50))
    assert row is not None or data.rows == [[i] for i in range(50)]
    for number in range(len(data)):
        columns = slow_row(data[number], ProblemType(kind))
        size = len(columns["tokens"]), len(columns["latents"])
        assert data.size(number) == size == tuple(data.sizes[number].tolist())
        assert data.num_tokens(number) == max(size) == data.num_tokens_vec([number])[0]
        fits = row is None or (size[0] <= row and size[1] <= 30)
        assert fits or len(data.rows[number]) == 1


@pytest.mark.parametrize("row", [None, 40])
@pytest.mark.parametrize("count", [0, 1, 7, 61])
@pytest.mark.parametrize("limits", [{"max_tokens": 60}, {"max_sentences": 5}])
def test_batches_lose_no_row(row, count, limits):
    data = dataset(
        ProblemType.TAGGING, examples(ProblemType.TAGGING, count, 9), row=row, shuffle=True
    )
    batches = data.batch_by_size(data.ordered_indices(), required_batch_size_multiple=8, **limits)
    rows = [int(number) for batch in batches for number in batch]
    assert sorted(rows) == list(range(len(data)))
    for batch in batches if "max_tokens" in limits else []:
        assert max(map(data.num_tokens, batch)) * len(batch) <= 60


def test_rows_of_one_length_stand_in_an_order_that_the_seed_draws():
    made = examples(ProblemType.CLASSIFICATION, 60, 11, longest=4)
    data = dataset(ProblemType.CLASSIFICATION, made, shuffle=True)
    orders = []
    for seed in (1, 1, 2):
        np.random.seed(seed)
        orders.append(data.ordered_indices().tolist())
    assert orders[0] == orders[1] != orders[2]
    assert all(sorted(order) == list(range(60)) for order in orders)
    lengths = [data.num_tokens(i) for i in orders[2]]
    assert lengths == sorted(lengths)
    calm = dataset(ProblemType.CLASSIFICATION, made).ordered_indices().tolist()
    assert calm == sorted(range(60), key=lambda i: (data.num_tokens(i), i))


def test_rows_that_cost_what_the_labels_cost_still_stand_by_their_pieces():
    made = examples(ProblemType.MULTILABEL, 60, 11, longest=4)
    data = dataset(ProblemType.MULTILABEL, made, shuffle=True)
    sizes = [data.size(number) for number in data.ordered_indices()]
    assert len({max(size) for size in sizes}) < len({size[0] for size in sizes})
    assert sizes == sorted(sizes, key=lambda size: (max(size), size[0]))


def test_no_rows_are_an_empty_batch():
    assert (
        dataset(ProblemType.CLASSIFICATION, examples(ProblemType.CLASSIFICATION, 2, 1)).collater([])
        == {}
    )
    nothing = dataset(ProblemType.MULTILABEL, [], row=10)
    assert len(nothing) == 0 and nothing.sizes.shape == (0, 2)


def stored(folder: Path, name: str, entries: Sequence[Tensor]) -> Any:
    """fairseq's indexed data set on disk."""
    builder = indexed_dataset.MMapIndexedDatasetBuilder(f"{folder / name}.bin", dtype=np.int32)
    for one in entries:
        builder.add_item(one)
    builder.finalize(f"{folder / name}.idx")
    return indexed_dataset.MMapIndexedDataset(str(folder / name))


@pytest.mark.parametrize("kind", ["tagging", "multilabel", "regression"])
def test_readers_in_other_processes_give_the_same_batches(tmp_path: Path, kind: str):
    made = examples(ProblemType(kind), 12, 13)
    if kind == "multilabel":  # nothing can be the last thing in a file
        made[-1] = made[-1]._replace(labels=torch.zeros(0, dtype=torch.long))
    pieces = stored(tmp_path, "pieces", [one.pieces for one in made])
    labels = stored(tmp_path, "labels", [one.labels for one in made])
    spans = stored(tmp_path, "spans", [one.spans for one in made]) if kind == "tagging" else None
    data = EncT5Dataset(pieces, spans, labels, ProblemType(kind), LABELS, row=20)
    again = pickle.loads(pickle.dumps(data))
    plain = dataset(ProblemType(kind), made, row=20)
    for number in range(len(data)):
        batches = [one.collater([one[number]]) for one in (plain, data, again)]
        for batch in batches[1:]:
            assert batch["target"].equal(batches[0]["target"])
            assert batch["cut"] == batches[0]["cut"]
            for name in COLUMNS:
                assert batch["net_input"][name].equal(batches[0]["net_input"][name]), name
    loader = torch.utils.data.DataLoader(
        data, batch_size=4, num_workers=1, collate_fn=data.collater
    )
    assert sum(batch["nsentences"] for batch in loader) == 12
