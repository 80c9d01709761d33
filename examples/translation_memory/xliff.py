"""Read XLIFF 1.2, and write proposals into it; all else stays byte for byte."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from tree import Element, Tree
from units import COMMENT, Proposal, Unit, fingerprint, is_language, note

from lev_plugins.errors import UserError

# what stays as it is: an element of a tool's own code or a protected one, whole, and other tags
_MARKUP = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<(?P<code>(?:[\w.-]+:)?(?:bpt|ept|ph|it|ut))\b[^>]*(?<!/)>"
    r"(?:(?!<(?:[\w.-]+:)?sub\b).)*?</(?P=code)>"
    r"|<(?P<mrk>(?:[\w.-]+:)?mrk)\b[^>]*mtype=[\"']protected[^>]*>.*?</(?P=mrk)>|<[^>]*>",
    re.DOTALL,
)
_TOLD = re.compile(rf"{re.escape(COMMENT)} [\d.]+, source (\w+)(?:; was: (.*))?", re.DOTALL)
_EARLIER = "; earlier: "
_STATE = re.compile(r"(\sstate\s*=\s*)(?:\"[^\"]*\"|'[^']*')")
_REFERENCE = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|quot|apos);")
_FEED = re.compile(r"(?<!\r)\n")
RETURN = {"\r": "&#13;"}
_OTHER_ENTITY = re.compile(r"&(?!(?:#\d+|#x[0-9a-fA-F]+|lt|gt|amp|quot|apos);)")
_CDATA = re.compile(r"\s*<!\[CDATA\[((?:(?!\]\]>).)*)\]\]>\s*", re.DOTALL)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s[^>\[]*(?:\[.*?\]\s*)?>", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_OPEN_STATES = ("new", "needs-")
REVIEW = "needs-review-translation"
_UNUSABLE = ("rejected", "reference")  # kinds of alt-trans that are no translation to start from


class XliffFile:
    """An XLIFF 1.0 to 1.2 file (:class:`units.Document`).

    A text with elements inside (``<x id="1"/>``) is the text of a unit as it stands in the file;
    others are read as plain text.

    Raises:
        UserError: it is no XLIFF of these versions.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.tree = path, Tree(path, data)
        self.data, self.encoding = self.tree.data, self.tree.encoding
        self.doctype = _DOCTYPE.search(self.data)
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
            for element, is_translated in root.below()
            if element.name == "trans-unit" and is_translated and element.first("source")
        ]
        self.units = [self.unit(number, one) for number, one in enumerate(self.elements)]

    def texts(self, element: Element, raw: bool) -> tuple[str, str]:
        """Source and target; ``raw``: as they stand in the file."""
        source, target = (
            "" if part is None else self.tree.raw(part) if raw else part.text
            for part in parts_of(element)
        )
        return source, target

    def unit(self, number: int, element: Element) -> Unit:
        """A unit; what a tool has found beside it is the older source and its translation."""
        raw = self.has_markup(number)
        source, target = self.texts(element, raw)
        matches = [pair for one in self.found(element) if all(pair := self.texts(one, raw))]
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
            proposed=any(fingerprint(source) == told[1] for told in self.told(element)),
            printf=element.attributes.get("datatype") in ("cstring", "c"),
        )

    def found(self, element: Element) -> list[Element]:
        """What a tool has found in this language beside a unit, the best match first."""

        def quality(one: Element) -> float:
            number = _NUMBER.search(one.attributes.get("match-quality", ""))
            return -float(number[0]) if number else 0.0

        def is_usable(one: Element) -> bool:
            target = one.first("target")
            said = {**one.attributes, **(target.attributes if target else {})}
            named = said.get("xml:lang", "")
            alike = is_language(named, self.language) or is_language(self.language, named)
            return alike and said.get("alttranstype") not in _UNUSABLE

        return sorted(
            (one for one in element.children if one.name == "alt-trans" and is_usable(one)),
            key=quality,
        )

    def state(self, element: Element, source: str, target: str) -> str:
        """What the file says of a translation; a copy of the source that is new is none."""
        stands = element.first("target")
        said = stands.attributes.get("state", "") if stands else ""
        approved = element.attributes.get("approved")
        if not target.strip() or (said in ("new", "needs-translation") and target == source):
            return "untranslated"
        is_open = said.startswith(_OPEN_STATES) or (not said and approved == "no")
        return "fuzzy" if is_open and approved != "yes" else "translated"

    def told(self, element: Element) -> list[re.Match[str]]:
        """What the notes of proposals say."""
        notes = (child for child in element.children if child.name == "note")
        return [match for one in notes if (match := _TOLD.search(one.text))]

    def refusal(self, index: int, text: str) -> str:
        """Why a text cannot be written for a unit; "" where it can."""
        if self.has_markup(index) and markup(text) != markup(self.units[index].source):
            return "with other elements"
        doctype = self.doctype[0] if self.doctype else b""
        parser = expat.ParserCreate("utf-8")
        try:
            written = self.written(index, text).encode("utf-8")
            parser.Parse(b"%s<text>%s</text>" % (doctype, written), True)
        except (expat.ExpatError, UnicodeEncodeError):
            return "that XML cannot hold"
        return ""

    def written(self, index: int, text: str) -> str:
        """A text as it stands in the file: with the references and the line ends, or as the CDATA,
        of the texts that stand there."""
        element = self.elements[index]
        if not self.has_markup(index):
            parts = [part for name in ("target", "source") if (part := element.first(name))]
            raws = [raw for part in parts if (raw := self.tree.raw(part)).strip()]
            if raws and _CDATA.fullmatch(raws[0]) and "]]>" not in text:
                text = f"<![CDATA[{text}]]>"
            else:
                names = {name for raw in raws for name in _REFERENCE.findall(raw)}
                written = {character_of(name): name for name in sorted(names)}
                references = {one: name for one, name in written.items() if not is_plain(one)}
                text = "".join(references.get(one) or escape(one, RETURN) for one in text)
        return _FEED.sub("\r\n", text) if self.has_returns(element) else text

    def has_returns(self, element: Element) -> bool:
        """Whether lines end with a carriage return there, which XML reads as none."""
        end = self.data.find(b"\n", element.start)
        return end > 0 and self.data[end - 1 : end] == b"\r"

    def with_proposals(self, proposals: dict[int, Proposal]) -> bytes:
        """The file with proposals, by the index of their unit, each with a note.

        Raises:
            UserError: a proposal breaks the XML, see :meth:`refusal`.
        """
        data, position = b"", 0
        changes = (c for index, one in proposals.items() for c in self.changes(index, one))
        for start, end, text in sorted(changes):
            data += self.data[position:start] + text.encode("utf-8")
            position = end
        data += self.data[position:]
        data = data.decode("utf-8").encode(self.encoding, "xmlcharrefreplace")
        if proposals:
            Tree(self.path, data)
        return data

    def changes(self, index: int, proposal: Proposal) -> Iterator[tuple[int, int, str]]:
        """Spans of the file's bytes and what takes their places."""
        element = self.elements[index]
        source, target = element.first("source"), element.first("target")
        assert source is not None
        text = self.written(index, proposal.text)
        # a file whose elements have a prefix needs it here too
        prefix = f"{self.tree.prefix}:" if self.tree.prefix else ""
        said = self.note(index, proposal)
        written = f"<{prefix}note from={quoteattr('lev_plugins')}>{said}</{prefix}note>"
        for child in element.children:
            if child.name == "note" and _TOLD.search(child.text):
                yield child.start, child.end, ""
        if target is None:
            place = max(one.end for one in (source, element.first("seg-source")) if one)
            opening = f"<{prefix}target>"
            whole = f"{self.opened(element, opening)}{text}</{prefix}target>{written}"
            yield place, place, whole
            return
        tag = self.data[target.start : target.inside[0]].decode("utf-8")
        opening = self.opened(element, tag.removesuffix("/>").removesuffix(">") + ">")
        if target.inside[1] == target.inside[0] == target.end:
            yield target.start, target.end, f"{opening}{text}</{prefix}target>{written}"
        else:
            yield target.start, target.inside[1], f"{opening}{text}"
            yield target.end, target.end, written

    def note(self, index: int, proposal: Proposal) -> str:
        """What the note of a proposal says, with the texts that stood there."""
        unit = self.units[index]
        said = note(proposal.probability, fingerprint(unit.source))
        told = (match[2] for match in self.told(self.elements[index]))
        texts = [unit.target, *told]
        kept = _EARLIER.join(escape(text) for text in texts if text)
        return f"{said}; was: {kept}" if kept else said

    def opened(self, element: Element, tag: str) -> str:
        """The opening tag of a target, which says that its text is to be reviewed."""
        target = element.first("target")
        if target is not None and self.state(element, "", "text") == "fuzzy":
            return tag
        if _STATE.search(tag):
            return _STATE.sub(rf'\1"{REVIEW}"', tag)
        return f'{tag.removesuffix(">").rstrip()} state="{REVIEW}">'

    def has_markup(self, index: int) -> bool:
        """Whether a unit's text is read as it stands in the file: there are elements, comments or
        entities of the file's own inside it."""
        parts = parts_of(self.elements[index])
        return any(part is not None and self.is_marked(part) for part in parts)

    def is_marked(self, part: Element) -> bool:
        raw = self.tree.raw(part)
        if part.children:
            return True
        plain = re.sub(r"<!\[CDATA\[.*?\]\]>", "", raw, flags=re.DOTALL)
        return "<" in plain or bool(_OTHER_ENTITY.search(plain))


def parts_of(element: Element) -> tuple[Element | None, Element | None]:
    """Source and target; the source in segments where the target is."""
    source, target = element.first("source"), element.first("target")
    segments = element.first("seg-source")
    is_segmented = target is not None and any(
        mark.attributes.get("mtype") == "seg" for mark in target.all("mrk")
    )
    return (segments if segments and is_segmented else source), target


def is_plain(character: str) -> bool:
    return character.isascii() and character.isalnum()


def character_of(reference: str) -> str:
    """What a reference to a character stands for."""
    body = reference[1:-1]
    if body in ("quot", "apos"):
        return {"quot": '"', "apos": "'"}[body]
    return chr(int(body[2:], 16) if body.startswith("#x") else int(body[1:]))


def markup(text: str) -> Counter[str]:
    """The tags in a text, and elements that stay as they are."""
    return Counter(match[0] for match in _MARKUP.finditer(text))


def read_xliff(path: Path) -> XliffFile:
    """An XLIFF file; errors of :class:`XliffFile`."""
    return XliffFile(path, path.read_bytes())
