"""Whatever is read of others, damaged at random: used, or refused in one line that names it.

Checkpoints of every kind, prepared data, folders of pre-trained models.
"""

import copy
import json
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
from damage import VALUES, damaged, flipped, garbled, outcome
from fairseq import tasks
from omegaconf import OmegaConf
from safetensors.torch import load_file
from saved import Malicious, parsed, save

from lev_plugins import Corrector, EncT5, LevenshteinEditor
from lev_plugins.cli import enct5_prepare
from lev_plugins.inference import averaging
from lev_plugins.pretrained.bpe import open_tokenizer
from lev_plugins.pretrained.loading import inspect
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.t5_directory import T5Directory

LINES = {
    "classification": ["yes\ta b", "no\tb", "no\tc c c", "yes\ta"],
    "regression": ["0.5\ta b", "0\tb", "-1.25\tc c c", "3\ta"],
    "multilabel": ["a,b\ta b", "\tb", "c\tc c c", "a\ta"],
    "tagging": ["A B\ta b", "B\tb", "C C C\tc c c", "A\ta"],
}
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
    stock: bool = False


# checkpoints


def checkpoint(kind: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        tiny.dictionaries(folder / "bin")
        return save(folder / f"{kind}.pt", folder / "bin", kind)

    return make


def prepared(kind: str) -> Callable[[Path], Path]:
    """Data of EncT5; ``labels.txt`` is for people."""

    def make(folder: Path) -> Path:
        (folder / "train").write_text("".join(f"{line}\n" for line in LINES[kind]))
        flags = f"--kind {kind} --bytes --destdir {folder}/data --train {folder}/train"
        enct5_prepare.main(flags.split())
        return folder / "data"

    return make


def enct5_checkpoint(folder: Path) -> Path:
    cfg = EncT5TaskConfig(data=str(prepared("tagging")(folder)))
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


# data


def read_enct5(data: Path) -> None:
    """Every example of the training set in one batch."""
    task = EncT5Task.setup_task(EncT5TaskConfig(data=str(data)))
    task.load_dataset("train")
    found = task.datasets["train"]
    found.collater([found[i] for i in range(len(found))])


def binarised(kind: str) -> Callable[[Path], Path]:
    """Sources, targets and, but for the stock task, drafts; they have the target's dictionary."""

    def make(folder: Path) -> Path:
        symbols = tiny.dictionary()
        (folder / "bin").mkdir()
        for language in ("src", "tgt") if kind == "stock" else ("src", "tgt", "mt"):
            if language != "mt":
                symbols.save(str(folder / "bin" / f"dict.{language}.txt"))
            prefix = folder / "bin" / f"train.src-tgt.{language}"
            lines = ("abc", "h", "gfedcba", "", "aa")
            tiny.write_indexed(prefix, (tiny.sentence(line, symbols)[1:] for line in lines))
        return folder / "bin"

    return make


def read_binarised(kind: str) -> Callable[[Path], None]:
    """All sentences of the training set in one batch."""

    def load(data: Path) -> None:
        cfg = copy.deepcopy(parsed(data, kind))
        cfg.task.data = str(data)
        if kind != "stock":
            cfg.task.draft_lang = "mt"
        task = tasks.setup_task(cfg.task)
        task.load_dataset("train")
        found = task.datasets["train"]
        found.ordered_indices()
        assert found.collater([found[i] for i in range(len(found))])["nsentences"] == 5

    return load


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


def with_sentencepiece(folder: Path) -> Path:
    made = checkpoints.t5(folder / "t5")
    (made / "tokenizer.json").unlink()
    (made / "tokenizer_config.json").write_text(json.dumps({"extra_ids": 0}))
    options = {"vocab_size": 24, "hard_vocab_limit": False, **checkpoints.T5_ORDER}
    tiny.sentencepiece_model(made / "spiece.model", ["the cat sat on a mat"] * 9, **options)
    return made


def tokenize(folder: Path) -> None:
    assert isinstance(open_tokenizer(str(folder)).encode("the cat ☃"), str)


FOLDERS = {
    kind: Subject(pretrained(kind), inspected, 40, exact=False) for kind in ("bert", "bart", "t5")
}
CHECKPOINTS = {
    "editor": Subject(
        checkpoint("editor"), lambda p: LevenshteinEditor.from_pretrained(str(p)), 60
    ),
    "stock": Subject(checkpoint("stock"), lambda p: Corrector.from_pretrained(str(p)), 60),
    "enct5": Subject(enct5_checkpoint, predict, 60),
}
DATA = {
    **{f"data, {kind}": Subject(prepared(kind), read_enct5, 24) for kind in LINES},
    **{
        f"data, {kind}": Subject(binarised(kind), read_binarised(kind), 12, stock=True)
        for kind in ("editor", "stock", "concat")
    },
}
SUBJECTS = {
    **CHECKPOINTS,
    **DATA,
    **FOLDERS,
    "bert, pickled": Subject(pickled("bert", True), inspected, 60, exact=False),
    "bart, pickled": Subject(pickled("bart", True), inspected, 60, exact=False),
    "t5, pickled as before": Subject(pickled("t5", False), inspected, 60, exact=False),
    "sentencepiece": Subject(with_sentencepiece, tokenize, 120, exact=False),
}
#: of these folders only the file that the others do not have
ALONE = {"pickled": "pytorch_model.bin", "sentencepiece": "spiece.model"}


class Case(NamedTuple):
    """A subject that was made: where it is, its files, and how it is read."""

    path: Path
    files: list[Path]
    load: Callable[[Path], Any]
    turns: int
    stock: bool

    def outcome(self, path: Path | None = None) -> str:
        """``loaded``, or what was said: a file or setting is named."""
        where = path or self.path
        named = (where, "--", "the checkpoint")
        return outcome(lambda: self.load(where), *named, stock=self.stock)

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
    return Case(path, files, subject.load, subject.turns, subject.stock)


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
            if path.suffix == ".idx":
                assert said != "loaded" or path.read_bytes() == whole
            found[said == "loaded"] += 1
    assert found[False] > of.turns // 6, "hardly anything was looked at"


@pytest.mark.parametrize("name", [name for name, one in SUBJECTS.items() if one.exact])
def test_what_is_cut_short_is_refused(name, tmp_path):
    rng, of = random.Random(5), case(name, tmp_path)
    for path, whole in of.each():
        if path.name.startswith("dict."):
            continue
        places = [0, 1, 2, 3, 4, 64, len(whole) // 2, len(whole) - 22, len(whole) - 1]
        for place in [*places, *(rng.randrange(len(whole)) for _ in range(4))]:
            if 0 <= place and whole[place:].strip():  # a last line feed may go
                path.write_bytes(whole[:place])
                assert of.outcome() != "loaded"
                if path.suffix == ".pt":
                    assert outcome(lambda: averaging.load(path), path) != "loaded"  # noqa: B023


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_garbled_pickle_with_a_right_checksum_is_loaded_or_refused(name, tmp_path):
    rng, found, of = random.Random(7), Counter[bool](), case(name, tmp_path)
    for _ in range(60):
        path = garbled(of.path, tmp_path / "garbled.pt", rng)
        found[of.outcome(path) == "loaded"] += 1
    assert found[False] > 10 and found[True] > 4


@pytest.mark.parametrize("name", [*CHECKPOINTS, *DATA])
def test_a_pickle_in_place_of_a_file_is_not_run(name, tmp_path):
    victim, of = tmp_path / "victim", case(name, tmp_path)
    for path, _ in of.each():
        for protocol in (0, 4):
            path.write_bytes(pickle.dumps(Malicious(victim), protocol))
            assert of.outcome() != "loaded" and not victim.exists()


@pytest.mark.parametrize("name", FOLDERS)
def test_every_setting_of_a_folder_may_be_anything(name, tmp_path):
    found, of = Counter[bool](), case(name, tmp_path)
    file = of.path / "config.json"
    settings = json.loads(file.read_text())
    for setting in settings:
        without = {key: value for key, value in settings.items() if key != setting}
        for changed in (without, *({**settings, setting: value} for value in VALUES)):
            file.write_text(json.dumps(changed))
            found[of.outcome() == "loaded"] += 1
    assert found[False] > 8 * len(settings) and found[True] > 0


@pytest.mark.parametrize("section", ["task", "model"])
def test_every_setting_of_a_checkpoint_may_be_anything(section, tmp_path):
    found, of = Counter[bool](), case("enct5", tmp_path)
    state = torch.load(of.path, weights_only=True)
    settings, path = state["cfg"][section], tmp_path / "bad.pt"
    for name in sorted(settings):
        for value in VALUES:
            changed = {**state["cfg"], section: {**settings, name: value}}
            torch.save({**state, "cfg": changed}, path)
            said = outcome(lambda: EncT5.from_pretrained(str(path)), path, "--", "the checkpoint")
            found[said == "loaded"] += 1
    assert found[False] > 10


@pytest.mark.parametrize("name", [*FOLDERS, *DATA])
def test_any_file_may_be_a_folder_empty_or_gone(name, tmp_path):
    of = case(name, tmp_path)
    for path, _ in of.each():
        if ".tgt." in path.name:  # a set without targets can be decoded
            continue
        path.write_bytes(b"")
        assert of.outcome() != "loaded"
        path.unlink()
        assert of.outcome() != "loaded"
        path.mkdir()
        assert of.outcome() != "loaded"
        path.rmdir()
