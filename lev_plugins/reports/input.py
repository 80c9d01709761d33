"""What a report is made of: printed outputs and text files, sentence by sentence.

fairseq prints sentences in the order in which they were decoded; here they are sorted by their
number. Sentence N, counted from 0, is line N + 1 of a text file.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_lines
from lev_runtime.words import is_char_tokenized

from ..io.printed import Printed, Texts, read_printed


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
    typed = {"references": args.references, "drafts": args.drafts}
    sides = {side: (path, _numbered(path)) for side, path in typed.items() if path is not None}
    outputs = [(system.path, system.outputs) for system in systems]
    numbers = _numbers([*sides.values(), *reversed(outputs)])
    _refuse_other_sources(systems)
    notes: list[str] = []
    if "references" not in sides and (having := _printing(systems)):
        origin = f"T- lines of {having.path}"
        sides["references"] = origin, having.references
        if unknown := sum("unk>" in text for text in having.references.values()):
            notes.append(f"{origin}: {unknown} with <unk>; --references FILE takes the text")
    _look_for_subwords([*sides.values(), *outputs], notes)
    ordered = {side: [texts[n] for n in numbers] for side, (_, texts) in sides.items()}
    rows = []
    for system in systems:
        in_order = [system.outputs[n] for n in numbers]
        iterations = [system.iterations[n] for n in numbers if system.iterations]
        rows.append((system.path, in_order, iterations))
    origins = {side: name for side, (name, _) in sides.items()}
    return Corpus(rows, ordered.get("references"), ordered.get("drafts"), origins, notes)


def _numbered(path: str) -> Texts:
    return dict(enumerate(read_lines(path)))


def _numbers(sides: Sequence[tuple[str, Texts]]) -> range:
    """The numbers of the sentences, which every side must have; text files come first."""
    first, texts = sides[0]
    total = max(texts, default=-1) + 1
    if not total:
        raise UserError(f"no lines in {first}; give files with sentences in them")
    for name, texts in sides:
        last = max(texts, default=-1)
        if len(texts) != total or last >= total:
            other = "" if name == first else f", and {first} has {total:,}"
            raise UserError(
                f"{name} has {len(texts):,} sentences, the last of them number {last} from 0"
                f"{other}: give files of the same sentences"
            )
    return range(total)


def _refuse_other_sources(systems: Sequence[Printed]) -> None:
    """Raises UserError where most S- lines of two systems, whose subwords, case and punctuation may
    differ, are of other sentences."""
    having = [system for system in systems if system.sources]
    for first, other in pairwise(having):
        known = differ = 0
        for number, text in first.sources.items():
            other_text = other.sources[number]
            if "unk>" not in text + other_text:
                known += 1
                differ += _letters(text) != _letters(other_text)
        if 2 * differ > known:
            raise UserError(
                f"{first.path} and {other.path} have different S- lines; give outputs of "
                "the same sentences"
            )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.replace("@@ ", "").casefold()))


def _printing(systems: Sequence[Printed]) -> Printed | None:
    """The first system beside which references were printed."""
    having = [system for system in systems if system.references]
    if not having:
        return None
    first, *others = having
    for system in others:
        if system.references != first.references:
            raise UserError(
                f"{first.path} and {system.path} have different T- lines (other data or "
                "text processing); give --references FILE"
            )
    return first


def _look_for_subwords(sides: Sequence[tuple[str, Texts]], notes: list[str]) -> None:
    """Notes that subwords or characters are counted as words.

    Raises:
        UserError: one side is made of subwords, and another of words.
    """
    kinds = {}
    for name, texts in reversed(sides):
        filled = [line for line in texts.values() if line.strip()]
        kinds[_kind(filled)] = name
    if {"subwords", "words"} <= kinds.keys():
        raise UserError(
            f"{kinds['subwords']} has subwords or characters, {kinds['words']} words: give "
            "text, or generate again with --post-process KIND or --bpe characters"
        )
    if joined := [kind for kind in ("characters", "subwords") if kind in kinds]:
        way = "--post-process of fairseq-generate joins them"
        notes.append(f"{' and '.join(joined)} are counted as words; {way}")


def _kind(lines: Sequence[str]) -> str | None:
    """What most lines are made of; None for characters that may be words as well."""
    cut = sum("\u2581" in line or "@@ " in f"{line} " for line in lines)
    if 2 * cut > len(lines):
        return "subwords"
    if is_char_tokenized(lines):
        return "characters"
    has_words = any(len(word) > 1 for line in lines for word in line.split())
    return "words" if has_words else None
