"""Works around small faults of fairseq: a function or two for each, which names its fault."""

import atexit
import multiprocessing
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from fairseq.data import EpochBatchIterator, FairseqDataset
from fairseq.data.iterators import BackgroundConsumer
from fairseq.dataclass import FairseqDataclass
from fairseq.optim.adafactor import Adafactor
from fairseq.registry import REGISTRIES
from fairseq.scoring.bleu import Scorer
from fairseq.tasks import FairseqTask
from hydra.core.config_store import ConfigStore
from torch import Tensor

from lev_runtime.errors import UserError
from lev_runtime.io.lines import chunks, typed_lines
from lev_runtime.text.codec import plain_spaces

from ..io.patching import Stock, patches
from ..io.program import program_modules, running_command
from .imports import untouched_root_logger

# optimizer ----------------------------------------------------------------------------------------


@patches(Adafactor, "step")
def step(stock: Stock, self: Any, closure: Any = None) -> object:
    """Steps each tensor by itself.

    Fault: the rate of a tensor, scaled by its size, is left for the next one of its group.
    """
    groups = self.param_groups
    self.param_groups = [{**group, "params": [p]} for group in groups for p in group["params"]]
    try:
        return stock(self, closure)
    finally:
        self.param_groups = groups


# scores -------------------------------------------------------------------------------------------


@patches(Scorer, "add")
def add(stock: Stock, self: Scorer, ref: Tensor, pred: Tensor) -> None:
    """Leaves out ``<s>``. Fault: that of an edit model's text counts as a right word."""
    stock(self, ref[ref != 0], pred[pred != 0])


# text ---------------------------------------------------------------------------------------------


_ENCODERS = REGISTRIES["bpe"]


@dataclass
class PlainEncoderConfig(FairseqDataclass):
    """No options. Fault: ``--bpe characters`` is refused, because it has no dataclass."""


if _ENCODERS["dataclass_registry"].get("characters") is None:
    _ENCODERS["dataclass_registry"]["characters"] = PlainEncoderConfig
    _node = PlainEncoderConfig()
    _node._name = "characters"
    ConfigStore.instance().store(name=_node._name, group="bpe", node=_node, provider="fairseq")


def _encode(stock: Stock, *arguments: object, **named: object) -> str:
    """Encodes text with plain spaces. Fault: other ones become a part of a token, or join words."""
    *encoder, text = (*arguments, *named.values())
    return str(stock(*encoder, plain_spaces(str(text))))


for _name in ("sentencepiece", "characters", "subword_nmt", "fastbpe"):
    patches(_ENCODERS["registry"][_name], "encode")(_encode)


# lines of fairseq-interactive ---------------------------------------------------------------------


def read_interactive_lines(input: str, buffer_size: int) -> Iterator[list[str]]:
    """Yields lines as they stand, up to ``buffer_size`` at a time; ``input`` is a file or ``-``.

    Faults of fairseq-interactive: it strips lines, although a tab at an end is an empty source or
    draft, ends them at a lone carriage return, reads in the locale's encoding, and prints nothing
    before its buffer is full.
    """
    for buffer in chunks(typed_lines(input), input, buffer_size):
        yield buffer
        sys.stdout.flush()


with untouched_root_logger():  # the module sets up logging when it is imported
    import fairseq_cli.interactive  # noqa: F401
for module in program_modules("interactive"):
    vars(module)["buffered_read"] = read_interactive_lines


# batches ------------------------------------------------------------------------------------------

#: which sentences are cut into batches, in the order of their lengths: all, or those of a shard
share: ContextVar[slice] = ContextVar("share", default=slice(0, None, 1))


@patches(FairseqTask, "dataset")
def dataset(stock: Stock, self: FairseqTask, split: str) -> Any:
    """Returns a data set that knows its name, for messages."""
    data = stock(self, split)
    data.split = split
    return data


def split_of(data: Any) -> str:
    """Returns the beginning of a message about data, "" if their name is not known."""
    name = getattr(data, "split", None)
    return f"{name}: " if name else ""


@patches(FairseqDataset, "batch_by_size")
def batch_by_size(
    stock: Stock, self: FairseqDataset, indices: Sequence[int], *limits: Any, **options: Any
) -> list[Any]:
    """Returns fairseq's batches, and one of the sentences that they leave out.

    Faults: the last batch is dropped if its size is no multiple of 8, whatever the task; and no
    command reads ``--num-shards`` and ``--shard-id``.

    Raises:
        UserError: a training has no sentence, which fairseq would never end; one is too long for a
            batch, which fairseq does not name; or there are fewer sentences than shards.
    """
    shards = share.get().step
    if shards > len(indices) > 0:
        raise UserError(f"--num-shards {shards}: {split_of(self)}{len(indices)} sentences")
    indices = indices[share.get()]
    if len(indices) > 0:
        try:
            batches = [batch for batch in stock(self, indices, *limits, **options) if len(batch)]
        except AssertionError as error:
            longest = max(indices, key=self.num_tokens)
            raise UserError(
                f"{split_of(self)}line {longest + 1} has {self.num_tokens(longest)} tokens: raise "
                f"--max-tokens, or --max-tokens-valid, or shorten it ({error})"
            ) from None
        batched = sum(map(len, batches))
        rest = np.asarray(indices, dtype=np.int64)[batched:]
        return [*batches, rest] if len(rest) else batches
    if running_command() in ("train", "hydra-train"):
        raise UserError(
            "a data set has no sentences, or none within --max-source-positions, "
            "--max-target-positions and --max-tokens"
        )
    return []


# epochs -------------------------------------------------------------------------------------------


@patches(FairseqTask, "get_batch_iterator")
def get_batch_iterator(
    stock: Stock, self: FairseqTask, dataset: FairseqDataset, *limits: object, **options: Any
) -> EpochBatchIterator:
    """Cuts batches that serve all epochs as for epoch 1.

    Faults: their order is sampled with the epoch in which the training began or was resumed; and
    fairseq-interactive keeps all lines that it has read.
    """
    if "epoch" not in options:  # it is used once
        return stock(self, dataset, *limits, **{"disable_iterator_cache": True} | options)
    cut_anew = options.get("disable_iterator_cache") or options.get("update_epoch_batch_itr")
    is_cached = dataset in self.dataset_to_epoch_iter
    if cut_anew or is_cached or not self.can_reuse_epoch_itr(dataset):
        return stock(self, dataset, *limits, **options)
    iterator = stock(self, dataset, *limits, **{**options, "epoch": 1})
    iterator.epoch = max(options["epoch"], 1)
    # before fairseq resumes where a training stopped: it then begins to read at once
    dataset.set_epoch(iterator.epoch)
    return iterator


# threads and processes that read ahead ------------------------------------------------------------


_PATIENCE = 30.0  # seconds; a thread that reads ahead is at most one batch away from its end


def end_readers() -> None:
    """Ends threads and processes that read ahead.

    Fault: nobody stops ``BufferedIterator``'s daemon thread. Ended within torch's code while Python
    shuts down (up to 3.13) it aborts the process, with status 134.
    """
    readers = [thread for thread in threading.enumerate() if isinstance(thread, BackgroundConsumer)]
    end = time.monotonic() + _PATIENCE
    while any(reader.is_alive() for reader in readers) and time.monotonic() < end:
        for reader in readers:
            reader._max_len = 0  # it ends after its present batch, unless its queue is full
            # torch's signal handler raises where a process that loads data has died
            with suppress(queue.Empty, RuntimeError):
                reader.join(0.05)
                reader._queue.get_nowait()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for process in multiprocessing.active_children():
        if process.daemon:  # which loads data, and ignores the SIGTERM that Python sends
            process.kill()


# last registered, first called: a reader may wait for processes that load data
atexit.register(end_readers)
