"""A learning rate that follows the time: at any speed it ends with the budget."""

import time
from collections.abc import Iterator
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

    def __init__(self) -> None:
        self.now = 1e6

    def __call__(self) -> float:
        return self.now


def adam() -> FairseqAdam:
    cfg = OmegaConf.merge(OmegaConf.structured(FairseqAdamConfig), {"lr": [1.0], "tpu": False})
    return FairseqAdam(cfg, [torch.nn.Parameter(torch.zeros(1))])


def schedule(clock: Clock | None = None, **given: Any) -> TimeBudget:
    values = {"lr": [1.0], "stop_time_hours": 1.0, "distributed_world_size": 1, **given}
    cfg = OmegaConf.merge(OmegaConf.structured(TimeBudgetConfig), values)
    return TimeBudget(cfg, adam(), clock or Clock())


def training(made: TimeBudget, seconds: Iterator[float]) -> Iterator[float]:
    """Learning rates of the updates until the time is over, each of which takes some seconds."""
    updates = 0
    while made.seconds <= HOUR:
        made.clock.now += next(seconds)
        updates += 1
        yield made.step_update(updates)


@pytest.mark.parametrize("slower", [1, 40])
def test_a_machine_that_becomes_slower_in_the_middle_ends_in_time_at_zero(slower: int) -> None:
    made = schedule(Clock())

    def seconds() -> Iterator[float]:
        while True:
            yield 2.0 * (slower if made.seconds > HOUR / 2 else 1)

    rates = list(training(made, seconds()))
    assert made.seconds <= 1.1 * HOUR
    assert rates[-1] == 0 and rates[-2] <= 80 / HOUR / 0.92 + 1e-9
    assert len(rates) == pytest.approx(900 + 900 / slower, abs=3)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert max(rates) == pytest.approx(1.0, rel=0.01)


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


def test_a_checkpoint_of_another_schedule_begins_the_time_anew() -> None:
    made = schedule(Clock())
    made.clock.now += 99
    made.load_state_dict({"best": 1.5})
    assert made.seconds == 0 and made.best == 1.5


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
        schedule(**given)


@pytest.mark.parametrize("processor", [False, True])
def test_time_is_that_of_the_clock_or_of_the_processor(processor: bool) -> None:
    values = {"lr": [1.0], "stop_time_hours": 1.0, "distributed_world_size": 1}
    cfg = OmegaConf.merge(
        OmegaConf.structured(TimeBudgetConfig), {**values, "processor_time": processor}
    )
    made = TimeBudget(cfg, adam())
    before = made.seconds
    time.sleep(0.5)  # in which the processor does nothing for us
    assert (made.seconds - before < 0.4) is processor
