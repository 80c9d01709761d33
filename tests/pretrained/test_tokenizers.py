"""Vocabularies as dictionaries, and ``--bpe hf``. That it cuts as its model: test_parity.py."""

import json
import pickle
from argparse import Namespace
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import tokenizers
from checkpoints import BERT_TOKENS, vocabulary_of
from fairseq.data import Dictionary
from fairseq.data.encoders import build_bpe
from plain_files import put
from refusals import refuses
from test_parity import SENTENCES, cut_alike

from lev_plugins.pretrained import Vocabulary
from lev_plugins.pretrained.vocabulary import PretrainedTokenizer, PretrainedTokenizerConfig

LINES = ["the cat sat on the mat", "Unhappy cats sit, and so do the mats!", "a cat is a cat"] * 4
KINDS = ["bert", "bart", "t5"]


def config(folder: Path, kind: str) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """WordPiece, pairs of bytes and Unigram."""
    place = tmp_path_factory.mktemp("tokenizers")
    named = {kind: config(place / kind, kind) for kind in KINDS}
    checkpoints.tokenizer(named["bert"], "bert")
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(LINES, vocab_size=300, special_tokens=special, show_progress=False)
    trained.save(str(named["bart"] / "tokenizer.json"))
    letters = dict.fromkeys("▁thecatson</s>unkpadxri_0[MASK]m")
    checkpoints.unigram(named["t5"], ["<pad>", "</s>", "<unk>", *letters, "▁the", "<extra_id_0>"])
    return named


@pytest.fixture(scope="module")
def opened(folders):
    return {
        name: PretrainedTokenizer(PretrainedTokenizerConfig(hf_directory=str(folder)))
        for name, folder in folders.items()
    }


def build(folder: Path | None) -> Any:
    """As fairseq's commands do it."""
    return build_bpe(Namespace(bpe="hf", hf_directory=folder and str(folder)))


def test_fairseqs_symbols_stand_for_the_checkpoints_own(folders):
    vocabulary = vocabulary_of(folders["bert"])
    symbols = vocabulary.dictionary()
    special = [BERT_TOKENS.index(token) for token in ("[CLS]", "[PAD]", "[SEP]", "[UNK]")]
    assert vocabulary.rows_of(symbols.symbols)[:4].tolist() == special
    assert symbols.symbols[4:] == ["[unused0]", "[MASK]", *checkpoints.WORDS]
    assert vocabulary.mask == "[MASK]"


def test_the_mask_of_an_mt5_is_its_first_extra_id(tmp_path):
    folder = config(tmp_path / "mt5", "mt5")
    checkpoints.unigram(folder, ["<pad>", "</s>", "<unk>", "▁a", "▁<extra_id_0>"])
    assert vocabulary_of(folder).mask == "▁<extra_id_0>"


def test_tokens_that_a_line_cannot_hold_are_written_so_that_it_can(tmp_path):
    odd = ["a\u3000b", "\u2028", "\x85", "", "<s>", "</s>", "x y"]
    rows = {token: row for row, token in enumerate([*BERT_TOKENS, *odd])}
    specials = {"<s>": "[CLS]", "<pad>": "[PAD]", "</s>": "[SEP]", "<unk>": "[UNK]"}
    vocabulary = Vocabulary("x", rows, specials)
    path = put(tmp_path / "dict.txt", (f"{symbol} 1" for symbol in vocabulary.ordinary()))
    dictionary = Dictionary.load(str(path))
    assert sorted(vocabulary.rows_of(dictionary.symbols).tolist()) == list(range(len(rows)))
    line = " ".join(vocabulary.symbols[token] for token in odd)
    indices = dictionary.encode_line(line, add_if_not_exist=False, append_eos=False)
    assert len(indices) == len(odd) and indices.min() > 3


def test_cutting_off_and_filling_up_are_switched_off(opened, tmp_path):
    folder = config(tmp_path / "x", "bert")
    tokenizer = tokenizers.Tokenizer.from_str(opened["bert"].decoder.to_str())
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9, pad_token="[PAD]")
    tokenizer.save(str(folder / "tokenizer.json"))
    assert build(folder).encode("the cat sat on a mat") == "the cat sat on a mat"


@pytest.mark.parametrize("name", KINDS)
def test_a_line_is_cut_and_joined_as_transformers_does_it(transformers, folders, opened, name):
    cut_alike(
        opened[name],
        transformers.AutoTokenizer.from_pretrained(folders[name]),
        [*LINES[:3], *SENTENCES],
    )


@pytest.mark.parametrize("name", KINDS)
def test_a_typed_symbol_is_text_and_unknown_ones_are_written_and_not_dropped(opened, name):
    cut = opened[name]
    known = set(cut.vocabulary.dictionary().symbols)
    in_a_worker = pickle.loads(pickle.dumps(cut))
    for typed in ("</s>", "<pad>", "<unk>", "<extra_id_0>", "[MASK]", "<mask>", "\u3000 x\u2028"):
        text = f"the {typed} cat"
        symbols = cut.encode(text)
        assert in_a_worker.encode(text) == symbols
        assert set(symbols.split()) <= known - {"<s>", "</s>", "<pad>", cut.vocabulary.mask}
        assert name == "bert" or not typed.isascii() or cut.decode(symbols) == text
    assert cut.decode("") == ""
    assert cut.decode("<unk>") == cut.decode("<<unk>>") == cut.decode("madeupword0001") != ""


def test_a_folder_has_to_be_given():
    with refuses("--bpe hf", "--hf-directory"):
        build(None)
