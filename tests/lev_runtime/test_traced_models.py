"""Exports of models whose options were drawn: a folder's answers are the model's (checked as it is
written)."""

import random
from pathlib import Path

import pytest
import saved
import tiny
from fairseq import tasks

from lev_plugins.export.folder import generator_writer, write_folder
from lev_plugins.inference.generation import GeneratingParts
from lev_plugins.inference.text_processing import TextProcessing
from lev_runtime.beam.prefixes import PrefixModel

SIZES = (
    "--dropout 0.1 --max-source-positions 40 --max-target-positions 40 --optimizer adam "
    "--source-lang a --target-lang b"
)
BOTH = "--share-all-embeddings | --encoder-learned-pos | --encoder-normalize-before"
STOCK = (
    f"{BOTH} | --decoder-normalize-before | --decoder-learned-pos | --layernorm-embedding | "
    "--no-scale-embedding | --activation-fn gelu | --decoder-layers 1"
)
#: what each architecture is built with, some of which is left out
OPTIONS = {
    "translation --arch transformer": f"{STOCK} | --no-token-positional-embeddings",
    "translation_concat --arch transformer_concat": STOCK,
    "translation --arch pbd_transformer": f"{BOTH} | --rotary-positions | --no-segment-embedding | "
    "--no-parameter-sharing | --no-future-modelling | --copied-states output",
    "translation --arch gated_transformer": f"{BOTH} | --gates all | --gates mask | "
    "--gates copy,generate | --decoder-layers 1 | --activation-fn gelu",
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("task", OPTIONS)
def test_a_folder_answers_as_its_model(task: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{task} {seed}")
    chosen = [words for words in OPTIONS[task].split(" | ") if rng.random() < 0.5]
    heads, layers, width = rng.choice([1, 2, 4]), rng.choice([1, 2]), rng.choice([8, 24])
    sides = ["encoder"] if "pbd" in task or "gated" in task else ["encoder", "decoder"]
    sizes = [f"--encoder-layers {layers}"]
    for side in sides:
        sizes.append(f"--{side}-embed-dim {width} --{side}-ffn-embed-dim {2 * width}")
        sizes.append(f"--{side}-attention-heads {heads}")
    words = " ".join([str(tmp_path), SIZES, "--task", task, *sizes, *chosen])
    cfg = saved.configuration(words.split())
    symbols = tiny.dictionary()
    built = tasks.TASK_REGISTRY[cfg.task._name](cfg.task, symbols, symbols)
    parts = GeneratingParts(saved.untrained(cfg, built, seed), built, cfg, TextProcessing(), True)
    write_folder(tmp_path / "out", generator_writer(parts, {}), int8=False)
    assert PrefixModel(tmp_path / "out").longest == 39
