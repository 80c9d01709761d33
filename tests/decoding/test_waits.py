"""On a device: how often decoding waits for it, what the host knows without asking it."""

from typing import Any

import pytest
import tiny
import torch
from fairseq import utils

from lev_plugins.nn.arrays import TORCH
from lev_plugins.ops.edits import known_places, true_places
from lev_plugins.ops.transfer import to_host
from lev_plugins.systems.levenshtein.generator import RefinementGenerator, RefinementOptions
from lev_runtime.markup import DROP, KEEP
from tests.fake_gpu import DEVICE, module_to_gpu, present, to_gpu

pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")
MOST_WAITS = 3
POINTER = {"source_pointer": True, "share_all_embeddings": True}


def waits(
    iterations: int, model: dict[str, Any], options: dict[str, Any], marked: bool = False
) -> dict[str, int]:
    """How often each line waits while drafts are edited in so many iterations."""
    task = tiny.task(joined=True)
    net = tiny.sharpen(tiny.model(task, 3, **model)).eval()
    module_to_gpu(net)
    batch = tiny.batch(task, tiny.triples(6))
    if marked:
        inner = batch["draft"].gt(task.target_dictionary.eos())
        batch["marks"] = torch.tensor([0, KEEP, DROP])[torch.arange(inner.size(1)) % 3] * inner
    refinement = RefinementOptions(
        max_iter=iterations, max_len_b=20, **{"adaptive": False, **options}
    )
    generator = RefinementGenerator(task.target_dictionary, task.placeholder, refinement)
    with present() as count:
        sample = utils.apply_to_sample(to_gpu, batch)
        count.clear()
        generator.generate([net], sample)
    return dict(count.waits)


@pytest.mark.parametrize(
    ("model", "options", "marked"),
    [
        ({}, {}, False),
        ({}, {"retain_history": True}, False),
        ({}, {"candidates": 3, "nbest": 3}, False),
        ({}, {"delete_words": True, "empty_penalty": 0.5}, False),
        ({}, {}, True),
        ({"deletion_trace": True, **POINTER}, {"retain_history": True}, False),
    ],
    ids=str,
)
def test_an_iteration_waits_for_the_device_three_times_at_most(model, options, marked):
    few, many = (waits(number, model, options, marked) for number in (2, 4))
    more = sum(many.values()) - sum(few.values())
    assert 2 <= more <= 2 * MOST_WAITS, many


def test_sentences_that_leave_one_after_the_other_cost_no_more_waits():
    task = tiny.task()
    net = tiny.sharpen(tiny.model(task, 4)).eval()
    batch = tiny.batch(task, tiny.triples(24))
    module_to_gpu(net)
    generator = RefinementGenerator(
        task.target_dictionary, task.placeholder, RefinementOptions(max_iter=8, max_len_b=20)
    )
    with present() as count:
        hypotheses = generator.generate([net], utils.apply_to_sample(to_gpu, batch))
    steps = [hypothesis["steps"] for (hypothesis,) in hypotheses]
    assert len(set(steps)) > 2, "not all of them at the same time"
    outside = 10  # to read what came in, and in the end what was written
    assert sum(count.waits.values()) <= MOST_WAITS * (max(steps) + 1) + outside


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (3, 5)], ids=str)
def test_places_are_those_of_nonzero_where_their_number_is_known(shape):
    for share in (0.0, 0.4, 1.0):
        mask = torch.rand(shape, generator=torch.Generator().manual_seed(1)) < share
        expected = mask.flatten().nonzero().squeeze(1)
        assert torch.equal(known_places(mask.flatten(), int(mask.sum())), expected)
        assert torch.equal(true_places(mask), expected)
        assert torch.equal(true_places(mask, len(expected)), expected)


def test_tensors_come_to_the_host_in_one_wait_for_each_type():
    host = [
        torch.arange(6).view(2, 3), torch.tensor([True, False]), torch.zeros(0, 4).long(),
        torch.rand(2, 1, 2), torch.tensor([[False]]), torch.arange(2),
    ]  # fmt: skip
    with present() as count:
        device = list(map(to_gpu, host))
        count.clear()
        copies = to_host(device)
        assert sum(count.waits.values()) == 3
        sent = TORCH.as_tensor([4, 0, 2], device[0])
        assert sum(count.waits.values()) == 3, "nobody waits for what is sent"
        assert sent.device.type == DEVICE and sent.tolist() == [4, 0, 2]
    for copy, tensor in zip(copies, host, strict=True):
        assert copy.device.type == "cpu" and copy.dtype == tensor.dtype
        assert torch.equal(copy, tensor)
