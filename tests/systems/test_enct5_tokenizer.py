"""Text to pieces: T5's order whatever the model's own is, lengths that hold, words that count."""

import base64
import functools
import io
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from lev_plugins.errors import UserError
from lev_plugins.systems.enct5.tokenizer import (
    SPECIAL,
    Encoding,
    SubwordDictionary,
    Tokenizer,
    check_pieces,
    whole_vocabulary,
)

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
    "no padding, no end": {"pad_id": -1, "eos_id": -1, "bos_id": -1, "unk_id": 0},
    "other names": {
        "pad_id": 3,
        "eos_id": 2,
        "unk_id": 0,
        "bos_id": 1,
        "unk_piece": "[UNK]",
        "pad_piece": "[PAD]",
        "eos_piece": "[SEP]",
    },
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


def longest_piece() -> str:
    return max(tokenizer("its own").pieces[3:], key=len)


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


# the vocabulary --------------------------------------------------------------------------------


def test_the_dictionary_has_t5s_order():
    made = SubwordDictionary([*SPECIAL, "▁a", "b", "<extra_id_0>"])
    assert (made.pad(), made.eos(), made.unk(), made.bos()) == (PAD, EOS, UNK, PAD)
    assert made.symbols == ["<pad>", "</s>", "<unk>", "▁a", "b", "<extra_id_0>"]
    assert made.index("b") == 4
    assert made.index("<s>") == UNK


def test_a_dictionary_comes_back_from_its_file_and_from_another_process(tmp_path: Path):
    made = SubwordDictionary(tokenizer("its own").pieces)
    made.save(str(tmp_path / "dict.txt"))
    for again in (
        SubwordDictionary.load(str(tmp_path / "dict.txt")),
        pickle.loads(pickle.dumps(made)),
    ):
        assert type(again) is SubwordDictionary
        assert again.symbols == made.symbols
        assert (again.pad(), again.eos(), again.unk(), again.bos()) == (PAD, EOS, UNK, PAD)


def test_the_whole_vocabulary_is_special_pieces_and_all_others_in_their_order(order):
    made = tokenizer(order)
    own = [made.model.id_to_piece(i) for i in range(len(made.model))]
    assert made.pieces[:3] == list(SPECIAL)
    assert made.pieces[3:] == [piece for piece in own if piece not in SPECIAL]
    assert whole_vocabulary(made.pieces) == made.pieces


@given(text=ANY_TEXT)
def test_pieces_are_those_of_the_model_whatever_its_order(text):
    for order in ORDERS:
        made = tokenizer(order)
        written = text.encode("utf-8", "replace").decode("utf-8")
        wanted = [
            "<unk>" if i == made.model.unk_id() else made.model.id_to_piece(i)
            for i in made.model.encode(written)
        ]
        found = made.cut(text)
        assert [made.pieces[index] for index in found] == wanted, order
        assert not {PAD, EOS} & set(found), order


def test_a_vocabulary_in_another_order_gives_its_own_indices():
    plain = tokenizer("t5")
    pieces = [*SPECIAL, *reversed(plain.pieces[3:]), "<extra_id_1>", "<extra_id_0>"]
    other = Tokenizer(plain.serialised, pieces)
    for text in (*TEXT, "zebra 7"):
        spelt = [plain.pieces[index] for index in plain.cut(text)]
        assert [other.pieces[index] for index in other.cut(text)] == spelt
    assert other.cut(TEXT[0]) != plain.cut(TEXT[0])


def test_a_text_that_spells_a_special_piece_does_not_become_one():
    model = trained(
        "its own", user_defined_symbols="<pad>", pad_id=-1, eos_piece="<end>", unk_piece="<?>"
    )
    made = Tokenizer(model)
    assert made.model.encode("<pad>", out_type=str) == ["▁", "<pad>"]
    assert PAD not in made.cut("<pad> cat <pad>")
    for name in (*ORDERS, None):
        assert not {PAD, EOS} & set(tokenizer(name).cut("</s> <pad> </s>cat</s>"))


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (["<s>", *SPECIAL, "▁a"], "begins with '<s> <pad> </s>'"),
        ([], "begins with ''"),
        ([*SPECIAL, "▁a", "b", "▁a"], "'▁a' is twice"),
        ([*SPECIAL, "<unk>"], "'<unk>' is twice"),
    ],
)
def test_a_vocabulary_that_is_not_t5s_is_refused(pieces: list[str], said: str):
    with pytest.raises(UserError, match="here: ") as caught:
        check_pieces(pieces, "here")
    assert said in str(caught.value)


def test_a_vocabulary_has_to_have_all_that_text_can_give():
    plain, needed = tokenizer("its own"), longest_piece()
    with pytest.raises(
        UserError, match=f"here: the vocabulary lacks the model's subword '{needed}'"
    ):
        Tokenizer(plain.serialised, [one for one in plain.pieces if one != needed], "here")
    without = [one for one in plain.pieces if one != "<s>"]  # which no text can give
    assert Tokenizer(plain.serialised, without).pieces == without


def damaged(how: str) -> str:
    """What a data folder may hold instead of a model."""
    content = base64.b64decode(trained("its own"))
    piece = longest_piece().encode()
    assert content.count(bytes([len(piece)]) + piece) == 1
    changed = {
        "no base64": content,
        "empty": b"",
        "another file": b"no model",
        "half": content[:400],
        "a subword that is no text": content.replace(piece, b"\xff" * len(piece)),
    }[how]
    return base64.b64encode(changed).decode() + "!" * (how == "no base64")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("no base64", "damaged"),
        ("empty", "not a sentencepiece model"),
        ("another file", "not a sentencepiece model"),
        ("half", "not a sentencepiece model"),
        ("a subword that is no text", "subwords that are no text"),
    ],
)
def test_a_model_that_is_none_is_one_line_that_names_its_place(how: str, said: str):
    with pytest.raises(UserError, match="^here: ") as caught:
        Tokenizer(damaged(how), name="here")
    assert said in str(caught.value)


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


@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=3), most=st.integers(3, 40))
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


def test_very_long_texts_take_no_time():
    found = tokenizer(None).texts(["a" * 1_000_000, "b" * 1_000_000], 512)
    assert len(found.pieces) == 512 and found.cut_off


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


def test_a_word_without_pieces_is_unknown():
    for name in (*ORDERS, None):
        found = tokenizer(name).words(["cat", "", "dog"], 50)
        at = found.spans.index(2)
        assert found.pieces[at] == UNK and found.spans.count(2) == 1
        assert found.reached == 3 and not found.cut_off
    assert tokenizer("its own").words(["\u200b"], 50) == Encoding([UNK, EOS], [1, 0], 1, False)
