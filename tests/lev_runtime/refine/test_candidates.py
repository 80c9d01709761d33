"""Several candidates: noise that belongs to the sentence, their scores, and the best of them."""

import numpy as np
import pytest
from fake_policy import LETTERS, PAD, PAIRS, FakePolicy, decode, sentence, stack, text
from hypothesis import given
from hypothesis import strategies as st

from lev_runtime.history import EditHypothesis
from lev_runtime.refine import candidates as candidates_module
from lev_runtime.refine.arrays import NUMPY
from lev_runtime.refine.candidates import gumbel_noise, sentence_keys
from lev_runtime.refine.options import RefinementOptions
from lev_runtime.refine.policy import EditState
from lev_runtime.text.markup import DROP, KEEP

PAIRS = PAIRS[:10]

# noise ------------------------------------------------------------------------------------------


def test_noise_is_a_function_of_seed_sentence_candidate_step_and_place(arrays):
    def noise(count=4, scale=1.0, seed=1, key=5, answer=1, stream=0, position=3, classes=4):
        options = RefinementOptions(candidates=count, noise_scale=scale, seed=seed)
        keys, rows, places = (arrays.xp.asarray([number]) for number in (key, answer, position))
        return gumbel_noise(options, keys, rows, stream, places, classes, arrays)[0].tolist()

    base = noise()
    assert base == noise() and noise(classes=3) == noise(classes=9)[:3]
    for change in ({"seed": 2}, {"key": 99}, {"answer": 2}, {"stream": 1}, {"position": 4}):
        assert not set(base) & set(noise(**change)), change
    assert base == noise(answer=5), "the same candidate of another row of a batch"
    assert not any(noise(answer=0) + noise(answer=8)), "plain decoding"
    assert noise(scale=0.25) == pytest.approx([number / 4 for number in base])


def test_noise_is_gumbel_so_that_scale_1_samples_from_the_policy(arrays):
    count, logits = 20_000, np.array([0.0, 1.0, 2.0, -1.0])
    options = RefinementOptions(candidates=2, noise_scale=1.0)
    keys, rows, places = map(arrays.xp.asarray, ([*range(count)], [1] * count, [0] * count))
    sampled = gumbel_noise(options, keys * 17, rows, 0, places, 4, arrays)
    chosen = np.bincount((logits + np.array(sampled.tolist())).argmax(1), minlength=4)
    expected = np.exp(logits) / np.exp(logits).sum() * count
    assert ((chosen - expected) ** 2 / expected).sum() < 16.3  # chance: one in a thousand


WORDS = st.text(LETTERS, max_size=6)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5, unique=True))
def test_sentences_have_keys_of_their_own_whatever_the_batch_and_its_padding(arrays, pairs):
    def keys_of(pairs, *layout):
        sides = ([sentence(letters) for letters in side] for side in zip(*pairs))
        return sentence_keys(*(stack(arrays, side, PAD, *layout) for side in sides), PAD).tolist()

    pairs = list({*pairs, *((source[::-1], draft) for source, draft in pairs)})
    keys = keys_of(pairs)
    assert len(set(keys)) == len(pairs) and all(0 <= key < 1 << 40 for key in keys)
    assert keys_of(pairs, True, 3) == keys
    assert [keys_of([pair])[0] for pair in pairs] == keys


# candidates of a batch ----------------------------------------------------------------------------


def candidates(
    arrays, seed: int = 3, pairs=PAIRS, count: int = 1, **values
) -> list[list[EditHypothesis]]:
    """All different candidates of every sentence, the best first."""
    fixed = {"nbest": count, "candidates": count, "noise_scale": 1.0, "max_iter": 4}
    return decode(FakePolicy(arrays, seed), pairs, **{**fixed, **values})


def exact(groups: list[list[EditHypothesis]]) -> list[list[list]]:
    names = "tokens", "positional_scores", "origin"
    return [[[each[name].tolist() for name in names] for each in group] for group in groups]


def test_candidates_are_those_of_a_sentence_alone_and_of_tokens_chosen_a_row_at_a_time(
    arrays, monkeypatch
):
    together = exact(candidates(arrays, count=3, unk_penalty=1.0))
    monkeypatch.setattr(arrays, "rows_at_once", lambda logits: 1)
    monkeypatch.setattr(candidates_module, "NOISE_BYTES", 1)
    for pair, group in zip(PAIRS, together, strict=True):
        assert exact(candidates(arrays, 3, [pair], 3, unk_penalty=1.0, left=True)) == [group]
    assert exact(candidates(arrays, count=3, unk_penalty=1.0, extra=2)) == together


def test_plain_decoding_is_among_the_candidates_to_the_last_digit(arrays):
    single, several = exact(candidates(arrays)), exact(candidates(arrays, count=3))
    for (plain,), group in zip(single, several, strict=True):
        assert plain in group
    assert sum(len(group) for group in several) > len(PAIRS) + 3, "the noise changes something"
    silent = exact(candidates(arrays, count=3, noise_scale=0.0))
    assert silent == single, "of equal ones one is shown"


def test_candidates_are_other_ones_for_another_seed_and_stay_if_there_are_more(arrays):
    three, five, other = (
        [{text(each) for each in group} for group in candidates(arrays, **how)]
        for how in ({"count": 3}, {"count": 5}, {"count": 3, "seed": 2})
    )
    assert three != other and all(map(set.issubset, three, five))


def test_the_best_come_first_and_none_comes_twice(arrays):
    groups = candidates(arrays, count=5)
    assert {len(group) for group in groups} != {5}, "no candidate was there twice"
    for group in groups:
        scores = [hypothesis["score"] for hypothesis in group]
        assert scores == sorted(scores, reverse=True)
        assert 1 <= len(group) == len({text(hypothesis) for hypothesis in group}) <= 5
    assert exact(candidates(arrays, count=5, nbest=2)) == [group[:2] for group in exact(groups)]


def test_every_candidate_keeps_to_the_orders(arrays):
    asked, different = {"noise_scale": 2.0, "marks": [[KEEP, DROP, KEEP]]}, 0
    for seed in range(6):
        (group,) = candidates(arrays, seed, [("ab", "abc")], 4, **asked)
        different += len(group) - 1
        for hypothesis in group:
            assert [place for place in hypothesis["origin"].tolist() if place >= 0] == [0, 1, 3, 4]
            assert "b" not in text(hypothesis)
    assert different >= 4


@pytest.mark.parametrize("draft", ["", "abca"])
def test_the_score_is_that_of_the_actions_and_of_the_answer_as_final(arrays, draft):
    policy = FakePolicy(NUMPY)
    (group,) = candidates(arrays, pairs=[("ab", draft)], count=5, max_len_b=200)
    for hypothesis in group:
        tokens = np.array([hypothesis["tokens"].tolist()])
        state = EditState(tokens, policy.encode(np.array([sentence("ab")])))
        logits = policy.logits("deletion", state)[0, 1:-1], policy.logits("placeholder", state)[0]
        keep, close = (side[:, 0] - np.log(np.exp(side).sum(1)) for side in logits)
        final = keep.sum() + close.sum()
        # sums of up to a few hundred nats in single precision
        assert hypothesis["score"] == pytest.approx(hypothesis["actions"] + final, rel=1e-5)
