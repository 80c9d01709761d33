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
def best(commands, pairs, tmp_path_factory):
    """The best checkpoint of four epochs from nothing, and its score."""
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
    flags = f"{start} --eval-metrics {ALL} --save-dir {tmp_path}"
    single = commands.done(pairs.train(f"{flags}/one"), tmp_path)
    first, second = commands.ranks(pairs.train(f"{flags}/two"), root)
    assert first.code == second.code == 0, first.err + second.err
    for name in METRICS:
        assert len(values(single.out, name)) == 1
        assert values(first.out, name) == values(single.out, name)
    assert values(single.out, "ter") == [best[1]]
