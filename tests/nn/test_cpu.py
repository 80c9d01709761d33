"""Products on a CPU: torch's own results and gradients, whoever multiplies and in how many bits."""

import copy
import io
import os
import pickle
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from closeness import assert_near
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from lev_plugins.nn import cpu
from lev_plugins.nn.cpu import (
    LEAST_TILED,
    Int8Linear,
    Linear,
    attend_bf16,
    fits_bf16,
    linear,
    prepack_weight,
)
from lev_plugins.nn.decoding import TiedOutput
from lev_plugins.nn.packing import Layout
from lev_plugins.nn.precision import quantize
from lev_plugins.nn.transformer import Attention, Memory, attention_mask

pytestmark = pytest.mark.kernels
ONE_DNN_IS_THERE = torch.backends.mkldnn.is_available()
needs_one_dnn = pytest.mark.skipif(not ONE_DNN_IS_THERE, reason="torch was built without oneDNN")
BOTH = frozenset([torch.float32, torch.bfloat16])
ONE_DNN = "mkldnn::_linear_pointwise"


@contextmanager
def whatever_the_size(kinds: frozenset[torch.dtype] = BOTH) -> Iterator[None]:
    """Inside, oneDNN multiplies these kinds of numbers, small products too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "kinds", kinds if ONE_DNN_IS_THERE else frozenset())
        patch.setattr(cpu, "LEAST_PRODUCT", 1)
        patch.setattr(cpu, "LEAST_READY", dict.fromkeys(BOTH, 0))
        yield


@pytest.fixture
def one_dnn() -> Iterator[None]:
    with whatever_the_size():
        yield


class Operators(TorchDispatchMode):
    """Which of torch's operators are run inside the block, and whether a weight was laid out."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.ready: list[bool] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func._schema.name)
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
    lead=st.lists(st.integers(1, 5), max_size=2),
    rows=st.integers(1, 40),
    inputs=st.integers(1, 70),
    outputs=st.integers(1, 70),
    biased=st.booleans(),
    slanted=st.booleans(),
)
def test_results_and_gradients_are_torchs(lead, rows, inputs, outputs, biased, slanted):
    torch.manual_seed(rows)
    x, weight = normal(*lead, rows, inputs), normal(outputs, inputs)
    bias = normal(outputs) if biased else None
    given_x = x.transpose(-1, -2).contiguous().transpose(-1, -2) if slanted else x
    leaves = [x, weight] + ([] if bias is None else [bias])
    wanted = F.linear(given_x, weight, bias)
    with whatever_the_size():
        found = linear(given_x, weight, bias)
        slopes = gradients(found, leaves)
    assert_near(found, wanted)
    assert_near(slopes, gradients(wanted, leaves), least=10)


@needs_one_dnn
@pytest.mark.parametrize(
    ("x", "learns", "ours"),
    [
        (torch.randn(64, 128), True, True),
        (torch.randn(64, 128), False, True),
        (torch.randn(64, 128, dtype=torch.double), True, False),
        (torch.randn(64, 128).bfloat16(), True, not cpu.knows_bfloat16()),  # torch does the same
    ],
    ids=["learns", "decodes", "double", "bfloat16"],
)
def test_one_dnn_multiplies_what_it_is_for_both_ways(one_dnn, x, learns, ours):
    weight = torch.randn(32, 128, dtype=x.dtype, requires_grad=learns)
    with Operators() as there:
        out = linear(x.requires_grad_(learns), weight)
    with Operators() as back:
        if learns:
            out.sum().backward()
    assert (ONE_DNN in there.names, ONE_DNN in back.names) == (ours, ours and learns)
    assert_near(out.float(), F.linear(x, weight).float(), least=10)


@needs_one_dnn
@pytest.mark.parametrize("ready", [False, True])
def test_small_products_are_left_to_torch(monkeypatch, ready):
    monkeypatch.setattr(cpu, "kinds", BOTH)
    weight = torch.randn(64, 128)
    least = cpu.LEAST_READY[torch.float32] if ready else cpu.LEAST_PRODUCT
    if ready:
        prepack_weight(weight)
    for rows in (least // weight.numel() - 1, least // weight.numel()):
        with Operators() as ran:
            linear(torch.randn(rows, 128), weight)
        assert (ONE_DNN in ran.names) == (rows * weight.numel() >= least)


@needs_one_dnn
def test_other_kinds_and_other_devices_are_left_to_torch(one_dnn):
    x, weight = torch.randn(8, 16), torch.randn(24, 16)
    meta = torch.ones(24, 16, device="meta")
    prepack_weight(meta)
    assert cpu.prepacked(meta) is None
    assert linear(torch.ones(8, 16, device="meta"), meta).shape == (8, 24)
    with pytest.raises(RuntimeError, match="dtype"):
        linear(x, weight.double())


SINGLE, HALF = {torch.float32, torch.bfloat16}, {torch.bfloat16}


@pytest.mark.parametrize(
    ("said", "one_dnn", "mkl", "vendor", "wanted"),
    [
        (None, True, True, "GenuineIntel", HALF),
        (None, True, True, "AuthenticAMD", SINGLE),
        (None, True, False, "AuthenticAMD", HALF),
        (None, False, True, "AuthenticAMD", set()),
        ("0", True, True, "AuthenticAMD", set()),
        ("1", True, True, "GenuineIntel", SINGLE),
    ],
)
def test_one_dnn_multiplies_single_precision_where_mkl_would_and_the_cpu_is_not_intels(
    monkeypatch, tmp_path, said, one_dnn, mkl, vendor, wanted
):
    monkeypatch.delenv(cpu.SWITCH, raising=False)
    if said is not None:
        monkeypatch.setenv(cpu.SWITCH, said)
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\n")
    monkeypatch.setattr(cpu, "CPUINFO", cpuinfo)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: one_dnn)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: mkl)
    assert cpu.kinds_by_default() == wanted


# weights laid out for decoding ----------------------------------------------------------------


@needs_one_dnn
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [0, 1, 3, 25, 200])
def test_a_weight_that_lies_ready_gives_torchs_products(one_dnn, rows, dtype):
    layer = Linear(48, 80).to(dtype).requires_grad_(False)
    prepack_weight(layer.weight)
    x = torch.randn(2, rows, 48, dtype=dtype)
    with Operators() as ran:
        found = layer(x)
    wanted = F.linear(x.double(), layer.weight.double(), layer.bias.double())
    if dtype == torch.float32:
        assert_near(found.double(), wanted)
    else:  # of values up to 2: bfloat16 has steps of 2**-7 there
        torch.testing.assert_close(found.double(), wanted, rtol=0, atol=2e-2)
    assert found.dtype == dtype
    if dtype == torch.float32 or cpu.knows_bfloat16():
        assert ran.ready == [True]


@needs_one_dnn
@pytest.mark.parametrize("how", ["a step", "a checkpoint", "another storage", "learning"])
def test_a_changed_weight_is_not_taken_for_what_it_was(one_dnn, how):
    layer, x = Linear(16, 24), torch.randn(8, 16)
    prepack_weight(layer.weight)
    with torch.no_grad():
        before = layer(x)
        if how == "a step":
            layer.weight.add_(1.0)
        elif how == "a checkpoint":
            layer.load_state_dict(Linear(16, 24).state_dict())
        elif how == "another storage":
            layer.weight.data = layer.weight.data + 1.0
    with nullcontext() if how == "learning" else torch.no_grad(), Operators() as ran:
        after = layer(x)
    assert ran.ready == [False]
    assert_near(after, F.linear(x, layer.weight, layer.bias))
    assert torch.allclose(before, after) == (how == "learning")


@needs_one_dnn
def test_decoders_have_their_weights_ready_and_are_saved_and_copied_as_ever(one_dnn):
    model = nn.Sequential(Linear(64, 64), nn.Linear(64, 64), TiedOutput(nn.Embedding(9, 64)))
    quantize([model], "fp32")
    ready = [cpu.prepacked(weight) is not None for weight in model.parameters()]
    assert ready == [True, False, False, False, True]
    saved = io.BytesIO()
    torch.save(model.state_dict(), saved)
    saved.seek(0)
    for name, value in torch.load(saved, weights_only=True).items():
        assert torch.equal(value, model.state_dict()[name])
    x = torch.randn(8, 64)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_near(again(x), model(x))
    with torch.inference_mode():  # whose changes are not counted
        made = Linear(64, 64)
        quantize([made], "fp32")
        assert cpu.prepacked(made.weight) is None


# CPUs without bfloat16 ------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [BOTH, frozenset()])
def test_bfloat16_is_multiplied_in_single_precision_where_the_cpu_does_not_know_it(
    monkeypatch, kinds
):
    """On CPUs without AVX-512 torch takes ten times as long for it, and oneDNN raises."""
    monkeypatch.setattr(cpu, "knows_bfloat16", lambda: False)
    monkeypatch.setattr(cpu, "kinds", kinds)
    layer = Linear(16, 24).bfloat16()
    x = torch.randn(3, 16).bfloat16().requires_grad_()
    prepack_weight(layer.weight)
    leaves = [x, layer.weight, layer.bias]
    found = layer(x)
    wanted = F.linear(x.float(), layer.weight.float(), layer.bias.float())
    assert torch.equal(found, wanted.bfloat16())
    for one, other in zip(gradients(found, leaves), gradients(wanted, leaves), strict=True):
        assert one.dtype == torch.bfloat16
        torch.testing.assert_close(one, other, rtol=2**-6, atol=2**-6)


@pytest.mark.parametrize("queries", [1, 3])
def test_attention_too_is_computed_in_single_precision_there(monkeypatch, queries):
    attention = Attention(16, 2, cross=True).eval().bfloat16()
    x, memory = torch.randn(2, queries, 16), torch.randn(2, 5, 16)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    ways = []
    with torch.no_grad():
        for known in (True, False):
            monkeypatch.setattr(cpu, "knows_bfloat16", lambda known=known: known)
            states = Memory(memory.bfloat16(), attention_mask(real))
            out = attention(x.bfloat16(), Layout(None, None), states)
            looked, shares = attention.forward_with_weights(x.bfloat16(), states)
            assert {one.dtype for one in (out, looked, shares)} == {torch.bfloat16}
            ways.append((out, looked, shares))
    for one, other in zip(*ways, strict=True):  # values up to 1, some roundings of 2**-8 each
        torch.testing.assert_close(one, other, rtol=0, atol=2**-5)


# attention in bfloat16 ------------------------------------------------------------------------

#: products of numbers rounded to 2**-9 of themselves, in a row
CLOSE = 2**-6


def strided(batch: int, length: int, parts: int, heads: int = 2, width: int = 8) -> Tensor:
    """Queries, keys or values as a layer leaves them: B × T × parts × H × D."""
    return torch.randn(batch, length, parts, heads, width).bfloat16().requires_grad_()


def near_bf16(found: Tensor, wanted: Tensor) -> bool:
    return bool((found.double() - wanted).norm() <= CLOSE * wanted.norm())


@pytest.mark.parametrize("masked", ["not", "padding", "causal"])
@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (1, 7), (6, 3)])
def test_its_results_and_gradients_are_torchs(queries, keys, scale, masked):
    torch.manual_seed(queries)
    query, both = strided(3, queries, 1), strided(3, keys, 2)
    mask = None
    if masked == "padding":
        mask = torch.arange(keys) < torch.tensor([keys, keys - 1, 1]).view(3, 1, 1, 1)
    elif masked == "causal":
        mask = (torch.arange(keys) <= torch.arange(queries)[:, None]).view(1, 1, queries, keys)
    slope = torch.randn(3, queries, 2 * 8)

    def through(attend, change) -> tuple[Tensor, tuple[Tensor, ...]]:
        leaves = [change(one.detach()).requires_grad_() for one in (query, both)]
        (q,), (k, v) = (one.permute(2, 0, 3, 1, 4).unbind(0) for one in leaves)
        out = attend(q, k, v).transpose(1, 2).flatten(2)
        return out, torch.autograd.grad(out, leaves, change(slope))

    found = through(lambda *a: attend_bf16(*a, mask, scale), lambda x: x.bfloat16())
    wanted = through(
        lambda *a: F.scaled_dot_product_attention(*a, attn_mask=mask, scale=scale),
        lambda x: x.bfloat16().double(),
    )
    assert found[0].dtype == torch.bfloat16
    assert near_bf16(found[0], wanted[0])
    assert all(near_bf16(*pair) for pair in zip(found[1], wanted[1], strict=True))


def test_it_is_for_layers_that_learn_and_not_for_long_sequences_and_biases():
    short, long = torch.empty(1, 1, 8, 4), torch.empty(1, 1, cpu.MOST_SCORES, 4)
    assert fits_bf16(short, short, None) and not fits_bf16(long, short, None)
    assert not fits_bf16(short, short, torch.zeros(1, 1, 8, 8))
    real = torch.ones(2, 5, dtype=torch.bool)
    for learns in (True, False):
        layer = Attention(16, 2).bfloat16().requires_grad_(learns)
        x = torch.randn(2, 5, 16).bfloat16().requires_grad_(learns)
        with Operators() as ran:
            layer(x, Layout(attention_mask(real), None))
        torchs = any("scaled_dot_product" in name for name in ran.names)
        assert torchs == (not learns) or not cpu.knows_bfloat16()


# 8 bits ---------------------------------------------------------------------------------------


def in_eight_bits(values: Tensor, scale: Tensor) -> Tensor:
    return (values / scale).round().clamp(-127, 127) * scale


def test_a_layer_in_eight_bits_does_what_its_rounded_weights_do():
    layer, x = nn.Linear(64, 96).requires_grad_(False), torch.randn(7, 64)
    small = Int8Linear(layer.weight, layer.bias)
    weight = in_eight_bits(layer.weight, layer.weight.abs().amax(1, keepdim=True) / 127)
    # what comes in is rounded as well, to a 127th or so of its range
    wanted, found = x @ weight.T + layer.bias, small(x)
    spread = float(x.max() - x.min()) / 127
    assert (found - wanted).abs().max() < spread * float(weight.abs().sum(1).max())
    assert (found - layer(x)).abs().mean() < 0.05 * layer(x).abs().mean()
    assert not torch.equal(found, layer(x)), "it was rounded"
    for shape in ((2, 3, 64), (0, 64)):
        assert small(torch.randn(shape)).shape == (*shape[:-1], 96)
    assert small(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("rows", [3, 200])
@pytest.mark.parametrize("kind", ["plain", "ready", "int8"])
def test_a_layer_cuts_off_what_is_negative_where_it_is_asked_to(one_dnn, kind, rows):
    layer: Any = Linear(64, 96).requires_grad_(False)
    if kind == "ready":
        prepack_weight(layer.weight)
    elif kind == "int8":
        layer = Int8Linear(layer.weight, layer.bias)
    x = torch.randn(rows, 64)
    found = layer(x, relu=True)
    assert torch.equal(found, layer(x).relu()) and bool(found.any())


@pytest.mark.skipif(
    not ONE_DNN_IS_THERE or "ONEDNN_MAX_CPU_ISA" in os.environ,
    reason="oneDNN is not there, or held to instructions with which its sums are cut off",
)
@pytest.mark.parametrize("rows", [LEAST_TILED - 1, LEAST_TILED, 3 * LEAST_TILED + 1])
def test_many_rows_are_multiplied_in_tiles_where_the_cpu_has_them(monkeypatch, rows):
    layer, x = nn.Linear(64, 96).requires_grad_(False), torch.randn(rows, 64)
    plain, tiled = None, None
    for tiles in (False, True):
        monkeypatch.setattr(cpu, "has_tiles", lambda tiles=tiles: tiles)
        plain, tiled = tiled, Int8Linear(layer.weight, layer.bias)
    found = tiled(x)
    # a step of what comes in, rounded to the other side here and there
    step = float(x.max() - x.min()) / (127 if tiled.reduce_range else 255)
    assert (found - plain(x)).abs().max() <= step * float(layer.weight.abs().sum(1).max())
    again = copy.deepcopy(tiled)
    assert (again(x) - plain(x)).abs().max() <= (found - plain(x)).abs().max() + 1e-6


def test_eight_bits_never_overflow_on_older_cpus_either():
    """Without VNNI (AVX2 here) the largest factors are half of what they should be in 8 bits."""
    program = f"""if True:
        import runpy, torch
        cpu = runpy.run_path({cpu.__file__!r})  # without the package, which takes seconds
        engines = torch.backends.quantized.supported_engines
        for engine in dict.fromkeys([torch.backends.quantized.engine, *engines]):
            if engine not in ("none", "qnnpack"):
                torch.backends.quantized.engine = engine
                rows = cpu["Int8Linear"](torch.ones(8, 64))(torch.ones(9, 64))
                print(engine, cpu["overflows"](), float(rows.min()), float(rows.max()))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    for engine, told, *found in map(str.split, done.stdout.splitlines()):
        assert [float(one) for one in found] == pytest.approx([64, 64], rel=0.01), engine
        if (engine, platform.machine()) == ("onednn", "x86_64"):
            assert told == "True", "there is something to be done about"
