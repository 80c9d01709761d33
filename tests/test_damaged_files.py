"""Whatever is read of others, forged or damaged: used, or refused in one line that names it.

Subjects (checkpoints of every kind, folders of pre-trained models) × damage (another file, cut
short, flipped at random). Pickles in every place: tests/commands/test_hostile_checkpoints.py.
"""

import pickle
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import test_prediction
import tiny
import torch
from damage import damaged, outcome
from fairseq import checkpoint_utils
from refusals import refuses
from safetensors.torch import load_file
from saved import Malicious, changed, save

from lev_correct import Corrector
from lev_plugins import EncT5, LevenshteinEditor
from lev_plugins.cli import backbone
from lev_plugins.cli.average import average
from lev_plugins.inference.checkpoints import load_state

WEIGHTS = "model.safetensors"


def checkpoint(kind: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        tiny.dictionaries(folder / "bin")
        return save(folder / f"{kind}.pt", folder / "bin", kind)

    return make


def pickled(folder: Path) -> Path:
    paths = checkpoints.bert(folder / "bert")
    tensors = load_file(str(paths / WEIGHTS))
    (paths / WEIGHTS).unlink()
    for part in (1, 2):
        part_tensors = {name: tensors[name] for name in sorted(tensors)[part - 1 :: 2]}
        torch.save(part_tensors, paths / f"pytorch_model-0000{part}-of-00002.bin")
    return paths


def predict(path: str) -> None:
    assert len(EncT5.from_pretrained(path).predict_tags(["a b", "", "c"])) == 3


def inspect(path: str) -> None:
    backbone.main([path])


#: what is damaged: who writes it (a file, or a folder whose files are damaged one after the other),
#: who reads all of it, random damages of each file, and whether what is cut short is never used
SUBJECTS: dict[str, tuple[Callable[[Path], Path], Callable[[str], Any], int, bool]] = {
    "editor": (checkpoint("editor"), LevenshteinEditor.from_pretrained, 40, True),
    "stock": (checkpoint("stock"), Corrector.from_pretrained, 40, True),
    "enct5": (lambda f: test_prediction.save(f / "model.pt", "tagging"), predict, 40, True),
    "bert": (lambda folder: checkpoints.bert(folder / "bert"), inspect, 12, False),
    "bart": (lambda folder: checkpoints.bart(folder / "bart"), inspect, 12, False),
    "t5": (lambda folder: checkpoints.t5(folder / "t5"), inspect, 12, False),
    "bert, pickled": (pickled, inspect, 24, False),
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_damaged_it_is_loaded_or_refused_and_no_pickle_is_run(name, tmp_path):
    make, load, turns, exact = SUBJECTS[name]
    of, victim, rng, refused = make(tmp_path), tmp_path / "victim", random.Random(11), 0

    def loads() -> bool:
        return outcome(lambda: load(str(of)), of, "--", "the checkpoint") == "loaded"

    assert loads()
    for path in [of] if of.is_file() else sorted(of.glob("*.bin" if "pick" in name else "*")):
        content = path.read_bytes()
        for _ in range(turns):
            path.write_bytes(damaged(content, rng))
            refused += not loads()
        path.write_bytes(pickle.dumps(Malicious(victim)))
        assert not loads() and not victim.exists()
        places = {0, 1, 2, 3, 4, 64, len(content) // 2, len(content) - 22, len(content) - 1}
        for place in places if exact else ():
            path.write_bytes(content[:place])
            assert not loads()
        path.write_bytes(content)
    assert refused > turns // 6, "hardly anything was looked at"


# what is no checkpoint, or another one ------------------------------------------------------------

LOADS: list[Callable[[str], Any]] = [
    LevenshteinEditor.from_pretrained,
    Corrector.from_pretrained,
    EncT5.from_pretrained,
    load_state,
    lambda path: average([path]),
    lambda path: checkpoint_utils.load_model_ensemble([path]),
]


def test_what_is_no_checkpoint_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "zip.pt", "w") as archive:
        archive.writestr("a", "b")
    paths = [tmp_path / "missing.pt", tmp_path, tmp_path / "zip.pt", tmp_path / "text.pt"]
    paths[-1].write_text("hello\n" * 99)
    for state in ([1, 2], {"a": torch.ones(2)}):
        paths.append(tmp_path / f"{len(paths)}.pt")
        torch.save(state, paths[-1])
    for path in paths:
        for load in LOADS:
            with refuses(path):
                load(str(path))


@pytest.mark.parametrize(
    ("kind", "load", "section", "settings", "named"),
    [
        ("stock", LevenshteinEditor.from_pretrained, "task", {}, "task"),
        ("editor", EncT5.from_pretrained, "task", {}, "task"),
        ("stock", Corrector.from_pretrained, "task", {"_name": "enct5"}, "enct5"),
        ("stock", LOADS[-1], "model", {"encoder_embed_dim": 32}, ""),
        ("stock", LOADS[-1], "model", {"encoder_layers": 32}, ""),
    ],
)
def test_a_checkpoint_of_another_system_or_size_is_refused(
    tmp_path, kind, load, section, settings, named
):
    path = changed(checkpoint(kind)(tmp_path), tmp_path / "other.pt", section, **settings)
    with refuses(path, named):
        load(str(path))
