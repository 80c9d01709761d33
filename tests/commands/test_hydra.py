"""fairseq-hydra-train: with the shipped files and recipes, in sweeps, ended and refused."""

import random
import shutil
import signal
from pathlib import Path

import checkpoints
import pytest
from conftest import PACKAGE, ROOT, Commands, Corpus, Result
from enct5_corpus import write_corpus
from plain_files import put
from states import state

SIDE = "model.{0}_embed_dim=16 model.{0}_ffn_embed_dim=16 model.{0}_layers=1 "
SIDE += "model.{0}_attention_heads=2 "
BOTH = SIDE.format("encoder") + SIDE.format("decoder")
SHORT = (
    "optimization.max_update=2 common.log_interval=1 dataset.num_workers=0 common.cpu=true "
    "checkpoint.save_interval_updates=0"
)


def hydra(commands: Commands, cwd: Path, file: str, options: str, **how: object) -> Result:
    """Runs two updates by a file of the repository, with ``options``."""
    folder, _, name = file.rpartition("/")
    where = "--config-path" if folder.startswith("examples") else "--config-dir"
    own = f"common.user_dir={PACKAGE} checkpoint.save_dir={cwd}/ck {SHORT}"
    values = dict(word.split("=", 1) for word in f"{own} {options}".split() if word != "-m")
    words = [key if key.startswith("hydra.") else f"++{key}" for key in values]
    words = [f"{word}={value}" for word, value in zip(words, values.values(), strict=True)]
    sweep = ["-m"] if "-m" in options.split() else []
    start = ["fairseq-hydra-train", where, str(ROOT / folder), "--config-name", name]
    return commands([*start, *sweep, *words], cwd, **how)


def written(folder: Path, kind: str) -> Path:
    """Makes ``my/text`` of the words that a tiny model knows, with its dictionaries."""
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
        words = f"python -m lev_plugins backbone my/{kind} --dict my/text/dict.{side}.txt"
        commands.ok(words, tmp_path)
    options = f"task.data=my/text bpe._name=hf bpe.hf_directory=my/{kind} model.backbone=my/{kind}"
    sizes = "task.noise=all task.max_source_positions=9 task.max_target_positions=9"
    file = "examples/denoising/config"
    hydra(commands, tmp_path, file, f"{options} {sizes}").succeeded(options)
    last = tmp_path / "ck/checkpoint_last.pt"
    cfg = state(last)["cfg"]
    assert cfg["model"]["backbone_plan"] and cfg["task"]["data"] == f"{tmp_path}/my/text"
    shutil.move(tmp_path / "my" / kind / "model.safetensors", tmp_path / "away")
    flags = f"--path {last} --cpu --source-lang noisy --target-lang clean"
    command = f"fairseq-generate {tmp_path}/my/text {flags}"
    assert len(commands.done(command, tmp_path, task="noisy_translation").texts("H")) == 4


LANGUAGES = "task.source_lang=src task.target_lang=tgt"
#: a file | its options ({data}: a corpus of the test) | a setting that the checkpoint has
FILES = f"""
examples/post_editing/config | {LANGUAGES} task.draft_lang=mt \
bpe._name=characters task.eval_bleu=false checkpoint.best_checkpoint_metric=loss \
model.weight_sharing=none {BOTH} model.encoder_learned_pos=false \
model.decoder_learned_pos=false | model.encoder_layers=1
examples/translation/config | {LANGUAGES} bpe._name=characters task.eval_bleu=false \
checkpoint.best_checkpoint_metric=loss {BOTH} | criterion._name=edit_policy_loss
examples/spelling_and_ocr/config | {LANGUAGES} \
lr_scheduler.warmup_updates=1 | model._name=pbd_transformer
lev_plugins/recipes/levt | {LANGUAGES} bpe._name=characters model.encoder_embed_dim=16 \
model.decoder_embed_dim=16 | model.encoder_ffn_embed_dim=1024
lev_plugins/recipes/enct5_tagger | | model.encoder_embed_dim=128
examples/classification/config_adafactor | model.t5_dir={{model}} | optimizer._name=adafactor
examples/classification/config_muon | model.bert_dir={{model}} | optimizer._name=muon
"""


@pytest.mark.parametrize("row", FILES.strip().splitlines())
def test_a_shipped_file_trains(row, commands, triples: Corpus, tmp_path):
    """What is typed wins over the file, and the file over the defaults."""
    file, options, expected = (field.strip() for field in row.split("|"))
    data = triples.data
    if "enct5" in file or "classification" in file:
        data = tmp_path / "data"
        write_corpus(tmp_path, "tagging")
        subwords = "--bytes"
        if "_dir" in options:
            kind = "t5" if "t5_dir" in options else "bert"
            make = {"t5": checkpoints.t5, "bert": checkpoints.bert}[kind]
            subwords = f"--{kind}-dir {make(tmp_path / 'model')}"
        text = f"--train train.tsv --valid valid.tsv --destdir data {subwords}"
        commands.ok(f"python -m lev_plugins enct5-prepare --kind tagging {text}", tmp_path)
    options = f"task.data={data} {options}".format(model=tmp_path / "model")
    hydra(commands, tmp_path, file, options).succeeded(row)
    saved = state(tmp_path / "ck/checkpoint_last.pt")
    assert saved["optimizer_history"][-1]["num_updates"] == 2
    section, name, value = expected.replace("=", ".").split(".")
    assert str(saved["cfg"][section][name]) == value


LEVT = f"{LANGUAGES} task.draft_lang=mt bpe._name=characters {BOTH}"
ASKED = f"optimization.max_update=3 common.user_dir={ROOT}/tests/commands/cut_short"


def by_recipe(commands: Commands, corpus: Corpus, cwd: Path, options: str, **how: object) -> Result:
    """Trains a small LevT with drafts by its recipe."""
    options = f"task.data={corpus.data} {LEVT} {options}"
    return hydra(commands, cwd, "lev_plugins/recipes/levt", options, **how)


def test_every_job_of_a_sweep_has_its_own_best_checkpoint(commands, triples, tmp_path):
    jobs = f"-m optimization.max_update=6,1 hydra.sweep.dir={tmp_path}/jobs"
    options = f"{jobs} checkpoint.save_dir={tmp_path}/${{hydra:job.num}}"
    by_recipe(commands, triples, tmp_path, options).succeeded(options)
    best = [state(tmp_path / job / "checkpoint_best.pt")["extra_state"]["best"] for job in "01"]
    assert best[0] < best[1], "the second job is worse than the first"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_ends_the_job_in_a_line(name, commands, triples, tmp_path):
    """The first one imports the package within ``main``."""
    environ = {"ASKED": f"{name}:train_step:2", "PYTHONPATH": str(ROOT)}
    result = by_recipe(commands, triples, tmp_path, ASKED, environ=environ)
    assert result.code == 128 + getattr(signal, name) and "Traceback" not in result.err
    last = tmp_path / "ck" / "checkpoint_last.pt"
    assert state(last)["optimizer_history"][-1]["num_updates"] == 2


#: options | what their error names
REFUSED = """
model.early_exit=0 | --early-exit 0
checkpoint.restore_file=gone.pt | --restore-file gone.pt does not exist
checkpoint.write_checkpoints_asynchronously=true | --write-checkpoints-asynchronously
distributed_training.distributed_world_size=1 | 2 processes
"""


def test_hydra_refuses_what_the_command_line_refuses(commands, triples, tmp_path):
    several = {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "29511"}
    for row in REFUSED.strip().splitlines():
        options, message = row.split(" | ")
        environ = several if "processes" in message else {}
        result = by_recipe(commands, triples, tmp_path, options, environ=environ)
        assert message in result.error
    assert not list(tmp_path.rglob("*.pt"))
