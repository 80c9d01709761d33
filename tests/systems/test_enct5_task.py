"""The task ``enct5``: what it reads, batches, counts, keeps and refuses."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.logging import metrics
from omegaconf import OmegaConf
from refusals import refuses

import lev_plugins  # noqa: F401  (registers what the task builds)
from lev_plugins.cli import enct5_prepare
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.problem_types import ProblemType

LINES = {
    "classification": ["yes\ta b", "no\tb", "no\tc c c", "yes\ta"],
    "regression": ["0.5\ta b", "0\tb", "-1.25\tc c c", "3\ta"],
    "multilabel": ["a,b\ta b", "\tb", "c\tc c c", "a\ta"],
    "tagging": ["A B\ta b", "B\tb", "C C C\tc c c", "A\ta"],
}
SIZES = {"encoder_embed_dim": 8, "encoder_ffn_embed_dim": 8, "encoder_layers": 1}
HEADS = {"encoder_attention_heads": 2, "attention_head_dim": 4}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Kind → prepared data: ten times four examples to train, and three validation sets."""
    made = {}
    for kind, lines in LINES.items():
        folder = tmp_path_factory.mktemp(kind)
        files = {"train": lines * 10, "valid": lines[:3], "valid1": lines[3:], "valid2": lines}
        for name, content in files.items():
            (folder / name).write_text("".join(f"{line}\n" for line in content))
        arguments = ["--kind", kind, "--bytes", "--destdir", str(folder / "data")]
        arguments += ["--train", str(folder / "train"), "--test", str(folder / "valid1")]
        arguments += ["--valid", ",".join(str(folder / name) for name in files if "v" in name)]
        enct5_prepare.main(arguments)
        made[kind] = folder / "data"
    return made


@pytest.fixture
def task(folders):
    """Makes the task of a kind."""

    def make(wanted: str = "multilabel", **settings) -> EncT5Task:
        plain = wanted.removesuffix("_pooled")
        given = {"data": str(folders[plain]), "kind": wanted if wanted != plain else None}
        return EncT5Task.setup_task(EncT5TaskConfig(**{**given, **settings}))

    return make


def model(task):
    return EncT5Model.build_model(EncT5Config(**SIZES, **HEADS, dropout=0.0), task)


def criterion(task):
    return task.build_criterion(OmegaConf.create({"_name": "enct5"}))


def batches(task, split="train", **options):
    data = task.dataset(split)
    given = {"max_sentences": 4, "max_positions": task.max_positions(), "seed": 3, **options}
    return task.get_batch_iterator(data, **given)


@pytest.mark.parametrize("kind", LINES)
def test_a_split_is_read_as_it_was_written(task, kind):
    made = task(kind)
    made.load_dataset("valid")
    data = made.dataset("valid")
    assert len(data) == 3
    batch = data.collater([data[i] for i in range(3)])
    expected = {
        "classification": [1, 0, 0],
        "regression": [0.5, 0.0, -1.25],
        "multilabel": [[True, True, False], [False] * 3, [False, False, True]],
        "tagging": [0, 1, 1, 2, 2, 2],
    }
    assert batch["target"].tolist() == expected[kind]
    assert (batch["nsentences"], batch["ntokens"]) == (3, 12)


def test_rows_are_packed_in_training_only(task):
    made = task("tagging", pack=True, pack_length=12)
    for split in ("train", "valid2"):
        made.load_dataset(split)
    packed, alone = made.dataset("train"), made.dataset("valid2")
    assert len(alone) == 4 and len(packed) < 40
    assert packed.sizes[:, 0].max() <= 12
    assert sorted(i for row in packed.rows for i in row) == list(range(40))
    made = task("tagging", pack=True, pack_length=12, train_subset="valid2")
    made.load_dataset("valid2")
    assert len(made.dataset("valid2")) < 4


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("multilabel", {"data": "/nowhere"}, "/nowhere/enct5.json"),
        ("multilabel", {"data": None}, "no data folder"),
        ("multilabel", {"kind": "tags"}, "--kind tags"),
        ("tagging", {"kind": "multilabel_pooled"}, "--kind multilabel_pooled"),
        ("multilabel", {"max_target_positions": 2}, "--max-target-positions 2"),
        ("multilabel", {"pack_length": 20}, "--pack-length 20"),
        ("multilabel", {"pack": True, "pack_length": 600}, "--max-source-positions 512"),
    ],
)
def test_settings_that_cannot_be_are_refused(task, kind, settings, said):
    with refuses(said):
        task(kind, **settings)
    with refuses("has no test2 data", "enct5-prepare"):
        task("tagging").load_dataset("test2")


@pytest.mark.parametrize(
    ("kind", "said", "linear"),
    [
        ("classification", "always no, the most frequent label: accuracy 50.00", "accuracy 100.00"),
        ("tagging", "always C, the most frequent label: word_accuracy 42.86", None),
        ("multilabel", "always a, the most frequent label: micro_f1 50.00", "micro_f1 100.00"),
        ("regression", None, None),
    ],
)
def test_validation_begins_with_the_figures_of_no_model_and_of_a_linear_one(
    task, caplog, kind, said, linear
):
    if linear:
        pytest.importorskip("sklearn")
    made = task(kind)
    for made.trains in (False, True):
        caplog.clear()
        with caplog.at_level("INFO"):
            made.load_dataset("valid2")
        more = linear and made.trains and f"a linear model of the subwords: {linear}"
        assert caplog.messages == [f"valid2: {line}" for line in (said, more) if line]


def test_examples_that_are_too_long_are_named(task, caplog):
    made = task("tagging")
    for split in ("train", "valid2"):
        made.load_dataset(split)
    with refuses("example 3 ", "(6, 3)", "(5, 9)"):
        batches(made, ignore_invalid_inputs=True, max_positions=(5, 9))
    with refuses("--max-target-positions"):
        batches(made, "valid2", max_positions=(9, 2))
    kept = batches(made, "valid2", max_positions=(5, 9), ignore_invalid_inputs=True).frozen_batches
    assert sorted(int(i) for batch in kept for i in batch) == [0, 1, 3]
    assert "1 examples are too long and skipped" in caplog.text


def validated(task, split, size, training=True):
    """Metrics of a set as fairseq's trainer (or fairseq-validate) counts them."""
    task.load_dataset(split)
    data, built = task.dataset(split), model(task)
    torch.manual_seed(4)
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    counts = criterion(task)
    if training:
        task.begin_valid_epoch(1, built)
    with metrics.aggregate(new_root=True) as counted:
        for at in range(0, len(data), size):
            sample = data.collater([data[i] for i in range(at, min(at + size, len(data)))])
            with metrics.aggregate("valid"), metrics.aggregate() as batch:
                *_, logged = task.valid_step(sample, built, counts)
                task.reduce_metrics([logged], counts)
                batch.get_smoothed_values()  # of this batch alone
    stats = counted.get_smoothed_values()
    return {name: value for name, value in stats.items() if name not in ("wps", "wpb", "bsz")}


@pytest.mark.parametrize("kind", [kind.value for kind in ProblemType])
def test_metrics_are_of_the_whole_set_however_it_is_cut_into_batches(task, kind):
    whole = validated(task(kind), "train", 40)
    assert set(whole) == {"loss", *task(kind).metric_names}
    for size in (3, 7):
        assert validated(task(kind), "train", size) == pytest.approx(whole, rel=1e-5)


def test_tags_that_mark_entities_are_scored_by_entity_too(task, tmp_path):
    lines = ["B-X I-X O\ta b c", "O B-Y\tc a", "I-X\tb", "B-Y\ta"]
    (tmp_path / "tags").write_text("".join(f"{line}\n" for line in lines * 5))
    files = [f"--{split}={tmp_path}/tags" for split in ("train", "valid")]
    enct5_prepare.main([*files, "--kind=tagging", "--bytes", f"--destdir={tmp_path}/data"])
    best = {"best_checkpoint_metric": "entity_f1", "maximize_best_checkpoint_metric": True}
    made = {"data": str(tmp_path / "data"), **best}
    whole = validated(task("tagging", **made), "valid", 40)
    assert set(whole) == {"loss", "word_accuracy", "entity_f1", "entity_precision", "entity_recall"}
    assert validated(task("tagging", **made), "valid", 3) == pytest.approx(whole, rel=1e-5)
    assert task("tagging").metric_names == ["word_accuracy"]  # whose tags are A, B and C


def test_in_training_nothing_is_counted_but_the_loss(task):
    made = task("multilabel")
    made.load_dataset("train")
    data, built = made.dataset("train"), model(made).train()
    counts = criterion(made)
    loss, size, logged = counts(built, data.collater([data[0], data[1]]))
    assert set(logged) == {"loss", "nsentences", "ntokens", "sample_size"}
    assert size == 6 and loss.requires_grad and not logged["loss"].requires_grad
    with metrics.aggregate(new_root=True) as counted:
        made.reduce_metrics([logged, logged], counts)
    assert not set(counted.get_smoothed_values()) & set(made.metric_names)
    bits = loss.item() / size / np.log(2)
    assert counted.get_smoothed_value("loss") == pytest.approx(bits, abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "best", "maximize"),
    [
        ("multilabel", "rp@1", False),
        ("regression", "mse", True),
        ("regression", "accuracy", True),
        ("multilabel", "threshold", True),
    ],
)
def test_a_selection_that_cannot_be_is_refused_before_training(task, kind, best, maximize):
    settings = {"best_checkpoint_metric": best, "maximize_best_checkpoint_metric": maximize}
    made, cfg = task(kind, **settings), OmegaConf.create({"_name": "enct5_tiny"})
    with refuses(f"--best-checkpoint-metric {best}: "):
        made.build_model(cfg)


def begun(task, finetuned, **changes):
    """The task after it has begun from what it would keep, with a threshold and other data."""
    state = changed({**task.state_dict(), "threshold": 0.23}, **changes)
    net = model(task)
    theirs = {name: one + 1 for name, one in net.state_dict().items()}
    whole = {"model": theirs, "task_state": state}
    task.begin_from(net, whole, "some.pt", finetuned)
    return {
        name for name, one in net.state_dict().items() if torch.equal(one, whole["model"][name])
    }


def test_a_training_takes_over_what_its_first_checkpoint_keeps(task):
    for finetuned in (False, True):
        made = task("multilabel")
        assert begun(made, finetuned) == set() and made.threshold == 0.23


def changed(state, **values):
    return {**state, "description": {**state["description"], **values}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: {}, "no description"),
        (lambda s: changed(s, labels=["a", "b", "d"]), "labels"),
        (lambda s: changed(s, pieces=[*s["description"]["pieces"], "z"]), "--subwords-of"),
        (lambda s: changed(s, kind="classification"), "kind"),
    ],
)
def test_a_checkpoint_of_other_data_is_refused(task, change, said):
    made = task("multilabel")
    with refuses(said):
        made.load_state_dict(change(made.state_dict()))
    assert made.threshold == 0.5


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("multilabel", {"labels": ["a", "c", "b"]}),
        ("multilabel", {"labels": ["a", "b"], "kind": "tagging"}),
        ("multilabel_pooled", {"labels": ["a", "b"]}),
    ],
)
def test_what_belongs_to_labels_begins_anew_where_a_model_is_fine_tuned_to_others(
    task, kind, changes
):
    made = task(kind)
    anew = begun(made, True, **changes)
    assert {name.rpartition(".")[0] for name in anew} == (
        {"head"} if kind == "multilabel_pooled" else {"head", "decoder.table"}
    )
    assert made.threshold == 0.5
    with refuses("labels" if kind == "multilabel_pooled" else ""):
        begun(task(kind), False, **changes)


def test_another_architecture_criterion_or_task_is_refused(task):
    with refuses("--arch transformer"):
        task("tagging").build_model(SimpleNamespace(_name="transformer"))
    with refuses("--criterion cross_entropy"):
        task("tagging").build_criterion(SimpleNamespace(_name="cross_entropy"))
