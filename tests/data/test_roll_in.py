"""Roll-in states: which sentences take which state, and what π^RND and t̃ look like."""

import math

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import Triple, is_subsequence

from lev_plugins.ops.edits import insertion_labels
from lev_plugins.ops.randomness import uniform
from lev_plugins.systems.levenshtein.roll_in import (
    RollIn,
    RollInOptions,
    build_roll_in,
    join_deletion_inputs,
    random_keep,
    token_predictions,
)
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

MANY = 20_000
ROWS = tiny.triples(40, seed=3)
WORDS = st.text(alphabet=tiny.LETTERS[:4], max_size=6)
TRIPLES = st.lists(st.builds(Triple, WORDS, WORDS, WORDS), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def task():
    return tiny.task()


def chi_square(counts: torch.Tensor, expected: float) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


# π^RND ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n, limit", [(1, 10.8), (4, 18.5), (9, 27.9)])  # chance: one in a thousand
def test_the_number_kept_is_uniform_over_zero_to_n(n, limit):
    inner = torch.ones(MANY, n, dtype=torch.bool)
    rate = uniform(1, 1, torch.arange(MANY), 1, 0)[:, 0]
    kept = random_keep(inner, rate, uniform(1, 1, torch.arange(MANY), n, 1)).sum(1)
    counts = torch.bincount(kept, minlength=n + 1)
    assert counts.numel() == n + 1 and counts.min() > 0, "an end is never reached"
    assert chi_square(counts.float(), MANY / (n + 1)) < limit


@pytest.mark.parametrize("kept", ["uniform", "incomplete"])
def test_the_share_that_stays_is_the_one_that_was_asked_for(kept):
    task = tiny.task(kept_tokens=kept, beta=0.0)
    sample = tiny.batch(task, [Triple("ab", "abcdefgh", "")] * MANY, drafted=False)
    states = task.with_roll_in(sample, 1)["roll_in"].insertion
    counts = torch.bincount(states.before.ne(1).sum(1) - 2, minlength=9)
    bounds = torch.arange(10) / 9
    if kept == "incomplete":
        bounds = (torch.arange(10) / 8).clamp(max=1)
    expected = MANY * bounds.diff()
    there = expected > 0
    assert not counts[~there].any()
    assert float(((counts - expected)[there] ** 2 / expected[there]).sum()) < 26.1


def test_every_subset_of_a_size_is_equally_likely():
    inner = torch.ones(MANY, 4, dtype=torch.bool)
    order = uniform(1, 1, torch.arange(MANY), 4, 1)
    kept = random_keep(inner, torch.full((MANY,), 0.5), order)  # 2 of 4 stay
    assert kept.sum(1).eq(2).all()
    subsets = torch.bincount((kept * torch.tensor([1, 2, 4, 8])).sum(1), minlength=16)
    subsets = subsets[subsets > 0].float()
    assert subsets.numel() == 6
    assert chi_square(subsets, MANY / 6) < 20.5


def test_equal_random_numbers_are_ranked_alike_with_and_without_padding():
    # of 60 numbers with 24 bits two are equal in one sentence of ten thousand
    extra = 60
    order = (uniform(1, 1, torch.arange(50), 60, 1) * 8).floor() / 8
    rate = uniform(1, 1, torch.arange(50), 1, 0)[:, 0]
    inner = torch.ones_like(order, dtype=torch.bool)
    alone = random_keep(inner, rate, order)
    wide = torch.cat([order, torch.full((50, extra), 0.5)], 1)
    padded = random_keep(torch.nn.functional.pad(inner, (0, extra)), rate, wide)
    assert torch.equal(padded[:, :60], alone)


# which state a sentence gets ----------------------------------------------------------------


def disjoint_rows(count: int) -> list[Triple]:
    """Drafts that share exactly their first two letters with the target."""
    return [Triple("ab", "abcdefgh", "ab") for _ in range(count)]


def took_draft_to_insert(task, beta: float, count: int = 4000, **options) -> torch.Tensor:
    """B, bool: y_ins is exactly 'ab', which π^RND gives once in 9 · 28 sentences."""
    sample = tiny.batch(task, disjoint_rows(count))
    before = tiny.roll_in(task, sample, beta=beta, **options).insertion.before
    expected = tiny.sentence("ab", task.target_dictionary)
    wide = torch.nn.functional.pad(before, (0, 4), value=1)
    return wide[:, :4].eq(expected).all(1) & wide[:, 4].eq(1)


def test_beta_zero_never_looks_at_the_draft(task):
    sample = tiny.batch(task, ROWS)
    pairs = {name: value for name, value in sample.items() if name != "draft"}
    with_drafts = tiny.roll_in(task, sample, beta=0.0).insertion
    without = tiny.roll_in(task, pairs, beta=0.0).insertion
    assert all(torch.equal(a, b) for a, b in zip(with_drafts, without, strict=True))
    by_luck = 4000 / 9 / 28
    assert took_draft_to_insert(task, 0.0).sum() < 3 * by_luck


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_shares_between_zero_and_one_are_met_and_independent(task, share):
    count = 4000
    sample = tiny.batch(task, disjoint_rows(count))
    deleting = tiny.roll_in(task, sample, alpha=share).delete_draft
    inserting = took_draft_to_insert(task, share, count)
    tolerance = 4 * math.sqrt(share * (1 - share) / count) + 1 / 9 / 28
    assert abs(float(deleting.float().mean()) - share) < tolerance
    assert abs(float(inserting.float().mean()) - share) < tolerance
    pairs = torch.stack([deleting.float(), inserting.float()])
    assert abs(float(torch.corrcoef(pairs)[0, 1])) < 0.06


@given(TRIPLES)
def test_with_beta_one_what_stands_is_the_draft_after_the_experts_deletion(triples):
    task = tiny.task()
    state = tiny.roll_in(task, tiny.batch(task, triples), beta=1.0)
    for row, before in zip(triples, state.insertion.before, strict=True):
        standing = tiny.letters(before, task.target_dictionary)
        assert is_subsequence(standing, row.target)
        if row.draft:
            assert is_subsequence(standing, row.draft)


@given(TRIPLES, st.floats(0, 1), st.floats(0, 1), st.integers(0, 50))
def test_filling_the_gaps_with_the_labels_gives_the_target(triples, alpha, beta, epoch):
    task = tiny.task()
    sample = tiny.batch(task, triples)
    state = tiny.roll_in(task, sample, epoch=epoch, alpha=alpha, beta=beta)
    insertion = state.insertion
    filled = insertion.after.masked_scatter(insertion.missing, state.target[insertion.missing])
    assert torch.equal(filled, sample["target"])
    assert int(insertion.counts.sum()) == int(insertion.missing.sum())
    boundary = sample["target"].eq(0) | sample["target"].eq(2)
    assert not insertion.missing[boundary].any()


@pytest.mark.parametrize(("drafted", "share"), [(True, 0.3), (False, 0.0), (False, 1.0)])
def test_without_a_draft_beta_is_the_share_of_states_where_nothing_stands(task, share, drafted):
    # Eq. 7 with y⁰ = <s></s>; the others keep a number of tokens that is uniform over 0 … 8
    count, by_chance = 4000, 1 / 9
    rows = [Triple("ab", "abcdefgh", "")] * count
    state = tiny.roll_in(task, tiny.batch(task, rows, drafted=drafted), beta=share)
    empty = state.insertion.before.ne(1).sum(1).eq(2).float().mean()
    expected = share + (1 - share) * by_chance
    assert abs(float(empty) - expected) <= 4 * math.sqrt(expected * (1 - expected) / count)


# randomness belongs to the sentence ---------------------------------------------------------


def facts(task, sample, **options) -> dict[int, tuple]:
    """Everything random about each sentence, keyed by its number and without padding."""
    state = tiny.roll_in(task, sample, tokens="sample", **options)
    symbols, found = task.target_dictionary, {}
    for i, number in enumerate(sample["id"].tolist()):
        size = int(sample["target"][i].ne(1).sum())
        found[number] = (
            tiny.letters(state.insertion.before[i], symbols),
            bool(state.delete_draft[i]),
            state.token_noise[i, :size].tolist(),
        )
    return found


def test_noise_does_not_depend_on_batch_order_or_padding(task):
    whole = facts(task, tiny.batch(task, ROWS))
    padded = facts(task, tiny.batch(task, ROWS, extra=7))
    order = list(reversed(range(len(ROWS))))
    turned = facts(task, tiny.batch(task, [ROWS[i] for i in order], ids=order))
    alone = {}
    for i, row in enumerate(ROWS):
        alone |= facts(task, tiny.batch(task, [row], ids=[i]))
    assert whole == padded == turned == alone


def test_noise_is_the_same_after_a_restart_and_new_in_every_epoch(task):
    sample = tiny.batch(task, ROWS)
    first = facts(task, sample)
    torch.manual_seed(99)
    assert facts(task, sample) == first
    for change in ({"epoch": 2}, {"seed": 2}):
        other = facts(task, sample, **change)
        changed = sum(other[i] != first[i] for i in first)
        assert changed > len(ROWS) * 0.8


# t̃ ------------------------------------------------------------------------------------------


def state_with_gaps(task, count: int, tokens: str, letters: str = "abc") -> RollIn:
    """``count`` targets with every inner token missing."""
    sample = tiny.batch(task, [Triple("a", letters, "")] * count, drafted=False)
    whole = tiny.roll_in(task, sample, tokens=tokens)
    boundary = sample["target"].eq(0) | sample["target"].eq(2)
    whole.insertion = insertion_labels(sample["target"], boundary, 1, task.placeholder)
    return whole


def test_sampled_tokens_follow_the_policy(task):
    state = state_with_gaps(task, 7000, tokens="sample")
    number = int(state.insertion.missing.sum())
    never = [0, 1, 2, task.placeholder]
    logits = torch.linspace(-1, 1, len(task.target_dictionary)).repeat(number, 1)
    sampled = token_predictions(logits, state, never)
    masked = logits[0].clone()
    masked[never] = float("-inf")
    expected = masked.softmax(0) * number
    counts = torch.bincount(sampled, minlength=len(expected)).float()
    assert not counts[never].any()
    allowed = expected > 0
    statistic = ((counts - expected)[allowed] ** 2 / expected[allowed]).sum()
    assert int(allowed.sum()) == 9 and statistic < 26.2  # passed by chance once in a thousand
    # neighbouring placeholders draw numbers of their own
    rows = sampled.view(-1, 3)
    assert (rows[:, 0] == rows[:, 1]).float().mean() < 0.3


@pytest.mark.parametrize("wobble", [1e-6, 0.3])
def test_a_token_of_probability_zero_is_never_sampled_from_sums_that_are_rounded_unevenly(
    task, wobble, monkeypatch
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

    state = state_with_gaps(task, 40, tokens="sample")
    state.token_noise[state.insertion.missing] = torch.linspace(0, 1 - 2**-24, 120)
    logits = torch.full((120, len(task.target_dictionary)), float("-inf"))
    logits[:, [4, 7, 8]] = torch.tensor([0.3, 0.3, 0.4]).log()
    monkeypatch.setattr(torch.Tensor, "cumsum", uneven)
    sampled = token_predictions(logits, state, [0, 1, 2, task.placeholder])
    assert set(sampled.tolist()) <= {4, 7, 8}


# t̃ without the model: the denoising autoencoder of Table 2b -----------------------------------


def random_words(task, rows, counts, logits=None, ids=None, extra: int = 0) -> dict[int, list[int]]:
    """t̃ of every sentence, by its number, with every inner token of the targets missing."""
    sample = tiny.batch(task, rows, ids=ids, drafted=False, extra=extra)
    target, symbols = sample["target"], task.target_dictionary
    options = RollInOptions(0.5, 0.5, "random", 1)
    state = build_roll_in(target, None, sample["id"], 1, options, symbols, task.placeholder, counts)
    boundary = target.eq(0) | target.eq(2)
    state.insertion = insertion_labels(target, boundary, 1, task.placeholder)
    number = int(state.insertion.missing.sum())
    logits = torch.randn(number, len(symbols)) if logits is None else logits.expand(number, -1)
    sampled = iter(token_predictions(logits, state, [0, 1, 2, task.placeholder]).tolist())
    sizes = state.insertion.missing.sum(1).tolist()
    numbers = sample["id"].tolist()
    return {n: [next(sampled) for _ in range(size)] for n, size in zip(numbers, sizes, strict=True)}


@given(st.lists(st.integers(0, 3), min_size=13, max_size=13), st.integers(0, 99))
def test_random_words_are_words_of_the_counts_and_never_special(counts, seed):
    task = tiny.task()
    assert len(task.target_dictionary) == 13
    torch.manual_seed(seed)
    sampled = random_words(task, ROWS, torch.tensor(counts, dtype=torch.double))
    met = {token for sentence in sampled.values() for token in sentence}
    words = {i for i in range(4, 12) if counts[i]} or set(range(4, 12))  # no counts: all alike
    assert met <= words


def test_random_words_are_as_frequent_as_in_the_dictionary(task):
    counts = torch.tensor([9, 9, 9, 9, 40, 30, 20, 5, 0, 3, 1, 1, 9], dtype=torch.double)
    sampled = random_words(task, [Triple("a", "abc", "")] * 7000, counts)
    found = torch.bincount(torch.tensor(sum(sampled.values(), [])), minlength=13).double()
    words = counts.clone()
    words[[0, 1, 2, 3, 12]] = 0
    expected = words / words.sum() * found.sum()
    assert not found[expected.eq(0)].any()
    seen = expected > 0
    statistic = float(((found - expected)[seen] ** 2 / expected[seen]).sum())
    assert int(seen.sum()) == 7 and statistic < 22.5  # by chance once in a thousand
    rows = torch.tensor(list(sampled.values()))
    assert (rows[:, 0] == rows[:, 1]).double().mean() < 0.4, "neighbours draw for themselves"


def test_random_words_have_nothing_of_the_model_and_nothing_of_the_batch(task):
    counts = torch.arange(13, dtype=torch.double)
    whole = random_words(task, ROWS, counts)
    assert sum(map(len, whole.values())) > 50
    sure = torch.full((len(task.target_dictionary),), -50.0)
    sure[5] = 50.0
    assert random_words(task, ROWS, counts, logits=sure) == whole
    assert random_words(task, ROWS, counts, extra=4) == whole
    order = list(reversed(range(len(ROWS))))
    assert random_words(task, [ROWS[i] for i in order], counts, ids=order) == whole
    alone: dict[int, list[int]] = {}
    for i, row in enumerate(ROWS):
        alone |= random_words(task, [row], counts, ids=[i])
    assert alone == whole


def test_the_task_hands_the_dictionarys_counts_to_the_roll_in():
    symbols = tiny.dictionary()
    for i in range(4, 12):
        symbols.count[i] = 10 * i
    task = TranslationEditTask(
        TranslationEditConfig(seed=1, roll_in_tokens="random"), tiny.dictionary(), symbols
    )
    counts = task.frequencies.tolist()
    assert counts[4:12] == [10 * i for i in range(4, 12)] and len(counts) == 13
    state = task.with_roll_in(tiny.batch(task, ROWS), 1)["roll_in"]
    assert state.frequencies.tolist() == [0] * 4 + counts[4:12] + [0]
    assert state.token_noise is not None
    for tokens in ("argmax", "sample"):
        task.cfg.roll_in_tokens = tokens
        assert task.with_roll_in(tiny.batch(task, ROWS), 1)["roll_in"].frequencies is None


# y_del ---------------------------------------------------------------------------------------


def test_deletion_states_are_the_draft_or_the_filled_gaps(task):
    rows = [Triple("a", "abc", "hhhhhh"), Triple("a", "abc", "g"), Triple("a", "", "fg")]
    sample = tiny.batch(task, rows)
    state = tiny.roll_in(task, sample)
    boundary = sample["target"].eq(0) | sample["target"].eq(2)
    state.insertion = insertion_labels(sample["target"], boundary, 1, task.placeholder)
    state.delete_draft = torch.tensor([True, False, True])
    predicted = torch.tensor([4, 5, 6, 7, 8, 9])
    inputs = join_deletion_inputs(state, predicted)
    symbols = task.target_dictionary
    filled = "".join(symbols[index] for index in (7, 8, 9))
    assert [tiny.letters(row, symbols) for row in inputs] == ["hhhhhh", filled, "fg"]
    assert inputs.size(1) == 8, "wider than the longest sentence"


def test_masked_tokens_stand_for_the_other_heads_and_are_a_uniform_share():
    plain, other = (tiny.task(token_masking=masking) for masking in ("none", "uniform"))
    rows = [Triple("ab", "abcdefgh", "abxdefg")] * MANY
    before, found = (
        task.with_roll_in(tiny.batch(task, rows), 1)["roll_in"] for task in (plain, other)
    )
    assert before.masked is None and before.token_state(plain.placeholder)[1].equal(
        before.insertion.missing
    )
    for one, same in zip(before.insertion, found.insertion, strict=True):
        assert torch.equal(one, same)
    state, missing = found.token_state(other.placeholder)
    assert torch.equal(missing, found.insertion.missing | found.masked)
    assert not (found.insertion.missing & found.masked).any()
    assert torch.equal(state.eq(other.placeholder), missing)
    assert torch.equal(state[~missing], found.target[~missing])
    shares = found.masked.sum(1) / (8 - found.insertion.missing.sum(1)).clamp(min=1)
    assert abs(float(shares[found.insertion.missing.sum(1) < 8].mean()) - 0.5) < 0.02


def test_deletion_reads_masked_tokens_as_they_stand():
    masking = tiny.task(token_masking="uniform")
    sample = tiny.batch(masking, ROWS, drafted=False)
    states = masking.with_roll_in(sample, 1)["roll_in"]
    torch.manual_seed(1)
    model = tiny.model(masking).eval()
    seen = []
    features = model.features
    model.features = lambda tokens, *rest: (seen.append(tokens), features(tokens, *rest))[1]
    outputs, _ = model(sample["net_input"]["src_tokens"], None, states)
    assert len(outputs["token"]) == int((states.insertion.missing | states.masked).sum())
    deletion = seen[-1][:, : states.target.size(1)]
    stands = states.target.ne(masking.target_dictionary.pad()) & ~states.insertion.missing
    assert torch.equal(deletion[stands], states.target[stands])
