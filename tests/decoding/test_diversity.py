"""How n-best differ: by noise that belongs to the sentence."""

import itertools
import math

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from torch import Tensor

from lev_plugins.systems.levenshtein.decoding.diversity import Diversity, sentence_keys

SYMBOLS = tiny.dictionary()
PAD = SYMBOLS.pad()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"count": 0}, "--iter-decode-with-beam 0: at least 1 answer"),
        ({"count": -2}, "--iter-decode-with-beam -2"),
        ({"scale": -0.1}, "--noise-scale -0.1: give 0 or more"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(values, said):
    with refuses(said):
        Diversity(**values)


def noise(
    count: int = 2,
    scale: float = 1.0,
    seed: int = 1,
    key: int = 5,
    answer: int = 1,
    stream: int = 0,
    position: int = 3,
    classes: int = 4,
) -> Tensor:
    made = Diversity(count, scale=scale, seed=seed)
    keys, rows, places = (torch.tensor([one]) for one in (key, answer, position))
    return made.noise(keys, rows, stream, places, classes)[0]


def test_noise_is_a_function_of_seed_sentence_answer_step_and_place():
    base = {"seed": 1, "key": 5, "answer": 1, "stream": 0, "position": 3, "count": 4}
    assert torch.equal(noise(**base), noise(**base))
    for change in ({"seed": 2}, {"key": 99}, {"answer": 2}, {"stream": 1}, {"position": 4}):
        assert not torch.isclose(noise(**base), noise(**{**base, **change})).any(), change
    assert torch.equal(noise(classes=3), noise(classes=9)[:3])
    # the same answer of another row of a batch
    assert torch.equal(noise(**base), noise(**{**base, "answer": 5}))


def test_every_row_of_a_batch_gets_its_own_noise():
    made = Diversity(3, scale=1.0)
    keys = torch.tensor([7000, 7000, 9000, 7000])
    rows, places = torch.tensor([1, 2, 1, 1]), torch.tensor([0, 0, 0, 1])
    together = made.noise(keys, rows, 0, places, 5)
    for i in range(4):
        alone = made.noise(keys[i : i + 1], rows[i : i + 1], 0, places[i : i + 1], 5)
        assert torch.equal(alone[0], together[i])
    assert len({tuple(row) for row in together.tolist()}) == 4


def test_plain_answers_have_no_noise_and_a_scale_of_zero_is_none():
    assert noise(answer=0).eq(0).all() and noise(answer=2, count=2).eq(0).all()
    assert noise(scale=0.0).eq(0).all()
    assert noise(scale=0.25).allclose(noise(scale=1.0) / 4)


def test_noise_is_gumbel_so_that_scale_1_samples_from_the_policy():
    count = 20_000
    made = Diversity(2, scale=1.0)
    keys = torch.arange(count) * 17
    sampled = made.noise(keys, torch.ones(count).long(), 0, torch.zeros(count).long(), 4)
    assert sampled.isfinite().all()
    assert float(sampled.mean()) == pytest.approx(0.5772, abs=0.02)
    assert float(sampled.var()) == pytest.approx(math.pi**2 / 6, abs=0.05)
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
    chosen = torch.bincount((logits + sampled).argmax(1), minlength=4)
    expected = logits.softmax(0) * count
    assert float(((chosen - expected) ** 2 / expected).sum()) < 16.3  # chance: one in a thousand


def keys_of(pairs: list[tuple[str, str]], left: bool = False, extra: int = 0) -> list[int]:
    sources, drafts = ([tiny.sentence(text, SYMBOLS) for text in side] for side in zip(*pairs))
    return sentence_keys(
        tiny.stack(sources, PAD, left, extra), tiny.stack(drafts, PAD, False, extra), PAD
    ).tolist()


WORDS = st.text(tiny.LETTERS, max_size=6)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5, unique=True))
def test_sentences_have_keys_of_their_own_whatever_the_batch_and_its_padding(pairs):
    keys = keys_of(pairs)
    assert len(set(keys)) == len(pairs)
    assert all(0 <= key < 1 << 40 for key in keys)
    assert keys_of(pairs, left=True, extra=3) == keys
    assert keys_of(pairs[::-1], extra=1) == keys[::-1]
    assert [keys_of([pair])[0] for pair in pairs] == keys


def test_keys_tell_the_order_of_words_and_source_from_draft():
    pairs = [("ab", "c"), ("ba", "c"), ("c", "ab"), ("ab", ""), ("", "ab"), ("abc", ""), ("", "")]
    assert len(set(keys_of(pairs))) == len(pairs)
    # and all sentences of up to three words, whose numbers may add up to the same
    words = ["".join(one) for n in range(4) for one in itertools.product("abcdefgh", repeat=n)]
    assert len(set(keys_of([(word, "") for word in words]))) == len(words)


def test_long_sentences_have_keys_too():
    tokens = torch.full((2, 3000), 250_000)
    tokens[1, 0] = 4
    keys = sentence_keys(tokens, tokens, PAD).tolist()
    assert keys[0] != keys[1] and all(0 <= key < 1 << 40 for key in keys)
