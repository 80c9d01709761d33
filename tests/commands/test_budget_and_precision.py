"""LevT by the clock and in fp16, as on a GPU."""

import itertools

import torch
from conftest import PACKAGE
from fairseq import checkpoint_utils, tasks
from fairseq.trainer import Trainer
from saved import configuration

from lev_plugins.fairseq_patches.training import resolve

#: by the clock
FLAGS = (
    "--lr-scheduler time_budget --stop-time-hours 1 --batch-size 4 --alpha-start 0 --beta-start 0 "
    "--roll-in-updates 0.7 --optimizer muon --lr 0.004 --task translation_edit "
    f"--fp16 --user-dir {PACKAGE}"
)


def test_fp16_steps_as_on_a_gpu(triples, monkeypatch, tmp_path):
    """Computed on the CPU; only what looks for a GPU is told that there is one."""
    monkeypatch.chdir(tmp_path)
    words = triples.train(FLAGS).split()[1:]
    words.remove("--cpu")
    cfg = configuration(words)
    with monkeypatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: True)
        resolve(cfg)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: None)  # the CPU, to fairseq
    task = tasks.setup_task(cfg.task)
    trainer = Trainer(cfg, task, task.build_model(cfg.model), task.build_criterion(cfg.criterion))
    _, batches = checkpoint_utils.load_checkpoint(cfg.checkpoint, trainer)
    trainer.begin_epoch(1)
    trainer.lr_scheduler.started -= 400  # seconds: at the highest learning rate
    trainer.lr_step_update()
    before = [parameter.clone() for parameter in trainer.model.parameters()]
    assert {parameter.dtype for parameter in before} == {torch.float16}
    for batch in itertools.islice(batches.next_epoch_itr(shuffle=False), 2):
        assert trainer.train_step([batch])["loss"] > 0
    after = list(trainer.model.parameters())
    moved = list(map(torch.equal, before, after)).count(False)
    assert moved > len(after) / 2 and trainer.get_num_updates() == 2
    assert all(parameter.isfinite().all() for parameter in after)
