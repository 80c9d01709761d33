"""Spaces at the ends of a line are part of it, whether it was binarised or is typed."""

import random
import re
from pathlib import Path

import pytest
from conftest import ENCODER, SIZES, Commands
from plain_files import put

SIDES = ("src", "tgt", "mt")
SPACES = (" ", "  ", "\u00a0", "\u3000", "\u2009 ", "\u202f", "\f", "\x85", "\u2028")
MODELS = {
    "translation": f"--arch pbd_transformer_char {ENCODER} --decoder-layers 1",
    "translation_edit": f"--arch levenshtein_editor_char {SIZES} --max-insertions 15",
    "translation_concat": f"--arch transformer_concat {SIZES} --share-all-embeddings",
}
TRAINING = (
    "--optimizer adam --lr 0.01 --batch-size 16 --max-update 3 --num-workers 0 --cpu "
    "--disable-validation --no-epoch-checkpoints --bpe characters"
)


def spaced(draw: random.Random, text: str) -> str:
    """The text with spaces of any kind at either end."""
    return "".join(draw.choices(SPACES, k=2)) + text + "".join(draw.choices(SPACES, k=2))


def characters(line: str) -> str:
    return " ".join(re.sub(r"\s", "\u2581", line))


def text(tokens: str) -> str:
    """As fairseq's ``characters`` joins them."""
    return tokens.replace(" ", "").replace("\u2581", " ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, commands: Commands) -> Path:
    """``test.SIDE`` as it is typed, and it and ``train`` binarised in characters."""
    folder, draw = tmp_path_factory.mktemp("spaces"), random.Random(3)
    for split, count in {"train": 48, "test": 20}.items():
        texts = [" ".join(draw.choices(["ab", "cad", "bee"], k=3)) for _ in range(count)]
        for side in SIDES:
            lines = [spaced(draw, text) for text in texts]
            put(folder / f"{split}.{side}", lines)
            put(folder / f"{split}.ch.{side}", list(map(characters, lines)))
    commands.preprocess(
        "--source-lang src --target-lang tgt --draft-lang mt --joined-dictionary --trainpref "
        "train.ch --validpref test.ch --testpref test.ch --destdir bin",
        folder,
    )
    return folder


@pytest.mark.parametrize("task", MODELS)
def test_typed_lines_are_answered_as_the_same_lines_binarised(commands, folder, task):
    drafted = task != "translation"
    languages = "--source-lang src --target-lang tgt" + (" --draft-lang mt" if drafted else "")
    loss = {"translation_edit": "edit_policy_loss"}.get(task, "label_smoothed_cross_entropy")
    saved = f"--save-dir {task}"
    command = f"fairseq-train bin {languages} {MODELS[task]} --criterion {loss} {TRAINING} {saved}"
    commands.done(command, folder, task=task)
    model = f"--path {task}/checkpoint_last.pt --beam 1 --max-len-b 12 --bpe characters --cpu"
    binarised = commands.done(f"fairseq-generate bin {languages} {model}", folder, task=task)
    sides = [
        (folder / f"test.{side}").read_text("utf-8").removesuffix("\n").split("\n")
        for side in (("src", "mt") if drafted else ("src",))
    ]
    lines = "".join("\t".join(fields) + "\n" for fields in zip(*sides, strict=True))
    languages = "--source-lang src --target-lang tgt"
    typed = commands.done(
        f"fairseq-interactive bin {languages} {model}", folder, task=task, stdin=lines
    )
    assert typed.texts("H") == binarised.texts("H")
    # fairseq-interactive shows the source's tokens, fairseq-generate its text
    assert [text(source) for source in typed.texts("S")] == binarised.texts("S")
    assert any(source.endswith("  ") for source in binarised.texts("S"))
