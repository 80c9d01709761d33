"""What is particular to PBD; what it has in common with others: ``test_seq2seq.py``.

What a query sees: the masks, against loops, and a block, written out; what is shared.
"""

from argparse import Namespace

import pytest
import torch
from contract import EXACT
from fairseq.data import Dictionary
from refusals import refuses
from seq2seq_models import NORMS, PBD, shifted, task, tokens

from lev_plugins.nn.packing import AttentionLayout
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_plugins.systems.pbd.model import pbd_transformer_big

pytestmark = pytest.mark.device

SYMBOLS, build = PBD.symbols, PBD.build

# what a query sees ----------------------------------------------------------------------------


@pytest.mark.parametrize("states", ["input", "output"])
def test_block_l_copies_the_states_of_encoder_block_l(states):
    model = build(copied_states=states)
    seen = []
    for block in model.encoder.blocks:
        block.register_forward_hook(lambda _, read, left: seen.append((read[0], left)))
    (memory,) = model.encoder(tokens("abcdefg", SYMBOLS)[None])["encoder_out"]
    expected = [pair[states == "output"] for pair in seen]
    assert all(torch.equal(a, b) for a, b in zip(memory.copied, expected, strict=True))


@pytest.mark.kernels
@pytest.mark.parametrize("norm", NORMS)
def test_self_attention_computes_what_the_paper_says(norm):
    """A query and the keys that it sees, one after the other."""
    model = build(encoder_layers=1, **NORMS[norm])
    block, before = model.decoder.blocks[0], shifted("hgf", SYMBOLS)[None]
    (memory,) = model.encoder(tokens("abcde", SYMBOLS)[None])["encoder_out"]
    attention, x = block.block.self_attention, model.decoder.embed(before)
    normed = block.block.self_norm if block.block.pre_norm else torch.nn.Identity()
    read, copied = normed(x), normed(memory.copied[0])
    segments = block.self_attention.segment.weight
    # T × 3 × 2 heads × 4
    own, other = (
        attention.inputs(states[0] + segment).view(-1, 3, 2, 4)
        for states, segment in zip((read, copied), segments, strict=True)
    )
    rows = []
    for i, (query, *_) in enumerate(own):
        _, keys, values = torch.cat([own[: i + 1], other[i + 1 :]]).unbind(1)
        weights = ((keys * query).sum(2) / 4**0.5).softmax(0)
        rows.append((weights[:, :, None] * values).sum(0).flatten())
    layout = AttentionLayout(model.decoder.mask(before, memory, 0))
    out, _ = block.self_attend(read, layout, memory, None)
    torch.testing.assert_close(out[0], attention.output(torch.stack(rows)), **EXACT)


# parameters -----------------------------------------------------------------------------------


def parameters(arch, symbols, **values):
    """How many parameters a named size has, without initialising them."""
    dictionary = Dictionary()
    for number in range(symbols - dictionary.nspecial):
        dictionary.add_symbol(str(number))
    chosen = Namespace(**values)
    arch(chosen)
    cfg = PBDTransformerConfig(**vars(chosen), max_source_positions=1024, max_target_positions=1024)
    with torch.device("meta"):
        model = PBDTransformerModel.build_model(cfg, task(dictionary))
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_papers_numbers_of_parameters():
    """Table 1: 132M, 232M and 383M; of its 210M only 207M are there with 30,000 symbols."""
    apart = {"no_parameter_sharing": True, "share_all_embeddings": True}
    table = [
        ({}, 131_512_320),
        ({"encoder_layers": 12}, 232_304_640),
        (apart, 207_089_664),
        ({**apart, "encoder_layers": 12}, 383_459_328),
    ]
    for values, number in table:
        assert parameters(pbd_transformer_big, 30_000, **values) == number
    without = parameters(pbd_transformer_big, 30_000, no_segment_embedding=True)
    assert 131_512_320 - without == 6 * 2 * 1024, "two vectors for each block"


def test_parameters_that_do_not_fit_are_refused():
    apart = build(no_parameter_sharing=True, share_all_embeddings=True)
    with refuses("encoder.blocks.0", "--no-parameter-sharing"):
        build().load_state_dict(apart.state_dict())
