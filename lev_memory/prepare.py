"""Make training data for repairing fuzzy matches of a translation memory.

WORK gets memory, text, subwords, data of matches, and all: matches and what has none, to learn to
translate. Of one match in ten the model is not told how the source changed: it learns to read a
draft whose older source nobody knows.
"""

import itertools
import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import sentencepiece

from lev_runtime.errors import UserError, counted
from lev_runtime.text.codec import train_sentencepiece
from lev_runtime.text.source_change import MARKS, mark_change

from .formats.files import (
    Problems,
    folder_memory,
    is_there,
    language_in,
    read_lines,
    stored_pairs,
    write_json,
    write_lines,
)
from .memory import Match, Memory, Pair
from .repair.entries import Repairer
from .repair.repair import Category, counting
from .repair.text import to_line

PARTS = ("train", "valid", "test")
MATCHES = {"train": 2, "valid": 1, "test": 1}  # of a source
UNKNOWN_CHANGES = 0.1  # share of the matches whose change is not told
FOLDS = 5  # of the training part; a row is repaired from the pairs of the others

Say = Callable[[str], None]  # what a user is told, a line each


class Corpus(NamedTuple):
    """Names what a memory is made from: ``memory``, a file or folder; ``text``, aligned sources and
    translations; or ``splits``, a folder with the endings of both sides. language: of the
    translations, "" if that is to be found."""

    memory: Path | None = None
    text: Sequence[str] | None = None
    splits: Sequence[str] | None = None
    language: str = ""


class Row(NamedTuple):
    """A line of each file of WORK/text.

    src: the source with its change marked, as the model reads it. draft: repaired from a memory
    that has not seen the row. new: the source without marks. raw: the draft as the memory has it.
    """

    src: str
    tgt: str
    draft: str
    new: str
    old: str
    raw: str
    sim: str


def part_of(work: Path, part: str) -> list[Row]:
    """Returns the rows of a part."""
    paths = (work / f"text/{part}.{side}" for side in Row._fields)
    return [Row(*row) for row in read_lines(*paths)]


def text_pairs(source: Path, target: Path) -> list[Pair]:
    """Reads two line-aligned files of text, as lines of a memory."""
    return [(to_line(text), to_line(other)) for text, other in read_lines(source, target)]


def split(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    """Splits a memory: 1,000 pairs or a twentieth each to validate and test."""
    pairs = list(Memory([*pairs]).pairs)
    random.Random(1).shuffle(pairs)
    size = min(1000, len(pairs) // 20)
    if not size:
        raise UserError(f"{len(pairs)} translated sentences; at least 20 are needed")
    return dict(zip(PARTS, (pairs[2 * size :], pairs[:size], pairs[size : 2 * size])))


def given_matches(folder: Path, part: str) -> list[list[Match]]:
    """Reads the matches next to a part that is split already; an empty draft is none."""
    matches: list[list[Match]] = []
    for number in ("", "2"):
        paths = [folder / f"{part}.{side}{number}" for side in ("old", "draft", "sim")]
        if not all(map(is_there, paths)):
            continue
        rows_of_part = read_lines(*paths)
        matches = matches or [[] for _ in rows_of_part]
        for near, (old, draft, similarity) in zip(matches, rows_of_part):
            if draft:
                near.append(Match(to_line(old), to_line(draft), float(similarity)))
    return matches


def without_changes(part: Sequence[Row]) -> list[Row]:
    """Returns training rows, some without the change of the source and the repairs."""
    draw = random.Random(1)
    return [
        row._replace(src=row.new, draft=row.raw) if draw.random() < UNKNOWN_CHANGES else row
        for row in part
    ]


def rows(pair: Pair, near: Iterable[Match], repairer: Repairer, category: Category) -> list[Row]:
    """Returns a row for each match of a pair."""
    source, target = pair
    rows_of_pair = []
    for old, draft, similarity in near:
        start = repairer.repair(old, source, draft, category).eager
        sides = mark_change(source, old), target, start, source, old, draft
        rows_of_pair.append(Row(*sides, f"{similarity:.4f}"))
    return rows_of_pair


def fold_of(pair: Pair) -> int:
    """Returns the fold of a pair, one for all that have its source."""
    return crc32(pair[0].encode()) % FOLDS


def matched(
    part: str,
    pairs: Sequence[Pair],
    matches: Iterable[list[Match]],
    repairer_of: Callable[[int], Repairer],
    category: Category,
    say: Say,
) -> tuple[list[Row], list[Pair]]:
    """Returns the rows of a part, and the pairs without a match.

    repairer_of: a fold.
    """
    entries, rows_of = [*zip(pairs, matches, strict=True)], dict[int, list[Row]]()
    for fold in range(FOLDS):
        repairer = repairer_of(fold)
        for place, (pair, near) in enumerate(entries):
            if fold_of(pair) == fold:
                rows_of[place] = rows(pair, near, repairer, category)
        read = f"{len(rows_of)} of {counted(len(pairs), 'sentence')}"
        say(f"{part}: {read}, matches: {sum(map(len, rows_of.values()))}")
    part_rows = [row for place in range(len(pairs)) for row in rows_of[place]]
    if not part_rows:
        raise UserError(f"no source of {part} has a match in the memory; give more text")
    return part_rows, [pair for place, pair in enumerate(pairs) if not rows_of[place]]


def cut(work: Path, vocabulary: int, like: Path | None) -> None:
    """Cuts what the models read and write into the subwords of the memory, or of another one."""
    if like:
        shutil.copy2(like / "spm.model", work / "spm.model")
    else:
        train_sentencepiece(
            itertools.chain(*stored_pairs(work)),
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


def write_columns(prefix: Path, sides: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Writes rows of lines into a file for each column."""
    for side, column in zip(sides, zip(*lines)):
        write_lines(prefix.with_name(f"{prefix.name}.{side}"), column)


def write_data(
    work: Path,
    parts: dict[str, list[Pair]],
    known: dict[str, list[list[Match]]],
    vocabulary: int,
    like: Path | None,
    language: str,
    plain: bool,
    say: Say,
) -> None:
    """Writes text and subwords of a memory in parts.

    known: matches of parts. like: another WORK, whose subwords are taken. language: of the
    translations. plain: training reads each draft as it was, too.
    """
    pairs = parts["train"]
    same = sum(source == target for source, target in pairs)
    if 2 * same > len(pairs):
        warning = f"{same} of {len(pairs)} translations are their sources"
        say(f"{warning}: are these two languages?")
    memory, category = Memory(pairs), counting(language)
    write_lines(work / "memory.src", memory.sources)
    write_lines(work / "memory.tgt", memory.targets)
    repairer_of_all = cache(lambda: Repairer(memory.all_pairs))  # only one is held at a time

    def repairer_of(part: str, fold: int) -> Repairer:
        if part != "train":
            return repairer_of_all()
        others = [pair for pair in memory.all_pairs if fold_of(pair) != fold]
        return Repairer(others)

    for part, pairs in parts.items():
        sources = [source for source, _ in pairs]
        matches = known.get(part) or memory.matches(sources, MATCHES[part], itself=False)
        part_rows, alone = matched(part, pairs, matches, partial(repairer_of, part), category, say)
        if part == "train":
            part_rows = without_changes(part_rows)
            everything = [*(row[:2] for row in part_rows), *alone]
            write_columns(work / "text/all", ("src", "tgt"), everything)
            if plain:
                repaired = [row for row in part_rows if row.draft != row.raw]
                part_rows += [row._replace(draft=row.raw) for row in repaired]
        write_columns(work / f"text/{part}", Row._fields, part_rows)
    say("subwords and data")
    cut(work, vocabulary, like)


def prepare(
    work: Path,
    origin: Corpus,
    vocabulary: int = 8000,
    like: Path | None = None,
    plain: bool = False,
    problems: Problems | None = None,
    say: Say = lambda line: None,
) -> None:
    """Makes WORK from a memory.

    Args:
        like: another WORK, whose subwords are taken.
        plain: training reads each draft as it was, too: for a model that is used without repairs.
        problems: collects files that cannot be read; else one is an error.

    Raises:
        UserError: WORK has data already, or there is too little to make them from.
    """
    for folder in (work / "pieces", work / "all", work / "data"):
        if folder.exists():
            raise UserError(f"{folder} is there already: delete it or name another WORK")
    if like and not (like / "spm.model").is_file():
        raise UserError(f"--like {like}: not a folder of lev-memory prepare")
    language, sides = origin.language, ["", ""]
    known: dict[str, list[list[Match]]] = {}
    parts: dict[str, list[Pair]] = {}
    if origin.splits:
        place, *sides = origin.splits
        folder = Path(place)
        for part in PARTS:
            parts[part] = text_pairs(*(folder / f"{part}.{side}" for side in sides))
            known[part] = given_matches(folder, part)
    elif origin.text:
        sides = [*origin.text]
        parts = split(text_pairs(*map(Path, sides)))
    else:
        assert origin.memory
        pairs, language = folder_memory(origin.memory, language, problems)
        parts = split(pairs)
    source, target = [language_in(Path(side).name, Path(side).stem) for side in sides]
    language = language or target
    write_data(work, parts, known, vocabulary, like, language, plain, say)
    like_named = str(like.resolve()) if like else ""
    write_json(work / "memory.json", {"language": language, "source": source, "like": like_named})
