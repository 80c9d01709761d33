"""Files that checkpoints and trainings name: kept by absolute paths, found again, refused.

Hostile checkpoints: tests/test_damaged_files.py.
"""

import os
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import saved
import tiny
from fairseq import checkpoint_utils, file_utils, tasks
from omegaconf import OmegaConf
from refusals import refuses
from saved import begin, changed, save
from tables import cases

from lev_plugins.fairseq_patches.checkpoint_files import Origin, make_absolute

LOAD = checkpoint_utils.load_model_ensemble_and_task
SPM = "sentencepiece_model"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, with ``my`` in it: data and a checkpoint."""
    monkeypatch.chdir(tmp_path)
    tiny.dictionaries(tmp_path / "my" / "bin")
    save(tmp_path / "my" / "run" / "model.pt", tmp_path / "my" / "bin", "pbd")
    return tmp_path


@pytest.mark.parametrize("named, files, read", cases("fairseq_patches/cases.tsv", "files"))
def test_a_file_is_found_beside_the_checkpoint_or_its_data(here, named, files, read):
    tiny.dictionaries(here / "data" / "bin")
    (here / "apart").mkdir()
    makers = {"f": Path.touch, "pipe": os.mkfifo, "link": lambda path: path.symlink_to(__file__)}
    for path in map(Path, files.split()):
        makers[path.name](path)
    value = named.replace("{root}", str(here))
    path, data = str(here / "my/run/model.pt"), str(here / "data/bin")
    assert Origin((path,), {SPM: value}).file(SPM, value) == value, "the user's choice"
    if read:
        assert Origin((path,)).file(SPM, value, data) == str(here / read)
    else:
        for other in (value, value.encode()):
            with refuses(f"checkpoint {path}", "--sentencepiece-model"):
                Origin((path,)).file(SPM, other, data)


@pytest.mark.parametrize("form", [lambda values: Namespace(**values), OmegaConf.create])
def test_settings_of_subwords_name_the_file_that_was_found(here, form):
    (here / "my/spm.model").touch()
    settings = form({"_name": "sentencepiece", SPM: "/gone/spm.model"})
    encoder = Origin((str(here / "my/run/model.pt"),)).encoder("bpe", settings)
    assert encoder.sentencepiece_model == str(here / "my/spm.model")
    assert encoder.bpe == "sentencepiece" and "gone" in str(settings)


# trainings ----------------------------------------------------------------------------------------


def test_a_training_keeps_its_files_by_absolute_paths(here):
    typed = {
        "bpe": {SPM: "my/spm.model"},
        "tokenizer": {"bpe_codes": "my/codes"},
        "model": {"backbone": "my/bin", "bert_dir": "my/bin", "encoder_embed_path": "gone.vec"},
        "task": {"noise_confusions": "my/codes", "data": "my/bin:gone"},
        "checkpoint": {"finetune_from_model": "my/run/model.pt"},
    }
    for name in ("spm.model", "codes"):
        (here / "my" / name).touch()
    cfg = OmegaConf.create(typed)
    cfg.task.text_bpe = cfg.bpe
    make_absolute(cfg)
    kept = OmegaConf.to_yaml(cfg)
    assert kept.count(f"{here}/my/") == kept.count("my/") == 8
    assert "data: " in kept and ":gone" in kept and ": gone.vec" in kept
    cfg.bpe.sentencepiece_model = "gone.model"
    with refuses("--sentencepiece-model gone.model does not exist"):
        make_absolute(cfg)


# checkpoints and dictionaries ---------------------------------------------------------------------


def start(name: str, path: str) -> None:
    cfg = OmegaConf.create({"dataset": {"train_subset": "train"}, "model": {"_name": "x"}})
    begin(cfg, Namespace(datasets={}), save_dir="new", **{name: path})


@pytest.mark.parametrize(
    "load, arguments, message",
    [
        (LOAD, [["my/run/model.pt", "no.pt"]], "no.pt does not exist"),
        (LOAD, [["my"]], "my contains none of"),
        (file_utils.cached_path, ["no.model"], "no.model does not exist"),
        (start, ["restore_file", "gone/checkpoint_last.pt"], "--restore-file gone/"),
        (start, ["finetune_from_model", "gone.pt"], "--finetune-from-model gone.pt"),
    ],
)
def test_what_does_not_exist_is_named(here, load, arguments, message):
    with refuses(message):
        load(*arguments)


def test_a_checkpoint_is_loaded_with_the_dictionaries_beside_it(here):
    tiny.dictionaries(here / "my" / "run")
    tiny.dictionaries(here / "data", "xyz")
    changed(here / "my/run/model.pt", here / "my/run/model.pt", "task", data="data")
    *_, task = LOAD(["my/run"])
    assert task.src_dict.symbols == tiny.dictionary().symbols
    with refuses("another source dictionary"):
        LOAD(["my/run"], {"data": "data"})  # named by the user
    os.remove(here / "my/run/dict.src.txt")
    shutil.rmtree(here / "data")
    with refuses("data/dict.src.txt"):
        LOAD(["my/run"])


def decode(path: Path, cfg: Any) -> None:
    checkpoint_utils.load_model_ensemble([str(path)], task=tasks.setup_task(cfg.task))


def resume(path: Path, cfg: Any) -> None:
    """Reads a checkpoint as a training does that resumes from it."""
    begin(cfg, tasks.setup_task(cfg.task), restore_file=str(path))


@pytest.mark.parametrize(
    "kind, read",
    [("stock", decode), ("editor", decode), ("editor", resume), ("concat", resume)],
)
def test_a_dictionary_in_another_order_is_refused(tmp_path, kind, read):
    data = tiny.dictionaries(tmp_path / "bin")
    path, cfg = save(tmp_path / "model.pt", data, kind), saved.parsed(data, kind)
    read(path, cfg)
    tiny.dictionaries(data, "abdc")
    with refuses("dictionary", "symbol 6 is 'c' there and 'd' here", data):
        read(path, cfg)
