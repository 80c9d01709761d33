"""What all examples have in common: their scripts' refusals, and their configurations."""

import dataclasses
import re
from pathlib import Path

import checkpoints
import pytest
import torch
from example_scripts import EXAMPLES, ROOT, refusal
from fairseq import criterions, models, tasks
from omegaconf import OmegaConf
from plain_files import put

import lev_plugins
from lev_plugins.cli import enct5_prepare

# ---------------------------------------------------------------- scripts

#: a command | how its one error line begins, a regular expression
REFUSED = """
classification/prepare.sh tagging | what, from where, to where
VOCAB=few classification/prepare.sh tagging {tmp} {tmp}/work | VOCAB=few
classification/train.sh {tmp} | no data in
KIND=tagging classification/train.sh {work} | KIND=tagging: .* was prepared for classification
denoising/prepare.sh gone {tmp}/work | no folder gone
CLEAN=tok denoising/prepare.sh {tmp} {tmp}/work | .* lacks train.tok
denoising/captions.sh {tmp} | two folders are needed
denoising/train.sh {tmp} | a folder and gates are needed
VARIANT=mine denoising/train.sh {work} all | VARIANT=mine
denoising/translate.sh {tmp} | a folder and a system are needed
denoising/evaluate_translation.sh {work} | no data in
post_editing/prepare.sh gone {tmp}/work | no folder gone
VOCABULARY=many post_editing/prepare.sh {tmp} {tmp}/work | VOCABULARY=many
post_editing/train.sh gone | no folder gone
post_editing/generate.sh {tmp} | no data in
SUBSET=train post_editing/generate.sh {work} | SUBSET=train: test or
post_editing/synthetic.sh {tmp} | two folders and a bitext are needed
TIMES=0 post_editing/synthetic.sh {tmp} b {tmp}/o | TIMES=0
post_editing/weak_system.sh {tmp} | two folders are needed
spelling_and_ocr/prepare_ocr.sh gone {tmp}/work | no folder gone
WORDS=x spelling_and_ocr/prepare_ocr.sh {tmp} {tmp}/work | WORDS=x
spelling_and_ocr/train_ocr.sh {tmp} | a folder and a system are needed
spelling_and_ocr/evaluate_ocr.sh {work} --systems pbd | --systems pbd: no checkpoints
UPDATES=0 spelling_and_ocr/train_ocr.sh {work} ar | UPDATES=0
translation/prepare.sh gone {tmp}/w | no folder gone
translation/prepare.sh {tmp} {work} | .*/data is there already
TARGET=fr translation/prepare.sh {tmp} {tmp}/w | .* lacks .*test.fr
translation/train.sh {tmp} | a folder and a system are needed
UPDATES=ten translation/train.sh {work} ar | UPDATES=ten
translation/distill.sh {tmp} | no data in
TEACHER=gone.pt translation/distill.sh {work} | no teacher gone.pt
translation/generate.sh {tmp} | no data in
SYSTEMS=ar translation/generate.sh {work} | no .*/ar/checkpoint_last
translation/grid.sh {work} | a folder and a grid are needed
"""


@pytest.mark.parametrize("row", [row for row in REFUSED.splitlines() if row])
def test_a_script_refuses_in_one_line_and_leaves_nothing(row, tmp_path):
    command, _, said = row.partition(" | ")
    work, empty = tmp_path / "work", tmp_path / "empty"
    put(work / "kind", ["classification"])
    for file in ("dict.clean.txt", "train.src-tgt.src.idx"):
        put(work / "data" / file, [])
    for part in ("train", "dev", "test"):
        for side in ("tsv", "noisy", "clean"):
            put(work / "text" / f"{part}.{side}", ["1\tx"])
    empty.mkdir()
    words = command.format(tmp=empty, work=work).split()
    environ = dict(words.pop(0).split("=") for word in list(words) if "=" in word)
    before = sorted(tmp_path.rglob("*"))
    line = refusal(*words, **environ)
    assert re.match(said, line), line
    assert sorted(tmp_path.rglob("*")) == before


# ---------------------------------------------------------------- configurations

CONFIGS = sorted(str(path.relative_to(EXAMPLES))[:-5] for path in EXAMPLES.glob("*/config*.yaml"))


def config_of(name: str) -> OmegaConf:
    return OmegaConf.load(EXAMPLES / f"{name}.yaml")


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_names_options_that_exist(name):
    assert lev_plugins.__name__, "the import registers what is looked up here"
    config = config_of(name)
    for part, registered in (
        ("task", tasks.TASK_DATACLASS_REGISTRY),
        ("model", models.MODEL_DATACLASS_REGISTRY),
        ("criterion", criterions.CRITERION_DATACLASS_REGISTRY),
    ):
        known = {field.name for field in dataclasses.fields(registered[config[part]._name])}
        assert set(config[part]) <= known | {"_name"}, part


SHARED = [f"task.{side}_lang={name}" for side, name in (("source", "src"), ("target", "tgt"))]
#: what makes each of them small; SHARED is for the data of the fixture ``triples``
OVERRIDES = {
    "classification/config_adafactor": ["common.bf16=false", "optimization.update_freq=[1]"],
    "classification/config_muon": ["model.encoder_embed_dim=16"],
    "denoising/config": ["model.encoder_embed_dim=16"],
    "spelling_and_ocr/config": [
        *(*SHARED, "model.encoder_embed_dim=16", "model.no_future_modelling=true")
    ],
    "translation/config": [
        *SHARED,
        *(
            f"+model.{side}_{name}=16"
            for side in ("encoder", "decoder")
            for name in ("embed_dim", "ffn_embed_dim")
        ),
        *("+model.encoder_attention_heads=2", "+model.decoder_attention_heads=2"),
        *("+model.weight_sharing=plh-tok", "+model.early_exit='3,2'"),
        *("+task.roll_in_tokens=random", "task.eval_bleu=false", "common.bf16=false"),
        *("optimization.update_freq=[1]", "dataset.max_tokens=200"),
        "bpe.sentencepiece_model=spm.model",
        "checkpoint.best_checkpoint_metric=loss",
        "checkpoint.maximize_best_checkpoint_metric=false",
    ],
}


def tagged_text(folder: Path, *pieces: str) -> Path:
    """Data of EncT5's that tag words."""
    file = put(folder / "text.tsv", ["A B\ta b", "C\tc"] * 5)
    parts = ["--train", str(file), "--valid", str(file), "--destdir", str(folder / "data")]
    enct5_prepare.main(["--kind", "tagging", *parts, *pieces])
    return folder / "data"


def clean_text(folder: Path) -> Path:
    """Data of the task noisy_translation, in characters."""
    for split in ("train", "valid"):
        put(folder / "data" / f"{split}.clean", ["abcde fabcd"] * 5)
    for side in ("noisy", "clean"):
        symbols = [f"{symbol} 1" for symbol in [*"abcdef▁", "<mask>"]]
        put(folder / "data" / f"dict.{side}.txt", symbols)
    return folder / "data"


@pytest.mark.parametrize(
    "name",
    [
        one if one.startswith("translation") else pytest.param(one, marks=pytest.mark.slow)
        for one in OVERRIDES
    ],
)
def test_a_configuration_trains_with_hydra(name, commands, triples, tmp_path):
    overrides, data = OVERRIDES[name], triples.data
    if name.endswith("adafactor"):
        t5 = checkpoints.pieced_t5(tmp_path / "t5")
        data = tagged_text(tmp_path, "--t5-dir", str(t5))
        overrides = [*overrides, f"model.t5_dir={t5}"]
    elif name.startswith("classification"):
        data = tagged_text(tmp_path, "--bytes")
    elif name.startswith("denoising"):
        data = clean_text(tmp_path)
    path = EXAMPLES / name
    words = ["fairseq-hydra-train", "--config-path", str(path.parent), "--config-name", path.name]
    words += [f"common.user_dir={ROOT / 'lev_plugins'}", "common.cpu=true", f"task.data={data}"]
    words += ["optimization.max_update=1", "dataset.num_workers=0"]
    commands.ok([*words, f"checkpoint.save_dir={tmp_path / 'saved'}", *overrides], tmp_path)
    kind = "best" if name.startswith("classification") else "last"
    saved = torch.load(tmp_path / "saved" / f"checkpoint_{kind}.pt", weights_only=True)
    assert saved["optimizer_history"][-1]["num_updates"] == 1
