"""Validation selects a checkpoint by decoded text; all metrics: tests/tasks/test_validation.py."""

import re

from states import state


def test_the_best_checkpoint_has_the_ter_that_generating_with_it_gives(commands, pairs, tmp_path):
    flags = f"--eval-metrics ter --best-checkpoint-metric ter --save-dir {tmp_path}"
    log = commands.done(pairs.train(f"{flags} --max-update 32"), tmp_path).out
    scores = re.findall(r"valid on 'valid' subset \|.*\| ter ([0-9.]+)", log)
    path = tmp_path / "checkpoint_best.pt"
    kept = state(path)["extra_state"]["val_loss"]
    assert len(scores) == 4 and 0 < kept == min(map(float, scores)) < max(map(float, scores))
    command = pairs.generate("--gen-subset valid --scoring ter", path)
    assert f"TER = {kept:.2f} " in commands.done(command, pairs.folder).out
