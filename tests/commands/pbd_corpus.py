"""A small correction task, preprocessed and trained by fairseq's own commands."""

import random
from pathlib import Path

from conftest import Commands, Corpus

SIZES = (
    "--encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-layers 1 "
    "--encoder-attention-heads 2"
)
MODEL = f"--arch pbd_transformer_char {SIZES}"
TRAINING = (
    "--criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam --lr 0.005 "
    "--clip-norm 1 --batch-size 32 --num-workers 0 --log-format simple --log-interval 50 "
    "--no-epoch-checkpoints"
)


def pair(draw: random.Random) -> tuple[str, str]:
    """``a b d`` and ``A B d``: some letters are to be changed."""
    source = draw.choices("abcd", k=draw.randint(2, 6))
    target = [letter.upper() if letter in "ab" else letter for letter in source]
    return " ".join(source), " ".join(target)


def prepared(commands: Commands, folder: Path) -> Corpus:
    """259 training, 11 validation and 11 test pairs, and 3 more (``test1``).

    There are empty sources and empty targets, and words that are in no dictionary.
    """
    draw = random.Random(7)
    sizes = {"train": 259, "valid": 11, "test": 11, "few": 3}
    splits = {name: [pair(draw) for _ in range(size)] for name, size in sizes.items()}
    splits["train"][3:6] = [("", ""), ("c", ""), ("", "A")]
    splits["test"][5] = ("", "")
    splits["test"][8] = ("a xyz b", "A Xyz B")
    for name, pairs in splits.items():
        for side, lines in zip(("src", "tgt"), zip(*pairs, strict=True), strict=True):
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    commands.ok(
        "fairseq-preprocess -s src -t tgt --trainpref train --validpref valid "
        "--testpref test,few --destdir bin --joined-dictionary --workers 1",
        folder,
    )
    return Corpus(folder, "", "")
