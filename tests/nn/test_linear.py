"""oneDNN's matrix product: torch's own results and gradients, whoever multiplies."""

import copy
import gc
import io
import os
import pickle
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from closeness import assert_near
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from lev_plugins.nn import linear as linear_module
from lev_plugins.nn.decoding import TiedOutput
from lev_plugins.nn.linear import (
    LEAST_PRODUCT,
    LEAST_READY,
    LEAST_ROWS,
    Linear,
    linear,
    one_dnn,
    prepack_weight,
)
from lev_plugins.nn.precision import quantize
from lev_plugins.nn.transformer import Attention, Memory, attention_mask

needs_one_dnn = pytest.mark.skipif(
    not linear_module.available(), reason="this torch was built without oneDNN"
)
#: of single precision, for sums of some hundred products
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes that oneDNN multiplied; here it multiplies whatever its size."""
    seen: list[tuple[int, ...]] = []
    product = linear_module.product

    def noting(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        seen.append((*x.shape, weight.size(0)))
        return product(x, weight, bias)

    monkeypatch.setattr(linear_module, "LEAST_PRODUCT", 0)
    monkeypatch.setattr(linear_module, "LEAST_READY", 0)
    monkeypatch.setattr(linear_module, "LEAST_READY_BF16", 0)
    monkeypatch.setattr(linear_module, "product", noting)
    return seen


def normal(*shape: int) -> Tensor:
    return torch.randn(shape).requires_grad_()


def gradients(out: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    weights = torch.linspace(-1, 1, out.numel()).view_as(out)
    return torch.autograd.grad((out * weights).sum(), inputs)


@needs_one_dnn
@settings(max_examples=60)
@given(
    lead=st.lists(st.integers(1, 5), max_size=2),
    rows=st.integers(LEAST_ROWS, 40),
    inputs=st.integers(1, 70),
    outputs=st.integers(1, 70),
    biased=st.booleans(),
    slanted=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_results_and_gradients_are_torchs(lead, rows, inputs, outputs, biased, slanted, seed):
    torch.manual_seed(seed)
    x, weight = normal(*lead, rows, inputs), normal(outputs, inputs)
    bias = normal(outputs) if biased else None
    given_x = x.transpose(-1, -2).contiguous().transpose(-1, -2) if slanted else x
    wanted = F.linear(given_x, weight, bias)
    with pytest.MonkeyPatch.context() as patch, one_dnn(True):
        patch.setattr(linear_module, "LEAST_PRODUCT", 0)
        patch.setattr(linear_module, "LEAST_READY", 0)
        found = linear(given_x, weight, bias)
        leaves = [x, weight] + ([] if bias is None else [bias])
        torch.testing.assert_close(found, wanted, **CLOSE)
        pairs = zip(gradients(found, leaves), gradients(wanted, leaves), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, **CLOSE)


@needs_one_dnn
def test_all_three_products_of_an_update_are_one_dnns(products):
    layer, x = Linear(16, 24), normal(2, 5, 16)
    with one_dnn(True):
        layer(x).sum().backward()
    assert products == [(10, 16, 24), (10, 24, 16), (24, 10, 16)]


@pytest.mark.skipif(not linear_module.knows_bfloat16(), reason="this CPU has no bfloat16")
@needs_one_dnn
@pytest.mark.parametrize(("inputs", "outputs"), [(16, 24), (24, 16)])
@pytest.mark.parametrize("relu", [False, True])
def test_bfloat16_learns_by_one_dnn_called_directly_even_on_intels_cpus(
    products, monkeypatch, inputs, outputs, relu
):
    torch.manual_seed(inputs)
    monkeypatch.setattr(linear_module, "LEAST_READY_BF16", 0)
    monkeypatch.setattr(linear_module, "_wanted", False)
    monkeypatch.setattr(linear_module, "_prepacks", True)
    leaves = [torch.randn(*shape).bfloat16() for shape in ((2, 5, inputs), (outputs, inputs))]
    leaves.append(torch.randn(outputs).bfloat16())
    results = []
    for change in (torch.Tensor.bfloat16, torch.Tensor.double):
        own = [change(one).requires_grad_() for one in leaves]
        out = linear(*own, relu=relu)
        results.append((out, *torch.autograd.grad((out * out.detach()).sum(), own)))
    for found, wanted in zip(*results, strict=True):
        assert found.dtype == torch.bfloat16
        assert float((found.double() - wanted).norm()) <= 2**-6 * float(wanted.norm())
    assert (10, inputs, outputs) in products and (10, outputs, inputs) in products


@needs_one_dnn
def test_nothing_is_multiplied_for_gradients_that_nobody_wants(products):
    x, weight = normal(8, 16), normal(24, 16)
    with one_dnn(True):
        linear(x, weight.detach()).sum().backward()
        linear(x.detach(), weight).sum().backward()
        with torch.no_grad():
            linear(x, weight)
    assert products == [(8, 16, 24), (8, 24, 16), (8, 16, 24), (24, 8, 16), (8, 16, 24)]


@needs_one_dnn
@pytest.mark.parametrize(
    "x",
    [
        torch.randn(8, 16, dtype=torch.float64),
        torch.randn(8, 16, dtype=torch.bfloat16),
        torch.randn(LEAST_ROWS - 1, 16),
        torch.randn(0, 16),
    ],
    ids=["double", "bfloat16", "few rows", "no rows"],
)
def test_what_it_is_not_for_is_left_to_torch(products, x, monkeypatch):
    monkeypatch.setattr(linear_module, "knows_bfloat16", lambda: True)
    weight = torch.randn(24, 16, dtype=x.dtype)
    with one_dnn(True):
        assert torch.equal(linear(x, weight), F.linear(x, weight))
    assert products == []


@needs_one_dnn
def test_autocast_keeps_its_say(products):
    x, weight = torch.randn(8, 16), torch.randn(24, 16)
    with one_dnn(True), torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(x, weight).dtype == torch.bfloat16
    assert products == []


@needs_one_dnn
def test_small_products_are_left_to_torch_and_large_ones_are_not(monkeypatch):
    asked = []
    monkeypatch.setattr(linear_module, "product", lambda x, w, b=None: asked.append(1) or x @ w.t())
    weight = torch.randn(64, 128)
    rows = LEAST_PRODUCT // weight.numel()
    with one_dnn(True):
        linear(torch.randn(rows - 1, 128), weight)
        assert asked == []
        linear(torch.randn(rows, 128), weight)
    assert asked == [1]


@needs_one_dnn
@pytest.mark.parametrize("outputs", [8, 24])
def test_it_is_the_rows_that_have_to_be_enough_however_wide_they_leave(products, outputs):
    weight = torch.randn(outputs, 16)
    with one_dnn(True):
        linear(torch.randn(LEAST_ROWS - 1, 16), weight)
        assert products == []
        linear(torch.randn(LEAST_ROWS, 16), weight)
    assert products == [(LEAST_ROWS, 16, outputs)]


@needs_one_dnn
@pytest.mark.parametrize(("of_x", "of_weight"), [("meta", "cpu"), ("cpu", "meta"), ("meta",) * 2])
def test_what_is_not_on_the_cpu_is_left_to_torch(of_x, of_weight):
    x, weight = torch.ones(8, 16, device=of_x), torch.ones(24, 16, device=of_weight)
    with one_dnn(True):
        assert not linear_module.possible(x, weight)
        assert linear_module.possible(torch.ones(8, 16), torch.ones(24, 16))


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("mkl", [True, False])
@pytest.mark.parametrize("intel", [True, False])
def test_unasked_one_dnn_multiplies_only_where_mkl_would_and_the_cpu_is_not_intels(
    monkeypatch, there, mkl, intel
):
    monkeypatch.delenv(linear_module.SWITCH, raising=False)
    monkeypatch.setattr(linear_module, "available", lambda: there)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: mkl)
    monkeypatch.setattr(linear_module, "is_intel", lambda: intel)
    assert linear_module.by_default() == (there and mkl and not intel)


@pytest.mark.parametrize(("said", "wanted"), [("0", False), ("1", linear_module.available())])
def test_the_environment_decides_where_it_says_so(said, wanted):
    program = "from lev_plugins.nn import linear; print(linear.uses_one_dnn())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, linear_module.SWITCH: said},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split()[-1] == str(wanted), done.stderr


@pytest.mark.parametrize("vendor", ["GenuineIntel", "AuthenticAMD"])
def test_intels_cpus_keep_mkl(monkeypatch, tmp_path, vendor):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\n")
    monkeypatch.setattr(linear_module, "CPUINFO", cpuinfo)
    assert linear_module.is_intel() == (vendor == "GenuineIntel")


def test_parts_of_wider_rows_are_copied_together_and_transposed_ones_are_not():
    whole = torch.randn(6, 10)
    part = whole[:, :5]
    assert torch.equal(linear_module.dense(part), part)
    assert linear_module.dense(part).is_contiguous()
    assert linear_module.dense(whole.t()).data_ptr() == whole.data_ptr()


# prepacked weights ----------------------------------------------------------------------------


@pytest.fixture
def ready_products(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each product of oneDNN whether the weight lay ready; here it multiplies all of them."""
    seen: list[bool] = []
    one_dnn_itself = linear_module.multiply

    def noting(x: Tensor, weight: Tensor, *more: object) -> Tensor:
        seen.append(weight.is_mkldnn)
        return one_dnn_itself(x, weight, *more)

    monkeypatch.setattr(linear_module, "LEAST_PRODUCT", 0)
    monkeypatch.setattr(linear_module, "LEAST_READY", 0)
    monkeypatch.setattr(linear_module, "LEAST_READY_BF16", 0)
    monkeypatch.setattr(linear_module, "multiply", noting)
    return seen


@needs_one_dnn
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [0, 1, 3, 25, 200])
def test_a_weight_that_lies_ready_gives_torchs_products(ready_products, rows, dtype):
    torch.manual_seed(rows)
    layer = Linear(48, 80).to(dtype).requires_grad_(False)
    x = torch.randn(2, rows, 48, dtype=dtype)
    with one_dnn(True):
        prepack_weight(layer.weight)
        found = layer(x)
    wanted = F.linear(x.double(), layer.weight.double(), layer.bias.double())
    if dtype == torch.float32:
        assert_near(found.double(), wanted)
    else:  # of values up to 2: bfloat16 has steps of 2**-7 there
        torch.testing.assert_close(found.double(), wanted, rtol=0, atol=2e-2)
    assert found.dtype == dtype
    if dtype == torch.float32 or linear_module.knows_bfloat16():
        assert ready_products == [True]


@pytest.mark.parametrize("one_dnns", [False, True])
def test_bfloat16_is_multiplied_in_single_precision_where_the_cpu_does_not_know_it(
    monkeypatch, one_dnns
):
    """On CPUs without AVX-512 torch takes ten times as long for it, and oneDNN raises."""
    monkeypatch.setattr(linear_module, "knows_bfloat16", lambda: False)
    kinds = []
    itself = F.linear
    monkeypatch.setattr(F, "linear", lambda *a: kinds.append(a[0].dtype) or itself(*a))
    layer = Linear(16, 24).bfloat16()
    x = torch.randn(3, 16).bfloat16().requires_grad_()
    with one_dnn(one_dnns):
        prepack_weight(layer.weight)
        found = layer(x)
        made = gradients(found, [x, layer.weight, layer.bias])
    assert kinds == [torch.float32], "too small for oneDNN"
    wanted = itself(x.float(), layer.weight.float(), layer.bias.float())
    assert torch.equal(found, wanted.bfloat16())
    for one, other in zip(made, gradients(wanted, [x, layer.weight, layer.bias]), strict=True):
        assert one.dtype == torch.bfloat16
        torch.testing.assert_close(one, other, rtol=2**-6, atol=2**-6)


@pytest.mark.parametrize("queries", [1, 3])
def test_attention_too_is_computed_in_single_precision_there(monkeypatch, queries):
    torch.manual_seed(1)
    attention = Attention(16, 2, cross=True).eval().bfloat16()
    x, memory = torch.randn(2, queries, 16), torch.randn(2, 5, 16)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    ways = []
    with torch.no_grad():
        for known in (True, False):
            monkeypatch.setattr(linear_module, "knows_bfloat16", lambda known=known: known)
            states = Memory(memory.bfloat16(), attention_mask(real))
            out = attention(x.bfloat16(), None, states)
            looked, shares = attention.forward_with_weights(x.bfloat16(), states)
            assert {one.dtype for one in (out, looked, shares)} == {torch.bfloat16}
            ways.append((out, looked, shares))
    for one, other in zip(*ways, strict=True):  # values up to 1, some roundings of 2**-8 each
        torch.testing.assert_close(one, other, rtol=0, atol=2**-5)


@needs_one_dnn
@pytest.mark.parametrize("how", ["a step", "a checkpoint", "another storage"])
def test_a_changed_weight_is_not_taken_for_what_it_was(ready_products, how):
    layer, x = Linear(16, 24), torch.randn(8, 16)
    with one_dnn(True), torch.no_grad():
        prepack_weight(layer.weight)
        before = layer(x)
        if how == "a step":
            layer.weight.add_(1.0)
        elif how == "a checkpoint":
            layer.load_state_dict(Linear(16, 24).state_dict())
        else:
            layer.weight.data = layer.weight.data + 1.0
        after = layer(x)
    assert ready_products == [True, False]
    torch.testing.assert_close(after, F.linear(x, layer.weight, layer.bias), **CLOSE)
    assert not torch.allclose(before, after)


@needs_one_dnn
def test_small_products_are_left_to_torch_even_where_the_weight_lies_ready(monkeypatch):
    asked = []
    itself = linear_module.multiply
    monkeypatch.setattr(linear_module, "multiply", lambda *a: asked.append(1) or itself(*a))
    weight = torch.randn(64, 128)
    rows = LEAST_READY // weight.numel()
    with one_dnn(True):
        prepack_weight(weight)
        linear(torch.randn(rows - 1, 128), weight)
        assert asked == []
        linear(torch.randn(rows, 128), weight)
    assert asked == [1]


@needs_one_dnn
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_where_mkl_multiplies_single_precision_bfloat16_alone_is_laid_out(monkeypatch, dtype):
    monkeypatch.setattr(linear_module, "_wanted", False)
    monkeypatch.setattr(linear_module, "_prepacks", True)
    weight = torch.ones(24, 16, dtype=dtype)
    prepack_weight(weight)
    laid_out = dtype == torch.bfloat16 and linear_module.knows_bfloat16()
    assert (linear_module.prepacked(weight) is not None) == laid_out


@pytest.mark.parametrize("said", [None, "0", "1"])
def test_nothing_is_laid_out_where_one_dnn_is_switched_off(monkeypatch, said):
    monkeypatch.delenv(linear_module.SWITCH, raising=False)
    if said is not None:
        monkeypatch.setenv(linear_module.SWITCH, said)
    monkeypatch.setattr(linear_module, "available", lambda: True)
    assert linear_module.prepacks_by_default() == (said != "0")


@needs_one_dnn
def test_weights_that_are_not_on_the_cpu_are_not_laid_out():
    weight = torch.ones(24, 16, device="meta")
    with one_dnn(True):
        prepack_weight(weight)
    assert linear_module.prepacked(weight) is None


@needs_one_dnn
def test_learning_takes_the_weight_itself(ready_products):
    layer, x = Linear(16, 24), torch.randn(8, 16)
    with one_dnn(True):
        prepack_weight(layer.weight)
        layer(x).sum().backward()
    assert ready_products == [False, False]


@needs_one_dnn
def test_decoders_have_their_weights_ready_and_save_them_as_ever():
    model = nn.Sequential(Linear(64, 64), nn.Linear(64, 64), TiedOutput(nn.Embedding(9, 64)))
    with one_dnn(True):
        quantize([model], "fp32")
    ready = [linear_module.prepacked(weight) is not None for weight in model.parameters()]
    assert ready == [True, False, False, False, True]
    saved = io.BytesIO()
    torch.save(model.state_dict(), saved)
    saved.seek(0)
    for name, value in torch.load(saved, weights_only=True).items():
        assert torch.equal(value, model.state_dict()[name])


@needs_one_dnn
def test_few_rows_are_filled_up_so_that_few_shapes_come(monkeypatch):
    seen, one_dnn_itself = set(), linear_module.multiply

    def noting(x: Tensor, *more: object) -> Tensor:
        seen.add(len(x))
        return one_dnn_itself(x, *more)

    monkeypatch.setattr(linear_module, "LEAST_READY", 0)
    monkeypatch.setattr(linear_module, "multiply", noting)
    layer = Linear(16, 24).requires_grad_(False)
    with one_dnn(True):
        prepack_weight(layer.weight)
        for rows in range(1, linear_module.FEW_ROWS + 2):
            x = torch.randn(rows, 16)
            torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias), **CLOSE)
    assert seen == {*range(1, 32), *range(32, 65, 2), linear_module.FEW_ROWS + 1}


def test_a_sixteenth_more_rows_at_most_and_sixteen_numbers_of_rows_to_an_octave():
    counts = [linear_module.padded_rows(rows, torch.bfloat16) for rows in range(1, 2049)]
    for rows, count in enumerate(counts, 1):
        assert rows <= count <= rows + rows / 16
        assert linear_module.padded_rows(count, torch.bfloat16) == count
    assert len({count for count in counts if count > 1024}) == 16
    assert linear_module.padded_rows(1000, torch.float32) == 1000


@needs_one_dnn
def test_a_ready_model_can_be_pickled_and_copied_and_takes_its_copies_with_it():
    layer, x = Linear(16, 24), torch.randn(8, 16)
    gc.collect()  # what earlier tests left
    with one_dnn(True), torch.no_grad():
        before = len(linear_module.laid_out)
        prepack_weight(layer.weight)
        assert len(linear_module.laid_out) == before + 1
        for again in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
            assert torch.equal(again(x), F.linear(x, layer.weight, layer.bias))
        del layer
        gc.collect()
        assert len(linear_module.laid_out) == before


@needs_one_dnn
def test_a_model_made_in_inference_mode_decodes_too(ready_products):
    with one_dnn(True), torch.inference_mode():
        layer, x = Linear(16, 24), torch.randn(8, 16)
        quantize([layer], "fp32")
        torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias), **CLOSE)
    assert ready_products == [False]
