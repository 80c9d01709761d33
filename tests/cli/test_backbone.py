"""lev-backbone: what a pre-trained model is, and its dictionary."""

from pathlib import Path

import checkpoints
import pytest
from fairseq.data import Dictionary
from refusals import refusal

from lev_plugins.cli.backbone import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoints.bert(tmp_path / "bert")
    Path("text").write_text("The cats\n\nunhappy  mat\n")


def test_the_dictionary_and_the_cut_text_go_together_and_what_is_there_is_said(capsys):
    main("bert --dict dict.txt --input text --output cut".split())
    assert Path("cut").read_text() == "the cat ##s\n\nun ##happy mat\n"
    dictionary = Dictionary.load("dict.txt")
    assert len(dictionary) == len(checkpoints.BERT_TOKENS)
    assert (
        dictionary.unk()
        not in dictionary.encode_line("un ##happy mat", add_if_not_exist=False).tolist()
    )
    captured = capsys.readouterr()
    model, unused, tokenizer = captured.err.splitlines()
    assert captured.out == "" and model.startswith("bert: ") and '"dim": 8' in model
    assert "pooler.dense.bias" in unused and "pooler.dense.weight" in unused
    assert tokenizer.endswith("--bpe hf --hf-directory bert")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("bert --input text", "--output"),
        ("bert --input text --output text", "--output"),
        ("bert --input gone --output out", "gone"),
        ("bert --dict nowhere/dict.txt", "nowhere/dict.txt"),
        ("broken --dict dict.txt", "model.safetensors"),
    ],
)
def test_bad_arguments_and_a_broken_model_are_named_and_write_nothing(words, message):
    broken = checkpoints.bert(Path("broken")) / "model.safetensors"
    broken.write_bytes(broken.read_bytes()[:-1])
    assert message in refusal(main, *words.split())
