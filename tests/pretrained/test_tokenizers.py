"""Vocabularies as dictionaries, and the tokenizers behind ``--bpe``."""

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import sentencepiece
import tiny
import tokenizers
from checkpoints import BERT_CONFIG, BERT_TOKENS, vocabulary_of
from fairseq.data import Dictionary
from fairseq.data.encoders import build_bpe
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.errors import UserError
from lev_plugins.pretrained import Directory, Vocabulary
from lev_plugins.pretrained.bpe import (
    HfGpt2Bpe,
    HfSentencepiece,
    HfWordpiece,
    PretrainedTokenizer,
    open_tokenizer,
    tokenizer_name,
)
from lev_plugins.pretrained.vocabulary import safe_symbol

LINES = ["the cat sat on the mat", "Unhappy cats sit, and so do the mats!", "a cat is a cat"] * 4
NAMES = ["hf_gpt2_bpe", "hf_sentencepiece", "hf_wordpiece"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def config(folder: Path, kind: str) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    return folder


@pytest.fixture(scope="module")
def wordpiece(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = config(tmp_path_factory.mktemp("bpe") / "bert", "bert")
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in BERT_TOKENS))
    return folder


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = config(tmp_path_factory.mktemp("bpe") / "bart", "bart")
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(LINES, vocab_size=300, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))
    return folder


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = config(tmp_path_factory.mktemp("bpe") / "t5", "t5")
    options = {"vocab_size": 24, **checkpoints.T5_ORDER}
    tiny.sentencepiece_model(folder / "spiece.model", LINES, **options)
    return folder


@pytest.fixture(scope="module")
def opened(wordpiece: Path, gpt2: Path, pieces: Path) -> dict[str, PretrainedTokenizer]:
    folders = dict(zip(NAMES, (gpt2, pieces, wordpiece)))
    return {name: open_tokenizer(str(folder)) for name, folder in folders.items()}


def build(name: str, folder: Path | None) -> Any:
    """As fairseq's commands do it."""
    return build_bpe(Namespace(bpe=name, hf_directory=folder and str(folder)))


# dictionaries --------------------------------------------------------------------------------


def test_fairseqs_symbols_stand_for_the_checkpoints_own(wordpiece):
    vocabulary = vocabulary_of(wordpiece)
    symbols = vocabulary.dictionary()
    special = [BERT_TOKENS.index(token) for token in ("[CLS]", "[PAD]", "[SEP]", "[UNK]")]
    assert vocabulary.rows_of(symbols)[:4].tolist() == special
    assert symbols.symbols[4:] == ["[unused0]", "[MASK]", *checkpoints.WORDS]
    assert vocabulary.mask_symbol() == "[MASK]"


def test_other_special_tokens_are_read_from_the_tokenizers_settings(wordpiece, tmp_path):
    folder = config(tmp_path / "x", "bert")
    tokens = ["<begin>", *BERT_TOKENS[:3], *BERT_TOKENS[4:]]
    (folder / "vocab.txt").write_text("\n".join(tokens))
    with pytest.raises(UserError, match=r"vocab.txt: lacks the special token '\[CLS\]'"):
        vocabulary_of(folder)
    settings = {"cls_token": {"content": "<begin>"}, "mask_token": None}
    (folder / "special_tokens_map.json").write_text(json.dumps(settings))
    assert vocabulary_of(folder).specials["<s>"] == "<begin>"


def test_t5_has_its_extra_ids_behind_the_pieces(pieces):
    vocabulary = vocabulary_of(pieces)
    assert len(vocabulary) == 124
    assert vocabulary.rows["<extra_id_0>"] == 123 and vocabulary.rows["<extra_id_99>"] == 24
    assert vocabulary.mask_symbol() == "<extra_id_0>"
    assert vocabulary.rows_of(vocabulary.dictionary())[:4].tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("extra, rows", [(0, 24), (7, 31)])
def test_the_number_of_extra_ids_can_be_set(pieces, tmp_path, extra, rows):
    folder = config(tmp_path / "x", "t5")
    (folder / "spiece.model").write_bytes((pieces / "spiece.model").read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"extra_ids": extra}))
    assert len(vocabulary_of(folder)) == rows
    (folder / "tokenizer_config.json").write_text(json.dumps({"extra_ids": -1}))
    with pytest.raises(UserError, match="tokenizer_config.json: extra_ids is -1"):
        vocabulary_of(folder)


def test_mt5_has_no_extra_ids_but_those_of_its_model(pieces, tmp_path):
    folder = config(tmp_path / "x", "mt5")
    (folder / "spiece.model").write_bytes((pieces / "spiece.model").read_bytes())
    assert len(vocabulary_of(folder)) == 24
    added = {"24": {"content": "▁<extra_id_0>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
    assert vocabulary_of(folder).mask_symbol() == "▁<extra_id_0>"


@pytest.mark.parametrize("name", NAMES)
def test_a_dictionary_survives_its_file(opened, name, tmp_path):
    vocabulary = opened[name].vocabulary
    path = tmp_path / "dict.txt"
    path.write_text("".join(f"{symbol} 1\n" for symbol in vocabulary.ordinary()), "utf-8")
    assert Dictionary.load(str(path)) == vocabulary.dictionary()


def test_tokens_that_a_line_cannot_hold_are_written_so_that_it_can(tmp_path):
    odd = ["a\u3000b", "\u2028", "\x85", "", "<s>", "</s>", "x y"]
    rows = {token: row for row, token in enumerate([*BERT_TOKENS, *odd])}
    specials = {"<s>": "[CLS]", "<pad>": "[PAD]", "</s>": "[SEP]", "<unk>": "[UNK]"}
    vocabulary = Vocabulary("x", rows, specials)
    path = tmp_path / "dict.txt"
    path.write_text("".join(f"{symbol} 1\n" for symbol in vocabulary.ordinary()), "utf-8")
    found = Dictionary.load(str(path))
    assert len(found) == len(rows)
    assert sorted(vocabulary.rows_of(found).tolist()) == list(range(len(rows)))
    line = " ".join(vocabulary.symbols[token] for token in odd)
    indices = found.encode_line(line, add_if_not_exist=False, append_eos=False)
    assert len(indices) == len(odd) and not set(indices.tolist()) & {0, 1, 2, 3}


def test_tokens_that_would_be_written_alike_are_refused():
    specials = {"<s>": "b", "<pad>": "p", "</s>": "e", "<unk>": "u"}
    rows = {"b": 0, "p": 1, "e": 2, "u": 3, "\u3000": 4, safe_symbol("\u3000"): 5}
    with pytest.raises(UserError, match="two tokens that would both be written '<U.3000>'"):
        Vocabulary("x", rows, specials)


@pytest.mark.parametrize("rows", [{"a": "b"}, {"a": -1}, {"a": 1.5}, {"a": True}, ["a"], "a", 3])
def test_vocabularies_that_are_none_are_refused(tmp_path, rows):
    folder = config(tmp_path / "x", "bart")
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "BPE", "vocab": rows}}))
    with pytest.raises(UserError, match="tokenizer.json: "):
        vocabulary_of(folder)


def test_a_vocabulary_that_is_no_text_is_refused(tmp_path):
    folder = config(tmp_path / "x", "bert")
    (folder / "vocab.txt").write_bytes(b"\xff\xfe\n")
    with pytest.raises(UserError, match="vocab.txt: cannot be read"):
        vocabulary_of(folder)


# tokenizers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_fairseq_builds_them_by_name(opened, name, wordpiece, gpt2, pieces):
    folder = dict(zip(NAMES, (gpt2, pieces, wordpiece)))[name]
    assert tokenizer_name(Directory(str(folder))) == name
    assert type(build(name, folder)) is type(opened[name])
    with pytest.raises(UserError, match=f"--bpe {name} needs the model's folder: --hf-directory"):
        build(name, None)


def test_wordpiece_cuts_as_bert_does(opened):
    cut = opened["hf_wordpiece"]
    assert cut.encode("The cats  SAT unhappy [MASK]\u00a0dog") == (
        "the cat ##s sat un ##happy <unk> <unk> <unk> <unk>"
    )
    assert cut.decode("the cat ##s sat un ##happy <unk>") == "the cats sat unhappy [UNK]"
    assert [cut.is_beginning_of_word(one) for one in ("un", "##happy", "</s>")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("lower", [True, False])
def test_case_is_as_the_settings_say(wordpiece, tmp_path, lower):
    folder = config(tmp_path / "x", "bert")
    (folder / "vocab.txt").write_bytes((wordpiece / "vocab.txt").read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lower}))
    assert open_tokenizer(str(folder)).encode("The cat") == ("the" if lower else "<unk>") + " cat"


def whole(
    opened: PretrainedTokenizer, folder: Path, kind: str, change: Callable[[Any], None]
) -> Path:
    """A folder with the same tokenizer as ``tokenizer.json``."""
    config(folder, kind)
    tokenizer = tokenizers.Tokenizer.from_str(opened.tokenizer.to_str())
    change(tokenizer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_cutting_off_and_filling_up_are_switched_off(opened, tmp_path):
    def shorten(tokenizer: Any) -> None:
        tokenizer.enable_truncation(2)
        tokenizer.enable_padding(length=9, pad_token="[PAD]")
        tokenizer.add_special_tokens(["[MASK]", "[UNK]"])

    folder = whole(opened["hf_wordpiece"], tmp_path / "x", "bert", shorten)
    found = open_tokenizer(str(folder))
    assert isinstance(found, HfWordpiece)
    assert found.encode("the cat sat on a mat") == "the cat sat on a mat"
    assert "[MASK]" not in found.encode("[MASK]")


@given(TEXT)
def test_gpt2_gives_every_text_back(opened, text):
    cut = opened["hf_gpt2_bpe"]
    assert isinstance(cut, HfGpt2Bpe)
    assert cut.decode(cut.encode(text)) == text


def test_gpt2_knows_where_words_begin(opened):
    cut = opened["hf_gpt2_bpe"]
    assert cut.encode("the cat").split()[-1].startswith("Ġ")
    assert [cut.is_beginning_of_word(one) for one in ("Ġcat", "at", "<unk>")] == [True, False, True]


@given(TEXT)
def test_sentencepiece_decodes_as_the_model_does(opened, text):
    cut = opened["hf_sentencepiece"]
    assert isinstance(cut, HfSentencepiece)
    assert cut.decode(cut.encode(text)) == cut.tokenizer.decode(cut.tokenizer.encode(text))


def test_sentencepiece_writes_extra_ids_as_they_are(opened):
    cut = opened["hf_sentencepiece"]
    assert cut.decode("▁cat <extra_id_3> ▁a") == "cat <extra_id_3> a"
    assert [cut.is_beginning_of_word(one) for one in ("▁cat", "c")] == [True, False]


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXT)
def test_whatever_is_cut_is_in_the_dictionary(opened, name, text):
    cut = opened[name]
    line, symbols = cut.encode(text), cut.vocabulary.dictionary()
    words = line.split()
    assert line == " ".join(words) and set(words) <= set(symbols.indices)
    assert not {"<s>", "</s>", "<pad>"} & set(words)
    indices = symbols.encode_line(line, add_if_not_exist=False, append_eos=False)
    assert cut.vocabulary.rows_of(symbols)[indices.long()].tolist() == cut.ids(text)


@pytest.mark.parametrize("name", NAMES)
def test_symbols_that_are_unknown_are_written_and_not_dropped(opened, name):
    cut = opened[name]
    assert cut.decode("") == ""
    assert cut.decode("<unk>") == cut.decode("<<unk>>") == cut.decode("madeupword0001") != ""


def test_unigram_models_without_their_sentencepiece_file_work(opened, pieces, tmp_path):
    model = sentencepiece.SentencePieceProcessor(model_file=str(pieces / "spiece.model"))
    scores = [(model.id_to_piece(i), model.get_score(i)) for i in range(len(model))]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(scores, unk_id=2))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    folder = config(tmp_path / "x", "t5")
    tokenizer.save(str(folder / "tokenizer.json"))
    found = build("hf_sentencepiece", folder)
    line = found.encode("the cat sat")
    assert line == opened["hf_sentencepiece"].encode("the cat sat")
    assert found.decode(line) == "the cat sat"


@pytest.mark.parametrize(
    "wanted, given_, kind",
    [
        ("hf_wordpiece", "gpt2", "BPE"),
        ("hf_gpt2_bpe", "wordpiece", "WordPiece"),
        ("hf_sentencepiece", "gpt2", "BPE"),
    ],
)
def test_another_kind_of_tokenizer_is_named_with_its_own_option(request, wanted, given_, kind):
    right = {"gpt2": "hf_gpt2_bpe", "wordpiece": "hf_wordpiece"}[given_]
    with pytest.raises(UserError, match=f"is a {kind}, not for --bpe {wanted}; give --bpe {right}"):
        build(wanted, request.getfixturevalue(given_))


def test_files_that_are_broken_are_named(gpt2, pieces, wordpiece, opened, tmp_path):
    folder = config(tmp_path / "a", "bart")
    (folder / "vocab.json").write_bytes((gpt2 / "vocab.json").read_bytes())
    with pytest.raises(UserError, match="no merges.txt beside its vocab.json"):
        build("hf_gpt2_bpe", folder)
    (folder / "merges.txt").write_text("#version: 0.2\nq\n")
    with pytest.raises(UserError, match="vocab.json and merges.txt make no tokenizer"):
        build("hf_gpt2_bpe", folder)
    folder = config(tmp_path / "b", "t5")
    (folder / "spiece.model").write_bytes((pieces / "spiece.model").read_bytes()[:50])
    with pytest.raises(UserError, match="spiece.model: not a sentencepiece model"):
        build("hf_sentencepiece", folder)
    folder = whole(opened["hf_wordpiece"], tmp_path / "c", "bert", lambda tokenizer: None)
    found = json.loads((folder / "tokenizer.json").read_text())
    found["decoder"] = {"type": "Nothing"}
    (folder / "tokenizer.json").write_text(json.dumps(found))
    with pytest.raises(UserError, match="tokenizer.json: not a tokenizer that can be read"):
        build("hf_wordpiece", folder)
    found["model"]["type"] = "WordLevel"
    (folder / "tokenizer.json").write_text(json.dumps(found))
    with pytest.raises(UserError, match="its tokenizer is of the type 'WordLevel'; known are Word"):
        build("hf_wordpiece", folder)


def test_a_missing_library_is_named_with_the_way_to_get_it(wordpiece, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UserError, match=r"tokenizers: pip install 'lev_plugins\[pretrained\]'"):
        build("hf_wordpiece", wordpiece)


def test_a_folder_without_a_model_is_enough_to_cut_text(wordpiece):
    assert not (wordpiece / "model.safetensors").exists() and "hidden_size" in BERT_CONFIG
    assert build("hf_wordpiece", wordpiece).encode("a cat") == "a cat"
