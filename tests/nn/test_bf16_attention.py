"""Attention in bfloat16 against torch's own in double precision."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.nn import bf16_attention
from lev_plugins.nn.bf16_attention import attend_bf16, fits_bf16
from lev_plugins.nn.linear import knows_bfloat16
from lev_plugins.nn.transformer import Attention, attention_mask

#: products of numbers rounded to 2**-9 of themselves, in a row
CLOSE = 2**-6


def strided(batch: int, length: int, parts: int, heads: int = 2, width: int = 8) -> Tensor:
    """Queries, keys or values as a layer leaves them: B × T × parts × H × D."""
    return torch.randn(batch, length, parts, heads, width).bfloat16().requires_grad_()


def near(found: Tensor, wanted: Tensor) -> bool:
    return bool((found.double() - wanted).norm() <= CLOSE * wanted.norm())


@pytest.mark.parametrize("masked", ["not", "padding", "causal"])
@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (1, 7), (6, 3)])
def test_results_and_gradients_are_torchs(queries, keys, scale, masked):
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
    assert near(found[0], wanted[0])
    assert all(near(*pair) for pair in zip(found[1], wanted[1], strict=True))


@pytest.mark.skipif(not knows_bfloat16(), reason="this CPU multiplies bfloat16 in fp32")
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_layer_that_learns_in_bfloat16_takes_it_unless_weights_drop_out(monkeypatch, dropout):
    taken = []
    itself = bf16_attention._Attention.apply
    monkeypatch.setattr(
        bf16_attention._Attention, "apply", lambda *a: taken.append(1) or itself(*a)
    )
    layer = Attention(16, 2, dropout).bfloat16()
    x = torch.randn(2, 5, 16).bfloat16().requires_grad_()
    real = torch.ones(2, 5, dtype=torch.bool)
    layer(x, attention_mask(real)).sum().backward()
    assert len(taken) == (dropout == 0) and bool(x.grad.isfinite().all())
    with torch.no_grad():
        layer(x, attention_mask(real))
    assert len(taken) == (dropout == 0), "without gradients torch's is as fast"


def test_it_is_not_for_long_sequences_and_biases():
    short, long = torch.empty(1, 1, 8, 4), torch.empty(1, 1, bf16_attention.MOST_SCORES, 4)
    assert fits_bf16(short, short, None) and not fits_bf16(long, short, None)
    assert not fits_bf16(short, short, torch.zeros(1, 1, 8, 8))
