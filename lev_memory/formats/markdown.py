"""A Markdown document, its translation, and what its source has become since.

Blocks and sentences of the older source are paired with those of its translation, by structure, and
with those of the new source, by likeness. What did not change stays byte for byte; what changed is
a fuzzy unit; what is new stays in its language, and code follows the source. A comment marks what
a translator has to look at.
"""

import re
import subprocess
from collections.abc import Callable, Sequence
from functools import lru_cache
from os.path import commonprefix
from pathlib import Path
from typing import NamedTuple

import regex
from markdown_it import MarkdownIt
from rapidfuzz.distance import Indel, LCSseq, Levenshtein

from lev_runtime.errors import UserError

from ..memory import Pair
from ..repair.text import replaced
from .units import BilingualFile, Proposal, TranslationUnit

ENDINGS = ".md", ".markdown"
#: marks of what is repaired, of what still says what the older source said, and of what is new
MARKS = REPAIRED, CHANGED, NEW = " <!--repaired-->", " <!--changed-->", " <!--new-->"
_LEAVES = {"paragraph_open", "heading_open", "tr_open", "fence", "code_block", "html_block", "hr"}
_CODE = {"code", "hr", ""}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_SENTENCE = regex.compile(r"(?<=[^\s.]{2}[.!?])\s+(?=[^\s\p{Ll}])")
_ANCHOR = regex.compile(r"`[^`]+`|\p{N}+|\]\([^)\s]+|\p{Lu}\w*\p{Lu}\w*|\w+(?:[._:/\\]+\w+)+")
_LINK = re.compile(r"https?://[^\s)>\]\"'`]+")
ASIDE = 50  # places; a document of 1,000 blocks takes 1 CPU second, without a limit 63
AROUND = 8  # letters before a change of an address that its translation's has, too
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
    """Returns the lines of code, or the sentences of a text."""
    if piece.is_code:
        return [piece_of(line, "") for line in _LINE.findall(piece.text)]
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


def changes(old: Sequence[Piece], new: Sequence[Piece]) -> list[tuple[int | None, int | None]]:
    """Returns the places of both in the order of the new one: of pieces that stay or change, of
    deleted ones (no new place) and of inserted ones (no old place)."""
    result = list[tuple[int | None, int | None]]()
    texts = [[piece.text for piece in side] for side in (old, new)]
    for step in Levenshtein.opcodes(*texts):
        i, j, k, m = step.src_start, step.src_end, step.dest_start, step.dest_end
        pairs = [*zip(range(i, j), range(k, m))]
        if step.tag != "equal":
            pairs = [(i + a, k + b) for a, b in aligned(old[i:j], new[k:m], likeness)]
        for a, b in [*pairs, (j, m)]:
            result += [(place, None) for place in range(i, a)]
            result += [(None, place) for place in range(k, b)]
            result += [(a, b)] if a < j and b < m else []
            i, k = a + 1, b + 1
    return result


def with_links(old: str, new: str, there: str) -> str | None:
    """Returns a translation with its addresses changed as the source's are, where these are all
    that changed; None where more did, or where it has not as many.

    A translation may name another page of the same site: ``/manual/es/`` for ``/manual/en/``.
    """
    sides = [_LINK.findall(text) for text in (old, new, there)]
    if len({*map(len, sides)}) > 1 or _LINK.split(old) != _LINK.split(new):
        return None
    edits = list[tuple[int, int, str]]()
    for before, after, match in zip(*sides[:2], _LINK.finditer(there)):
        start = len(commonprefix((before, after)))
        end = len(commonprefix((before[start:][::-1], after[start:][::-1])))
        gone, come = before[start : len(before) - end], after[start : len(after) - end]
        letters = before[max(start - AROUND, 0) : start]  # before it, which tell the place
        if not gone + come:
            continue
        if match[0].count(letters + gone) != 1:
            return None
        place = match.start() + match[0].index(letters + gone) + len(letters)
        edits.append((place, place + len(gone), come))
    return replaced(there, edits)


def remaining(
    before: Sequence[str | TranslationUnit], after: str, is_last: bool
) -> list[str | TranslationUnit]:
    """Returns what is left of the gaps on both sides of a piece that goes: the wider one, as that
    of the end of a list; at the end of all the last one."""
    wider = [gap for gap in before if not is_last and str(gap).count("\n") >= after.count("\n")]
    return wider or [after] * len(before)


def marked(text: str, mark: str) -> str:
    """Returns a text with a mark at its end, where that leaves it what it is."""
    end = _BEFORE_MARK.search(text)
    if end and not end.start():
        return text
    place = end.start() if end else len(text)
    return text[:place] + mark + text[place:]


class Markdown(BilingualFile):
    """The translation of a document whose source has changed.

    old, new: the source as it was when it was translated, and as it is now. units: what changed;
    pairs: sentences and blocks of the older source with their translations. counts: of blocks and
    sentences that are unchanged, new and removed.
    """

    def __init__(self, path: Path, translation: bytes, old: bytes, new: bytes) -> None:
        super().__init__(path, "", [])
        self.pairs = list[Pair]()
        self.counts = dict.fromkeys(("unchanged", "new", "removed"), 0)
        self.code = set[TranslationUnit]()  # of units, those in code, where no mark may stand
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

    def outcome(self) -> str:
        """See the base class."""
        parts = (f"{count} {what}" for what, count in self.counts.items())
        return f"blocks, sentences, lines of code: {', '.join(parts)}; "

    def merged(
        self, old: Sequence[Piece], new: Sequence[Piece], there: Sequence[Piece]
    ) -> list[str | TranslationUnit]:
        """Returns the new translation: texts and gaps, and units in the places of texts that have
        to be repaired."""
        links = dict(aligned(old, there, translates))
        for i, j in links.items():
            if not old[i].is_code:
                self.pairs.append((old[i].text, there[j].text))
        script, done = changes(old, new), 0
        moved = {old[i].text: there[j].text for i, j in links.items() if (i, None) in script}
        parts = list[str | TranslationUnit]()
        for before, now in script:
            if before is None:
                assert now is not None
                gap = new[now].gap
                if parts and now and new[now - 1].gap != parts[-1]:  # of the end of a list
                    gap, parts[-1] = str(parts[-1]), new[now - 1].gap
                parts += [self.inserted(new[now], moved), gap]
            elif before in links:
                place = links[before]
                for piece in there[done:place]:
                    parts += piece[:2]
                done, piece = place + 1, there[place]
                if now is None:
                    self.counts["removed"] += 1
                    parts[-1:] = remaining(parts[-1:], piece.gap, place == len(there) - 1)
                else:
                    parts += [*self.changed(old[before], new[now], piece), piece.gap]
        for piece in there[done:]:
            parts += piece[:2]
        return parts

    def inserted(self, piece: Piece, moved: dict[str, str]) -> str:
        """Returns what is new in the source, or the translation of what was moved."""
        self.counts["new"] += 1
        text = piece.text if piece.is_code else marked(piece.text, NEW)
        return moved.get(piece.text) or text

    def changed(self, old: Piece, new: Piece, there: Piece) -> list[str | TranslationUnit]:
        """Returns the translation of a piece that may have changed."""
        sides = [parts_of(piece) for piece in (old, new, there)]
        if old.text.split() == new.text.split():
            self.counts["unchanged"] += 1
            return [there.text]
        if there.text == old.text:
            return [new.text]
        if len(sides[0]) > 1 and (old.is_code or len(sides[0]) == len(sides[2])):
            return self.merged(*sides)
        followed = with_links(old.text, new.text, there.text)
        if followed is not None:
            return [followed]
        unit = TranslationUnit(len(self.units), None, new.text, there.text, old.text, "", "fuzzy")
        self.units.append(unit)
        if old.is_code:
            self.code.add(unit)
        return [unit]

    def with_proposals(self, proposals: dict[TranslationUnit, Proposal]) -> bytes:
        """See the base class."""
        texts = list[str]()
        for part in self.parts:
            if isinstance(part, TranslationUnit):
                made = proposals.get(part)
                text, mark = (made.text, REPAIRED) if made else (part.target, CHANGED)
                part = text if part in self.code else marked(text, mark)
            texts.append(part)
        return "".join(texts).encode()
