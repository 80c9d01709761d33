"""Several candidates: noise that belongs to the sentence, their scores, and the best of them."""

import pytest
import tiny
import torch
from fake_policy import (
    LETTERS,
    PAD,
    PAIRS,
    Hypothesis,
    RandomPolicy,
    batch,
    decode,
    sentence,
    text,
)
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.nn.arrays import TORCH
from lev_plugins.nn.backends import cpu
from lev_plugins.systems.levenshtein.generator import RefinementOptions
from lev_runtime.refine import candidates as candidates_module
from lev_runtime.refine.candidates import gumbel_noise, sentence_keys
from lev_runtime.text.markup import DROP, KEEP

pytestmark = pytest.mark.device

PAIRS = PAIRS[:10]

# noise ------------------------------------------------------------------------------------------


def noise(count=4, scale=1.0, seed=1, key=5, answer=1, stream=0, position=3, classes=4) -> Tensor:
    options = RefinementOptions(candidates=count, noise_scale=scale, seed=seed)
    keys, rows, places = (torch.tensor([number]) for number in (key, answer, position))
    return gumbel_noise(options, keys, rows, stream, places, classes, TORCH)[0]


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
    sampled = gumbel_noise(options, torch.arange(count) * 17, rows, 0, places, 4, TORCH)
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
    chosen = torch.bincount((logits + sampled).argmax(1), minlength=4)
    expected = logits.softmax(0) * count
    assert float(((chosen - expected) ** 2 / expected).sum()) < 16.3  # chance: one in a thousand


def keys_of(pairs: list[tuple[str, str]], **layout) -> list[int]:
    sample = batch(pairs, **layout)
    return sentence_keys(sample["net_input"]["src_tokens"], sample["draft"], PAD).tolist()


WORDS = st.text(LETTERS, max_size=6)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5, unique=True))
def test_sentences_have_keys_of_their_own_whatever_the_batch_and_its_padding(pairs):
    pairs = list({*pairs, *((source[::-1], draft) for source, draft in pairs)})
    keys = keys_of(pairs)
    assert len(set(keys)) == len(pairs) and all(0 <= key < 1 << 40 for key in keys)
    assert keys_of(pairs, left=True, extra=3) == keys
    assert [keys_of([pair])[0] for pair in pairs] == keys


# candidates through the generator -----------------------------------------------------------------


def candidates(seed: int = 3, pairs=PAIRS, count: int = 1, **values) -> list[list[Hypothesis]]:
    """All different candidates of every sentence, the best first."""
    fixed = {"nbest": count, "candidates": count, "noise_scale": 1.0, "max_iter": 4}
    return decode(RandomPolicy(seed), pairs, **{**fixed, **values})


def exact(groups: list[list[Hypothesis]]) -> list[list[tuple]]:
    names = "tokens", "positional_scores", "origin"
    return [
        [tuple(hypothesis[name].tolist() for name in names) for hypothesis in group]
        for group in groups
    ]


def test_tokens_chosen_a_row_at_a_time_are_those_chosen_together(monkeypatch):
    together = exact(candidates(count=3, unk_penalty=1.0))
    monkeypatch.setattr(cpu, "CHUNK_BYTES", 1)
    monkeypatch.setattr(candidates_module, "NOISE_BYTES", 1)
    assert exact(candidates(count=3, unk_penalty=1.0)) == together


def test_plain_decoding_is_among_the_candidates_to_the_last_digit():
    single, several = exact(candidates()), exact(candidates(count=3))
    for (plain,), group in zip(single, several, strict=True):
        assert plain in group
    assert sum(len(group) for group in several) > len(PAIRS) + 3, "the noise changes something"
    assert exact(candidates(count=3, noise_scale=0.0)) == single, "of equal ones one is shown"


def test_candidates_are_other_ones_for_another_seed_and_stay_if_there_are_more():
    three, five, other = (
        [{text(hypothesis["tokens"]) for hypothesis in group} for group in candidates(**values)]
        for values in ({"count": 3}, {"count": 5}, {"count": 3, "seed": 2})
    )
    assert three != other and all(map(set.issubset, three, five))


def test_the_best_come_first_and_none_comes_twice():
    groups = candidates(count=5)
    assert {len(group) for group in groups} != {5}, "no candidate was there twice"
    for group in groups:
        scores = [hypothesis["score"] for hypothesis in group]
        assert scores == sorted(scores, reverse=True)
        assert 1 <= len(group) == len({text(hypothesis["tokens"]) for hypothesis in group}) <= 5
    assert exact(candidates(count=5, nbest=2)) == [group[:2] for group in exact(groups)]


def test_every_candidate_keeps_to_the_orders():
    different = 0
    for seed in range(6):
        asked = {"noise_scale": 2.0, "marks": [[KEEP, DROP, KEEP]]}
        (group,) = candidates(seed, [("ab", "abc")], 4, **asked)
        different += len(group) - 1
        for hypothesis in group:
            places = hypothesis["origin"].tolist()
            assert [place for place in places if place >= 0] == [0, 1, 3, 4]
            written = zip(text(hypothesis["tokens"]), places[1:-1], strict=True)
            assert not any(letter == "b" for letter, place in written if place < 0)
    assert different >= 4


# scores -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draft", ["", "abca"])
def test_the_score_is_that_of_the_actions_and_of_the_answer_as_final(draft):
    policy = RandomPolicy(3)
    (group,) = candidates(3, [("ab", draft)], 5, max_len_b=200)
    memory = policy.encode(sentence("ab").unsqueeze(0))
    for hypothesis in group:
        tokens = hypothesis["tokens"].unsqueeze(0).to(torch.get_default_device())
        keep = tiny.logits(policy, "deletion", tokens, memory)[0, 1:-1].log_softmax(-1)[:, 0]
        close = tiny.logits(policy, "placeholder", tokens, memory)[0].log_softmax(-1)[:, 0]
        final = float(keep.sum() + close.sum())
        # sums of up to a few hundred nats in single precision
        assert hypothesis["score"] == pytest.approx(hypothesis["actions"] + final, rel=1e-5)
