"""A pre-trained model as backbone: trained, and used where its weights have gone."""

import json
import shutil
from pathlib import Path

import checkpoints
from states import state

LANGUAGES = "--source-lang noisy --target-lang clean"
TRAIN = (
    f"fairseq-train . {LANGUAGES} --arch gated_bert_minilm --bpe hf --hf-directory bert "
    "--criterion label_smoothed_cross_entropy --optimizer backbone_adam --backbone-lr-ratio 0.1 "
    "--lr 0.01 --batch-size 8 --max-update 2 --num-workers 0 --cpu --save-dir run --backbone bert "
    "--max-source-positions 9 --max-target-positions 9 --no-epoch-checkpoints"
)
LINES = ["the cat sat", "a cat sat on the mat", "the mat", "unhappy cats sat", "a mat", "on a mat"]


def test_a_checkpoint_needs_the_backbones_weights_no_more(commands, tmp_path):
    folder = tmp_path / "data"
    checkpoints.bert(folder / "bert")
    commands.ok("python -m lev_plugins backbone bert --dict dict.noisy.txt", folder)
    shutil.copy(folder / "dict.noisy.txt", folder / "dict.clean.txt")
    for name in ("train.noisy", "train.clean", "valid.noisy", "valid.clean"):
        (folder / name).write_text("".join(f"{line}\n" for line in LINES * 4))
    result = commands.plugin(TRAIN, folder, task="noisy_translation")
    assert f"sizes are those of {folder}/bert: {{" in result.out, result.err
    moved = folder.rename(tmp_path / "elsewhere")
    (moved / "bert" / "model.safetensors").unlink()
    trained = moved / "run" / "checkpoint_last.pt"
    result = commands.plugin(
        f"fairseq-interactive {moved} {LANGUAGES} --path {trained} --cpu --beam 2 "
        f"--bpe hf --hf-directory {moved / 'bert'} --max-len-b 8",
        tmp_path,
        stdin="the cat\n\nunhappy mat\n",
        task="noisy_translation",
    )
    assert sorted(result.lines("H")) == [0, 1, 2], result.err
    model = state(trained)["cfg"]["model"]
    assert Path(model["backbone"]).is_absolute()
    plan = json.loads(model["backbone_plan"])
    assert plan["kind"] == "bert" and plan["plan"]["dim"] == checkpoints.DIM
