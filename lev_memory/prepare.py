"""Make training data for repairing fuzzy matches of a translation memory.

WORK gets memory, text, subwords, data of matches, and all: matches and what has none, to learn to
translate. Of one match in ten the model is not told how the source changed: it learns to read a
draft whose older source nobody knows.
"""

import argparse
import random
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from lev_runtime.errors import UserError
from lev_runtime.source_change import MARKS, mark_change
from lev_runtime.subwords import train_sentencepiece

from .commands import run_logged
from .formats.files import (
    Problems,
    folder_memory,
    is_there,
    language_in,
    read_lines,
    write_json,
    write_lines,
)
from .memory import Match, Memory, Pair
from .repair.lines import to_line
from .repair.repair import repaired

PARTS = ("train", "valid", "test")
MATCHES = {"train": 2, "valid": 1, "test": 1}  # of a source
UNKNOWN_CHANGES = 0.1  # share of the matches whose change is not told
REPORT = 5000  # sentences between two lines on the progress


class Row(NamedTuple):
    """A line of each file of WORK/text.

    src: the source with its change marked, as the model reads it. draft: repaired by rule, in part
    too. new: the source without marks. raw: the draft as the memory has it.
    """

    src: str
    tgt: str
    draft: str
    new: str
    old: str
    raw: str
    sim: str


def text_pairs(source: Path, target: Path) -> list[Pair]:
    """Two line-aligned files of text, as lines of a memory."""
    return [(to_line(text), to_line(other)) for text, other in read_lines(source, target)]


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
    matches: list[list[Match]] = []
    for number in ("", "2"):
        paths = [folder / f"{part}.{side}{number}" for side in ("old", "draft", "sim")]
        if all(map(is_there, paths)):
            more = [
                [Match(to_line(old), to_line(draft), float(similarity))] if draft else []
                for old, draft, similarity in read_lines(*paths)
            ]
            matches = [*map(list.__add__, matches, more)] if matches else more
    return matches


def rows(pair: Pair, matches: Iterable[Match]) -> Iterator[Row]:
    """A row for each match of a pair."""
    source, target = pair
    for old, draft, similarity in matches:
        start = repaired(old, source, draft).text
        texts = mark_change(source, old), target, start, source, old, draft
        yield Row(*texts, f"{similarity:.4f}")


def without_changes(part: Sequence[Row]) -> list[Row]:
    """Training rows; of some the change of the source is not told, and the draft not repaired."""
    draw = random.Random(1)
    return [
        row._replace(src=row.new, draft=row.raw) if draw.random() < UNKNOWN_CHANGES else row
        for row in part
    ]


def matched(
    part: str, pairs: Sequence[Pair], matches: Iterable[list[Match]]
) -> tuple[list[Row], list[Pair]]:
    """The rows of a part, and what has no match."""
    found: list[Row] = []
    alone: list[Pair] = []
    for number, (pair, near) in enumerate(zip(pairs, matches, strict=True), start=1):
        found += rows(pair, near)
        if not near:
            alone.append(pair)
        if number % REPORT == 0 or number == len(pairs):
            print(f"{part}: {number} of {len(pairs)} sentences, {len(found)} matches", flush=True)
    if not found:
        raise UserError(f"no source of {part} has a match in the memory; give more text")
    return found, alone


def cut(work: Path, vocabulary: int, like: Path | None) -> None:
    """Cuts what the models read and write into the subwords of the memory, or of another one."""
    if like:
        shutil.copy2(like / "spm.model", work / "spm.model")
    else:
        lines = (line for pair in read_lines(work / "memory.src", work / "memory.tgt")
                 for line in pair)  # fmt: skip
        train_sentencepiece(
            lines,
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
        lines = (line for (line,) in read_lines(work / "text" / name))
        pieces = (" ".join(subwords.encode(line, out_type=str)) for line in lines)
        write_lines(work / "pieces" / name, pieces)


def binarise(work: Path, like: Path | None) -> None:
    """The data of both trainings; what fairseq says of it goes to WORK/prepare.log."""
    words = "--source-lang src --target-lang tgt --joined-dictionary".split()
    pieces = work / "pieces"
    whole = [f"--trainpref={pieces}/all", f"--validpref={pieces}/valid", f"--destdir={work}/all"]
    if like:
        whole.append(f"--srcdict={like}/all/dict.src.txt")
    prefixes = [f"--{part}pref={pieces}/{part}" for part in PARTS]
    same = ["--draft-lang=draft", f"--srcdict={work}/all/dict.src.txt", f"--destdir={work}/data"]
    (work / "prepare.log").unlink(missing_ok=True)
    for sides in (whole, [*prefixes, *same]):
        run_logged("lev-preprocess", [*words, *sides], work / "prepare.log")


def prepare(
    work: Path,
    parts: dict[str, list[Pair]],
    given: dict[str, list[list[Match]]],
    vocabulary: int = 8000,
    like: Path | None = None,
) -> None:
    """Makes WORK of a memory in parts.

    given: matches of a part that are known. like: another WORK, whose subwords are taken.
    """
    pairs = parts["train"]
    same = sum(source == target for source, target in pairs)
    if 2 * same > len(pairs):
        told = f"{same} of {len(pairs)} translations are their sources"
        print(f"{told}: are these two languages?", file=sys.stderr, flush=True)
    memory = Memory(parts["train"])
    for side, lines in zip(("src", "tgt"), zip(*memory.pairs)):
        write_lines(work / f"memory.{side}", lines)
    for part, pairs in parts.items():
        sources = [source for source, _ in pairs]
        matches = given.get(part) or memory.matches(sources, MATCHES[part], itself=False)
        found, alone = matched(part, pairs, matches)
        if part == "train":
            found = without_changes(found)
            for number, side in enumerate(("src", "tgt")):
                whole = [row[number] for row in found] + [pair[number] for pair in alone]
                write_lines(work / f"text/all.{side}", whole)
        for side, lines in zip(Row._fields, zip(*found)):
            write_lines(work / f"text/{part}.{side}", lines)
    print("subwords and data", flush=True)
    cut(work, vocabulary, like)
    binarise(work, like)


def run(args: argparse.Namespace) -> int:
    """The command ``prepare``."""
    work: Path = args.work
    for folder in (work / "all", work / "data"):  # a run may have ended between the two
        if folder.exists():
            raise UserError(f"{folder} is there already: delete it or name another WORK")
    if args.like and not (args.like / "spm.model").is_file():
        raise UserError(f"--like {args.like}: there is no memory that prepare made")
    problems, language = Problems(), args.language or ""
    given: dict[str, list[list[Match]]] = {}
    if args.splits:
        folder, *sides = args.splits
        parts = {
            part: text_pairs(*(Path(folder, f"{part}.{side}") for side in sides)) for part in PARTS
        }
        given = {part: given_matches(Path(folder), part) for part in PARTS}
    elif args.text:
        parts = split(text_pairs(*map(Path, args.text)))
    else:
        pairs, language = folder_memory(args.memory, language, problems)
        parts = split(pairs)
    prepare(work, parts, given, args.vocabulary, args.like)
    sides = args.splits[1:] if args.splits else args.text or ()
    source, target = [language_in(Path(side).name, Path(side).stem) for side in sides] or ("", "")
    languages = {"language": language or target, "source": source}
    write_json(work / "memory.json", languages)
    print(f"next: lev-memory train {work}")
    return 2 if problems.count else 0
