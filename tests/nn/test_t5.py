"""T5's blocks against a slow definition of the same, and the sizes of the published models."""

import dataclasses
import math

import pytest
import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from lev_plugins.nn.backbone import Backbone
from lev_plugins.nn.decoding import SourceMemory
from lev_plugins.nn.seq2seq import TransformerDecoder
from lev_plugins.nn.t5 import (
    RelativeBias,
    RMSNorm,
    Symbols,
    T5Attention,
    T5Block,
    T5Encoder,
    T5Size,
    t5,
    within_range,
)
from lev_plugins.nn.transformer import Memory, attention_mask

TINY = T5Size(8, 2, 3, 10, 2, 2, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
LENGTHS = (5, 2, 4)
# where each bucket begins, for 32 buckets and a longest distance of 128; printed by transformers
BOTH_WAYS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
ONE_WAY = [*range(17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
SIZES = {  # of T5 1.1: C, H, hidden, layers; all parameters, the encoder's, a decoder's of 1 layer
    "small": (512, 6, 1024, 8, 76_961_152, 35_332_800, 3_148_480),
    "base": (768, 12, 2048, 12, 247_577_856, 109_628_544, 9_441_408),
    "large": (1024, 16, 2816, 24, 783_150_080, 341_231_104, 17_044_992),
}


@pytest.fixture(params=["relu", "gated-gelu"])
def size(request: pytest.FixtureRequest) -> T5Size:
    return dataclasses.replace(TINY, feed_forward=request.param)


@pytest.fixture
def symbols() -> Dictionary:
    found = Dictionary()
    for letter in "abcdefgh":
        found.add_symbol(letter)
    return found


def initialised(size: T5Size, source: Dictionary, target: Dictionary) -> Backbone:
    """A T5 for two dictionaries."""
    sides = [Symbols(len(one), one.bos(), one.pad(), one.eos()) for one in (source, target)]
    return t5(size, *sides, one_table=source is target)


def randomised(module: nn.Module) -> nn.Module:
    """Norms too, so that a forgotten one shows; in double precision, so that rounding does not."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, 0.2, 0.5)
    return module.double().eval()


def real_tokens(*lengths: int) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)


# slow definitions ----------------------------------------------------------------------------


def slow_norm(x: Tensor, norm: RMSNorm) -> Tensor:
    return norm.weight * x / math.sqrt(sum(v**2 for v in x.tolist()) / len(x) + norm.eps)


def slow_attention(
    queries: Tensor, keys: Tensor, attention: T5Attention, bias: Tensor | None, seen: Tensor
) -> Tensor:
    """T × C, S × C → T × C, head by head; ``bias`` H × T × S; ``seen`` T × S."""
    wide = attention.output.in_features
    if attention.query is None:
        q, k, v = attention.inputs.weight.split(wide)
    else:
        q, (k, v) = attention.query.weight, attention.inputs.weight.split(wide)
    heads = []
    for h, part in enumerate(torch.arange(wide).chunk(attention.heads)):
        scores = (queries @ q[part].T) @ (keys @ k[part].T).T
        scores = scores if bias is None else scores + bias[h]
        heads.append(scores.masked_fill(~seen, float("-inf")).softmax(-1) @ (keys @ v[part].T))
    return torch.cat(heads, 1) @ attention.output.weight.T


def slow_feed_forward(x: Tensor, block: T5Block) -> Tensor:
    if not block.gated:
        return (x @ block.fc1.weight.T).clamp(min=0) @ block.fc2.weight.T
    gate, linear = (x @ part.T for part in block.fc1.weight.chunk(2))
    inner = math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)
    return (0.5 * gate * (1 + torch.tanh(inner)) * linear) @ block.fc2.weight.T


def slow_bias(bias: RelativeBias, starts: list[int], length: int) -> Tensor:
    """H × T × T, by looking each distance up in the list of where buckets begin."""
    rows = []
    for t in range(length):
        for s in range(length):
            distance = abs(s - t) if bias.both_ways else max(t - s, 0)
            bucket = sum(start <= distance for start in starts) - 1
            rows.append(bucket + (len(starts) if bias.both_ways and s > t else 0))
    return bias.table.weight[rows].T.view(-1, length, length)


def slow_encoder(encoder: T5Encoder, x: Tensor) -> Tensor:
    """One sentence, T × C."""
    bias = slow_bias(encoder.bias, BOTH_WAYS, len(x))
    seen = torch.ones(len(x), len(x), dtype=torch.bool)
    for block in encoder.blocks:
        h = torch.stack([slow_norm(one, block.self_norm) for one in x])
        x = x + slow_attention(h, h, block.self_attention, bias, seen)
        h = torch.stack([slow_norm(one, block.feed_norm) for one in x])
        x = x + slow_feed_forward(h, block)
    return torch.stack([slow_norm(one, encoder.norm) for one in x])


def slow_decoder(parts: Backbone, x: Tensor, memory: Tensor) -> Tensor:
    """One sentence, T × C, that reads S × C."""
    bias = slow_bias(parts.bias, ONE_WAY, len(x))
    seen = torch.ones(len(x), len(x)).tril().bool()
    everything = torch.ones(len(x), len(memory), dtype=torch.bool)
    for layer in parts.blocks:
        block = layer.block
        h = torch.stack([slow_norm(one, block.self_norm) for one in x])
        x = x + slow_attention(h, h, block.self_attention, bias, seen)
        h = torch.stack([slow_norm(one, layer.cross_norm) for one in x])
        x = x + slow_attention(h, memory, layer.cross_attention, None, everything)
        h = torch.stack([slow_norm(one, block.feed_norm) for one in x])
        x = x + slow_feed_forward(h, block)
    return torch.stack([slow_norm(one, parts.norm) for one in x])


# places --------------------------------------------------------------------------------------


@pytest.mark.parametrize("both_ways, starts", [(True, BOTH_WAYS), (False, ONE_WAY)])
def test_distances_fall_into_the_buckets_that_published_weights_know(both_ways, starts):
    bias = randomised(RelativeBias(3, both_ways=both_ways))
    assert torch.equal(bias.places(130, 130), slow_bias(bias, starts, 130))


@pytest.mark.parametrize("both_ways", [False, True])
def test_the_newest_queries_have_the_last_places(both_ways):
    bias = randomised(RelativeBias(3, both_ways=both_ways))
    assert torch.equal(bias.places(2, 9), bias.places(9, 9)[:, -2:])


def test_what_may_not_be_seen_is_minus_infinity_and_the_rest_the_bias():
    bias = randomised(RelativeBias(3))
    seen = torch.rand(2, 4, 6) > 0.4
    found = bias(seen)
    assert found.shape == (2, 3, 4, 6)
    expanded = seen.unsqueeze(1).expand_as(found)
    assert bool((found[~expanded] == float("-inf")).all())
    assert torch.equal(found[expanded], bias.places(4, 6).expand_as(found)[expanded])


def test_without_causality_keys_ahead_count_as_distance_nought():
    bias = randomised(RelativeBias(2))
    found = bias(torch.ones(1, 5, 5, dtype=torch.bool))[0]
    ahead = torch.ones(5, 5).triu().bool()
    assert torch.equal(found[:, ahead], bias.table.weight[0].unsqueeze(1).expand(2, 15))


# stacks --------------------------------------------------------------------------------------


def test_the_encoder_does_what_its_definition_says_whatever_the_padding(size):
    encoder, real = randomised(size.encoder()), real_tokens(*LENGTHS)
    x = torch.randn(*real.shape, size.dim, dtype=torch.double)
    found = encoder(x, real)
    for row, length in enumerate(LENGTHS):
        expected = slow_encoder(encoder, x[row, :length])
        torch.testing.assert_close(found[row, :length], expected)


def test_texts_in_one_row_are_the_same_as_in_rows_of_their_own(size):
    encoder = randomised(size.encoder())
    texts = [torch.randn(n, size.dim, dtype=torch.double) for n in (4, 1, 3)]
    segments = torch.tensor([[1] * 4 + [2] + [3] * 3 + [0] * 2])
    row = torch.cat([*texts, torch.zeros(2, size.dim, dtype=torch.double)]).unsqueeze(0)
    mask = (segments.unsqueeze(2) == segments.unsqueeze(1)).unsqueeze(1)
    found = encoder(row, segments.ne(0), mask)
    alone = [encoder(one.unsqueeze(0), torch.ones(1, len(one)).bool())[0] for one in texts]
    torch.testing.assert_close(found[0, :8], torch.cat(alone))


class Whole:
    """A T5 with a decoder, and a batch for it."""

    def __init__(self, size: T5Size, symbols: Dictionary) -> None:
        self.parts = initialised(size, symbols, symbols)
        self.decoder = TransformerDecoder(
            symbols,
            self.parts.target,
            self.parts.blocks,
            self.parts.norm,
            self.parts.output,
            64,
            self.parts.bias,
        )
        randomised(self.decoder)
        self.states = torch.randn(3, 4, size.dim, dtype=torch.double)
        self.real = real_tokens(4, 3, 1)
        # a prefix begins with </s>
        self.before = torch.tensor([[2, 5, 6, 7, 8], [2, 9, 10, 1, 1], [2, 4, 4, 5, 1]])

    def memory(self) -> dict[str, list[SourceMemory]]:
        mask = attention_mask(self.real)
        return {"memory": [SourceMemory(self.states, mask, rows=torch.arange(3))]}


def test_the_decoder_does_what_its_definition_says(size, symbols):
    whole = Whole(size, symbols)
    found, _ = whole.decoder.extract_features(whole.before, whole.memory())
    for row in range(3):
        length = int(whole.before[row].ne(1).sum())
        tokens = whole.before[row, :length].clone()
        tokens[0] = symbols.bos()  # what T5 begins with
        x = whole.parts.target.table.weight[tokens]
        expected = slow_decoder(whole.parts, x, whole.states[row][whole.real[row]])
        torch.testing.assert_close(found[row, :length], expected)


def test_step_by_step_is_the_same_as_at_once(size, symbols):
    whole = Whole(size, symbols)
    at_once, _ = whole.decoder(whole.before, whole.memory())
    memory, state = whole.memory(), {}
    for n in range(1, 6):
        step, _ = whole.decoder(whole.before[:, :n], memory, incremental_state=state)
        real = whole.before[:, n - 1].ne(1)
        torch.testing.assert_close(step[real, -1], at_once[real, n - 1])


def test_training_leaves_padding_out_and_changes_nothing(size, symbols):
    whole = Whole(size, symbols)
    expected, _ = whole.decoder(whole.before, whole.memory())
    whole.decoder.train()
    found, _ = whole.decoder(whole.before, whole.memory())
    real = whole.before.ne(1)
    torch.testing.assert_close(found[real], expected[real])


def test_attention_weights_are_those_that_attention_uses():
    attention = randomised(T5Attention(8, 2, 3, cross=True))
    states, real = torch.randn(2, 4, 8, dtype=torch.double), real_tokens(4, 2)
    memory = Memory(states, attention_mask(real))
    x = torch.randn(2, 3, 8, dtype=torch.double)
    weights = attention.forward_with_weights(x, memory)[1]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, dtype=torch.double))
    # with the same value at every head and the identity behind it, attention gives the weights
    attention.heads, single = 1, attention.forward_with_weights(x, memory)[1]
    key, _ = attention.keys_values(Memory(states, memory.mask))
    scores = (x @ attention.query.weight.T) @ key[:, 0].transpose(1, 2)
    expected = scores.masked_fill(~real.unsqueeze(1), float("-inf")).softmax(-1)
    fresh = attention.forward_with_weights(x, Memory(states, memory.mask))[1]
    torch.testing.assert_close(fresh, expected)
    assert not torch.allclose(single, fresh)


def test_gradients_reach_every_parameter(size, symbols):
    whole = Whole(size, symbols)
    encoder = randomised(whole.parts.encoder).train()
    whole.states = encoder(whole.states, whole.real)
    whole.decoder.train()
    logits, _ = whole.decoder(whole.before, whole.memory())
    logits[whole.before.ne(1)].log_softmax(-1)[:, 5].sum().backward()
    for name, parameter in [*encoder.named_parameters(), *whole.decoder.named_parameters()]:
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), name
        assert float(parameter.grad.abs().sum()) > 0, name


def test_half_precision_holds_what_outgrows_it():
    encoder = TINY.encoder()
    for block in encoder.blocks:
        block.fc2.weight.data.mul_(3e4)
    real = real_tokens(4, 3)
    x = torch.randn(2, 4, 8) * 30
    assert float(encoder(x, real)[real].detach().abs().max()) > 0
    half = encoder.half().eval()(x.half(), real)
    assert half.dtype == torch.float16 and bool(half[real].isfinite().all())
    beyond = torch.tensor([1e9, -1e9])
    assert bool(within_range(beyond.half()).isfinite().all())
    assert torch.equal(within_range(beyond), beyond)


def test_norms_sum_squares_in_single_precision():
    x = torch.full((1, 4), 1000.0)
    found = RMSNorm(4).half()(x.half())
    torch.testing.assert_close(found, torch.ones(1, 4).half())


def test_the_end_of_a_sentence_is_read_as_the_start(symbols):
    parts = initialised(TINY, symbols, symbols)
    parts.target.eval()
    found = parts.target(torch.tensor([[symbols.eos(), 5, 6]]))
    expected = parts.target.table.weight[torch.tensor([[symbols.bos(), 5, 6]])]
    assert torch.equal(found, expected)
    assert parts.source.table is parts.target.table
    assert torch.equal(
        parts.source(torch.tensor([[symbols.eos()]])), parts.source.table.weight[2:3, None]
    )


def test_two_dictionaries_have_two_tables(symbols):
    other = Dictionary()
    parts = initialised(TINY, symbols, other)
    assert parts.source.table.num_embeddings == 12 and parts.target.table.num_embeddings == 4
    assert parts.output.table.num_embeddings == 4


@pytest.mark.parametrize("name", SIZES)
def test_published_sizes_have_their_numbers_of_parameters(name):
    dim, heads, hidden, layers, total, encoder, decoder = SIZES[name]
    size = T5Size(dim, heads, 64, hidden, layers, layers)
    words = Dictionary()
    words.symbols += ["x"] * (32128 - len(words.symbols))
    with torch.device("meta"):
        parts = initialised(size, words, words)
        table = parts.source.table.weight.numel()
        one = [size.decoder_block(), size.bias(both_ways=False), size.last_norm()]
    modules = [parts.encoder, *parts.blocks, parts.norm, parts.bias, parts.output]

    def count(*found: nn.Module) -> int:
        return sum(p.numel() for module in found for p in module.parameters())

    assert count(parts.encoder) + table == encoder
    assert count(*modules) + table == total
    assert count(*one) + dim == decoder  # one latent


def test_sampled_weights_keep_attention_and_logits_moderate(symbols):
    torch.manual_seed(3)
    size = dataclasses.replace(TINY, dim=64, heads=4, head_dim=16, hidden=128)
    whole = Whole(size, symbols)
    fresh = initialised(size, symbols, symbols)
    decoder = TransformerDecoder(
        symbols, fresh.target, fresh.blocks, fresh.norm, fresh.output, 64, fresh.bias
    ).eval()
    states = fresh.encoder(fresh.source(whole.before), whole.before.ne(1))
    mask = attention_mask(whole.before.ne(1))
    memory = {"memory": [SourceMemory(states, mask, rows=torch.arange(3))]}
    logits, extra = decoder(whole.before, memory)
    assert 0.3 < float(logits.detach().std()) < 3
    assert float(extra["attn"][0].detach().max()) < 0.99
