"""CUDA graphs: computations of one shape that a GPU repeats, started at once.

The host starts a network kernel by kernel, which for a few sentences takes it several times as long
as they take the device. A graph is started as one, but reads and writes the same places every time:
so batches are padded to few shapes, and what comes in is copied to where the graph reads it.
"""

import logging
import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

logger = logging.getLogger(__name__)
#: 0 in this variable of the environment: no graphs
CUDA_GRAPHS_ENV = "LEV_PLUGINS_CUDA_GRAPHS"
ENABLED = os.environ.get(CUDA_GRAPHS_ENV) != "0"
#: how many sizes there are from a power of two to the next
SIZES_AN_OCTAVE = 2


def padded(size: int, least: int = 1) -> int:
    """Returns the size, a multiple of ``least``, to pad so many to: less than half as many more
    above 2 · ``least``."""
    step = max(least, (1 << size.bit_length()) // (2 * SIZES_AN_OCTAVE))
    return size + -size % step


def load(place: Tensor, values: Tensor, fill: float) -> None:
    """Copies B × T × … to the beginning of a place for more; ``fill`` stands after the T columns,
    the first of the B in the rows that are left, so that they hold nothing unheard of."""
    rows, columns = values.shape[:2]
    if columns < place.size(1):
        place[:, columns:].fill_(fill)
    place[:rows, :columns].copy_(values)
    if rows < place.size(0):
        first = place[:1]
        place[rows:].copy_(first.expand_as(place[rows:]))


class Replay:
    """A function without arguments whose tensors stay where they are, all of one device.

    On a GPU it runs as it is at first; the second call makes a graph of it, which all others
    replay. What it returns is overwritten then.

    Args:
        function: waits for nothing; its operations do not depend on values. A shape that comes once
            is not worth a graph.
        device: of its tensors.
        pool: of memory that graphs share, which never run at the same time.
    """

    broken = False  #: a graph could not be made: none is tried again

    def __init__(
        self, function: Callable[[], Tensor], device: torch.device, pool: Any = None
    ) -> None:
        self.function = function
        self.device = device
        self.pool = pool
        self.graph: torch.cuda.CUDAGraph | None = None
        self.output: Tensor | None = None
        self.ran = False

    def __call__(self) -> Tensor:
        if self.graph is None and self.ran and self.device.type == "cuda" and not Replay.broken:
            self._capture()
        self.ran = True
        if self.graph is None or self.output is None:
            return self.function()
        self.graph.replay()
        return self.output

    def _capture(self) -> None:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                output = self.function()
        except RuntimeError as error:
            Replay.broken = True
            logger.warning("decodes without CUDA graphs: %s", str(error).partition("\n")[0])
            return
        self.graph, self.output = graph, output
