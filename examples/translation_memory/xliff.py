"""Read XLIFF 1.2 and TMX, and write proposals into XLIFF; all else stays byte for byte."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from units import COMMENT, Proposal, Unit, fingerprint, note

from lev_plugins.errors import UserError

# a tag as it stands in a file; a > inside quotes is no end
_TAG = re.compile(rb"<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>")
_MARKUP = re.compile(r"<[^>]*>")
_TOLD = re.compile(rf"{re.escape(COMMENT)} [\d.]+, source (\w+)")
_OPEN_STATES = ("new", "needs-")
# elements whose text is read, and those inside them whose text is a tool's own
TEXTS = {"source", "target", "seg", "note"}
INLINE_CODES = {"bpt", "ept", "ph", "it", "ut", "x", "sub"}


@dataclass(slots=True)
class Element:
    """An element of a file, at bytes ``start`` to ``end``, its content at ``inside``."""

    name: str
    attributes: dict[str, str]
    start: int
    line: int = 0
    inside: tuple[int, int] = (0, 0)
    end: int = 0
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, name: str) -> Iterator["Element"]:
        """Those of a name below this one, in order."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.all(name)

    def first(self, name: str) -> "Element | None":
        """The first child of a name."""
        return next((child for child in self.children if child.name == name), None)


class Tree:
    """The elements of an XML file, with their places in its bytes.

    units: is given each element ``tu`` at its end, which is then forgotten.

    Raises:
        UserError: no well-formed XML, or in an encoding of which ASCII is no part.
    """

    def __init__(
        self, path: Path, data: bytes, units: Callable[[Element], None] | None = None
    ) -> None:
        self.path, self.data, self.units = path, data, units
        if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:200]:
            raise UserError(f"{path} is UTF-16 or UTF-32: save it as UTF-8")
        self.root = Element("", {}, 0)
        self.open = [self.root]
        declared = re.match(rb"[^<]*<\?xml[^>]*encoding\s*=\s*[\"']([-\w.]+)", data)
        self.encoding = declared[1].decode("ascii") if declared else "utf-8"
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.started
        self.parser.EndElementHandler = self.ended
        self.parser.CharacterDataHandler = self.character_data
        try:
            self.parser.Parse(data, True)
            data.decode(self.encoding)
        except (expat.ExpatError, UnicodeDecodeError, LookupError) as error:
            raise UserError(f"{path}: no readable XML: {error}; see xmllint {path}") from error

    def started(self, name: str, attributes: dict[str, str]) -> None:
        place, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
        element = Element(name.rpartition(":")[2], attributes, place, line)
        tag = _TAG.match(self.data, element.start)
        inside = tag.end() if tag else element.start
        element.inside = (inside, inside)
        self.open[-1].children.append(element)
        self.open.append(element)

    def ended(self, name: str) -> None:
        element, place = self.open.pop(), self.parser.CurrentByteIndex
        if self.data[element.inside[0] - 2 : element.inside[0]] == b"/>":  # has no end tag
            element.end = element.inside[0]
            return
        element.inside = (element.inside[0], place)
        tag = _TAG.match(self.data, place)
        element.end = tag.end() if tag else place
        if self.units and element.name == "tu":
            self.open[-1].children.remove(element)
            self.units(element)

    def character_data(self, text: str) -> None:
        if not any(element.name in TEXTS for element in self.open):
            return
        for element in reversed(self.open):
            element.text += text
            if element.name in TEXTS or element.name in INLINE_CODES:
                return

    def raw(self, element: Element) -> str:
        """What stands inside an element, as it stands there."""
        return self.data[slice(*element.inside)].decode(self.encoding)


class XliffFile:
    """An XLIFF 1.0 to 1.2 file (:class:`units.Document`).

    A text with elements inside (``<x id="1"/>``) is the text of a unit as it stands in the file;
    others are read as plain text.

    Raises:
        UserError: it is no XLIFF of these versions.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.tree, self.data = path, Tree(path, data), data
        root = next(iter(self.tree.root.children))
        version = root.attributes.get("version", "")
        if root.name != "xliff" or not version.startswith("1."):
            raise UserError(f"{path} is {root.name} {version}: XLIFF 1.2 is read here".strip())
        languages = {file.attributes.get("target-language", "") for file in root.all("file")} - {""}
        if len(languages) > 1:
            raise UserError(f"{path} is into {', '.join(sorted(languages))}: split it")
        self.language = next(iter(languages), "")
        self.elements = [
            element
            for element in root.all("trans-unit")
            if element.attributes.get("translate") != "no" and element.first("source")
        ]
        self.units = [self.unit(number, one) for number, one in enumerate(self.elements)]

    def texts(self, element: Element, raw: bool) -> tuple[str, str]:
        """Source and target; ``raw``: as they stand in the file."""
        parts = element.first("source"), element.first("target")
        source, target = (
            "" if part is None else self.tree.raw(part) if raw else part.text for part in parts
        )
        return source, target

    def unit(self, number: int, element: Element) -> Unit:
        """A unit; what a tool has found beside it is the older source and its translation."""
        raw = self.has_markup(number)
        source, target = self.texts(element, raw)
        found = (child for child in element.children if child.name == "alt-trans")
        matches = [pair for pair in (self.texts(one, raw) for one in found) if all(pair)]
        same = [pair for pair in matches if pair[1] == target]
        match = next(iter(same if target else matches), None)
        state = self.state(element, source, target)
        if state == "untranslated":
            target, match = "", next(iter(matches), None)
        old, draft = match or ("", "")
        return Unit(
            entry=number,
            form=None,
            line=element.line,
            source=source,
            target=target,
            old=old,
            draft=draft,
            state="fuzzy" if match and state == "untranslated" else state,
            proposed=any(fingerprint(source) == told for told in self.told(element)),
            printf=element.attributes.get("datatype") in ("cstring", "c"),
        )

    def state(self, element: Element, source: str, target: str) -> str:
        """What the file says of a translation; a copy of the source that is new is none."""
        stands = element.first("target")
        said = stands.attributes.get("state", "") if stands else ""
        if not target.strip() or (said in ("new", "needs-translation") and target == source):
            return "untranslated"
        if said.startswith(_OPEN_STATES) or (
            not said and element.attributes.get("approved") == "no"
        ):
            return "fuzzy"
        return "translated"

    def told(self, element: Element) -> list[str]:
        """The fingerprints in the notes of proposals."""
        notes = (child for child in element.children if child.name == "note")
        return [match[1] for one in notes if (match := _TOLD.search(one.text))]

    def with_proposals(self, proposals: dict[int, Proposal]) -> bytes:
        """The file with proposals, by the index of their unit, each with a note.

        Raises:
            UserError: a proposal breaks the XML.
        """
        data, position = b"", 0
        changes = (c for index, one in proposals.items() for c in self.changes(index, one))
        for start, end, text in sorted(changes):
            data += self.data[position:start] + text.encode(self.tree.encoding, "xmlcharrefreplace")
            position = end
        data += self.data[position:]
        if proposals:
            Tree(self.path, data)
        return data

    def changes(self, index: int, proposal: Proposal) -> Iterator[tuple[int, int, str]]:
        """Spans of the file's bytes and what takes their places."""
        element, unit = self.elements[index], self.units[index]
        source, target = element.first("source"), element.first("target")
        assert source is not None
        text = proposal.text if self.has_markup(index) else escape(proposal.text)
        said = note(proposal.probability, fingerprint(unit.source))
        if unit.target:
            said += f"; was: {escape(unit.target)}"
        # a file whose elements have a prefix needs it here too
        opening = re.match(rb"<([\w.-]*:)?", self.data[source.start :])
        prefix = (opening[1] or b"").decode("ascii") if opening else ""
        written = f"<{prefix}note from={quoteattr('lev_plugins')}>{said}</{prefix}note>"
        for child in element.children:
            if child.name == "note" and _TOLD.search(child.text):
                yield child.start, child.end, ""
        if target is None:
            place = max(one.end for one in (source, element.first("seg-source")) if one)
            whole = f"<{prefix}target>{text}</{prefix}target>{written}"
            yield place, place, whole
        elif target.inside[1] == target.inside[0] == target.end:
            tag = self.data[target.start : target.end].decode(self.tree.encoding)
            opened = tag.removesuffix("/>").rstrip() + ">"
            yield target.start, target.end, f"{opened}{text}</{prefix}target>{written}"
        else:
            yield (*target.inside, text)
            yield target.end, target.end, written

    def has_markup(self, index: int) -> bool:
        """Whether a unit's text is read with the elements inside it."""
        parts = (self.elements[index].first(name) for name in ("source", "target"))
        return any(part is not None and bool(part.children) for part in parts)


def markup(text: str) -> list[str]:
    """The tags in a text, in order."""
    return _MARKUP.findall(text)


def read_xliff(path: Path) -> XliffFile:
    """An XLIFF file; errors of :class:`XliffFile`."""
    return XliffFile(path, path.read_bytes())


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
        named = header.attributes.get("srclang", "*all*") if header else "*all*"
        for asked, texts in self.units:
            self.add_pairs((asked or named).replace("-", "_"), texts)
        self.units.clear()

    def add(self, unit: Element) -> None:
        """Notes a unit's texts by their languages."""
        texts: dict[str, str] = {}
        for variant in unit.all("tuv"):
            named = variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")
            segment = variant.first("seg")
            texts.setdefault(named.replace("-", "_"), segment.text if segment else "")
        self.units.append((unit.attributes.get("srclang", ""), texts))

    def add_pairs(self, asked: str, texts: dict[str, str]) -> None:
        """Pairs of a unit; its source is that in the language asked for, else the first text."""
        kinds = (named for named in texts if is_language(named, asked))
        source = asked if asked in texts else next(kinds, next(iter(texts), ""))
        for named, text in texts.items():
            if named != source and is_language(named, self.language):
                self.languages.add(named)
                self.pairs.append((texts[source], text))


def is_language(named: str, asked: str) -> bool:
    """Whether a language is the one asked for, or of its kind: es_MX is es; "" asks for any."""
    known, wanted = (one.replace("-", "_").lower() for one in (named, asked))
    return not wanted or not known or known == wanted or known.startswith(f"{wanted}_")
