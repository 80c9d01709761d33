"""Fewer bits for decoding."""

import copy
import os
import platform
import subprocess
import sys
from argparse import Namespace

import pytest
import tiny
import torch
from fairseq.modules import MultiheadAttention
from torch import nn

from lev_plugins.errors import UserError
from lev_plugins.nn import linear, precision
from lev_plugins.nn.precision import (
    LEAST_ROWS,
    Int8Linear,
    decoding_precision,
    quantize,
)


def in_eight_bits(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return (values / scale).round().clamp(-127, 127) * scale


def test_a_layer_in_eight_bits_does_what_its_rounded_weights_do():
    torch.manual_seed(1)
    layer, x = nn.Linear(64, 96).requires_grad_(False), torch.randn(7, 64)
    small = Int8Linear(layer.weight, layer.bias)
    weight = in_eight_bits(layer.weight, layer.weight.abs().amax(1, keepdim=True) / 127)
    # what comes in is rounded as well, to a 127th or so of its range
    wanted, found = x @ weight.T + layer.bias, small(x)
    spread = float(x.max() - x.min()) / 127
    assert (found - wanted).abs().max() < spread * float(weight.abs().sum(1).max())
    assert (found - layer(x)).abs().mean() < 0.05 * layer(x).abs().mean()
    assert not torch.equal(found, layer(x)), "it was rounded"


def test_a_layer_in_eight_bits_keeps_shape_and_type():
    layer = nn.Linear(64, 64, bias=False)
    small = Int8Linear(layer.weight)
    assert small(torch.randn(2, 3, 64)).shape == (2, 3, 64)
    assert small(torch.randn(2, 64).bfloat16()).dtype == torch.bfloat16
    assert small(torch.zeros(0, 64)).shape == (0, 64)


@pytest.mark.skipif(
    "onednn" not in torch.backends.quantized.supported_engines
    or "ONEDNN_MAX_CPU_ISA" in os.environ,
    reason="oneDNN is not there, or held to instructions with which its sums are cut off",
)
@pytest.mark.parametrize("rows", [LEAST_ROWS - 1, LEAST_ROWS, 3 * LEAST_ROWS + 1])
def test_many_rows_are_multiplied_in_tiles_where_the_cpu_has_them(monkeypatch, rows):
    torch.manual_seed(rows)
    layer, x = nn.Linear(64, 96).requires_grad_(False), torch.randn(rows, 64)
    monkeypatch.setattr(precision, "multiplies_tiles", lambda: False)
    plain = Int8Linear(layer.weight, layer.bias)
    monkeypatch.setattr(precision, "multiplies_tiles", lambda: True)
    tiled, seen = Int8Linear(layer.weight, layer.bias), []
    itself = Int8Linear._multiply

    def noting(self, x, packed, relu):
        seen.append(packed is self.tiled)
        return itself(self, x, packed, relu)

    monkeypatch.setattr(Int8Linear, "_multiply", noting)
    found = tiled(x)
    assert seen == [rows >= LEAST_ROWS]
    # a step of what comes in, rounded to the other side here and there
    step = float(x.max() - x.min()) / (127 if tiled.reduce_range else 255)
    assert (found - plain(x)).abs().max() <= step * float(layer.weight.abs().sum(1).max())
    assert torch.equal(copy.deepcopy(tiled)(x), found), "a copy keeps both layouts"


@pytest.mark.parametrize("rows", [3, 200])
@pytest.mark.parametrize("less", [False, True])
def test_a_layer_cuts_off_what_is_negative_where_it_is_asked_to(less, rows):
    layer = linear.Linear(64, 96).requires_grad_(False)
    one = Int8Linear(layer.weight, layer.bias) if less else layer
    x = torch.randn(rows, 64)
    assert torch.equal(one(x, relu=True), one(x).relu())


@pytest.mark.parametrize("instructions", ["AVX2", "ALL"])
@pytest.mark.parametrize("engine", [None, "onednn"])
def test_eight_bits_never_overflow_on_older_cpus_either(engine, instructions):
    """Without VNNI (AVX2 here) the largest factors are half of what they should be in 8 bits."""
    if engine and engine not in torch.backends.quantized.supported_engines:
        pytest.skip("this torch has no oneDNN")
    program = f"""if True:
        import torch
        from lev_plugins.nn.precision import Int8Linear, overflows
        torch.backends.quantized.engine = {engine!r} or torch.backends.quantized.engine
        rows = Int8Linear(torch.ones(8, 64))(torch.ones(9, 64))
        print(overflows(), float(rows.min()), float(rows.max()))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": instructions},
        capture_output=True,
        text=True,
    )
    told, *found = done.stdout.split()
    assert [float(one) for one in found] == pytest.approx([64, 64], rel=0.01), done.stderr
    if engine and instructions == "AVX2" and platform.machine() == "x86_64":
        assert told == "True", "there is something to be done about"


def test_bfloat16_is_rounded_to_where_the_cpu_does_not_know_it(monkeypatch):
    monkeypatch.setattr(linear, "knows_bfloat16", lambda: False)
    layer, x = linear.Linear(64, 64), torch.randn(3, 64)
    rounded = layer.weight.detach().bfloat16().float()
    quantize([layer], "bf16")
    assert torch.equal(layer.weight, rounded)
    torch.testing.assert_close(layer(x), x @ rounded.T + layer.bias)


def test_large_layers_are_replaced_and_small_ones_are_not():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    quantize([model], "int8")
    assert isinstance(model[0], Int8Linear)
    assert type(model[2]) is nn.Linear


def test_full_precision_changes_nothing():
    model = nn.Linear(64, 64)
    before = model.weight.clone()
    quantize([model], "fp32")
    assert type(model) is nn.Linear and torch.equal(model.weight, before)
    assert model.weight.dtype == torch.float32


def test_another_name_is_refused():
    with pytest.raises(UserError, match="'int4'.*fp32, bf16, int8"):
        quantize([nn.Linear(2, 2)], "int4")


def test_a_model_on_another_device_is_refused():
    model = nn.Linear(64, 64, device="meta")
    with pytest.raises(UserError, match="for a CPU"):
        quantize([model], "int8")


@pytest.mark.parametrize(
    ("wanted", "bf16", "found"),
    [
        ("fp32", False, "fp32"),
        ("int8", False, "int8"),
        ("fp32", True, "bf16"),
        (None, True, "bf16"),
    ],
)
def test_the_command_says_what_to_compute_in(wanted, bf16, found, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-generate"])
    cfg = Namespace(task=Namespace(decode_precision=wanted), common=Namespace(bf16=bf16))
    assert decoding_precision(cfg) == found


def test_two_precisions_at_once_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-interactive"])
    cfg = Namespace(task=Namespace(decode_precision="int8"), common=Namespace(bf16=True))
    with pytest.raises(UserError, match="--bf16 exclude"):
        decoding_precision(cfg)


def test_what_a_training_computed_in_says_nothing_about_decoding():
    cfg = Namespace(task=Namespace(decode_precision="fp32"), common=Namespace(bf16=True))
    assert decoding_precision(cfg) == "fp32"


def test_layers_of_fairseq_itself_stay_as_they_are():
    attention = MultiheadAttention(64, 4)
    with pytest.raises(UserError, match="fairseq's own layers .Sequential.; use bf16"):
        quantize([nn.Sequential(attention)], "int8")
    rounded = attention.q_proj.weight.bfloat16()
    quantize([attention], "bf16")
    assert torch.equal(attention.q_proj.weight.bfloat16(), rounded)
    assert (attention.q_proj.weight.dtype == torch.bfloat16) == linear.knows_bfloat16()


def test_a_command_whose_task_has_no_such_option_computes_in_full():
    assert decoding_precision(Namespace(task=Namespace(), common=Namespace())) == "fp32"


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_an_edit_model_is_close_to_itself_with_fewer_bits(precision):
    task = tiny.task()
    model = tiny.model(task, encoder_embed_dim=64, decoder_embed_dim=64).eval()
    tokens = tiny.batch(task, [tiny.Triple("abcd", "abcdef", "abd")])["net_input"]["src_tokens"]
    full = model.deletion_logits(tokens, model.encode(tokens))
    quantize([model], precision)
    less = model.deletion_logits(tokens, model.encode(tokens)).float()
    assert torch.isfinite(less).all()
    assert (less - full).abs().max() <= 0.1 * max(1.0, float(full.abs().max()))
