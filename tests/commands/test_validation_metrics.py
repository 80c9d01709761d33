"""Validation selects checkpoints by TER or any other metric of decoded text."""

import re

import pytest
from states import state

from lev_plugins.metrics.corpus import METRICS


def values(log: str, name: str) -> list[float]:
    """Returns what validations gave for a metric, in order."""
    pattern = rf"valid on 'valid' subset \|.*\| {name} ([0-9.]+)"
    return list(map(float, re.findall(pattern, log)))


@pytest.fixture(scope="module")
def best(commands, pairs, tmp_path_factory):
    """Returns the best checkpoint of four epochs from nothing, and its score."""
    path = tmp_path_factory.mktemp("ter") / "checkpoint_best.pt"
    flags = "--eval-metrics ter --best-checkpoint-metric ter --max-update 32"
    log = commands.done(pairs.train(f"{flags} --save-dir {path.parent}"), pairs.folder).out
    scores, kept = values(log, "ter"), state(path)["extra_state"]["val_loss"]
    assert len(scores) == 4 and 0 < kept == min(scores) < max(scores)
    return path, kept


def test_generating_with_the_best_checkpoint_gives_its_ter(commands, pairs, best):
    command = pairs.generate("--gen-subset valid --scoring ter", best[0])
    (score,) = re.findall(r"TER = ([0-9.]+) ", commands.done(command, pairs.folder).out)
    assert float(score) == best[1]


def test_two_processes_give_the_scores_of_one(commands, pairs, best, tmp_path, root):
    """Eleven sentences in batches of three: the second process runs out first."""
    start = f"--finetune-from-model {best[0]} --lr 0 --max-update 1 --batch-size 3"
    flags = f"{start} --eval-metrics {','.join(METRICS)} --save-dir {tmp_path}"
    single = commands.done(pairs.train(f"{flags}/one"), tmp_path).out
    ranks = commands.ranks(pairs.train(f"{flags}/two"), root)
    first, _ = (rank.succeeded(flags).out for rank in ranks)
    scores = {name: values(single, name) for name in METRICS}
    assert {name: values(first, name) for name in METRICS} == scores
    assert set(map(len, scores.values())) == {1} and scores["ter"] == [best[1]]
