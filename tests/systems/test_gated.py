"""What is particular to gated-Trans; what it has in common with others: ``test_seq2seq.py``.

The gates against their equations, written out token by token; fresh gates on a trained model;
trainings that begin from others.
"""

import itertools
import math

import pytest
import torch
from omegaconf import OmegaConf
from refusals import refuses
from seq2seq_models import ALL, GATED, PRE, ROWS, SIZES, VARIANTS, gated, masked, shifted, tokens

from lev_plugins.fairseq_patches.hooks import Start
from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

pytestmark = pytest.mark.device

SYMBOLS, build = GATED.symbols, GATED.build
NO_MASK = masked(mask=None)
# of the source's letters f, g and h are not in it, and those that are have other numbers
OTHERS = masked("xyzedcba")
PAIRS = [("abcd", "abc"), ("bad", "cafedab"), ("hgfedcba", "h"), ("", "ab")]
# every gate with every other, on and off; a pointer that does not generate is refused
SUBSETS = ["generate", "copy,generate", "mask,generate,skip", ALL]
CHOICES = [*itertools.product(VARIANTS, SUBSETS), ("paper", "mask,skip")]
EXACT = {"rtol": 0, "atol": 1e-9}

# equations ------------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("mask", ["<mask>", "<extra_id_0>", None])
def test_the_mask_gate_is_equations_1_and_2(mask):
    symbols = masked(mask=mask)
    encoder = build(source=symbols).encoder
    for text, _ in PAIRS:
        source = tokens(text, symbols)[None]
        states = encoder.body(encoder.embed(source), source.ne(symbols.pad()))[0]
        gate = encoder.mask_gate
        vector = (
            gate.vector.vector if mask is None else encoder.embed.table.weight[symbols.index(mask)]
        )
        vector = vector * 8**0.5  # fairseq's Transformer multiplies embeddings by the root of C
        (memory,) = encoder(source)["encoder_out"]
        for i, state in enumerate(states):
            u = (gate.gate.weight[0] @ state + gate.gate.bias[0]).sigmoid()
            torch.testing.assert_close(memory.masked[0, i], u, **EXACT)
            torch.testing.assert_close(memory.states[0, i], u * vector + (1 - u) * state, **EXACT)


def gates_by_hand(model, state, place, memory):
    """Eq. 3-6, or what the variant makes of them, at one target token."""
    values, paper = [], model.decoder.variant == "paper"
    for name, gate in model.decoder.gates.gates.items():
        looked_at = state
        if paper and name == "generate":
            looked_at = memory.states[0, min(place, memory.states.size(1) - 1)]
        value = gate.weight[0] @ looked_at + gate.bias[0]
        values.append(value.sigmoid() if paper else value)
    return torch.stack(values).softmax(0)


def paper_by_hand(model, gates, state, previous):
    """Eq. 7 and 8."""
    mask = model.encoder.embed.table.weight[SYMBOLS.index("<mask>")]
    embedded = model.decoder.embed.table.weight[previous]
    mixed = gates.get("copy", 0) * embedded + gates.get("skip", 0) * mask
    mixed = 8**0.5 * mixed + gates.get("generate", 0) * state.sigmoid()
    return model.decoder.output.table.weight @ mixed


def pointer_by_hand(model, gates, state, looks, source, target):
    chances = gates["generate"] * (model.decoder.output.table.weight @ state).softmax(0)
    for place, weight in enumerate(looks):
        copied, after = SYMBOLS[source[place]], SYMBOLS[(source + source[-1:])[place + 1]]
        chances[target.index(copied)] += gates.get("copy", 0) * weight
        chances[target.index(after)] += gates.get("skip", 0) * weight
    return chances.log()


@pytest.mark.kernels
@torch.no_grad()
@pytest.mark.parametrize(
    "variant, gates, target",
    [
        (variant, gates, target)
        for variant, gates in CHOICES
        for target in (SYMBOLS, OTHERS)[: 2 if gates == ALL else 1]
    ],
)
def test_each_variant_is_its_equations(variant, gates, target):
    model = build(gates=gates, gate_variant=variant, target=target, **PRE)
    for text, written in PAIRS:
        source, before = tokens(text, SYMBOLS), shifted(written, target)
        encoder_out = model.encoder(source[None])
        (memory,) = encoder_out["encoder_out"]
        states, extra = model.decoder.extract_features(before[None], encoder_out=encoder_out)
        logits, net_extra = model.decoder(before[None], encoder_out=encoder_out)
        for place, state in enumerate(states[0]):
            weights = gates_by_hand(model, state, place, memory)
            torch.testing.assert_close(net_extra["gates"][0, place], weights, **EXACT)
            named = dict(zip(model.decoder.gates.names, weights))
            if variant == "paper":
                expected = paper_by_hand(model, named, state, before[place])
            else:
                looks = extra["attn"][0][0, place]
                expected = pointer_by_hand(model, named, state, looks, source.tolist(), target)
            torch.testing.assert_close(logits[0, place], expected, **EXACT)


def test_chances_that_round_to_nothing_have_a_finite_logarithm():
    model = build(gate_variant="pointer", factor=40.0).float()
    for dtype in (torch.float32, torch.bfloat16):
        scores = GATED.logits(model.to(dtype), ROWS)
        assert all(score.isfinite().all() for score in scores)


# fresh gates and other gates ------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_gates_start_nearly_closed_whatever_the_size_of_a_backbones_states(size: float) -> None:
    model, states = GATED.new(gates=ALL), size * torch.randn(3, 5, SIZES["encoder_embed_dim"])
    assert float(model.encoder.mask_gate(states)[1].max()) < 0.0025
    copy, generate, skip = model.decoder.gates(states).unbind(2)
    assert torch.equal(copy, skip)
    torch.testing.assert_close(generate, torch.full_like(generate, 0.9094), rtol=0, atol=1e-4)


def test_a_copy_bias_of_1_copies_at_first():
    model, states = GATED.new(gates="copy,generate", copy_bias=1.0), torch.randn(2, 3, 8)
    copy, generate = model.decoder.gates(states).unbind(2)
    torch.testing.assert_close(copy / generate, torch.full_like(copy, math.e))


def test_a_training_is_resumed_with_the_gates_it_began_with():
    """No parameter tells the variant, and the defaults of 0.5.0 were others."""
    check, cfg = GatedTransformerModel.check_resumed, GatedTransformerConfig()
    check(cfg, OmegaConf.create(gated("pointer", "generate,copy,mask")), "last.pt")
    for gates in ("mask,copy,generate", "none"):
        old = OmegaConf.create(gated("paper", gates))
        with refuses("last.pt: ", f"--gates {gates}", "--gate-variant paper"):
            check(cfg, old, "last.pt")
        check(GatedTransformerConfig(**old), old, "last.pt")


@pytest.mark.parametrize(
    "old, new, same, table",
    [
        ({"gates": "none"}, {}, "", SYMBOLS),
        ({}, {"gates": "none"}, "", NO_MASK),
        ({}, {"gates": ALL}, "mask copy generate", NO_MASK),
        ({}, {"gate_variant": "paper"}, "mask", SYMBOLS),
        (gated("paper", "skip"), gated("paper"), "skip", SYMBOLS),
    ],
)
def test_a_training_begins_from_a_checkpoint_of_other_gates(old, new, same, table):
    theirs, ours = (build(seed, source=table, **options) for seed, options in enumerate((old, new)))
    learnt, fresh = (
        {name: value.clone() for name, value in model.state_dict().items()}
        for model in (theirs, ours)
    )
    state, settings = dict(learnt), OmegaConf.create(vars(GatedTransformerConfig(**old)))
    ours.begin_from(Start("other.pt", {"cfg": {"model": settings}, "model": state}, ours, True))
    ours.load_state_dict(state)
    for name, value in ours.state_dict().items():
        anew = "gate" in name and not any(
            f"{gate}_gate" in name or f"gates.{gate}" in name for gate in same.split()
        )
        assert torch.equal(value, (fresh if anew else learnt)[name]), name
