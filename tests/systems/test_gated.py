"""What is particular to gated-Trans; what it has in common with others: ``test_seq2seq.py``.

Probabilities; fresh gates on a trained model; trainings that begin from others.
"""

import json
import math
import re
from functools import cache
from typing import Any

import pytest
import torch
from closeness import assert_near
from gated_models import (
    ALL,
    GATED,
    KINDS,
    OTHERS,
    ROWS,
    SUBSETS,
    SYMBOLS,
    VARIANTS,
    allowed,
    answers,
    batch,
    build,
    dictionary,
)
from omegaconf import OmegaConf
from refusals import refuses
from seq2seq_models import EXACT, SIZES, Pair, shifted, tokens
from torch import Tensor

from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

# probabilities --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GATED.search)
def test_chances_sum_to_one(kind):
    model = build(target=OTHERS, **KINDS[kind])
    made = batch(ROWS, target=OTHERS)
    net_output = model(made.source, None, made.before)
    for log in (True, False):
        found = model.get_normalized_probs(net_output, log_probs=log)
        total = (found.exp() if log else found).sum(2)
        assert_near(total, torch.ones_like(total))
    if model.decoder.variant == "pointer":  # its logits are log-probabilities as they are
        total = net_output[0].exp().sum(2)
        torch.testing.assert_close(total, torch.ones_like(total), **EXACT)
    gates = net_output[1]["gates"].sum(2)
    torch.testing.assert_close(gates, torch.ones_like(gates), **EXACT)


def test_a_pointer_copies_what_the_target_does_not_know_as_unknown():
    """f, g and h are in the source's dictionary alone."""
    model = build(target=OTHERS, gate_variant="pointer", gates="copy,generate", factor=1.0)
    with torch.no_grad():
        model.decoder.gates.gates["copy"].bias.fill_(30.0)
        model.decoder.gates.gates["copy"].weight.zero_()
        model.decoder.gates.gates["generate"].weight.zero_()
    for source, copied in (("hfg", {"<unk>", "</s>"}), ("abe", {"a", "b", "e", "</s>"})):
        scores, _ = model(tokens(source, SYMBOLS)[None], None, shifted("", OTHERS)[None])
        chances = scores[0, 0].exp()
        likely = {OTHERS[i] for i in range(len(OTHERS)) if chances[i].item() > 1e-6}
        assert likely == copied
        assert chances.sum().item() == pytest.approx(1)


def test_chances_that_round_to_nothing_have_a_finite_logarithm():
    model = build(gate_variant="pointer", factor=40.0).float()
    for dtype in (torch.float32, torch.bfloat16):
        scores = answers(model.to(dtype), ROWS)
        assert all(one.logits.isfinite().all() for one in scores)


@pytest.mark.parametrize(
    ("variant", "gates"),
    [(v, g) for v in VARIANTS for g in SUBSETS if allowed(g, v)],
)
def test_every_choice_of_gates_trains_with_finite_gradients(variant, gates):
    model = build(gates=gates, gate_variant=variant, factor=1.0).train()
    loss = GATED.loss_of(model, ROWS)
    loss.backward()
    assert loss.isfinite()
    chosen = gates.split(",")
    for name, parameter in model.named_parameters():
        # no gradient at all would stop a training on several processes
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if gates == "none" or {"copy", "generate"} <= set(chosen):
            # the bias of keys moves all scores alike
            assert parameter.grad.abs().sum() > 0 or name.endswith("bias"), name


def test_gates_that_cannot_work_are_refused():
    for gates in ("copy", "mask,copy,skip"):
        assert build(gates=gates, gate_variant="paper").decoder.gates is not None
        with refuses(f"--gates {gates}", "add generate"):
            build(gates=gates, gate_variant="pointer")
    assert build(gates="mask", gate_variant="pointer").decoder.gates is None
    with refuses("--gates mask,keep", "'keep'"):
        build(gates="mask,keep")


# trained models -------------------------------------------------------------------------------

LEARNT = [Pair(text, text) for text in ("abcd", "hag", "cafe", "deed", "gab", "")]
WIDE = {"encoder_embed_dim": 32}
NO_MASK = dictionary(mask=None)


def loss_of(model: GatedTransformerModel) -> Tensor:
    """Loss of a token in nats."""
    return GATED.loss_of(model, LEARNT) / batch(LEARNT).target.ne(SYMBOLS.pad()).sum()


@cache
def trained() -> GatedTransformerModel:
    """A model without gates that has learnt six sentences."""
    model = GATED.new(gates="none", **WIDE).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    return model.eval()


def with_fresh_gates(model: GatedTransformerModel, **values: Any) -> GatedTransformerModel:
    gated = GATED.new(2, **values).eval()
    missing, unexpected = gated.load_state_dict(model.state_dict(), strict=False)
    assert not unexpected and all("gate" in name for name in missing)
    return gated


@torch.no_grad()
def judged(model: GatedTransformerModel) -> tuple[float, Tensor]:
    """Loss of a token in bits, and where the likeliest one is the right one."""
    rows = batch(LEARNT)
    chosen = model(rows.source, None, rows.before)[0].argmax(2)
    right = chosen.eq(rows.target)[rows.target.ne(SYMBOLS.pad())]
    return float(loss_of(model)) / math.log(2), right


def test_a_trained_model_answers_with_fresh_gates_as_without_them() -> None:
    bits, right = judged(trained())
    assert right.float().mean() > 0.8
    model = with_fresh_gates(trained(), **WIDE)
    assert model.encoder.mask_gate is not None
    assert model.decoder.variant == "pointer"
    assert model.decoder.gates.names == ["copy", "generate"]
    found, still = judged(model)
    assert torch.equal(still, right)
    # generating weighs 0.953: no token can lose more than 0.07 bits, but for the mask gate
    assert found < bits + 0.1


@torch.no_grad()
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_gates_start_nearly_closed_whatever_the_size_of_a_backbones_states(size: float) -> None:
    model, states = GATED.new(gates=ALL), size * torch.randn(3, 5, SIZES["encoder_embed_dim"])
    assert float(model.encoder.mask_gate(states)[1].max()) < 0.0025
    copy, generate, skip = model.decoder.gates(states).unbind(2)
    assert torch.equal(copy, skip)
    torch.testing.assert_close(generate, torch.full_like(generate, 0.9094), rtol=0, atol=1e-4)


@torch.no_grad()
def test_a_backbone_answers_with_fresh_gates_as_without_them() -> None:
    """A BART."""
    sizes = {"dim": 8, "heads": 2, "hidden": 12, "layers": 2, "positions": 32}
    sizes |= {"activation": "gelu", "bias": True}
    plan = json.dumps({"kind": "bart", "mask": "<mask>", "plan": sizes})
    plain = GATED.new(gates="none", backbone_plan=plan).eval()
    for parameter in plain.parameters():
        parameter.add_(0.5 * torch.randn(parameter.shape))
    rows = batch(ROWS)
    chances = [
        model.get_normalized_probs(model(rows.source, None, rows.before), log_probs=False)
        for model in (plain, with_fresh_gates(plain, backbone_plan=plan))
    ]
    real = rows.target.ne(SYMBOLS.pad())
    assert chances[0][real].max() > 0.5
    # copying has 0.047 of the weight; the mask gate lets 0.0025 of another vector in
    torch.testing.assert_close(chances[1][real], chances[0][real], rtol=0, atol=0.07)


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
        ({"gates": "none"}, {}, "", SYMBOLS),
        ({}, {"gates": "none"}, "", NO_MASK),
        ({}, {"gates": ALL}, "mask copy generate", NO_MASK),
        ({"gates": ALL}, {"gates": "mask,generate"}, "mask generate", SYMBOLS),
        ({}, {"gate_variant": "paper"}, "mask", SYMBOLS),
        (
            {"gates": "skip", "gate_variant": "paper"},
            {"gates": ALL, "gate_variant": "paper"},
            "skip",
            SYMBOLS,
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
