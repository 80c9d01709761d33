"""T5's blocks: what no comparison with ``transformers`` sees (``test_parity.py``)."""

import dataclasses

import pytest
import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from lev_plugins.nn.backbone import Backbone
from lev_plugins.nn.seq2seq.model import TransformerDecoder
from lev_plugins.nn.t5 import RelativeBias, RMSNorm, Symbols, T5Attention, T5Encoder, T5Size, t5
from lev_plugins.nn.transformer import Memory, attention_mask

pytestmark = pytest.mark.kernels

TINY = T5Size(8, 2, 3, 10, 2, 2, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
# where each bucket begins, for 32 buckets and a longest distance of 128; printed by transformers
BOTH_WAYS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
ONE_WAY = [*range(17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]


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


def slow_bias(bias: RelativeBias, starts: list[int], length: int) -> Tensor:
    """H × T × T, by looking each distance up in the list of where buckets begin."""
    rows = []
    for t in range(length):
        for s in range(length):
            distance = abs(s - t) if bias.both_ways else max(t - s, 0)
            bucket = sum(start <= distance for start in starts) - 1
            rows.append(bucket + (len(starts) if bias.both_ways and s > t else 0))
    return bias.table.weight[rows].T.view(-1, length, length)


@pytest.mark.parametrize("both_ways, starts", [(True, BOTH_WAYS), (False, ONE_WAY)])
def test_distances_fall_into_the_buckets_that_published_weights_know(both_ways, starts):
    bias = randomised(RelativeBias(3, both_ways=both_ways))
    everything = torch.ones(1, 130, 130, dtype=torch.bool)
    assert torch.equal(bias(everything)[0], slow_bias(bias, starts, 130))


def test_what_may_not_be_seen_is_minus_infinity_and_the_rest_the_bias():
    bias = randomised(RelativeBias(3))
    seen = torch.rand(2, 4, 6) > 0.4
    found = bias(seen)
    assert found.shape == (2, 3, 4, 6)
    expanded = seen.unsqueeze(1).expand_as(found)
    assert bool((found[~expanded] == float("-inf")).all())
    assert torch.equal(found[expanded], bias(torch.ones_like(seen))[expanded])


class Whole:
    """A T5 with a decoder, and a batch for it."""

    def __init__(self, size: T5Size, symbols: Dictionary) -> None:
        self.parts = initialised(size, symbols, symbols)
        self.decoder = randomised(TransformerDecoder(symbols, self.parts, 64))
        self.states = torch.randn(3, 4, size.dim, dtype=torch.double)
        self.real = real_tokens(4, 3, 1)
        # a prefix begins with </s>
        self.before = torch.tensor([[2, 5, 6, 7, 8], [2, 9, 10, 1, 1], [2, 4, 4, 5, 1]])

    def memory(self) -> dict[str, list[Memory]]:
        mask = attention_mask(self.real)
        return {"memory": [Memory(self.states, mask, rows=torch.arange(3))]}


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


def test_training_leaves_padding_out_and_gradients_reach_every_parameter(size, symbols):
    whole = Whole(size, symbols)
    encoder, real = randomised(whole.parts.encoder).train(), whole.before.ne(1)
    whole.states = encoder(whole.states, whole.real)
    expected, logits = (
        whole.decoder.train(trains)(whole.before, whole.memory())[0][real]
        for trains in (False, True)
    )
    torch.testing.assert_close(logits, expected)
    logits.log_softmax(-1)[:, 5].sum().backward()
    for name, parameter in [*encoder.named_parameters(), *whole.decoder.named_parameters()]:
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), name
        assert float(parameter.grad.abs().sum()) > 0, name


def test_half_precision_holds_what_outgrows_it_and_norms_sum_in_single():
    encoder, real = T5Encoder(TINY), real_tokens(4, 3)
    for block in encoder.blocks:
        block.fc2.weight.data.mul_(3e4)
    half = encoder.half().eval()((torch.randn(2, 4, 8) * 30).half(), real)
    assert half.dtype == torch.float16 and bool(half[real].isfinite().all())
    found = RMSNorm(4).half()(torch.full((1, 4), 1000.0).half())
    torch.testing.assert_close(found, torch.ones(1, 4).half())


def test_the_end_of_a_sentence_is_read_as_the_start_and_two_dictionaries_have_two_tables(symbols):
    parts = initialised(TINY, symbols, symbols)
    parts.target.eval()
    found = parts.target(torch.tensor([[symbols.eos(), 5, 6]]))
    expected = parts.target.table.weight[torch.tensor([[symbols.bos(), 5, 6]])]
    assert torch.equal(found, expected)
    assert parts.source.table is parts.target.table
    assert torch.equal(
        parts.source(torch.tensor([[symbols.eos()]])), parts.source.table.weight[2:3, None]
    )
    other = Dictionary()
    parts = initialised(TINY, symbols, other)
    assert parts.source.table.num_embeddings == 12 and parts.target.table.num_embeddings == 4
    assert parts.output.table.num_embeddings == 4


def test_sampled_weights_keep_attention_and_logits_moderate(symbols):
    torch.manual_seed(3)
    size = dataclasses.replace(TINY, dim=64, heads=4, head_dim=16, hidden=128)
    whole = Whole(size, symbols)
    fresh = initialised(size, symbols, symbols)
    decoder = TransformerDecoder(symbols, fresh, 64).eval()
    states = fresh.encoder(fresh.source(whole.before), whole.before.ne(1))
    mask = attention_mask(whole.before.ne(1))
    memory = {"memory": [Memory(states, mask, rows=torch.arange(3))]}
    logits, extra = decoder(whole.before, memory)
    assert 0.3 < float(logits.detach().std()) < 3
    assert float(extra["attn"][0].detach().max()) < 0.99
