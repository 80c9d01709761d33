"""Training ``pbd_transformer`` with fairseq's own task: stopped, resumed, shared out, refused."""

import re
import shutil
import socket

import pytest
import torch
from pbd_corpus import MODEL, Corrector, prepared

import lev_plugins  # noqa: F401  (torch may then read checkpoints)

RANDOM = "--dropout 0.3 --attention-dropout 0.1 --disable-validation"
# Plain gradient descent: differences stay as small as they arise.
PLAIN = (
    "--dropout 0 --attention-dropout 0 --optimizer sgd --lr 0.5 --batch-size 8 --disable-validation"
)


@pytest.fixture(scope="module")
def corrector(commands, tmp_path_factory) -> Corrector:
    return prepared(commands, tmp_path_factory.mktemp("pbd_training"))


@pytest.fixture(scope="module")
def whole(corrector):
    """A training of seven updates, with everything random."""
    corrector.done(corrector.train(f"{RANDOM} --max-update 7 --save-dir whole"))
    return corrector.folder / "whole" / "checkpoint_last.pt"


def parameters(path):
    return torch.load(path, weights_only=True)["model"]


def tensors(path):
    """All tensors of a training's state: the model and what the optimizer remembers."""
    state = torch.load(path, weights_only=True)
    found = dict(state["model"])
    for number, moments in state["last_optimizer_state"]["state"].items():
        found |= {f"{number}.{name}": value for name, value in moments.items()}
    return {name: value for name, value in found.items() if torch.is_tensor(value)}


def test_a_training_resumed_is_the_one_that_never_stopped(corrector, whole):
    corrector.done(corrector.train(f"{RANDOM} --max-update 4 --save-dir parts"))
    result = corrector.done(corrector.train(f"{RANDOM} --max-update 7 --save-dir parts"))
    assert "checkpoint_last.pt (epoch 1 @ 4 updates)" in result.out
    first, second = (tensors(one) for one in (whole, corrector.folder / "parts/checkpoint_last.pt"))
    assert first.keys() == second.keys() and len(first) > 50
    assert not [name for name in first if not torch.equal(first[name], second[name])]


def test_no_training_sentence_is_left_out(corrector, whole):
    """259 sentences, the longest of which fairseq alone would never show."""
    log = corrector.done(
        corrector.train(f"{RANDOM} --max-epoch 1 --no-save --required-batch-size-multiple 8")
    ).out
    (epoch,) = re.findall(r"\| train \| epoch 001 .*", log)
    batches, sentences = (
        float(re.search(rf"{name} ([0-9.]+)", epoch)[1]) for name in ("num_updates", "bsz")
    )
    assert batches * sentences == pytest.approx(259, abs=1)


def test_a_training_starts_from_the_parameters_that_it_is_given(corrector, whole):
    flags = f"--finetune-from-model {whole} --lr 0 --max-update 1 --save-dir still"
    corrector.done(corrector.train(f"{RANDOM} {flags}"))
    made = parameters(corrector.folder / "still" / "checkpoint_last.pt")
    expected = parameters(whole)
    assert made.keys() == expected.keys()
    assert all(torch.equal(made[name], value) for name, value in expected.items())


def test_two_processes_train_what_one_does(corrector, root):
    one, two = corrector.folder / "one", corrector.folder / "two"
    corrector.done(corrector.train(f"{PLAIN} --update-freq 2 --max-update 5 --save-dir {one}"))
    flags = "--distributed-backend gloo --distributed-world-size 2 --ddp-backend legacy_ddp"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = corrector.train(f"{PLAIN} {flags} --max-update 5 --save-dir {two} --cpu")
    words = [*command.split(), "--user-dir", "lev_plugins", "--task", "translation"]
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    started = [
        corrector.commands.start(
            words, root, environ={**told, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        )
        for rank in range(2)
    ]
    for result in [corrector.commands.finish(rank) for rank in started]:
        assert result.code == 0, result.err
    first, second = (parameters(folder / "checkpoint_last.pt") for folder in (one, two))
    assert first.keys() == second.keys() and len(first) > 20
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, rtol=1e-5, atol=1e-5)


CONFIG = """
common: {{cpu: true, seed: 1, log_format: simple}}
task: {{_name: translation, data: {data}, source_lang: src, target_lang: tgt}}
model:
  _name: pbd_transformer
  encoder_embed_dim: 16
  encoder_ffn_embed_dim: 16
  encoder_layers: 2
  encoder_attention_heads: 2
  encoder_learned_pos: true
  copied_states: output
criterion: {{_name: label_smoothed_cross_entropy, label_smoothing: 0.1}}
optimizer: {{_name: adam}}
lr_scheduler: {{_name: fixed}}
dataset: {{batch_size: 32, num_workers: 0}}
optimization: {{max_update: 3, lr: [0.01]}}
checkpoint: {{save_dir: {folder}/ck, no_epoch_checkpoints: true}}
"""


def test_hydra_trains_it(corrector, tmp_path, root):
    (tmp_path / "pbd.yaml").write_text(CONFIG.format(data=corrector.data, folder=tmp_path))
    result = corrector.commands(
        f"fairseq-hydra-train --config-dir {tmp_path} --config-name pbd "
        f"common.user_dir={root}/lev_plugins",
        tmp_path,
    )
    assert result.code == 0, result.out + result.err
    saved = torch.load(tmp_path / "ck" / "checkpoint_last.pt", weights_only=True)
    assert str(saved["cfg"]["model"]["copied_states"]) == "output"
    assert saved["model"]["encoder.embed.positions.weight"].shape == (1026, 16)
    assert {"encoder.norm.weight", "decoder.norm.weight"}.isdisjoint(saved["model"]), "post-norm"


# mistakes -------------------------------------------------------------------------------------


def refused(corrector, more, model=MODEL, data=None):
    error = corrector(corrector.train(f"{more} --max-update 1 --save-dir no", model, data)).error
    assert not list((corrector.folder / "no").glob("*")), "something was written"
    return error


def test_dictionaries_that_differ_are_refused_while_one_table_is_wanted(corrector, tmp_path):
    shutil.copytree(corrector.data, tmp_path / "bin")
    with open(tmp_path / "bin" / "dict.tgt.txt", "a") as dictionary:
        dictionary.write("zzz 1\n")
    error = refused(corrector, "", data=tmp_path / "bin")
    assert error.startswith("source and target have different dictionaries (")
    assert "--joined-dictionary" in error and "--no-parameter-sharing" in error


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--decoder-layers 2", "--encoder-layers 1 and --decoder-layers 2 differ"),
        ("--encoder-attention-heads 3", "3 does not divide --encoder-embed-dim 32"),
    ],
)
def test_options_that_cannot_be(corrector, flags, said):
    assert said in refused(corrector, flags)


def test_a_checkpoint_without_sharing_is_refused_by_a_model_that_shares(corrector):
    flags = "--max-update 1 --disable-validation --save-dir apart --share-all-embeddings"
    corrector.done(corrector.train(f"{flags} --no-parameter-sharing"))
    apart = corrector.folder / "apart" / "checkpoint_last.pt"
    error = refused(corrector, f"--finetune-from-model {apart}")
    assert "which this model shares" in error and "--no-parameter-sharing" in error


def test_a_training_without_a_sentence_ends_at_once(corrector):
    """fairseq alone ends in a traceback, and, without its fault, never."""
    assert "a data set has no sentence" in refused(corrector, "--max-source-positions 0")
