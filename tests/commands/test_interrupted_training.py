"""Trainings that are killed, at any moment and within a write, end as if they never had been."""

import os
import random
import re
import shutil
import signal
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import checkpoints
import conftest
import enct5_corpus
import pytest
import torch
from processes import are_gone, descendants, is_alive

import lev_plugins  # noqa: F401  (torch may then read checkpoints)

CUT_SHORT = Path(__file__).with_name("cut_short")
TIMEOUT = 300  # seconds
# Every save is a validation too; names of all kinds are written and cleared away.
SAVING = (
    "--save-interval-updates {every} --keep-interval-updates 2 --keep-best-checkpoints 2 "
    "--no-epoch-checkpoints --log-format simple --log-interval 1 --seed 5 --cpu"
)
DROPOUT = "--dropout 0.3 --attention-dropout 0.1"
DECAY = (
    "--lr-scheduler polynomial_decay --warmup-updates 3 --total-num-update 70 "
    "--adam-betas (0.9,0.98) --clip-norm 1"
)
PAIR = "--criterion label_smoothed_cross_entropy --label-smoothing 0.1 --batch-size 16"
WORDS = "apple banana cherry damson elderberry figtree grapes hazelnut".split()


class Training(NamedTuple):
    """A command that draws all that its system can draw; ``{data}`` is where :attr:`prepare` says.

    epoch: updates of one, so that kills are seen to fall into several.
    """

    prepare: Callable[[conftest.Commands, Path], Path]
    flags: str
    epoch: int


def triples(commands: conftest.Commands, folder: Path) -> Path:
    conftest.prepared(
        commands, folder, "--source-lang src --target-lang tgt --draft-lang mt", joined=True
    )
    return folder / "bin"


def pairs(commands: conftest.Commands, folder: Path) -> Path:
    conftest.prepared(commands, folder, "--source-lang src --target-lang tgt", joined=True)
    return folder / "bin"


def tags(commands: conftest.Commands, folder: Path) -> Path:
    return enct5_corpus.prepared(commands, folder, "tagging").data


def text(commands: conftest.Commands, folder: Path) -> Path:
    """Clean text, which becomes noisy as it is read, anew in every epoch."""
    draw = random.Random(1)
    for split, size in (("train", 120), ("valid", 9)):
        lines = (" ".join(draw.choices(WORDS, k=draw.randint(1, 4))) for _ in range(size))
        (folder / f"{split}.clean").write_text("".join(f"{line}\n" for line in lines))
    letters = [chr(code) for code in range(33, 127)] + ["▁"]
    for side in ("noisy", "clean"):
        (folder / f"dict.{side}.txt").write_text("".join(f"{one} 1\n" for one in letters))
    return folder


def backbone(commands: conftest.Commands, folder: Path) -> Path:
    """Clean text, and a tiny BERT in the folder ``bert``."""
    checkpoints.bert(folder / "bert")
    lines = ["the cat sat", "a cat sat on the mat", "the mat", "unhappy cats sat", "a mat"]
    for split, times in (("train", 24), ("valid", 1)):
        (folder / f"{split}.clean").write_text("".join(f"{line}\n" for line in lines * times))
    commands.ok("python -m lev_plugins backbone bert --dict dict.noisy.txt", folder)
    shutil.copy(folder / "dict.noisy.txt", folder / "dict.clean.txt")
    return folder


LANGUAGES = "--source-lang noisy --target-lang clean"
TRAININGS = {
    "levenshtein_editor": Training(
        triples,
        "--task translation_edit --source-lang src --target-lang tgt --draft-lang mt "
        f"{conftest.MODEL} --share-all-embeddings --criterion edit_policy_loss --batch-size 32 "
        f"{DROPOUT} --activation-dropout 0.1 --roll-in-tokens sample --alpha-start 0 "
        "--deletion-trace --source-pointer "
        "--beta-start 0 --alpha 0.9 --beta 0.9 --roll-in-updates 20 "
        f"--optimizer adam --lr 0.01 {DECAY}",
        8,
    ),
    "gated_transformer": Training(
        text,
        f"--task noisy_translation {LANGUAGES} --noise all --bpe characters "
        f"--arch gated_transformer_char {conftest.ENCODER} --decoder-layers 1 "
        f"--share-all-embeddings --gates mask,copy,generate {PAIR} {DROPOUT} --num-workers 2 "
        f"--optimizer adam --lr 0.005 {DECAY}",
        8,
    ),
    "pbd_transformer": Training(
        pairs,
        f"--task translation --arch pbd_transformer_char {conftest.ENCODER} {PAIR} {DROPOUT} "
        "--batch-size 15 --required-batch-size-multiple 1 --update-freq 2 "
        f"--optimizer muon --lr 0.005 {DECAY}",
        9,
    ),
    "enct5": Training(
        tags,
        f"--task enct5 --arch enct5 {enct5_corpus.SIZES} --dropout 0.3 --criterion enct5 --pack "
        "--pack-length 20 --max-tokens 120 --ignore-unused-valid-subsets "
        "--best-checkpoint-metric word_accuracy --maximize-best-checkpoint-metric "
        "--optimizer adafactor --scale-parameter --lr 0.01 --lr-scheduler fixed",
        12,
    ),
}
# another optimizer of the examples
MORE_TRAININGS = {
    "gated_transformer, pre-trained": Training(
        backbone,
        f"--task noisy_translation {LANGUAGES} --noise swap --bpe hf "
        "--hf-directory {data}/bert --arch gated_bert_minilm --backbone {data}/bert "
        "--max-source-positions 9 --max-target-positions 9 --optimizer backbone_adam "
        f"--backbone-lr-ratio 0.1 --lr 0.01 {PAIR} {DROPOUT} {DECAY}",
        7,
    ),
}


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


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two states differ, bit for bit."""
    if torch.is_tensor(one) and torch.is_tensor(other):
        return [] if one.dtype == other.dtype and torch.equal(one, other) else [where]
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        return [x for name in one for x in differences(one[name], other[name], f"{where}/{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        both = enumerate(zip(one, other, strict=True))
        return [x for place, pair in both for x in differences(*pair, f"{where}/{place}")]
    return [] if type(one) is type(other) and one == other else [where]


def assert_the_same_ending(folder: Path, whole: Path) -> None:
    """The same files, none half written, and in each of them the same, bit for bit."""
    names = sorted(path.name for path in whole.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == names
    assert {"checkpoint_last.pt", "checkpoint_best.pt"} < set(names)
    for name in names:
        found, expected = remains(folder / name), remains(whole / name)
        assert len(expected["model"]) > 20 and expected["last_optimizer_state"]["state"]
        assert differences(found, expected) == [], name


def assert_none_is_torn(folder: Path) -> None:
    """Whatever has a checkpoint's name is one, whole."""
    for path in folder.glob("*.pt"):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None, path
        assert remains(path)["model"], path


def updates(folder: Path) -> int:
    """How far the training that stopped here had come when it last saved."""
    last = folder / "checkpoint_last.pt"
    return remains(last)["now"]["num_updates"] if last.exists() else 0


# a short training, killed once or twice ---------------------------------------------------------


class Runs:
    """The command of a system, begun as often as is wanted, in a process that is warm."""

    def __init__(self, name: str, commands: conftest.Commands, folder: Path) -> None:
        self.commands = commands
        self.training = {**TRAININGS, **MORE_TRAININGS}[name]
        self.folder = folder
        self.data = self.training.prepare(commands, folder)

    def start(
        self,
        saved: Path,
        cut: str = "",
        asked: str = "",
        more: str = "",
        last: int = 17,
        every: int = 3,
    ) -> tuple[int, list[Path]]:
        """Seventeen updates: two epochs, and saves in the midst and at the end of each."""
        environ = {"PYTHONPATH": str(conftest.ROOT)} | ({"CUT_SHORT": cut} if cut else {})
        environ |= {"ASKED": asked} if asked else {}
        flags = f"{self.training.flags.format(data=self.data)} {SAVING.format(every=every)} {more}"
        command = f"fairseq-train {self.data} --user-dir {CUT_SHORT} {flags} --save-dir {saved}"
        return self.commands.start(f"{command} --max-update {last}", self.folder, environ=environ)

    def __call__(self, saved: Path, **how: Any) -> conftest.Result:
        return self.commands.finish(self.start(saved, **how))

    def done(self, saved: Path, **how: Any) -> conftest.Result:
        result = self(saved, **how)
        assert result.code == 0, result.out[-3000:] + result.err[-3000:]
        return result


@pytest.fixture(scope="module")
def runs(commands, tmp_path_factory):
    """Prepares a system's data and trains it once without interruption, in the folder ``whole``."""
    made: dict[str, Runs] = {}

    def make(name: str) -> Runs:
        if name not in made:
            made[name] = Runs(name, commands, tmp_path_factory.mktemp("interrupted"))
            made[name].done(made[name].folder / "whole")
        return made[name]

    return make


@pytest.mark.parametrize(
    ("name", "cut", "reached"),
    [
        # within the copy that a training resumes from, where an epoch has ended
        ("levenshtein_editor", "checkpoint_last:3:30000", 6),
        # within the first file of a save, in the second epoch; see also the test below
        pytest.param(*("gated_transformer", "checkpoint_2_12:1:30000", 9), marks=pytest.mark.long),
        # the copy that is best so far is all there, and has not got its name; an epoch has ended
        ("pbd_transformer", "checkpoint_best:4:-1", 9),
        # within one of the best, of which two are kept
        ("enct5", "checkpoint.best_:2:30000", 3),
    ],
)
def test_a_training_killed_within_a_save_ends_as_if_it_never_had_been(
    runs, tmp_path, name, cut, reached
):
    run = runs(name)
    whole, saved = run.folder / "whole", tmp_path / "saved"
    assert (whole / "checkpoint_last.pt").stat().st_size > 60000, "a cut is within a file"
    killed = run(saved, cut=cut)
    assert killed.code == -(signal.SIGKILL if cut.endswith("-1") else signal.SIGXFSZ)
    assert_none_is_torn(saved)
    assert [path.name for path in saved.glob("*.tmp")], "the kill was within a write"
    assert updates(saved) == reached
    resumed = run.done(saved)
    assert f"@ {reached} updates)" in resumed.out and "Loaded checkpoint" in resumed.out
    assert_the_same_ending(saved, whole)


def test_a_training_in_bf16_that_is_killed_ends_as_if_it_never_had_been(runs, tmp_path):
    """What the optimizer moves is of single precision; the model's parameters are not."""
    run, whole, saved = runs("enct5"), tmp_path / "whole", tmp_path / "saved"
    run.done(whole, more="--bf16")
    assert run(saved, cut="checkpoint_last:3:-1", more="--bf16").code == -signal.SIGKILL
    assert 0 < updates(saved) < 17
    run.done(saved, more="--bf16")
    assert_the_same_ending(saved, whole)
    found = remains(whole / "checkpoint_last.pt")
    plain = remains(run.folder / "whole" / "checkpoint_last.pt")
    assert all(torch.equal(one, one.bfloat16().float()) for one in found["model"].values())
    assert differences(found["model"], plain["model"]), "it was not bf16"


def wait_for(log: Path, updates: int, running: Callable[[], bool]) -> None:
    """Until a training has told that it came so far."""
    end = time.monotonic() + TIMEOUT
    told = 0
    while told < updates:
        assert running() and time.monotonic() < end, log.read_text("utf-8", "replace")[-3000:]
        time.sleep(0.002)
        found = re.findall(r"num_updates=(\d+)", log.read_text("utf-8", "replace"))
        told = int(found[-1]) if found else 0


def test_a_training_killed_between_updates_ends_as_if_it_never_had_been(runs, tmp_path):
    """In the second epoch, with processes that read ahead; killed from outside."""
    run, saved = runs("gated_transformer"), tmp_path / "saved"
    pid, streams = started = run.start(saved)
    wait_for(streams[1], 11, lambda: is_alive(pid))
    os.kill(pid, signal.SIGKILL)
    assert run.commands.finish(started).code == -signal.SIGKILL
    reached = updates(saved)
    assert run.training.epoch < reached < 17
    assert f"@ {reached} updates)" in run.done(saved).out
    assert_the_same_ending(saved, run.folder / "whole")


# a training that is asked to end ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ("SIGTERM:train_step:11", 11),  # between two saves
        ("SIGUSR1:valid_step:3", 7),  # within the validation behind update 6
        ("SIGTERM:train_step:8", 8),  # where an epoch ends, with a validation and a save
    ],
)
def test_a_training_asked_to_end_saves_and_ends_as_if_it_never_had_been(
    runs, tmp_path, asked, reached
):
    run, saved = runs("levenshtein_editor"), tmp_path / "saved"
    number = getattr(signal, asked.partition(":")[0])
    asked_to_end = run(saved, asked=asked)
    assert asked_to_end.code == 128 + number
    assert f"{number.name}: the training ends after {reached} updates" in asked_to_end.err
    assert updates(saved) == reached
    assert f"@ {reached} updates)" in run.done(saved).out
    assert_the_same_ending(saved, run.folder / "whole")


def test_a_signal_to_all_processes_of_a_job_leaves_those_that_load_data_alone(runs, tmp_path):
    run, saved = runs("gated_transformer"), tmp_path / "saved"
    pid, streams = started = run.start(saved)
    wait_for(streams[1], 10, lambda: is_alive(pid))
    workers = descendants(pid)
    assert workers, "nothing is tested"
    for one in (*workers, pid):
        os.kill(one, signal.SIGTERM)
    assert run.commands.finish(started).code == 128 + signal.SIGTERM
    assert are_gone(workers, 10)
    reached = updates(saved)
    assert 10 <= reached < 17
    assert f"@ {reached} updates)" in run.done(saved).out
    assert_the_same_ending(saved, run.folder / "whole")


# a torn checkpoint, a full disk -------------------------------------------------------------------


@pytest.fixture
def stopped(runs, tmp_path):
    """The folder of a training that stopped after 15 of 17 updates."""
    shutil.copy(runs("enct5").folder / "whole" / "checkpoint_2_15.pt", tmp_path)
    shutil.copy(tmp_path / "checkpoint_2_15.pt", tmp_path / "checkpoint_last.pt")
    return tmp_path


def test_a_torn_checkpoint_is_told_and_stays(runs, stopped):
    """It was torn elsewhere: by a copy, or a machine that lost its power."""
    last = stopped / "checkpoint_last.pt"
    os.truncate(last, last.stat().st_size // 2)
    before = {path.name: path.read_bytes() for path in stopped.iterdir()}
    assert runs("enct5")(stopped).error.startswith(f"checkpoint {last}: damaged")
    assert {path.name: path.read_bytes() for path in stopped.iterdir()} == before


def test_a_full_disk_ends_a_training_in_one_line_and_costs_nothing(runs, stopped):
    run, last = runs("enct5"), stopped / "checkpoint_last.pt"
    before = last.read_bytes()
    (stopped / "checkpoint_last.pt.tmp").symlink_to("/dev/full")
    assert f"{last} is not written (No space left on device)" in run(stopped).error
    assert last.read_bytes() == before and not list(stopped.glob("*.tmp"))
    assert "@ 15 updates)" in run.done(stopped).out
    assert differences(remains(last), remains(run.folder / "whole" / last.name)) == []


# a longer training, killed again and again --------------------------------------------------------

LONG = 64  # updates
KILLS = 6


def kill_between_updates(run: Runs, saved: Path, draw: random.Random) -> str:
    """SIGKILL from outside, some updates and some milliseconds after the last save."""
    there = min(updates(saved) + draw.randint(1, 14), LONG - 2)
    pid, streams = started = run.start(saved, last=LONG, every=5)
    wait_for(streams[1], there, lambda: is_alive(pid))
    time.sleep(draw.uniform(0, 0.05))
    workers = descendants(pid)
    os.kill(pid, signal.SIGKILL)
    assert run.commands.finish(started).code == -signal.SIGKILL
    assert are_gone(workers, 30), "processes of a killed training live on"
    return f"SIGKILL between updates, {len(workers)} processes besides"


def kill_within_a_write(run: Runs, saved: Path, draw: random.Random) -> str:
    """The end at a random byte, or before the new name, of a random file."""
    size = (run.folder / "whole" / "checkpoint_last.pt").stat().st_size
    number = draw.randint(1, 9 if updates(saved) < LONG // 2 else 4)
    cut = f"checkpoint:{number}:{draw.choice([-1, *draw.choices(range(size), k=4)])}"
    assert run(saved, cut=cut, last=LONG, every=5).code in (-signal.SIGKILL, -signal.SIGXFSZ)
    torn = max(saved.glob("*.tmp"), key=lambda path: path.stat().st_mtime_ns)
    return f"within {torn.name.removesuffix('.tmp')}, at byte {torn.stat().st_size} of about {size}"


@pytest.mark.long
@pytest.mark.parametrize("name", [*TRAININGS, *MORE_TRAININGS])
def test_a_training_killed_again_and_again_ends_as_if_it_never_had_been(commands, tmp_path, name):
    """Prints where it was killed: ``-s`` shows it."""
    run = Runs(name, commands, tmp_path)
    whole, saved, draw = tmp_path / "whole", tmp_path / "saved", random.Random(name)
    run.done(whole, last=LONG, every=5)
    ways = [kill_between_updates, kill_within_a_write] * (KILLS // 2)
    draw.shuffle(ways)
    for kill in ways:
        told = kill(run, saved, draw)
        assert_none_is_torn(saved)
        reached = updates(saved)
        assert reached < LONG
        print(f"{name}: {told}; next from update {reached}, {run.training.epoch} an epoch")
    run.done(saved, last=LONG, every=5)
    assert updates(saved) == LONG
    assert_the_same_ending(saved, whole)
