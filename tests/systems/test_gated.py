"""What is particular to gated-Trans; what it has in common with others: ``test_seq2seq.py``."""

import pytest
import torch
from closeness import assert_near
from gated_models import (
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
)
from refusals import refuses
from seq2seq_models import EXACT, shifted, tokens

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
