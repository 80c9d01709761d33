"""A pre-trained model as backbone: trained, and used where its weights have gone."""

import json
import shutil
from pathlib import Path

import checkpoints
import pytest
from states import state

LANGUAGES = "--source-lang noisy --target-lang clean"
TRAIN = (
    f"fairseq-train . {LANGUAGES} --arch gated_bert_minilm --bpe hf --hf-directory bert "
    "--criterion label_smoothed_cross_entropy --optimizer backbone_adam --backbone-lr-ratio 0.1 "
    "--lr 0.01 --batch-size 8 --max-update 2 --num-workers 0 --cpu --save-dir run "
    "--max-source-positions 9 --max-target-positions 9 --no-epoch-checkpoints"
)
LINES = ["the cat sat", "a cat sat on the mat", "the mat", "unhappy cats sat", "a mat", "on a mat"]


@pytest.fixture(scope="module")
def folder(commands, tmp_path_factory):
    """Data cut by a tiny BERT's tokenizer, and the BERT."""
    folder = tmp_path_factory.mktemp("backbone")
    checkpoints.bert(folder / "bert")
    for split in ("train", "valid"):
        for side in ("noisy", "clean"):
            (folder / f"{split}.{side}").write_text("".join(f"{line}\n" for line in LINES * 4))
    commands.ok("python -m lev_plugins backbone bert --dict dict.txt", folder)
    for side in ("noisy", "clean"):
        shutil.copy(folder / "dict.txt", folder / f"dict.{side}.txt")
    return folder


@pytest.fixture(scope="module")
def trained(commands, folder):
    """Two updates, with a smaller learning rate for what was loaded."""
    result = commands.plugin(f"{TRAIN} --backbone bert", folder, task="noisy_translation")
    assert result.code == 0, result.err
    said = f"sizes are those of {folder}/bert: {{"
    assert said in result.out
    return folder / "run" / "checkpoint_last.pt"


def test_a_checkpoint_needs_the_backbones_weights_no_more(commands, folder, trained, tmp_path):
    here = tmp_path / "elsewhere"
    shutil.copytree(folder, here, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "bert").rename(folder / "gone")
    try:
        result = commands.plugin(
            f"fairseq-interactive {here} {LANGUAGES} --path {trained} --cpu --beam 2 "
            f"--bpe hf --hf-directory {here / 'bert'} --max-len-b 8",
            folder,
            stdin="the cat\n\nunhappy mat\n",
            task="noisy_translation",
        )
    finally:
        (folder / "gone").rename(folder / "bert")
    assert result.code == 0, result.err
    assert sorted(result.lines("H")) == [0, 1, 2]
    model = state(trained)["cfg"]["model"]
    assert Path(model["backbone"]).is_absolute()
    plan = json.loads(model["backbone_plan"])
    assert plan["kind"] == "bert" and plan["plan"]["dim"] == checkpoints.DIM


def test_a_directory_that_is_none_is_one_error(commands, folder):
    result = commands.plugin(f"{TRAIN} --backbone nowhere", folder, task="noisy_translation")
    assert "nowhere" in result.error
