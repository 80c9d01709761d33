"""lev-backbone: what a pre-trained model is, and its dictionary."""

from pathlib import Path

import checkpoints
import pytest
from fairseq.data import Dictionary
from refusals import refusal
from tables import table

from lev_plugins.cli.backbone import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoints.bert(tmp_path / "bert")
    Path("text").write_text("The cats\n\nunhappy  mat\n")


def test_the_dictionary_and_the_cut_text_go_together_and_what_is_there_is_said(capsys):
    main("bert --dict dict.txt --input text --output cut".split())
    assert Path("cut").read_text() == "the cat ##s\n\nun ##happy mat\n"
    dictionary = Dictionary.load("dict.txt")
    assert len(dictionary) == len(checkpoints.BERT_TOKENS)
    tokens = dictionary.encode_line("un ##happy mat", add_if_not_exist=False)
    assert dictionary.unk() not in tokens
    err = capsys.readouterr().err
    assert "bert: " in err and '"dim": 8' in err and "pooler.dense.weight" in err


@pytest.mark.parametrize("words, message", table("cli/refused.tsv", "backbone"))
def test_bad_arguments_are_named_and_write_nothing(words, message):
    """Damaged models: tests/test_damaged_files.py."""
    assert message in refusal(main, *words.split())
