"""Passes at padded shapes, as CUDA graphs replay them: what comes out is what an eager pass gives.

Here nothing is replayed, but everything else is as on a GPU: padding, what stays where, what is
loaded anew.
"""

import copy
import pickle

import pytest
import tiny
import torch

from lev_plugins.nn.precision import prepare_for_decoding
from lev_plugins.systems.levenshtein.replayed import ReplayedPasses, replayed
from lev_runtime.refine.feature_cache import reused
from lev_runtime.refine.policy import EditState

TASK = tiny.task()
SOURCE = tiny.batch(TASK, tiny.triples(3))["target"]


@pytest.fixture
def model():
    return tiny.sharpen(tiny.model(TASK, 3)).eval()


def test_a_memory_that_comes_back_is_loaded_anew(model):
    sources, states = (
        [tiny.batch(TASK, tiny.triples(4, seed, 9))[side] for seed in (1, 2)]
        for side in ("target", "draft")
    )
    with torch.no_grad():
        eager = [
            model.decode(state, model.encode(source), "token")
            for source, state in zip(sources, states, strict=True)
        ]
        model.passes = ReplayedPasses(model, "cpu")
        encoded = list(map(model.passes.encode, sources))
        for turn in (1, 0, 1):
            state = EditState(states[turn], encoded[turn])
            (features,) = model.passes.features("token", state).values()
            real = states[turn].ne(model.pad)
            assert torch.allclose(features[real], eager[turn][real], atol=1e-5)


def halve(model: torch.nn.Module) -> None:
    weight = torch.nn.Parameter(model.encoder_embed.weight / 2)
    model.encoder_embed.register_parameter("weight", weight)


@pytest.mark.parametrize("change", [torch.nn.Module.double, halve])
def test_new_weights_in_other_memory_are_noticed(model, change):
    model.passes = ReplayedPasses(model, "cpu")
    with torch.no_grad():
        model.passes.encode(SOURCE)
        sources = list(model.passes.sources.values())
        change(model)
        states = model.passes.encode(SOURCE).states
        assert torch.allclose(states, model.encode(SOURCE).states, atol=1e-6)
        assert not set(sources) & set(model.passes.sources.values())


def test_training_and_other_devices_have_passes_of_their_own(model):
    prepare_for_decoding([model], "fp32")
    policy = reused(replayed(model))
    with torch.no_grad():
        policy.encode(SOURCE)
    assert not model.passes.sources, "they are for a GPU"
    model.passes = ReplayedPasses(model, "cpu")
    policy.encode(SOURCE).encoder_out.states.sum().backward()
    assert not model.passes.sources and model.encoder_embed.weight.grad is not None


def test_a_model_is_copied_and_pickled_without_its_passes(model):
    prepare_for_decoding([model], "fp32")
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not getattr(again, "passes", None)
        assert torch.equal(again.encoder_embed.weight, model.encoder_embed.weight)
