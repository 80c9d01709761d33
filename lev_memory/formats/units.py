"""Units of a file of translations, whatever its format, each with its source and text."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from babel.core import get_global, parse_locale

#: stands in a comment of each proposal
COMMENT = "lev_plugins: proposal, probability"
PART = ", in part"
#: a comment of a proposal, with the fingerprints of its source, and of its text and the one before
NOTE = rf"{re.escape(COMMENT)} [\d.]+(?:{PART})?, source (\w+)(?:, text (\w+))?"
_SCRIPTS = {"latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva", "arabic": "Arab"}


class Proposal(NamedTuple):
    """A translation that may take the place of another one."""

    text: str
    probability: float  # in [0, 1]
    is_all: bool = True  # whether it follows all of its source's change
    left: str = ""  # what it does not follow, for a reader: up → down
    reason: str = ""  # how it was made
    kinds: Sequence[str] = ()  # of its repairs
    least: float = 0.0  # the probability that is asked for


@dataclass(eq=False)
class TranslationUnit:
    """A source and its translation in a file.

    Attributes:
        entry: number of its entry in the file; the forms of a plural share one.
        form: of a plural, from 0; None without.
        source: what is to be translated.
        target: the translation that stands there, "" where there is none.
        old: the older source that the file keeps, else "".
        draft: the older source's translation, where the file keeps it apart from ``target``.
        state: "translated", "fuzzy" or "untranslated".
        proposed: whether ``target`` is a proposal for this source that may have been edited.
        standing: the proposal for this source that nobody has edited, "" where there is none;
            ``target`` and ``state`` are those before it.
        printf: whether the file says that placeholders are those of C, or like them.
        alternatives: other texts whose placeholders a translation may have.
    """

    entry: int
    form: int | None
    source: str
    target: str
    old: str
    draft: str
    state: str
    proposed: bool = False
    standing: str = ""
    printf: bool = False
    alternatives: tuple[str, ...] = ()


class BilingualFile:
    """Units of a file of translations: a :class:`po.PoFile`, a :class:`xliff.XliffFile`, or none.

    Attributes:
        language: of the translations, as the file says, else "".
        encoding: of the file.
        obsolete: translations of sources that are gone.
        takes_parts: whether a proposal may follow a part of a change, since it stays marked.
    """

    encoding = "utf-8"
    takes_parts = True
    obsolete: Sequence[tuple[str, str]] = ()

    def __init__(self, path: Path, language: str, units: list[TranslationUnit]) -> None:
        self.path, self.language, self.units = path, language, units

    def refusal(self, unit: TranslationUnit, text: str) -> str:
        """Returns why a text cannot be written for a unit, "" if it can."""
        return ""

    def outcome(self, entries: str) -> str:
        """Returns what became of the file, for a reader.

        Args:
            entries: what became of its fuzzy units.
        """
        return entries

    def with_proposals(self, proposals: dict[TranslationUnit, Proposal]) -> bytes:
        """Returns the file's bytes with proposals for its units."""
        raise NotImplementedError


def fingerprint(*sources: str) -> str:
    """Returns a short hash of sources, which is written into the comment of a proposal."""
    return hashlib.sha256("\0".join(sources).encode("utf-8", "replace")).hexdigest()[:8]


def note(proposal: Proposal, source: str, text: str) -> str:
    """Returns the comment of a proposal; ``source``, ``text``: fingerprints, see :data:`NOTE`."""
    part = "" if proposal.is_all else PART
    return f"{COMMENT} {proposal.probability:.2f}{part}, source {source}, text {text}"


def subtags(named: str) -> tuple[str, str, str]:
    """Returns main language, script and region of a name such as es-419, zh_TW or sr@latin; the
    script is the likely one by CLDR where the name has none."""
    try:
        main, region, script, *_ = parse_locale(named.replace("-", "_"))
    except ValueError:
        return named.lower(), "", ""
    likely = get_global("likely_subtags")
    usual = likely.get(f"{main}_{region}") or likely.get(main, "__")
    written = script or _SCRIPTS.get(named.partition("@")[2])
    return main, written or usual.split("_")[1], region or ""


def same_language(named: str, other: str) -> bool:
    """Returns whether two names are of one language, of whatever region; "" may be any."""
    return not named or not other or subtags(named)[:2] == subtags(other)[:2]


def is_language(named: str, asked: str) -> bool:
    """Returns whether a language is the one asked for, of its region if both name one."""
    regions = subtags(named)[2], subtags(asked)[2]
    return same_language(named, asked) and (not all(regions) or regions[0] == regions[1])
