"""What every system that writes from left to right has to keep to: one contract for all of them.

Steps, padding and batches; beam search; training; checkpoints; options that contradict each other.
"""

import copy
import io
import itertools
from typing import Any

import pytest
import tiny
import torch
from closeness import assert_near
from concat_models import CONCAT
from contract import assert_loads_names_of_0_5, same_parameters
from fairseq.sequence_generator import SequenceGeneratorWithAlignment
from fairseq.sequence_scorer import SequenceScorer
from gated_models import GATED, VARIANTS
from pbd_models import PBD
from seq2seq_models import EXACT, Pair, Seq2Seq, assert_same, tokens

from lev_plugins.errors import UserError
from lev_plugins.nn.precision import Int8Linear, quantize

pytestmark = [
    # said by torch and by fairseq about fairseq
    pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask:UserWarning"),
]
SYSTEMS = {"pbd": PBD, "gated": GATED, "concat": CONCAT}
KINDS = [(name, kind) for name, system in SYSTEMS.items() for kind in system.kinds]
SEARCHED = [(name, kind) for name, system in SYSTEMS.items() for kind in system.search]


def param(found: list[tuple[str, str]], name: str, kind: str, *more: Any, said: str = "") -> Any:
    """A case; with other kernels the first of each system is run."""
    first = next(one for one in found if one[0] == name) == (name, kind)
    marks = [pytest.mark.kernels] if first else []
    return pytest.param(SYSTEMS[name], kind, *more, id=f"{name}, {kind}{said}", marks=marks)


def cases(found: list[tuple[str, str]], *systems: str) -> Any:
    """The kinds found, of these systems alone if any are named."""
    made = [param(found, *one) for one in found if not systems or one[0] in systems]
    return pytest.mark.parametrize(("system", "kind"), made)


def paired(found: list[tuple[str, str]], name: str, values: dict[str, Any]) -> Any:
    """Each of the kinds with one of the values, in turn."""
    made = [
        param(found, *one, values[said], said=f", {said}")
        for one, said in zip(found, itertools.cycle(values))
    ]
    return pytest.mark.parametrize(("system", "kind", name), made)


each_kind, each_searched = cases(KINDS), cases(SEARCHED)
# what fairseq's own modules, of which the third is made, are not held to
each_of_ours = cases(
    [one for one in SEARCHED if "pre-norm" not in one[1] or "one table" in one[1]], "pbd", "gated"
)
each_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS.keys())
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def chances(answers):
    return [one.logits.double().softmax(1) for one in answers]


# steps, padding, batches ----------------------------------------------------------------------


@each_kind
def test_steps_padding_batches_and_their_order_change_nothing(system: Seq2Seq, kind):
    model, rows = system.build(**system.kinds[kind]), system.rows
    expected = system.answers(model, rows)
    for number, layout in enumerate(system.layouts()):
        system.same(system.answers(model, rows, **layout), expected)
        if number % 2:
            system.same(system.stepwise(model, rows, **layout), expected)
    system.same([system.answers(model, [row])[0] for row in rows], expected)
    system.same(system.answers(model, rows[::-1])[::-1], expected)


@each_searched
def test_in_single_precision_they_agree_but_for_rounding(system: Seq2Seq, kind):
    model = system.build(factor=1.0, **system.kinds[kind]).float()
    expected = system.answers(model, system.rows)
    alone = [system.answers(model, [row])[0] for row in system.rows]
    for found in (system.stepwise(model, system.rows, left=True), alone):
        assert_same(found, expected, near=True)


@paired(SEARCHED, "dtype", DTYPES)
def test_half_precision_is_finite_and_close(system: Seq2Seq, kind, dtype):
    model = system.build(factor=1.0, **system.kinds[kind]).float()
    expected = chances(system.answers(model, system.rows))
    half = model.to(dtype)
    for said in (system.answers, system.stepwise):
        found = said(half, system.rows, left=True)
        for one in found:
            parts = [part for part in one if part is not None]
            assert all(part.isfinite().all() for part in parts)
            # a pointer mixes distributions, and does so in single precision
            assert one.logits.dtype == (torch.float32 if "pointer" in kind else dtype)
        assert_same(chances(found), expected, rtol=0, atol=0.03)


# wide enough for their layers to be worth the rounding
WIDE = {"encoder_embed_dim": 64, "encoder_ffn_embed_dim": 128, "encoder_attention_heads": 4}
GATES = {"gates": "mask,copy,generate"}
FEWER = [
    *((PBD, {"copied_states": states}) for states in ("input", "output")),
    *((GATED, {"gate_variant": variant, **GATES}) for variant in VARIANTS),
]


@pytest.mark.kernels
@pytest.mark.parametrize("precision", ["bf16", "int8"])
@pytest.mark.parametrize(("system", "options"), FEWER)
def test_with_fewer_bits_it_is_close_to_itself(system: Seq2Seq, options, precision):
    model = system.build(factor=1.0, **WIDE, **options)
    less = copy.deepcopy(model)
    quantize([less], precision)
    full, found = (torch.cat(system.logits(one, system.rows[:4])).double() for one in (model, less))
    # all but the symbols that cannot be written
    seen = torch.isfinite(full) & (full > -50)
    full, found = full[seen], found[seen]
    assert torch.isfinite(found).all() and not torch.equal(full, found)
    # the largest difference, as a share of the spread of what it should be
    assert (full - found).abs().max() / full.std() < (0.2 if system is PBD else 0.3)
    if system is PBD and precision == "int8":
        assert isinstance(less.decoder.output, Int8Linear), "the vocabulary's product too"


# rows change places ---------------------------------------------------------------------------

ORDERS = [
    [0, 0, 0, 1, 1, 1, 2, 2, 2],  # every sentence gets three beams
    [2, 0, 1, 3, 5, 4, 8, 7, 6],  # which change places
    [0, 0, 0, 3, 4, 3, 8, 8, 8],  # some go, others are there twice
    [6, 7, 8, 0, 1, 2],  # a sentence is done; the others change places
    [5, 4, 0, 0, 1, 2],  # as many rows, of other sentences
    [5, 3, 3],  # most are done
    [1],
    [0],
    [0],
]


@paired([one for one in SEARCHED if one[0] != "concat"], "left", {"left": True, "right": False})
def test_rows_that_change_places_leave_and_come_twice(system: Seq2Seq, kind, left):
    """Against the model without a state, for sources and beginnings in that order."""
    model = system.build(**system.kinds[kind])
    source, pad = system.batch(system.rows[:3], left=left).source, system.symbols.pad()
    encoder_out, state = model.encoder(source), {}
    before = source.new_full((3, 1), system.symbols.eos())
    generator = torch.Generator().manual_seed(5)
    for order in ORDERS:
        rows = torch.tensor(order)
        model.decoder(before, encoder_out=encoder_out, incremental_state=state)
        model.decoder.reorder_incremental_state_scripting(state, rows)
        encoder_out = model.encoder.reorder_encoder_out(encoder_out, rows)
        source, before = source[rows], before[rows]
        fresh = torch.randint(4, 12, (len(rows), 1), generator=generator)
        before = torch.cat([before, fresh], 1)
        once = dict(state)  # looking must not write into the state of the search
        found, extra = model.decoder(before, encoder_out=encoder_out, incremental_state=once)
        expected, said = model(source, source.ne(pad).sum(1), before)
        torch.testing.assert_close(found, expected[:, -1:], **EXACT)
        if "gates" in said:
            torch.testing.assert_close(extra["gates"], said["gates"][:, -1:], **EXACT)
            memory, again = encoder_out["memory"][0], model.encoder(source)["memory"][0]
            for name in ("masked", "tokens", "states"):
                one, other = getattr(memory, name), getattr(again, name)
                if one is not None:
                    one, other = one[source.ne(pad)], other[source.ne(pad)]
                torch.testing.assert_close(one, other, **EXACT)
            assert torch.equal(memory.mask, again.mask)


# beam search ----------------------------------------------------------------------------------


@paired(SEARCHED, "left", {"left": True, "right": False})
def test_the_scores_of_beam_search_are_those_of_its_hypotheses_forced(system: Seq2Seq, kind, left):
    model = system.lively(kind)
    lengths = set()
    for row, hypotheses in zip(
        system.rows, system.searched([model], system.rows, left), strict=True
    ):
        scores = [float(one["score"]) for one in hypotheses]
        assert len(scores) == 4 and scores == sorted(scores, reverse=True)
        assert len({tuple(one["tokens"].tolist()) for one in hypotheses}) == 4
        for one in hypotheses:
            # the search adds up single precision, and takes differences of the sums
            forced = system.forced([model], row, one["tokens"])
            assert_near(one["positional_scores"].float(), forced)
            lengths.add(len(one["tokens"]))
    assert len(lengths) > 3, "sentences end at different times"
    references = SequenceScorer(system.symbols).generate([model], system.sample(system.rows))
    for row, (one,) in zip(system.rows, references, strict=True):
        assert torch.equal(one["tokens"], tokens(row.target, system.symbols))
        assert_near(one["positional_scores"].float(), system.forced([model], row, one["tokens"]))


@each_searched
def test_a_batch_is_searched_as_its_sentences_are(system: Seq2Seq, kind):
    model = system.lively(kind)
    together = system.searched([model], system.rows)
    for row, hypotheses in zip(system.rows, together, strict=True):
        (expected,) = system.searched([model], [row])
        for one, other in zip(hypotheses, expected, strict=True):
            assert torch.equal(one["tokens"], other["tokens"])
            assert_near(one["score"], other["score"])


@each_searched
def test_a_prefix_is_kept_and_scored(system: Seq2Seq, kind):
    model, rows = system.lively(kind), system.rows[:4]
    starts = [tokens(text, system.symbols)[:2] for text in ("hhh", "bac", "d", "ghh")]
    assert starts[2][1] == system.symbols.eos(), "a prefix that is a whole sentence"
    found = system.searched([model], rows, prefix=torch.stack(starts))
    for row, start, hypotheses in zip(rows, starts, found, strict=True):
        for one in hypotheses:
            assert torch.equal(one["tokens"][:2], start)
            forced = system.forced([model], row, one["tokens"])
            assert_near(one["positional_scores"].float(), forced)


def ensemble(system: Seq2Seq):
    """Two models, or one of each variant."""
    if system is GATED:
        return [system.build(i, 1.5, gate_variant=name) for i, name in enumerate(VARIANTS)]
    return [system.build(seed, 1.5) for seed in (6, 4)]


@each_system
def test_an_ensemble_averages_probabilities_and_one_of_equals_is_one(system: Seq2Seq):
    models = ensemble(system)
    single = system.searched(models[:1], system.rows)
    for one, other in zip(system.searched(models[:1] * 2, system.rows), single, strict=True):
        assert torch.equal(one[0]["tokens"], other[0]["tokens"])
    found = system.searched(models, system.rows)
    for row, hypotheses in zip(system.rows, found, strict=True):
        for one in hypotheses:
            forced = system.forced(models, row, one["tokens"])
            assert_near(one["positional_scores"].float(), forced)


@each_searched
def test_what_looked_where_is_a_distribution_over_the_source(system: Seq2Seq, kind):
    model = system.lively(kind)
    found = system.searched([model], system.rows, cls=SequenceGeneratorWithAlignment,
                            left_pad_target=False)  # fmt: skip
    for row, hypotheses in zip(system.rows, found, strict=True):
        one, length = hypotheses[0], len(system.source(row))
        attention = one["attention"].float()
        assert attention.shape[1] == len(one["tokens"])
        assert_near(attention.sum(0), torch.ones(attention.size(1)))
        assert not attention[: attention.size(0) - length].any(), "padding was looked at"
        assert {int(pair[0]) for pair in one["alignment"]} <= set(range(length))


@each_system
def test_evaluation_leaves_no_trace_in_the_model(system: Seq2Seq):
    model = system.build(6, 1.5, dropout=0.5, attention_dropout=0.5)
    expected = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.random.get_rng_state()
    first, second = (system.searched([one], system.rows) for one in (model, model.train()))
    assert torch.equal(torch.random.get_rng_state(), state), "decoding drew random numbers"
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one[0]["positional_scores"], other[0]["positional_scores"])
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in expected.items())


@pytest.mark.parametrize(("system", "learned"), [(PBD, True), (GATED, False)], ids=["pbd", "gated"])
def test_sentences_of_the_longest_length_pass_and_longer_ones_are_named(system, learned):
    limits = {"max_source_positions": 9, "max_target_positions": 7}
    model = system.build(encoder_learned_pos=learned, **limits)
    assert model.max_positions() == (9, 7)
    longest = [Pair("a" * 8, "b" * 6), Pair("c", "")]
    assert_same(system.stepwise(model, longest), system.answers(model, longest))
    # where the positions are shared, targets have those of the source too
    targets = [(Pair("", "b" * 7), 8)] if system is GATED else []
    for pair, length in [(Pair("a" * 9, ""), 10), *targets]:
        with pytest.raises(ValueError, match=f"a sequence of {length} tokens is longer than"):
            system.answers(model, [pair])
    (found,) = system.searched([model], longest[:1], max_len_b=99, min_len=6)
    assert {len(one["tokens"]) for one in found} == {7}


# training -------------------------------------------------------------------------------------

EXTREME = {
    "nothing": [("", "")],
    "empty source": [("", "abc")],
    "empty target": [("abc", "")],
    "one token": [("a", "b"), ("b", "a")],
    "far apart": [("a", "abcdefghabcdefgh"), ("abcdefghabcdefgh", "a")],
}


def gradients(system: Seq2Seq, model, rows, **layout):
    model.zero_grad()
    system.loss_of(model.train(), rows, **layout).backward()
    for name, parameter in model.named_parameters():
        # no gradient at all would stop a training on several processes
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
    return {name: one.grad.clone() for name, one in model.named_parameters()}


@each_kind
def test_logits_have_the_shape_of_the_target_and_every_parameter_is_trained(system: Seq2Seq, kind):
    model = system.build(**system.kinds[kind])
    made = system.batch(system.rows, left=True)
    lengths = made.source.ne(system.symbols.pad()).sum(1)
    scores, _ = model.train()(made.source, lengths, made.before)
    assert scores.shape == (*made.target.shape, len(system.symbols)) and scores.isfinite().all()
    gates = system.kinds[kind].get("gates", "")
    for name, gradient in gradients(system, model, system.rows).items():
        # of two gates that sum to one, one alone may have nothing to decide
        if gates in ("", "none") or "copy" in gates:
            assert gradient.abs().sum() > 0, name


@paired(KINDS, "texts", EXTREME)
def test_extreme_batches_give_every_parameter_a_finite_gradient(system: Seq2Seq, kind, texts):
    model = system.build(**system.kinds[kind])
    rows = [tiny.Triple(source, target, source) for source, target in texts]
    assert gradients(system, model, rows) and system.loss_of(model, rows).isfinite()


@each_kind
def test_padding_changes_no_gradient_and_training_computes_what_evaluation_does(system, kind):
    """Training leaves padding out of whatever it can, also where most of a batch is padding."""
    model = system.build(**system.kinds[kind])
    close = {"rtol": 1e-8, "atol": 1e-9, "near": not system.exact}
    for rows in (system.rows, [*system.rows, *system.rows[-1:] * 6]):
        expected = gradients(system, model, rows)
        evaluated = system.loss_of(model.eval(), rows).item()
        assert system.loss_of(model.train(), rows).item() == pytest.approx(evaluated)
        for layout in ({"left": True}, {"extra": 5}, *system.layouts()[1:2]):
            found = gradients(system, model, rows, **layout)
            assert_same(found.values(), expected.values(), **close)
        parts = [gradients(system, model, [row]) for row in rows]
        summed = [sum(part[name] for part in parts) for name in expected]
        assert_same(summed, expected.values(), **close)


@each_of_ours
def test_gradients_are_those_of_finite_differences(system: Seq2Seq, kind):
    model, rows = system.build(factor=1.0, **system.kinds[kind]), system.rows
    expected = gradients(system, model, rows)
    generator = torch.Generator().manual_seed(3)
    step = 1e-6
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.double)
        if name.endswith(system.untrained):
            direction[system.symbols.pad()] = 0
        losses = []
        with torch.no_grad():
            for move in (step, -2 * step, step):
                parameter.add_(direction, alpha=move)
                losses.append(float(system.loss_of(model, rows)))
        slope = (losses[0] - losses[1]) / (2 * step)
        along = float((expected[name] * direction).sum())
        assert slope == pytest.approx(along, rel=1e-4, abs=1e-5), name


@each_system
def test_each_kind_of_dropout_is_at_work_in_training_alone(system: Seq2Seq):
    expected = system.answers(system.build(), system.rows)
    for name in ("dropout", "attention_dropout", "activation_dropout"):
        model = system.build(**{name: 0.5})
        system.same(system.answers(model, system.rows), expected)
        noisy = system.answers(model.train(), system.rows)
        for one, other in zip(noisy, expected, strict=True):
            assert (one.logits - other.logits).abs().max() > 1e-3, name


# parameters and checkpoints -------------------------------------------------------------------


@each_kind
def test_a_checkpoint_brings_back_the_same_model_and_holds_nothing_twice(system: Seq2Seq, kind):
    model, other = (system.build(seed, **system.kinds[kind]) for seed in (1, 2))
    file = io.BytesIO()
    # as fairseq writes them on a GPU: copied one by one
    torch.save({name: value.clone() for name, value in model.state_dict().items()}, file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    if system is not CONCAT:  # which is fairseq's, with versions and shared tables
        assert len(state) == len(list(model.parameters()))
        assert sum(map(torch.numel, state.values())) == sum(p.numel() for p in model.parameters())
    assert not same_parameters(model, other)
    other.load_state_dict(state, strict=True)
    found = system.answers(other, system.rows)
    assert_same(found, system.answers(model, system.rows), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("system", "pre_norm"), [(PBD, True), (GATED, False)], ids=["pbd", "gated"]
)
def test_parameters_named_as_in_version_0_5_are_loaded(system, pre_norm):
    model, other = (system.build(seed, encoder_normalize_before=pre_norm) for seed in (1, 2))
    assert_loads_names_of_0_5(model, other)


# options --------------------------------------------------------------------------------------

HEADS = "--encoder-attention-heads"
REFUSED = [
    (PBD, {"encoder_attention_heads": 3}, HEADS),
    (PBD, {"encoder_attention_heads": 0}, HEADS),
    (PBD, {"encoder_layers": 0}, "--encoder-layers"),
    (PBD, {"decoder_layers": 0}, "--decoder-layers"),
    (PBD, {"decoder_layers": 3}, "--no-future-modelling"),
    (PBD, {"decoder_layers": 1, "no_parameter_sharing": True}, "--decoder-layers"),
    (PBD, {"decoder_layers": 1, "no_future_modelling": True}, "--no-parameter-sharing"),
    (GATED, {"encoder_attention_heads": 16}, HEADS),
    *((GATED, {"gates": gates}, "--gates") for gates in ("mask,delete", "none,copy", "mask;copy")),
    *(
        (GATED, {"gates": gates, "gate_variant": "pointer"}, "--gate-variant")
        for gates in ("copy", "mask,copy,skip")
    ),
    (CONCAT, {"encoder_attention_heads": 3}, HEADS),
    (CONCAT, {"decoder_attention_heads": 0}, "--decoder-attention-heads"),
]
# one table for two dictionaries
SHARED = {"share_all_embeddings": True, "two": True}
TWO = [
    (PBD, {}, "--no-parameter-sharing"),
    (PBD, {"no_parameter_sharing": True}, "--share-all-embeddings"),
    (GATED, {}, "--share-all-embeddings"),
    (CONCAT, {}, "--joined-dictionary"),
]


@pytest.mark.parametrize(
    ("system", "values", "named"),
    [*REFUSED, *((system, {**more, **SHARED}, named) for system, more, named in TWO)],
)
def test_options_that_contradict_each_other_are_refused_by_name(system: Seq2Seq, values, named):
    given = dict(values)
    target = tiny.dictionary("xyz") if given.pop("two", False) else None
    with pytest.raises(UserError, match=named):
        system.new(target=target, **given)
