"""EncT5's prepared data and checkpoints, damaged at random: used, or refused in one line."""

import random
import resource
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from lev_plugins import EncT5
from lev_plugins.cli import enct5_prepare
from lev_plugins.errors import UserError
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig

LINES = {
    "classification": ["yes\ta b", "no\tb", "no\tc c c", "yes\ta"],
    "regression": ["0.5\ta b", "0\tb", "-1.25\tc c c", "3\ta"],
    "multilabel": ["a,b\ta b", "\tb", "c\tc c c", "a\ta"],
    "tagging": ["A B\ta b", "B\tb", "C C C\tc c c", "A\ta"],
}
SIZES = {"encoder_embed_dim": 8, "encoder_ffn_embed_dim": 8, "encoder_layers": 1}
HEADS = {"encoder_attention_heads": 2, "attention_head_dim": 4}
MEMORY, HUGE = 512, 10**9  # MiB; a number that nothing here has
VALUES = (HUGE, 2**70, 0, -1, 1.5, "x", None, [], {}, [[]])


def prepared(folder: Path, kind: str) -> Path:
    (folder / "train").write_text("".join(f"{line}\n" for line in LINES[kind]))
    data = folder / "data"
    flags = f"--kind {kind} --bytes --destdir {data} --train {folder}/train"
    enct5_prepare.main(flags.split())
    return data


@pytest.fixture(params=LINES)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return prepared(tmp_path, request.param)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that nobody trained, as fairseq saves it."""
    folder = tmp_path_factory.mktemp("tagging")
    cfg = EncT5TaskConfig(data=str(prepared(folder, "tagging")))
    task = EncT5Task.setup_task(cfg)
    model_cfg = EncT5Config(**SIZES, **HEADS)
    model = EncT5Model.build_model(model_cfg, task)
    plain = [
        OmegaConf.to_container(OmegaConf.structured(one), enum_to_str=True)
        for one in (cfg, model_cfg)
    ]
    told = {name: value for name, value in plain[0].items() if "${" not in str(value)}
    state = {
        "args": None,
        "cfg": {"task": {**told, "_name": "enct5"}, "model": {**plain[1], "_name": "enct5"}},
        "model": model.state_dict(),
        "task_state": task.state_dict(),
        "extra_state": {"train_iterator": {"epoch": 1}},
        "optimizer_history": [{"optimizer_name": "a", "lr_scheduler_state": {}, "num_updates": 1}],
        "last_optimizer_state": None,
    }
    torch.save(state, folder / "model.pt")
    return folder / "model.pt"


def outcome(call: Callable[[], Any], path: Path) -> str:
    """``done``, or what was said of the path; within some memory either way."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        call()
        said = "done"
    except UserError as error:
        said = str(error)
        named = (str(path), "--", "the checkpoint")  # a setting is named by its option
        assert any(one in said for one in named) and "\n" not in said, said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY * 1024
    return said


def files(data: Path) -> list[Path]:
    """What a training reads; ``labels.txt`` is for people."""
    return sorted(one for one in data.iterdir() if one.stat().st_size and one.suffix != ".txt")


def read(data: Path) -> None:
    """Every example of the training set in one batch."""
    task = EncT5Task.setup_task(EncT5TaskConfig(data=str(data)))
    task.load_dataset("train")
    found = task.datasets["train"]
    found.collater([found[i] for i in range(len(found))])


def test_every_flipped_bit_of_prepared_data_is_noticed_or_other_data(data):
    rng, found = random.Random(3), Counter[bool]()
    assert outcome(lambda: read(data), data) == "done"
    for path in files(data):
        whole = path.read_bytes()
        for _ in range(60):
            bad = bytearray(whole)
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
            path.write_bytes(bad)
            said = outcome(lambda: read(data), data)
            assert path.suffix != ".idx" or said != "done"
            found[said == "done"] += 1
        for _ in range(6):
            path.write_bytes(whole[: rng.randrange(len(whole))])
            assert outcome(lambda: read(data), data) != "done"
        path.write_bytes(whole)
    assert found[False] > 100


def predict(path: Path) -> None:
    assert len(EncT5.from_pretrained(str(path)).predict_tags(["a b", "", "c"])) == 3


def test_a_whole_checkpoint_predicts(checkpoint):
    assert outcome(lambda: predict(checkpoint), checkpoint) == "done"


def test_a_damaged_checkpoint_is_refused_or_predicts(checkpoint, tmp_path):
    whole, path = checkpoint.read_bytes(), tmp_path / "bad.pt"
    rng, found = random.Random(4), Counter[bool]()
    for turn in range(100):
        bad = bytearray(whole)
        if turn % 4 == 0:
            del bad[rng.randrange(len(bad)) :]
        else:
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        found[outcome(lambda: predict(path), path) == "done"] += 1
    assert found[False] > 30


def test_a_garbled_pickle_with_a_right_checksum_is_refused_or_predicts(checkpoint, tmp_path):
    path, rng, found = tmp_path / "bad.pt", random.Random(5), Counter[bool]()
    with zipfile.ZipFile(checkpoint) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    name = next(one for one in parts if one.endswith("data.pkl"))
    for _ in range(120):
        bad = bytearray(parts[name])
        bad[rng.randrange(len(bad))] = rng.randrange(256)
        with zipfile.ZipFile(path, "w") as archive:
            for one, content in parts.items():
                archive.writestr(one, bytes(bad) if one == name else content)
        found[outcome(lambda: EncT5.from_pretrained(str(path)), path) == "done"] += 1
    assert found[False] > 20


@pytest.mark.parametrize("section", ["task", "model"])
def test_every_setting_of_a_checkpoint_may_be_anything(checkpoint, tmp_path, section):
    state = torch.load(checkpoint, weights_only=True)
    path, found = tmp_path / "bad.pt", Counter[bool]()
    settings = state["cfg"][section]
    for name in sorted(settings):
        for value in VALUES:
            changed = {**state["cfg"], section: {**settings, name: value}}
            torch.save({**state, "cfg": changed}, path)
            found[outcome(lambda: EncT5.from_pretrained(str(path)), path) == "done"] += 1
    assert found[False] > 10


def test_a_folder_of_data_is_not_run(data, tmp_path):
    victim = tmp_path / "victim"
    for path in files(data):
        whole = path.read_bytes()
        path.write_bytes(f"cposix\nsystem\n(S'touch {victim}'\ntR.".encode())
        assert outcome(lambda: read(data), data) != "done"
        path.write_bytes(whole)
    assert not victim.exists()
    shutil.rmtree(data)
    assert "does not exist" in outcome(lambda: read(data), data)
