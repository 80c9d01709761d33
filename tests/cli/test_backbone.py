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


@pytest.mark.parametrize(
    "kind, bpe", [("bert", "hf_wordpiece"), ("bart", "hf_gpt2_bpe"), ("t5", "hf_sentencepiece")]
)
def test_kinds_are_named_with_their_tokenizers(tmp_path, capsys, kind, bpe):
    folder = getattr(checkpoints, kind)(tmp_path / kind)
    main([str(folder), "--dict", str(tmp_path / "dict.txt")])
    out, said = capsys.readouterr()
    assert out == "" and f"{folder}: {kind.upper()} (" in said and f"--bpe {bpe} " in said
    assert (tmp_path / "dict.txt").is_file()


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
