"""Text to pieces: T5's order whatever the model's own is, lengths that hold, words that count."""

import functools
import io
from collections.abc import Sequence

import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from lev_runtime.labels.pieces import SPECIAL, Encoding, Tokenizer

PAD, EOS, UNK = 0, 1, 2
LINES = ["the cat sat on the mat", "a dog ran after the cat", "on the mat, the dog; the cat!"]
#: text of all sorts: words of the model, special subwords, zero bytes, halves of surrogate pairs
ANY_TEXT = st.one_of(
    st.text(st.characters(), max_size=20),
    st.text(st.sampled_from("cat dogs▁<>/\0\ud83d\ude00é"), max_size=30),
    st.sampled_from(["</s>", "<pad> <unk>", "the cat </s> sat", "▁▁", "\u200b", "\ufeffcat"]),
)


@functools.cache
def tokenizer() -> Tokenizer:
    """With special subwords in an order of its own."""
    model = io.BytesIO()
    options = {"vocab_size": 50, "hard_vocab_limit": False, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, **options
    )
    return Tokenizer(model.getvalue())


@given(text=ANY_TEXT)
def test_pieces_are_those_of_the_model_whatever_its_order(text):
    cutter = tokenizer()
    model = cutter.processor
    own = [model.id_to_piece(i) for i in range(len(model))]
    assert cutter.pieces == [*SPECIAL, *(piece for piece in own if piece not in SPECIAL)]
    expected = model.encode(text.encode("utf-8", "replace").decode("utf-8"))
    own[model.unk_id()] = "<unk>"
    pieces = cutter.encode(text)
    assert [cutter.pieces[index] for index in pieces] == [own[i] for i in expected]
    assert not {PAD, EOS} & set(pieces)


def slow_texts(parts: list[list[int]], most: int) -> list[int]:
    """One subword after the other is taken off the longest text, of equal ones off the last."""
    while sum(len(part) + 1 for part in parts) > most and any(parts):
        longest = max(map(len, parts))
        next(part for part in reversed(parts) if len(part) == longest).pop()
    return [index for part in parts for index in (*part, EOS)]


@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=2), most=st.integers(2, 40))
@example(texts=["a" * 5, "b" * 5], most=9)
@example(texts=["a" * 9, "b" * 9], most=2)
def test_of_several_texts_the_longer_one_is_cut_first(texts, most):
    for cutter in (tokenizer(), Tokenizer()):
        parts = [cutter.encode(text) for text in texts]
        is_cut = sum(len(part) + 1 for part in parts) > most
        expected = Encoding(slow_texts(parts, most), [], len(texts), is_cut)
        assert cutter.encode_texts(texts, most) == expected


def slow_words(cutter: Tokenizer, words: Sequence[str], most: int) -> Encoding:
    complete = []
    for number, word in enumerate(words):
        space = " " if cutter.processor is None and number else ""
        complete.append((cutter.encode(space + word) if word else []) or [UNK])
    kept = list(complete)
    while sum(map(len, kept)) + 1 > most and len(kept) > 1:
        kept.pop()
    parts = [part[: most - 1] for part in kept]
    spans = [number for number, part in enumerate(parts, 1) for _ in part]
    return Encoding([*sum(parts, []), EOS], [*spans, 0], len(parts), parts != complete)


@given(words=st.lists(ANY_TEXT, max_size=8), most=st.integers(2, 30))
@example(words=["cat"] * 5, most=6)
@example(words=["abc", "d"], most=3)
def test_words_have_pieces_of_their_own_as_far_as_they_fit(words, most):
    for cutter in (tokenizer(), Tokenizer()):
        assert cutter.encode_words(words, most) == slow_words(cutter, words, most)
