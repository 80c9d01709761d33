"""Decoding gives what training has seen: step by step, in any batch, in any order of the beams."""

import itertools

import pytest
import torch
from closeness import assert_near
from fairseq.sequence_generator import SequenceGenerator, SequenceGeneratorWithAlignment
from fairseq.sequence_scorer import SequenceScorer
from pbd_models import (
    EOS,
    EXACT,
    KINDS,
    NORMS,
    PAD,
    ROWS,
    SYMBOLS,
    Pair,
    assert_same,
    batch,
    build,
    logits,
    sample,
    shifted,
    tokens,
)

SEARCH = ["as published, post-norm", "as published, pre-norm", "no sharing, pre-norm"]


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def model(request):
    return build(**request.param)


def stepwise(model, rows, **layout):
    """What :func:`logits` gives, written one token after the other with a state."""
    made = batch(rows, **layout)
    encoder_out, state, steps = model.encoder(made.source), {}, []
    for end in range(1, made.before.size(1) + 1):
        step, _ = model.decoder(
            made.before[:, :end], encoder_out=encoder_out, incremental_state=state
        )
        assert step.shape[:2] == (len(rows), 1)
        steps.append(step)
    return [row[real] for row, real in zip(torch.cat(steps, 1), made.target.ne(PAD), strict=True)]


LAYOUTS = [
    {"left": left, "left_target": left_target, "extra": extra}
    for left, left_target, extra in itertools.product([True, False], [True, False], [0, 2])
]


def test_step_by_step_it_computes_what_it_computes_at_once(model):
    expected = logits(model, ROWS)
    for layout in LAYOUTS:
        assert_same(stepwise(model, ROWS, **layout), expected)


def test_padding_on_either_side_changes_nothing(model):
    expected = logits(model, ROWS)
    for layout in LAYOUTS:
        assert_same(logits(model, ROWS, **layout), expected)


def test_a_sentence_alone_is_answered_as_in_a_batch_and_in_any_order(model):
    expected = logits(model, ROWS)
    assert_same([logits(model, [row])[0] for row in ROWS], expected)
    assert_same(logits(model, ROWS[::-1])[::-1], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_in_single_precision_they_agree_but_for_rounding(kind):
    model = build(factor=1.0, **KINDS[kind]).float()
    expected = logits(model, ROWS)
    for found in (stepwise(model, ROWS, left=True), [logits(model, [row])[0] for row in ROWS]):
        assert_near(found, expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_finite_and_close(norm, dtype):
    model = build(factor=1.0, **NORMS[norm]).float()
    expected = logits(model, ROWS)
    half = model.to(dtype)
    for found in (logits(half, ROWS, left=True), stepwise(half, ROWS, left=True)):
        assert all(row.dtype == dtype and row.isfinite().all() for row in found)
        assert_same([row.float() for row in found], expected, rtol=0, atol=0.1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_on_a_gpu_it_computes_what_it_computes_on_a_cpu(norm, dtype):
    model = build(factor=1.0, **NORMS[norm]).float()
    expected = logits(model, ROWS)
    made = [part.cuda() for part in batch(ROWS, left=True)]
    scores, _ = model.to("cuda", dtype)(made[0], None, made[1])
    found = [row[real].float().cpu() for row, real in zip(scores, made[2].ne(PAD), strict=True)]
    assert_same(found, expected, rtol=0, atol=1e-4 if dtype == torch.float32 else 0.1)


# rows change places ---------------------------------------------------------------------------

ORDERS = [
    [0, 0, 0, 1, 1, 1, 2, 2, 2],  # every sentence gets three beams
    [2, 0, 1, 3, 5, 4, 8, 7, 6],  # which change places
    [0, 0, 0, 3, 4, 3, 8, 8, 8],  # some go, others are there twice
    [6, 7, 8, 0, 1, 2],  # a sentence is done; the others change places
    [5, 4, 0, 0, 1, 2],  # as many rows, of other sentences
    [5, 3, 3],  # most are done
    [1],
]


@pytest.mark.parametrize("kind", SEARCH)
@pytest.mark.parametrize("left", [True, False])
def test_rows_that_change_places_leave_and_come_twice(kind, left):
    """Against the model without a state, for sources and beginnings in that order."""
    model = build(**KINDS[kind])
    source = batch([Pair("abcdef", ""), Pair("hg", ""), Pair("cafe", "")], left=left).source
    encoder_out, state = model.encoder(source), {}
    before = source.new_full((3, 1), EOS)
    generator = torch.Generator().manual_seed(5)
    for order in [*ORDERS, *([list(range(1))] * 2)]:
        rows = torch.tensor(order)
        model.decoder(before, encoder_out=encoder_out, incremental_state=state)
        model.decoder.reorder_incremental_state_scripting(state, rows)
        encoder_out = model.encoder.reorder_encoder_out(encoder_out, rows)
        source, before = source[rows], before[rows]
        fresh = torch.randint(4, 12, (len(rows), 1), generator=generator)
        before = torch.cat([before, fresh], 1)
        once = dict(state)  # looking must not write into the state of the search
        found, _ = model.decoder(before, encoder_out=encoder_out, incremental_state=once)
        expected = model(source, None, before)[0][:, -1:]
        torch.testing.assert_close(found, expected, **EXACT)


def test_beams_of_one_source_keep_what_was_projected_and_sources_do_not_mix():
    model = build()
    memory = model.encoder(batch(ROWS[:2]).source)["memory"][0].select(torch.tensor([0, 0, 1, 1]))
    assert memory.select(torch.tensor([1, 0, 3, 2])) is memory
    for order in ([1, 2, 3], [2, 3, 0, 1], [0, 0, 0, 1], [0, 0, 0, 2], [0, 1]):
        chosen = memory.select(torch.tensor(order))
        same = torch.equal(memory.rows[order], memory.rows)
        assert (chosen is memory) == same
        assert torch.equal(chosen.states, memory.states[order])
        assert torch.equal(chosen.copied[0], memory.copied[0][order])


# beam search ----------------------------------------------------------------------------------


def searched(models, rows, left=True, cls=SequenceGenerator, prefix=None, **options):
    options = {"beam_size": 4, "max_len_b": 14, **options}
    generator = cls(models, SYMBOLS, **options)
    return generator.generate(models, sample(rows, left), prefix_tokens=prefix)


def alone(model, row, hypothesis):
    """Log-probabilities of a hypothesis, forced."""
    before = torch.cat([torch.tensor([EOS]), hypothesis[:-1]])[None]
    scores, _ = model(tokens(row.source)[None], None, before)
    return scores[0].float().log_softmax(-1).gather(1, hypothesis[:, None])[:, 0]


@pytest.mark.parametrize("kind", SEARCH)
@pytest.mark.parametrize("left", [True, False])
def test_the_scores_of_beam_search_are_those_of_its_hypotheses_forced(kind, left):
    model = build(6, factor=1.5, **KINDS[kind]).float()
    found = searched([model], ROWS, left)
    lengths = set()
    for row, hypotheses in zip(ROWS, found, strict=True):
        scores = [float(one["score"]) for one in hypotheses]
        assert len(hypotheses) == 4 and scores == sorted(scores, reverse=True)
        assert len({tuple(one["tokens"].tolist()) for one in hypotheses}) == 4
        for one in hypotheses:
            forced = alone(model, row, one["tokens"])
            assert_near(one["positional_scores"], forced)
            lengths.add(len(one["tokens"]))
    assert len(lengths) > 2, "sentences end at different times"


@pytest.mark.parametrize("kind", SEARCH)
def test_a_reference_is_scored_as_it_is_forced(kind):
    model = build(6, factor=1.5, **KINDS[kind]).float()
    scorer = SequenceScorer(SYMBOLS)
    for row, (hypothesis,) in zip(ROWS, scorer.generate([model], sample(ROWS)), strict=True):
        assert torch.equal(hypothesis["tokens"], tokens(row.target))
        forced = alone(model, row, tokens(row.target))
        assert_near(hypothesis["positional_scores"], forced)


@pytest.mark.parametrize("kind", SEARCH)
def test_a_batch_is_searched_as_its_sentences_are(kind):
    model = build(6, factor=1.5, **KINDS[kind]).float()
    for row, hypotheses in zip(ROWS, searched([model], ROWS), strict=True):
        (expected,) = searched([model], [row])
        for one, other in zip(hypotheses, expected, strict=True):
            assert torch.equal(one["tokens"], other["tokens"])
            assert_near(one["score"], other["score"])


def test_a_prefix_is_kept_and_scored():
    model = build(6, factor=1.5).float()
    prefix = torch.stack([tokens("hhh")[:2], tokens("bac")[:2], tokens("d"), tokens("ghh")[:2]])
    assert prefix[2, 1] == EOS, "a prefix that is a whole sentence"
    for row, start, found in zip(
        ROWS, prefix, searched([model], ROWS[:4], prefix=prefix), strict=False
    ):
        for one in found:
            assert torch.equal(one["tokens"][:2], start)
            forced = alone(model, row, one["tokens"])
            assert_near(one["positional_scores"], forced)


def test_an_ensemble_averages_probabilities_and_one_of_equals_is_one():
    first, second = (build(seed, factor=1.5).float() for seed in (6, 4))
    single = searched([first], ROWS)
    for one, other in zip(searched([first, first], ROWS), single, strict=True):
        assert torch.equal(one[0]["tokens"], other[0]["tokens"])
    for row, found in zip(ROWS, searched([first, second], ROWS), strict=True):
        for one in found:
            pair = torch.stack([alone(model, row, one["tokens"]) for model in (first, second)])
            mean = pair.exp().mean(0).log()
            assert_near(one["positional_scores"], mean)


def test_what_looked_where_is_a_distribution_over_the_source():
    model = build(6, factor=1.5).float()
    found = searched([model], ROWS, cls=SequenceGeneratorWithAlignment, left_pad_target=False)
    for row, hypotheses in zip(ROWS, found, strict=True):
        attention, length = hypotheses[0]["attention"], len(row.source) + 1
        assert attention.shape[1] == len(hypotheses[0]["tokens"])
        torch.testing.assert_close(attention.sum(0), torch.ones(attention.size(1)))
        assert not attention[: attention.size(0) - length].any(), "padding was looked at"


def test_evaluation_leaves_no_trace_in_the_model():
    model = build(6, factor=1.5, dropout=0.5, attention_dropout=0.5).float()
    expected = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.random.get_rng_state()
    first, second = searched([model], ROWS), searched([model.train()], ROWS)
    assert torch.equal(torch.random.get_rng_state(), state), "decoding drew random numbers"
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one[0]["positional_scores"], other[0]["positional_scores"])
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in expected.items())


def test_the_longest_source_and_target_have_positions():
    model = build(max_source_positions=9, max_target_positions=6)
    row = Pair("abcdefgh", "abcde")
    assert model.max_positions() == (9, 6)
    assert_same(stepwise(model, [row]), logits(model, [row]))
    (found,) = searched([model.float()], [row], max_len_b=99)
    assert max(len(one["tokens"]) for one in found) == 6
    with pytest.raises(ValueError, match="10 tokens is longer than the 9 positions"):
        logits(model, [Pair("abcdefgha", "a")])


def test_a_decoder_without_a_source_is_refused():
    model = build()
    with pytest.raises(ValueError, match="give encoder_out"):
        model.decoder(shifted("ab")[None])
