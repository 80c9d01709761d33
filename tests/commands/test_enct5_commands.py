"""``enct5`` with fairseq's commands: trained, validated, resumed, in two processes."""

import re
from functools import cache

import pytest
import torch
from conftest import SEVERAL
from enct5_corpus import prepared, scores
from states import state

BEST = "--maximize-best-checkpoint-metric --best-checkpoint-metric"
PACKED = "--pack --pack-length 20"
# kind → what is asked of its training, and the metric that tells whether the rule was found
ASKED = {
    "multilabel": (f"{BEST} rp@1 --keep-best-checkpoints 2 --max-update 12", "micro_f1", 90),
    "tagging": (f"{PACKED} --max-tokens 60 --update-freq 2 --max-update 24", "word_accuracy", 90),
}


@pytest.fixture(scope="module")
def corpus(commands, tmp_path_factory):
    """Prepares the data of a kind, once."""
    return cache(lambda kind: prepared(commands, tmp_path_factory.mktemp(kind), kind))


@pytest.mark.parametrize("kind", ASKED)
def test_a_rule_is_learnt_and_validate_gives_what_the_training_gave(corpus, kind):
    """Labels hold above the threshold that the validation found best."""
    flags, metric, least = ASKED[kind]
    folder = corpus(kind)
    log = folder.done(folder.train(f"{flags} --save-dir trained")).out
    last = folder.folder / "trained" / "checkpoint_last.pt"
    figures = scores(log)[-1]
    assert figures[metric] > least
    inside = [line for line in log.splitlines() if re.search(r"\| train(_inner)? \|", line)]
    assert inside and not any(f" {metric} " in line for line in inside)
    validation = f"fairseq-validate {folder.data} --path {last} --cpu --batch-size 4"
    assert scores(folder.done(validation).out) == [figures]
    assert state(last)["task_state"]["threshold"] == figures.get("threshold", 0.5)


@pytest.mark.parametrize("kind", ["multilabel", "tagging", "classification", "regression"])
def test_two_processes_train_count_and_tune_as_one_does(kind, corpus, commands, tmp_path, root):
    """Validation has two batches, and three: there the second process runs out first, and fairseq
    gives it one again that does not count."""
    folder = corpus(kind)
    flags = (
        f"{PACKED} --batch-size 8 --optimizer sgd --lr 0.1 --max-update 4 --dropout 0 "
        f"--validate-interval-updates 2 --valid-subset valid1,valid --save-dir {tmp_path}"
    )
    output = folder.done(folder.train(f"{flags}/one --update-freq 2")).out
    several = f"{SEVERAL} --user-dir lev_plugins --task enct5"
    first, second = commands.ranks(folder.train(f"{flags}/two {several}"), root)
    assert first.code == second.code == 0, first.err + second.err
    assert "training on 2 devices" in first.out
    single, two = (state(tmp_path / name / "checkpoint_last.pt") for name in ("one", "two"))
    torch.testing.assert_close(two["model"], single["model"], rtol=1e-5, atol=1e-5)
    for subset in ("valid1", "valid"):  # the first set selects the threshold for both
        figures = scores(output, subset)
        assert len(figures) == 2 and scores(first.out, subset) == figures
        for saved in (single, two):
            assert saved["task_state"]["threshold"] == figures[-1].get("threshold", 0.5)
