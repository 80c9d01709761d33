"""Products on a CPU: torch's own results and gradients, whoever multiplies and in how many bits."""

import copy
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from closeness import assert_near
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from lev_plugins.nn.backends import cpu, optimize
from lev_plugins.nn.backends.cpu import attention, linear, prepack_weight
from lev_plugins.nn.decoder_block import TiedOutput
from lev_plugins.nn.kernels import Linear
from lev_plugins.nn.precision import prepare_for_decoding

pytestmark = pytest.mark.kernels
needs_one_dnn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN"
)
BOTH = frozenset([torch.float32, torch.bfloat16])
ONE_DNN = "mkldnn::_linear_pointwise"
#: what two orders of adding up differ by, of values up to 2
STEPS = {torch.float32: 1e-4, torch.bfloat16: 2e-2}


@contextmanager
def whatever_the_size() -> Iterator[None]:
    """Inside, oneDNN multiplies both kinds of numbers, small products too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "onednn_dtypes", BOTH)
        patch.setattr(cpu, "MIN_PRODUCT", 1)
        patch.setattr(cpu, "MIN_PREPACKED_PRODUCT", dict.fromkeys(BOTH, 0))
        yield


@pytest.fixture
def one_dnn():
    with whatever_the_size():
        yield


class Operators(TorchDispatchMode):
    """Whether the weights that oneDNN reads inside the block were laid out."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = list[bool]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name == ONE_DNN:
            self.ready.append(args[1].is_mkldnn)
        return func(*args, **(kwargs or {}))


def normal(*shape: int) -> Tensor:
    return torch.randn(shape).requires_grad_()


def gradients(out: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    return torch.autograd.grad((out * weights).sum(), inputs)


# linear layers --------------------------------------------------------------------------------


@needs_one_dnn
@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    inputs=st.integers(1, 70),
    outputs=st.integers(1, 70),
    biased=st.booleans(),
    slanted=st.booleans(),
)
def test_results_and_gradients_are_torchs(shape, inputs, outputs, biased, slanted):
    torch.manual_seed(inputs)
    x, weight, bias = normal(*shape, inputs), normal(outputs, inputs), normal(outputs)
    states = x.transpose(-1, -2).contiguous().transpose(-1, -2) if slanted else x
    leaves = [x, weight, bias][: 2 + biased]
    wanted = F.linear(states, *leaves[1:])
    with whatever_the_size():
        actual = linear(states, *leaves[1:])
        slopes = gradients(actual, leaves)
    assert_near(actual, wanted)
    assert_near(slopes, gradients(wanted, leaves), least=10)


# weights laid out for decoding ----------------------------------------------------------------


@needs_one_dnn
@pytest.mark.parametrize("dtype", STEPS)
@pytest.mark.parametrize("rows", [0, 3, 25])
def test_a_weight_that_lies_ready_gives_torchs_products(one_dnn, rows, dtype):
    layer = optimize(Linear(48, 80).to(dtype)).requires_grad_(False)
    prepack_weight(layer.weight)
    x = torch.randn(2, rows, 48, dtype=dtype)
    with Operators() as ran:
        actual = layer(x)
    wanted = F.linear(x.double(), layer.weight.double(), layer.bias.double())
    torch.testing.assert_close(actual.double(), wanted, rtol=0, atol=STEPS[dtype])
    assert actual.dtype == dtype and torch.equal(layer(x, relu=True), actual.relu())
    if dtype == torch.float32 or cpu.supports_bf16_matmul():
        assert ran.ready == [True]


def step(layer: Linear) -> None:
    layer.weight.add_(1.0)


def move(layer: Linear) -> None:
    layer.weight.data = layer.weight.data + 1.0


def learn(layer: Linear) -> None:
    """As an optimizer of fairseq's."""
    with torch.enable_grad():
        layer(torch.randn(8, 16)).sum().backward()
    layer.weight.data.add_(1.0)  # no change that torch counts


@needs_one_dnn
@pytest.mark.parametrize("change", [step, move, learn])
def test_a_changed_weight_is_not_taken_for_what_it_was(one_dnn, change):
    layer, x = optimize(Linear(16, 24)), torch.randn(8, 16)
    prepack_weight(layer.weight)
    with torch.no_grad():
        layer(x)
        change(layer)
        with Operators() as ran:
            after = layer(x)
    assert ran.ready == [False]
    assert_near(after, F.linear(x, layer.weight, layer.bias))


@needs_one_dnn
def test_decoders_have_their_weights_ready_and_are_sent_and_copied_as_ever(one_dnn):
    model = nn.Sequential(Linear(64, 64), nn.Linear(64, 64), TiedOutput(nn.Embedding(9, 64)))
    x = torch.randn(8, 64)
    before = model(x)
    prepare_for_decoding([model], "fp32")
    ready = [cpu.prepacked(weight) is not None for weight in model.parameters()]
    assert ready == [True, False, False, False, True]
    for again in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_near(again(x), before)


# CPUs without bfloat16 ------------------------------------------------------------------------


@pytest.mark.parametrize("dtypes", [BOTH, frozenset()])
def test_bfloat16_is_multiplied_in_single_precision_where_the_cpu_does_not_know_it(
    monkeypatch, dtypes
):
    """On CPUs without AVX-512 torch takes ten times as long for it, and oneDNN raises."""
    monkeypatch.setattr(cpu, "supports_bf16_matmul", lambda: False)
    monkeypatch.setattr(cpu, "onednn_dtypes", dtypes)
    layer, x = optimize(Linear(16, 24).bfloat16()), torch.randn(3, 16).bfloat16().requires_grad_()
    prepack_weight(layer.weight)
    leaves = [x, layer.weight, layer.bias]
    actual, wanted = layer(x), F.linear(*(leaf.float() for leaf in leaves))
    assert torch.equal(actual, wanted.bfloat16())
    slopes = gradients(actual, leaves)
    assert {slope.dtype for slope in slopes} == {torch.bfloat16}
    torch.testing.assert_close(slopes, gradients(wanted, leaves), rtol=2**-6, atol=2**-6)


# attention ------------------------------------------------------------------------------------

#: products of numbers rounded to 2**-9 of themselves, in a row
CLOSE = {torch.bfloat16: 2**-6, torch.float32: 1e-6}


def plain_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    share: float,
    scale: float | None,
) -> Tensor:
    scores = query @ key.transpose(2, 3) * (query.size(3) ** -0.5 if scale is None else scale)
    scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    return cpu.dropout(scores.softmax(3), share, True) @ value


@pytest.mark.parametrize("dtype, share", [(torch.bfloat16, 0.0), (torch.float32, 0.4)])
@pytest.mark.parametrize(
    "queries, keys, scale, mask",
    [
        (5, 5, None, None),
        (5, 5, 1.0, torch.ones(5, 5).bool().tril()),
        (1, 7, 1.0, torch.arange(7) < torch.tensor([7, 6, 1]).view(3, 1, 1, 1)),
    ],
)
def test_results_and_gradients_of_attention_are_those_of_its_steps(
    queries, keys, scale, mask, dtype, share
):
    # as a layer leaves them: B × T × H × D
    rows = [torch.randn(3, length, 2, 8).to(dtype) for length in (queries, keys, keys)]

    def results(attend: Any, dtype: torch.dtype) -> list[Tensor]:
        leaves = [row.to(dtype).requires_grad_() for row in rows]
        torch.manual_seed(2)  # of the weights that are dropped
        out = attend(*(leaf.transpose(1, 2) for leaf in leaves), mask, share, scale)
        return [out, *gradients(out, leaves)]

    wanted = results(plain_attention, torch.float64)
    for tensor, other in zip(results(attention, dtype), wanted, strict=True):
        assert tensor.dtype == dtype
        assert (tensor.double() - other).norm() <= CLOSE[dtype] * other.norm()
