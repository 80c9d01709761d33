"""Noisy text in fairseq's commands: trained, resumed, decoded, validated, loaded."""

import random
import re

import pytest
import torch
from conftest import SIZES
from fairseq.models.transformer import TransformerModel
from plain_files import put
from states import assert_equal, parameters

TRAINING = (
    f"--arch transformer {SIZES} --criterion cross_entropy --optimizer adam --lr 0.005 "
    "--batch-size 16 --no-epoch-checkpoints --log-format simple --log-interval 50"
)
SHORT = "--beam 2 --max-len-a 0 --max-len-b 12"
FRUIT = "apple banana cherry damson elderberry figtree grapes hazelnut".split()


class Noisy:
    """A folder with text, and the commands that use it."""

    def __init__(self, commands, folder):
        self.commands, self.folder = commands, folder

    def __call__(self, command, more, **options):
        words = f"{command} {self.folder}/data --source-lang noisy --target-lang clean --cpu {more}"
        return self.commands.done(words, self.folder, task="noisy_translation", **options)

    def train(self, more):
        return self("fairseq-train", f"{TRAINING} --bpe characters {more}")

    @property
    def checkpoint(self):
        return self.folder / "whole" / "checkpoint_last.pt"

    @property
    def test(self):
        return (self.folder / "data" / "test.clean").read_text().splitlines()


@pytest.fixture(scope="module")
def noisy(commands, tmp_path_factory):
    """Two epochs of seven updates and half of a third, with noise of all kinds."""
    made = Noisy(commands, tmp_path_factory.mktemp("noisy"))
    data = made.folder / "data"
    draw = random.Random(1)
    for split, size in (("train", 90), ("valid", 9), ("test", 11)):
        lines = [" ".join(draw.choices(FRUIT, k=draw.randint(1, 4))) for _ in range(size)]
        if split == "test":
            lines[4] = ""
        put(data / f"{split}.clean", lines)
    letters = [chr(code) for code in range(33, 127)] + ["▁"]
    for lang in ("noisy", "clean"):
        put(data / f"dict.{lang}.txt", [f"{one} 1" for one in letters])
    # all that would differ if a sentence were read with another epoch's noise, or twice
    short = '--eval-bleu-args {"max_len_a":0,"max_len_b":12}'
    flags = f"--noise all --max-update 18 --eval-bleu --eval-metrics accuracy {short}"
    made.log = made.train(f"{flags} --num-workers 0 --save-dir whole").out
    return made


def test_a_training_resumed_by_other_processes_changes_no_bit(noisy):
    flags = "--noise all --save-dir parts --disable-validation"
    noisy.train(f"{flags} --max-update 9 --num-workers 0")
    half = parameters(noisy.folder / "parts" / "checkpoint_last.pt")
    log = noisy.train(f"{flags} --max-update 18 --num-workers 2").out
    assert "checkpoint_last.pt (epoch 2 @ 9 updates)" in log
    parts = parameters(noisy.folder / "parts" / "checkpoint_last.pt")
    whole = parameters(noisy.checkpoint)
    assert_equal(parts, whole)
    assert any(not torch.equal(half[name], parts[name]) for name in whole)


def test_a_test_set_is_decoded_in_full_with_the_noise_of_the_command(noisy):
    noise = "--noise keyboard,swap --noise-seed 4 --noise-word-rate 0.5"
    more = f"--path {noisy.checkpoint} {SHORT} --bpe characters {noise} --max-tokens 200"
    result = noisy("fairseq-generate", more)
    flags = "--kind keyboard,swap --seed 4 --word-rate 0.5 --input data/test.clean"
    made = noisy.commands(f"python -m lev_plugins noise {flags}", noisy.folder)
    assert made.code == 0 and made.out.splitlines() != noisy.test
    # the commands print what they read, joined by --bpe
    assert result.texts("S") == made.out.splitlines()
    assert result.texts("T") == noisy.test
    assert len(result.texts("D")) == 11


def test_lines_are_corrected_as_they_are_typed(noisy):
    more = f"--path {noisy.checkpoint} {SHORT} --bpe characters --noise all"
    result = noisy("fairseq-interactive", more, stdin="aplpe bannaa\n\ncherrry\n")
    assert result.texts("S") == ["a p l p e ▁ b a n n a a", "", "c h e r r r y"]


def test_validation_is_the_same_every_time_and_counts_text(noisy):
    command = (
        f"fairseq-validate {noisy.folder}/data --path {noisy.checkpoint} --cpu --batch-size 16 "
        "--log-format simple"
    )
    first = noisy.commands.done(command, noisy.folder, task="noisy_translation")
    scores = r"loss ([\d.]+) .*bleu ([\d.]+) .*accuracy ([\d.]+)"
    found = re.findall(rf"\| valid \| .*{scores}", first.out)
    in_training = re.findall(rf"'valid' subset \| {scores}", noisy.log)
    assert len(in_training) == 3 and found == in_training[-1:]


@pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:FutureWarning")
def test_a_checkpoint_is_loaded_from_python_with_its_bpe(noisy):
    model = TransformerModel.from_pretrained(
        str(noisy.folder / "whole"), "checkpoint_last.pt", str(noisy.folder / "data")
    )
    assert model.task.cfg.noise == "all" and type(model.bpe).__name__ == "Characters"
    assert model.encode("a pie").tolist() == model.task.src_dict.encode_line("a ▁ p i e").tolist()
    (text,) = model.translate(["aplpe"], beam=2, max_len_a=0, max_len_b=5)
    assert isinstance(text, str)
