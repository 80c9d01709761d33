"""Trainings that are killed within a write, or asked to end, end as if they never had been."""

import signal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import conftest
import enct5_corpus
import pytest
from states import differences, state

WATCHED = Path(__file__).with_name("watched")
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
PAIR = f"--criterion label_smoothed_cross_entropy --label-smoothing 0.1 --batch-size 16 {DROPOUT}"
#: what makes a system's data in a folder, and a command that draws all that it can draw
TRAININGS = {
    "levt": (
        lambda *place: conftest.prepared(*place, conftest.DRAFTED, joined=True),
        f"bin --task translation_edit {conftest.DRAFTED} {conftest.MODEL} --share-all-embeddings "
        f"--batch-size 32 {DROPOUT} --activation-dropout 0.1 --roll-in-tokens sample "
        "--deletion-trace --source-pointer --alpha-start 0 --beta-start 0 --alpha 0.9 --beta 0.9 "
        f"--roll-in-updates 20 --optimizer adam --lr 0.01 {DECAY}",
    ),
    "gated": (  # clean text, which becomes noisy as it is read, differently in every epoch
        lambda _, folder: conftest.write_fruit(folder, train=120, valid=9),
        ". --task noisy_translation --source-lang noisy --target-lang clean --noise all "
        f"--bpe characters --arch gated_transformer_char {conftest.ENCODER} --decoder-layers 1 "
        f"--share-all-embeddings --gates mask,copy,generate {PAIR} --num-workers 2 "
        f"--optimizer adam --lr 0.005 {DECAY}",
    ),
    "pbd": (
        lambda *place: conftest.prepared(*place, conftest.LANGUAGES, joined=True),
        f"bin --task translation --arch pbd_transformer_char {conftest.ENCODER} {PAIR} "
        "--batch-size 15 --required-batch-size-multiple 1 --update-freq 2 "
        f"--optimizer muon --lr 0.005 {DECAY}",
    ),
    "enct5": (
        lambda *place: enct5_corpus.prepared(*place, "tagging"),
        f"data --task enct5 --arch enct5 {enct5_corpus.SIZES} --dropout 0.3 --criterion enct5 "
        "--pack --pack-length 20 --max-tokens 120 --ignore-unused-valid-subsets --bf16 "
        "--best-checkpoint-metric word_accuracy --maximize-best-checkpoint-metric "
        "--optimizer adafactor --scale-parameter --lr 0.01 --lr-scheduler fixed",
    ),
}


def remains(path: Path) -> dict[str, Any]:
    """Returns a checkpoint without times and speeds: parameters, optimizer, place in the data.

    Its history of optimizers gets an entry whenever a training begins; the last is the present. The
    best loss in it is what no schedule but a plateau's looks at.
    """
    saved = state(path)
    kept = {name: saved[name] for name in ("model", "criterion", "task_state")}
    kept |= {"optimizer": saved["last_optimizer_state"], "now": saved["optimizer_history"][-1]}
    kept["now"]["lr_scheduler_state"].pop("best", None)
    for name in ("train_iterator", "val_loss", "best", "words_learnt"):
        kept[name] = saved["extra_state"].get(name)
    return kept


class Run(NamedTuple):
    """Seventeen updates of a system: two epochs, saves in the midst and at the end of each."""

    commands: conftest.Commands
    folder: Path
    flags: str

    def __call__(self, saved: Path, **environ: str) -> conftest.Result:
        command = f"fairseq-train {self.flags} --user-dir {WATCHED} {SAVING} --save-dir {saved}"
        environ["PYTHONPATH"] = str(conftest.ROOT)
        return self.commands(command, self.folder, environ=environ)

    def assert_resumes(self, saved: Path, reached: int) -> None:
        """Checks for the files of a training that nobody stopped, each the same, bit for bit."""
        uninterrupted = self.folder / "whole"
        result = self(saved).succeeded(self.flags).out
        assert f"@ {reached} updates)" in result and "Loaded checkpoint" in result
        names = sorted(path.name for path in uninterrupted.iterdir())
        assert sorted(path.name for path in saved.iterdir()) == names
        assert {"checkpoint_last.pt", "checkpoint_best.pt"} < set(names)
        for name in names:
            assert differences(remains(saved / name), remains(uninterrupted / name)) == [], name


@pytest.fixture(scope="module")
def runs(commands, tmp_path_factory):
    """Prepares a system's data and trains it once without interruption, in the folder ``whole``."""

    @cache
    def make(name: str) -> Run:
        prepare, flags = TRAININGS[name]
        run = Run(commands, tmp_path_factory.mktemp("interrupted"), flags)
        prepare(commands, run.folder)
        run(run.folder / "whole").succeeded(flags)
        return run

    return make


@pytest.mark.parametrize(
    "name, cut, code, reached",
    [
        # within the copy that a training resumes from, where an epoch has ended
        ("levt", "CUT_SHORT=checkpoint_last:3:30000", -signal.SIGXFSZ, 6),
        # the copy that is best so far is all there, and has not got its name; an epoch has ended
        ("pbd", "CUT_SHORT=checkpoint_best:4:-1", -signal.SIGKILL, 9),
        # within one of the best, of which two are kept: the last digits of a machine decide when
        ("enct5", "CUT_SHORT=checkpoint.best_:2:30000", -signal.SIGXFSZ, None),
        # asked to end between two saves, while other processes read ahead
        ("gated", "ASKED=SIGTERM:train_step:11", 128 + signal.SIGTERM, 11),
        # within the validation after update 6
        ("levt", "ASKED=SIGUSR1:valid_step:3", 128 + signal.SIGUSR1, 7),
        # where an epoch ends, with a validation and a save
        ("levt", "ASKED=SIGINT:train_step:8", 128 + signal.SIGINT, 8),
    ],
)
def test_a_training_that_was_stopped_ends_as_if_it_never_had_been(
    runs, tmp_path, name, cut, code, reached
):
    run, saved = runs(name), tmp_path / "saved"
    variable, _, value = cut.partition("=")
    stopped = run(saved, **{variable: value})
    assert stopped.code == code
    # workers of a process that is killed may tell of it
    assert code == -signal.SIGKILL or "Traceback" not in stopped.err
    if variable == "ASKED":
        line = f"{value.partition(':')[0]}: the training ends after {reached} updates"
        assert stopped.err.count(line) == 1
    else:
        assert [path.name for path in saved.glob("*.tmp")], "the kill was within a write"
    if reached is None:
        reached = state(saved / "checkpoint_last.pt")["optimizer_history"][-1]["num_updates"]
        assert 0 < reached < 17
    run.assert_resumes(saved, reached)
    run.assert_resumes(saved, 17)  # the same command again, where all is done
