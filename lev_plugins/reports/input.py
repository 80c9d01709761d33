"""What a report is made of: printed outputs and text files, sentence by sentence.

fairseq prints sentences in the order in which they were decoded; here they are sorted by their
number. Sentence N, counted from 0, is line N + 1 of a text file.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UserError
from ..io.text_files import read_lines
from ..metrics.words import is_char_tokenized
from .printed import Printed, Texts, read_printed

KINDS = ("sentencepiece", "subword_nmt", "characters", "none")
_LETTERS = {"references": "T", "drafts": "E"}
_MARKS = {"sentencepiece": "\u2581", "subword_nmt": "@@ "}


@dataclass
class Corpus:
    """Sentences that belong together; the lists have one item a sentence, in order.

    systems: path, outputs and iterations (none where they were not printed) of each. drafts: what
    was corrected. origin: side → where its sentences come from.
    """

    systems: list[tuple[str, list[str], list[int]]]
    references: list[str] | None
    drafts: list[str] | None
    origin: dict[str, str]
    notes: list[str]


def gather(args: argparse.Namespace) -> Corpus:
    """Read everything and put together what belongs together.

    Args:
        args: the options of ``report``.

    Raises:
        UserError: a file that cannot be read, sentences that are missing, or sides that do not
            belong together.
    """
    systems = [*map(read_printed, args.printed)]
    systems += [Printed(path, _numbered(path)) for path in args.hypotheses]
    origin = {side: path for side in _LETTERS if (path := getattr(args, side)) is not None}
    texts = {side: _numbered(path) for side, path in origin.items()}
    files = [(path, texts[side]) for side, path in origin.items()]
    numbers = _numbers([*files, *((one.path, one.outputs) for one in reversed(systems))])
    notes: list[str] = []
    for side, letter in _LETTERS.items():
        if side not in texts and (having := _printing(side, systems, numbers)):
            texts[side] = getattr(having, side)
            origin[side] = f"{letter}- lines of {having.path}"
            if unknown := sum("unk>" in text for text in texts[side].values()):
                notes.append(f"{origin[side]}: {unknown} with <unk>; --{side} FILE takes the text")
    named = [(origin[side], found) for side, found in texts.items()]
    _join([*named, *((one.path, one.outputs) for one in systems)], args.remove_bpe, notes)
    ordered = {side: [found[n] for n in numbers] for side, found in texts.items()}
    rows = [
        (one.path, [one.outputs[n] for n in numbers],
         [one.iterations[n] for n in numbers if one.iterations])
        for one in systems
    ]  # fmt: skip
    return Corpus(rows, ordered.get("references"), ordered.get("drafts"), origin, notes)


def _numbered(path: str) -> Texts:
    return dict(enumerate(read_lines(path)))


def _numbers(sides: Sequence[tuple[str, Texts]]) -> range:
    """The numbers of the sentences, which every side must have; text files come first."""
    first, total = sides[0][0], max(sides[0][1], default=-1) + 1
    if not total:
        raise UserError(f"no lines in {first}; give files with sentences in them")
    for name, texts in sides:
        if len(texts) != total or max(texts) >= total:
            other = "" if name == first else f", and {first} has {total:,}"
            raise UserError(
                f"{name} has {len(texts):,} sentences, the last of them number "
                f"{max(texts, default=-1)} from 0{other}: give files of the same sentences"
            )
    return range(total)


def _printing(side: str, systems: Sequence[Printed], numbers: Sequence[int]) -> Printed | None:
    """The first system beside which references or drafts were printed."""
    having = [one for one in systems if getattr(one, side)]
    if side == "drafts":  # what was written from nothing has an empty first step
        having = [one for one in having if any(one.drafts.get(n, "").strip() for n in numbers)]
    for number in numbers:
        texts = {getattr(one, side).get(number) for one in having}
        if len(texts) > 1 or None in texts:
            raise UserError(
                f"{' and '.join(one.path for one in having)}: other {_LETTERS[side]}- lines for "
                f"sentence {number}, or none: other data, or text processed in another way; give "
                f"--{side} FILE"
            )
    return having[0] if having else None


def _join(sides: Sequence[tuple[str, Texts]], kind: str | None, notes: list[str]) -> None:
    """Joins the subwords of the sides that have some, as fairseq does.

    Raises:
        UserError: some sides are subwords then, and others words.
    """
    if kind == "none":
        return
    for _, texts in sides if kind else ():
        marked = any("\u2581" in text for text in texts.values())
        marked = marked or kind == "characters" == _subwords(texts)
        for number, text in texts.items():
            if kind == "subword_nmt":
                texts[number] = f"{text} ".replace("@@ ", "").strip()
            elif marked:
                texts[number] = text.replace(" ", "").replace("\u2581", " ").strip()
    found = [(name, _subwords(texts)) for name, texts in sides]
    if kind:  # what is one letter a word then are such words
        found = [(name, "" if one == "characters" else one) for name, one in found]
    cut = next(((name, one) for name, one in found if one), None)
    whole = next((name for name, one in found if one is None), None)
    if cut and whole:
        raise UserError(
            f"{cut[0]} has subwords or characters, {whole} words: join them with --remove-bpe "
            f"{cut[1]}, or leave all as it is with --remove-bpe none"
        )
    if cut:
        notes.append(f"{cut[1]} are counted as words; --remove-bpe {cut[1]} joins them")


def _subwords(texts: Texts) -> str | None:
    """Which kind of subwords most lines have; "" where no word is longer than a character."""
    filled = [text for text in texts.values() if text.strip()]
    if is_char_tokenized(filled):
        return "characters"
    for kind, mark in _MARKS.items():
        if 2 * sum(mark in f"{text} " for text in filled) > len(filled):
            return kind
    return None if any(len(word) > 1 for text in filled for word in text.split()) else ""
