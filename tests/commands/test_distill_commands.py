"""distill and make_drafts as commands, beside fairseq's own."""

import os
import random
import re
import signal
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import SIZES

TRAINING = (
    "--optimizer adam --lr 0.005 --clip-norm 1 --batch-size 50 --num-workers 0 --cpu "
    "--log-format simple --disable-validation --dropout 0"
)
LANGUAGES = "--source-lang en --target-lang de"
LETTERS = "abcdefgh"


class Teacher(NamedTuple):
    """A folder with text, binarised data and checkpoints of a stock transformer."""

    folder: Path

    def checkpoint(self, name: str = "last") -> Path:
        return self.folder / "teacher" / f"checkpoint_{name}.pt"

    def distill(self, flags: str = "", path: Path | str = "") -> str:
        """A command that distils the test set."""
        return (
            f"python -m lev_plugins.cli.distill --path {path or self.checkpoint()} --data bin "
            f"--source test.en --beam 4 --lenpen 0.6 --cpu {flags}"
        )

    def read(self, name: str) -> list[str]:
        return (self.folder / name).read_text("utf-8").split("\n")[:-1]


def write_text(folder: Path) -> None:
    """Targets are the sources in capitals; some words of test sources are in no dictionary."""
    draw = random.Random(3)
    for name, size in (("train", 500), ("test", 61)):
        sources = [" ".join(draw.choices(LETTERS, k=draw.randint(1, 9))) for _ in range(size)]
        if name == "test":
            sources[7], sources[19] = "a new b", ""
        for side, lines in (("en", sources), ("de", [line.upper() for line in sources])):
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture(scope="module")
def teacher(commands, root, tmp_path_factory) -> Teacher:
    """fairseq's transformer, trained by fairseq-train until it is often right, not always."""
    teacher = Teacher(tmp_path_factory.mktemp("teacher"))
    write_text(teacher.folder)
    commands.preprocess(
        f"{LANGUAGES} --trainpref train --testpref test --destdir bin", teacher.folder
    )
    commands.ok(
        f"fairseq-train bin --user-dir {root}/lev_plugins --task translation {LANGUAGES} "
        f"--arch transformer {SIZES} {TRAINING} --criterion cross_entropy --max-update 130 "
        "--save-interval-updates 100 --no-epoch-checkpoints --save-dir teacher",
        teacher.folder,
    )
    return teacher


@pytest.fixture(scope="module")
def distilled(commands, teacher) -> list[str]:
    """What the command prints over the test set; targets go to ``out.de``."""
    result = commands(teacher.distill("--output-prefix out"), teacher.folder)
    assert result.code == 0 and result.err == "", result.err
    return result.out.splitlines()


def generated(commands, teacher, root, path: str) -> list[str]:
    """fairseq-generate's hypotheses for the test set.

    fairseq answers an empty source too, where an empty target is wanted.
    """
    result = commands.ok(
        f"fairseq-generate bin --user-dir {root}/lev_plugins --task translation {LANGUAGES} "
        f"--path {path} --beam 4 --lenpen 0.6 --unkpen inf --required-batch-size-multiple 1 --cpu",
        teacher.folder,
    )
    hypotheses = result.texts("H")
    assert len(hypotheses) == 61
    hypotheses[19] = ""
    return hypotheses


def test_the_targets_are_those_of_fairseq_generate(commands, teacher, distilled, root):
    targets = teacher.read("out.de")
    assert targets == generated(commands, teacher, root, str(teacher.checkpoint()))
    right = sum(map(str.__eq__, targets, teacher.read("test.de")))
    assert 10 < right < 61, f"{right} right: too few or too many to tell anything"
    assert (teacher.folder / "out.en").read_bytes() == (teacher.folder / "test.en").read_bytes()


def test_the_targets_of_an_ensemble_are_those_of_fairseq_generate(
    commands, teacher, distilled, root
):
    (earlier,) = (teacher.folder / "teacher").glob("checkpoint_*_100.pt")
    path = f"{earlier}:{teacher.checkpoint()}"
    commands.ok(teacher.distill("--output-prefix both", path), teacher.folder)
    assert teacher.read("both.de") == generated(commands, teacher, root, path)
    assert teacher.read("both.de") != teacher.read("out.de")


def test_a_killed_run_ends_as_if_it_had_not_been_and_batches_change_nothing(
    commands, teacher, distilled
):
    """Killed between two chunks of sentences translated one by one, and resumed so."""
    text = teacher.folder / "long.en"
    text.write_text("".join(f"{line}\n" for line in teacher.read("test.en")) * 3)
    command = teacher.distill("--chunk-size 5 --batch-size 1 --output-prefix killed --resume")
    command = command.replace("test.en", "long.en")
    started = commands.start(command, teacher.folder)
    journal = teacher.folder / "killed.en-de.part"
    end = time.monotonic() + 120
    while not journal.exists() or journal.read_bytes().count(b"\n") < 7:
        assert time.monotonic() < end
        time.sleep(0.005)
    os.kill(started[0], signal.SIGKILL)
    assert commands.finish(started).code == -signal.SIGKILL
    left = sorted(path.name for path in teacher.folder.glob("killed*"))
    assert left == ["killed.en-de.part"], "it was not killed before its end, or wrote an output"

    resumed = commands.ok(command, teacher.folder)
    done = re.search(r"resuming after line (\d+) of 183", resumed.err)
    assert done is not None and 5 <= int(done[1]) < 183 and int(done[1]) % 5 == 0
    assert teacher.read("killed.de") == 3 * teacher.read("out.de")
    left = sorted(path.name for path in teacher.folder.glob("killed*"))
    assert left == ["killed.de", "killed.en"]


def test_made_drafts_train_an_editor_which_cannot_teach(commands, teacher):
    made = commands(
        "python -m lev_plugins.cli.make_drafts --input train.de --output train.mt --drop 0.1 "
        "--repeat 0.05 --swap 0.05 --replace 0.1 --similar 0.5 --vocabulary bin/dict.de.txt",
        teacher.folder,
    )
    assert made.code == 0 and made.out == "" and "dropped" in made.err, made.err
    flags = f"{LANGUAGES} --draft-lang mt --srcdict bin/dict.en.txt --tgtdict bin/dict.de.txt"
    said = commands.preprocess(f"{flags} --trainpref train --destdir triples", teacher.folder).out
    (unedited,) = re.findall(r"drafts that need no edit: train (\d+) of 500", said)
    assert 50 < int(unedited) < 300
    trained = commands.plugin(
        f"fairseq-train triples {LANGUAGES} --draft-lang mt --arch levenshtein_editor_char {SIZES} "
        f"{TRAINING} --criterion edit_policy_loss --max-update 1 --save-dir editor",
        teacher.folder,
    )
    assert trained.code == 0, trained.err
    path = teacher.folder / "editor" / "checkpoint_last.pt"
    error = commands(teacher.distill("--output-prefix none", path), teacher.folder).error
    assert error == (
        f"{path} was trained with --task translation_edit; a teacher is a left-to-right model "
        "of --task translation, such as --arch transformer"
    )
    assert not list(teacher.folder.glob("none*"))
