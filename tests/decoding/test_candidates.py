"""Several candidates: noise that belongs to the sentence, their scores, and the best of them."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
import tiny
import torch
from fake_policy import ConstantPolicy, RandomPolicy
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from torch import Tensor

from lev_plugins.nn import cpu
from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from lev_plugins.systems.levenshtein.decoding.candidates import (
    best,
    gumbel_noise,
    rate,
    sentence_keys,
)
from lev_plugins.systems.levenshtein.markup import DROP, KEEP

SYMBOLS = tiny.dictionary("abcd")
PLH = SYMBOLS.add_symbol("<plh>")
PAD = SYMBOLS.pad()
NEVER = [SYMBOLS.bos(), PAD, SYMBOLS.eos(), PLH]
Hypothesis = dict[str, Any]


# noise ------------------------------------------------------------------------------------------


def noise(
    count: int = 4,
    scale: float = 1.0,
    seed: int = 1,
    key: int = 5,
    answer: int = 1,
    stream: int = 0,
    position: int = 3,
    classes: int = 4,
) -> Tensor:
    options = RefinementOptions(candidates=count, noise_scale=scale, seed=seed)
    keys, rows, places = (torch.tensor([one]) for one in (key, answer, position))
    return gumbel_noise(options, keys, rows, stream, places, classes)[0]


def test_noise_is_a_function_of_seed_sentence_candidate_step_and_place():
    base = noise()
    assert torch.equal(base, noise()) and torch.equal(noise(classes=3), noise(classes=9)[:3])
    for change in ({"seed": 2}, {"key": 99}, {"answer": 2}, {"stream": 1}, {"position": 4}):
        assert not torch.isclose(base, noise(**change)).any(), change
    assert torch.equal(base, noise(answer=5)), "the same candidate of another row of a batch"
    assert noise(answer=0).eq(0).all() and noise(answer=8).eq(0).all(), "plain decoding"
    assert noise(scale=0.25).allclose(base / 4)


def test_noise_is_gumbel_so_that_scale_1_samples_from_the_policy():
    count = 20_000
    options = RefinementOptions(candidates=2, noise_scale=1.0)
    rows, places = torch.ones(count).long(), torch.zeros(count).long()
    sampled = gumbel_noise(options, torch.arange(count) * 17, rows, 0, places, 4)
    assert sampled.isfinite().all()
    assert float(sampled.mean()) == pytest.approx(0.5772, abs=0.02)
    assert float(sampled.var()) == pytest.approx(math.pi**2 / 6, abs=0.05)
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
    chosen = torch.bincount((logits + sampled).argmax(1), minlength=4)
    expected = logits.softmax(0) * count
    assert float(((chosen - expected) ** 2 / expected).sum()) < 16.3  # chance: one in a thousand


def keys_of(pairs: list[tuple[str, str]], left: bool = False, extra: int = 0) -> list[int]:
    sources, drafts = ([tiny.sentence(text, SYMBOLS) for text in side] for side in zip(*pairs))
    sides = tiny.stack(sources, PAD, left, extra), tiny.stack(drafts, PAD, False, extra)
    return sentence_keys(*sides, PAD).tolist()


WORDS = st.text("abcd", max_size=6)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5, unique=True))
def test_sentences_have_keys_of_their_own_whatever_the_batch_and_its_padding(pairs):
    keys = keys_of(pairs)
    assert len(set(keys)) == len(pairs) and all(0 <= key < 1 << 40 for key in keys)
    assert keys_of(pairs, left=True, extra=3) == keys
    assert [keys_of([pair])[0] for pair in pairs] == keys


def test_keys_tell_the_order_of_words():
    words = ["".join(one) for n in range(5) for one in itertools.product("abcd", repeat=n)]
    assert len(set(keys_of([(word, "") for word in words]))) == len(words)


# candidates through the generator -----------------------------------------------------------------


def known(text: str) -> str:
    return "".join(letter for letter in text if letter in "abcd")


PAIRS = [(known(row.source), known(row.draft)) for row in tiny.triples(10, seed=5, longest=4)]


def candidates(
    policies: Any,
    pairs: Sequence[tuple[str, str]] = PAIRS,
    count: int = 1,
    extra: int = 0,
    marks: Tensor | None = None,
    **options: Any,
) -> list[list[Hypothesis]]:
    """All different candidates of every sentence, the best first."""
    fixed = {"max_iter": 4, "max_len_b": 8, "noise_scale": 1.0, "retain_history": True}
    settings = RefinementOptions(**{**fixed, "nbest": count, "candidates": count, **options})
    sources, drafts = ([tiny.sentence(text, SYMBOLS) for text in side] for side in zip(*pairs))
    sample = {
        "net_input": {"src_tokens": tiny.stack(sources, PAD, left=True, extra=extra)},
        "draft": tiny.stack(drafts, PAD, extra=extra),
        **({} if marks is None else {"marks": marks}),
    }
    policies = policies if isinstance(policies, list) else [policies]
    return RefinementGenerator(SYMBOLS, PLH, settings).generate(policies, sample)


def policy(seed: int = 3) -> RandomPolicy:
    return RandomPolicy(SYMBOLS, PLH, seed)


def text(hypothesis: Hypothesis) -> str:
    return tiny.letters(hypothesis["tokens"], SYMBOLS, PLH)


def outcomes(found: list[list[Hypothesis]]) -> list[list[tuple]]:
    """What may not depend on a batch; scores may, in their last digits."""
    return [[(text(one), one["steps"], one["terminated"]) for one in group] for group in found]


def exact(found: list[list[Hypothesis]]) -> list[list[tuple]]:
    return [
        [(text(one), one["positional_scores"].tolist(), one["origin"].tolist()) for one in group]
        for group in found
    ]


@pytest.mark.parametrize("options", [{}, {"unk_penalty": 1.0}])
def test_tokens_chosen_a_row_at_a_time_are_those_chosen_together(monkeypatch, options):
    together = exact(candidates(policy(), count=3, **options))
    monkeypatch.setattr(cpu, "AT_ONCE", 1)
    assert exact(candidates(policy(), count=3, **options)) == together


def test_plain_decoding_is_among_the_candidates_to_the_last_digit():
    single, several = exact(candidates(policy())), exact(candidates(policy(), count=3))
    for (plain,), group in zip(single, several, strict=True):
        assert plain in group
    assert sum(len(group) for group in several) > len(PAIRS) + 3, "the noise changes something"
    still = exact(candidates(policy(), count=3, noise_scale=0.0))
    assert still == single, "of equal ones one is shown"


def test_candidates_belong_to_the_sentence_and_not_to_the_batch():
    together = outcomes(candidates(policy(), count=3))
    assert together == outcomes(candidates(policy(), count=3, extra=3))
    assert together == [outcomes(candidates(policy(), [pair], 3))[0] for pair in PAIRS]
    assert together == outcomes(candidates(policy(), PAIRS[::-1], 3))[::-1]
    assert together != outcomes(candidates(policy(), count=3, seed=2))
    for group, more in zip(together, outcomes(candidates(policy(), count=5)), strict=True):
        assert set(group) <= set(more)


def test_the_best_come_first_and_none_comes_twice():
    found = candidates(policy(), count=5)
    assert {len(group) for group in found} != {5}, "no candidate was there twice"
    for group in found:
        scores = [one["score"] for one in group]
        assert scores == sorted(scores, reverse=True)
        assert 1 <= len(group) == len(set(map(text, group))) <= 5
    for number in (1, 2):
        fewer = candidates(policy(), count=5, nbest=number)
        assert exact(fewer) == [group[:number] for group in exact(found)]
    rows = [{"tokens": torch.tensor([0, n, 2]), "score": s} for n, s in ((4, -2.0), (5, -1.0))]
    assert [one["score"] for one in best([*rows, {**rows[1]}], 9)] == [-1.0, -2.0]


def test_every_candidate_keeps_to_the_orders():
    marks, different = torch.tensor([[0, KEEP, DROP, KEEP, 0]]), 0
    for seed in range(6):
        (group,) = candidates(policy(seed), [("ab", "abc")], 4, noise_scale=2.0, marks=marks)
        different += len(group) - 1
        for one in group:
            places = one["origin"].tolist()
            assert [place for place in places if place >= 0] == [0, 1, 3, 4]
            written = zip(text(one), places[1:-1], strict=True)
            assert not any(letter == "b" for letter, place in written if place < 0)
    assert different >= 4


# scores -------------------------------------------------------------------------------------------


def log_probability(policy: RandomPolicy, source: str, hypothesis: Hypothesis) -> float:
    """The score, action by action from the history."""
    memory = policy.encode(tiny.sentence(source, SYMBOLS).unsqueeze(0))
    total = 0.0
    history = hypothesis["history"]
    for before, delete, opened, filled in zip(*(history[i::3] for i in range(4)), strict=False):
        logits = policy.deletion_logits(before["tokens"].unsqueeze(0), memory)[0].log_softmax(-1)
        total += float(logits[~delete["mask"], 1].sum())
        where = filled["mask"].unsqueeze(0)
        if where.any():
            logits = policy.token_logits(opened["tokens"].unsqueeze(0), memory, where)
            logits[:, NEVER] = float("-inf")
            written = filled["tokens"][filled["mask"]]
            total += float(logits.log_softmax(-1).gather(1, written.unsqueeze(1)).sum())
    tokens = hypothesis["tokens"].unsqueeze(0)
    keep = policy.deletion_logits(tokens, memory)[0, 1:-1].log_softmax(-1)[:, 0]
    close = policy.placeholder_logits(tokens, memory)[0].log_softmax(-1)[:, 0]
    return total + float(keep.sum() + close.sum())


@pytest.mark.parametrize("draft", ["", "abca"])
def test_the_score_is_that_of_all_deletions_and_tokens_and_of_the_answer_as_final(draft):
    for seed in range(3):
        (found,) = candidates(policy(seed), [("ab", draft)], 5, max_len_b=200)
        expected = [log_probability(policy(seed), "ab", one) for one in found]
        # sums of up to a few hundred nats in single precision
        assert [one["score"] for one in found] == pytest.approx(expected, rel=1e-5)
    nothing = {"tokens": tiny.sentence("", SYMBOLS), "actions": 0.0}
    sure = ConstantPolicy(SYMBOLS, PLH, counts=(0.0, 4.0))
    rate(sure, sure.encode(tiny.sentence("a", SYMBOLS).unsqueeze(0)), [nothing], SYMBOLS)
    assert nothing["score"] < -3, "an empty answer pays for its slot"


def test_one_answer_has_the_mean_of_its_positional_scores():
    for count in (1, 2):
        ((one,),) = candidates(policy(), [("ab", "")], count, nbest=1)
        mean = float(one["positional_scores"].mean())
        assert (one["score"] == pytest.approx(mean, rel=1e-6)) is (count == 1)


def test_an_empty_batch_has_no_answers():
    sample = {"net_input": {"src_tokens": torch.zeros(0, 3).long()}}
    for count in (1, 3):
        options = RefinementOptions(candidates=count)
        assert RefinementGenerator(SYMBOLS, PLH, options).generate([policy()], sample) == []


def test_a_ranking_model_is_needed_and_only_at_the_end():
    with refuses("--iter-decode-with-external-reranker"):
        candidates(policy(), external_reranker=True)
    for models in ([object(), policy()], [policy(), object()]):
        with refuses("object", "--iter-decode-with-external-reranker"):
            candidates(models)
