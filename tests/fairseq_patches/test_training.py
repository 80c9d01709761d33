"""A training in a sweep begins anew, its curriculum ends, and it outlives an overflow on a CPU."""

from types import SimpleNamespace
from typing import Any

import fairseq.trainer
import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.data.iterators import EpochBatchIterator
from fairseq.dataclass.configs import CheckpointConfig
from fairseq_cli import train

import lev_plugins  # noqa: F401  (works around fairseq's faults)
from lev_plugins.fairseq_patches import training
from lev_plugins.fairseq_patches.precision import ignore_overflows_on_cpu

STOCK_EPOCH = EpochBatchIterator._get_iterator_for_epoch.__wrapped__

# a sweep ------------------------------------------------------------------------------------------


FUNCTIONS = (checkpoint_utils.save_checkpoint, train.should_stop_early)


@pytest.fixture
def begin(monkeypatch):
    """Begins a training, up to its first epoch, after one that got to 0.5 and no further."""
    monkeypatch.setattr(training, "restore_early_stopping", lambda main: None)
    monkeypatch.setattr(training, "save_on_signals", lambda program, tpu: None)
    for function in FUNCTIONS:
        monkeypatch.setattr(function, "best", 0.5, raising=False)
    monkeypatch.setattr(train.should_stop_early, "num_runs", 3, raising=False)

    def load(extra: Any) -> list[dict[str, Any]]:
        """What the functions know then; ``extra`` is of a checkpoint, None where there is none."""
        epochs = SimpleNamespace(epoch=1, load_state_dict=lambda state: None)
        trainer = SimpleNamespace(
            checkpoint_suffix="",
            tpu=False,
            cfg=SimpleNamespace(
                optimizer=SimpleNamespace(_name="adam"),
                dataset=SimpleNamespace(train_subset="train"),
            ),
            task=SimpleNamespace(datasets={}),
            load_checkpoint=lambda *path, **resets: extra,
            get_train_iterator=lambda **options: epochs,
            lr_step=lambda epoch: None,
        )
        checkpoint_utils.load_checkpoint(CheckpointConfig(), trainer)
        known = [{**vars(function)} for function in FUNCTIONS]
        for function in FUNCTIONS:  # for monkeypatch
            function.best = function.num_runs = None
        return known

    return load


@pytest.mark.parametrize(
    ("start", "updates", "seconds"), [("other.pt", 0, 0), ("other.pt", 7, 900), (None, 0, 900)]
)
def test_the_time_of_the_model_that_a_training_starts_from_is_not_its_own(start, updates, seconds):
    trainer = SimpleNamespace(_previous_training_time=900, get_num_updates=lambda: updates)
    training.forget_training_time(SimpleNamespace(finetune_from_model=start), trainer)
    assert trainer._previous_training_time == seconds


def test_a_training_knows_nothing_of_the_one_before(begin):
    assert begin(None) == [{}, {}]


def test_a_resumed_training_knows_the_best_of_its_checkpoint(begin):
    assert begin({"best": 0.75, "train_iterator": {"epoch": 1}}) == [{"best": 0.75}, {}]


class Numbers(torch.utils.data.Dataset):
    """0 to 19."""

    def __getitem__(self, index: int) -> int:
        return index

    def __len__(self) -> int:
        return 20


def iterator() -> EpochBatchIterator:
    batches = [[number] for number in range(20)]
    return EpochBatchIterator(
        Numbers(), lambda rows: rows[0], batches, seed=3, reuse_dataloader=True
    )


def orders(made: EpochBatchIterator, *epochs: int) -> list[list[int]]:
    """With ``--curriculum 1``."""
    return [list(made.next_epoch_itr(shuffle=epoch > 1)) for epoch in epochs]


def test_a_curriculum_ends_and_a_resumed_training_has_its_order():
    whole = orders(iterator(), 1, 2, 3)
    assert whole[0] == sorted(whole[0])
    assert sorted(whole[1]) == whole[0] != whole[1] != whole[2] != whole[0]
    for epoch, done in ((1, 7), (2, 5), (3, 0)):
        resumed = iterator()
        resumed.load_state_dict(
            {"version": 2, "epoch": epoch, "iterations_in_epoch": done, "shuffle": epoch > 1}
        )
        rest = orders(resumed, *range(epoch, 4))
        assert rest == [whole[epoch - 1][done:], *whole[epoch:]]


def test_fairseq_alone_keeps_the_order_of_its_first_epoch(monkeypatch):
    """``batches.shuffle_when_asked`` can go once this fails."""
    monkeypatch.setattr(EpochBatchIterator, "_get_iterator_for_epoch", STOCK_EPOCH)
    first, second = orders(iterator(), 1, 2)
    assert first == second, "the fault is gone"


def test_the_trainers_zero_stays_on_the_cpu(monkeypatch):
    monkeypatch.setattr(fairseq.trainer, "torch", torch)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ignore_overflows_on_cpu()
    zero = fairseq.trainer.torch.tensor(0.0)
    assert zero.cuda().device.type == "cpu" and float(zero.cuda()) == 0
    assert fairseq.trainer.torch.isfinite is torch.isfinite
