"""Makes the fixed texts, data and checkpoints of the guard, once, with the tree to compare with.

    python benchmarks/guard/checkpoints.py .guard/models --tree ../base --quickstart .quickstart

The trainings are those of cases.toml; the corrector is that of a quickstart.
"""

import argparse
import random
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from trees import ROOT, TABLE, Tree

FRUIT = "apple banana cherry damson elderberry fig grapes hazelnut, kiwi; lemon-lime".split()
FILES = "--trainpref train --validpref valid --testpref test --destdir bin --joined-dictionary"


def triple(draw: random.Random) -> tuple[str, str, str]:
    """Source ``a b c``, target ``A . B . C .`` and a draft with letters and dots wrong."""
    source = draw.choices("abcdefgh", k=draw.randint(1, 9))
    target = [token for letter in source for token in (letter.upper(), ".")]
    draft = []
    for token in target:
        chance = draw.random()
        draft += [] if chance < 0.15 else [token if chance > 0.3 else draw.choice("ABCDEFGH!")]
        draft += ["!"] if draw.random() < 0.15 else []
    return " ".join(source), " ".join(target), " ".join(draft)


def write(path: Path, lines: Iterable[str | Sequence[str]]) -> None:
    """A text file, with its folder; a line may be given as fields, for tabs between them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = ([line] if isinstance(line, str) else line for line in lines)
    path.write_text("".join("\t".join(words) + "\n" for words in fields), "utf-8")


def labelled(words: list[str]) -> dict[str, str]:
    """What EncT5 is to find out of letters."""
    pairs = zip(words, [*words[1:], "e"], strict=True)
    return {
        "classification": max("abcd", key=words.count),
        "regression": str(words.count("a") / len(words)),
        "multilabel": ",".join(letter for letter in "abcd" if letter in words),
        "tagging": " ".join(a.upper() if a < b else "O" for a, b in pairs),
    }


def write_texts(models: Path, draw: random.Random) -> None:
    """Triples, clean and typed text, labelled letters; some test lines are odd."""
    for split, length in {"train": 320, "valid": 24, "test": 40}.items():
        triples = [triple(draw) for _ in range(length)]
        if split == "test":
            write(models / "typed.txt", [(source, draft) for source, _, draft in triples])
            marks = ("{}", "{}", "{}", "[={}=]", "[-{}-]", "[+{}+]")
            marked = [[draw.choice(marks).format(word) for word in t[2].split()] for t in triples]
            pairs = zip(triples, marked, strict=True)
            write(models / "marked.txt", [(t[0], " ".join(words)) for t, words in pairs])
            write(models / "joined.txt", [t[2].replace(" ", "") for t in triples])
            triples[2:4] = [("c d e", "C . D . E .", ""), ("", "A .", "A ! .")]
            triples[4] = ("a xyz b", "A . Xyz . B .", "A . Xyz . ! B .")
            triples[5] = ("a b c d e f g h " * 4, "A . B .", "A . B ! C . " * 5)
        for side, lines in zip(("src", "tgt", "mt"), zip(*triples, strict=True), strict=True):
            write(models / f"text/{split}.{side}", map(str.strip, lines))
        clean = [" ".join(draw.choices(FRUIT, k=draw.randint(1, 4))) for _ in range(length)]
        write(models / f"noisy/{split}.clean", clean)
        write(models / "noisy/typed.txt", [line.replace("e", "a", 1) + "  fig" for line in clean])
        texts = [draw.choices("abcdefgh", k=draw.randint(1, 12)) for _ in range(length)]
        write(models / f"enct5/{split}.txt", map(" ".join, texts))
        for kind in labelled(["a"]):
            rows = [(labelled(words)[kind], " ".join(words)) for words in texts]
            write(models / f"enct5/{kind}/{split}.tsv", rows)
    for side in ("noisy", "clean"):
        symbols = [*map(chr, range(33, 127)), "▁"]
        write(models / f"noisy/dict.{side}.txt", [f"{symbol} 1" for symbol in symbols])


def take_corrector(models: Path, quickstart: Path) -> None:
    """The model and settings of a quickstart's first run, and 4,000 lines to correct."""
    best = quickstart / "run-1" / "checkpoint_best.pt"
    names = ("inside", "confused", "heldout", "everyday", "unknown")
    texts = [(quickstart / f"text/test_{name}.noisy").read_text("utf-8") for name in names]
    lines = "".join(texts).split("\n")[:4000]
    write(models / "corrector/lines.txt", lines)
    write(models / "corrector/some.txt", lines[::13])
    for path in (best, *best.parent.glob("corrector.*"), *quickstart.glob("data/dict.*.txt")):
        shutil.copy(path, models / "corrector")


def main() -> None:
    """Make them in a folder that is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", type=Path, help="new folder")
    parser.add_argument("--tree", type=Path, default=ROOT, help="whose code (default: this)")
    parser.add_argument("--quickstart", type=Path, help="its --work; without: no corrector")
    parser.add_argument(
        "--only", nargs="+", default=TABLE["train"], metavar="NAME", help="trainings of cases.toml"
    )
    args = parser.parse_args()
    args.models.mkdir(parents=True)
    if args.quickstart:
        take_corrector(args.models, args.quickstart)
    write_texts(args.models, random.Random(7))
    run = Tree(args.tree, args.models)
    run(f"python -m lev_plugins preprocess $pairs --draft-lang mt {FILES}", "text")
    for kind in labelled(["a"]):
        command = f"enct5_prepare --kind {kind} --bytes --train train.tsv --valid valid.tsv"
        run(f"python -m lev_plugins {command} --destdir bin", f"enct5/{kind}")
    for name in args.only:
        with tempfile.TemporaryDirectory() as save:
            run.train(name, save, "--batch-size 32 --validate-interval 9")
            shutil.copyfile(Path(save, "checkpoint_last.pt"), args.models / f"{name}.pt")
        print(f"{name}.pt", flush=True)
    run.commands.close()


if __name__ == "__main__":
    main()
