"""Models that write from left to right are close to themselves with fewer bits."""

import copy

import gated_models
import pbd_models
import pytest
import torch

from lev_plugins.nn.precision import Int8Linear, quantize

pytestmark = pytest.mark.kernels

# wide enough for their layers to be worth the rounding
WIDE = {"encoder_embed_dim": 64, "encoder_ffn_embed_dim": 128, "encoder_attention_heads": 4}


def error(full, less) -> float:
    """The largest difference, as a share of the spread of what it should be."""
    full, less = torch.cat(list(full)), torch.cat(list(less)).double()
    assert torch.isfinite(less).all() and not torch.equal(full, less)
    return float((full - less).abs().max() / full.std())


@pytest.mark.parametrize("precision", ["bf16", "int8"])
@pytest.mark.parametrize("options", [{}, {"copied_states": "output"}])
def test_pbd_is_close_to_itself(precision, options):
    model = pbd_models.build(factor=1.0, **WIDE, **options)
    less = copy.deepcopy(model)
    quantize([less], precision)
    rows = pbd_models.ROWS[:4]
    assert error(pbd_models.logits(model, rows), pbd_models.logits(less, rows)) < 0.2
    if precision == "int8":
        assert isinstance(less.decoder.output, Int8Linear), "the vocabulary's product too"


@pytest.mark.parametrize("precision", ["bf16", "int8"])
@pytest.mark.parametrize("variant", ["paper", "pointer"])
def test_gated_is_close_to_itself(precision, variant):
    model = gated_models.build(factor=1.0, gates="mask,copy,generate", gate_variant=variant, **WIDE)
    less = copy.deepcopy(model)
    quantize([less], precision)
    made = gated_models.batch(gated_models.ROWS[:4])
    full, other = (
        one.decoder(made.before, encoder_out=one.encoder(made.source))[0] for one in (model, less)
    )
    # all but the symbols that cannot be written
    seen = torch.isfinite(full) & (full > -50)
    assert error([full[seen]], [other[seen]]) < 0.3
