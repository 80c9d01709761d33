"""lev-backbone: what a pre-trained model is, and its dictionary."""

import json
from pathlib import Path

import checkpoints
import pytest
from fairseq.data import Dictionary

from lev_plugins.cli.backbone import main
from lev_plugins.errors import UserError


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


def test_a_broken_model_writes_nothing(folder, tmp_path):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="damaged or cut short"):
        main([str(folder), "--dict", str(tmp_path / "dict.txt")])
    assert not (tmp_path / "dict.txt").exists()


def test_bad_arguments_are_named(folder, tmp_path):
    (tmp_path / "text").write_text("a\n")
    for flags, said in (
        ("--input {0}/text", "--input and --output go together"),
        ("--input {0}/text --output {0}/text", "--output would write over --input"),
        ("--input {0}/gone --output {0}/out", "gone: cannot be read"),
        ("--dict {0}/nowhere/dict.txt", "nowhere/dict.txt: cannot be written"),
    ):
        with pytest.raises(UserError, match=said):
            main([str(folder), *flags.format(tmp_path).split()])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bert", "text"]
    assert json.loads((folder / "config.json").read_text()) == checkpoints.BERT_CONFIG
