"""Validation selects checkpoints by TER, ROUGE or any other metric of decoded text."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from states import state

from lev_plugins.metrics.corpus import METRICS

ALL = ",".join(METRICS)


class Selected(NamedTuple):
    """A training that kept its best checkpoint: where, and the score of every validation."""

    folder: Path
    scores: list[float]

    @property
    def best(self) -> Path:
        return self.folder / "checkpoint_best.pt"


def values(log: str, name: str) -> list[float]:
    """What validations gave for a metric, in order."""
    lines = [line for line in log.splitlines() if "valid on 'valid' subset |" in line]
    return [float(re.search(rf"\| {name} ([0-9.]+)", line)[1]) for line in lines]


def selected(commands, corpus, folder, name, flags):
    """Trains and selects by a metric."""
    training = f"--eval-metrics {name} --best-checkpoint-metric {name} {flags} --save-dir {folder}"
    log = commands.done(corpus.train(training), corpus.folder).out
    return Selected(folder, values(log, name))


@pytest.fixture(scope="module")
def by_ter(commands, pairs, tmp_path_factory):
    """Four epochs from nothing."""
    return selected(commands, pairs, tmp_path_factory.mktemp("ter"), "ter", "--max-update 32")


@pytest.fixture(scope="module")
def by_rouge(commands, pairs, tmp_path_factory):
    """Steps that are far too long spoil a good model, a little more with each."""
    flags = (
        f"--maximize-best-checkpoint-metric --finetune-from-model {pairs.checkpoint} --lr 0.03 "
        "--max-update 6 --validate-interval-updates 2 --save-interval-updates 2"
    )
    return selected(commands, pairs, tmp_path_factory.mktemp("rouge"), "rouge2", flags)


def saved_score(path):
    return state(path)["extra_state"]["val_loss"]


def test_the_checkpoint_with_the_lowest_ter_is_kept(by_ter):
    assert len(by_ter.scores) == 4
    assert saved_score(by_ter.best) == min(by_ter.scores) < max(by_ter.scores)


def test_the_checkpoint_with_the_highest_rouge_is_kept(by_rouge):
    assert len(by_rouge.scores) == 3
    assert saved_score(by_rouge.best) == max(by_rouge.scores) > min(by_rouge.scores)


@pytest.mark.parametrize(
    ("fixture", "scoring", "shown"), [("by_ter", "ter", "TER"), ("by_rouge", "rouge", "ROUGE-2")]
)
def test_validation_gives_what_fairseq_generate_gives(
    request, commands, pairs, fixture, scoring, shown
):
    training = request.getfixturevalue(fixture)
    flags = f"--gen-subset valid --scoring {scoring}"
    result = commands.done(pairs.generate(flags, training.best), pairs.folder)
    (score,) = re.findall(rf"{shown} = ([0-9.]+) ", result.out)
    assert float(score) == saved_score(training.best)
    assert 0 < float(score)


def test_two_processes_give_the_scores_of_one(commands, pairs, by_ter, tmp_path, root):
    """Eleven sentences in batches of three: the second process runs out first."""
    start = f"--finetune-from-model {by_ter.best} --lr 0 --max-update 1 --batch-size 3"
    flags = f"{start} --eval-metrics {ALL} --save-dir {tmp_path}"
    one = commands.done(pairs.train(f"{flags}/one"), tmp_path).out
    first, second = commands.ranks(pairs.train(f"{flags}/two"), root)
    assert first.code == second.code == 0, first.err + second.err
    assert "training on 2 devices" in first.out
    scores = {name: values(one, name) for name in METRICS}
    assert {name: values(first.out, name) for name in METRICS} == scores
    assert all(len(found) == 1 for found in scores.values())
    assert scores["ter"][0] == saved_score(by_ter.best) > 0
    assert all(scores[name][0] < 100 for name in METRICS if not name.startswith("ter"))


def test_fairseq_validate_counts_what_the_training_counted(commands, pairs, by_ter):
    command = f"fairseq-validate {pairs.data} --path {by_ter.best} --batch-size 3 --cpu"
    log = commands.done(command, pairs.folder).out
    assert values(log, "ter")[-1] == saved_score(by_ter.best)
