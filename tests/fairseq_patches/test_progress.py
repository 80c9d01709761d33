"""The processes of a training agree on time and signals."""

import signal
from types import SimpleNamespace
from typing import Any

import torch
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.tasks import FairseqTask
from fairseq.trainer import Trainer
from omegaconf import OmegaConf

from lev_plugins.fairseq_patches import signals
from lev_plugins.fairseq_patches.hooks import TrainingHooks
from tests.fake_gpu import present, to_gpu


class Clock(TrainingHooks):
    """A learning rate's."""

    def agree(self, seconds: float) -> None:
        self.seconds = seconds


def test_processes_agree_on_time_and_signals_with_one_wait(monkeypatch):
    """In fairseq the host waits for the device whenever it compares the time with its limit."""
    trainer = object.__new__(Trainer)
    trainer.cfg = OmegaConf.create({"distributed_training": {"distributed_world_size": 2}})
    trainer._lr_scheduler = Clock()
    trainer._optimizer = SimpleNamespace(clip_grad_norm=lambda norm, aggregate_norm_fn: norm)
    monkeypatch.setattr(Trainer, "data_parallel_world_size", 2)
    monkeypatch.setattr(Trainer, "is_fsdp", False)
    trainer.task, trainer._criterion = FairseqTask(None), CrossEntropyCriterion(None, True)

    def summed(outputs: Any, *sums: float, ignore: bool) -> Any:
        """What two processes have, of which the other has received a signal."""
        others = [100.0, 0.0, 7200.0, 1.0]
        return outputs, [to_gpu(torch.tensor(a + b).double()) for a, b in zip(sums, others)]

    trainer._fast_stat_sync_sum = summed
    assert signals.asked_by(trainer) == 0
    with present() as count:
        trainer._aggregate_logging_outputs([{}], 50.0, 0.0, 3600.0)
        waits = count.waits.total()
        assert trainer.clip_grad_norm(1.0) == 1.0
        assert trainer.cumulative_training_time() == 5400.0 == trainer.lr_scheduler.seconds
        assert count.waits.total() == waits + 1
    assert signals.asked_by(trainer) == signal.SIGTERM
