"""Noisy text in fairseq's commands: trained, resumed, decoded, validated, loaded."""

import random
import re
import shutil

import pytest
import sentencepiece
import torch
from conftest import SIZES
from fairseq.models.transformer import TransformerModel
from states import assert_equal, parameters

TRAINING = (
    f"--arch transformer {SIZES} --criterion cross_entropy --optimizer adam --lr 0.005 "
    "--batch-size 16 --no-epoch-checkpoints --log-format simple --log-interval 50"
)
SHORT = "--beam 2 --max-len-a 0 --max-len-b 12"
FRUIT = "apple banana cherry damson elderberry figtree grapes hazelnut".split()


class Noisy:
    """A folder with text, and the commands that use it."""

    def __init__(self, commands, folder, package):
        self.commands = commands
        self.folder = folder
        self.package = package

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
def noisy(commands, root, tmp_path_factory):
    """Two epochs of seven updates and half of a third, with noise of all kinds."""
    made = Noisy(commands, tmp_path_factory.mktemp("noisy"), root / "lev_plugins")
    data = made.folder / "data"
    data.mkdir()
    draw = random.Random(1)
    for split, size in (("train", 90), ("valid", 9), ("test", 11)):
        lines = [" ".join(draw.choices(FRUIT, k=draw.randint(1, 4))) for _ in range(size)]
        if split == "test":
            lines[4] = ""
        (data / f"{split}.clean").write_text("".join(f"{line}\n" for line in lines))
    letters = [chr(code) for code in range(33, 127)] + ["▁"]
    for lang in ("noisy", "clean"):
        (data / f"dict.{lang}.txt").write_text("".join(f"{one} 1\n" for one in letters))
    # all that would differ if a sentence were read with another epoch's noise, or twice
    short = '--eval-bleu-args {"max_len_a":0,"max_len_b":12}'
    flags = f"--noise all --max-update 18 --eval-bleu --eval-metrics accuracy {short}"
    made.log = made.train(f"{flags} --num-workers 0 --save-dir whole").out
    return made


def test_the_log_says_what_is_trained_on_and_counts_text(noisy):
    assert "train: 90 lines of text, noise: random,keyboard,swap,delete (sampled anew" in noisy.log
    assert "valid: 9 lines of text, noise: random,keyboard,swap,delete (fixed)" in noisy.log
    losses = re.findall(r"valid on 'valid' subset .*? bleu [\d.]+ .*accuracy [\d.]+", noisy.log)
    assert len(losses) == 3


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
    more = f"--path {noisy.checkpoint} {SHORT} --bpe characters --noise keyboard,swap"
    result = noisy("fairseq-generate", f"{more} --max-tokens 200")
    made = noisy.commands(
        "python -m lev_plugins.cli.noise --kind keyboard,swap --input data/test.clean", noisy.folder
    )
    assert made.code == 0 and made.out.splitlines() != noisy.test
    # the commands print what they read, joined by --bpe
    assert result.texts("S") == made.out.splitlines()
    assert result.texts("T") == noisy.test
    assert len(result.texts("D")) == 11


def test_lines_are_corrected_as_they_are_typed(noisy):
    more = f"--path {noisy.checkpoint} {SHORT} --bpe characters --noise all"
    result = noisy("fairseq-interactive", more, stdin="aplpe bannaa\n\ncherrry\n")
    assert result.texts("S") == ["a p l p e ▁ b a n n a a", "", "c h e r r r y"]


def test_validation_is_the_same_every_time(noisy):
    command = (
        f"fairseq-validate {noisy.folder}/data --path {noisy.checkpoint} --cpu --batch-size 16 "
        "--log-format simple"
    )
    first = noisy.commands.done(command, noisy.folder, task="noisy_translation")
    assert "valid: 9 lines of text, noise: random,keyboard,swap,delete (fixed)" in first.out
    scores = r"loss ([\d.]+) .*bleu ([\d.]+) .*accuracy ([\d.]+)"
    found = re.findall(rf"\| valid \| .*{scores}", first.out)
    in_training = re.findall(rf"'valid' subset \| {scores}", noisy.log)
    assert found == in_training[-1:]


@pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:FutureWarning")
def test_a_checkpoint_is_loaded_from_python_with_its_bpe(noisy):
    model = TransformerModel.from_pretrained(
        str(noisy.folder / "whole"), "checkpoint_last.pt", str(noisy.folder / "data")
    )
    assert model.task.cfg.noise == "all" and type(model.bpe).__name__ == "Characters"
    assert model.encode("a pie").tolist() == model.task.src_dict.encode_line("a ▁ p i e").tolist()
    (text,) = model.translate(["aplpe"], beam=2, max_len_a=0, max_len_b=5)
    assert isinstance(text, str)


def test_sentence_pieces_with_the_dictionary_of_their_model(noisy, tmp_path):
    """As the denoising guide says: the subwords of the model are the dictionary."""
    data = tmp_path / "data"
    shutil.copytree(noisy.folder / "data", data)
    sentencepiece.SentencePieceTrainer.train(
        input=str(data / "train.clean"),
        model_prefix=str(tmp_path / "spm"),
        model_type="bpe",
        vocab_size=40,
        minloglevel=9,
    )
    pieces = (tmp_path / "spm.vocab").read_text("utf-8").splitlines()[3:]  # <unk> <s> </s>
    for lang in ("noisy", "clean"):
        made = "".join(f"{line.split()[0]} 1\n" for line in pieces)
        (data / f"dict.{lang}.txt").write_text(made, encoding="utf-8")
    command = (
        f"fairseq-train {data} --source-lang noisy --target-lang clean --cpu {TRAINING} --bpe "
        f"sentencepiece --sentencepiece-model {tmp_path}/spm.model --noise swap --max-update 2 "
        "--disable-validation --save-dir made"
    )
    result = noisy.commands.done(command, tmp_path, task="noisy_translation")
    assert "unknown" not in result.out
    assert "swap (sampled anew every epoch)" in result.out
