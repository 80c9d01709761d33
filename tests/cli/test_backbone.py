"""lev-backbone: what a pre-trained model is, and its dictionary."""

from pathlib import Path

import checkpoints
import pytest
from fairseq.data import Dictionary
from refusals import refuses

from lev_plugins.cli.backbone import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return checkpoints.bert(tmp_path / "bert")


def test_the_dictionary_and_the_cut_text_go_together(folder, tmp_path, capsys):
    text, cut, symbols = (tmp_path / name for name in ("text", "cut", "dict.txt"))
    text.write_text("The cats\n\nunhappy  mat\n")
    arguments = ["--dict", str(symbols), "--input", str(text), "--output", str(cut)]
    main([str(folder), *arguments])
    assert cut.read_text() == "the cat ##s\n\nun ##happy mat\n"
    found = Dictionary.load(str(symbols))
    assert len(found) == len(checkpoints.BERT_TOKENS)
    assert 3 not in found.encode_line("un ##happy mat", add_if_not_exist=False).tolist()
    assert capsys.readouterr().out == ""


def test_what_is_in_the_folder_is_said_on_standard_error(folder, capsys):
    main([str(folder)])
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0].startswith(f'{folder}: {{"kind": "bert", "mask": "[MASK]", "plan": {{"dim": 8')
    assert "pooler.dense.bias" in lines[1] and "pooler.dense.weight" in lines[1]
    assert lines[2] == f"tokenizer: --bpe hf --hf-directory {folder}"


def test_bad_arguments_and_a_broken_model_are_named_and_write_nothing(folder, tmp_path):
    (tmp_path / "text").write_text("a\n")
    broken = checkpoints.bert(tmp_path / "broken") / "model.safetensors"
    broken.write_bytes(broken.read_bytes()[:-1])
    for words, said in (
        ("bert --input text", "--output"),
        ("bert --input text --output text", "--output"),
        ("bert --input gone --output out", "gone"),
        ("bert --dict nowhere/dict.txt", "nowhere/dict.txt"),
        ("broken --dict dict.txt", "model.safetensors"),
    ):
        arguments = [w if w[0] == "-" else str(tmp_path / w) for w in words.split()]
        with refuses(said):
            main(arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bert", "broken", "text"]
