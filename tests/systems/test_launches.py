"""What LevT asks of a GPU, counted without one: kernels that are launched, and waits for them.

A GPU computes these tiny batches sooner than the host can launch their kernels, and stands still
while the host waits. The numbers are those of today: more is a step back, fewer belong here.
"""

from collections.abc import Callable
from typing import Any

import pytest
import tiny
import torch
from torch import Tensor

from lev_plugins.data.edit_dataset import OnHost
from lev_plugins.systems.levenshtein import LevenshteinEditorModel
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss
from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from tests.fake_gpu import counted, module_to_gpu, to_gpu

LENGTH, SENTENCES, BLOCKS = 60, 4, 6
SIZES = {"encoder_layers": BLOCKS, "decoder_layers": BLOCKS, "dropout": 0.1}


def everywhere(change: Callable[[Tensor], Tensor], value: Any) -> Any:
    """A batch with its tensors changed."""
    if isinstance(value, dict):
        return {name: everywhere(change, one) for name, one in value.items()}
    return change(value) if isinstance(value, Tensor) else value


@pytest.fixture(scope="module")
def made() -> tuple[Any, LevenshteinEditorModel, dict[str, Any]]:
    """A task, a model on the device, and a batch with drafts, of which a fifth is wrong."""
    torch.manual_seed(1)
    task = tiny.task(max_source_positions=80, max_target_positions=80)
    model = tiny.model(task, **SIZES, max_source_positions=80, max_target_positions=80)
    tokens = torch.randint(4, 12, (SENTENCES, LENGTH))
    tokens[:, 0], tokens[:, -1] = 0, 2
    tokens[1, 40], tokens[1, 41:] = 2, 1
    wrong = torch.rand(tokens.shape).lt(0.2) & tokens.gt(3)
    draft = tokens.masked_fill(wrong, 5)
    batch = {"id": torch.arange(SENTENCES), "target": tokens, "draft": draft, "ntokens": 221}
    batch["net_input"] = {"src_tokens": tokens, "src_lengths": tokens.ne(1).sum(1)}
    module_to_gpu(model)
    return task, model, batch


@pytest.mark.parametrize("drafts", [False, True])
def test_a_training_pass_waits_for_the_device_once(made, drafts):
    task, model, batch = made
    batch = batch if drafts else {name: one for name, one in batch.items() if name != "draft"}
    on_device = {**everywhere(to_gpu, batch), "on_host": OnHost.of(batch)}
    criterion = EditPolicyLoss(task, 0.1, 0.01, 1.0, 1.0, 1.0)
    model.train()
    with counted() as count:
        sample = task.with_roll_in(on_device, 1, (0.5, 0.5))
        criterion(model, sample)
    assert dict(count.syncs) == {"_to_copy": 1}, "predicted tokens are aligned on the host"
    assert count.launches.total() <= 735


@pytest.mark.parametrize(
    ("iterations", "history", "launches", "waits"),
    [(1, False, 590, 5), (3, False, 1270, 11), (3, True, 1330, 18)],
)
def test_decoding_waits_three_times_an_iteration(made, iterations, history, launches, waits):
    task, model, batch = made
    options = RefinementOptions(max_iter=iterations, retain_history=history)
    generator = RefinementGenerator(task.target_dictionary, task.placeholder, options)
    with counted() as count:
        generator.generate([model], everywhere(to_gpu, batch))
    assert count.launches.total() <= launches
    # what is deleted, what is inserted, and where; first of all whether scores are finite; one
    # copy of the sentences that leave together, and with a history one after each phase
    assert count.syncs.total() <= waits, count.syncs


def test_what_is_computed_on_the_device_is_what_the_host_computes(made):
    task, _, batch = made
    model = tiny.model(task, **{**SIZES, "dropout": 0.0}, max_source_positions=80)
    criterion = EditPolicyLoss(task, 0.1, 0.01, 1.0, 1.0, 1.0)
    losses = []
    for on_gpu in (False, True):
        sample = everywhere(to_gpu, batch) if on_gpu else batch
        if on_gpu:
            module_to_gpu(model)
            sample["on_host"] = OnHost.of(batch)
        with counted():
            loss, _, _ = criterion(model, task.with_roll_in(sample, 1, (0.5, 0.5)))
            losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_tensors_of_two_devices_do_not_go_together():
    with counted(), pytest.raises(AssertionError, match="tensors of two devices"):
        to_gpu(torch.ones(2)) + torch.ones(2)
