"""Attention, blocks and positions against slow definitions of the same."""

import math

import pytest
import torch
import torch.nn.functional as F
from fairseq.modules import SinusoidalPositionalEmbedding
from test_t5 import randomised, real_tokens
from torch import Tensor

from lev_plugins.nn.embedding import Positions
from lev_plugins.nn.packing import Layout
from lev_plugins.nn.rotary import turns
from lev_plugins.nn.transformer import Attention, BlockSize, Memory, TransformerBlock

pytestmark = pytest.mark.kernels

DIM, HEADS = 12, 3
BATCH, LENGTH, SOURCE = 3, 5, 4
PAD = 1
NOTHING_HIDDEN = Layout(None, None)


def slow_attention(query: Tensor, key: Tensor, value: Tensor, real: Tensor | None) -> Tensor:
    """Attention of Vaswani et al. (2017), Eq. 1, head by head and sentence by sentence."""
    width = DIM // HEADS
    out = torch.zeros_like(query)
    for b in range(query.size(0)):
        for h in range(HEADS):
            part = slice(h * width, (h + 1) * width)
            scores = torch.einsum("td,sd->ts", query[b, :, part], key[b, :, part])
            scores = scores / math.sqrt(width)
            if real is not None:
                scores = scores.masked_fill(~real[b].unsqueeze(0), float("-inf"))
            out[b, :, part] = torch.einsum("ts,sd->td", scores.softmax(-1), value[b, :, part])
    return out


def inputs(length: int = LENGTH) -> Tensor:
    return torch.randn(BATCH, length, DIM, dtype=torch.double)


def test_rotary_positions_turn_pairs_of_channels_by_their_place():
    """Su et al. (2021), Eq. 14 and 15: by matrices, sentence by sentence, head by head."""
    attention, x, width = randomised(Attention(DIM, HEADS)), inputs(), DIM // HEADS
    real = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)
    plain = attention.project(x, NOTHING_HIDDEN)
    found = attention.project(x, Layout(None, None, turns(real, width)))
    for b, t in real.nonzero().tolist():
        place = int(real[b, :t].sum())
        angles = [place * 10000 ** (-2 * i / width) for i in range(width // 2)]
        turn = torch.block_diag(*(torch.tensor([[0.0, -a], [a, 0.0]]) for a in angles)).matrix_exp()
        for before, after in zip(plain[:2], found[:2], strict=True):
            torch.testing.assert_close(
                after[b, :, t], before[b, :, t] @ turn.T.double(), rtol=1e-5, atol=1e-5
            )
    assert torch.equal(plain[2], found[2])


@pytest.mark.parametrize("masked", [True, False])
def test_attention_to_itself_and_to_a_memory_is_the_slow_one(masked):
    attention, x = randomised(Attention(DIM, HEADS)), inputs()
    real = real_tokens(5, 2, 1) if masked else None
    query, key, value = F.linear(x, attention.inputs.weight, attention.inputs.bias).chunk(3, -1)
    expected = attention.output(slow_attention(query, key, value, real))
    result = attention(x, Layout(None if real is None else real[:, None, None], None))
    assert torch.allclose(result, expected, atol=1e-10)
    attention, states = randomised(Attention(DIM, HEADS, cross=True)), inputs(SOURCE)
    real = real_tokens(4, 1, 3) if masked else None
    memory = Memory(states, None if real is None else real[:, None, None])
    key, value = F.linear(states, attention.inputs.weight, attention.inputs.bias).chunk(2, -1)
    expected = attention.output(slow_attention(attention.query(x), key, value, real))
    assert torch.allclose(attention(x, NOTHING_HIDDEN, memory), expected, atol=1e-10)


def block_of() -> TransformerBlock:
    return TransformerBlock(BlockSize(DIM, HEADS, 16, True, 0.0, 0.0, 0.0, "relu"), cross=True)


@pytest.mark.parametrize("where", ["dropout", "self_attention.dropout", "activation_dropout"])
def test_dropout_acts_in_training_only(where):
    x, block, memory = inputs(), randomised(block_of()), Memory(inputs(SOURCE), None)
    owner, _, name = where.rpartition(".")
    setattr(block.get_submodule(owner), name, 0.5)
    for training in (False, True):
        block.train(training)
        one, other = (block(x, NOTHING_HIDDEN, memory) for _ in "ab")
        assert torch.equal(one, other) != training


@pytest.mark.parametrize(("dim", "left"), [(8, True), (7, False)])
def test_sinusoidal_positions_are_those_of_fairseq(dim, left):
    tokens = torch.tensor([[4, 5, 6, 7], [4, 5, PAD, PAD], [9, PAD, PAD, PAD]])
    tokens = tokens.flip(1) if left else tokens
    theirs = SinusoidalPositionalEmbedding(dim, PAD, init_size=64)
    assert torch.allclose(Positions(40, dim, PAD)(tokens), theirs(tokens), atol=1e-6)
