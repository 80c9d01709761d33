"""Fault: processes wait for each other, and for the device, to agree on more than gradients.

Time and signals travel in the sum of the logs that fairseq makes behind each update.
"""

from typing import Any

import torch
from fairseq.trainer import Trainer

from ..io.patching import Stock, patches
from .hooks import hooks_of
from .signals import SIGNALS, received

_SUMS_OF_UPDATE = 3  # size, batches out of memory, time


@patches(Trainer, "_aggregate_logging_outputs")
def add_signals(
    stock: Stock, self: Any, outputs: Any, *sums: Any, ignore: bool = False
) -> tuple[Any, list[Any]]:
    """Sums the signals of all processes too.

    The time comes as a tensor of the device, and each comparison with ``--stop-time-hours`` would
    make the host wait for all that the device has to do: both are read later.
    """
    own_signals = [float(number in received) for number in SIGNALS]
    outputs, totals = stock(self, outputs, *sums, *own_signals, ignore=ignore)
    count = len(sums)
    if count == _SUMS_OF_UPDATE:
        self.unread_agreement = [totals[count - 1], *totals[count:]]
    return outputs, list(totals[:count])


@patches(Trainer, "clip_grad_norm")
def read_agreement(stock: Stock, self: Any, *arguments: Any) -> Any:
    """Read what the processes agree on, where the host waits for the device in any case.

    fairseq looks at the norm of the gradients behind this, and before at the size of the batch.
    """
    unread, self.unread_agreement = getattr(self, "unread_agreement", None), None
    if unread is not None:
        values = torch.stack(unread).tolist() if torch.is_tensor(unread[0]) else unread
        seconds, *counts = values
        self._cumulative_training_time = seconds / self.data_parallel_world_size
        self.agreed_signals = [number for number, count in zip(SIGNALS, counts) if count]
        hooks_of(self.lr_scheduler).agree(self._cumulative_training_time)
    return stock(self, *arguments)
