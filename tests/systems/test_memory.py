"""What is made beside the logits of a large vocabulary is made a few rows at a time."""

import contextlib

import pytest
import tiny
import torch
from allocations import Allocations

from lev_plugins.nn import backends
from lev_plugins.nn.backends import cpu
from lev_plugins.systems.levenshtein.criterion import smoothed
from lev_plugins.systems.levenshtein.expert import States, token_predictions
from tests import fake_gpu

ROWS, SYMBOLS = 120, 500
#: ten rows in single precision
CHUNK = 10 * SYMBOLS * 4
#: of temporaries: double precision, or another copy
MOST = 2 * CHUNK


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("on_gpu", [False, True])
def test_the_loss_makes_nothing_large_but_the_gradient(on_gpu, dtype, monkeypatch):
    owner, name = (backends, "GPU_CHUNK_BYTES") if on_gpu else (cpu, "CHUNK_BYTES")
    monkeypatch.setattr(owner, name, CHUNK)
    logits, labels = torch.randn(ROWS, SYMBOLS).to(dtype), torch.arange(ROWS)
    with Allocations() as allocations, fake_gpu.present() if on_gpu else contextlib.nullcontext():
        if on_gpu:
            logits, labels = fake_gpu.to_gpu(logits), fake_gpu.to_gpu(labels)
        loss, _, _ = smoothed(logits.requires_grad_(), labels, 0.1)
        torch.autograd.grad(loss, logits)
    large = [size for size in allocations.sizes if size > MOST]
    assert large == [ROWS * SYMBOLS * dtype.itemsize], "the gradient alone"


@pytest.mark.parametrize("tokens", ["argmax", "sample", "random"])
def test_nothing_large_is_made_to_choose_tokens_and_they_are_the_same(tokens, monkeypatch):
    state, logits = state_of(tokens), torch.randn(ROWS, SYMBOLS)
    together = token_predictions(logits, state, [0, 1, 2])
    monkeypatch.setattr(cpu, "CHUNK_BYTES", CHUNK)
    with Allocations() as allocations:
        apart = token_predictions(logits, state, [0, 1, 2])
    assert torch.equal(apart, together) and len(together) == ROWS
    assert max(allocations.sizes) <= MOST


def state_of(tokens: str) -> States:
    """States with as many placeholders as there are rows."""
    task = tiny.task()
    sample = tiny.batch(task, [tiny.Triple("a", "abcdef", "")] * (ROWS // 6), drafted=False)
    state = tiny.states(task, sample, alpha=0.0, beta=1.0, tokens=tokens)
    assert int(state.insertion.missing.sum()) == ROWS
    return state
