"""A resumed training continues with the same batches, patience and learning rate."""

from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import fairseq.trainer
import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.data import Dictionary, LanguagePairDataset, ListDataset
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import FairseqTask

import lev_plugins  # noqa: F401  (patches fairseq)
from lev_plugins.fairseq_patches.resuming import restore_early_stopping

STOCK_BATCHES = FairseqTask.get_batch_iterator.__wrapped__

# batches --------------------------------------------------------------------------------------


def sentences() -> LanguagePairDataset:
    """Twenty pairs, many of one length, whose order is a matter of chance."""
    rows = [torch.full((1 + number % 3,), 4 + number) for number in range(20)]
    sizes = [len(row) for row in rows]
    symbols = Dictionary()
    for number in range(20):
        symbols.add_symbol(str(number))
    data = ListDataset(rows, sizes)
    return LanguagePairDataset(data, sizes, symbols, data, sizes, symbols, shuffle=True)


def begun(epoch: int, get: Any = None, **options: Any) -> tuple[FairseqTask, Any]:
    """A task that starts in an epoch, and its iterator."""
    task, data = FairseqTask(Namespace()), sentences()
    get = get or FairseqTask.get_batch_iterator
    return task, get(task, data, max_sentences=3, seed=7, epoch=epoch, **options)


def batches(iterator: Any) -> list[list[int]]:
    return [list(map(int, batch)) for batch in iterator.frozen_batches]


def test_batches_do_not_depend_on_the_epoch_in_which_a_training_is_taken_up():
    """Whatever the task: fairseq's own, which PBD and gated-Trans train with, have no more."""
    _, first = begun(1)
    task, later = begun(4)
    assert batches(later) == batches(first) and len(batches(first)) == 7
    assert later.epoch == 4 and later.next_epoch_idx == 4
    orders = [[x["id"].tolist() for x in one.next_epoch_itr()] for one in (first, later)]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1], "epochs differ"
    assert FairseqTask.get_batch_iterator(task, later.dataset, epoch=5) is later


def test_fairseq_alone_resumes_with_other_batches():
    _, first = begun(1, STOCK_BATCHES)
    _, later = begun(4, STOCK_BATCHES)
    assert batches(first) != batches(later)
    assert batches(first) == batches(begun(1)[1]), "a training that is not stopped has these"


@pytest.mark.parametrize("option", ["disable_iterator_cache", "update_epoch_batch_itr"])
def test_batches_that_are_cut_anew_for_every_epoch_stay_that_epochs(option):
    for epoch in (1, 4):
        theirs = begun(epoch, STOCK_BATCHES, **{option: True})[1]
        assert batches(begun(epoch, **{option: True})[1]) == batches(theirs)


def test_a_data_set_that_changes_with_the_epochs_is_cut_anew(monkeypatch):
    monkeypatch.setattr(LanguagePairDataset, "can_reuse_epoch_itr_across_epochs", False)
    assert batches(begun(4)[1]) == batches(begun(4, STOCK_BATCHES)[1])


@pytest.fixture
def stock(monkeypatch):
    """A trainer and an early stop as fairseq's; the trainer notes which losses it sees."""

    class Trainer:
        def __init__(self) -> None:
            self.lr_scheduler = SimpleNamespace(lr_scheduler=SimpleNamespace(num_bad_epochs=0))
            chosen = SimpleNamespace(best_checkpoint_metric="loss")
            self.cfg = SimpleNamespace(model=SimpleNamespace(_name="checked"), checkpoint=chosen)
            self.seen: list[Any] = []

        def save_checkpoint(self, filename, extra_state):
            disk[filename] = extra_state

        def load_checkpoint(self, filename, *resets):
            checkpoint_utils.load_checkpoint_to_cpu(filename)
            return disk.get(filename)

        def lr_step_update(self):
            self.seen.append("warm")

        def lr_step(self, epoch, val_loss=None):
            self.seen.append(val_loss)

    program: dict[str, Any] = {}
    exec("def main(): pass\ndef should_stop_early(): pass", program)
    disk: dict[str, Any] = {}
    monkeypatch.setattr(fairseq.trainer, "Trainer", Trainer)
    monkeypatch.setattr(checkpoint_utils, "load_checkpoint_to_cpu", lambda path: {"cfg": None})
    restore_early_stopping(program["main"])
    restore_early_stopping(program["main"])  # a second time changes nothing
    return SimpleNamespace(Trainer=Trainer, stop=program["should_stop_early"], disk=disk)


def saved(stock: Any, place: int = 0) -> None:
    """A checkpoint at an epoch's end, or in its midst, after two validations without progress."""
    trainer = stock.Trainer()
    trainer.lr_scheduler.lr_scheduler.num_bad_epochs = 2
    stock.stop.best, stock.stop.num_runs = torch.tensor(1.5), 2
    place_in_data = {"epoch": 3, "iterations_in_epoch": place}
    extra = {"val_loss": 1.75, "best": 1.5, "train_iterator": place_in_data}
    trainer.save_checkpoint("last", extra)
    vars(stock.stop).clear()  # another process


def test_patience_is_counted_on(stock):
    saved(stock)
    stock.Trainer().load_checkpoint("last")
    assert vars(stock.stop) == {"best": 1.5, "num_runs": 2}
    assert type(stock.stop.best) is float, "a checkpoint holds plain numbers"


@pytest.mark.parametrize(("metric", "kept"), [("loss", True), ("bleu", False)])
def test_the_best_value_is_compared_with_those_of_its_own_metric(stock, metric, kept, caplog):
    saved(stock)
    trainer = stock.Trainer()
    trainer.cfg.checkpoint.best_checkpoint_metric = metric
    with caplog.at_level("INFO"):
        extra = trainer.load_checkpoint("last")
    assert ("best" in extra) is bool(vars(stock.stop)) is kept
    assert ("its best value was of loss; the best of bleu" in caplog.text) is not kept
    assert trainer.lr_scheduler.lr_scheduler.num_bad_epochs == 2


def test_the_loss_of_an_epochs_end_is_seen_once_when_the_training_resumes(stock):
    saved(stock)
    trainer = stock.Trainer()
    trainer.load_checkpoint("last")
    assert trainer.lr_scheduler.lr_scheduler.num_bad_epochs == 2
    trainer.lr_step(3)
    trainer.lr_step(4)
    trainer.lr_step(5, 1.0)
    assert trainer.seen == ["warm", 1.75, None, 1.0]


def test_within_an_epoch_there_is_no_loss_to_see(stock):
    saved(stock, place=7)
    trainer = stock.Trainer()
    trainer.load_checkpoint("last")
    trainer.lr_step(3)
    assert trainer.seen == [None]


@pytest.mark.parametrize(
    ("resets", "patience", "plateau"),
    [
        ({"reset_optimizer": True}, False, False),
        ({"reset_lr_scheduler": True}, True, False),
        ({"reset_meters": True}, False, True),
    ],
)
def test_what_is_to_be_reset_is_not_carried_over(stock, resets, patience, plateau):
    saved(stock)
    trainer = stock.Trainer()
    trainer.load_checkpoint("last", **resets)
    trainer.lr_step(3)
    assert bool(vars(stock.stop)) is patience
    assert (trainer.lr_scheduler.lr_scheduler.num_bad_epochs == 2) is plateau
    assert (1.75 in trainer.seen) is plateau


def test_checkpoints_without_it_and_schedulers_without_a_plateau_are_fine(stock):
    stock.disk["old"] = {"val_loss": 1.75, "train_iterator": {"iterations_in_epoch": 0}}
    trainer = stock.Trainer()
    trainer.load_checkpoint("old")
    assert trainer.load_checkpoint("none") is None
    saved(stock)
    trainer.lr_scheduler = SimpleNamespace()
    trainer.load_checkpoint("last")
    trainer.save_checkpoint("last", {})
    assert stock.disk["last"]["carried_over"]["plateau"] == {}


def test_a_model_looks_at_the_settings_of_the_checkpoint_it_resumes_from(stock, monkeypatch):
    seen = []
    model = SimpleNamespace(check_resumed=lambda *arguments: seen.append(arguments))
    monkeypatch.setitem(ARCH_MODEL_REGISTRY, "checked", model)
    state = {"cfg": {"model": "what it was trained with"}}
    monkeypatch.setattr(checkpoint_utils, "load_checkpoint_to_cpu", read := lambda path: state)
    trainer = stock.Trainer()
    trainer.load_checkpoint("last")
    assert seen == [(trainer.cfg.model, "what it was trained with", "last")]
    assert checkpoint_utils.load_checkpoint_to_cpu is read


def test_a_model_takes_the_parameters_that_it_is_finetuned_from(stock, monkeypatch):
    seen, checked = [], []
    kind = SimpleNamespace(
        check_resumed=lambda *arguments: checked.append(arguments[2]),
        begin_from=lambda *arguments: seen.append(arguments),
    )
    monkeypatch.setitem(ARCH_MODEL_REGISTRY, "checked", kind)
    extra = {"ema": "their average", "ema_fp32_params": "the same", "epoch": 3}
    state = {"cfg": {"model": "settings"}, "model": "parameters", "extra_state": extra}
    monkeypatch.setattr(checkpoint_utils, "load_checkpoint_to_cpu", lambda path: state)
    trainer = stock.Trainer()
    trainer.get_model = lambda: kind
    trainer.cfg.checkpoint.finetune_from_model = "other"
    trainer.load_checkpoint("last")  # a training that is resumed is checked
    assert (seen, checked, len(extra)) == ([], ["last"], 3)
    trainer.load_checkpoint("other")
    assert (seen, checked) == ([("settings", "parameters", "other")], ["last"])
    assert extra == {"epoch": 3}, "the average of parameters is that of what it begins with"
