"""The task ``enct5``: what it reads, batches, counts, keeps and refuses."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.logging import metrics
from fairseq.tasks.translation import TranslationTask
from omegaconf import OmegaConf
from refusals import refuses

import lev_plugins  # noqa: F401  (registers what the task builds)
from lev_plugins.cli import enct5_prepare
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.criterion import EncT5Criterion
from lev_plugins.systems.enct5.metrics import ENTITY_METRICS
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


# data -----------------------------------------------------------------------------------------


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


def test_validation_sets_can_be_combined(task):
    made = task("tagging")
    made.load_dataset("valid", combine=True)
    data = made.dataset("valid")
    assert len(data) == 8
    words = [one.labels.tolist() for row in range(8) for one in data[row]]
    assert words == [[0, 1], [1], [2, 2, 2], [0], [0, 1], [1], [2, 2, 2], [0]]


def test_a_split_without_any_label_is_read(task, tmp_path):
    (tmp_path / "train").write_text("a\tx\n")
    (tmp_path / "none").write_text("\ta b\n\tc\n")
    flags = f"--train {tmp_path}/train --valid {tmp_path}/none --destdir {tmp_path}/new"
    enct5_prepare.main([*flags.split(), "--kind", "multilabel", "--bytes"])
    made = task("multilabel", data=str(tmp_path / "new"))
    made.load_dataset("valid")
    data = made.dataset("valid")
    assert data.collater([data[0], data[1]])["target"].tolist() == [[False]] * 2


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("multilabel", {"data": "/nowhere"}, "/nowhere/enct5.json"),
        ("multilabel", {"data": None}, "no data folder"),
        ("multilabel", {"kind": "tags"}, "--kind tags"),
        ("tagging", {"kind": "multilabel_pooled"}, "--kind multilabel_pooled"),
        ("multilabel", {"max_target_positions": 2}, "--max-target-positions 2"),
        ("multilabel", {"pack_length": 20}, "--pack-length 20"),
        ("multilabel", {"pack": True, "pack_length": -1}, "--pack-length -1"),
        ("multilabel", {"pack": True, "pack_length": 600}, "--max-source-positions 512"),
    ],
)
def test_settings_that_cannot_be_are_refused(task, kind, settings, said):
    with refuses(said):
        task(kind, **settings)


def test_a_split_that_there_is_not_is_named_with_the_way_out(task, folders):
    with refuses(f"{folders['tagging']} has no test2 data", "enct5-prepare"):
        task("tagging").load_dataset("test2")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("classification", "valid2: always no, the most frequent label: accuracy 50.00"),
        ("tagging", "valid2: always C, the most frequent label: word_accuracy 42.86"),
        ("multilabel", "valid2: always a, the most frequent label: micro_f1 50.00"),
    ],
)
def test_validation_begins_with_the_figure_of_the_most_frequent_label(task, caplog, kind, said):
    with caplog.at_level("INFO"):
        task(kind).load_dataset("valid2")
        task("regression").load_dataset("valid2")
    assert [line for line in caplog.messages if "most frequent" in line] == [said]


# batches --------------------------------------------------------------------------------------


def test_examples_that_are_too_long_are_named(task, caplog):
    made = task("tagging")
    for split in ("train", "valid2"):
        made.load_dataset(split)
    with refuses("train", " 3, 7, 11, 15", "6 subwords and 3 decoder positions", "5 and 9"):
        batches(made, ignore_invalid_inputs=True, max_positions=(5, 9))
    with refuses("--max-target-positions"):
        batches(made, ignore_invalid_inputs=True, max_positions=(9, 2))
    with refuses("valid2", "examples 3"):
        batches(made, "valid2", max_positions=(5, 9))
    kept = batches(made, "valid2", max_positions=(5, 9), ignore_invalid_inputs=True).frozen_batches
    assert sorted(int(i) for batch in kept for i in batch) == [0, 1, 3]
    assert "valid2: too long are examples 3; 1 are skipped" in caplog.text
    packed = task("tagging", pack=True, pack_length=14)
    packed.load_dataset("train")
    with refuses("train", "lower --pack-length"):
        batches(packed, max_positions=(11, 99), ignore_invalid_inputs=True)


# metrics --------------------------------------------------------------------------------------


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
    assert set(whole) == {"loss", "word_accuracy", *ENTITY_METRICS}
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


def test_words_that_were_cut_off_are_errors(task, tmp_path):
    (tmp_path / "tags").write_text("A B\ta b\nB\tb\nC C C\tc c c\n")
    files = [f"--{split}={tmp_path}/tags" for split in ("train", "valid")]
    arguments = ["--kind=tagging", "--bytes", "--max-length=4", f"--destdir={tmp_path}/data"]
    enct5_prepare.main([*files, *arguments])
    made = task("tagging", data=str(tmp_path / "data"))
    made.load_dataset("valid")
    data = made.dataset("valid")
    counts, sample = criterion(made), data.collater([data[i] for i in range(3)])
    assert len(sample["target"]) == 5

    class Perfect(torch.nn.Module):
        def forward(self, **_):
            return torch.nn.functional.one_hot(sample["target"], 3).float()

    *_, logged = counts(Perfect().eval(), sample)
    with metrics.aggregate(new_root=True) as counted:
        made.reduce_metrics([logged], counts)
    assert counted.get_smoothed_value("word_accuracy") == pytest.approx(100 * 5 / 6, rel=1e-5)


def test_the_threshold_kept_is_that_of_the_first_set_validated(task):
    made = task("multilabel")
    assert made.threshold == 0.5
    for first, second in ((0.31, 0.62), (0.17, 0.9)):
        made.begin_valid_epoch(1, None)
        made.post_validate(None, {"threshold": first, "loss": 1.0}, None)
        made.post_validate(None, {"threshold": second, "loss": 1.0}, None)
        assert made.threshold == made.state_dict()["threshold"] == first


def test_a_set_that_nothing_is_selected_by_is_scored_with_the_threshold_kept(task):
    best = validated(task("multilabel"), "train", 7)
    made = task("multilabel")
    made.state.merge_state_dict({"threshold": 0.97})
    told = validated(made, "train", 7, training=False)
    assert best["threshold"] != told["threshold"] == made.threshold == 0.97
    assert told["micro_f1_tuned"] < best["micro_f1_tuned"]
    assert told["micro_f1"] == best["micro_f1"]


# selection ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "best", "maximize"),
    [
        ("multilabel", "rp@1", False),
        ("regression", "mse", True),
        ("regression", "loss", True),
        ("regression", "accuracy", True),
        ("multilabel", "threshold", True),
        ("multilabel", "zero_rp@1", True),
    ],
)
def test_a_selection_that_cannot_be_is_refused_before_training(task, kind, best, maximize):
    settings = {"best_checkpoint_metric": best, "maximize_best_checkpoint_metric": maximize}
    made = task(kind, **settings)
    made.trains = True
    with refuses(f"--best-checkpoint-metric {best}: "):
        criterion(made)
    made.trains = False  # fairseq-validate
    criterion(made)


# checkpoints ----------------------------------------------------------------------------------


def saved(task, path: Path) -> Path:
    torch.save({"model": {}, "task_state": task.state_dict()}, path)
    return path


@pytest.mark.parametrize("flag", ["restore_file", "continue_once", "finetune_from_model"])
def test_a_training_takes_over_what_its_first_checkpoint_keeps(task, tmp_path, flag):
    first = task("multilabel")
    first.begin_valid_epoch(1, None)
    first.post_validate(None, {"threshold": 0.23}, None)
    path = saved(first, tmp_path / "some.pt")
    made = task("multilabel", **{flag: str(path)})
    assert made.restore_task_state() == () and made.threshold == 0.23


def test_a_training_that_is_taken_up_looks_into_its_own_folder(task, tmp_path):
    first = task("multilabel")
    first.begin_valid_epoch(1, None)
    first.post_validate(None, {"threshold": 0.23}, None)
    saved(first, tmp_path / "checkpoint_last.pt")
    other = saved(task("multilabel"), tmp_path / "other.pt")
    made = task(
        "multilabel",
        save_dir=str(tmp_path),
        restore_file="checkpoint_last.pt",
        finetune_from_model=str(other),
    )
    assert made.restore_task_state() == () and made.threshold == 0.23


def changed(state, **values):
    return {**state, "description": {**state["description"], **values}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: {}, "no description"),
        (lambda s: {**s, "description": {"a": 2}}, "not a description"),
        (lambda s: changed(s, labels=["a", "b", "d"]), "labels"),
        (lambda s: changed(s, labels=["a", "b", "c", "d"], counts=[]), "labels"),
        (lambda s: changed(s, pieces=[*s["description"]["pieces"], "z"]), "--subwords-of"),
        (lambda s: changed(s, kind="classification"), "kind"),
    ],
)
def test_a_checkpoint_of_other_data_is_refused(task, change, said):
    made = task("multilabel")
    with refuses(said):
        made.load_state_dict(change(made.state_dict()))
    assert made.threshold == 0.5


def test_a_checkpoint_that_cannot_be_read_is_named(task, tmp_path):
    (tmp_path / "half.pt").write_bytes(b"PK\x03\x04 nothing")
    with refuses(tmp_path / "half.pt"):
        task("multilabel", finetune_from_model=str(tmp_path / "half.pt")).restore_task_state()


@pytest.mark.parametrize(
    ("labels", "kind", "trained", "now", "anew"),
    [
        (["a", "b", "c"], "multilabel", None, None, ()),
        (["a", "c", "b"], "multilabel", None, None, ("head.", "decoder.table.")),
        (["a", "b"], "tagging", None, None, ("head.", "decoder.table.")),
        (["a", "b", "c"], "multilabel", None, "multilabel_pooled", ("head.", "decoder.table.")),
        (["a", "b", "c"], "multilabel", "multilabel_pooled", None, ("head.", "decoder.table.")),
        (["a", "b"], "multilabel", "multilabel_pooled", "multilabel_pooled", ("head.",)),
    ],
)
def test_what_belongs_to_labels_begins_anew_where_a_model_is_fine_tuned_to_others(
    task, tmp_path, labels, kind, trained, now, anew
):
    stored = changed(task("multilabel").state_dict(), labels=labels, kind=kind, counts=[])
    path = tmp_path / "some.pt"
    cfg = {"task": {"kind": trained}}
    torch.save({"model": {}, "cfg": cfg, "task_state": {**stored, "threshold": 0.23}}, path)
    made = task("multilabel", kind=now, finetune_from_model=str(path))
    assert made.restore_task_state() == anew and made.threshold == (0.5 if anew else 0.23)


def test_a_training_is_not_resumed_as_another_kind(task, tmp_path):
    path = saved(task("multilabel"), tmp_path / "some.pt")
    made = task("multilabel", kind="multilabel_pooled", restore_file=str(path))
    with refuses("--kind multilabel_pooled"):
        made.restore_task_state()


# what does not go together --------------------------------------------------------------------


def test_another_architecture_criterion_or_task_is_refused(task):
    with refuses("--arch transformer"):
        task("tagging").build_model(SimpleNamespace(_name="transformer"))
    with refuses("--criterion cross_entropy"):
        task("tagging").build_criterion(SimpleNamespace(_name="cross_entropy"))
    other = TranslationTask.__new__(TranslationTask)
    other.cfg, other.tgt_dict = SimpleNamespace(_name="translation"), None
    with refuses("--criterion enct5", "--task translation"):
        EncT5Criterion(other)
