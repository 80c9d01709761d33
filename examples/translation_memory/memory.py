"""A translation memory: read it, find the most similar sources, repair their translations."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from lev_plugins.data.source_change import segments
from lev_plugins.errors import UserError
from lev_plugins.io.text_files import plain_spaces

SIMILAR = 0.4  # below, a translation is no draft
# whitespace that subwords would lose, and what stands for it in a line
_SIGNS = {"\n": "␊", "\t": "␉", "\u00a0": "⍽", "\u202f": "⎵"}
_TO_LINE = str.maketrans(_SIGNS)
_TO_TEXT = str.maketrans(dict(zip(_SIGNS.values(), _SIGNS)))
_TOKEN = re.compile(r"\w+|[^\w\s]")
Pair = tuple[str, str]  # a source and its translation, each one line


class Match(NamedTuple):
    """A source of the memory, its translation, and how similar it is, in [0, 1]."""

    old: str
    draft: str
    similarity: float


def to_line(text: str) -> str:
    """A text as one line, with a sign for each line break, tab and no-break space."""
    return plain_spaces(text.translate(_TO_LINE))


def to_text(line: str) -> str:
    """The text that :func:`to_line` was given."""
    return line.translate(_TO_TEXT)


def read_po(path: Path) -> Any:
    """polib's entries of a .po file; refused in one line where it cannot be read."""
    try:
        import polib
    except ImportError as error:
        raise UserError("polib is needed for .po files: pip install polib") from error
    if not path.is_file():  # polib would take the name for the content
        raise UserError(f"{path} does not exist; name a .po file")
    try:
        return polib.pofile(str(path))
    except (OSError, ValueError, LookupError) as error:
        raise UserError(f"{path}: no readable .po file: {error}; see msgfmt -c {path}") from error


def forms(entry: Any) -> Iterator[tuple[int | None, str, str, str]]:
    """Plural form (None: no plural), source, older source ("" where it is not kept), translation.

    The first of several forms translates the singular, all others the plural.
    """
    one = entry.msgid, entry.previous_msgid or ""
    many = entry.msgid_plural, entry.previous_msgid_plural or ""
    if not entry.msgid_plural:
        yield None, *one, entry.msgstr
    for form, text in sorted(entry.msgstr_plural.items()):
        yield form, *(one if form == 0 and len(entry.msgstr_plural) > 1 else many), text


def po_pairs(place: Path) -> list[Pair]:
    """What is translated, and not fuzzy, in a .po file or in those of a folder and below it."""
    files = sorted(place.rglob("*.po")) if place.is_dir() else [place]
    done = (entry for path in files for entry in read_po(path).translated_entries())
    return [(to_line(one), to_line(text)) for entry in done for _, one, _, text in forms(entry)]


class Memory:
    """Pairs of which no two have the same source; the first of several stays.

    Similarity is 1 − d / n: d, the Levenshtein distance in tokens (words, numbers, punctuation
    marks), n, the tokens of the longer one.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        unique: dict[str, str] = {}
        for source, target in pairs:
            if source.strip() and target.strip():
                unique.setdefault(source, target)
        self.pairs = [*unique.items()]
        self.source_of = {target: source for source, target in self.pairs}
        self._numbers: dict[str, int] = {}
        self._coded = [self._code(source) for source in unique]

    def _code(self, text: str) -> str:
        """A character for each token, which is what rapidfuzz compares fastest."""
        known = self._numbers
        numbers = (known.setdefault(one, len(known)) for one in _TOKEN.findall(text))
        return "".join(chr(0x10000 + number % 1_000_000) for number in numbers)

    def matches(self, sources: Sequence[str], count: int, itself: bool) -> Iterator[list[Match]]:
        """For each source its ``count`` most similar ones, the best first; ``itself``: also one
        that is equal, which in training would be the answer."""
        for start in range(0, len(sources), 64):
            part = sources[start : start + 64]
            table = process.cdist(
                [self._code(one) for one in part],
                self._coded,
                scorer=Levenshtein.normalized_similarity,
                score_cutoff=SIMILAR,
                workers=-1,
            )
            for source, row in zip(part, table, strict=True):
                best = (-row).argsort(kind="stable")[: count + 1]
                found = [Match(*self.pairs[i], float(row[i])) for i in best if row[i] >= SIMILAR]
                yield [one for one in found if itself or one.old != source][:count]


def repair(old: str, new: str, draft: str) -> str:
    """The draft after the changes that need no translation: identifiers, numbers, names, code.

    Where a stretch of the old source is another one in the new source and stands in the draft as
    it is, exactly once and not inside a word, the new stretch takes its place.
    """
    for gone, come in (map(str.strip, one) for one in segments(old, new)):
        if gone != come and come and re.search(r"\w", gone):
            left, right = (r"\b" if re.match(r"\w", end) else "" for end in (gone[0], gone[-1]))
            places = [*re.finditer(left + re.escape(gone) + right, draft)]
            if len(places) == 1:
                draft = draft[: places[0].start()] + come + draft[places[0].end() :]
    return draft
