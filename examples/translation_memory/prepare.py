"""Make training data for repairing fuzzy matches of a translation memory.

    python examples/translation_memory/prepare.py WORK --po FOLDER
    python examples/translation_memory/prepare.py WORK --text my.en my.es
    python examples/translation_memory/prepare.py WORK --splits FOLDER en es

The last one takes train, valid and test as FOLDER has them (train.en, train.es and so on, plain or
.gz; matches that stand beside them in train.old, .draft and .sim are used, train.old2 and so on
too). Other matches come from the training part alone. WORK gets memory, text, subwords, data of
matches, and all: matches and what has none, to learn to translate.
"""

import argparse
import gzip
import random
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import sentencepiece
from memory import Match, Memory, Pair, po_pairs, repair, to_line

from lev_plugins.cli.preprocess import main as preprocess
from lev_plugins.data.source_change import MARKS, mark_change
from lev_plugins.data.subwords import train_sentencepiece
from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.text_files import read_parallel

PARTS = ("train", "valid", "test")
MATCHES = {"train": 2, "valid": 1, "test": 1}  # of a source


class Row(NamedTuple):
    """A line of each file of WORK/text.

    src: the source with its change marked, as the model reads it. draft: repaired by rule. new: the
    source without marks. raw: the draft as the memory has it.
    """

    src: str
    tgt: str
    draft: str
    new: str
    old: str
    raw: str
    sim: str


def is_there(path: Path) -> bool:
    """Whether a file is there, plain or as .gz."""
    return path.is_file() or path.with_name(path.name + ".gz").is_file()


def read(*paths: Path) -> list[tuple[str, ...]]:
    """Line-aligned files, plain or .gz, as rows."""
    with tempfile.TemporaryDirectory() as folder:
        plain = [str(path) for path in paths]
        for number, path in enumerate(paths):
            if is_there(path) and not path.is_file():
                plain[number] = f"{folder}/{number}-{path.name}"
                with gzip.open(f"{path}.gz") as packed, open(plain[number], "wb") as file:
                    shutil.copyfileobj(packed, file)
        return [tuple(map(to_line, row)) for row in read_parallel(plain)]


def write(path: Path, lines: Iterable[str]) -> None:
    """Lines of text, each with its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), "utf-8", newline="\n")


def split(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    """A memory in parts: 1,000 pairs or a twentieth each to validate and test."""
    pairs = list(Memory([*pairs]).pairs)
    random.Random(1).shuffle(pairs)
    size = min(1000, len(pairs) // 20)
    if not size:
        raise UserError(f"{len(pairs)} translated sentences; at least 20 are needed")
    return dict(zip(PARTS, (pairs[2 * size :], pairs[:size], pairs[size : 2 * size])))


def given_matches(folder: Path, part: str) -> list[list[Match]]:
    """Matches that stand beside a part that is split already; an empty draft is none."""
    found: list[list[Match]] = []
    for number in ("", "2"):
        paths = [folder / f"{part}.{side}{number}" for side in ("old", "draft", "sim")]
        if all(map(is_there, paths)):
            new = [[Match(*row[:2], float(row[2]))] if row[1] else [] for row in read(*paths)]
            found = [*map(list.__add__, found, new)] if found else new
    return found


def rows(pairs: Iterable[Pair], matches: Iterable[list[Match]]) -> list[Row]:
    """A row for each match of each pair."""
    return [
        Row(
            *(mark_change(source, old), target, repair(old, source, draft)),
            *(source, old, draft, f"{similarity:.4f}"),
        )
        for (source, target), found in zip(pairs, matches, strict=True)
        for old, draft, similarity in found
    ]


def cut(work: Path, vocabulary: int) -> None:
    """Learns subwords from the memory and cuts what the models read and write."""
    memory = work / "memory.src", work / "memory.tgt"
    train_sentencepiece(
        (one for pair in read(*memory) for one in pair),
        vocabulary,
        flag="--vocabulary",
        model_prefix=str(work / "spm"),
        user_defined_symbols=[*MARKS],
        normalization_rule_name="identity",  # what is kept comes out as it went in
        remove_extra_whitespaces=False,
    )
    subwords = sentencepiece.SentencePieceProcessor(model_file=str(work / "spm.model"))
    names = [f"{part}.{side}" for part in PARTS for side in ("src", "tgt", "draft")]
    for name in (*names, "all.src", "all.tgt"):
        lines = (subwords.encode(line, out_type=str) for (line,) in read(work / "text" / name))
        write(work / "pieces" / name, map(" ".join, lines))


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Training data from a translation memory.")
    parser.add_argument("work", metavar="WORK", type=Path, help="folder to make")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--po", metavar="FOLDER", type=Path, help="with .po files, or one of them")
    kind.add_argument("--text", metavar="FILE", nargs=2, help="sources and translations")
    kind.add_argument("--splits", metavar=("FOLDER", "SRC", "TGT"), nargs=3, help="split already")
    parser.add_argument("--vocabulary", type=int, default=8000, help="subwords (default: 8000)")
    args = parser.parse_args()
    work: Path = args.work
    for folder in (work / "all", work / "data"):  # a run may have ended between the two
        if folder.exists():
            raise UserError(f"{folder} is there already: delete it or name another WORK")
    given: dict[str, list[list[Match]]] = {}
    if args.splits:
        folder, *sides = args.splits
        parts = {one: read(*(Path(folder, f"{one}.{side}") for side in sides)) for one in PARTS}
        given = {one: given_matches(Path(folder), one) for one in PARTS}
    else:
        parts = split(po_pairs(args.po) if args.po else read(*map(Path, args.text)))
    memory = Memory(parts["train"])
    for side, lines in zip(("src", "tgt"), zip(*memory.pairs)):
        write(work / f"memory.{side}", lines)
    for part, pairs in parts.items():
        sources, count = [source for source, _ in pairs], MATCHES[part]
        matches = [*(given.get(part) or memory.matches(sources, count, itself=False))]
        if not any(matches):
            raise UserError(f"no source of {part} has a match in the memory; give more text")
        made = rows(pairs, matches)
        for side, lines in zip(Row._fields, zip(*made)):
            write(work / f"text/{part}.{side}", lines)
        if part == "train":  # to learn to translate, those without a match too
            alone = [pair for pair, found in zip(pairs, matches, strict=True) if not found]
            for number, side in enumerate(("src", "tgt")):
                whole = [row[number] for row in made] + [pair[number] for pair in alone]
                write(work / f"text/all.{side}", whole)
        print(f"{part}: {len(pairs)} sentences, {len(made)} matches", flush=True)
    cut(work, args.vocabulary)
    words = "--source-lang src --target-lang tgt --joined-dictionary".split()
    pieces = work / "pieces"
    whole = [f"--trainpref={pieces}/all", f"--validpref={pieces}/valid", f"--destdir={work}/all"]
    preprocess([*words, *whole])
    prefixes = [f"--{part}pref={pieces}/{part}" for part in PARTS]
    same = ["--draft-lang=draft", f"--srcdict={work}/all/dict.src.txt", f"--destdir={work}/data"]
    preprocess([*words, *prefixes, *same])


if __name__ == "__main__":
    run_cli(main)
