"""The predictions of a validation, gathered from all processes, and their metrics."""

from collections.abc import Mapping

import torch.distributed
from fairseq.distributed import utils as distributed

from .metrics import Metrics, ScoredExample


class Validation:
    """Predictions by the number of their example, so that each counts once.

    fairseq gives a process that has no batch left the first one again.
    """

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.examples: dict[int, ScoredExample] = {}
        self._computed: tuple[int, float | None] | None = None
        self._values: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self.examples)

    def clear(self) -> None:
        """Begins another set."""
        self.examples = {}
        self._computed = None

    def add(self, examples: Mapping[int, ScoredExample]) -> None:
        """Adds a batch of each process; all of them have to call it."""
        for gathered in _gather(examples):
            self.examples.update(gathered)

    def value(self, name: str, threshold: float | None) -> float:
        """Returns a metric of all examples; all are computed at once. See
        :meth:`.Metrics.compute`."""
        state = len(self.examples), threshold
        if self._computed != state:
            examples = [self.examples[index] for index in sorted(self.examples)]
            self._values = self.metrics.compute(examples, threshold)
            self._computed = state
        return self._values[name]


def _gather(examples: Mapping[int, ScoredExample]) -> list[Mapping[int, ScoredExample]]:
    """Returns the batches of all processes that validate."""
    world_size = distributed.get_data_parallel_world_size()
    if world_size == 1:
        return [examples]
    batches: list[Mapping[int, ScoredExample]] = [{}] * world_size
    group = distributed.get_data_parallel_group()
    torch.distributed.all_gather_object(batches, examples, group=group)
    return batches
