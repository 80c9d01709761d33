"""A learning rate that follows the time that has passed, not the updates that are done.

How fast a machine is, and what else it has to do, is not known before: a schedule of updates ends
early or late. This one ends with ``--stop-time-hours``, at any speed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from fairseq.optim import FairseqOptimizer
from fairseq.optim.lr_scheduler import FairseqLRScheduler, register_lr_scheduler
from omegaconf import II

from lev_runtime.errors import UserError

from ..fairseq_patches.hooks import TrainingHooks
from ..options import BELOW_ONE, Floats, option


@dataclass
class TimeBudgetConfig(FairseqDataclass):
    warmup_share: float = option(
        0.08, "share of --stop-time-hours for the warm-up to --lr", within=BELOW_ONE
    )
    processor_time: bool = option(
        False,
        "--stop-time-hours is CPU time summed over all cores, not wall-clock time, so "
        "other load on the machine does not shorten the training",
    )
    lr: Floats = II("optimization.lr")
    stop_time_hours: float = II("optimization.stop_time_hours")


@register_lr_scheduler("time_budget", dataclass=TimeBudgetConfig)
class TimeBudget(FairseqLRScheduler, TrainingHooks):
    """Linear warm-up and linear decay over ``--stop-time-hours``.

    The share of the time that has passed is kept in checkpoints: what a resumed training did before
    counts, the break does not. It stands as ``time_share``, in [0, 1], at the optimizer too, where
    tasks find it. Progress lines get ``minutes_left``. ``clock`` gives seconds, from any start; by
    default they pass with the clock, with ``processor_time`` with the work of all processes.

    The clocks of several processes differ. The rate follows what they have agreed on with
    :meth:`agree`: the mean of the :meth:`own_seconds` that each counts.
    """

    cfg: TimeBudgetConfig
    optimizer: FairseqOptimizer

    @classmethod
    def check_training(cls, cfg: Any) -> None:
        """Refuses a training that has no time to stop at."""
        if cfg.optimization.stop_time_hours <= 0:
            raise UserError("--lr-scheduler time_budget needs --stop-time-hours N")

    def __init__(
        self,
        cfg: TimeBudgetConfig,
        optimizer: FairseqOptimizer,
        clock: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(cfg, optimizer)
        self.clock = clock or (time.process_time if cfg.processor_time else time.monotonic)
        self.started = self.clock()
        self.before = 0.0  # seconds, until the training was resumed
        self.processes = 1
        self.agreed: float | None = None  # seconds, of several processes
        self.step_update(0)

    def own_seconds(self) -> float:
        """Returns the seconds of training, before breaks too, as this process counts them."""
        shares = self.processes if self.cfg.processor_time else 1  # of all that work now
        return self.before + shares * (self.clock() - self.started)

    @property
    def seconds(self) -> float:
        """Returns the seconds of training, before breaks too: the same in all processes."""
        return self.own_seconds() if self.agreed is None else self.agreed

    def begin_training(self, trainer: Any) -> None:
        """Makes the training end by this clock; all its processes begin at the same time."""
        self.processes = trainer.data_parallel_world_size
        if self.processes > 1:
            self.agree(self.before)
        trainer._local_cumulative_training_time = self.own_seconds
        trainer.cumulative_training_time = lambda: self.seconds
        trainer.lr_step_update()

    def agree(self, seconds: float) -> None:
        """Sets the time of all processes, until they agree on another."""
        self.agreed = seconds

    def state_dict(self) -> dict[str, float]:
        """Returns the state, which one process saves for all."""
        return {**super().state_dict(), "seconds": self.own_seconds()}

    def load_state_dict(self, state_dict: dict[str, float]) -> None:
        """Reads a state, also of another schedule; then the time begins now."""
        super().load_state_dict(state_dict)
        self.started = self.clock()
        self.before = state_dict.get("seconds", 0.0)

    def step_update(self, num_updates: int) -> float:
        """Sets the learning rate of this time; the number of updates does not count."""
        warmup = self.cfg.warmup_share
        total = 3600 * self.cfg.stop_time_hours
        left = max(total - self.seconds, 0.0)
        share = 1 - left / total
        metrics.log_scalar("minutes_left", left / 60, weight=0, priority=750, round=2)
        self.optimizer.time_share = share  # type: ignore[attr-defined]
        height = share / warmup if share < warmup else (1 - share) / (1 - warmup)
        self.optimizer.set_lr(self.cfg.lr[0] * height)
        return self.optimizer.get_lr()
