"""Trainings that are killed, at any moment and within a write, end as if they never had been."""

import os
import re
import signal
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import conftest
import enct5_corpus
import pytest
import torch
from processes import are_gone, descendants, is_alive
from torch.utils._pytree import keystr, tree_leaves_with_path

import lev_plugins  # noqa: F401  (torch may then read checkpoints)

CUT_SHORT = Path(__file__).with_name("cut_short")
# Every save is a validation too; names of all kinds are written and cleared away.
SAVING = (
    "--save-interval-updates 3 --keep-interval-updates 2 --keep-best-checkpoints 2 "
    "--no-epoch-checkpoints --log-format simple --log-interval 1 --seed 5 --cpu --max-update 17"
)
DROPOUT = "--dropout 0.3 --attention-dropout 0.1"
DECAY = (
    "--lr-scheduler polynomial_decay --warmup-updates 3 --total-num-update 70 "
    "--adam-betas (0.9,0.98) --clip-norm 1"
)
PAIR = "--criterion label_smoothed_cross_entropy --label-smoothing 0.1 --batch-size 16"


Prepare = Callable[[conftest.Commands, Path], Path]


def pairs(commands: conftest.Commands, folder: Path) -> Path:
    conftest.prepared(commands, folder, "--source-lang src --target-lang tgt", joined=True)
    return folder / "bin"


def noisy(commands: conftest.Commands, folder: Path) -> Path:
    """Clean text, which becomes noisy as it is read, anew in every epoch."""
    conftest.write_fruit(folder, train=120, valid=9)
    return folder


LANGUAGES = "--source-lang noisy --target-lang clean"
FLAGS = "--source-lang src --target-lang tgt --draft-lang mt"
#: what makes a system's data, and a command that draws all that it can draw
TRAININGS: dict[str, tuple[Prepare, str]] = {
    "levenshtein_editor": (
        lambda *at: conftest.prepared(*at, FLAGS, joined=True) or at[1] / "bin",
        f"--task translation_edit {FLAGS} "
        f"{conftest.MODEL} --share-all-embeddings --criterion edit_policy_loss --batch-size 32 "
        f"{DROPOUT} --activation-dropout 0.1 --roll-in-tokens sample --alpha-start 0 "
        "--deletion-trace --source-pointer "
        "--beta-start 0 --alpha 0.9 --beta 0.9 --roll-in-updates 20 "
        f"--optimizer adam --lr 0.01 {DECAY}",
    ),
    "gated_transformer": (
        noisy,
        f"--task noisy_translation {LANGUAGES} --noise all --bpe characters "
        f"--arch gated_transformer_char {conftest.ENCODER} --decoder-layers 1 "
        f"--share-all-embeddings --gates mask,copy,generate {PAIR} {DROPOUT} --num-workers 2 "
        f"--optimizer adam --lr 0.005 {DECAY}",
    ),
    "pbd_transformer": (
        pairs,
        f"--task translation --arch pbd_transformer_char {conftest.ENCODER} {PAIR} {DROPOUT} "
        "--batch-size 15 --required-batch-size-multiple 1 --update-freq 2 "
        f"--optimizer muon --lr 0.005 {DECAY}",
    ),
    "enct5": (
        lambda *at: enct5_corpus.prepared(*at, "tagging").data,
        f"--task enct5 --arch enct5 {enct5_corpus.SIZES} --dropout 0.3 --criterion enct5 --pack "
        "--pack-length 20 --max-tokens 120 --ignore-unused-valid-subsets "
        "--best-checkpoint-metric word_accuracy --maximize-best-checkpoint-metric "
        "--optimizer adafactor --scale-parameter --lr 0.01 --lr-scheduler fixed",
    ),
}
TRAININGS["enct5, bf16"] = (TRAININGS["enct5"][0], f"{TRAININGS['enct5'][1]} --bf16")


# what a training leaves -------------------------------------------------------------------------


def remains(path: Path) -> dict[str, Any]:
    """All of a checkpoint but times and speeds: parameters, optimizer, place in the data, best.

    Its history of optimizers gets an entry whenever a training begins; the last is the present. The
    best loss in it is what no schedule but a plateau's looks at.
    """
    state = torch.load(path, weights_only=True)
    kept = ("model", "criterion", "task_state", "last_optimizer_state")
    place = ("train_iterator", "val_loss", "best", "words_learnt")
    extra = {name: state["extra_state"].get(name) for name in place}
    now = {"now": state["optimizer_history"][-1]}
    now["now"]["lr_scheduler_state"].pop("best", None)
    return {**{name: state[name] for name in kept}, **extra, **now}


def differences(ours: Any, other: Any) -> list[str]:
    """Where two states differ, bit for bit."""
    leaves, others = tree_leaves_with_path(ours), tree_leaves_with_path(other)
    if [path for path, _ in leaves] != [path for path, _ in others]:
        return ["names"]
    pairs = ((path, left, right) for (path, left), (_, right) in zip(leaves, others))
    return [keystr(path) for path, left, right in pairs if not is_same(left, right)]


def is_same(left: Any, right: Any) -> bool:
    if torch.is_tensor(left) and torch.is_tensor(right):
        return left.dtype == right.dtype and torch.equal(left, right)
    return type(left) is type(right) and left == right


def updates(folder: Path) -> int:
    """How far the training that stopped here had come when it last saved."""
    return int(remains(folder / "checkpoint_last.pt")["now"]["num_updates"])


# a short training, killed or asked to end -------------------------------------------------------


class Runs:
    """The command of a system, begun as often as is wanted, in a process that is warm."""

    def __init__(self, name: str, commands: conftest.Commands, folder: Path) -> None:
        prepare, self.flags = TRAININGS[name]
        self.commands, self.folder, self.data = commands, folder, prepare(commands, folder)

    def start(self, saved: Path, **environ: str) -> tuple[int, list[Path]]:
        """Seventeen updates: two epochs, and saves in the midst and at the end of each."""
        command = f"fairseq-train {self.data} --user-dir {CUT_SHORT} {self.flags} {SAVING}"
        environ["PYTHONPATH"] = str(conftest.ROOT)
        return self.commands.start(f"{command} --save-dir {saved}", self.folder, environ=environ)

    def __call__(self, saved: Path, **environ: str) -> conftest.Result:
        return self.commands.finish(self.start(saved, **environ))

    def done(self, saved: Path) -> str:
        """To its end; what it said."""
        result = self(saved)
        assert result.code == 0, result.out[-3000:] + result.err[-3000:]
        return result.out

    def assert_resumes(self, saved: Path, reached: int) -> None:
        """The files of a training that nobody stopped, and in each the same, bit for bit."""
        uninterrupted = self.folder / "whole"
        result = self.done(saved)
        assert f"@ {reached} updates)" in result and "Loaded checkpoint" in result
        names = sorted(path.name for path in uninterrupted.iterdir())
        assert sorted(path.name for path in saved.iterdir()) == names
        assert {"checkpoint_last.pt", "checkpoint_best.pt"} < set(names)
        for name in names:
            resumed, expected = remains(saved / name), remains(uninterrupted / name)
            assert len(expected["model"]) > 20 and expected["last_optimizer_state"]["state"]
            assert differences(resumed, expected) == [], name


@pytest.fixture(scope="module")
def runs(commands, tmp_path_factory):
    """Prepares a system's data and trains it once without interruption, in the folder ``whole``."""

    @cache
    def make(name: str) -> Runs:
        training = Runs(name, commands, tmp_path_factory.mktemp("interrupted"))
        training.done(training.folder / "whole")
        return training

    return make


@pytest.mark.parametrize(
    ("name", "cut", "code", "reached"),
    [
        # within the copy that a training resumes from, where an epoch has ended
        ("levenshtein_editor", "CUT_SHORT=checkpoint_last:3:30000", -signal.SIGXFSZ, 6),
        # the copy that is best so far is all there, and has not got its name; an epoch has ended
        ("pbd_transformer", "CUT_SHORT=checkpoint_best:4:-1", -signal.SIGKILL, 9),
        # within one of the best, of which two are kept
        ("enct5", "CUT_SHORT=checkpoint.best_:2:30000", -signal.SIGXFSZ, 3),
        ("enct5, bf16", "CUT_SHORT=checkpoint_last:3:-1", -signal.SIGKILL, 6),
        # asked to end between two saves
        ("levenshtein_editor", "ASKED=SIGTERM:train_step:11", 128 + signal.SIGTERM, 11),
        # within the validation after update 6
        ("levenshtein_editor", "ASKED=SIGUSR1:valid_step:3", 128 + signal.SIGUSR1, 7),
        # where an epoch ends, with a validation and a save
        ("levenshtein_editor", "ASKED=SIGTERM:train_step:8", 128 + signal.SIGTERM, 8),
        ("levenshtein_editor", "ASKED=SIGINT:train_step:2", 128 + signal.SIGINT, 2),
    ],
)
def test_a_training_that_was_stopped_ends_as_if_it_never_had_been(
    runs, tmp_path, name, cut, code, reached
):
    run, saved = runs(name), tmp_path / "saved"
    variable, _, value = cut.partition("=")
    stopped = run(saved, **{variable: value})
    assert stopped.code == code and "Traceback" not in stopped.err
    if variable == "ASKED":
        said = f"{value.partition(':')[0]}: the training ends after {reached} updates"
        assert stopped.err.count(said) == 1
    else:
        assert [path.name for path in saved.glob("*.tmp")], "the kill was within a write"
    assert updates(saved) == reached
    run.assert_resumes(saved, reached)
    run.assert_resumes(saved, 17)  # the same command again, where all is done


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_training_stopped_from_outside_in_the_second_epoch_resumes(runs, tmp_path, number):
    """Between updates; processes that read ahead are killed with it, or left alone to the end."""
    run, saved, end = runs("gated_transformer"), tmp_path / "saved", time.monotonic() + 300
    pid, (_, log, _) = started = run.start(saved)
    while not (counts := re.findall(r"num_updates=(\d+)", log.read_text())) or int(counts[-1]) < 11:
        assert is_alive(pid) and time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.002)
    workers = descendants(pid)
    assert workers, "nothing is tested"
    for process in (*(workers if number == signal.SIGTERM else ()), pid):
        os.kill(process, number)
    counts = run.commands.finish(started).code
    assert counts == (-number if number == signal.SIGKILL else 128 + number)
    assert are_gone(workers, 30)
    reached = updates(saved)
    assert 8 < reached < 17
    run.assert_resumes(saved, reached)
