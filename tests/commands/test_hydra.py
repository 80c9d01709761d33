"""fairseq-hydra-train: with the shipped files and recipes, and in sweeps."""

import random
from pathlib import Path

import checkpoints
import pytest
from conftest import PACKAGE, ROOT, Commands, Corpus, Result
from enct5_corpus import write_corpus
from plain_files import put
from states import state
from tables import rows

SIDE = "model.{0}_embed_dim=16 model.{0}_ffn_embed_dim=16 model.{0}_layers=1 "
SIDE += "model.{0}_attention_heads=2 "
BOTH = SIDE.format("encoder") + SIDE.format("decoder")
SHORT = (
    "optimization.max_update=2 common.log_interval=1 dataset.num_workers=0 common.cpu=true "
    "checkpoint.save_interval_updates=0"
)


def hydra(commands: Commands, cwd: Path, file: str, options: str) -> Result:
    """Runs two updates by a file of the repository, with ``options``."""
    folder, _, name = file.rpartition("/")
    where = "--config-path" if folder.startswith("examples") else "--config-dir"
    own = f"common.user_dir={PACKAGE} checkpoint.save_dir={cwd}/ck {SHORT}"
    values = dict(word.split("=", 1) for word in f"{own} {options}".split() if word != "-m")
    words = [key if key.startswith("hydra.") else f"++{key}" for key in values]
    words = [f"{word}={value}" for word, value in zip(words, values.values(), strict=True)]
    sweep = ["-m"] if "-m" in options.split() else []
    start = ["fairseq-hydra-train", where, str(ROOT / folder), "--config-name", name]
    return commands([*start, *sweep, *words], cwd)


LANGUAGES = "task.source_lang=src task.target_lang=tgt"
#: a file | its options | a setting that the checkpoint has
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
examples/denoising/config | bpe._name=hf bpe.hf_directory=model model.backbone=model \
task.noise=all task.max_source_positions=9 task.max_target_positions=9 \
| task.data={{tmp}}
lev_plugins/recipes/enct5_tagger | | model.encoder_embed_dim=128
examples/classification/config_adafactor | model.t5_dir=model | optimizer._name=adafactor
examples/classification/config_muon | model.bert_dir=model | optimizer._name=muon
"""


def prepared_text(commands: Commands, folder: Path, options: str) -> Path:
    """Prepares what a file trains on, and makes ``model``, all in a folder."""
    if "backbone" in options:  # text of the words that the model knows, noisy as it is read
        checkpoints.bert(folder / "model")
        draw = random.Random(1)
        for part, count in (("train", 40), ("valid", 4)):
            lines = [draw.choices(checkpoints.WORDS[:6], k=3) for _ in range(count)]
            put(folder / f"{part}.clean", map(" ".join, lines))
        for side in ("noisy", "clean"):
            words = f"python -m lev_plugins backbone model --dict dict.{side}.txt"
            commands.ok(words, folder)
        return folder
    subwords = "--bytes"
    for kind, make in (("t5", checkpoints.t5), ("bert", checkpoints.bert)):
        if f"{kind}_dir" in options:
            subwords = f"--{kind}-dir {make(folder / 'model')}"
    write_corpus(folder, "tagging")
    text = f"--train train.tsv --valid valid.tsv --destdir data {subwords}"
    commands.ok(f"python -m lev_plugins enct5-prepare --kind tagging {text}", folder)
    return folder / "data"


@pytest.mark.parametrize("row", rows(FILES))
def test_a_shipped_file_trains(row, commands, triples: Corpus, tmp_path):
    """What is typed wins over the file, and the file over the defaults; paths lead from the folder
    in which the command was typed, not from hydra's."""
    file, options, expected = row
    data = triples.data
    if LANGUAGES not in options:
        data = prepared_text(commands, tmp_path, options).relative_to(tmp_path)
    options = f"task.data={data} {options}"
    hydra(commands, tmp_path, file, options).succeeded(row)
    saved = state(last := tmp_path / "ck/checkpoint_last.pt")
    assert saved["optimizer_history"][-1]["num_updates"] == 2
    section, name, value = expected.format(tmp=tmp_path).replace("=", ".", 1).split(".", 2)
    assert str(saved["cfg"][section][name]) == value
    if "backbone" in options:  # whose weights are in the checkpoint
        (tmp_path / "model/model.safetensors").unlink()
        command = f"fairseq-interactive . --path {last} --cpu -s noisy -t clean"
        typed = commands.done(command, tmp_path, task="noisy_translation", stdin="the cat\n")
        assert list(typed.lines("H")) == [0]


def test_every_job_of_a_sweep_has_its_own_best_checkpoint(commands, triples, tmp_path):
    jobs = f"-m optimization.max_update=6,1 hydra.sweep.dir={tmp_path}/jobs"
    options = f"{jobs} checkpoint.save_dir={tmp_path}/${{hydra:job.num}}"
    options += f" task.data={triples.data} {LANGUAGES} task.draft_lang=mt {BOTH}"
    hydra(commands, tmp_path, "lev_plugins/recipes/levt", options).succeeded(options)
    best = [state(tmp_path / job / "checkpoint_best.pt")["extra_state"]["best"] for job in "01"]
    assert best[0] < best[1], "the second job is worse than the first"
