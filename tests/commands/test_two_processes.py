"""Two processes on a CPU train what one process trains with twice the update frequency."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import conftest
import pytest
import torch
from conftest import ENCODER, SEVERAL, TRAINING, TWO
from enct5_corpus import prepared
from processes import descendants, is_alive
from states import parameters

import lev_plugins  # noqa: F401  (torch may then read checkpoints)

SIZES = f"{ENCODER} --decoder-layers 1"
BIN = Path(sys.executable).parent
# Plain gradient descent: differences stay as small as they arise.
DESCENT = (
    "--batch-size 8 --optimizer sgd --lr 0.5 --clip-norm 1 --disable-validation "
    "--save-interval-updates 1"
)
FLAGS = f"--alpha 0.4 --beta 0.4 {DESCENT} --save-dir"
SEQ2SEQ = (
    f"{SIZES} --share-all-embeddings --dropout 0 --attention-dropout 0 "
    f"--criterion label_smoothed_cross_entropy {TRAINING}"
)
#: system → task, and what it is trained by on the triples
SYSTEMS = {
    "levt": (
        "translation_edit",
        "--draft-lang mt --alpha 0.4 --beta 0.4 --deletion-trace --roll-in-tokens sample",
    ),
    "concat": ("translation_concat", f"--draft-lang mt --arch transformer_concat_char {SEQ2SEQ}"),
    "pbd": ("translation", f"--arch pbd_transformer_char {SEQ2SEQ}"),
    "gated": ("translation", f"--arch gated_transformer_char --gates all {SEQ2SEQ}"),
    "enct5": ("enct5", ""),
}


def assert_alike(single, two):
    first, second = (parameters(folder / "checkpoint_last.pt") for folder in (single, two))
    assert first.keys() == second.keys()
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, rtol=1e-5, atol=1e-5)
    start = parameters(single / "checkpoint_1_1.pt")
    moved = [name for name in first if (first[name] - start[name]).abs().max() > 2e-3]
    assert len(moved) > 20, "hardly anything was learnt: nothing was tested"


def training_of(system, commands, triples, folder):
    """The beginning of a training's command, without data that are left over or dropout."""
    flags = SYSTEMS[system][1]
    if system == "enct5":
        return prepared(commands, folder, "tagging").train(DESCENT)
    if system == "levt":
        return triples.train(f"{DESCENT} {flags}")
    languages = "--source-lang src --target-lang tgt"
    return f"fairseq-train {triples.data} {languages} {flags} {DESCENT}"


@pytest.mark.parametrize(
    "system",
    [name if name == "levt" else pytest.param(name, marks=pytest.mark.slow) for name in SYSTEMS],
)
def test_two_processes_of_the_default_backend_train_what_one_does(
    system, commands, triples, tmp_path, root
):
    """Every epoch has five batches: in its third update the second process has none to learn from.

    The backend stops where a parameter gets no gradient.
    """
    task, single, two = SYSTEMS[system][0], tmp_path / "one", tmp_path / "two"
    command = f"{training_of(system, commands, triples, tmp_path)} --max-update 7"
    command += f" --batch-size {40 if system == 'enct5' else 56} --save-dir"
    commands.done(f"{command} {single} --update-freq 2", tmp_path, task=task)
    plugged = f"--user-dir {conftest.PACKAGE} --task {task}"
    several = "--distributed-backend gloo --ddp-backend pytorch_ddp"
    for rank in commands.ranks(f"{command} {two} {plugged} {several}", root, None):
        assert rank.code == 0, rank.err
    assert_alike(single, two)


def wait_for_updates(pid, *logs):
    """Returns when a training has made three updates."""
    end = time.monotonic() + conftest.TIMEOUT
    while not any("num_updates=3," in log.read_text() for log in logs):
        assert time.monotonic() < end and is_alive(pid)
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_torchrun_asked_to_end_saves_one_state_and_two_processes_resume_as_one_trains(
    commands, triples, tmp_path, root, number
):
    """The signal reaches all processes of the job, and those of torchrun once more by torchrun."""
    single, two = tmp_path / "one", tmp_path / "two"
    command = triples.train(f"{FLAGS} {two} --log-interval 1")
    torchrun = f"torchrun --standalone --nproc_per_node 2 {BIN}/fairseq-train"
    words = f"{command} {TWO} --max-update 4000".replace("fairseq-train", torchrun)
    words += f" --user-dir {conftest.PACKAGE} --task translation_edit"
    pid, (_, *logs) = started = commands.start(words, tmp_path)
    wait_for_updates(pid, *logs)
    for process in (pid, *descendants(pid)):
        os.kill(process, number)
    result = commands.finish(started)
    assert result.code != 0 and "training on 2 devices" in result.out
    (reached,) = re.findall(rf"{number.name}: the training ends after (\d+) updates", result.err)
    last = f"--max-update {int(reached) + 3}"
    first, second = commands.ranks(f"{command} {last}", root)
    assert first.code == second.code == 0, first.err + second.err
    assert f"@ {reached} updates)" in first.out
    commands.done(triples.train(f"{FLAGS} {single} --update-freq 2 {last}"), tmp_path)
    assert_alike(single, two)


@pytest.mark.slow
def test_a_signal_to_one_process_ends_both_after_the_same_update(commands, pairs, tmp_path):
    command = pairs.train(f"{FLAGS} {tmp_path}/saved --max-update 4000 --log-interval 1")
    words = f"{command} {SEVERAL} --user-dir {conftest.PACKAGE} --task translation_edit"
    started = commands.start_ranks(words, tmp_path, None)
    wait_for_updates(started[0][0], started[0][1][1])
    os.kill(started[1][0], signal.SIGINT)
    results = [commands.finish(process) for process in started]
    assert [result.code for result in results] == [128 + signal.SIGTERM, 128 + signal.SIGINT]
    assert [result.err.count("the training ends after") for result in results] == [1, 0]
    assert not any("Traceback" in result.err + result.out for result in results)
