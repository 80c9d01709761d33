"""The plug-in is found wherever its folder lies, and hydra's commands can use it."""

import shutil
import signal

import pytest
import torch

import lev_plugins  # noqa: F401  (torch may then read checkpoints)

SHORT = "--max-update 2 --disable-validation"


def decoded(commands, corpus, user_dir, checkpoint, cwd):
    """What fairseq-generate writes with the plug-in taken from ``user_dir``."""
    command = corpus.generate("--gen-subset test1", checkpoint)
    words = f"{command} --user-dir {user_dir} --task translation_edit"
    result = commands(words, cwd)
    assert result.code == 0, result.err
    return result.texts("H")


@pytest.mark.parametrize("place", ["relative", "absolute", "renamed"])
def test_training_and_generating_find_the_plug_in(commands, triples, tmp_path, root, place):
    cwd, user_dir = tmp_path, root / "lev_plugins"
    if place == "relative":
        cwd, user_dir = root, "lev_plugins"
    elif place == "renamed":
        user_dir = "my_edits"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / "lev_plugins", tmp_path / "my_edits", ignore=ignored)
        text = triples.folder
        result = commands(
            f"python -m my_edits.cli.preprocess {triples.flags} --joined-dictionary --trainpref "
            f"{text}/train --destdir {tmp_path}/bin",
            tmp_path,
            environ={"PYTHONPATH": str(tmp_path)},
        )
        assert result.code == 0, result.err
        same = ("train.src-tgt.mt.bin", "dict.tgt.txt")
        for name in same:
            assert (tmp_path / "bin" / name).read_bytes() == (triples.data / name).read_bytes()
    command = triples.train(f"{SHORT} --save-dir {tmp_path}/ck")
    result = commands(f"{command} --user-dir {user_dir} --task translation_edit", cwd)
    assert result.code == 0, result.err
    checkpoint = tmp_path / "ck" / "checkpoint_last.pt"
    here = decoded(commands, triples, user_dir, triples.checkpoint, cwd)
    assert len(set(here)) == 3
    assert len(decoded(commands, triples, root / "lev_plugins", checkpoint, "/")) == 3


CONFIG = """
common: {{cpu: true, seed: 1, log_format: simple}}
task:
  _name: translation_edit
  data: {data}
  source_lang: src
  target_lang: tgt
  draft_lang: mt
  alpha: 0.8
model:
  _name: levenshtein_editor
  encoder_embed_dim: 16
  encoder_ffn_embed_dim: 16
  encoder_layers: 1
  encoder_attention_heads: 2
  decoder_embed_dim: 16
  decoder_ffn_embed_dim: 16
  decoder_layers: 1
  decoder_attention_heads: 2
  share_all_embeddings: true
  weight_sharing: plh-tok
criterion: {{_name: edit_policy_loss, label_smoothing: 0.05}}
optimizer: {{_name: adam}}
lr_scheduler: {{_name: fixed}}
dataset: {{batch_size: 32, num_workers: 0}}
optimization: {{max_update: 3, lr: [0.01]}}
checkpoint: {{save_dir: {folder}/ck, no_epoch_checkpoints: true}}
"""


def test_hydra_trains_from_a_file_and_options(commands, triples, tmp_path, root):
    (tmp_path / "edits.yaml").write_text(CONFIG.format(data=triples.data, folder=tmp_path))
    result = commands(
        f"fairseq-hydra-train --config-dir {tmp_path} --config-name edits "
        f"common.user_dir={root}/lev_plugins +task.beta=0.7 optimization.max_update=4",
        tmp_path,
    )
    assert result.code == 0, result.out + result.err
    log = "".join(path.read_text() for path in tmp_path.rglob("*.log"))
    assert "num_updates: 4 >= max_update: 4" in result.out + log
    checkpoint = tmp_path / "ck" / "checkpoint_last.pt"
    generated = decoded(commands, triples, root / "lev_plugins", checkpoint, tmp_path)
    assert len(generated) == 3


def test_every_job_of_a_sweep_has_a_best_checkpoint(commands, triples, tmp_path, root):
    (tmp_path / "edits.yaml").write_text(CONFIG.format(data=triples.data, folder=tmp_path))
    result = commands(
        f"fairseq-hydra-train -m --config-dir {tmp_path} --config-name edits "
        f"common.user_dir={root}/lev_plugins optimization.max_update=6,1 checkpoint.patience=1 "
        f"checkpoint.save_dir={tmp_path}/${{hydra:job.num}} hydra.sweep.dir={tmp_path}/jobs",
        tmp_path,
    )
    assert result.code == 0, result.out + result.err
    losses = [
        torch.load(tmp_path / job / "checkpoint_best.pt", weights_only=True)["extra_state"]["best"]
        for job in "01"
    ]
    assert losses[0] < losses[1], "the second job is worse than the first"


def test_the_first_job_of_hydra_saves_on_sigterm_and_keeps_its_patience(
    commands, triples, tmp_path, root
):
    """It imports the package within ``main``."""
    (tmp_path / "edits.yaml").write_text(CONFIG.format(data=triples.data, folder=tmp_path))
    result = commands(
        f"fairseq-hydra-train --config-dir {tmp_path} --config-name edits checkpoint.patience=9 "
        f"common.user_dir={root}/tests/commands/cut_short",
        tmp_path,
        environ={"ASKED": "SIGTERM:train_step:2", "PYTHONPATH": str(root)},
    )
    last = tmp_path / "ck" / "checkpoint_last.pt"
    assert result.code == 128 + signal.SIGTERM
    assert f"ends after 2 updates; {last} is saved" in result.err
    assert "patience" in torch.load(last, weights_only=True)["extra_state"]["carried_over"]


def test_hydra_refuses_what_the_command_line_refuses(commands, triples, tmp_path, root):
    (tmp_path / "edits.yaml").write_text(CONFIG.format(data=triples.data, folder=tmp_path))
    result = commands(
        f"fairseq-hydra-train --config-dir {tmp_path} --config-name edits "
        f"common.user_dir={root}/lev_plugins task.alpha=1.5",
        tmp_path,
    )
    assert "alpha 1.5 is outside [0, 1]" in result.error
    assert not list(tmp_path.rglob("*.pt"))
