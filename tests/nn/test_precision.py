"""Fewer bits for decoding: which layers change, and what a command asks for."""

import sys
from argparse import Namespace

import pytest
import torch
from refusals import refuses
from tables import cases
from torch import nn

from lev_plugins.nn.backends import cpu
from lev_plugins.nn.kernels import Linear
from lev_plugins.nn.precision import decoding_precision, prepare_for_decoding

pytestmark = pytest.mark.kernels


def test_bfloat16_is_rounded_to_where_the_cpu_does_not_know_it(monkeypatch):
    monkeypatch.setattr(cpu, "supports_bf16_matmul", lambda: False)
    layer, x = Linear(64, 64), torch.randn(3, 64)
    rounded = layer.weight.detach().bfloat16().float()
    prepare_for_decoding([layer], "bf16")
    assert torch.equal(layer.weight, rounded)
    torch.testing.assert_close(layer(x), x @ rounded.T + layer.bias)


def test_8_bits_are_refused_with_what_has_them():
    with refuses("int8", "lev-export --int8"):
        prepare_for_decoding([nn.Linear(2, 2)], "int8")


@pytest.mark.parametrize(
    "command, wanted, bf16, precision",
    cases("nn/cases.tsv", "precision: the command says what to compute in"),
)
def test_the_command_says_what_to_compute_in(command, wanted, bf16, precision, monkeypatch):
    monkeypatch.setattr(sys, "argv", [command])
    cfg = Namespace(task=Namespace(decode_precision=wanted), common=Namespace(bf16=bf16))
    assert decoding_precision(cfg) == precision
