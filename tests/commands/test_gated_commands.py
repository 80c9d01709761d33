"""gated-Trans with fairseq's own commands and task, and the command that shows its gates."""

import json
import math
import random
import re
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from lev_plugins.systems.gated import GatedTransformerModel

SIZES = (
    "--encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-layers 1 "
    "--encoder-attention-heads 2 --decoder-layers 1 --share-all-embeddings"
)
MODEL = (
    f"--arch gated_transformer_char {SIZES} --gates mask,copy,generate "
    "--criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam "
    "--clip-norm 1 --batch-size 32 --num-workers 0 --log-format simple --log-interval 50 "
    "--no-epoch-checkpoints"
)
QUICK = "--gate-variant pointer --lr 0.01 --dropout 0 --max-update 80 --disable-validation"
RANDOM = "--lr 0.005 --dropout 0.3 --attention-dropout 0.1 --disable-validation"
WORDS = "one two three four five six seven eight".split()


def noisy(draw: random.Random, word: str) -> str:
    """A word with a wrong letter, or as it is."""
    return word.replace(word[-1], "x") if draw.random() < 0.3 else word


def write_corpus(folder: Path) -> None:
    """Noisy words and clean ones; the test set has an empty source and an unknown word."""
    draw = random.Random(3)
    for name, size in (("train", 160), ("valid", 9), ("test", 9)):
        clean = [draw.choices(WORDS, k=draw.randint(2, 5)) for _ in range(size)]
        lines = [" ".join(noisy(draw, word) for word in line) for line in clean]
        if name == "test":
            lines[2], lines[5] = "", "one zzz two"
        (folder / f"{name}.noisy").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"{name}.clean").write_text("".join(f"{' '.join(one)}\n" for one in clean))


class Denoiser(NamedTuple):
    """Commands of the task ``translation``; ``folder`` holds text, data and a checkpoint."""

    commands: object
    folder: Path
    package: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "trained" / "checkpoint_last.pt"

    def __call__(self, command, **options):
        common = f"--user-dir {self.package} --task translation --cpu"
        return self.commands(
            f"{command} {common} --source-lang noisy --target-lang clean", self.folder, **options
        )

    def done(self, command, **options):
        result = self(command, **options)
        assert result.code == 0, f"{command}\n{result.out[-3000:]}\n{result.err[-3000:]}"
        return result

    def train(self, more):
        return f"fairseq-train bin {MODEL} {more}"

    def generate(self, more="", path=None):
        return f"fairseq-generate bin --path {path or self.checkpoint} --beam 3 {more}"

    def gates(self, more="", path=None, **options):
        command = f"python -m lev_plugins.cli.gates --path {path or self.checkpoint} --beam 3"
        return self.commands(f"{command} {more}", self.folder, **options)

    def text(self, name):
        return (self.folder / name).read_text().splitlines()


@pytest.fixture(scope="module")
def denoiser(commands, root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gated")
    write_corpus(folder)
    commands.preprocess(
        "--source-lang noisy --target-lang clean --trainpref train --validpref valid "
        "--testpref test --joined-dictionary --destdir bin",
        folder,
    )
    made = Denoiser(commands, folder, root / "lev_plugins")
    made.done(made.train(f"{QUICK} --save-dir trained"))
    return made


@pytest.fixture(scope="module")
def second(denoiser):
    """Another checkpoint, of another variant, trained for a short time with everything random."""
    denoiser.done(denoiser.train(f"{RANDOM} --max-update 8 --save-dir second"))
    return denoiser.folder / "second" / "checkpoint_last.pt"


@pytest.fixture(scope="module")
def generated(denoiser):
    return denoiser.done(denoiser.generate("--batch-size 4"))


def records(result):
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.out.splitlines()]


# decoding -------------------------------------------------------------------------------------


def test_no_sentence_is_lost(denoiser, generated):
    sources = denoiser.text("test.noisy")
    printed = generated.lines("S")
    assert [" ".join(printed[i]) for i in range(9)] == [s.replace("zzz", "<unk>") for s in sources]
    assert generated.texts("T") == denoiser.text("test.clean")
    assert len(set(generated.texts("H"))) > 2


def test_lines_typed_are_answered_as_the_data_are(denoiser, generated):
    text = "".join(f"{line}\n" for line in denoiser.text("test.noisy"))
    command = f"fairseq-interactive bin --path {denoiser.checkpoint} --beam 3 --buffer-size 4"
    typed = denoiser.done(f"{command} --batch-size 3", stdin=text)
    assert typed.texts("H") == generated.texts("H")


def test_an_ensemble_of_two_variants_gives_n_best(denoiser, second):
    path = f"{denoiser.checkpoint}:{second}"
    result = denoiser.done(denoiser.generate("--nbest 2 --prefix-size 1", path))
    heads = re.findall(r"^H-(\d+)\t\S+\t(.*)$", result.out, re.MULTILINE)
    assert sorted(int(number) for number, _ in heads) == sorted([*range(9), *range(9)])
    targets = denoiser.text("test.clean")
    assert all(text.split()[:1] == targets[int(n)].split()[:1] for n, text in heads)


def test_validation_gives_the_loss_of_every_sentence(denoiser):
    command = f"fairseq-validate bin --path {denoiser.checkpoint} --batch-size 4"
    result = denoiser.done(f"{command} --criterion cross_entropy --valid-subset valid")
    # fairseq-validate logs to standard error
    assert re.search(r"valid on 'valid' subset .*loss [0-9.]+ .*ppl", result.err + result.out)


@pytest.mark.filterwarnings("ignore:'pin_memory' argument:UserWarning")
def test_the_python_interface_gives_what_the_command_gives(denoiser, generated):
    hub = GatedTransformerModel.from_pretrained(
        str(denoiser.checkpoint.parent), "checkpoint_last.pt", str(denoiser.folder / "bin")
    )
    assert hub.translate(denoiser.text("test.noisy"), beam=3) == generated.texts("H")


# training -------------------------------------------------------------------------------------


def tensors(path):
    """All tensors of a training's state: the model and what the optimizer remembers."""
    state = torch.load(path, weights_only=True)
    found = dict(state["model"])
    for number, moments in state["last_optimizer_state"]["state"].items():
        found |= {f"{number}.{name}": value for name, value in moments.items()}
    return {name: value for name, value in found.items() if torch.is_tensor(value)}


def test_a_training_resumed_is_the_one_that_never_stopped(denoiser, second, tmp_path):
    denoiser.done(denoiser.train(f"{RANDOM} --max-update 3 --save-dir {tmp_path}"))
    result = denoiser.done(denoiser.train(f"{RANDOM} --max-update 8 --save-dir {tmp_path}"))
    assert "checkpoint_last.pt (epoch 1 @ 3 updates)" in result.out
    whole, parts = tensors(second), tensors(tmp_path / "checkpoint_last.pt")
    assert whole.keys() == parts.keys()
    assert "decoder.gates.gates.copy.weight" in whole
    assert not [name for name in whole if not torch.equal(whole[name], parts[name])]


def test_a_gate_that_is_none_ends_in_one_line(denoiser, tmp_path):
    result = denoiser(denoiser.train(f"{QUICK} --gates mask,erase --save-dir {tmp_path}/no"))
    assert result.error == (
        "--gates mask,erase: there is no gate 'erase'; give some of mask,copy,generate,skip, or "
        "none"
    )


# gates ----------------------------------------------------------------------------------------


def test_the_gates_are_those_of_what_beam_search_writes(denoiser, generated, tmp_path):
    text = "".join(f"{line}\n" for line in denoiser.text("test.noisy"))
    page, picture = tmp_path / "gates.html", tmp_path / "gates.png"
    result = denoiser.gates(f"--html {page} --png {picture} --batch-size 4", stdin=text)
    found = records(result)
    assert [one["line"] for one in found] == list(range(1, 10))
    assert [one["source"] for one in found] == denoiser.text("test.noisy")
    assert [one["target"] for one in found] == generated.texts("H")
    for one, number in zip(found, range(9), strict=True):
        (printed,) = generated.lines("P")[number]
        scores = [math.log(2) * float(score) for score in printed.split()]
        assert one["log_probability"] == pytest.approx(scores, abs=1e-4)
        for copied, written in zip(one["copy"], one["generate"], strict=True):
            assert copied + written == pytest.approx(1, abs=1e-5)
        assert one["skip"] is None and not one["forced"]
        assert len(one["mask"]) == len(one["source_tokens"])
    assert page.read_text().count("<article>") == 9
    assert picture.read_bytes().startswith(b"\x89PNG") and "5 of 9 lines" in result.err


def test_given_lines_are_forced(denoiser, tmp_path):
    flags = f"--input test.noisy --target test.clean --json {tmp_path}/gates.jsonl"
    result = denoiser.gates(flags)
    assert result.code == 0 and result.out == ""
    lines = (tmp_path / "gates.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [one["target"] for one in found] == denoiser.text("test.clean")
    assert all(one["forced"] for one in found)


def test_what_cannot_be_shown_is_refused_in_one_line(denoiser, second, tmp_path):
    both = f"{denoiser.checkpoint}:{second}"
    assert denoiser.gates(path=both).error.endswith("name one checkpoint")
    page = tmp_path / "page.html"
    long = "one\n" + "one " * 1100 + "\n"
    assert denoiser.gates(f"--html {page}", stdin=long).error == (
        "line 2: the source has 1101 tokens with </s>, and the model takes 1024; split the line"
    )
    assert not list(tmp_path.iterdir())
