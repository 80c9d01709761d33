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
    (memory,) = model.encoder(tokens("abcdefg", SYMBOLS)[None])["memory"]
    expected = [pair[states == "output"] for pair in seen]
    assert all(torch.equal(a, b) for a, b in zip(memory.copied, expected, strict=True))


@pytest.mark.kernels
@pytest.mark.parametrize("norm", NORMS)
def test_self_attention_computes_what_the_paper_says(norm):
    """Self-attention written out: a query, the keys that it sees, one head after the other."""
    model = build(encoder_layers=1, **NORMS[norm])
    block, decoder = model.decoder.blocks[0], model.decoder
    source, before = tokens("abcde", SYMBOLS)[None], shifted("hgf", SYMBOLS)[None]
    (memory,) = model.encoder(source)["memory"]
    pre = block.block.pre_norm
    x = decoder.embed(before)
    segments, inputs = block.self_attention.segment.weight, block.block.self_attention.inputs
    here, there = x[0], memory.copied[0][0]
    if pre:
        here, there = block.block.self_norm(here), block.block.self_norm(there)
    q, k, v = inputs(here + segments[0]).split(8, 1)
    _, k_copied, v_copied = inputs(there + segments[1]).split(8, 1)
    rows = []
    for i in range(len(here)):
        keys = torch.cat([k[: i + 1], k_copied[i + 1 :]])
        values = torch.cat([v[: i + 1], v_copied[i + 1 :]])
        heads = [
            (q[i, h] @ keys[:, h].T / 4**0.5).softmax(0) @ values[:, h]
            for h in (slice(0, 4), slice(4, 8))
        ]
        rows.append(torch.cat(heads))
    attended = block.block.self_attention.output(torch.stack(rows))[None]
    layout = AttentionLayout(decoder.mask(before, memory, 0))
    read = block.block.self_norm(x) if pre else x
    out, _ = block.self_attend(read, layout, memory, None)
    torch.testing.assert_close(out, attended, **EXACT)


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
