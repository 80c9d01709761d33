"""What a file of translations holds, whatever its format: units, each with its source and text."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

#: stands in a comment of each proposal
COMMENT = "lev_plugins: proposal, probability"


class Proposal(NamedTuple):
    """A translation, and how probable it is, in [0, 1]."""

    text: str
    probability: float


@dataclass
class Unit:
    """A source and its translation in a file.

    Attributes:
        entry: number of its entry in the file; the forms of a plural share one.
        form: of a plural, from 0; None without.
        line: where its entry begins, from 1.
        source: what is to be translated.
        target: the translation that stands there, "" where there is none.
        old: the older source that the file keeps, else "".
        draft: the older source's translation, where the file keeps it apart from ``target``.
        state: "translated", "fuzzy" or "untranslated".
        proposed: whether ``target`` is a proposal for this source.
        printf: whether the file says that placeholders are those of C, or like them.
        alternatives: texts of whose placeholders a translation may have those in the place of the
            source's.
    """

    entry: int
    form: int | None
    line: int
    source: str
    target: str
    old: str
    draft: str
    state: str
    proposed: bool = False
    printf: bool = False
    alternatives: tuple[str, ...] = ()


class Document(Protocol):
    """A file of translations: :func:`po.read_po` and :func:`xliff.read_xliff` give one.

    ``language``: of the translations, as the file says, else "". ``encoding``: of the file.
    """

    path: Path
    language: str
    encoding: str
    units: list[Unit]

    def refusal(self, index: int, text: str) -> str:
        """Why a text cannot be written for a unit; "" where it can."""

    def with_proposals(self, proposals: dict[int, Proposal]) -> bytes:
        """The file's bytes with proposals in the place of the texts of units, by their index."""


def fingerprint(*sources: str) -> str:
    """Tells one source from another; it stands beside a proposal."""
    return hashlib.sha256("\0".join(sources).encode("utf-8", "replace")).hexdigest()[:8]


def note(probability: float, source: str) -> str:
    """What the comment of a proposal says; ``source``: its fingerprint."""
    return f"{COMMENT} {probability:.2f}, source {source}"


def is_language(named: str, asked: str) -> bool:
    """Whether a language is the one asked for, or of its kind: es_MX is es; "" asks for any."""
    known, wanted = (one.replace("-", "_").lower() for one in (named, asked))
    return not wanted or not known or known == wanted or known.startswith(f"{wanted}_")
