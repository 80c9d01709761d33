"""Which of many items are computed together: the runtime's."""

from lev_runtime.batching import by_budget as by_budget
from lev_runtime.batching import in_batches as in_batches
