"""The expert: which sentences take which state, what π^RND and t̃ look like, and the labels."""

import math

import pytest
import tiny
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq
from tiny import Triple
from torch import Tensor

from lev_plugins.ops.alignment import lcs_masks
from lev_plugins.ops.randomness import uniform
from lev_plugins.systems.levenshtein import expert
from lev_plugins.systems.levenshtein.expert import (
    deletion_state,
    random_keep,
    sampled_tokens,
    token_labels,
    token_predictions,
)
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

MANY = 20_000
ROWS = tiny.triples(40, seed=3)
WORDS = st.text(alphabet=tiny.LETTERS[:4], max_size=6)
TASK = tiny.task()
SYMBOLS = TASK.target_dictionary
NEVER = [0, 1, 2, TASK.placeholder]


def assert_likely(counts: Tensor, expected: Tensor, limit: float) -> None:
    """A chi-square below what chance exceeds once in a thousand; nothing impossible is met."""
    there = expected > 0
    assert not counts[~there].any()
    assert float(((counts - expected)[there] ** 2 / expected[there]).sum()) < limit


# labels ---------------------------------------------------------------------------------------


def labels(target: str, draft: str, most: int = 99) -> tuple[list[int], list[int], str]:
    """d*, p* and t* for a draft that is deleted from and inserted into."""
    states = tiny.states(TASK, tiny.batch(TASK, [Triple("a", target, draft)]), alpha=1.0, beta=1.0)
    missing = expert.token_labels(states)
    y_del = deletion_state(states, torch.zeros(len(missing), len(SYMBOLS)), NEVER)
    _, deletions = expert.deletion_labels(y_del, states)
    counts = expert.placeholder_labels(states, most)
    return deletions.tolist(), counts.tolist(), "".join(map(SYMBOLS.__getitem__, missing.tolist()))


@given(WORDS, st.text(alphabet=tiny.LETTERS[:4], min_size=1, max_size=6))
def test_labels_make_the_target_of_the_draft_and_keep_all_they_can(target, draft):
    deletions, counts, missing = labels(target, draft)
    kept = [letter for letter, gone in zip(draft, deletions, strict=True) if not gone]
    assert len(kept) == LCSseq.similarity(target, draft)
    new = iter(missing)
    filled = ["".join(next(new) for _ in range(count)) for count in counts]
    assert target == "".join(map("".join, zip(filled, [*kept, ""], strict=True)))
    assert not any(new)
    assert labels(target, draft, 2)[1] == [min(count, 2) for count in counts]


# which state a sentence gets ----------------------------------------------------------------


@pytest.mark.parametrize("kept", ["uniform", "incomplete"])
def test_the_share_that_stays_is_the_one_that_was_asked_for(kept):
    task = tiny.task(kept_tokens=kept)
    sample = tiny.batch(task, [Triple("ab", "abcdefgh", "")] * MANY, drafted=False)
    states = task.with_states(sample, 1, (0.5, 0.0))["states"].insertion
    counts = torch.bincount(states.before.ne(1).sum(1) - 2, minlength=9)
    classes = torch.arange(9) < (9 if kept == "uniform" else 8)
    assert_likely(counts, MANY * classes / classes.sum(), 26.1)


def test_every_subset_is_equally_likely_and_equal_numbers_are_ranked_alike_with_padding():
    order = uniform(1, 1, torch.arange(MANY), 4, 1)
    inner, half = torch.ones(MANY, 4, dtype=torch.bool), torch.full((MANY,), 0.5)
    kept = random_keep(inner, half, order)
    subsets = torch.bincount((kept * torch.tensor([1, 2, 4, 8])).sum(1), minlength=16)
    pairs = torch.tensor([number.bit_count() == 2 for number in range(16)])
    assert_likely(subsets, MANY / 6 * pairs, 20.5)
    order = (order * 8).floor() / 8
    padded = random_keep(F.pad(inner, (0, 60)), half, F.pad(order, (0, 60), value=0.5))
    assert torch.equal(padded[:, :4], random_keep(inner, half, order))


def test_states_are_the_same_whoever_has_aligned_the_drafts():
    sample = tiny.batch(TASK, ROWS)
    kept = dict(zip(("draft_kept", "target_kept"), lcs_masks(sample["draft"], sample["target"], 1)))
    state, aligned = (tiny.states(TASK, {**sample, **masks}) for masks in ({}, kept))
    assert torch.equal(state.draft_kept, aligned.draft_kept) and state.draft_kept.any()
    assert all(map(torch.equal, state.insertion, aligned.insertion))
    kept["target_kept"] = torch.zeros_like(kept["target_kept"])  # these are what is read
    other = tiny.states(TASK, {**sample, **kept})
    assert not torch.equal(other.insertion.missing, state.insertion.missing)


def assert_share(mask: Tensor, share: float) -> None:
    tolerance = 4 * math.sqrt(share * (1 - share) / len(mask))
    assert float(mask.float().mean()) == pytest.approx(share, abs=tolerance)


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_shares_between_zero_and_one_are_met_and_independent(share):
    sample = tiny.batch(TASK, [Triple("ab", "abcdefgh", "ab")] * 4000)
    state = tiny.states(TASK, sample, alpha=share, beta=share)
    inserting = state.draft_kept.any(1)
    pairs = torch.stack([state.delete_draft, inserting])
    for mask in pairs:
        assert_share(mask, share)
    assert abs(float(torch.corrcoef(pairs.float())[0, 1])) < 0.06
    assert {tiny.letters(row, SYMBOLS) for row in state.insertion.before[inserting]} == {"ab"}


@pytest.mark.parametrize("drafted, share", [(True, 0.3), (False, 0.0), (False, 1.0)])
def test_without_a_draft_beta_is_the_share_of_states_where_nothing_stands(share, drafted):
    # Eq. 7 with y⁰ = <s></s>; the others keep a number of tokens that is uniform over 0 … 8
    sample = tiny.batch(TASK, [Triple("ab", "abcdefgh", "")] * 4000, drafted=drafted)
    state = tiny.states(TASK, sample, beta=share)
    assert_share(state.insertion.before.ne(1).sum(1).eq(2), share + (1 - share) / 9)
    assert not state.delete_draft.any()


@pytest.mark.parametrize("change", [{"epoch": 2}, {"seed": 2}], ids=str)
def test_noise_belongs_to_seed_and_epoch(change):
    first, again, other = (
        tiny.states(TASK, tiny.batch(TASK, ROWS), tokens="sample", **options)
        for options in ({}, {}, change)
    )
    assert torch.equal(first.token_noise, again.token_noise)
    assert not torch.isclose(first.token_noise, other.token_noise).any(1).all()
    assert (first.delete_draft != other.delete_draft).any()
    assert (first.insertion.after != other.insertion.after).any(1).sum() > len(ROWS) / 3


# t̃ ------------------------------------------------------------------------------------------


COUNTS = [9, 9, 9, 9, 40, 30, 20, 5, 0, 3, 1, 1]
LOGITS = torch.linspace(-1, 1, 13)


@pytest.mark.parametrize(
    "tokens, counts",
    [("sample", COUNTS), ("random", COUNTS), ("random", [9] * 4 + [0] * 8)],
    ids=["policy", "counts", "no counts"],
)
def test_tokens_are_sampled_from_the_policy_or_by_how_often_they_are_met(tokens, counts):
    symbols = tiny.dictionary()
    symbols.count[:] = counts
    task = TranslationEditTask(TranslationEditConfig(seed=1), tiny.dictionary(), symbols)
    sample = tiny.batch(task, [Triple("a", "abc", "")] * 7000, drafted=False)
    state = tiny.states(task, sample, beta=1.0, tokens=tokens)
    predictions = token_predictions(LOGITS.expand(7000 * 3, -1), state, NEVER)
    expected = LOGITS.exp()
    expected[NEVER] = 0
    if tokens == "random":  # the denoising autoencoder of Table 2b: nothing of the model
        expected = torch.tensor([0.0] * 4 + (counts[4:] if any(counts[4:]) else [1] * 8) + [0])
    met = torch.bincount(predictions, minlength=13)
    assert_likely(met, expected / expected.sum() * len(predictions), 26.2)
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
        sums[..., ::2] += wobble
        sums[..., -1] += 2 * abs(wobble)
        return sums

    logits = torch.full((120, 13), float("-inf"))
    logits[:, [4, 7, 8]] = torch.tensor([0.3, 0.3, 0.4]).log()
    noise = torch.linspace(0, 1 - 2**-24, 120)
    monkeypatch.setattr(torch.Tensor, "cumsum", uneven)
    assert set(sampled_tokens(logits, noise).tolist()) <= {4, 7, 8}


# y_del, masking and glancing ------------------------------------------------------------------


def test_masked_tokens_stand_for_the_other_heads_and_are_a_uniform_share():
    task = tiny.task(token_masking="uniform")
    sample = tiny.batch(task, [Triple("ab", "abcdefgh", "abxdefg")] * 4000)
    states, plain = task.with_states(sample, 1)["states"], TASK.with_states(sample, 1)["states"]
    missing = plain.predicted
    assert all(map(torch.equal, states.insertion, plain.insertion))
    masked = states.predicted & ~missing
    assert torch.equal(states.masked_target.eq(task.placeholder), missing | masked)
    shares = masked.sum(1) / (8 - missing.sum(1)).clamp(min=1)
    assert abs(float(shares[missing.sum(1) < 8].mean()) - 0.5) < 0.02
    inputs = deletion_state(states, torch.zeros(int(states.predicted.sum()), 13), NEVER)
    stands = states.target.ne(1) & ~missing & ~states.delete_draft.unsqueeze(1)
    width = states.target.size(1)
    assert torch.equal(inputs[:, :width][stands], states.target[stands])


def test_half_of_what_the_token_head_gets_wrong_is_shown_and_deletion_learns_of_all_its_answers():
    task = tiny.task(glancing=0.5, token_masking="uniform", kept_tokens="incomplete")
    before = tiny.states(task, tiny.batch(task, ROWS), alpha=0.0)
    is_right = (before.target + torch.arange(40).unsqueeze(1)) % 3 == 0
    answers = torch.where(is_right, before.target, NEVER[-1])[before.predicted]
    logits = F.one_hot(answers, len(SYMBOLS)).float()
    after = expert.glanced(before, logits)
    shown = before.predicted & ~after.predicted
    assert torch.equal(shown.sum(1), (before.predicted & ~is_right).sum(1) // 2) and shown.any()
    assert torch.equal(after.masked_target, torch.where(shown, before.target, before.masked_target))
    assert len(token_labels(after)) == len(token_labels(before)) - int(shown.sum())
    read, missing = deletion_state(before, logits, NEVER), before.insertion.missing
    assert torch.equal(read[missing] == before.target[missing], is_right[missing])
