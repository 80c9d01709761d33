"""The task ``enct5``: what it reads, batches, counts, keeps and refuses."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.data import indexed_dataset
from fairseq.logging import metrics
from fairseq.tasks.translation import TranslationTask
from omegaconf import OmegaConf
from refusals import refuses

import lev_plugins  # noqa: F401  (registers what the task builds)
from lev_plugins.cli import enct5_prepare
from lev_plugins.errors import UserError
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
    assert (batch["nsentences"], batch["ntokens"], batch["cut"]) == (3, 12, 0)


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


def test_a_split_without_any_label_is_read(task, folders, tmp_path):
    shutil.copytree(folders["multilabel"], tmp_path / "data")
    (tmp_path / "none").write_text("\ta b\n\tc\n")
    (tmp_path / "train").write_text("".join(f"{line}\n" for line in LINES["multilabel"]))
    arguments = ["--kind", "multilabel", "--bytes", "--destdir", str(tmp_path / "new")]
    arguments += ["--train", str(tmp_path / "train"), "--valid", str(tmp_path / "none")]
    enct5_prepare.main(arguments)
    made = task("multilabel", data=str(tmp_path / "new"))
    made.load_dataset("valid")
    data = made.dataset("valid")
    assert data.collater([data[0], data[1]])["target"].tolist() == [[False] * 3] * 2


def write(prefix, entries):
    builder = indexed_dataset.MMapIndexedDatasetBuilder(f"{prefix}.bin", np.int32)
    for one in entries:
        builder.add_item(torch.tensor(one))
    builder.finalize(f"{prefix}.idx")


@pytest.mark.parametrize(
    "spans",
    [
        [[1, 1, 2, 2], [1, 0], [1, 1, 2, 2, 3, 0], [1, 0]],  # no end
        [[2, 2, 3, 0], [1, 0], [1, 2, 2, 3, 3, 0], [1, 0]],  # no first word
        [[1, 3, 3, 0], [1, 0], [1, 2, 2, 3, 3, 0], [1, 0]],  # a word without subwords
        [[1, 2, 1, 0], [1, 0], [1, 2, 2, 3, 3, 0], [1, 0]],  # back again
        [[1, 2, 3, 0], [1, 0], [1, 2, 2, 3, 3, 0], [1, 0]],  # more words than tags
        [[1, 2, 2, 0, 1, 0], [0], [1, 2, 2, 3, 3, 0], [1, 0]],  # other lengths
        [[1, 2, 2, 0], [1, 0], [1, 2, 2, 3, 3, 0]],  # too few
    ],
)
def test_spans_that_do_not_count_the_words_are_refused(task, folders, tmp_path, spans):
    data = shutil.copytree(folders["tagging"], tmp_path / "data")
    write(data / "valid2.spans", spans)
    with pytest.raises(UserError, match=r"valid2\.spans: damaged, or of other data; prepare the"):
        task("tagging", data=str(data)).load_dataset("valid2")


def test_a_text_with_two_classes_is_refused(task, folders, tmp_path):
    data = shutil.copytree(folders["classification"], tmp_path / "data")
    write(data / "valid2.labels", [[0], [1], [0, 1], [1]])
    with pytest.raises(UserError, match=r"valid2\.labels: damaged, or of other data"):
        task("classification", data=str(data)).load_dataset("valid2")


@pytest.mark.parametrize(
    ("kind", "other", "split"),
    [
        ("classification", "multilabel", "train"),
        ("classification", "regression", "train"),
        ("regression", "classification", "train"),
        ("multilabel", "regression", "train"),
        ("multilabel", "multilabel", "valid"),
    ],
)
def test_labels_of_other_data_are_refused(task, folders, tmp_path, kind, other, split):
    data = shutil.copytree(folders[kind], tmp_path / "data")
    for end in ("idx", "bin"):
        shutil.copy(folders[other] / f"{split}.labels.{end}", data / f"train.labels.{end}")
    with pytest.raises(UserError, match=r"train\.labels: damaged, or of other data"):
        task(kind, data=str(data)).load_dataset("train")


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("multilabel", {"data": "/nowhere"}, "/nowhere/enct5.json does not exist"),
        ("multilabel", {"data": None}, "no data folder given"),
        ("multilabel", {"kind": "tags"}, "--kind tags: there are classification, regression"),
        ("multilabel", {"kind": "tagging"}, "was prepared for multilabel"),
        ("tagging", {"kind": "multilabel_pooled"}, "was prepared for tagging"),
        ("multilabel", {"max_target_positions": 2}, "3 labels are more than --max-target-posi"),
        ("multilabel", {"pack_length": 20}, "--pack-length 20: give it with --pack"),
        ("multilabel", {"pack": True, "pack_length": -1}, "--pack-length -1: give a number from"),
        ("multilabel", {"pack": True, "pack_length": 600}, "from 1 to --max-source-positions 512"),
    ],
)
def test_settings_that_cannot_be_are_refused(task, kind, settings, said):
    with refuses(said):
        task(kind, **settings)


def test_one_data_folder_serves_both_kinds_of_several_labels(task):
    assert task("multilabel").kind is ProblemType.MULTILABEL
    assert task("multilabel_pooled", max_target_positions=2).kind is ProblemType.MULTILABEL_POOLED


def test_a_split_that_there_is_not_is_named_with_the_way_out(task, folders):
    with refuses(f"{folders['tagging']} has no test2 data (test2.pieces.idx is missing)"):
        task("tagging").load_dataset("test2")


# batches --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:'pin_memory' argument:UserWarning")
@pytest.mark.parametrize("settings", [{}, {"pack": True, "pack_length": 12}])
def test_batches_do_not_depend_on_the_epoch_in_which_a_training_is_taken_up(task, settings):
    found = []
    for epoch in (1, 3):
        made = task("tagging", **settings)
        made.load_dataset("train")
        iterator = batches(made, epoch=epoch)
        assert iterator.epoch == epoch
        found.append([list(map(int, batch)) for batch in iterator.frozen_batches])
        for _ in iterator.next_epoch_itr():
            pass
        again = batches(made, epoch=epoch + 1)
        assert again is iterator and again.next_epoch_idx == epoch + 1
    assert found[0] == found[1]
    made.load_dataset("train")
    anew = batches(made, epoch=3, update_epoch_batch_itr=True).frozen_batches
    assert [list(map(int, batch)) for batch in anew] != found[0]


def test_no_example_is_lost_whatever_the_multiple_of_batches(task):
    made = task("regression")
    made.load_dataset("train")
    frozen = batches(made, max_sentences=9, required_batch_size_multiple=8).frozen_batches
    assert sorted(int(i) for batch in frozen for i in batch) == list(range(40))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_tokens": 5}, "train: 10 examples are too long (3, 7, 11, 15"),
        (
            {"max_positions": (5, 9)},
            "number 3 has 6 subwords and 3 decoder positions where 5 and 9",
        ),
        ({"max_positions": (9, 2)}, "raise --max-source-positions, --max-target-positions or"),
    ],
)
def test_examples_that_are_too_long_are_named(task, options, said):
    made = task("tagging")
    made.load_dataset("train")
    with refuses(said):
        batches(made, ignore_invalid_inputs=True, **options)


@pytest.mark.parametrize(
    ("kind", "limit", "way"),
    [
        ("tagging", 11, "give --pack-length 11"),
        ("multilabel", 11, "give --pack-length 11"),
        ("multilabel", 14, "give --max-target-positions 14"),
    ],
)
def test_packed_rows_above_the_tokens_of_a_batch_are_refused_with_the_way_out(
    task, kind, limit, way
):
    settings = {"pack": True, "pack_length": 14, "max_target_positions": 40}
    made = task(kind, **settings)
    made.load_dataset("train")
    with pytest.raises(UserError, match="train: a packed row has") as caught:
        batches(made, max_tokens=limit)
    assert way in str(caught.value)
    for flag, value in re.findall(r"--(\S+) (\d+)", str(caught.value).partition("give")[2]):
        settings[flag.replace("-", "_")] = int(value)
    made = task(kind, **settings)
    made.load_dataset("train")
    try:
        assert len(batches(made, max_tokens=limit)) > 0
    except UserError as error:  # the subwords fit; now the other limit is told
        assert "--max-target-positions 11" in str(error) and "--pack-length" not in str(error)


def test_in_validation_long_examples_are_skipped_only_where_that_is_asked_for(task, caplog):
    made = task("tagging")
    made.load_dataset("valid2")
    with pytest.raises(UserError, match="valid2: 1 examples are too long"):
        batches(made, "valid2", max_tokens=5)
    kept = batches(made, "valid2", max_tokens=5, ignore_invalid_inputs=True).frozen_batches
    assert sorted(int(i) for batch in kept for i in batch) == [0, 1, 3]
    assert "valid2: 1 examples are too long and skipped: 3" in caplog.text


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


def test_logging_outputs_are_numbers_with_the_same_names_in_every_batch(task):
    for kind in ProblemType:
        made = task(kind.value)
        made.load_dataset("valid2")
        data, built = made.dataset("valid2"), model(made).eval()
        counts = criterion(made)
        logs = [made.valid_step(data.collater([data[i]]), built, counts)[2] for i in (0, 1, 2)]
        assert list(logs[0]) == list(logs[1]) == list(logs[2])
        numbers = [value for log in logs for value in log.values()]
        assert all(isinstance(x, (int, float)) or x.numel() == 1 for x in numbers)
    assert EncT5Criterion.logging_outputs_can_be_summed()


def test_words_that_were_cut_off_are_errors(task, tmp_path):
    (tmp_path / "tags").write_text("A B\ta b\nB\tb\nC C C\tc c c\n")
    files = [f"--{split}={tmp_path}/tags" for split in ("train", "valid")]
    arguments = ["--kind=tagging", "--bytes", "--max-length=4", f"--destdir={tmp_path}/data"]
    enct5_prepare.main([*files, *arguments])
    made = task("tagging", data=str(tmp_path / "data"))
    made.load_dataset("valid")
    data = made.dataset("valid")
    counts, sample = criterion(made), data.collater([data[i] for i in range(3)])
    assert (sample["cut"], len(sample["target"])) == (1, 5)

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


def test_a_batch_alone_does_not_change_the_threshold(task):
    made = task("multilabel")
    validated(made, "train", 3)
    assert made.threshold == 0.5


def test_values_have_no_threshold_to_keep(task):
    made = task("regression")
    made.begin_valid_epoch(1, None)
    made.post_validate(None, {"mse": 1.0}, None)
    assert made.threshold == 0.5


# selection ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "best", "maximize", "said"),
    [
        ("multilabel", "rp@1", False, "higher is better; give --maximize-best-checkpoint-metric"),
        ("multilabel", "few_ndcg@5", False, "higher is better"),
        ("regression", "mse", True, "lower is better; leave --maximize-best-checkpoint-metric"),
        ("regression", "loss", True, "lower is better"),
        ("regression", "accuracy", True, "validation of regression gives loss, pearson, spearman,"),
        ("classification", "micro_f1", True, "gives loss, accuracy, macro_f1, mcc, f1"),
        ("multilabel", "threshold", True, "gives loss, micro_f1, micro_f1_tuned, rp@1"),
        ("multilabel", "zero_rp@1", True, "gives loss, micro_f1"),
    ],
)
def test_a_selection_that_cannot_be_is_refused_before_training(task, kind, best, maximize, said):
    settings = {"best_checkpoint_metric": best, "maximize_best_checkpoint_metric": maximize}
    made = task(kind, **settings)
    made.trains = True
    with refuses(said) as caught:
        criterion(made)
    assert str(caught.value).startswith(f"--best-checkpoint-metric {best}: ")
    made.trains = False  # fairseq-validate
    criterion(made)


@pytest.mark.parametrize("kind", [kind.value for kind in ProblemType])
def test_every_metric_but_the_threshold_can_select(task, kind):
    for name in ("loss", *task(kind).metric_names):
        maximize = name not in ("loss", "mse")
        settings = {"best_checkpoint_metric": name, "maximize_best_checkpoint_metric": maximize}
        made = task(kind, **settings)
        made.trains = True
        if name == "threshold":
            with pytest.raises(UserError):
                criterion(made)
        else:
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
        (lambda s: None, "holds no description"),
        (lambda s: [1], "holds no description"),
        (lambda s: {}, "holds no description"),
        (lambda s: {**s, "description": "x"}, "holds no description"),
        (lambda s: {**s, "description": {1: 2}}, "not a description"),
        (lambda s: changed(s, labels=["a", "b", "d"]), "(number 2 is 'c', there 'd')"),
        (lambda s: changed(s, labels=["a", "b", "c", "d"], counts=[]), "is missing, there 'd')"),
        (lambda s: changed(s, pieces=[*s["description"]["pieces"], "z"]), "its subwords are not"),
        (lambda s: changed(s, kind="classification"), "and the checkpoint is of classification"),
        (lambda s: {**s, "threshold": "0.5"}, "threshold is '0.5'"),
        (lambda s: {**s, "threshold": float("nan")}, "threshold is nan"),
        (lambda s: {**s, "threshold": 1.5}, "threshold is 1.5"),
        (lambda s: {**s, "threshold": torch.zeros(3)}, "threshold is tensor("),
    ],
)
def test_a_checkpoint_of_other_data_or_a_hostile_one_is_refused(task, change, said):
    made = task("multilabel")
    with refuses(said):
        made.load_state_dict(change(made.state_dict()))
    assert made.threshold == 0.5


def test_a_checkpoint_that_cannot_be_read_is_left_to_fairseq(task, tmp_path):
    (tmp_path / "half.pt").write_bytes(b"PK\x03\x04 nothing")
    made = task("multilabel", finetune_from_model=str(tmp_path / "half.pt"))
    assert made.restore_task_state() == () and made.threshold == 0.5


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
    path = tmp_path / "some.pt"
    torch.save({"model": {}, "task_state": task("multilabel").state_dict()}, path)
    made = task("multilabel", kind="multilabel_pooled", restore_file=str(path))
    with refuses(
        "--kind multilabel_pooled: the checkpoint was trained with --kind multilabel; give"
    ):
        made.restore_task_state()


# what does not go together --------------------------------------------------------------------


def test_another_architecture_is_refused(task):
    for name in ("transformer", "levenshtein_editor_char"):
        with pytest.raises(UserError, match=f"--arch {name} is no EncT5; --task enct5 goes with"):
            task("tagging").build_model(SimpleNamespace(_name=name))


def test_another_criterion_is_refused(task):
    with pytest.raises(UserError, match="--criterion cross_entropy: --task enct5 goes with --crit"):
        task("tagging").build_criterion(SimpleNamespace(_name="cross_entropy"))


def test_the_criterion_refuses_another_task():
    other = TranslationTask.__new__(TranslationTask)
    other.cfg, other.tgt_dict = SimpleNamespace(_name="translation"), None
    with pytest.raises(UserError, match="--criterion enct5 is for --task enct5, not for --task tr"):
        EncT5Criterion(other)


def test_nothing_is_generated(task):
    with pytest.raises(UserError, match="EncT5 writes no text"):
        task("tagging").build_generator([], None)
