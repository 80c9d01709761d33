"""Whatever is read of others, damaged at random: used, or refused in one line that names it.

Checkpoints of every kind, and folders of pre-trained models.
"""

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import checkpoints
import pytest
import tiny
import torch
from damage import damaged, flipped, outcome
from omegaconf import OmegaConf
from safetensors.torch import load_file
from saved import Malicious, save

from lev_plugins import Corrector, EncT5, LevenshteinEditor
from lev_plugins.cli import enct5_prepare
from lev_plugins.pretrained.loading import inspect
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.directory import T5Directory

WEIGHTS = "model.safetensors"


class Subject(NamedTuple):
    """What is damaged.

    make: writes it; a file, or a folder whose files are damaged one after the other. load: reads
    all of it. turns: damages of each file. exact: nothing that is cut short is ever used. stock:
    fairseq itself reads a part of it, and raises errors of its own.
    """

    make: Callable[[Path], Path]
    load: Callable[[Path], Any]
    turns: int
    exact: bool = True


# checkpoints


def checkpoint(kind: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        tiny.dictionaries(folder / "bin")
        return save(folder / f"{kind}.pt", folder / "bin", kind)

    return make


def enct5_checkpoint(folder: Path) -> Path:
    (folder / "train").write_text("A B\ta b\nB\tb\nC C C\tc c c\nA\ta\n")
    flags = f"--kind tagging --bytes --destdir {folder}/data --train {folder}/train"
    enct5_prepare.main(flags.split())
    cfg = EncT5TaskConfig(data=str(folder / "data"))
    task = EncT5Task.setup_task(cfg)
    sizes = {"encoder_embed_dim": 8, "encoder_ffn_embed_dim": 8, "encoder_layers": 1}
    heads = {"encoder_attention_heads": 2, "attention_head_dim": 4}
    model_cfg = EncT5Config(**sizes, **heads)
    plain = [
        OmegaConf.to_container(OmegaConf.structured(one), enum_to_str=True)
        for one in (cfg, model_cfg)
    ]
    told = {name: value for name, value in plain[0].items() if "${" not in str(value)}
    state = {
        "args": None,
        "cfg": {"task": {**told, "_name": "enct5"}, "model": {**plain[1], "_name": "enct5"}},
        "model": EncT5Model.build_model(model_cfg, task).state_dict(),
        "task_state": task.state_dict(),
        "extra_state": {"train_iterator": {"epoch": 1}},
        "optimizer_history": [{"optimizer_name": "a", "lr_scheduler_state": {}, "num_updates": 1}],
        "last_optimizer_state": None,
    }
    torch.save(state, folder / "model.pt")
    return folder / "model.pt"


def predict(path: Path) -> None:
    assert len(EncT5.from_pretrained(str(path)).predict_tags(["a b", "", "c"])) == 3


# folders of pre-trained models


def pretrained(kind: str) -> Callable[[Path], Path]:
    return lambda folder: getattr(checkpoints, kind)(folder / kind)


def pickled(kind: str, zipped: bool) -> Callable[[Path], Path]:
    """A folder whose weights are a pickle."""

    def make(folder: Path) -> Path:
        made = pretrained(kind)(folder)
        tensors = load_file(str(made / WEIGHTS))
        (made / WEIGHTS).unlink()
        torch.save(tensors, made / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
        return made

    return make


def inspected(folder: Path) -> None:
    inspect(str(folder))
    if folder.name == "t5":
        directory = T5Directory(str(folder))
        directory.sizes()
        directory.pieces()


FOLDERS = {
    kind: Subject(pretrained(kind), inspected, 12, exact=False) for kind in ("bert", "bart", "t5")
}
CHECKPOINTS = {
    "editor": Subject(
        checkpoint("editor"), lambda p: LevenshteinEditor.from_pretrained(str(p)), 40
    ),
    "stock": Subject(checkpoint("stock"), lambda p: Corrector.from_pretrained(str(p)), 40),
    "enct5": Subject(enct5_checkpoint, predict, 40),
}
SUBJECTS = {
    **CHECKPOINTS,
    **FOLDERS,
    "bert, pickled": Subject(pickled("bert", True), inspected, 24, exact=False),
    "bart, pickled": Subject(pickled("bart", True), inspected, 24, exact=False),
    "t5, pickled as before": Subject(pickled("t5", False), inspected, 24, exact=False),
}
#: of these folders only the file that the others do not have
ALONE = {"pickled": "pytorch_model.bin"}


class Case(NamedTuple):
    """A subject that was made: where it is, its files, and how it is read."""

    path: Path
    files: list[Path]
    load: Callable[[Path], Any]
    turns: int

    def outcome(self, path: Path | None = None) -> str:
        """``loaded``, or what was said: a file or setting is named."""
        where = path or self.path
        named = (where, "--", "the checkpoint")
        return outcome(lambda: self.load(where), *named)

    def each(self) -> Iterator[tuple[Path, bytes]]:
        """Every file with its content, which comes back afterwards."""
        for path in self.files:
            whole = path.read_bytes()
            yield path, whole
            path.write_bytes(whole)


def case(name: str, folder: Path) -> Case:
    subject = SUBJECTS[name]
    path = subject.make(folder)
    files = [path]
    if path.is_dir():
        alone = [file for part, file in ALONE.items() if part in name]
        # dictionaries of binarised data are text: any line may be another symbol
        files = [
            one
            for one in sorted(path.iterdir())
            if one.stat().st_size and (one.name in alone if alone else one.name != "labels.txt")
        ]
    return Case(path, files, subject.load, subject.turns)


@pytest.mark.parametrize("name", SUBJECTS)
def test_it_is_loaded_whole_and_damaged_it_is_loaded_or_refused(name, tmp_path):
    rng, found = random.Random(11), Counter[bool]()
    of = case(name, tmp_path)
    assert of.outcome() == "loaded"
    for path, whole in of.each():
        for turn in range(of.turns):
            # every second: most of a file of numbers is noticed at once when bytes are missing
            path.write_bytes((flipped if turn % 2 else damaged)(whole, rng))
            said = of.outcome()
            found[said == "loaded"] += 1
    assert found[False] > of.turns // 6, "hardly anything was looked at"


@pytest.mark.parametrize("name", [name for name, one in SUBJECTS.items() if one.exact])
def test_what_is_cut_short_is_refused(name, tmp_path):
    rng, of = random.Random(5), case(name, tmp_path)
    for path, whole in of.each():
        places = [0, 1, 2, 3, 4, 64, len(whole) // 2, len(whole) - 22, len(whole) - 1]
        for place in [*places, *(rng.randrange(len(whole)) for _ in range(4))]:
            if 0 <= place and whole[place:].strip():  # a last line feed may go
                path.write_bytes(whole[:place])
                assert of.outcome() != "loaded"


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_pickle_in_place_of_a_file_is_not_run(name, tmp_path):
    victim, of = tmp_path / "victim", case(name, tmp_path)
    for path, _ in of.each():
        for protocol in (0, 4):
            path.write_bytes(pickle.dumps(Malicious(victim), protocol))
            assert of.outcome() != "loaded" and not victim.exists()
