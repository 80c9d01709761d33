"""Paths: told where they lead nowhere, kept so that they lead somewhere, found again."""

import os
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from fairseq import checkpoint_utils, file_utils, tasks
from omegaconf import OmegaConf
from refusals import refuses
from saved import KINDS, SIZES, begin, changed, configuration, save

from lev_plugins.fairseq_patches import kept_paths
from lev_plugins.fairseq_patches.trust import Origin
from lev_plugins.io.model_files import flag

LOAD = checkpoint_utils.load_model_ensemble_and_task
#: an option of each section that names a file, as it is typed from the folder above
TYPED = {
    "bpe": {"sentencepiece_model": "my/spm.model"},
    "tokenizer": {"bpe_codes": "my/codes"},
    "model": {"backbone": "my/bert", "t5_dir": "my/bert", "bert_dir": "my/bert"},
    "task": {"noise_confusions": "my/table.json"},
    "checkpoint": {"finetune_from_model": "my/first.pt"},
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with ``my`` in it: data, a checkpoint and files of all kinds."""
    monkeypatch.chdir(tmp_path)
    tiny.dictionaries(tmp_path / "my" / "bin")
    save(tmp_path / "my" / "run" / "model.pt", tmp_path / "my" / "bin", "pbd")
    for name in ("spm.model", "codes", "table.json", "first.pt", "bert/config.json"):
        (tmp_path / "my" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "my" / name).touch()
    return tmp_path


# whether they are there ---------------------------------------------------------------------------


def test_a_checkpoint_that_does_not_exist_is_said_not_to(here):
    there, gone = "my/run/model.pt", "my/run/no.pt"
    for named in ([gone], [there, gone], [gone, there]):
        with refuses(f"{gone} does not exist") as caught:
            LOAD(named)
        assert "damaged" not in str(caught.value)
    with refuses("my contains none of"):
        LOAD(["my"])


def test_a_folder_stands_for_the_checkpoint_in_it(here):
    (model,), *_ = LOAD(["my/run"])
    (same,), *_ = LOAD(["my/run/model.pt"])
    assert all(map(torch.equal, model.parameters(), same.parameters()))


@pytest.mark.parametrize("name", ["no.model", "no/no.model"])
def test_a_file_of_subwords_that_does_not_exist_can_be_told(here, name):
    with pytest.raises(FileNotFoundError) as caught:
        file_utils.cached_path(name)
    assert caught.value.filename == name
    assert file_utils.cached_path("my/spm.model") == "my/spm.model"


def test_data_that_do_not_exist_are_said_not_to(here):
    for kind in KINDS:
        words = f"gone {KINDS[kind]} --optimizer adam {SIZES} -s src -t tgt"
        with refuses("data folder gone does not exist"):
            tasks.setup_task(configuration(words.split()).task)


@pytest.mark.parametrize(
    "flags",
    [
        {"restore_file": "gone.pt"},
        {"restore_file": "gone/checkpoint_last.pt"},
        {"finetune_from_model": "gone/checkpoint_last.pt"},
        {"continue_once": "gone.pt"},
    ],
)
def test_a_training_does_not_begin_with_what_does_not_exist(here, flags):
    cfg = OmegaConf.create({"dataset": {"train_subset": "train"}, "model": {"_name": "x"}})
    ((name, path),) = flags.items()
    with refuses(f"{flag(name)} {path} does not exist"):
        begin(cfg, Namespace(datasets={}), save_dir="new", **flags)


def test_a_training_with_subwords_that_do_not_exist_does_not_begin():
    cfg = OmegaConf.create({"bpe": {"_name": "sentencepiece", "sentencepiece_model": "gone.model"}})
    with refuses("--sentencepiece-model gone.model does not exist"):
        kept_paths.require_subwords(cfg)
    for name in ("???", "https://example.org/a"):
        cfg.bpe.sentencepiece_model = name
        kept_paths.require_subwords(cfg)


# how they are kept --------------------------------------------------------------------------------


def test_a_training_keeps_its_files_from_the_root_on(here):
    typed = {**TYPED, "task": {**TYPED["task"], "data": "my/bin:gone"}}
    cfg = OmegaConf.create(typed, flags={"allow_objects": True})
    cfg.task.text_bpe = "${bpe}"
    cfg.model.encoder_embed_path = "gone.vec"  # may be no path
    kept_paths.make_absolute(cfg)
    settings: Any = OmegaConf.to_container(cfg, resolve=True)
    for section, named in TYPED.items():
        for name, value in named.items():
            assert settings[section][name] == str(here / value), name
    assert settings["task"]["text_bpe"]["sentencepiece_model"] == str(here / "my/spm.model")
    assert settings["task"]["data"] == f"{here}/my/bin:gone"
    assert settings["model"]["encoder_embed_path"] == "gone.vec"
    cfg.bpe = Namespace(bpe_codes="my/codes")  # of an old command line
    kept_paths.make_absolute(cfg)
    assert cfg.bpe.bpe_codes == str(here / "my/codes")


# where they are found again -----------------------------------------------------------------------


def origin_of(path: Path) -> Origin:
    return Origin((str(path),))


def test_what_a_checkpoint_names_is_found_under_its_last_name_where_the_folder_has_gone(here):
    named, data = here / "my" / "spm.model", here / "my" / "bin"
    asked = "sentencepiece_model", str(named), str(data)
    assert origin_of(here / "my/run/model.pt").file(*asked) == str(named)
    moved = Path(shutil.move(here / "my", here / "moved"))
    path = moved / "run" / "model.pt"
    assert origin_of(path).file(*asked) == str(moved / "spm.model"), "the whole folder has moved"
    shutil.move(moved / "spm.model", moved / "bin" / "spm.model")
    assert origin_of(path).file(*asked) == str(moved / "bin" / "spm.model"), "beside its data"
    alone = here / "alone"
    alone.mkdir()
    with refuses("--sentencepiece-model", "does not exist", str(named)) as caught:
        origin_of(alone / "model.pt").file(*asked)
    assert "trust" not in str(caught.value)
    shutil.copy(moved / "bin" / "spm.model", alone)
    assert origin_of(alone / "model.pt").file(*asked) == str(alone / "spm.model")


def test_a_name_without_a_folder_is_not_that_of_a_file_somewhere_else(here):
    (here / "spm.model").touch()  # somebody else's, in the current folder
    shutil.copy(here / "my/spm.model", here / "my/run/spm.model")
    path = origin_of(here / "my/run/model.pt").file("sentencepiece_model", "spm.model")
    assert path == str(here / "my/run/spm.model")


@pytest.mark.parametrize("form", [Namespace, dict, OmegaConf.create])
def test_settings_of_subwords_are_those_of_the_file_that_was_found(here, form):
    settings = form({"_name": "sentencepiece"}) if form is not Namespace else Namespace(bpe="x")
    path = "/gone/spm.model"
    if form is Namespace:
        settings.sentencepiece_model = path
    else:
        settings["sentencepiece_model"] = path
    encoder = origin_of(here / "my/run/model.pt").encoder("bpe", settings)
    assert encoder.sentencepiece_model == str(here / "my/spm.model")
    kept = settings.sentencepiece_model if form is Namespace else settings["sentencepiece_model"]
    assert kept == path, "what the caller has was changed"


# dictionaries -------------------------------------------------------------------------------------


def task_of(data: str, path: str, split: str = "test") -> Any:
    """The task that fairseq-generate sets up for a data folder and a model."""
    words = f"{data} {KINDS['pbd']} --optimizer adam {SIZES} -s src -t tgt"
    cfg = configuration(words.split())
    cfg.common_eval.path, cfg.dataset.gen_subset = path, split
    task = tasks.setup_task(cfg.task)
    assert task.cfg.data == cfg.task.data == data
    return task


def test_the_dictionaries_beside_a_model_are_read_unless_binarised_data_have_their_own(here):
    own, other = tiny.dictionary().symbols, tiny.dictionary("xyz").symbols
    tiny.dictionaries(here / "my" / "run")
    (here / "data").mkdir()  # of somebody else
    for name in ("my/run/model.pt", "my/run", "my/run/model.pt:my/run"):
        assert task_of("data", name).src_dict.symbols == own
    tiny.dictionaries(here / "data", "xyz")
    assert task_of("data", "my/run").tgt_dict.symbols == own
    tiny.write_indexed(here / "data" / "test.src-tgt.src", [torch.tensor([4, 2])])
    assert task_of("data", "my/run").src_dict.symbols == other
    assert task_of("data", "my/run", "valid").src_dict.symbols == own
    with refuses("another source dictionary"):
        LOAD(["my/run"], task=task_of("data", "my/run"))


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
    with refuses("data folder data does not exist"):
        LOAD(["my/run"])
