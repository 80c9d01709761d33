"""What a query sees: the masks, against loops, and the decoder, by changing what it reads."""

import pytest
import torch
from contract import EXACT
from hypothesis import given
from hypothesis import strategies as st
from seq2seq_models import NORMS, PBD, ROWS, shifted, tokens

from lev_plugins.nn.decoding import causal_mask
from lev_plugins.nn.packing import Layout
from lev_plugins.systems.pbd.attention import future_mask

pytestmark = pytest.mark.kernels

SYMBOLS, build = PBD.symbols, PBD.build


def place_of(row: list[bool], column: int) -> int:
    """How many real tokens stand before a column."""
    return sum(row[:column])


def seen_of_target(real: list[bool], query: int, key: int) -> bool:
    return query == key or (real[key] and key <= query)


def seen_of_source(real: list[bool], source: list[bool], query: int, key: int) -> bool:
    if not real[query]:
        # of no meaning but for being finite: it continues from the last real token
        last = sum(real[:query]) - 1
        return source[key] and place_of(source, key) > last
    return source[key] and place_of(source, key) > place_of(real, query)


def sides(rows: int, left: bool):
    """Real columns of ``rows`` sentences, padded on one side."""

    def padded(lengths):
        width = max(lengths)
        return [
            [False] * (width - n) + [True] * n if left else [True] * n + [False] * (width - n)
            for n in lengths
        ]

    return st.lists(st.integers(1, 6), min_size=rows, max_size=rows).map(padded)


@st.composite
def batches(draw):
    rows = draw(st.integers(1, 4))
    target = draw(sides(rows, draw(st.booleans())))
    source = draw(sides(rows, draw(st.booleans())))
    return target, source, draw(st.integers(0, len(target[0]) - 1))


@given(batches())
def test_masks_are_what_loops_make_of_the_definition(made):
    target, source, first = made
    width, length = len(target[0]), len(source[0])
    generated = [
        [[seen_of_target(real, i, k) for k in range(width)] for i in range(first, width)]
        for real in target
    ]
    copied = [
        [[seen_of_source(real, other, i, j) for j in range(length)] for i in range(first, width)]
        for real, other in zip(target, source, strict=True)
    ]
    real, others = torch.tensor(target), torch.tensor(source)
    assert causal_mask(real, first).tolist() == generated
    assert future_mask(real, others, first).tolist() == copied


def answers(model, source, before, encoder_out=None):
    encoder_out = model.encoder(source) if encoder_out is None else encoder_out
    return model.decoder(before, encoder_out=encoder_out)[0]


@pytest.mark.parametrize(("norm", "states"), [("post-norm", "input"), ("pre-norm", "output")])
def test_block_l_copies_the_states_of_encoder_block_l(norm, states):
    model = build(copied_states=states, **NORMS[norm])
    source = tokens("abcdefg", SYMBOLS)[None]
    (memory,) = model.encoder(source)["memory"]
    seen = []
    for block in model.encoder.blocks:
        block.register_forward_hook(lambda _, read, left: seen.append((read[0], left)))
    model.encoder(source)
    expected = [pair[states == "output"] for pair in seen]
    assert len(memory.copied) == len(expected) == 2
    assert all(torch.equal(a, b) for a, b in zip(memory.copied, expected, strict=True))


@pytest.mark.parametrize("norm", NORMS)
def test_one_block_computes_what_the_paper_says(norm):
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
    attended = x + block.block.self_attention.output(torch.stack(rows))
    attended = attended if pre else block.block.self_norm(attended)
    normed = block.cross_norm(attended) if pre else attended
    attended = attended + block.cross_attention(normed, Layout(None, None), memory)
    attended = attended if pre else block.cross_norm(attended)
    normed = block.block.feed_norm(attended) if pre else attended
    out = attended + block.block.feed_forward(normed)
    out = decoder.norm(out) if pre else block.block.feed_norm(out)
    expected = out @ decoder.embed.table.weight.T
    torch.testing.assert_close(answers(model, source, before), expected, **EXACT)


@pytest.mark.parametrize("kind", ["as published, pre-norm", "no sharing, post-norm"])
def test_segments_and_the_future_matter(kind):
    model = build(**PBD.kinds[kind])
    source, before, _ = PBD.batch(ROWS)
    expected = answers(model, source, before)
    for block in model.decoder.blocks:
        block.self_attention.segment.weight.data.zero_()
    without = answers(model, source, before)
    assert (without - expected).abs().amax() > 1e-3
    plain = build(**PBD.kinds[kind], no_segment_embedding=True)
    plain.load_state_dict(
        {name: value for name, value in model.state_dict().items() if "segment" not in name}
    )
    torch.testing.assert_close(answers(plain, source, before), without, **EXACT)
    blind = build(**PBD.kinds[kind], no_future_modelling=True)
    blind.load_state_dict(plain.state_dict())
    difference = (answers(blind, source, before) - without).abs().amax(2)
    # a source without tokens leaves nothing to see, and neither does one that is used up
    assert (difference[[0, 1, 2, 3], 0] > 1e-6).all() and (difference[[4, 5], 0] < 1e-12).all()
