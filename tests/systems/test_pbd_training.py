"""Gradients, options, sizes and checkpoints of ``pbd_transformer``."""

import io

import pytest
import tiny
import torch
import torch.nn.functional as F
from pbd_models import (
    EXACT,
    KINDS,
    NORMS,
    PAD,
    ROWS,
    SIZES,
    Pair,
    assert_same,
    batch,
    build,
    logits,
    task,
)

from lev_plugins.errors import UserError
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel

EXTREME = {
    "nothing": [Pair("", "")],
    "empty source": [Pair("", "abc")],
    "empty target": [Pair("abc", "")],
    "one token": [Pair("a", "b"), Pair("b", "a")],
    "far apart": [Pair("a", "abcdefghabcdefgh"), Pair("abcdefghabcdefgh", "a")],
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request):
    return request.param


def loss_of(model, rows, **layout):
    made = batch(rows, **layout)
    scores, _ = model(made.source, made.source.ne(PAD).sum(1), made.before)
    return F.cross_entropy(
        scores.flatten(0, 1), made.target.flatten(), ignore_index=PAD, reduction="sum"
    )


def gradients(model, rows, **layout):
    model.zero_grad()
    loss_of(model.train(), rows, **layout).backward()
    return {name: one.grad.clone() for name, one in model.named_parameters()}


# gradients ------------------------------------------------------------------------------------


def test_logits_have_the_shape_of_the_target_and_every_parameter_is_trained(kind):
    model = build(**kind)
    made = batch(ROWS, left=True)
    scores, extra = model.train()(made.source, None, made.before)
    assert scores.shape == (*made.target.shape, 12) and scores.isfinite().all()
    assert extra == {"attn": [None]}
    for name, gradient in gradients(model, ROWS).items():
        assert gradient.isfinite().all() and gradient.abs().sum() > 0, name


@pytest.mark.parametrize("rows", EXTREME.values(), ids=EXTREME.keys())
def test_extreme_batches_give_every_parameter_a_finite_gradient(kind, rows):
    model = build(**kind)
    # no gradient at all would stop a training on several processes
    assert all(gradient.isfinite().all() for gradient in gradients(model, rows).values())
    assert loss_of(model, rows).isfinite()


def test_padding_changes_no_gradient_and_training_computes_what_evaluation_does(kind):
    """Training leaves padding out of whatever it can; evaluation does not."""
    model = build(**kind)
    expected = gradients(model, ROWS)
    assert loss_of(model.eval(), ROWS).item() == pytest.approx(loss_of(model.train(), ROWS).item())
    for layout in ({"left": True}, {"extra": 5}, {"left": True, "left_target": True, "extra": 3}):
        found = gradients(model, ROWS, **layout)
        assert_same(list(found.values()), list(expected.values()), rtol=1e-8, atol=1e-9)
    parts = [gradients(model, [row]) for row in ROWS]
    summed = [sum(part[name] for part in parts) for name in expected]
    assert_same(summed, list(expected.values()), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "kind",
    [
        "as published, post-norm",
        "as published, pre-norm",
        "no sharing, outputs copied, one table, pre-norm",
    ],
)
def test_gradients_are_those_of_finite_differences(kind):
    model = build(factor=1.0, **KINDS[kind])
    expected = gradients(model, ROWS)
    generator = torch.Generator().manual_seed(3)
    for name, parameter in model.named_parameters():
        step = 1e-6
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.double)
        losses = []
        with torch.no_grad():
            for move in (step, -2 * step, step):
                parameter.add_(direction, alpha=move)
                losses.append(float(loss_of(model, ROWS)))
        slope = (losses[0] - losses[1]) / (2 * step)
        along = float((expected[name] * direction).sum())
        assert slope == pytest.approx(along, rel=1e-4, abs=1e-5), name


def test_each_kind_of_dropout_is_at_work_in_training_alone():
    plain = build()
    expected = logits(plain, ROWS)
    for name in ("dropout", "attention_dropout", "activation_dropout"):
        model = build(**{name: 0.5})
        assert_same(logits(model, ROWS), expected)
        noisy = logits(model.train(), ROWS)
        difference = [one - other for one, other in zip(noisy, expected, strict=True)]
        assert min(row.abs().max() for row in difference) > 1e-3, name


@pytest.mark.parametrize("name", ["relu", "gelu", "silu"])
def test_the_activation_is_the_one_asked_for(name):
    model = build(activation_fn=name)
    function = getattr(F, name)
    x = torch.randn(3, 8, dtype=torch.double)
    for block in (model.encoder.blocks[0], model.decoder.blocks[0].block):
        torch.testing.assert_close(
            block.feed_forward(x), block.fc2(function(block.fc1(x))), **EXACT
        )


# what is shared -------------------------------------------------------------------------------


def test_all_but_the_attention_to_the_source_and_the_segments_is_shared():
    model = build(encoder_learned_pos=True, encoder_normalize_before=True)
    encoder = set(map(id, model.encoder.parameters()))
    own = {name for name, one in model.decoder.named_parameters() if id(one) not in encoder}
    assert encoder < set(map(id, model.decoder.parameters())) | encoder
    parts = ("cross_attention", "cross_norm", "self_attention.segment")
    assert own and all(any(part in name for part in parts) for name in own)
    assert len([name for name in own if "segment" in name]) == 2, "one for each block"


@pytest.mark.parametrize(
    ("values", "common"),
    [
        ({}, set()),
        ({"share_decoder_input_output_embed": True}, {"output"}),
        ({"share_all_embeddings": True}, {"source", "output"}),
    ],
)
def test_without_sharing_tables_are_shared_as_asked(values, common):
    model = build(no_parameter_sharing=True, encoder_normalize_before=True, **values)
    target = model.decoder.embed.table.weight
    tables = {
        "source": model.encoder.embed.table.weight,
        "output": model.decoder.output.table.weight,
    }
    assert {name for name, one in tables.items() if one is target} == common
    both = set(map(id, model.encoder.parameters())) & set(map(id, model.decoder.parameters()))
    assert len(both) == ("source" in common)


def test_two_dictionaries_may_differ_where_nothing_is_shared():
    other = tiny.dictionary("xyz")
    cfg = PBDTransformerConfig(**SIZES, no_parameter_sharing=True)
    model = PBDTransformerModel.build_model(cfg, task(tiny.dictionary(), other))
    made = batch([Pair("abh", "")])
    assert model(made.source, None, torch.tensor([[2, 6, 4]]))[0].shape == (1, 3, 7)


# checkpoints ----------------------------------------------------------------------------------


def saved(state):
    """A checkpoint's parameters as fairseq writes them on a GPU: copied one by one."""
    file = io.BytesIO()
    torch.save({name: value.clone() for name, value in state.items()}, file)
    return file


def loaded(file):
    file.seek(0)
    return torch.load(file, weights_only=True)


def test_a_checkpoint_brings_back_the_same_model_and_holds_nothing_twice(kind):
    model, other = build(1, **kind), build(2, **kind)
    file = saved(model.state_dict())
    state = loaded(file)
    assert len(state) == len(list(model.parameters()))
    assert sum(map(torch.numel, state.values())) == sum(p.numel() for p in model.parameters())
    other.load_state_dict(state, strict=True)
    found = logits(other, ROWS)
    assert all(torch.equal(a, b) for a, b in zip(logits(model, ROWS), found, strict=True))


@pytest.mark.parametrize("norm", NORMS)
def test_a_checkpoint_with_every_name_of_a_parameter_is_read_too(norm):
    model, other = build(1, **NORMS[norm]), build(2, **NORMS[norm])
    everything = torch.nn.Module.state_dict(model)
    assert len(everything) > len(model.state_dict())
    other.load_state_dict(dict(everything), strict=True)
    found = logits(other, ROWS)
    assert all(torch.equal(a, b) for a, b in zip(logits(model, ROWS), found, strict=True))


@pytest.mark.parametrize("norm", NORMS)
def test_shared_parameters_named_as_in_version_0_5_are_loaded(norm):
    model, other = build(1, **NORMS[norm]), build(2, **NORMS[norm])
    old = {
        name.replace(".fc1.", ".expand.").replace(".fc2.", ".contract."): value
        for name, value in model.state_dict().items()
    }
    assert old.keys() != model.state_dict().keys()
    other.load_state_dict(old, strict=True)
    found = logits(other, ROWS)
    assert all(torch.equal(a, b) for a, b in zip(logits(model, ROWS), found, strict=True))


def test_two_values_for_one_parameter_are_refused():
    apart = build(no_parameter_sharing=True, share_all_embeddings=True)
    with pytest.raises(UserError, match="different parameters encoder.*--no-parameter-sharing"):
        build().load_state_dict(apart.state_dict())


def test_other_embeddings_than_the_dictionarys_are_refused():
    model = build()
    state = model.state_dict()
    state["encoder.embed.table.weight"] = torch.zeros(13, 8)
    with pytest.raises(UserError, match="has 13 symbols in the encoder, the dictionary 12"):
        model.load_state_dict(state)


# options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"encoder_attention_heads": 3}, "--encoder-attention-heads 3 does not divide"),
        ({"encoder_attention_heads": 0}, "--encoder-attention-heads 0 does not divide"),
        ({"encoder_layers": 0}, "at least 1 is needed"),
        ({"decoder_layers": 0}, "at least 1 is needed"),
        (
            {"decoder_layers": 3},
            "give --no-future-modelling and --no-parameter-sharing",
        ),
        (
            {"decoder_layers": 1, "no_parameter_sharing": True},
            "--encoder-layers 2 and --decoder-layers 1 differ",
        ),
        ({"decoder_layers": 1, "no_future_modelling": True}, "give --no-parameter-sharing"),
    ],
)
def test_options_that_contradict_each_other_are_refused(values, said):
    with pytest.raises(UserError) as caught:
        build(**values)
    assert said in str(caught.value)


@pytest.mark.parametrize("values", [{}, {"no_parameter_sharing": True}])
def test_one_table_for_two_dictionaries_is_refused(values):
    way = "--no-parameter-sharing" if not values else "--share-all-embeddings"
    cfg = PBDTransformerConfig(**SIZES, **values, share_all_embeddings=True)
    with pytest.raises(UserError, match=f"12 and 7 symbols.* --joined-dictionary.*{way}"):
        PBDTransformerModel.build_model(cfg, task(tiny.dictionary(), tiny.dictionary("xyz")))


def test_a_seed_fixes_the_parameters():
    first, same, other = build(1), build(1), build(2)
    pairs = zip(first.parameters(), same.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(first.encoder.embed.table.weight, other.encoder.embed.table.weight)
