"""Files that checkpoints and trainings name: kept by absolute paths, found again, refused.

Hostile checkpoints: tests/commands/test_hostile_checkpoints.py.
"""

import os
import shutil
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import saved
import tiny
from fairseq import checkpoint_utils, file_utils, tasks
from omegaconf import OmegaConf
from refusals import refuses
from saved import begin, changed, save

from lev_plugins.fairseq_patches.checkpoint_files import Origin, flag, make_absolute

LOAD = checkpoint_utils.load_model_ensemble_and_task
SPM = "sentencepiece_model"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with ``my`` in it: data and a checkpoint."""
    monkeypatch.chdir(tmp_path)
    tiny.dictionaries(tmp_path / "my" / "bin")
    save(tmp_path / "my" / "run" / "model.pt", tmp_path / "my" / "bin", "pbd")
    return tmp_path


def make(place: Path, kind: str = "file") -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(__file__)
    else:
        place.touch()


@pytest.mark.parametrize(
    ("named", "files", "read"),
    [
        ("{root}/my/run/f", {"my/run/f": "file"}, "my/run/f"),
        ("{root}/my/f", {"my/f": "file"}, "my/f"),
        ("{root}/data/bin/f", {"data/bin/f": "file"}, "data/bin/f"),
        ("{root}/data/f", {"data/f": "file"}, "data/f"),
        ("{root}/apart/f", {"apart/f": "file"}, None),
        ("/gone/f", {"my/run/f": "file", "my/f": "file"}, "my/run/f"),
        ("/gone/f", {"data/f": "file"}, "data/f"),
        ("f", {"f": "file", "my/run/f": "file"}, "my/run/f"),
        ("f", {"f": "file"}, None),  # somebody else's, in the current folder
        ("my/run/f", {"my/run/f": "link"}, None),
        ("my/run/f", {"my/run/f": "pipe"}, None),
        ("/gone/f", {}, None),
        ("https://example.org/f", {"my/run/f": "file"}, None),
        ("${x}", {"my/run/f": "file"}, None),
        (b"my/run/f", {"my/run/f": "file"}, None),
    ],
)
def test_a_file_is_found_beside_the_checkpoint_or_its_data(here, named, files, read):
    tiny.dictionaries(here / "data" / "bin")
    for place, kind in files.items():
        make(here / place, kind)
    value = named.replace("{root}", str(here)) if isinstance(named, str) else named
    path, data = str(here / "my/run/model.pt"), str(here / "data/bin")
    assert Origin((path,), {SPM: value}).file(SPM, value) == value, "the user's choice"
    if read:
        assert Origin((path,)).file(SPM, value, data) == str(here / read)
    else:
        with refuses(f"checkpoint {path}", "--sentencepiece-model"):
            Origin((path,)).file(SPM, value, data)


@pytest.mark.parametrize("form", [lambda values: Namespace(**values), OmegaConf.create])
def test_settings_of_subwords_name_the_file_that_was_found(here, form):
    make(here / "my/spm.model")
    settings = form({"_name": "sentencepiece", SPM: "/gone/spm.model"})
    encoder = Origin((str(here / "my/run/model.pt"),)).encoder("bpe", settings)
    assert encoder.sentencepiece_model == str(here / "my/spm.model")
    assert encoder.bpe == "sentencepiece" and "gone" in str(settings)


# trainings ----------------------------------------------------------------------------------------


def test_a_training_keeps_its_files_by_absolute_paths(here):
    typed: dict[str, dict[str, Any]] = {
        "bpe": {SPM: "my/spm.model"},
        "tokenizer": {"bpe_codes": "my/codes"},
        "model": {"backbone": "my/bin", "bert_dir": "my/bin", "encoder_embed_path": "gone.vec"},
        "task": {"noise_confusions": "my/codes", "data": "my/bin:gone"},
        "checkpoint": {"finetune_from_model": "my/run/model.pt"},
    }
    for name in ("spm.model", "codes"):
        make(here / "my" / name)
    cfg = OmegaConf.create({**typed, "task": {**typed["task"], "text_bpe": "${bpe}"}})
    make_absolute(cfg)
    settings: Any = OmegaConf.to_container(cfg, resolve=True)
    kept = {**typed, "task": {**typed["task"], "text_bpe": typed["bpe"]}}
    assert settings == eval(repr(kept).replace("'my/", f"'{here}/my/"))
    cfg.bpe.sentencepiece_model = "gone.model"
    with refuses("--sentencepiece-model gone.model does not exist"):
        make_absolute(cfg)


@pytest.mark.parametrize(
    "option", ["restore_file", "restore_file/checkpoint_last.pt", "finetune_from_model"]
)
def test_a_training_does_not_begin_with_what_does_not_exist(here, option):
    cfg = OmegaConf.create({"dataset": {"train_subset": "train"}, "model": {"_name": "x"}})
    name, _, rest = option.partition("/")
    with refuses(f"{flag(name)} gone/{rest} does not exist"):
        begin(cfg, Namespace(datasets={}), save_dir="new", **{name: f"gone/{rest}"})


# checkpoints and dictionaries ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (lambda: LOAD(["my/run/model.pt", "my/run/no.pt"]), "my/run/no.pt does not exist"),
        (lambda: LOAD(["my"]), "my contains none of"),
        (lambda: file_utils.cached_path("no/no.model"), "no/no.model does not exist"),
    ],
)
def test_what_does_not_exist_is_named(here, load, message):
    with refuses(message):
        load()


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


def decode(path: Path, cfg: Any) -> Any:
    return checkpoint_utils.load_model_ensemble([str(path)], task=tasks.setup_task(cfg.task))


def resume(path: Path, cfg: Any) -> Any:
    """Reads a checkpoint as a training does that resumes from it."""
    return begin(cfg, tasks.setup_task(cfg.task), restore_file=str(path))


@pytest.mark.parametrize("read", [decode, resume])
@pytest.mark.parametrize("kind", ["stock", "editor", "concat"])
def test_a_dictionary_in_another_order_is_refused(
    tmp_path: Path, kind: str, read: Callable[[Path, Any], Any]
):
    data = tiny.dictionaries(tmp_path / "bin")
    path, cfg = save(tmp_path / "model.pt", data, kind), saved.parsed(data, kind)
    read(path, cfg)
    for side in ("src", "tgt"):
        lines = (data / f"dict.{side}.txt").read_text().splitlines()
        lines[2:4] = lines[3], lines[2]
        (data / f"dict.{side}.txt").write_text("".join(f"{line}\n" for line in lines))
    with refuses("dictionary", "symbol 6 is 'c' there and 'd' here", data):
        read(path, cfg)
