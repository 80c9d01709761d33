"""Validation selects checkpoints by TER or any other metric of decoded text."""

import re

import pytest
from states import state

from lev_plugins.metrics.corpus import METRICS

ALL = ",".join(METRICS)


def values(log: str, name: str) -> list[float]:
    """What validations gave for a metric, in order."""
    lines = [line for line in log.splitlines() if "valid on 'valid' subset |" in line]
    return [float(re.search(rf"\| {name} ([0-9.]+)", line)[1]) for line in lines]


@pytest.fixture(scope="module")
def by_ter(commands, pairs, tmp_path_factory):
    """Four epochs from nothing: the log, and the best checkpoint."""
    folder = tmp_path_factory.mktemp("ter")
    flags = f"--eval-metrics ter --best-checkpoint-metric ter --max-update 32 --save-dir {folder}"
    log = commands.done(pairs.train(flags), pairs.folder).out
    return log, folder / "checkpoint_best.pt"


@pytest.fixture
def best(by_ter):
    return by_ter[1]


def saved_score(path):
    return state(path)["extra_state"]["val_loss"]


def test_the_checkpoint_with_the_lowest_ter_is_kept(by_ter):
    log, best = by_ter
    scores = values(log, "ter")
    assert len(scores) == 4 and saved_score(best) == min(scores) < max(scores)


def test_validation_gives_what_fairseq_generate_gives(commands, pairs, best):
    flags = "--gen-subset valid --scoring ter"
    result = commands.done(pairs.generate(flags, best), pairs.folder)
    (score,) = re.findall(r"TER = ([0-9.]+) ", result.out)
    assert float(score) == saved_score(best) > 0


def test_two_processes_give_the_scores_of_one(commands, pairs, best, tmp_path, root):
    """Eleven sentences in batches of three: the second process runs out first."""
    start = f"--finetune-from-model {best} --lr 0 --max-update 1 --batch-size 3"
    flags = f"{start} --eval-metrics {ALL} --save-dir {tmp_path}"
    one = commands.done(pairs.train(f"{flags}/one"), tmp_path).out
    first, second = commands.ranks(pairs.train(f"{flags}/two"), root)
    assert first.code == second.code == 0, first.err + second.err
    assert "training on 2 devices" in first.out
    scores = {name: values(one, name) for name in METRICS}
    assert {name: values(first.out, name) for name in METRICS} == scores
    assert all(len(found) == 1 for found in scores.values())
    assert scores["ter"][0] == saved_score(best) > 0
    assert all(scores[name][0] < 100 for name in METRICS if not name.startswith("ter"))
