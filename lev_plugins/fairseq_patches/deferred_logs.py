"""Fault: fairseq asks a GPU for a dozen numbers behind each update, to log them.

What is logged waits until somebody reads a meter, and is fetched together. The numbers are the
same.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from fairseq.logging import metrics
from fairseq.trainer import Trainer
from torch import Tensor

from ..io.patching import Stock, patches

MAX_WAITING = 1000  # updates whose logs wait
Logs = list[dict[str, Any]]


class _Update(NamedTuple):
    """What an update has to log: to which meters, and what ``log`` is called with."""

    meters: dict[str, Any]
    log: Stock
    trainer: Any
    logs: Logs
    norms: tuple[Any, ...]


_waiting: list[_Update] = []


@patches(Trainer, "_reduce_and_log_stats")
def reduce_and_log_stats(
    stock: Stock, self: Any, logs: Logs, size: Any, grad_norm: Any = None
) -> Any:
    """fairseq's; of a training on a GPU later.

    The first update makes the meters, whose clocks begin then: it is logged at once.
    """
    meters = dict(metrics._active_aggregators)
    is_first = not all("ups" in aggregator for aggregator in meters.values())
    is_update = self.cuda and grad_norm is not None
    if is_update and not is_first and len(_waiting) < MAX_WAITING:
        _waiting.append(_Update(meters, stock, self, logs, (size, grad_norm)))
        return {}
    log_waiting()
    return stock(self, _fetched(logs) if self.cuda else logs, size, grad_norm)


def _is_apart(value: Any) -> bool:
    """Whether it is a number that a GPU holds."""
    return isinstance(value, Tensor) and value.device.type != "cpu" and value.numel() == 1


def _fetched(logs: Logs) -> Logs:
    """The same, all numbers on the CPU; those of a type are fetched together."""
    apart: dict[Any, list[Tensor]] = defaultdict(list)
    for log in logs:
        for value in filter(_is_apart, log.values()):
            number = value.detach().reshape(())
            apart[value.device, value.dtype].append(number)
    numbers: dict[Any, Iterator[Tensor]] = {}
    for kind, values in apart.items():
        numbers[kind] = iter(torch.stack(values).cpu())

    def on_host(value: Any) -> Any:
        return next(numbers[value.device, value.dtype]) if _is_apart(value) else value

    return [{name: on_host(value) for name, value in log.items()} for log in logs]


def log_waiting() -> None:
    """Logs what updates have left to be logged, to the meters that were written to then."""
    updates = _waiting[:]
    _waiting.clear()
    if not updates:
        return
    logs = iter(_fetched([log for update in updates for log in update.logs]))
    active = metrics._active_aggregators
    meters_now = active.copy()
    try:
        for update in updates:
            _replace(active, update.meters)
            update.log(update.trainer, [next(logs) for _ in update.logs], *update.norms)
    finally:
        _replace(active, meters_now)


def _replace(active: dict[str, Any], meters: dict[str, Any]) -> None:
    active.clear()
    active.update(meters)


def _read(stock: Stock, *args: object, **options: object) -> Any:
    log_waiting()
    return stock(*args, **options)


READERS: Sequence[str] = (
    "get_meter",
    "get_meters",
    "get_smoothed_value",
    "get_smoothed_values",
    "state_dict",
    "load_state_dict",
)
for _name in READERS:
    patches(metrics, _name)(_read)


@patches(metrics, "reset")
def reset(stock: Stock) -> None:
    """fairseq's: meters that are gone are written to no more."""
    _waiting.clear()
    stock()
