"""The gates against their equations, written out token by token."""

import math

import pytest
import torch
from seq2seq_models import ALL, GATED, PRE, VARIANTS, masked, shifted, tokens

from lev_plugins.systems.gated.gates import chosen_gates

pytestmark = pytest.mark.kernels

SYMBOLS, build = GATED.symbols, GATED.build
# of the source's letters f, g and h are not in it, and those that are have other numbers
OTHERS = masked("xyzedcba")
PAIRS = [("abcd", "abc"), ("bad", "cafedab"), ("hgfedcba", "h"), ("", "ab")]
# every gate with every other, on and off; a pointer that does not generate is refused
SUBSETS = ["none", "mask", "generate", "copy,generate", "mask,generate,skip", "mask,skip", ALL]
CHOICES = [
    (variant, gates)
    for variant in VARIANTS
    for gates in SUBSETS
    if (variant, gates) != ("pointer", "mask,skip")
]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def dot(gate, vector):
    """What a gate's layer says of one vector."""
    total = gate.bias.item()
    for weight, value in zip(gate.weight[0].tolist(), vector.tolist(), strict=True):
        total += weight * value
    return total


def softmax(values):
    top = sum(math.exp(value) for value in values)
    return [math.exp(value) / top for value in values]


@pytest.mark.parametrize("mask", ["<mask>", "[MASK]", "<extra_id_0>", None])
def test_the_mask_gate_is_equations_1_and_2(mask):
    symbols = masked(mask=mask)
    model = build(source=symbols)
    encoder = model.encoder
    for text, _ in PAIRS:
        source = tokens(text, symbols)[None]
        states = encoder.body(encoder.embed(source), source.ne(symbols.pad()))[0]
        if mask is None:
            vector = encoder.mask_gate.vector.vector
        else:
            vector = encoder.embed.table.weight[symbols.index(mask)]
        vector = vector * 8**0.5  # fairseq's Transformer multiplies embeddings by the root of C
        memory = encoder(source)["memory"][0]
        for i, state in enumerate(states):
            u = sigmoid(dot(encoder.mask_gate.gate, state))
            assert float(memory.masked[0, i]) == pytest.approx(u, abs=1e-12)
            expected = [u * a + (1 - u) * b for a, b in zip(vector.tolist(), state.tolist())]
            assert memory.states[0, i].tolist() == pytest.approx(expected, abs=1e-12)


def test_without_the_mask_gate_the_decoder_reads_the_states_as_they_are():
    model = build(gates="copy,generate,skip")
    source = tokens("abc", SYMBOLS)[None]
    memory = model.encoder(source)["memory"][0]
    states = model.encoder.body(model.encoder.embed(source), source.ne(SYMBOLS.pad()))
    assert memory.masked is None and torch.equal(memory.states, states)


def gates_by_hand(model, state, place, memory):
    """Eq. 3-6, or what the variant makes of them, at one target token."""
    decoder, variant = model.decoder, model.decoder.variant
    values = []
    for name in decoder.gates.names:
        looked_at = state
        if variant == "paper" and name == "generate":
            looked_at = memory.states[0, min(place, memory.states.size(1) - 1)]
        value = dot(decoder.gates.gates[name], looked_at)
        values.append(value if variant == "pointer" else sigmoid(value))
    return dict(zip(decoder.gates.names, softmax(values)))


def output_by_hand(decoder, state):
    table = decoder.output.table.weight
    return [sum(a * b for a, b in zip(row, state)) for row in table.tolist()]


def paper_by_hand(model, gates, state, previous):
    mask = model.encoder.embed.table.weight[SYMBOLS.index("<mask>")] * 8**0.5
    embedded = model.decoder.embed.table.weight[previous] * 8**0.5
    mixed = [
        gates.get("copy", 0) * y + gates.get("generate", 0) * sigmoid(h) + gates.get("skip", 0) * m
        for y, h, m in zip(embedded.tolist(), state.tolist(), mask.tolist(), strict=True)
    ]
    return output_by_hand(model.decoder, mixed)


def pointer_by_hand(model, gates, state, looks, source, target):
    chances = [
        gates["generate"] * p for p in softmax(output_by_hand(model.decoder, state.tolist()))
    ]
    last = len(source) - 1
    for place, weight in enumerate(looks.tolist()):
        copied, after = SYMBOLS[source[place]], SYMBOLS[source[min(place + 1, last)]]
        chances[target.index(copied)] += gates.get("copy", 0) * weight
        chances[target.index(after)] += gates.get("skip", 0) * weight
    return [math.log(chance) for chance in chances]


@pytest.mark.parametrize(
    ("variant", "gates", "target"),
    [
        (variant, gates, target)
        for variant, gates in CHOICES
        for target in (SYMBOLS, OTHERS)[: 2 if gates == ALL else 1]
        if gates not in ("none", "mask")
    ],
)
def test_each_variant_is_its_equations(variant, gates, target):
    model = build(gates=gates, gate_variant=variant, target=target, **PRE)
    for text, written in PAIRS:
        source, before = tokens(text, SYMBOLS), shifted(written, target)
        encoder_out = model.encoder(source[None])
        memory = encoder_out["memory"][0]
        states, extra = model.decoder.extract_features(before[None], encoder_out=encoder_out)
        logits, given = model.decoder(before[None], encoder_out=encoder_out)
        for place, state in enumerate(states[0]):
            weights = gates_by_hand(model, state, place, memory)
            previous = int(before[place])
            found = dict(zip(model.decoder.gates.names, given["gates"][0, place].tolist()))
            assert found == pytest.approx(weights, abs=1e-12)
            if variant == "paper":
                expected = paper_by_hand(model, weights, state, previous)
            else:
                looks = extra["attn"][0][0, place]
                expected = pointer_by_hand(model, weights, state, looks, source.tolist(), target)
            assert logits[0, place].tolist() == pytest.approx(expected, abs=1e-9)


def test_gates_are_read_in_any_order():
    assert chosen_gates("skip, generate,skip") == ["generate", "skip"]
    assert chosen_gates("all") == ["mask", "copy", "generate", "skip"]
    assert chosen_gates("none") == []
