"""T5's blocks: what no comparison with ``transformers`` sees (``test_parity.py``)."""

import dataclasses

import pytest
import tiny
import torch
from torch import Tensor, nn

from lev_plugins.nn.seq2seq.model import TransformerDecoder
from lev_plugins.nn.t5 import RMSNorm, T5Encoder, T5Size, t5
from lev_plugins.nn.transformer import EncoderOutput

pytestmark = [pytest.mark.device, pytest.mark.kernels]

TINY = T5Size(8, 2, 3, 10, 2, 2, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)


SYMBOLS = tiny.dictionary()


def randomised(module: nn.Module) -> nn.Module:
    """Norms too, so that a forgotten one shows; in double precision, so that rounding does not."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, 0.2, 0.5)
    return module.double().eval()


def real_tokens(*lengths: int) -> Tensor:
    """B × T, bool, True at the first ``lengths[i]`` tokens of row i."""
    return torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)


#: prefixes, each of which begins with </s>
BEFORE = [[2, 5, 6, 7, 8], [2, 9, 10, 1, 1], [2, 4, 4, 5, 1]]


@pytest.mark.parametrize("kind", ["relu", "gated-gelu"])
def test_training_leaves_padding_out_and_gradients_reach_every_parameter(kind):
    size = dataclasses.replace(TINY, feed_forward=kind)
    parts = t5(size, SYMBOLS, SYMBOLS)
    decoder = randomised(TransformerDecoder(SYMBOLS, parts, 64))
    encoder, before = randomised(parts.encoder).train(), torch.tensor(BEFORE)
    real = real_tokens(4, 3, 1)
    states = encoder(torch.randn(3, 4, size.dim, dtype=torch.double), real)
    memory = EncoderOutput(states, real[:, None, None], rows=torch.arange(3))
    expected, logits = (
        decoder.train(trains)(before, {"encoder_out": [memory]})[0][before.ne(1)]
        for trains in (False, True)
    )
    torch.testing.assert_close(logits, expected)
    logits.log_softmax(-1)[:, 5].sum().backward()
    for name, parameter in [*encoder.named_parameters(), *decoder.named_parameters()]:
        assert 0 < float(parameter.grad.abs().sum()) < torch.inf, name


def test_half_precision_holds_what_outgrows_it_and_norms_sum_in_single():
    encoder, real = T5Encoder(TINY), real_tokens(4, 3)
    for block in encoder.blocks:
        block.fc2.weight.data.mul_(3e4)
    half = encoder.half().eval()((torch.randn(2, 4, 8) * 30).half(), real)
    assert half.dtype == torch.float16 and bool(half[real].isfinite().all())
    normed = RMSNorm(4).half()(torch.full((1, 4), 1000.0).half())
    torch.testing.assert_close(normed, torch.ones(1, 4).half())
