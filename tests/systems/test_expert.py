"""The expert: which sentences take which state, and what π^RND and t̃ look like."""

import math
from dataclasses import replace
from typing import Any

import pytest
import tiny
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from tiny import Triple, is_subsequence
from torch import Tensor

from lev_plugins.ops.alignment import lcs_masks
from lev_plugins.ops.edits import insertion_labels
from lev_plugins.ops.randomness import uniform
from lev_plugins.systems.levenshtein import expert
from lev_plugins.systems.levenshtein.expert import (
    States,
    deletion_state,
    random_keep,
    token_labels,
    token_predictions,
)
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

MANY = 20_000
ROWS = tiny.triples(40, seed=3)
WORDS = st.text(alphabet=tiny.LETTERS[:4], max_size=6)
TRIPLES = st.lists(st.builds(Triple, WORDS, WORDS, WORDS), min_size=1, max_size=5)
TASK = tiny.task()
SYMBOLS = TASK.target_dictionary
NEVER = [0, 1, 2, TASK.placeholder]


def chi_square(counts: Tensor, expected: Tensor) -> float:
    """Of all classes that may be met; others never are."""
    there = expected > 0
    assert not counts[~there].any()
    return float(((counts - expected)[there] ** 2 / expected[there]).sum())


# π^RND ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["uniform", "incomplete"])
def test_the_share_that_stays_is_the_one_that_was_asked_for(kept):
    task = tiny.task(kept_tokens=kept)
    sample = tiny.batch(task, [Triple("ab", "abcdefgh", "")] * MANY, drafted=False)
    states = task.with_states(sample, 1, (0.5, 0.0))["states"].insertion
    counts = torch.bincount(states.before.ne(1).sum(1) - 2, minlength=9)
    classes = torch.arange(9) < (9 if kept == "uniform" else 8)
    assert chi_square(counts, MANY * classes / classes.sum()) < 26.1  # chance: one in a thousand


def test_every_subset_of_a_size_is_equally_likely():
    inner = torch.ones(MANY, 4, dtype=torch.bool)
    order = uniform(1, 1, torch.arange(MANY), 4, 1)
    kept = random_keep(inner, torch.full((MANY,), 0.5), order)  # 2 of 4 stay
    assert kept.sum(1).eq(2).all()
    subsets = torch.bincount((kept * torch.tensor([1, 2, 4, 8])).sum(1), minlength=16)
    subsets = subsets[subsets > 0]
    assert subsets.numel() == 6
    assert chi_square(subsets, torch.full((6,), MANY / 6)) < 20.5


def test_equal_random_numbers_are_ranked_alike_with_and_without_padding():
    # of 60 numbers with 24 bits two are equal in one sentence of ten thousand
    order = (uniform(1, 1, torch.arange(50), 60, 1) * 8).floor() / 8
    rate = uniform(1, 1, torch.arange(50), 1, 0)[:, 0]
    inner = torch.ones_like(order, dtype=torch.bool)
    padded = random_keep(F.pad(inner, (0, 60)), rate, F.pad(order, (0, 60), value=0.5))
    assert torch.equal(padded[:, :60], random_keep(inner, rate, order))


# glancing --------------------------------------------------------------------------------------

GLANCING = tiny.task(glancing=0.5, token_masking="uniform", kept_tokens="incomplete")


def glanced(rows: list[Triple], ids: list[int], extra: int = 0, **options: Any) -> States:
    """The states of sentences once the token head has answered."""
    sample = tiny.batch(GLANCING, rows, ids=ids, extra=extra)
    states = tiny.states(GLANCING, sample, **options)
    return expert.glanced(states, answered(states))


def answered(states: States) -> Tensor:
    """Logits of a token head that is right or wrong by the label and the sentence, from 0 on."""
    labels, predicted = token_labels(states), states.predicted
    sentences = torch.arange(len(predicted)).unsqueeze(1).expand_as(predicted)[predicted]
    answers = torch.where((labels + sentences) % 3 == 0, labels, labels.new_tensor(NEVER[-1]))
    return F.one_hot(answers, len(SYMBOLS)).float()


def test_half_of_what_the_token_head_gets_wrong_is_shown_and_it_learns_the_rest():
    before, after = tiny.states(GLANCING, tiny.batch(GLANCING, ROWS)), glanced(ROWS, [*range(40)])
    is_wrong = before.predicted & ((before.target + torch.arange(40).unsqueeze(1)) % 3 != 0)
    shown = before.predicted & ~after.predicted
    assert torch.equal(shown.sum(1), is_wrong.sum(1) // 2) and shown.any()
    assert torch.equal(after.masked_target[shown], after.target[shown])
    assert torch.equal(after.masked_target[~shown], before.masked_target[~shown])
    assert after.masked_target[after.predicted].eq(GLANCING.placeholder).all()


def test_what_is_shown_depends_on_the_sentence_alone():
    together = glanced(ROWS, [*range(40)], extra=3)
    for number, row in enumerate(ROWS[:10:3]):
        number *= 3  # right or wrong as in the batch
        alone = glanced([row], [number])
        width = alone.masked_target.size(1)
        assert torch.equal(together.predicted[number, :width], alone.predicted[0])
        assert torch.equal(together.masked_target[number, :width], alone.masked_target[0])


def test_deletion_learns_of_the_first_answers():
    states = tiny.states(GLANCING, tiny.batch(GLANCING, ROWS), alpha=0.0)
    read, labels = deletion_state(states, answered(states), NEVER), states.target
    missing = states.insertion.missing
    right = (labels + torch.arange(40).unsqueeze(1)) % 3 == 0
    assert torch.equal(read[missing & right], labels[missing & right])
    assert read[missing & ~right].ne(labels[missing & ~right]).all()


# which state a sentence gets ----------------------------------------------------------------


def test_states_are_the_same_whoever_has_aligned_the_drafts():
    sample = tiny.batch(TASK, ROWS)
    kept = dict(zip(("draft_kept", "target_kept"), lcs_masks(sample["draft"], sample["target"], 1)))
    state, aligned = (tiny.states(TASK, {**sample, **masks}) for masks in ({}, kept))
    assert torch.equal(state.draft_kept, aligned.draft_kept) and state.draft_kept.any()
    for expected, value in zip(state.insertion, aligned.insertion, strict=True):
        assert torch.equal(expected, value)
    kept["target_kept"] = torch.zeros_like(kept["target_kept"])  # these are what is read
    other = tiny.states(TASK, {**sample, **kept})
    assert not torch.equal(other.insertion.missing, state.insertion.missing)


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_shares_between_zero_and_one_are_met_and_independent(share):
    count = 4000
    sample = tiny.batch(TASK, [Triple("ab", "abcdefgh", "ab")] * count)
    state = tiny.states(TASK, sample, alpha=share, beta=share)
    inserting = state.draft_kept.any(1)
    tolerance = 4 * math.sqrt(share * (1 - share) / count)
    pairs = torch.stack([state.delete_draft.float(), inserting.float()])
    assert pairs.mean(1).tolist() == pytest.approx([share] * 2, abs=tolerance)
    assert abs(float(torch.corrcoef(pairs)[0, 1])) < 0.06
    assert state.insertion.before[inserting].ne(1).sum(1).eq(4).all(), "a b"


@given(TRIPLES)
def test_with_beta_one_what_stands_is_the_draft_after_the_experts_deletion(triples):
    state = tiny.states(TASK, tiny.batch(TASK, triples), beta=1.0)
    for row, before in zip(triples, state.insertion.before, strict=True):
        standing = tiny.letters(before, SYMBOLS)
        assert is_subsequence(standing, row.target) and is_subsequence(standing, row.draft)


@pytest.mark.parametrize(("drafted", "share"), [(True, 0.3), (False, 0.0), (False, 1.0)])
def test_without_a_draft_beta_is_the_share_of_states_where_nothing_stands(share, drafted):
    # Eq. 7 with y⁰ = <s></s>; the others keep a number of tokens that is uniform over 0 … 8
    count, by_chance = 4000, 1 / 9
    rows = [Triple("ab", "abcdefgh", "")] * count
    state = tiny.states(TASK, tiny.batch(TASK, rows, drafted=drafted), beta=share)
    empty = state.insertion.before.ne(1).sum(1).eq(2).float().mean()
    expected = share + (1 - share) * by_chance
    assert abs(float(empty) - expected) <= 4 * math.sqrt(expected * (1 - expected) / count)


# randomness belongs to the sentence ---------------------------------------------------------


def facts(rows=ROWS, options: dict | None = None, **layout: Any) -> dict[int, tuple]:
    """Everything random about each sentence, keyed by its number and without padding."""
    sample, experts = tiny.batch(TASK, rows, **layout), {}
    state = tiny.states(TASK, sample, tokens="sample", **options or {})
    for i, number in enumerate(sample["id"].tolist()):
        size = int(sample["target"][i].ne(1).sum())
        experts[number] = (
            tiny.letters(state.insertion.before[i], SYMBOLS),
            bool(state.delete_draft[i]),
            state.token_noise[i, :size].tolist(),
        )
    return experts


def test_noise_belongs_to_seed_epoch_and_sentence_whatever_the_batch_or_process():
    expert_facts, order = facts(), list(reversed(range(len(ROWS))))
    torch.manual_seed(99)
    assert expert_facts == facts() == facts(extra=7)
    assert expert_facts == facts([ROWS[i] for i in order], ids=order)
    for i, row in enumerate(ROWS):
        assert facts([row], ids=[i])[i] == expert_facts[i]
    for change in ({"epoch": 2}, {"seed": 2}):
        other = facts(options=change)
        assert sum(other[i] != expert_facts[i] for i in expert_facts) > len(ROWS) * 0.8


# t̃ ------------------------------------------------------------------------------------------


def gaps(task: TranslationEditTask, rows: list[Triple], tokens: str, **layout: Any) -> States:
    """States with every inner token of the targets missing."""
    task.cfg.roll_in_tokens = tokens
    sample = tiny.batch(task, rows, drafted=False, **layout)
    state = task.with_states(sample, 1)["states"]
    boundary = sample["target"].eq(0) | sample["target"].eq(2)
    insertion = insertion_labels(sample["target"], boundary, 1, task.placeholder)
    return replace(state, insertion=insertion, predicted=insertion.missing)


def predicted(state: States, logits: Tensor) -> Tensor:
    """t̃ of policies that say the same everywhere."""
    return token_predictions(logits.expand(int(state.insertion.missing.sum()), -1), state, NEVER)


def counting(counts: list[int]) -> TranslationEditTask:
    """A task whose dictionary has met its symbols so often."""
    symbols = tiny.dictionary()
    symbols.count[:] = counts
    return TranslationEditTask(TranslationEditConfig(seed=1), tiny.dictionary(), symbols)


COUNTS = [9, 9, 9, 9, 40, 30, 20, 5, 0, 3, 1, 1]
LOGITS = torch.linspace(-1, 1, 13)


@pytest.mark.parametrize(
    ("tokens", "counts"),
    [("sample", COUNTS), ("random", COUNTS), ("random", [9] * 4 + [0] * 8)],
    ids=["policy", "counts", "no counts"],
)
def test_tokens_are_sampled_from_the_policy_or_by_how_often_they_are_met(tokens, counts):
    state = gaps(counting(counts), [Triple("a", "abc", "")] * 7000, tokens)
    predictions = predicted(state, LOGITS)
    expected = LOGITS.exp()
    expected[NEVER] = 0
    if tokens == "random":  # the denoising autoencoder of Table 2b: nothing of the model
        expected = torch.tensor([0.0] * 4 + (counts[4:] if any(counts[4:]) else [1] * 8) + [0])
    met = torch.bincount(predictions, minlength=13)
    assert chi_square(met, expected / expected.sum() * len(predictions)) < 26.2
    rows = predictions.view(-1, 3)
    assert (rows[:, 0] == rows[:, 1]).double().mean() < 0.4, "neighbours draw for themselves"


@pytest.mark.parametrize("wobble", [1e-6, 0.3])
def test_a_token_of_probability_zero_is_never_sampled_from_sums_that_are_rounded_unevenly(
    wobble, monkeypatch
):
    """As a parallel cumsum on a GPU gives them: they rise where nothing is added, and they fall."""
    exact = torch.Tensor.cumsum

    def uneven(self, dim):
        sums = exact(self, dim)
        if not sums.is_floating_point():
            return sums  # whole numbers are added exactly
        sums[..., ::2] += wobble
        sums[..., -1] += 2 * abs(wobble)
        return sums

    state = gaps(tiny.task(), [Triple("a", "abc", "")] * 40, "sample")
    state.token_noise[state.insertion.missing] = torch.linspace(0, 1 - 2**-24, 120)
    logits = torch.full((13,), float("-inf"))
    logits[[4, 7, 8]] = torch.tensor([0.3, 0.3, 0.4]).log()
    monkeypatch.setattr(torch.Tensor, "cumsum", uneven)
    assert set(predicted(state, logits).tolist()) <= {4, 7, 8}


# y_del ---------------------------------------------------------------------------------------


def test_deletion_states_are_the_draft_or_the_filled_gaps():
    rows = [Triple("a", "abc", "hhhhhh"), Triple("a", "abc", "g"), Triple("a", "", "fg")]
    sample = tiny.batch(TASK, rows)
    state = gaps(TASK, rows, "argmax")
    delete_draft = torch.tensor([True, False, True])
    state = replace(state, draft=sample["draft"], delete_draft=delete_draft)
    logits = F.one_hot(torch.tensor([4, 5, 6, 7, 8, 9]), len(SYMBOLS)).float()
    inputs = deletion_state(state, logits, NEVER)
    filled = "".join(SYMBOLS[index] for index in (7, 8, 9))
    assert [tiny.letters(row, SYMBOLS) for row in inputs] == ["hhhhhh", filled, "fg"]
    assert inputs.size(1) == 8, "wider than the longest sentence"


def test_masked_tokens_stand_for_the_other_heads_and_are_a_uniform_share():
    plain, other = (tiny.task(token_masking=masking) for masking in ("none", "uniform"))
    rows = [Triple("ab", "abcdefgh", "abxdefg")] * MANY
    sample = tiny.batch(plain, rows)
    before, expert = (task.with_states(sample, 1)["states"] for task in (plain, other))
    assert before.predicted.equal(before.insertion.missing)
    for tensor, same in zip(before.insertion, expert.insertion, strict=True):
        assert torch.equal(tensor, same)
    missing = expert.insertion.missing
    masked = expert.predicted & ~missing
    assert torch.equal(expert.predicted, missing | masked)
    assert torch.equal(expert.masked_target.eq(other.placeholder), expert.predicted)
    assert torch.equal(expert.masked_target[~expert.predicted], expert.target[~expert.predicted])
    shares = masked.sum(1) / (8 - missing.sum(1)).clamp(min=1)
    assert abs(float(shares[missing.sum(1) < 8].mean()) - 0.5) < 0.02
    model, few = tiny.model(other).eval(), tiny.batch(other, ROWS, drafted=False)
    state = other.with_states(few, 1)["states"]
    answers = model(few["net_input"]["src_tokens"], None, state)
    assert len(answers["token"][1]) == int(state.predicted.sum())
    stands = state.target.ne(1) & ~state.insertion.missing
    inputs = deletion_state(state, answers["token"][0], model.forbidden_symbols)
    assert torch.equal(inputs[stands], state.target[stands]), "deletion reads them as they stand"
