"""Text to pieces: T5's order whatever the model's own is, lengths that hold, words that count."""

import base64
import functools
import io
from collections.abc import Sequence
from typing import Any

import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from lev_plugins.systems.enct5.tokenizer import SPECIAL, Encoding, Tokenizer

PAD, EOS, UNK = 0, 1, 2
TEXT = [
    "the cat sat on the mat",
    "a dog ran after the cat",
    "cats and dogs sat and ran",
    "on the mat, the dog; the cat!",
]
#: how models may number their special subwords
ORDERS: dict[str, dict[str, Any]] = {
    "t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "its own": {},
    "other names": {"pad_id": 3, "unk_piece": "[UNK]", "pad_piece": "[PAD]", "eos_piece": "[SEP]"},
    "bytes for what is unknown": {"byte_fallback": True},
}
#: text of all sorts: words of the model, special subwords, zero bytes, halves of surrogate pairs
ANY_TEXT = st.one_of(
    st.text(st.characters(), max_size=20),
    st.text(st.sampled_from("cat dogs▁<>/\0\ud83d\ude00é"), max_size=30),
    st.sampled_from(
        ["</s>", "<pad> <unk>", "the cat </s> sat", "▁▁", "\u200b", "\x07", "\ufeffcat"]
    ),
)


@functools.cache
def trained(order: str, **more: Any) -> str:
    """A sentencepiece model, base64."""
    model = io.BytesIO()
    options = {"vocab_size": 50, "hard_vocab_limit": False, "minloglevel": 2}
    options |= {"vocab_size": 320} if order.startswith("bytes") else {}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, **options | ORDERS[order] | more
    )
    return base64.b64encode(model.getvalue()).decode()


@functools.cache
def tokenizer(order: str | None) -> Tokenizer:
    """None: bytes."""
    return Tokenizer(None if order is None else trained(order))


# the vocabulary --------------------------------------------------------------------------------


@given(text=ANY_TEXT)
def test_pieces_are_those_of_the_model_whatever_its_order(text):
    for order in ORDERS:
        made = tokenizer(order)
        own = [made.model.id_to_piece(i) for i in range(len(made.model))]
        assert made.pieces == [*SPECIAL, *(piece for piece in own if piece not in SPECIAL)]
        written = text.encode("utf-8", "replace").decode("utf-8")
        wanted = [
            "<unk>" if i == made.model.unk_id() else made.model.id_to_piece(i)
            for i in made.model.encode(written)
        ]
        found = made.cut(text)
        assert [made.pieces[index] for index in found] == wanted, order
        assert not {PAD, EOS} & set(found), order


def test_a_text_that_spells_a_special_piece_does_not_become_one():
    model = trained(
        "its own", user_defined_symbols="<pad>", pad_id=-1, eos_piece="<end>", unk_piece="<?>"
    )
    made = Tokenizer(model)
    assert made.model.encode("<pad>", out_type=str) == ["▁", "<pad>"]
    assert PAD not in made.cut("<pad> cat <pad>")
    for name in (*ORDERS, None):
        assert not {PAD, EOS} & set(tokenizer(name).cut("</s> <pad> </s>cat</s>"))


# text ------------------------------------------------------------------------------------------


@given(text=ANY_TEXT)
@example("\ud800 \udfff")
@example("\ud83d\ude00")
@example("\0")
def test_an_index_of_bytes_is_the_byte_and_three(text):
    made = tokenizer(None)
    assert len(made.pieces) == 259
    assert made.cut(text) == [byte + 3 for byte in text.encode("utf-8", "replace")]
    assert made.cut("é") == [0xC3 + 3, 0xA9 + 3] and made.pieces[0xC3 + 3] == "<0xC3>"


def slow_texts(made: Tokenizer, texts: Sequence[str], most: int) -> list[int]:
    """One subword after the other is taken off the longest text, of equal ones off the last."""
    parts = [made.cut(text) for text in texts]
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
        made = tokenizer(name)
        found = made.texts(texts, most)
        assert found.pieces == slow_texts(made, texts, most)
        assert len(found.pieces) <= most
        assert found.pieces.count(EOS) == len(texts) == found.reached
        assert found.spans == []
        assert found.cut_off == (sum(len(made.cut(text)) + 1 for text in texts) > most)


# words -----------------------------------------------------------------------------------------


def slow_words(made: Tokenizer, words: Sequence[str], most: int) -> tuple[list[list[int]], bool]:
    """The subwords of each word that is reached, and whether something is missing."""
    kept: list[list[int]] = []
    for number, word in enumerate(words):
        space = " " if made.model is None and number else ""
        kept.append((made.cut(space + word) or [UNK]) if word else [UNK])
    while sum(map(len, kept)) + 1 > most and len(kept) > 1:
        kept.pop()
    whole = len(kept) == len(words) and sum(map(len, kept)) + 1 <= most
    return [part[: most - 1] for part in kept], not whole


@given(words=st.lists(ANY_TEXT, max_size=8), most=st.integers(2, 30))
@example(words=["cat"] * 5, most=6)
@example(words=["abc", "d"], most=3)
def test_words_have_pieces_of_their_own_as_far_as_they_fit(words, most):
    for name in ("its own", "bytes for what is unknown", None):
        found = tokenizer(name).words(words, most)
        if not words:
            assert found == Encoding([EOS], [0], 0, False)
            continue
        parts, cut_off = slow_words(tokenizer(name), words, most)
        assert found.pieces == [*(index for part in parts for index in part), EOS]
        assert found.spans == [*(n for n, part in enumerate(parts, 1) for _ in part), 0]
        assert (found.reached, found.cut_off) == (len(parts), cut_off)
        assert len(found.pieces) <= most
        assert list(dict.fromkeys(found.spans)) == [*range(1, found.reached + 1), 0]
