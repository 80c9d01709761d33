"""A Markdown document, its translation, and what its source has become since.

Blocks and sentences of the older source are paired with those of its translation, by structure, and
with those of the new source, by likeness. What did not change stays byte for byte; what changed is
a fuzzy unit, and code follows the source. No text comes or goes unless it is asked for: what is
new or removed is noted, for a report.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from os.path import commonprefix
from pathlib import Path
from textwrap import shorten
from typing import NamedTuple

import regex
from markdown_it import MarkdownIt
from rapidfuzz.distance import Indel, LCSseq, Levenshtein

from lev_runtime.errors import UserError

from ..memory import Pair
from ..repair.text import replaced
from .units import BilingualFile, Proposal, TranslationUnit

ENDINGS = ".md", ".markdown", ".mdx"
#: other markup → what makes .po files of it
OTHER_MARKUP = {".rst": "Sphinx's gettext builder", ".adoc": "po4a", ".asciidoc": "po4a"}
#: marks of what is repaired, and of what is new
MARKS = REPAIRED, NEW = " <!--repaired-->", " <!--new-->"
_LEAVES = {"paragraph_open", "heading_open", "tr_open", "fence", "code_block", "html_block", "hr"}
_CODE = {"code", "hr", ""}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_SENTENCE = regex.compile(r"(?<=[^\s.]{2}[.!?])\s+(?=[^\s\p{Ll}])")
_ANCHOR = regex.compile(r"`[^`]+`|\p{N}+|\]\([^)\s]+|\p{Lu}\w*\p{Lu}\w*|\w+(?:[._:/\\]+\w+)+")
# in a text: addresses, code, tags
_INLINE = re.compile(r"https?://[^\s)>\]\"'`]+|`[^`\n]+`|\[\[[^\]\n]*\]\]|\]\([^)\s]+\)|<[^<>\n]+>")
ASIDE = 50  # places; a document of 1,000 blocks takes 1 CPU second, without a limit 63
AROUND = 8  # letters on both sides of a change of an address that its translation's has, too
FEW_WORDS = 5  # that a part of a longer text has at least
#: what a mark at the end of would make something else: the line below a heading, the end of a
#: table's row, and of what no letter stands in, such as the end of a container
_BEFORE_MARK = regex.compile(r"\n[=-]+$|[^\S\n]*\|$|\A(?::::\s*\w*|[^\p{L}]*)$")
LIKE = 0.5  # likeness of two texts from which one is a change of the other


class Piece(NamedTuple):
    """A block, sentence or line, and what stands between it and the next one."""

    text: str
    gap: str
    kind: str = "sentence"

    @property
    def is_code(self) -> bool:
        return self.kind in _CODE


class Note(NamedTuple):
    """Tells a reader what became of a text of the source."""

    what: str
    text: str
    old: str = ""  # what stood there, where it was changed

    def __str__(self) -> str:
        """Returns it as it is reported."""
        old, new = (shorten(text, 100, placeholder=" …") for text in (self.old, self.text))
        return f"{self.what}: {old} → {new}" if old else f"{self.what}: {new}"


Part = str | TranslationUnit | Note
Step = tuple[int, int]  # of an older source to the new one: places in both, or NONE
NONE = -1


def committed(revision: str, path: Path) -> bytes:
    """Returns a file as it was in a revision of its git repository.

    Raises:
        UserError: no git, no such revision, or the file was not in it.
    """
    command = ["git", "-C", str(path.parent), "show", "--end-of-options"]
    try:
        done = subprocess.run([*command, f"{revision}:./{path.name}"], capture_output=True)
    except OSError:
        raise UserError(f"--since {revision}: git is not installed") from None
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UserError(f"--since {revision}: {reason.removeprefix('fatal: ')}")
    return done.stdout


def blocks(text: str) -> list[Piece]:
    """Returns the blocks of a document that have no others in them; together they are its text."""
    lines = _LINE.findall(text)
    front = _FRONT.match(text)
    start = front[0].count("\n") if front else 0
    spans = [(0, start, "")] if start else []
    tokens = MarkdownIt("commonmark").enable("table").parse("".join(lines[start:]))
    for token in tokens:
        if token.type in _LEAVES and token.map:
            first, last = (line + start for line in token.map)
            if not spans or first >= spans[-1][1]:
                is_text = token.type.endswith("_open")
                spans.append((first, last, f"{token.tag}{token.level}" if is_text else "code"))
    pieces, done = list[Piece](), 0
    for first, last, kind in [*spans, (len(lines), len(lines), "")]:
        between = "".join(lines[done:first])
        if pieces and not between.strip():
            pieces[-1] = pieces[-1]._replace(gap=pieces[-1].gap + between)
        elif between:  # link definitions, and what the parser says nothing of
            pieces.append(piece_of(between, ""))
        if last > first:
            pieces.append(piece_of("".join(lines[first:last]), kind))
        done = last
    return pieces


def piece_of(text: str, kind: str) -> Piece:
    """Returns a piece; the white space at its end is between it and the next one."""
    body = text.rstrip() or text
    return Piece(body, text[len(body) :], kind)


def parts_of(piece: Piece) -> list[Piece]:
    """Returns the sentences of a text."""
    ends = [match.span() for match in _SENTENCE.finditer(piece.text)]
    starts = [0, *(end for _, end in ends)]
    stops = [*ends, (len(piece.text), len(piece.text))]
    spans = zip(starts, stops)
    return [Piece(piece.text[start:stop], piece.text[stop:end]) for start, (stop, end) in spans]


def aligned(
    left: Sequence[Piece], right: Sequence[Piece], score: Callable[[Piece, Piece], float]
) -> list[tuple[int, int]]:
    """Returns the pairs in order with the largest sum of scores; those of 0 are none, nor those
    that are farther apart than ASIDE places and what one side is longer."""
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    aside = ASIDE + abs(len(left) - len(right))
    gains = [
        [score(a, b) if abs(i - j) <= aside else 0.0 for j, b in enumerate(right)]
        for i, a in enumerate(left)
    ]
    for i, row in enumerate(gains, 1):
        above, here = best[i - 1], best[i]
        for j, gain in enumerate(row, 1):
            here[j] = max(above[j], here[j - 1], above[j - 1] + gain)
    pairs, i, j = list[tuple[int, int]](), len(left), len(right)
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def translates(source: Piece, target: Piece) -> float:
    """Returns how well a piece fits as another one's translation: by kind, code and length."""
    if source.kind != target.kind:
        return 0.0
    if source.text == target.text:
        return 3.0
    lengths = sorted((len(source.text), len(target.text)))
    score = lengths[0] / lengths[1]
    if source.is_code:
        return score + Indel.normalized_similarity(source.text, target.text)
    codes = [anchors(piece.text) for piece in (source, target)]
    if any(codes):
        score += 2 * len(codes[0] & codes[1]) / len(codes[0] | codes[1])
    return score


@lru_cache(1 << 14)
def anchors(text: str) -> frozenset[str]:
    """Returns what a text has in common with its translation: code, numbers, addresses, names."""
    return frozenset(_ANCHOR.findall(text))


def likeness(old: Piece, new: Piece) -> float:
    """Returns how much of a piece another one of its kind still has; 0 if less than LIKE.

    A longer text that has nearly all words of a shorter one is like it.
    """
    if old.kind != new.kind:
        return 0.0
    words = old.text.split(), new.text.split()
    similarity = Indel.normalized_similarity(*words)
    common = LCSseq.similarity(*words)
    if common >= FEW_WORDS and common >= 0.9 * min(map(len, words)):
        similarity = max(similarity, LIKE)
    return similarity if similarity >= LIKE else 0.0


def changes(old: Sequence[Piece], new: Sequence[Piece]) -> list[Step]:
    """Returns the places of both in the order of the new one: of pieces that stay or change, of
    deleted ones (NONE for a new place) and of inserted ones (NONE for an old one)."""
    result = list[Step]()
    texts = [[piece.text for piece in side] for side in (old, new)]
    for step in Levenshtein.opcodes(*texts):
        i, j, k, m = step.src_start, step.src_end, step.dest_start, step.dest_end
        pairs = [*zip(range(i, j), range(k, m))]
        if step.tag != "equal":
            pairs = [(i + a, k + b) for a, b in aligned(old[i:j], new[k:m], likeness)]
        for a, b in [*pairs, (j, m)]:
            result += [(place, NONE) for place in range(i, a)]
            result += [(NONE, place) for place in range(k, b)]
            result += [(a, b)] if a < j and b < m else []
            i, k = a + 1, b + 1
    return result


def with_code(old: str, new: str, there: str, parts: re.Pattern[str] = _INLINE) -> str | None:
    """Returns a translation with its addresses and code, or other parts, changed as the source's
    are, where these are all that changed; None where more did, or where it has not as many.

    A translation may name another page of the same site: ``/manual/es/`` for ``/manual/en/``.
    """
    sides = [parts.findall(text) for text in (old, new, there)]
    if len({*map(len, sides)}) > 1 or parts.split(old) != parts.split(new):
        return None
    edits = list[tuple[int, int, str]]()
    for before, after, match in zip(*sides[:2], parts.finditer(there)):
        if before == after:
            continue
        start = len(commonprefix((before, after)))
        end = len(commonprefix((before[start:][::-1], after[start:][::-1])))
        stop = len(before) - end
        first = max(start - AROUND, 0)
        around = before[first : stop + AROUND]
        if match[0].count(around) != 1:
            return None
        place = match.start() + match[0].index(around) - first
        edits.append((place + start, place + stop, after[start : len(after) - end]))
    return replaced(there, edits)


def marked(text: str, mark: str) -> str:
    """Returns a text with a mark at its end, where that leaves it what it is."""
    end = _BEFORE_MARK.search(text)
    if end and not end.start():
        return text
    place = end.start() if end else len(text)
    return text[:place] + mark + text[place:]


def joined(there: Sequence[Piece], cells: dict[int, list[Part]], gone: set[int]) -> list[Part]:
    """Returns what became of the pieces of a translation, and the gaps between them: where one is
    gone the wider one, as that of the end of a list; at the end of all the last one."""
    parts: list[Part] = [*cells[NONE], ""]
    for place, piece in enumerate(there):
        gap = piece.gap
        if place in gone:
            before = str(parts.pop())
            is_inside = before and place < len(there) - 1
            gap = max(before, gap, key=len) if is_inside else gap if before else ""
        parts += [*cells[place], gap]
    return parts


class Markdown(BilingualFile):
    """The translation of a document whose source has changed.

    old, new: the source as it was when it was translated, and as it is now. insert: whether what is
    new is put in, and what is gone taken out. units: what changed; obsolete: sentences and blocks
    of the older source with their translations. notes: lines and what a reader is told of them,
    once there are proposals.
    """

    takes_parts = False

    def __init__(
        self, path: Path, translation: bytes, old: bytes, new: bytes, insert: bool = False
    ) -> None:
        super().__init__(path, "", [])
        self.insert = insert
        self.obsolete: list[Pair] = []
        self.notes = list[tuple[int, Note]]()
        try:
            there, *sources = (side.decode() for side in (translation, old, new))
        except UnicodeDecodeError:
            raise UserError(f"{path}: it or its source is not UTF-8") from None
        for mark in MARKS:
            if mark.strip() in there:
                raise UserError(f"{path} has marks of an earlier run ({mark.strip()}): delete "
                                "them, and give the source as it was then")  # fmt: skip
        end = "\r\n" if "\r\n" in there else "\n"
        sources = [source.replace("\r\n", "\n").replace("\n", end) for source in sources]
        self.parts = self.merged(*map(blocks, (*sources, there)))

    def outcome(self, entries: str) -> str:
        """See the base class."""
        counts = Counter(note.what for _, note in self.notes)
        return ", ".join(f"{count} {what}" for what, count in counts.items()) or "nothing to do"

    def report(self) -> Iterator[str]:
        """Yields the lines of a page on what became of it: line, what and the source's text."""
        yield f"# {self.path}"
        yield ""
        for line, note in self.notes:
            yield f"- line {line}, {note}"
        yield ""

    def merged(
        self, old: Sequence[Piece], new: Sequence[Piece], there: Sequence[Piece]
    ) -> list[Part]:
        """Returns the new translation: texts and gaps, units in the places of texts that have to be
        repaired, and notes."""
        links = dict(aligned(old, there, translates))
        pairs = [(old[i], there[j]) for i, j in links.items()]
        self.obsolete += [
            (source.text, target.text) for source, target in pairs if not source.is_code
        ]
        script, place = changes(old, new), NONE
        removed, gone = self.removed(script, old, new), set[int]()
        cells: dict[int, list[Part]] = {j: [piece.text] for j, piece in enumerate(there)}
        cells[NONE] = []
        for before, now in script:
            place = links.get(before, place)
            if before == NONE:
                cells[place] += self.inserted(new, now, place == NONE, place in gone)
                gone -= {place} if self.insert else set()
            elif before not in links:
                is_same = now == NONE or old[before].text == new[now].text
                cells[place] += [] if is_same else [Note("never translated", new[now].text)]
            elif now != NONE:
                cells[place] = self.changed(old[before], new[now], there[place])
            elif before in removed:
                cells[place], gone = [Note("removed", old[before].text)], {*gone, place}
            else:
                cells[place].append(Note("no longer in the source", old[before].text))
        return joined(there, cells, gone)

    def removed(
        self, script: Sequence[Step], old: Sequence[Piece], new: Sequence[Piece]
    ) -> set[int]:
        """Returns the places of the older source whose translation goes: all that the source lost,
        where that is asked for, else code alone where nothing came for it."""
        gone = {before for before, now in script if now == NONE}
        if self.insert:
            return gone
        come = {new[now].text for before, now in script if before == NONE}
        for is_pair, run in groupby(script, key=lambda step: NONE not in step):
            places = [] if is_pair else [before for before, _ in run]
            if any(place == NONE or not old[place].is_code for place in places):
                gone -= {*places}
        return {place for place in gone if old[place].text not in come}

    def inserted(
        self, new: Sequence[Piece], now: int, is_first: bool, replaces: bool
    ) -> list[Part]:
        """Returns what is new in the source, with a gap to what it stands beside."""
        piece, told = new[now], Note("new", new[now].text)
        if not self.insert:
            return [told]
        text = piece.text if piece.is_code else marked(piece.text, NEW)
        if is_first:
            return [told, text, piece.gap]
        return [told, text] if replaces else [told, new[max(now - 1, 0)].gap, text]

    def changed(self, old: Piece, new: Piece, there: Piece) -> list[Part]:
        """Returns the translation of a piece that may have changed."""
        if old.text.split() == new.text.split():
            return [there.text]
        is_copy = "".join(there.text.split()) == "".join(old.text.split())
        copied = new.text if is_copy else None
        parts = _LINE if old.is_code else _INLINE
        followed = copied or with_code(old.text, new.text, there.text, parts)
        if followed is not None:
            return [Note("follows", new.text, old.text), followed]
        if old.is_code:  # as a whole or not at all
            return [Note("changed", new.text, old.text), there.text]
        sides = [parts_of(piece) for piece in (old, new, there)]
        if 1 < len(sides[0]) == len(sides[2]):
            return self.merged(*sides)
        unit = TranslationUnit(len(self.units), None, new.text, there.text, old.text, "", "fuzzy")
        self.units.append(unit)
        return [unit]

    def with_proposals(self, proposals: dict[TranslationUnit, Proposal]) -> bytes:
        """See the base class."""
        texts, line = list[str](), 1
        self.notes = []
        for part in self.parts:
            text, note = self.written(part, proposals)
            if note:
                self.notes.append((line, note))
            line += text.count("\n")
            texts.append(text)
        return "".join(texts).encode()

    def written(
        self, part: Part, proposals: dict[TranslationUnit, Proposal]
    ) -> tuple[str, Note | None]:
        """Returns the text of a part, and what a reader is told of it."""
        if isinstance(part, str):
            return part, None
        if isinstance(part, Note):
            return "", part
        made = proposals.get(part)
        if made is None:
            return part.target, Note("changed", part.source, part.old)
        return marked(made.text, REPAIRED), Note("repaired", part.source, part.old)
