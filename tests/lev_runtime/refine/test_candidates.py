"""Noise that belongs to a sentence and a candidate. For candidates themselves: test_decoding."""

import numpy as np
import pytest
from fake_policy import LETTERS, PAD, PAIRS, FakePolicy, decode, sentence, stack, text
from hypothesis import given
from hypothesis import strategies as st

from lev_runtime.refine import candidates as candidates_module
from lev_runtime.refine.candidates import gumbel_noise, sentence_keys
from lev_runtime.refine.options import RefinementOptions


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


def test_candidates_are_the_same_where_tokens_are_chosen_a_row_at_a_time(arrays, monkeypatch):
    def texts() -> list[list[str]]:
        groups = decode(FakePolicy(arrays), PAIRS, candidates=3, nbest=3, noise_scale=1.0)
        return [[text(each) for each in group] for group in groups]

    together = texts()
    assert sum(map(len, together)) > 2 * len(PAIRS), "the noise changes something"
    monkeypatch.setattr(arrays, "rows_at_once", lambda logits: 1)
    monkeypatch.setattr(candidates_module, "NOISE_BYTES", 1)
    assert texts() == together
