"""Read XLIFF 1.2, also that of memoQ, Trados and Phrase, and write proposals into it; all else
stays byte for byte."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from lev_runtime.errors import UserError

from .tree import Element, Tree
from .units import (
    COMMENT,
    Proposal,
    Unit,
    fingerprint,
    note,
    same_language,
)

# what stays as it is: an element of a tool's own code or a protected one, whole, and other tags
_MARKUP = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<(?P<code>(?:[\w.-]+:)?(?:bpt|ept|ph|it|ut))\b[^>]*(?<!/)>"
    r"(?:(?!<(?:[\w.-]+:)?sub\b).)*?</(?P=code)>"
    r"|<(?P<mrk>(?:[\w.-]+:)?mrk)\b[^>]*mtype=[\"']protected[^>]*>.*?</(?P=mrk)>|<[^>]*>",
    re.DOTALL,
)
_TOLD = re.compile(
    rf"{re.escape(COMMENT)} [\d.]+, source (\w+)(?:; segment ([^;]*))?(?:; was: (.*))?", re.DOTALL
)
_EARLIER = "; earlier: "
_STATE = re.compile(r"(\sstate\s*=\s*)(?:\"[^\"]*\"|'[^']*')")
_REFERENCE = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|quot|apos);")
_FEED = re.compile(r"(?<!\r)\n")
RETURN = {"\r": "&#13;"}
_OTHER_ENTITY = re.compile(r"&(?!(?:#\d+|#x[0-9a-fA-F]+|lt|gt|amp|quot|apos);)")
_CDATA = re.compile(r"\s*<!\[CDATA\[((?:(?!\]\]>).)*)\]\]>\s*", re.DOTALL)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s[^>\[]*(?:\[.*?\]\s*)?>", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
REVIEW = "needs-review-translation"
_UNUSABLE = ("rejected", "reference")  # kinds of alt-trans that are no translation to start from
#: states of XLIFF and of tools (memoQ, Trados, Phrase) that say that a translator is done
FINISHED = set(
    "translated signed-off final reviewed confirmed manuallyconfirmed reviewer1confirmed proofread "
    "reviewer2confirmed approvedtranslation approvedsignoff true 1 2 3 4 5 6 7 8 9".split()
)
_NOT_BEGUN = {"new", "needs-translation", "notstarted", "", "0", "false"}
_BY_MACHINE = ("leveraged-mt", "mt-suggestion", "fuzzy-match", "leveraged-tm")
_STATUS = ("conf", "mq:status", "m:confirmed")
_LOCKED = ("locked", "mq:locked", "m:locked")
_MATCHES = ("alt-trans", "mq:insertedmatch")
_QUALITY = ("match-quality", "matchrate", "mq:matchrate")


class Segment(NamedTuple):
    """A source and its target in a unit, or those of a segment of it (``mid``: its number), and
    what a tool says of them."""

    unit: Element
    source: Element
    target: Element | None
    attributes: dict[str, str]
    mid: str = ""


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
            raise UserError(f"{path} is {root.name} {version}: proposals are written into XLIFF "
                            "1.2 alone; XLIFF 2 is read as a memory")  # fmt: skip
        languages = {file.attributes.get("target-language", "") for file in root.all("file")} - {""}
        if len(languages) > 1:
            raise UserError(f"{path} is into {', '.join(sorted(languages))}: split it")
        self.language = next(iter(languages), "")
        self.segments = [
            segment
            for element, is_translated in root.below()
            if element.name == "trans-unit" and is_translated
            for segment in segments_of(element)
        ]
        self.units = [self.unit(number, one) for number, one in enumerate(self.segments)]

    def texts(self, segment: Segment, raw: bool) -> tuple[str, str]:
        """Source and target; ``raw``: as they stand in the file."""
        source, target = (
            "" if part is None else self.tree.raw(part) if raw else part.text
            for part in (segment.source, segment.target)
        )
        return source, target

    def unit(self, number: int, segment: Segment) -> Unit:
        """A unit; what a tool has found beside it is the older source and its translation."""
        raw = self.has_markup(number)
        source, target = self.texts(segment, raw)
        matches = [pair for one in self.found(segment) if all(pair := self.texts(one, raw))]
        same = [pair for pair in matches if pair[1] == target]
        match = next(iter(same if target else matches), None)
        state = self.state(segment, source, target)
        if state == "untranslated":
            target, match = "", next(iter(matches), None)
        old, draft = match or ("", "")
        return Unit(
            entry=number,
            form=None,
            line=segment.unit.line,
            source=source,
            target=target,
            old=old,
            draft=draft,
            state="fuzzy" if match and state == "untranslated" else state,
            proposed=any(fingerprint(source) == told[1] for _, told in self.told(segment)),
            printf=segment.unit.attributes.get("datatype") in ("cstring", "c"),
        )

    def found(self, segment: Segment) -> list[Segment]:
        """What a tool has found in this language beside a unit, the best match first."""

        def quality(one: Element) -> float:
            number = _NUMBER.search("".join(one.attributes.get(name, "") for name in _QUALITY))
            return -float(number[0]) if number else 0.0

        def is_usable(one: Element) -> bool:
            target = one.first("target")
            said = {**one.attributes, **(target.attributes if target else {})}
            named = said.get("xml:lang", "")
            return same_language(named, self.language) and said.get("alttranstype") not in _UNUSABLE

        matches = (one for one in segment.unit.children if one.name in _MATCHES and is_usable(one))
        return [
            part
            for one in sorted(matches, key=quality)
            for part in segments_of(one, bool(segment.mid))
            if part.mid in (segment.mid, "")
            and one.attributes.get("mid", segment.mid) == segment.mid
        ]

    def state(self, segment: Segment, source: str, target: str) -> str:
        """What the file says of a translation; a copy of the source that is new is none."""
        stands = segment.unit.first("target")
        attributes = stands.attributes if stands else {}
        said = attributes.get("state", "").lower()
        approved = segment.unit.attributes.get("approved")
        tool = [segment.attributes[name].lower() for name in _STATUS if name in segment.attributes]
        states = [*tool, *([said] if said else [])]
        if not target.strip() or (target == source and _NOT_BEGUN.intersection(states)):
            return "untranslated"
        is_suggested = attributes.get("state-qualifier") in _BY_MACHINE
        is_open = not FINISHED.issuperset(states) or (
            not states and (approved == "no" or is_suggested)
        )
        if not is_open or approved == "yes":
            return "translated"
        is_locked = any(segment.attributes.get(name) in ("true", "locked") for name in _LOCKED)
        return "locked" if is_locked else "fuzzy"

    def told(self, segment: Segment) -> list[tuple[Element, re.Match[str]]]:
        """The notes of proposals for a segment, and what they say."""
        notes = (child for child in segment.unit.children if child.name == "note")
        found = ((one, match) for one in notes if (match := _TOLD.search(one.text)))
        return [(one, match) for one, match in found if (match[2] or "") == segment.mid]

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
        segment = self.segments[index]
        if not self.has_markup(index):
            parts = [part for part in (segment.target, segment.source) if part]
            raws = [raw for part in parts if (raw := self.tree.raw(part)).strip()]
            if raws and _CDATA.fullmatch(raws[0]) and "]]>" not in text:
                text = f"<![CDATA[{text}]]>"
            else:
                names = {name for raw in raws for name in _REFERENCE.findall(raw)}
                written = {character_of(name): name for name in sorted(names)}
                references = {one: name for one, name in written.items() if not is_plain(one)}
                text = "".join(references.get(one) or escape(one, RETURN) for one in text)
        return _FEED.sub("\r\n", text) if self.has_returns(segment.unit) else text

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
        # the tag of a target is that of all its segments
        changes = {c for index, one in proposals.items() for c in self.changes(index, one)}
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
        segment = self.segments[index]
        element, target, part = segment.unit, segment.unit.first("target"), segment.target
        text = self.written(index, proposal.text)
        # a file whose elements have a prefix needs it here too
        prefix = f"{self.tree.prefix}:" if self.tree.prefix else ""
        said = self.note(index, proposal)
        written = f"<{prefix}note from={quoteattr('lev_plugins')}>{said}</{prefix}note>"
        for child, _ in self.told(segment):
            yield child.start, child.end, ""
        if target is None or part is None:
            place = max(one.end for one in (segment.source, element.first("seg-source")) if one)
            opening = f"<{prefix}target>"
            yield place, place, f"{self.opened(segment, opening)}{text}</{prefix}target>{written}"
            return
        opening = self.opened(segment, self.tag(target))
        if part is not target:
            yield target.start, target.inside[0], opening
            opening = self.tag(part)
        if part.inside[1] == part.inside[0] == part.end:
            yield part.start, part.end, f"{opening}{text}</{prefix}{part.name}>"
        else:
            yield part.start, part.inside[1], f"{opening}{text}"
        yield target.end, target.end, written

    def tag(self, element: Element) -> str:
        """The opening tag of an element."""
        tag = self.data[element.start : element.inside[0]].decode("utf-8")
        return tag.removesuffix("/>").removesuffix(">") + ">"

    def note(self, index: int, proposal: Proposal) -> str:
        """What the note of a proposal says, with the texts that stood there."""
        unit, segment = self.units[index], self.segments[index]
        said = note(proposal.probability, fingerprint(unit.source))
        said += f"; segment {escape(segment.mid)}" if segment.mid else ""
        texts = [unit.target, *(match[3] for _, match in self.told(segment))]
        kept = _EARLIER.join(escape(text) for text in texts if text)
        return f"{said}; was: {kept}" if kept else said

    def opened(self, segment: Segment, tag: str) -> str:
        """The opening tag of a target, which says that its text is to be reviewed."""
        if segment.target is not None and self.state(segment, "", "text") == "fuzzy":
            return tag
        if _STATE.search(tag):
            return _STATE.sub(rf'\1"{REVIEW}"', tag)
        return f'{tag.removesuffix(">").rstrip()} state="{REVIEW}">'

    def has_markup(self, index: int) -> bool:
        """Whether a unit's text is read as it stands in the file: there are elements, comments or
        entities of the file's own inside it."""
        segment = self.segments[index]
        parts = segment.source, segment.target
        return any(part is not None and self.is_marked(part) for part in parts)

    def is_marked(self, part: Element) -> bool:
        raw = self.tree.raw(part)
        if part.children:
            return True
        plain = re.sub(r"<!\[CDATA\[.*?\]\]>", "", raw, flags=re.DOTALL)
        return "<" in plain or bool(_OTHER_ENTITY.search(plain))


def segments_of(unit: Element, divide: bool = True) -> Iterator[Segment]:
    """Source and target of a unit, or those of each segment where both are in segments."""
    source, target, divided = map(unit.first, ("source", "target", "seg-source"))
    said = {one.attributes.get("id"): one.attributes for one in unit.all("sdl:seg")}
    targets = marks(target) if divide else {}
    pairs = [(mid, mark) for mid, mark in marks(divided or source).items() if mid in targets]
    for mid, mark in pairs:
        attributes = {"conf": "", **said[mid]} if mid in said else {}
        yield Segment(unit, mark, targets[mid], unit.attributes | attributes, mid)
    if source and not pairs:
        yield Segment(unit, source, target, unit.attributes)


def marks(part: Element | None) -> dict[str, Element]:
    """The segments of a source or a target by their numbers."""
    found = part.all("mrk") if part else ()
    return {
        mark.attributes.get("mid", "0"): mark
        for mark in found
        if mark.attributes.get("mtype") == "seg"
    }


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
