"""A learning rate that follows the time: at any speed it ends with the budget."""

import time
from typing import Any

import pytest
import torch
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig
from omegaconf import OmegaConf

from lev_plugins.errors import UserError
from lev_plugins.optim import TimeBudget, TimeBudgetConfig

HOUR = 3600.0


class Clock:
    """Seconds that pass when a test says so."""

    now = 1e6

    def __call__(self) -> float:
        return self.now


def schedule(clock: Clock | None, **given: Any) -> TimeBudget:
    values = {"lr": [1.0], "stop_time_hours": 1.0, "distributed_world_size": 1, **given}
    cfg = OmegaConf.merge(OmegaConf.structured(TimeBudgetConfig), values)
    adam = OmegaConf.merge(OmegaConf.structured(FairseqAdamConfig), {"lr": [1.0], "tpu": False})
    parameters = [torch.nn.Parameter(torch.zeros(1))]
    return TimeBudget(cfg, FairseqAdam(adam, parameters), clock)


@pytest.mark.parametrize(
    ("share", "rate"), [(0, 0), (0.1, 0.5), (0.2, 1), (0.6, 0.55), (1, 0.1), (3, 0.1)]
)
def test_the_rate_rises_and_falls_in_straight_lines(share: float, rate: float) -> None:
    made = schedule(Clock(), warmup_share=0.2, end_learning_rate=0.1)
    made.clock.now += share * HOUR
    assert made.step_update(1) == made.optimizer.get_lr() == pytest.approx(rate)
    assert made.optimizer.time_share == pytest.approx(min(share, 1))


def test_time_before_a_break_counts_and_the_break_does_not() -> None:
    first = schedule(Clock())
    first.clock.now += 0.5 * HOUR
    state = first.state_dict()
    second = schedule(Clock())
    second.clock.now += 5  # the model is built before the checkpoint is read
    second.load_state_dict(state)
    assert second.step_begin_epoch(3) == pytest.approx(first.step_update(9))
    longer = schedule(Clock(), stop_time_hours=2.0)
    longer.load_state_dict(state)
    longer.step_update(9)
    assert longer.optimizer.time_share == pytest.approx(0.25)
    longer.load_state_dict({"best": 1.5})  # of another schedule
    assert longer.seconds == 0 and longer.best == 1.5


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"stop_time_hours": 0}, "--stop-time-hours"),
        ({"warmup_share": 1}, "--warmup-share"),
        ({"warmup_share": -0.1}, "--warmup-share"),
        ({"distributed_world_size": 2}, "time_budget"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(UserError, match=named):
        schedule(Clock(), **given)


@pytest.mark.parametrize("processor", [False, True])
def test_time_is_that_of_the_clock_or_of_the_processor(processor: bool) -> None:
    made = schedule(None, processor_time=processor)
    before = made.seconds
    time.sleep(0.5)  # in which the processor does nothing for us
    assert (made.seconds - before < 0.4) is processor
