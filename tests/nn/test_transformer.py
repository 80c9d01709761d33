"""Attention, blocks and positions against slow definitions of the same."""

import math

import pytest
import torch
import torch.nn.functional as F
from fairseq.modules import SinusoidalPositionalEmbedding
from torch import Tensor

from lev_plugins.nn import Memory, Positions, TransformerBlock, TransformerStack
from lev_plugins.nn.packing import Layout
from lev_plugins.nn.transformer import Attention, BlockSize, attention_mask

pytestmark = pytest.mark.kernels

DIM, HEADS = 12, 3
BATCH, LENGTH, SOURCE = 3, 5, 4
PAD = 1
NOTHING_HIDDEN = Layout(None, None)


def real_tokens(length: int, *lengths: int) -> Tensor:
    """B × T, bool, True at the first ``lengths[i]`` tokens of row i."""
    return torch.arange(length).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


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


def randomise(module: torch.nn.Module) -> torch.nn.Module:
    """Biases and norms too, so that a forgotten one shows."""
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module.double().eval()


def inputs(length: int = LENGTH) -> Tensor:
    return torch.randn(BATCH, length, DIM, dtype=torch.double)


@pytest.mark.parametrize("masked", [True, False])
def test_self_attention_is_the_slow_one(masked):
    attention, x = randomise(Attention(DIM, HEADS)), inputs()
    real = real_tokens(LENGTH, 5, 2, 1) if masked else None
    query, key, value = F.linear(x, attention.inputs.weight, attention.inputs.bias).chunk(3, -1)
    expected = attention.output(slow_attention(query, key, value, real))
    result = attention(x, Layout(None if real is None else attention_mask(real), None))
    assert torch.allclose(result, expected, atol=1e-10)


@pytest.mark.parametrize("masked", [True, False])
def test_attention_to_a_memory_is_the_slow_one(masked):
    attention, x, states = randomise(Attention(DIM, HEADS, cross=True)), inputs(), inputs(SOURCE)
    real = real_tokens(SOURCE, 4, 1, 3) if masked else None
    memory = Memory(states, None if real is None else attention_mask(real))
    key, value = F.linear(states, attention.inputs.weight, attention.inputs.bias).chunk(2, -1)
    expected = attention.output(slow_attention(attention.query(x), key, value, real))
    assert torch.allclose(attention(x, NOTHING_HIDDEN, memory), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("pre_norm", "activation", "cross"),
    [(True, "relu", True), (False, "relu", False), (True, "gelu", False), (False, "silu", True)],
)
def test_a_block_is_attention_memory_and_feed_forward_each_with_its_norm(
    pre_norm, activation, cross
):
    block = randomise(block_of(pre_norm, activation, cross))
    x, layout = inputs(), Layout(attention_mask(real_tokens(LENGTH, 5, 3, 2)), None)
    memory = Memory(inputs(SOURCE), attention_mask(real_tokens(SOURCE, 4, 2, 1)))

    def feed_forward(h: Tensor) -> Tensor:
        return block.fc2(getattr(F, activation)(block.fc1(h)))

    steps = [(block.self_norm, lambda h: block.self_attention(h, layout))]
    if cross:
        steps.append((block.cross_norm, lambda h: block.cross_attention(h, layout, memory)))
    steps.append((block.feed_norm, feed_forward))
    expected = x
    for norm, sublayer in steps:
        if pre_norm:
            expected = expected + sublayer(norm(expected))
        else:
            expected = norm(expected + sublayer(expected))
    assert torch.allclose(block(x, layout, memory if cross else None), expected, atol=1e-10)


def block_of(
    pre_norm: bool = True, activation: str = "relu", cross: bool = True
) -> TransformerBlock:
    return TransformerBlock(BlockSize(DIM, HEADS, 16, pre_norm, 0.0, 0.0, 0.0, activation), cross)


def stack_of(blocks: int) -> TransformerStack:
    return TransformerStack(block_of() for _ in range(blocks))


@pytest.mark.parametrize("where", ["dropout", "self_attention", "activation_dropout"])
def test_dropout_acts_in_training_only(where):
    x, block = inputs(), block_of()
    if where == "self_attention":
        block.self_attention.dropout = 0.5
    else:
        setattr(block, where, 0.5)
    randomise(block)
    memory = Memory(inputs(SOURCE), None)
    assert torch.equal(block(x, NOTHING_HIDDEN, memory), block(x, NOTHING_HIDDEN, memory))
    block.train()
    assert not torch.allclose(block(x, NOTHING_HIDDEN, memory), block(x, NOTHING_HIDDEN, memory))


def test_a_stack_exits_after_as_many_blocks_as_asked_for():
    stack, x = randomise(stack_of(3)), inputs()
    memory = Memory(inputs(SOURCE), None)
    expected = x
    for depth in range(4):
        assert torch.allclose(stack(x, NOTHING_HIDDEN, memory, depth), expected, atol=1e-12)
        if depth < 3:
            expected = stack.blocks[depth](expected, NOTHING_HIDDEN, memory)
    assert torch.equal(stack(x, NOTHING_HIDDEN, memory), stack(x, NOTHING_HIDDEN, memory, 3))


def test_keys_and_values_of_a_memory_are_made_once_per_layer():
    stack, memory = randomise(stack_of(2)), Memory(inputs(SOURCE), None)
    stack(inputs(), NOTHING_HIDDEN, memory)
    first = dict(memory.cache)
    stack(inputs(), NOTHING_HIDDEN, memory)
    assert len(first) == 2 and all(memory.cache[layer] is pair for layer, pair in first.items())


@pytest.mark.parametrize(("masked", "used_before"), [(True, True), (False, False)])
def test_selected_rows_of_a_memory_answer_as_if_computed_alone(masked, used_before):
    stack, x = randomise(stack_of(2)), inputs()
    mask = attention_mask(real_tokens(SOURCE, 4, 2, 3)) if masked else None
    memory = Memory(inputs(SOURCE), mask)
    if used_before:
        stack(x, NOTHING_HIDDEN, memory)
    rows = torch.tensor([2, 0])
    selected = memory.select(rows)
    fresh = Memory(memory.states[rows], None if mask is None else mask[rows])
    assert len(selected.cache) == (2 if used_before else 0)
    assert torch.allclose(
        stack(x[rows], NOTHING_HIDDEN, selected), stack(x[rows], NOTHING_HIDDEN, fresh), atol=1e-12
    )


@pytest.mark.parametrize(("dim", "left"), [(8, True), (7, False)])
def test_sinusoidal_positions_are_those_of_fairseq(dim, left):
    tokens = torch.tensor([[4, 5, 6, 7], [4, 5, PAD, PAD], [9, PAD, PAD, PAD]])
    tokens = tokens.flip(1) if left else tokens
    theirs = SinusoidalPositionalEmbedding(dim, PAD, init_size=64)
    assert torch.allclose(Positions(40, dim, PAD)(tokens), theirs(tokens), atol=1e-6)


@pytest.mark.parametrize("learned", [True, False])
def test_positions_count_from_the_first_real_token(learned):
    positions = Positions(10, 8, PAD, learned)
    tokens = torch.tensor([[4, 5, 6]])
    padded = positions(torch.tensor([[PAD, PAD, 4, 5, 6, PAD]]))
    assert torch.equal(padded[:, 2:5], positions(tokens))
    assert not padded[:, [0, 1, 5]].any(), "padding has no position"


def test_learned_positions_are_parameters_and_sines_are_not_saved():
    learned, fixed = Positions(6, 8, PAD, learned=True), Positions(6, 8, PAD)
    assert [name for name, _ in learned.named_parameters()] == ["weight"]
    assert not list(fixed.parameters()) and not fixed.state_dict()
    learned(torch.tensor([[4, 5, PAD]])).sum().backward()
    used = learned.weight.grad.abs().sum(1).gt(0)
    assert used.nonzero().flatten().tolist() == [PAD, PAD + 1, PAD + 2]
