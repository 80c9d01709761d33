"""The task ``enct5``: what it reads, batches, keeps and refuses."""

import sys
from types import SimpleNamespace

import pytest
from editors import ENCT5
from plain_files import put
from refusals import refuses
from tables import cases

import lev_plugins  # noqa: F401  (registers what the task builds)
from lev_plugins.cli import enct5_prepare
from lev_plugins.fairseq_patches.hooks import Start
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig

#: kind → examples, and the targets of the first three
DATA = {
    "classification": (["yes\ta b", "no\tb", "no\tc c c", "yes\ta"], [1, 0, 0]),
    "regression": (["0.5\ta b", "0\tb", "-1.25\tc c c", "3\ta"], [0.5, 0.0, -1.25]),
    "multilabel": (["a,b\ta b", "\tb", "c\tc c c", "a\ta"], [[1, 1, 0], [0, 0, 0], [0, 0, 1]]),
    "tagging": (["B-X I-X\ta b", "O\tb", "O O O\tc c c", "B-X\ta"], [0, 1, 2, 2, 2, 2]),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Kind → prepared data: four examples to train, and two validation sets."""
    folder = tmp_path_factory.mktemp("data")
    for kind, (lines, _) in DATA.items():
        for name, content in {"train": lines, "valid": lines[:3], "valid1": lines}.items():
            put(folder / name, content)
        files = f"--train {folder}/train --valid {folder}/valid,{folder}/valid1"
        enct5_prepare.main(f"--kind {kind} --bytes {files} --destdir {folder}/{kind}".split())
    return folder


@pytest.fixture
def task(folders):
    def make(wanted: str = "multilabel", **settings) -> EncT5Task:
        plain = wanted.removesuffix("_pooled")
        options = {"data": str(folders / plain), "kind": wanted if wanted != plain else None}
        return EncT5Task.setup_task(EncT5TaskConfig(**{**options, **settings}))

    return make


def model(task):
    return EncT5Model.build_model(EncT5Config(**ENCT5), task)


def read(task, split):
    """A split, and its rows."""
    task.load_dataset(split)
    data = task.dataset(split)
    return data, [data[number] for number in range(len(data))]


@pytest.mark.parametrize("kind", DATA)
def test_a_split_is_read_as_it_was_written(task, kind):
    data, rows = read(task(kind), "valid")
    batch = data.collater(rows)
    assert batch["target"].tolist() == DATA[kind][1]
    assert (batch["nsentences"], batch["ntokens"]) == (3, 12)


def test_rows_are_packed_in_training_only(task):
    packed = {"pack": True, "pack_length": 12}
    validated, trained = task("tagging", **packed), task(**packed, train_subset="valid1")
    for enct5_task, count in ((validated, 4), (trained, 2)):
        data, rows = read(enct5_task, "valid1")
        assert len(rows) == count and data.sizes[:, 0].max() <= 12


@pytest.mark.parametrize("kind, settings, message", cases("systems/cases.tsv", "enct5 settings"))
def test_settings_that_cannot_be_are_refused(task, kind, settings, message):
    with refuses(message):
        task(kind, **settings).build_model(SimpleNamespace(_name="enct5_tiny"))


def test_another_split_architecture_criterion_state_or_command_is_refused(task, monkeypatch):
    enct5_task = task()
    for message, call, argument in (
        ("test2", enct5_task.load_dataset, "test2"),
        ("--arch transformer", enct5_task.build_model, SimpleNamespace(_name="transformer")),
        ("--criterion cer", enct5_task.build_criterion, SimpleNamespace(_name="cer")),
        ("description", enct5_task.load_state_dict, {}),
    ):
        with refuses(message):
            call(argument)
    monkeypatch.setattr(sys, "argv", ["fairseq-generate"])
    with refuses("lev-predict"):
        task()


def test_examples_that_are_too_long_are_named(task, caplog):
    enct5_task = task("tagging")

    def batches(split, most, **options):
        enct5_task.load_dataset(split)
        settings = {"max_sentences": 4, "max_positions": most, "seed": 3, **options}
        return enct5_task.get_batch_iterator(enct5_task.dataset(split), **settings).frozen_batches

    with refuses("example 3 ", "(6, 3)", "(5, 9)"):
        batches("train", (5, 9), ignore_invalid_inputs=True)
    with refuses("--max-target-positions"):
        batches("valid1", (9, 2))
    kept = batches("valid1", (5, 9), ignore_invalid_inputs=True)
    assert sorted(int(i) for batch in kept for i in batch) == [0, 1, 3]
    assert "1 example too long" in caplog.text


# begun from a checkpoint ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, changes, finetuned, outcome", cases("systems/cases.tsv", "other data")
)
def test_a_checkpoint_of_other_data_resets_the_head_or_is_refused(
    task, kind, changes, finetuned, outcome
):
    """Its description has other values; the names of the parameters that the model keeps."""
    enct5_task = task(kind)
    description = {**enct5_task.state_dict()["description"], **changes}
    net = model(enct5_task)
    theirs = {name: tensor + 1 for name, tensor in net.state_dict().items()}
    state = {"model": theirs, "task_state": {"description": description, "threshold": 0.23}}
    start = Start("x.pt", state, net, finetuned)
    if isinstance(outcome, str):
        with refuses(outcome):
            enct5_task.begin_from(start)
        return
    enct5_task.begin_from(start)
    tensors = net.state_dict()
    same = [name for name, tensor in tensors.items() if tensor.equal(theirs[name])]
    assert {name.rpartition(".")[0] for name in same} == {*outcome}
    assert enct5_task.threshold == (0.5 if same else 0.23)
