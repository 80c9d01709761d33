"""What all examples have in common: their scripts' refusals, and their configurations."""

import argparse
import dataclasses
import re
import subprocess
import sys
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
classification/prepare.sh tags {tmp} {tmp}/work | no kind tags: tagging, multilabel
classification/prepare.sh tagging gone {tmp}/work | no folder gone
classification/prepare.sh tagging {tmp} {tmp}/work | .* lacks train.tok train.upos dev.tok
classification/prepare.sh multilabel {tmp} {tmp}/work | .* lacks .*test.tsv labels.txt
classification/prepare.sh classification {twice} {tmp}/work | .* has several files train.tsv
classification/prepare.sh tagging {tmp} {work} | .*/data is there already
VOCAB=few classification/prepare.sh tagging {tmp} {tmp}/work | VOCAB=few
TAGS=x classification/prepare.sh tagging {tmp} {tmp}/work | TAGS=x: upos or xpos
T5=gone classification/prepare.sh tagging {tmp} {tmp}/work | no folder gone
T5={work} VOCAB=50 classification/prepare.sh tagging {tmp} {tmp}/work | VOCAB=50: the subwords are
HOLD_OUT=1 classification/prepare.sh tagging {tmp} {tmp}/work | HOLD_OUT=1
classification/train.sh | a folder is needed
classification/train.sh {tmp} | no data in
KIND=tagging classification/train.sh {work} | KIND=tagging: .* was prepared for classification
KIND=multilabel_pooled classification/train.sh {work} | KIND=multilabel_pooled: .* was prepared for
UPDATES=0 classification/train.sh {work} | UPDATES=0
WIDTH=30 classification/train.sh {work} | WIDTH=30: there are 4 attention heads
WIDTH=16 classification/train.sh {t5} | WIDTH and LAYERS are those of
DECODER_LAYERS=0 classification/train.sh {work} | DECODER_LAYERS=0
PACK=no classification/train.sh {work} | PACK=no
SEED=x classification/train.sh {work} | SEED=x
RUN=../x classification/train.sh {work} | RUN=../x

denoising/prepare.sh | two folders are needed
denoising/prepare.sh gone {tmp}/work | no folder gone
denoising/prepare.sh {tmp} {tmp}/work | .* lacks train.clean dev.clean test.clean
denoising/prepare.sh {tmp} {work} | .*/data is there already
denoising/prepare.sh {partly} {tmp}/work | .*: .noisy is there for 1 of train, dev, test: all
CLEAN=tok denoising/prepare.sh {tmp} {tmp}/work | .* lacks train.tok
WORDS=x denoising/prepare.sh {tmp} {tmp}/work | WORDS=x
WORDS=2 denoising/prepare.sh {noisy} {tmp}/work | real noisy pairs stay as they are
LOWER=2 denoising/prepare.sh {tmp} {tmp}/work | LOWER=2: give 0 or 1
BACKBONE=gone denoising/prepare.sh {tmp} {tmp}/work | no folder gone
denoising/captions.sh {tmp} | two folders are needed
denoising/captions.sh {tmp} {tmp}/work | .* lacks train.en
ELSEWHERE=gone denoising/prepare.sh {tmp} {tmp}/work | ELSEWHERE=gone: no such file
denoising/train.sh {tmp} | a folder and gates are needed
denoising/train.sh {tmp} none | no data in
VARIANT=mine denoising/train.sh {work} all | VARIANT=mine: pointer, paper or code
UPDATES=0 denoising/train.sh {work} all | UPDATES=0
WIDTH=x denoising/train.sh {work} all | WIDTH=x
SEED=x denoising/train.sh {work} all | SEED=x
RUN=../x denoising/train.sh {work} all | RUN=../x
BACKBONE_START=yes denoising/train.sh {work} all | BACKBONE_START=yes: give 0 or 1
BACKBONE_START=1 denoising/train.sh {work} all | .* has no data of a backbone
denoising/translate.sh {tmp} | a folder and a system are needed
denoising/translate.sh {tmp} noisy | no data and spm.model in
denoising/translate.sh {work} noisier | no data and spm.model in
denoising/evaluate_translation.sh | a folder is needed
denoising/evaluate_translation.sh {work} | no data in

post_editing/prepare.sh | two folders are needed
post_editing/prepare.sh gone {tmp}/work | no folder gone
post_editing/prepare.sh {tmp} {tmp}/work | .* lacks train.src train.mt train.pe dev.src
post_editing/prepare.sh {tmp} {work} | .*/data is there already
VOCABULARY=many post_editing/prepare.sh {tmp} {tmp}/work | VOCABULARY=many
post_editing/train.sh | a folder is needed
post_editing/train.sh gone | no folder gone
post_editing/train.sh {tmp} | no data in
post_editing/train.sh {work} tuned | no way tuned: scratch, translation
post_editing/train.sh {work} finetuned | no checkpoint .*translation makes
post_editing/generate.sh | a folder is needed
post_editing/generate.sh {tmp} | no data in
post_editing/generate.sh {work} tuned | no way tuned
post_editing/generate.sh {work} concat | .*train.sh .* concat makes one
SUBSET=train post_editing/generate.sh {work} | SUBSET=train: test or
post_editing/synthetic.sh {tmp} | two folders and a bitext are needed
post_editing/synthetic.sh {tmp} b {tmp}/o | .* lacks train.src
TIMES=0 post_editing/synthetic.sh {tmp} b {tmp}/o | TIMES=0
post_editing/weak_system.sh {tmp} | two folders are needed
post_editing/weak_system.sh {tmp} {tmp}/o | no data in

spelling_and_ocr/prepare_ocr.sh | two folders are needed
spelling_and_ocr/prepare_ocr.sh gone {tmp}/work | no folder gone
spelling_and_ocr/prepare_ocr.sh {tmp} {tmp}/work | .* lacks train.noisy train.clean dev.noisy
spelling_and_ocr/prepare_ocr.sh {tmp} {work} | .*/data is there already
WORDS=x spelling_and_ocr/prepare_ocr.sh {tmp} {tmp}/work | WORDS=x
LEXICON=gone spelling_and_ocr/prepare_ocr.sh {tmp} {tmp}/work | LEXICON=gone: there is no such file
MADE_UP=0 spelling_and_ocr/prepare_ocr.sh {tmp} {tmp}/work | MADE_UP=0: give a number of lines
spelling_and_ocr/train_ocr.sh {tmp} | a folder and a system are needed
spelling_and_ocr/train_ocr.sh {tmp} levt | no data in
spelling_and_ocr/train_ocr.sh {work} stock | no system stock: levt, ar or pbd
spelling_and_ocr/evaluate_ocr.sh {work} --systems pbd | --systems pbd: no checkpoints
UPDATES=0 spelling_and_ocr/train_ocr.sh {work} ar | UPDATES=0
LAYERS=0 spelling_and_ocr/train_ocr.sh {work} pbd | LAYERS=0
SEED=x spelling_and_ocr/train_ocr.sh {work} ar | SEED=x
RUN=../x spelling_and_ocr/train_ocr.sh {work} pbd | RUN=../x
MINUTES=0 spelling_and_ocr/train_ocr.sh {work} pbd | MINUTES=0: give a number of minutes
NOISE=2 spelling_and_ocr/train_ocr.sh {work} pbd | NOISE=2: give a share
NOISE=0.5 spelling_and_ocr/train_ocr.sh {work} levt | NOISE=0.5: levt learns
START=gone.pt spelling_and_ocr/train_ocr.sh {work} pbd | START=gone.pt: there is no

translation/prepare.sh | two folders are needed
translation/prepare.sh gone {tmp}/w | no folder gone
translation/prepare.sh {tmp} {tmp}/w | .* lacks train.en train.de valid.en
translation/prepare.sh {tmp} {work} | .*/data is there already
TARGET=fr translation/prepare.sh {tmp} {tmp}/w | .* lacks .*test.fr
VOCABULARY=0 translation/prepare.sh {tmp} {tmp}/w | VOCABULARY=0
translation/train.sh {tmp} | a folder and a system are needed
translation/train.sh {tmp} ar | no data in
translation/train.sh {work} rnn | no system rnn: ar, stock, levt
UPDATES=ten translation/train.sh {work} ar | UPDATES=ten
SEED=-1 translation/train.sh {work} ar | SEED=-1
MINUTES=soon translation/train.sh {work} ar | MINUTES=soon
translation/distill.sh | a folder is needed
translation/distill.sh {tmp} | no data in
translation/distill.sh {work} | no teacher
TEACHER=gone.pt translation/distill.sh {work} | no teacher gone.pt
translation/generate.sh | a folder is needed
translation/generate.sh {tmp} | no data in
translation/generate.sh {work} | no checkpoint in
SYSTEMS=ar translation/generate.sh {work} | no .*/ar/checkpoint_last
LATENCY=many translation/generate.sh {work} | LATENCY=many
translation/grid.sh {work} | a folder and a grid are needed
translation/grid.sh {work} sharing | no grid sharing: weight_sharing
translation/grid.sh {tmp} early_exit | no data in
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders: ``work`` has the data of every example, the others what their names say."""
    folder = tmp_path_factory.mktemp("examples")
    for name, kind in (("work", ["classification"]), ("t5", ["classification"])):
        put(folder / name / "kind", kind)
        for file in ("dict.clean.txt", "train.src-tgt.src.idx"):
            put(folder / name / "data" / file, [])
    for part in ("train", "dev", "test"):
        put(folder / "work" / "text" / f"{part}.tsv", ["1\tx"])
        for side in ("noisy", "clean"):
            put(folder / "work" / "text" / f"{part}.{side}", ["x"])
            put(folder / "noisy" / f"{part}.{side}", ["x"])
        put(folder / "partly" / f"{part}.clean", ["x"])
    put(folder / "partly" / "dev.noisy", ["x"])
    put(folder / "t5" / "t5", ["a folder"])
    for name in ("a.train.tsv", "b.train.tsv", "dev.tsv"):
        put(folder / "twice" / name, ["1\tx"])
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.parametrize("row", [row for row in REFUSED.splitlines() if row])
def test_a_script_refuses_in_one_line_and_leaves_nothing(row, places, tmp_path):
    command, _, said = row.partition(" | ")
    words = command.format(tmp=tmp_path, **places).split()
    environ = dict(words.pop(0).split("=") for word in list(words) if "=" in word)
    before = sorted(places["work"].parent.rglob("*"))
    line = refusal(*words, **environ)
    assert re.match(said, line), line
    assert list(tmp_path.iterdir()) == [] and sorted(places["work"].parent.rglob("*")) == before


@pytest.mark.parametrize("script", ["post_editing/pieces.py", "post_editing/scores.py"])
@pytest.mark.parametrize("words, status", [(["--help"], 0), ([], 2), (["a", "b", "c d", *"ef"], 2)])
def test_a_script_in_python_says_what_it_takes(script, words, status):
    command = [sys.executable, str(EXAMPLES / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stderr if status else done.stdout
    assert done.returncode == status and said.startswith(f"usage: {script[13:]} [-h] ")
    assert "Traceback" not in done.stderr


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
        t5 = checkpoints.sized_t5(tmp_path / "t5", rows=259, extra_ids=0)
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


#: the words of a script | the option of its configuration that has the value
SAME = {
    "classification/config_muon": [
        ("train.sh", "tagging) updates={} ", "optimization.max_update"),
        ("train.sh", " lr={} metric", "optimization.lr.0"),
        ("train.sh", " metric={} optimizer=", "checkpoint.best_checkpoint_metric"),
        ("train.sh", "optimizer=(--optimizer {} ", "optimizer._name"),
        ("train.sh", "--muon-update-rms {})", "optimizer.muon_update_rms"),
        ("train.sh", "${{WIDTH:-{}}}", "model.encoder_embed_dim"),
        ("train.sh", "${{LAYERS:-{}}}", "model.encoder_layers"),
        ("train.sh", "${{DECODER_LAYERS:-{}}}", "model.decoder_layers"),
        ("train.sh", " dropout={} lr=", "model.dropout"),
        ("train.sh", "${{TOKENS:-{}}}", "dataset.max_tokens"),
        ("train.sh", "${{PACK:-{}}}", "task.pack_length"),
        ("train.sh", "${{SEED:-{}}}", "common.seed"),
    ],
    "denoising/config": [
        ("train.sh", "${{UPDATES:-{}}}", "optimization.max_update"),
        ("train.sh", "${{WIDTH:-{}}}", "model.encoder_embed_dim"),
        ("train.sh", "${{LAYERS:-{}}}", "model.decoder_layers"),
        ("train.sh", "${{LR:-{}}}", "optimization.lr.0"),
        ("train.sh", "${{TOKENS:-{}}}", "dataset.max_tokens"),
        ("train.sh", "${{VARIANT:-{}}}", "model.gate_variant"),
    ],
    "spelling_and_ocr/config": [
        ("train_ocr.sh", "--dropout {} ", "model.dropout"),
        ("train_ocr.sh", "--attention-dropout {} ", "model.attention_dropout"),
        ("train_ocr.sh", "--label-smoothing {:g} ", "criterion.label_smoothing"),
        ("train_ocr.sh", "--optimizer {} ", "optimizer._name"),
        ("train_ocr.sh", "--muon-update-rms {} ", "optimizer.muon_update_rms"),
        ("train_ocr.sh", "--lr {} ", "optimization.lr.0"),
        ("train_ocr.sh", "--clip-norm {} ", "optimization.clip_norm"),
        ("train_ocr.sh", "--max-tokens {} ", "dataset.max_tokens"),
        ("train_ocr.sh", "--keep-interval-updates {} ", "checkpoint.keep_interval_updates"),
    ],
}


@pytest.mark.parametrize("name", SAME)
def test_a_configuration_is_the_script_s_training(name):
    config = config_of(name)
    for script, words, option in SAME[name]:
        text = (EXAMPLES / name).with_name(script).read_text("utf-8").replace("\n", " ")
        assert words.format(OmegaConf.select(config, option)) in text, option


def test_what_configurations_derive_from_the_length_of_the_training():
    muon, denoising, ocr = map(config_of, SAME)
    assert muon.lr_scheduler.warmup_updates == muon.checkpoint.save_interval_updates == 501
    assert muon.lr_scheduler.total_num_update == muon.optimization.max_update == 5000
    updates = denoising.optimization.max_update
    assert denoising.lr_scheduler.warmup_updates == updates // 10 + 1
    assert denoising.lr_scheduler.total_num_update == updates
    assert denoising.checkpoint.save_interval_updates == updates // 4 + 1
    updates = ocr.optimization.max_update
    assert updates == 12 * ocr.lr_scheduler.warmup_updates
    assert updates == 15 * ocr.checkpoint.save_interval_updates


def test_sizes_of_models_in_configurations():
    muon, _, ocr = map(config_of, SAME)
    assert muon.model.encoder_ffn_embed_dim == 2 * muon.model.encoder_embed_dim
    heads = muon.model.encoder_attention_heads
    assert muon.model.attention_head_dim * heads == muon.model.encoder_embed_dim
    char = argparse.Namespace()
    models.ARCH_CONFIG_REGISTRY["pbd_transformer_char"](char)
    assert {**vars(char), "dropout": ocr.model.dropout}.items() <= dict(ocr.model).items()


def test_the_configuration_for_adafactor_is_the_papers():
    config = config_of("classification/config_adafactor")
    rows = config.dataset.batch_size * config.optimization.update_freq[0]
    assert (rows, config.optimization.max_update, config.model.dropout) == (128, 100_000, 0.1)
    assert config.task.pack and config.task.max_source_positions == 512
    assert list(config.optimizer.lr) == list(config.optimization.lr) == [0.001]
    assert config.optimizer.scale_parameter and not config.optimizer.relative_step
