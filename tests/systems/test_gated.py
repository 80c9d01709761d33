"""What is particular to gated-Trans; what it has in common with others: ``test_seq2seq.py``.

Probabilities; fresh gates on a trained model; trainings that begin from others.
"""

import json
import re
from typing import Any

import pytest
import torch
from closeness import assert_near
from contract import EXACT
from omegaconf import OmegaConf
from refusals import refuses
from seq2seq_models import ALL, GATED, ROWS, SIZES, masked, shifted, tokens
from test_gated_gates import CHOICES, OTHERS

from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

build = GATED.build
NO_MASK = masked(mask=None)

# probabilities --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GATED.search)
def test_chances_sum_to_one(kind):
    model = build(target=OTHERS, **GATED.kinds[kind])
    made = GATED.batch(ROWS, target=OTHERS)
    net_output = model(made.source, None, made.before)
    for log in (True, False):
        found = model.get_normalized_probs(net_output, log_probs=log)
        total = (found.exp() if log else found).sum(2)
        assert_near(total, torch.ones_like(total))
    exact = [net_output[1]["gates"].sum(2)]
    if model.decoder.variant == "pointer":  # its logits are log-probabilities as they are
        exact.append(net_output[0].exp().sum(2))
    for total in exact:
        torch.testing.assert_close(total, torch.ones_like(total), **EXACT)


def test_a_pointer_copies_what_the_target_does_not_know_as_unknown():
    """f, g and h are in the source's dictionary alone."""
    model = build(target=OTHERS, gate_variant="pointer", gates="copy,generate", factor=1.0)
    with torch.no_grad():
        model.decoder.gates.gates["copy"].bias.fill_(30.0)
        model.decoder.gates.gates["copy"].weight.zero_()
        model.decoder.gates.gates["generate"].weight.zero_()
    for source, copied in (("hfg", {"<unk>", "</s>"}), ("abe", {"a", "b", "e", "</s>"})):
        scores, _ = model(tokens(source, GATED.symbols)[None], None, shifted("", OTHERS)[None])
        chances = scores[0, 0].exp()
        likely = {OTHERS[i] for i in range(len(OTHERS)) if chances[i].item() > 1e-6}
        assert likely == copied
        assert chances.sum().item() == pytest.approx(1)


def test_chances_that_round_to_nothing_have_a_finite_logarithm():
    model = build(gate_variant="pointer", factor=40.0).float()
    for dtype in (torch.float32, torch.bfloat16):
        scores = GATED.logits(model.to(dtype), ROWS)
        assert all(one.isfinite().all() for one in scores)


@pytest.mark.parametrize(("variant", "gates"), CHOICES)
def test_every_choice_of_gates_trains_with_finite_gradients(variant, gates):
    system = GATED.under(gates=gates, gate_variant=variant)
    assert system.gradients(system.model(), system.sample(ROWS))


# fresh gates and other gates ------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_gates_start_nearly_closed_whatever_the_size_of_a_backbones_states(size: float) -> None:
    model, states = GATED.new(gates=ALL), size * torch.randn(3, 5, SIZES["encoder_embed_dim"])
    assert float(model.encoder.mask_gate(states)[1].max()) < 0.0025
    copy, generate, skip = model.decoder.gates(states).unbind(2)
    assert torch.equal(copy, skip)
    torch.testing.assert_close(generate, torch.full_like(generate, 0.9094), rtol=0, atol=1e-4)


BART = {"dim": 8, "heads": 2, "hidden": 12, "layers": 2, "positions": 32}
BART |= {"activation": "gelu", "bias": True}
PLAN = json.dumps({"kind": "bart", "mask": "<mask>", "plan": BART})


@torch.no_grad()
@pytest.mark.parametrize("options", [{}, {"backbone_plan": PLAN}], ids=["ours", "a BART"])
def test_a_trained_model_answers_with_fresh_gates_as_without_them(options: dict[str, Any]) -> None:
    plain, fresh = (GATED.new(gates=gates, **options).eval() for gates in ("none", "all"))
    for parameter in plain.parameters():
        parameter.add_(0.5 * torch.randn(parameter.shape))
    missing, unexpected = fresh.load_state_dict(plain.state_dict(), strict=False)
    assert not unexpected and all("gate" in name for name in missing)
    chances = [
        model.get_normalized_probs(model(**GATED.sample(ROWS)["net_input"]), log_probs=False)
        for model in (plain, fresh)
    ]
    real = GATED.sample(ROWS)["target"].ne(GATED.symbols.pad())
    assert chances[0][real].max() > 0.5
    # copying and skipping have 0.09 of the weight; the mask gate lets 0.0025 of another vector in
    torch.testing.assert_close(chances[1][real], chances[0][real], rtol=0, atol=0.11)


@pytest.mark.parametrize(
    ("gates", "variant", "told"),
    [
        ("mask,copy,generate", "paper", "--gates mask,copy,generate --gate-variant paper"),
        ("none", "paper", "--gates none"),
        ("generate,copy,mask", "pointer", None),
    ],
)
def test_a_training_is_resumed_with_the_gates_it_began_with(gates, variant, told):
    """No parameter tells the variant, and the defaults of 0.5.0 were others."""
    old = OmegaConf.create({"gates": gates, "gate_variant": variant})
    cfg = GatedTransformerConfig()
    if told is None:
        GatedTransformerModel.check_resumed(cfg, old, "last.pt")
        return
    with refuses("last.pt: ", told):
        GatedTransformerModel.check_resumed(cfg, old, "last.pt")
    GatedTransformerModel.check_resumed(GatedTransformerConfig(**old), old, "last.pt")


@pytest.mark.parametrize(
    ("old", "new", "same", "table"),
    [
        ({"gates": "none"}, {}, "", GATED.symbols),
        ({}, {"gates": "none"}, "", NO_MASK),
        ({}, {"gates": ALL}, "mask copy generate", NO_MASK),
        ({"gates": ALL}, {"gates": "mask,generate"}, "mask generate", GATED.symbols),
        ({}, {"gate_variant": "paper"}, "mask", GATED.symbols),
        (
            {"gates": "skip", "gate_variant": "paper"},
            {"gates": ALL, "gate_variant": "paper"},
            "skip",
            GATED.symbols,
        ),
    ],
)
def test_a_training_begins_from_a_checkpoint_of_other_gates(old, new, same, table):
    theirs, ours = (build(seed, source=table, **one) for seed, one in enumerate((old, new)))
    learnt, fresh = (
        {name: value.clone() for name, value in model.state_dict().items()}
        for model in (theirs, ours)
    )
    kept = ("mask_gate" if gate == "mask" else f"gates.{gate}" for gate in same.split())
    kept = re.compile("|".join(map(re.escape, kept)) or "$^")
    state, settings = dict(learnt), OmegaConf.create(vars(GatedTransformerConfig(**old)))
    ours.begin_from(settings, state, "other.pt")
    ours.load_state_dict(state)
    for name, value in ours.state_dict().items():
        anew = "gate" in name and not kept.search(name)
        assert torch.equal(value, (fresh if anew else learnt)[name]), name
