"""Noisy text in fairseq's commands: trained, decoded, validated."""

import re
from pathlib import Path

import pytest
from conftest import SIZES, write_fruit
from plain_files import read

TRAINING = (
    f"--arch transformer {SIZES} --criterion cross_entropy --optimizer adam --lr 0.005 "
    "--batch-size 16 --no-epoch-checkpoints --log-format simple --bpe characters --noise all"
)
SHORT = "--bpe characters --beam 2 --max-len-a 0 --max-len-b 12"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Text of three splits in ``data``."""
    data = tmp_path_factory.mktemp("noisy")
    write_fruit(data / "data", train=90, valid=9, test=11)
    return data


@pytest.fixture(scope="module")
def noisy(commands, folder):
    """Runs a command of fairseq's on the data."""

    def run(command, more, **options):
        sides = "" if "validate" in command else "--source-lang noisy --target-lang clean"
        words = f"{command} {folder}/data {sides} --cpu {more}"
        return commands.done(words, folder, task="noisy_translation", **options)

    return run


@pytest.fixture(scope="module")
def log(noisy):
    """Of two epochs of seven updates and half of a third, with noise of all kinds."""
    # all that would differ if a sentence were read with another epoch's noise, or twice
    short = '--eval-bleu-args {"max_len_a":0,"max_len_b":12}'
    flags = f"--max-update 18 --eval-bleu --eval-metrics accuracy {short} --num-workers 0"
    return noisy("fairseq-train", f"{TRAINING} {flags} --save-dir whole").out


@pytest.fixture(scope="module")
def checkpoint(folder, log) -> Path:
    return folder / "whole" / "checkpoint_last.pt"


def test_a_test_set_is_decoded_in_full_with_the_noise_of_the_command(
    noisy, commands, folder, checkpoint
):
    noise = "--noise keyboard,swap --noise-seed 4 --noise-word-rate 0.5"
    result = noisy("fairseq-generate", f"--path {checkpoint} {SHORT} {noise} --max-tokens 200")
    flags = "--kind keyboard,swap --seed 4 --word-rate 0.5 --input data/test.clean"
    by_command = commands(f"python -m lev_plugins noise {flags}", folder)
    clean = read(folder / "data/test.clean")
    assert by_command.code == 0 and by_command.out.splitlines() != clean
    # the commands print what they read, joined by --bpe
    assert result.texts("S") == by_command.out.splitlines() and result.texts("T") == clean
    assert len(result.texts("D")) == 11


def test_lines_are_corrected_as_they_are_typed(noisy, checkpoint):
    more = f"--path {checkpoint} {SHORT} --noise all"
    result = noisy("fairseq-interactive", more, stdin="aplpe bannaa\n\ncherrry\n")
    assert result.texts("S") == ["a p l p e ▁ b a n n a a", "", "c h e r r r y"]


def test_validation_is_the_same_every_time_and_counts_text(noisy, checkpoint, log):
    more = f"--path {checkpoint} --batch-size 16 --log-format simple"
    first = noisy("fairseq-validate", more)
    scores = r"loss ([\d.]+) .*bleu ([\d.]+) .*accuracy ([\d.]+)"
    validated = re.findall(rf"\| valid \| .*{scores}", first.out)
    in_training = re.findall(rf"'valid' subset \| {scores}", log)
    assert len(in_training) == 3 and validated == in_training[-1:]
