"""A test set is decoded in full, with the noise of the noise command."""

from conftest import SIZES, write_fruit
from plain_files import read

TRAINING = (
    f"--arch transformer {SIZES} --criterion cross_entropy --optimizer adam --lr 0.005 "
    "--batch-size 16 --no-epoch-checkpoints --bpe characters --noise all --max-update 1 "
    "--disable-validation --save-dir run"
)
DECODING = "--path run/checkpoint_last.pt --bpe characters --beam 2 --max-len-a 0 --max-len-b 12"


def test_a_test_set_is_decoded_in_full_with_the_noise_of_the_command(commands, tmp_path):
    write_fruit(tmp_path / "data", train=90, valid=9, test=11)
    sides = "data --source-lang noisy --target-lang clean --cpu"
    task = {"task": "noisy_translation"}
    commands.done(f"fairseq-train {sides} {TRAINING}", tmp_path, **task)
    noise = "--noise keyboard,swap --noise-seed 4 --noise-word-rate 0.5"
    generate = f"fairseq-generate {sides} {DECODING} {noise} --max-tokens 200"
    result = commands.done(generate, tmp_path, **task)
    flags = "--kind keyboard,swap --seed 4 --word-rate 0.5 --input data/test.clean"
    by_command = commands(f"python -m lev_plugins noise {flags}", tmp_path)
    clean = read(tmp_path / "data/test.clean")
    assert by_command.code == 0 and by_command.out.splitlines() != clean
    # the commands print what they read, joined by --bpe
    assert result.texts("S") == by_command.out.splitlines() and result.texts("T") == clean
    assert len(result.texts("D")) == 11
