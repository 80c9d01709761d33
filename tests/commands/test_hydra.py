"""fairseq-hydra-train with the shipped files, by options as the documents type them."""

import random
import shutil
from pathlib import Path
from typing import Any

import checkpoints
import pytest
from conftest import PACKAGE, ROOT, Commands, Corpus, Result
from enct5_corpus import write_corpus
from plain_files import put
from saved import changed
from states import state

pytestmark = pytest.mark.slow
SIZES = ("embed_dim=16", "ffn_embed_dim=16", "layers=1", "attention_heads=2")
SIDE = " ".join(f"model.{{0}}_{size}" for size in SIZES)
ENCODER = SIDE.format("encoder")
BOTH = " ".join("+" + word for side in ("encoder", "decoder") for word in SIDE.format(side).split())
SHORT = (
    "optimization.max_update=2 common.log_interval=1 dataset.num_workers=0 common.cpu=true "
    "checkpoint.save_interval_updates=0"
)


def hydra(
    commands: Commands, cwd: Path, example: str, options: str, name: str = "config"
) -> Result:
    """Two updates by a file of examples/, with what has no default in it and ``options``."""
    where = ["--config-path", str(ROOT / "examples" / example), "--config-name", name]
    own = f"common.user_dir={PACKAGE} checkpoint.save_dir={cwd}/ck"
    return commands(["fairseq-hydra-train", *where, *f"{own} {SHORT} {options}".split()], cwd)


def decoded(commands: Commands, data: Path, cwd: Path, task: str, flags: str = "") -> list[str]:
    command = f"fairseq-generate {data} --path {cwd}/ck/checkpoint_last.pt --cpu {flags}"
    return commands.plugin(command, cwd, task).succeeded(command).texts("H")


def written(folder: Path, kind: str) -> Path:
    """``my/text`` of the words that a tiny BERT, BART or T5 knows, with its dictionaries."""
    model, draw = checkpoints.KINDS[kind](folder / "my" / kind), random.Random(1)
    for part, count in (("train", 40), ("valid", 4), ("test", 4)):
        words = [draw.choices(checkpoints.WORDS[:6], k=draw.randint(1, 4)) for _ in range(count)]
        put(folder / f"my/text/{part}.clean", [" ".join(line) for line in words])
    shutil.copy(folder / "my/text/test.clean", folder / "my/text/test.noisy")
    return model


@pytest.mark.parametrize("kind", checkpoints.KINDS)
def test_gated_trans_from_a_folder(kind, commands, tmp_path, transformers):
    """Paths lead from the folder in which the command was typed, not from hydra's."""
    written(tmp_path, kind)
    for side in ("noisy", "clean"):
        commands.ok(
            f"python -m lev_plugins backbone my/{kind} --dict my/text/dict.{side}.txt", tmp_path
        )
    options = f"task.data=my/text bpe._name=hf bpe.hf_directory=my/{kind} model.backbone=my/{kind}"
    sizes = "task.noise=all +task.max_source_positions=9 +task.max_target_positions=9"
    hydra(commands, tmp_path, "denoising", f"{options} {sizes}").succeeded(options)
    cfg = state(tmp_path / "ck/checkpoint_last.pt")["cfg"]
    assert cfg["model"]["backbone_plan"] and cfg["task"]["data"] == f"{tmp_path}/my/text"
    shutil.move(tmp_path / "my" / kind / "model.safetensors", tmp_path / "away")
    flags = "--source-lang noisy --target-lang clean"
    texts = decoded(commands, tmp_path / "my/text", tmp_path, "noisy_translation", flags)
    assert len(texts) == 4
    last = tmp_path / "ck/checkpoint_last.pt"
    changed(last, last, "model", backbone_plan=None)  # as versions up to 0.7 saved it
    command = f"fairseq-generate {tmp_path}/my/text --path {last} --cpu {flags}"
    assert "sizes" in commands.plugin(command, tmp_path, "noisy_translation").error


@pytest.mark.parametrize(
    ("name", "option"),
    [("config_adafactor", "t5_dir"), ("config_muon", "t5_dir"), ("config_muon", "bert_dir")],
)
def test_enct5_from_a_folder(name, option, commands, tmp_path, transformers):
    kind = option.removesuffix("_dir")
    make = {"t5": checkpoints.pieced_t5, "bert": checkpoints.bert}[kind]
    make(tmp_path / "model")
    write_corpus(tmp_path, "tagging")
    text = "--train train.tsv --valid valid.tsv --destdir data"
    directory = f"--{kind}-dir {tmp_path}/model"
    commands.ok(f"python -m lev_plugins enct5-prepare --kind tagging {text} {directory}", tmp_path)
    options = f"task.data={tmp_path}/data model.{option}={tmp_path}/model"
    hydra(commands, tmp_path, "classification", options, name).succeeded(options)
    shutil.rmtree(tmp_path / "model")
    predict = f"python -m lev_plugins predict --path {tmp_path}/ck"
    assert len(commands.ok(predict, tmp_path, stdin="a b\nc\n").out.splitlines()) == 2


def test_levt_and_pbd_by_their_files(commands, triples: Corpus, tmp_path):
    languages = "task.source_lang=src task.target_lang=tgt task.draft_lang=mt"
    subwords = "bpe._name=characters task.eval_bleu=false checkpoint.best_checkpoint_metric=loss"
    options = f"task.data={triples.data} {languages} {subwords} model.weight_sharing=none {BOTH}"
    hydra(commands, tmp_path, "post_editing", f"{options} {UNLEARNT}").succeeded(options)
    flags = f"{triples.flags} --gen-subset test1"
    assert len(decoded(commands, triples.data, tmp_path, "translation_edit", flags)) == 3
    shutil.rmtree(tmp_path / "ck")
    sizes = f"{ENCODER} task.source_lang=src task.target_lang=tgt"
    options = f"task.data={triples.data} {sizes} lr_scheduler.warmup_updates=1"
    hydra(commands, tmp_path, "spelling_and_ocr", options).succeeded(options)
    flags = "--source-lang src --target-lang tgt --gen-subset test1"
    assert len(decoded(commands, triples.data, tmp_path, "translation", flags)) == 3


UNLEARNT = "model.encoder_learned_pos=false model.decoder_learned_pos=false"


def trained_by_recipe(commands: Commands, cwd: Path, name: str, options: str) -> dict[str, Any]:
    """The settings of two updates by a recipe of the package."""
    where = ["--config-dir", str(PACKAGE / "recipes"), "--config-name", name]
    own = f"common.user_dir={PACKAGE} checkpoint.save_dir={cwd}/ck"
    words = ["fairseq-hydra-train", *where, *f"{own} {SHORT} {options}".split()]
    commands(words, cwd).succeeded(words)
    saved = state(cwd / "ck/checkpoint_last.pt")
    assert saved["optimizer_history"][-1]["num_updates"] == 2
    return saved["cfg"]


def test_the_tagger_by_its_recipe(commands, tmp_path):
    write_corpus(tmp_path, "tagging")
    text = "--train train.tsv --valid valid.tsv --bytes --destdir data"
    commands.ok(f"python -m lev_plugins enct5-prepare --kind tagging {text}", tmp_path)
    cfg = trained_by_recipe(commands, tmp_path, "enct5_tagger", "task.data=data")
    assert cfg["model"]["_name"] == "enct5" and cfg["model"]["encoder_embed_dim"] == 128
    assert (cfg["model"]["dropout"], cfg["model"]["decoder_layers"]) == (0.2, 1)
    assert cfg["checkpoint"]["best_checkpoint_metric"] == "word_accuracy"


def test_levt_by_its_recipe_and_what_is_typed_wins(commands, triples: Corpus, tmp_path):
    languages = "+task.source_lang=src +task.target_lang=tgt"
    data = f"task.data={triples.data} {languages} bpe._name=characters"
    options = f"{data} +model.encoder_embed_dim=16 +model.decoder_embed_dim=16"
    cfg = trained_by_recipe(commands, tmp_path, "levt", options)
    sizes = cfg["model"]
    assert (sizes["encoder_embed_dim"], sizes["encoder_ffn_embed_dim"]) == (16, 1024)
    assert sizes["share_all_embeddings"] and cfg["task"]["roll_in_updates"] == 0.7
