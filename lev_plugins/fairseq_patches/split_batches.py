"""Fault: one batch is one pass of the model, however many tokens the collater meets in it.

A collater may make several batches where one would be more than ``--max-tokens``: they are read as
one, and one update learns from them, as from those of ``--update-freq``.
"""

from collections.abc import Iterator
from typing import Any

from fairseq.data import iterators
from fairseq.trainer import Trainer

from ..io.patching import Stock, patches


@patches(iterators, "_chunk_iterator")
def chunk_iterator(stock: Stock, *arguments: Any, **options: Any) -> Iterator[list[Any]]:
    """The batches of an update; those that were read as one stand side by side."""
    for chunk in stock(*arguments, **options):
        update: list[Any] = []
        for batch in chunk:
            update += batch if isinstance(batch, list) else [batch]
        yield update


@patches(Trainer, "reset_dummy_batch")
def reset_dummy_batch(stock: Stock, self: Trainer, batch: Any) -> None:
    """What a process computes that has no batch left; one of several that were read as one."""
    stock(self, batch[0] if isinstance(batch, list) else batch)
