"""Models that write from left to right, with fairseq's own commands.

One contract for ``pbd_transformer``, ``gated_transformer`` and the autoregressive baseline
``transformer_concat`` (LevT, §C.2), then what is particular to each.
"""

import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import checkpoints
import pytest
from conftest import ENCODER, Commands, Corpus, Result
from states import assert_equal, state, tensors

SIZES = f"{ENCODER} --decoder-layers 1 --share-all-embeddings"
LANGUAGES = "--source-lang src --target-lang tgt"
TRAINING = (
    "--criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam --lr 0.005 "
    "--clip-norm 1 --batch-size 32 --num-workers 0 --log-format simple --log-interval 50 "
    "--no-epoch-checkpoints --disable-validation"
)
RANDOM = "--dropout 0.3 --attention-dropout 0.1 --seed 2"


class System(NamedTuple):
    """The commands of a system on the triples.

    task and arch: flags. updates: of a training that ends in outputs that differ. drafted: flags
    for data with drafts. folder: gets what they write.
    """

    task: str
    arch: str
    updates: int
    drafted: str
    commands: Commands
    corpus: Corpus
    folder: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "trained" / "checkpoint_last.pt"

    @property
    def lines(self) -> list[str]:
        """The test set as it is typed: it has an empty source and a word of no dictionary."""
        sources = self.corpus.text("test", "src")
        if not self.drafted:
            return sources
        drafts = self.corpus.text("test", "mt")
        return [f"{source}\t{draft}" for source, draft in zip(sources, drafts, strict=True)]

    def done(self, command: str, **options: Any) -> Result:
        return self.commands.done(
            f"{command} {LANGUAGES} --cpu", self.folder, task=self.task, **options
        )

    def train(self, more: str) -> str:
        return f"fairseq-train {self.corpus.data} {self.arch} {self.drafted} {TRAINING} {more}"

    def generate(self, more: str) -> str:
        words = f"{self.corpus.data} --path {self.checkpoint} --beam 4 {self.drafted}"
        return f"fairseq-generate {words} {more}"

    def typed(self, lines: list[str], more: str = "") -> Result:
        command = f"fairseq-interactive {self.corpus.data} --path {self.checkpoint} --beam 4 {more}"
        return self.done(command, stdin="".join(f"{line}\n" for line in lines))


KINDS = {
    "pbd": ("translation", f"--arch pbd_transformer_char {SIZES}", 120, ""),
    "gated": ("translation", f"--arch gated_transformer_char {SIZES}", 120, ""),
    "concat": (
        "translation_concat",
        f"--arch transformer_concat_char {SIZES}",
        60,
        "--draft-lang mt",
    ),
}


@pytest.fixture(scope="module")
def built(
    commands: Commands, triples: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], System]:
    """Systems by their names, each trained once."""

    @cache
    def make(name: str) -> System:
        system = System(*KINDS[name], commands, triples, tmp_path_factory.mktemp(name))
        system.done(system.train(f"--dropout 0 --max-update {system.updates} --save-dir trained"))
        return system

    return make


@pytest.fixture(scope="module", params=KINDS)
def system(built: Callable[[str], System], request: pytest.FixtureRequest) -> System:
    return built(request.param)


@pytest.fixture(scope="module")
def second(system: System) -> Path:
    """Another checkpoint, trained for a short time with everything random."""
    system.done(system.train(f"{RANDOM} --max-update 8 --save-dir second"))
    return system.folder / "second" / "checkpoint_last.pt"


@pytest.fixture(scope="module")
def generated(system: System) -> Result:
    return system.done(system.generate("--batch-size 4 --scoring ter"))


# ---------------------------------------------------------------- the contract


def test_no_sentence_is_lost(system, generated):
    sources, targets = (system.corpus.text("test", side) for side in ("src", "tgt"))
    if system.drafted:  # source and draft are read as one
        sources = [line.replace("\t", " ").strip() for line in system.lines]
    printed = generated.lines("S")
    texts = [" ".join(printed[number]) for number in range(len(sources))]
    assert texts == [re.sub("xyz|Xyz", "<unk>", source) for source in sources]
    assert sorted(generated.lines("H")) == sorted(generated.lines("T")) == list(range(len(targets)))
    assert len(set(generated.texts("H"))) > 2
    assert re.search(r"Generate test with beam=4: TER = \d+\.\d+", generated.out)


def test_lines_typed_are_answered_as_the_data_are(system, generated):
    typed = system.typed(system.lines, "--buffer-size 4 --batch-size 3")
    assert list(typed.lines("H")) == list(range(len(system.lines)))
    assert typed.texts("H") == generated.texts("H")


def test_a_training_resumed_is_the_one_that_never_stopped(system, second, tmp_path):
    system.done(system.train(f"{RANDOM} --max-update 3 --save-dir {tmp_path}"))
    result = system.done(system.train(f"{RANDOM} --max-update 8 --save-dir {tmp_path}"))
    assert "checkpoint_last.pt (epoch 1 @ 3 updates)" in result.out
    assert_equal(tensors(tmp_path / "checkpoint_last.pt"), tensors(second), least=50)


# ---------------------------------------------------------------- a backbone

SIDES = "--source-lang noisy --target-lang clean"
BACKBONE = (
    f"fairseq-train . {SIDES} --arch gated_bert_minilm --bpe hf --hf-directory bert "
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
    result = commands.plugin(BACKBONE, folder, task="noisy_translation")
    assert f"sizes are those of {folder}/bert: {{" in result.out, result.err
    moved = folder.rename(tmp_path / "elsewhere")
    (moved / "bert" / "model.safetensors").unlink()
    trained = moved / "run" / "checkpoint_last.pt"
    result = commands.plugin(
        f"fairseq-interactive {moved} {SIDES} --path {trained} --cpu --beam 2 "
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
