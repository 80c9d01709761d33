"""Text to pieces: T5's order whatever the model's own is, lengths that hold, words that count."""

import functools
import io
from collections.abc import Sequence

import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from lev_runtime.pieces import SPECIAL, Encoding, Tokenizer

PAD, EOS, UNK = 0, 1, 2
TEXT = [
    "the cat sat on the mat",
    "a dog ran after the cat",
    "cats and dogs sat and ran",
    "on the mat, the dog; the cat!",
]
#: how models may number their special subwords; None: bytes
ORDERS: dict[str, dict[str, int]] = {
    "t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "its own": {},
}
#: text of all sorts: words of the model, special subwords, zero bytes, halves of surrogate pairs
ANY_TEXT = st.one_of(
    st.text(st.characters(), max_size=20),
    st.text(st.sampled_from("cat dogs▁<>/\0\ud83d\ude00é"), max_size=30),
    st.sampled_from(["</s>", "<pad> <unk>", "the cat </s> sat", "▁▁", "\u200b", "\ufeffcat"]),
)


@functools.cache
def tokenizer(order: str | None) -> Tokenizer:
    if order is None:
        return Tokenizer(None)
    model = io.BytesIO()
    options = {"vocab_size": 50, "hard_vocab_limit": False, "minloglevel": 2, **ORDERS[order]}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, **options
    )
    return Tokenizer(model.getvalue())


@given(text=ANY_TEXT)
def test_pieces_are_those_of_the_model_whatever_its_order(text):
    for order in ORDERS:
        cutter = tokenizer(order)
        own = [cutter.processor.id_to_piece(i) for i in range(len(cutter.processor))]
        assert cutter.pieces == [*SPECIAL, *(piece for piece in own if piece not in SPECIAL)]
        wanted = cutter.processor.encode(text.encode("utf-8", "replace").decode("utf-8"))
        unknown = cutter.processor.unk_id()
        pieces = cutter.encode(text)
        assert [cutter.pieces[index] for index in pieces] == [
            "<unk>" if i == unknown else own[i] for i in wanted
        ]
        assert not {PAD, EOS} & set(pieces), order


def slow_texts(cutter: Tokenizer, texts: Sequence[str], most: int) -> list[int]:
    """One subword after the other is taken off the longest text, of equal ones off the last."""
    parts = [cutter.encode(text) for text in texts]
    while sum(len(part) + 1 for part in parts) > most and any(parts):
        longest = max(map(len, parts))
        next(part for part in reversed(parts) if len(part) == longest).pop()
    return [index for part in parts for index in (*part, EOS)]


@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=2), most=st.integers(2, 40))
@example(texts=["a" * 5, "b" * 5], most=9)
@example(texts=["a" * 9, "b" * 9], most=2)
@example(texts=["", ""], most=5)
def test_of_several_texts_the_longer_one_is_cut_first(texts, most):
    for name in ("its own", None):
        cutter = tokenizer(name)
        pieces = cutter.encode_texts(texts, most)
        assert pieces.pieces == slow_texts(cutter, texts, most)
        cut_off = sum(len(cutter.encode(text)) + 1 for text in texts) > most
        assert pieces == Encoding(pieces.pieces, [], len(texts), cut_off)


def slow_words(cutter: Tokenizer, words: Sequence[str], most: int) -> tuple[list[list[int]], bool]:
    """The subwords of each word that is reached, and whether something is missing."""
    kept: list[list[int]] = []
    for number, word in enumerate(words):
        space = " " if cutter.processor is None and number else ""
        kept.append((cutter.encode(space + word) or [UNK]) if word else [UNK])
    while sum(map(len, kept)) + 1 > most and len(kept) > 1:
        kept.pop()
    complete = len(kept) == len(words) and sum(map(len, kept)) + 1 <= most
    return [part[: most - 1] for part in kept], not complete


@given(words=st.lists(ANY_TEXT, max_size=8), most=st.integers(2, 30))
@example(words=["cat"] * 5, most=6)
@example(words=["abc", "d"], most=3)
@example(words=[], most=2)
def test_words_have_pieces_of_their_own_as_far_as_they_fit(words, most):
    for name in ("its own", None):
        parts, cut_off = slow_words(tokenizer(name), words, most)
        pieces = [*(index for part in parts for index in part), EOS]
        spans = [*(n for n, part in enumerate(parts, 1) for _ in part), 0]
        wanted = Encoding(pieces, spans, len(parts), cut_off)
        assert tokenizer(name).encode_words(words, most) == wanted
