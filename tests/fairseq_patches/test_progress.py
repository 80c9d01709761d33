"""What a training says of its time, and what its processes tell each other."""

import logging
import signal
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.tasks import FairseqTask
from fairseq.trainer import Trainer
from fairseq_cli import train
from omegaconf import OmegaConf

from lev_plugins.fairseq_patches import progress, signals
from lev_plugins.fairseq_patches.hooks import TrainingHooks
from tests.fake_gpu import present, to_gpu


class Clock(TrainingHooks):
    """A learning rate's."""

    def __init__(self) -> None:
        self.agreed: list[float] = []

    def agree(self, seconds: float) -> None:
        self.agreed.append(seconds)


def trainer(updates: int, hours: float = 0.0, **limits: float) -> Any:
    """A training with so many updates behind it, which took ``hours``."""
    values = {"max_update": 0, "stop_time_hours": 0.0, "max_epoch": 0, **limits}
    return SimpleNamespace(
        cfg=SimpleNamespace(optimization=SimpleNamespace(**values)),
        get_num_updates=lambda: updates,
        cumulative_training_time=lambda: 3600 * hours,
        _local_cumulative_training_time=lambda: 3600 * hours,
        is_data_parallel_master=True,
    )


def last_line(caplog: pytest.LogCaptureFixture, running: Any, spent: str | None = None) -> str:
    """fairseq's last line of a training that begins, and ends at once."""
    progress.tell_progress(train)
    course = progress.Course.current = progress.Course(trainer(0), spent)
    course.trainer = running
    caplog.set_level(logging.INFO)
    train.logger.info(f"done training in {300:.1f} seconds")
    return str(caplog.messages[-1])


@pytest.mark.parametrize(
    ("updates", "limits", "advice"),
    [
        (5, {"stop_time_hours": 0.083}, "--stop-time-hours 34 "),
        (22, {"stop_time_hours": 0.083}, "--stop-time-hours 7.6 "),
        (199, {"max_epoch": 3}, "--max-epoch"),
        (199, {}, "--patience"),
    ],
)
def test_a_training_of_few_updates_says_what_to_do(caplog, updates, limits, advice):
    line = last_line(caplog, trainer(updates, 0.0831, **limits))
    assert line.startswith("done training in 300.0 seconds") and f"only {updates} updates" in line
    assert advice in line


@pytest.mark.parametrize(
    ("updates", "limits"),
    [(200, {"stop_time_hours": 0.083}), (5, {"max_update": 5}), (200, {"max_epoch": 1})],
)
def test_a_training_that_was_long_enough_or_as_long_as_told_says_nothing(caplog, updates, limits):
    assert last_line(caplog, trainer(updates, 0.0831, **limits)) == "done training in 300.0 seconds"


def test_a_training_with_nothing_left_to_do_names_the_limit(caplog):
    line = last_line(caplog, trainer(0, 1.0, stop_time_hours=0.5), "--stop-time-hours are used up")
    assert "nothing was left to do" in line and "--stop-time-hours" in line


def test_a_line_tells_the_time_left_in_the_midst_of_an_update(caplog, monkeypatch):
    monkeypatch.setattr(progress, "SILENCE", 0.2)
    caplog.set_level(logging.INFO)
    running = trainer(7, 0.25, stop_time_hours=1.0)
    with progress.Course(running, None).telling():
        time.sleep(1.0)  # an update that takes so long
    messages = [line for line in caplog.messages if "45.0 minutes left" in line]
    assert len(messages) >= 2 and messages[0].startswith("7 updates")
    caplog.clear()
    time.sleep(0.5)
    assert not caplog.messages, "behind its end"


def test_the_time_left_of_a_number_of_updates_is_estimated_from_those_made():
    course = progress.Course(trainer(100), None)
    course.trainer, course.start = trainer(150, max_update=300), time.monotonic() - 60
    assert course.time_left().startswith("about 3.0 minutes left")


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
        """What two processes have, of which the other has received SIGTERM."""
        others = [100.0, 0.0, 7200.0, 1.0, 0.0, 0.0]
        return outputs, [to_gpu(torch.tensor(a + b).double()) for a, b in zip(sums, others)]

    trainer._fast_stat_sync_sum = summed
    with present() as count:
        _, sums = trainer._aggregate_logging_outputs([{}], 50.0, 0.0, 3600.0)
        assert len(sums) == 3
        waits = count.waits.total()
        assert trainer.clip_grad_norm(1.0) == 1.0
        assert count.waits.total() == waits + 1
        assert trainer.cumulative_training_time() == 5400.0 == trainer.lr_scheduler.agreed[0]
        assert count.waits.total() == waits + 1
    assert signals.asked_by(trainer) == signal.SIGTERM
