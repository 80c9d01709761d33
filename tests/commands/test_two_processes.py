"""Two processes on a CPU train what one process trains with twice the update frequency."""

import re
import signal
from pathlib import Path

import conftest
import pytest
import torch
from states import state

WATCHED = Path(__file__).with_name("watched")
# Plain gradient descent: differences stay as small as they arise.
DESCENT = (
    "--optimizer sgd --lr 0.5 --clip-norm 1 --disable-validation --save-interval-updates 1 "
    "--batch-size"
)
#: system → its model's flags on the triples
SYSTEMS = {
    "triples": "--alpha 0.4 --beta 0.4 --deletion-trace --roll-in-tokens sample",
    "concat": "--attention-dropout 0",
    "pbd": "--attention-dropout 0",
    "gated": "--attention-dropout 0",
}


def assert_alike(single: Path, two: Path) -> None:
    last = "checkpoint_last.pt"
    start, first, second = (
        state(path)["model"] for path in (single / "checkpoint_1_1.pt", single / last, two / last)
    )
    torch.testing.assert_close(second, first, rtol=1e-5, atol=1e-5)
    moved = [name for name in first if (first[name] - start[name]).abs().max() > 2e-3]
    assert len(moved) > 20, "hardly anything was learnt: nothing was tested"


@pytest.mark.parametrize("system", SYSTEMS)
def test_two_processes_of_the_default_backend_train_what_one_does(
    system, commands, trained, tmp_path, root
):
    """Every epoch has five batches: in its third update the second process has none to learn from.

    The backend stops where a parameter gets no gradient.
    """
    single, two = tmp_path / "one", tmp_path / "two"
    corpus = trained(system)
    command = corpus.train(f"{SYSTEMS[system]} {DESCENT} 56 --max-update 7 --save-dir")
    commands.done(f"{command} {single} --update-freq 2", tmp_path, task=corpus.task)
    several = "--distributed-backend gloo --ddp-backend pytorch_ddp"
    words = f"{command} {two} --user-dir {conftest.PACKAGE} --task {corpus.task} {several}"
    for rank in commands.ranks(words, root):
        rank.succeeded(words)
    assert_alike(single, two)


def test_a_signal_to_one_process_ends_both_and_they_resume_as_one_trains(
    commands, triples, tmp_path
):
    """Both end after the same update, and save one state."""
    single, two = tmp_path / "one", tmp_path / "two"
    command = triples.train(f"--alpha 0.4 --beta 0.4 {DESCENT} 8 --max-update 7 --save-dir")
    task = f"--user-dir {WATCHED} --task translation_edit"
    words = f"{command} {two} {conftest.SEVERAL} {task}"
    ours = {"PYTHONPATH": str(conftest.ROOT)}
    asked = {**ours, "ASKED": "SIGINT:train_step:4"}
    results = commands.ranks(words, tmp_path, (ours, asked))
    assert [result.code for result in results] == [128 + signal.SIGTERM, 128 + signal.SIGINT]
    assert not any("Traceback" in result.err + result.out for result in results)
    (reached,) = re.findall(
        r"the training ends after (\d+) updates", "".join(result.err for result in results)
    )
    first, second = commands.ranks(words, tmp_path, (ours, ours))
    assert first.code == second.code == 0, first.err + second.err
    assert f"@ {reached} updates)" in first.out
    commands.done(f"{command} {single} --update-freq 2", tmp_path)
    assert_alike(single, two)
