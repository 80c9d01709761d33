"""Read TMX, translation memories of many tools."""

from pathlib import Path

from lev_runtime.errors import UserError

from .tree import Element, Tree
from .units import is_language, same_language

_ANY = "*all*"  # a source language that is none


class TmxFile:
    """A TMX file.

    Attributes:
        pairs: sources and translations into the language that is asked for.
        languages: of these translations.

    Raises:
        UserError: no TMX.
    """

    def __init__(self, path: Path, data: bytes, language: str = "") -> None:
        self.language = language
        self.pairs: list[tuple[str, str]] = []
        self.languages: set[str] = set()
        self.units: list[tuple[str, dict[str, str]]] = []
        root = next(iter(Tree(path, data, self.add).root.children))
        if root.name != "tmx":
            raise UserError(f"{path} is {root.name}, no TMX")
        header = root.first("header")
        named = header.attributes.get("srclang", _ANY) if header else _ANY
        units = [((asked or named).replace("-", "_"), texts) for asked, texts in self.units]
        sources = [source_language(texts, asked) for asked, texts in units]
        for (asked, texts), source in zip(units, sources, strict=True):
            if asked.lower() == _ANY or not any(sources):  # or no text is in what the file names
                self.add_pairs(self.other_language(texts), texts)
            elif source is not None:
                self.add_pairs(source, texts)
        self.units.clear()

    def add(self, unit: Element) -> None:
        """Notes a unit's texts by their languages."""
        texts: dict[str, str] = {}
        for variant in unit.all("tuv"):
            named = variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")
            segment = variant.first("seg")
            texts.setdefault(named.replace("-", "_"), segment.text if segment else "")
        self.units.append((unit.attributes.get("srclang", ""), texts))

    def other_language(self, texts: dict[str, str]) -> str:
        """The first one that is not asked for."""
        wanted = self.language
        others = (named for named in texts if wanted and not is_language(named, wanted))
        return next(others, next(iter(texts), ""))

    def add_pairs(self, source: str, texts: dict[str, str]) -> None:
        """Pairs of a unit; another variant of the source's language is no translation."""
        others = [named for named in texts if named != source]
        foreign = [named for named in others if not same_language(named, source)]
        for named in foreign or others:
            if is_language(named, self.language):
                self.languages.add(named)
                self.pairs.append((texts[source], texts[named]))


def source_language(texts: dict[str, str], asked: str) -> str | None:
    """Of the texts of a unit, that which is asked for, or of its kind; None where none is."""
    alike = (named for named in texts if same_language(named, asked))
    return asked if asked in texts else next(alike, None)
