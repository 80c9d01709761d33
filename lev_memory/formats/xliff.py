"""Read XLIFF 1.2, also that of memoQ, Trados and Phrase, and 2, and write proposals into it; all
else stays byte for byte."""

import re
from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from lev_runtime.errors import UserError

from ..repair.text import replaced
from .tree import Element, Tree
from .units import NOTE, BilingualFile, Proposal, TranslationUnit, fingerprint, note, same_language

# what stays as it is: an element of a tool's own code or a protected one, whole, and other tags
_MARKUP = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<(?P<code>(?:[\w.-]+:)?(?:bpt|ept|ph|it|ut))\b[^>]*(?<!/)>"
    r"(?:(?!<(?:[\w.-]+:)?sub\b).)*?</(?P=code)>"
    r"|<(?P<mrk>(?:[\w.-]+:)?mrk)\b[^>]*mtype=[\"']protected[^>]*>.*?</(?P=mrk)>|<[^>]*>",
    re.DOTALL,
)
_NOTE = re.compile(rf"{NOTE}(?:; segment ([^;]*))?(?:; to do: .*?)?(?:; was: (.*))?$", re.DOTALL)
_SEGMENTS = ("segment", "ignorable")
_STATE = re.compile(r"(\sstate\s*=\s*)(?:\"[^\"]*\"|'[^']*')")
_FEED = re.compile(r"(?<!\r)\n")
RETURN = {"\r": "&#13;"}
_OTHER_ENTITY = re.compile(r"&(?!(?:#\d+|#x[0-9a-fA-F]+|lt|gt|amp|quot|apos);)")
_ANY_CDATA = re.compile(r"<!\[CDATA\[.*?\]\]>", re.DOTALL)
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
_NOT_BEGUN = {"new", "initial", "needs-translation", "notstarted", "", "0", "false"}
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


class XliffFile(BilingualFile):
    """An XLIFF 1 or 2 file.

    A text with elements inside (``<x id="1"/>``) is the text of a unit as it stands in the file;
    others are read as plain text.

    Raises:
        UserError: it is no XLIFF of these versions.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.tree = Tree(path, data)
        self.data, self.encoding = self.tree.data, self.tree.encoding
        self.prefix = self.tree.prefix  # of what is written, too
        root = self.tree.root.children[0]
        version = root.get("version")
        self.is_2 = version.startswith("2.")
        if root.name != "xliff" or not (self.is_2 or version.startswith("1.")):
            raise UserError(f"{path} is {root.name} {version}: give XLIFF 1 or 2")
        named = [file.get("target-language") for file in root.all("file")]
        languages = {root.get("trgLang"), *named} - {""}
        if len(languages) > 1:
            raise UserError(f"{path} is into {', '.join(sorted(languages))}: split it")
        name, read = ("unit", segments_of_2) if self.is_2 else ("trans-unit", segments_of)
        self.segments: list[Segment] = []
        for element, is_translated in root.below():
            if element.name == name and is_translated:
                self.segments += read(element)
        super().__init__(path, "".join(languages), [])
        self.units = [self.unit(*numbered) for numbered in enumerate(self.segments)]

    def texts(self, segment: Segment, raw: bool) -> tuple[str, str]:
        """Returns source and target; ``raw``: as they stand in the file."""
        read = self.tree.raw if raw else attrgetter("text")
        return read(segment.source), read(segment.target) if segment.target else ""

    def unit(self, number: int, segment: Segment) -> TranslationUnit:
        """Returns a unit; its older source and draft are those of a match that a tool has added."""
        raw = self.has_markup(segment)
        source, target = self.texts(segment, raw)
        matches = [self.texts(match, raw) for match in self.matches(segment)]
        matches = [match for match in matches if all(match)]
        state = self.state(segment, source, target)
        if state == "untranslated":
            target = ""
            state = "fuzzy" if matches else state
        notes = [match for _, match in self.notes(segment)]
        is_proposal = any(match[1] == fingerprint(source) for match in notes)
        before = next((match[4] or "" for match in notes), "")
        is_untouched = any(match[2] == fingerprint(target, before, str(raw)) for match in notes)
        standing = ""
        if state == "fuzzy" and is_proposal and is_untouched:
            standing, target = target, before
            state = "fuzzy" if matches or before.strip() else "untranslated"
        old, draft = next((m for m in matches if target in ("", m[1])), ("", ""))
        return TranslationUnit(
            entry=number,
            form=None,
            source=source,
            target=target,
            old=old,
            draft=draft,
            state=state,
            proposed=is_proposal and not standing,
            standing=standing,
            printf=segment.unit.get("datatype") in ("cstring", "c"),
        )

    def matches(self, segment: Segment) -> Iterator[Segment]:
        """Yields what a tool has found in this language for a unit, the best match first."""
        if self.is_2:
            yield from matches_of_2(segment)
            return
        children = [child for child in segment.unit.children if child.name in _MATCHES]
        for child in sorted(filter(self.is_usable, children), key=quality, reverse=True):
            if child.get("mid", segment.mid) != segment.mid:
                continue
            parts = segments_of(child, bool(segment.mid))
            yield from (part for part in parts if part.mid in (segment.mid, ""))

    def is_usable(self, match: Element) -> bool:
        """Returns whether a match is in this language and not rejected."""
        target = match.first("target")
        attributes = match.attributes | (target.attributes if target else {})
        language = attributes.get("xml:lang", "")
        is_rejected = attributes.get("alttranstype") in _UNUSABLE
        return same_language(language, self.language) and not is_rejected

    def state(self, segment: Segment, source: str, target: str) -> str:
        """Returns the state of a translation; a copy of the source that is new is none."""
        element = segment.unit.first("target")
        attributes = element.attributes if element else {}
        approved = segment.unit.get("approved")
        named = [segment.attributes.get(name) for name in _STATUS]
        named.append(attributes.get("state") or None)
        states = [name.lower() for name in named if name is not None]
        if not target.strip() or (target == source and _NOT_BEGUN.intersection(states)):
            return "untranslated"
        is_suggested = attributes.get("state-qualifier") in _BY_MACHINE
        is_done = FINISHED.issuperset(states) if states else approved != "no" and not is_suggested
        if is_done or approved == "yes":
            return "translated"
        is_locked = any(segment.attributes.get(name) in ("true", "locked") for name in _LOCKED)
        return "locked" if is_locked else "fuzzy"

    def notes(self, segment: Segment) -> Iterator[tuple[Element, re.Match[str]]]:
        """Yields the notes of proposals for a segment, and what they say."""
        notes = segment.unit.first("notes") if self.is_2 else None
        for child in (notes or segment.unit).children:
            match = _NOTE.search(child.text) if child.name == "note" else None
            if match and (match[3] or "") == segment.mid:
                yield child, match

    def refusal(self, unit: TranslationUnit, text: str) -> str:
        """Returns why a text cannot be written for a unit, "" if it can."""
        segment, doctype = self.segments[unit.entry], _DOCTYPE.search(self.data)
        if self.has_markup(segment) and markup(text) != markup(unit.source):
            return "with other elements"
        parser = expat.ParserCreate("utf-8")
        try:
            written = self.written(segment, text).encode("utf-8")
            entities = doctype[0] if doctype else b""
            parser.Parse(b"%s<text>%s</text>" % (entities, written), True)
        except (expat.ExpatError, UnicodeEncodeError):
            return "that XML cannot hold"
        return ""

    def written(self, segment: Segment, text: str) -> str:
        """Returns a text as it stands in the file: with its line ends, as CDATA where that stands
        there."""
        if not self.has_markup(segment):
            parts = [self.tree.raw(part) for part in (segment.target, segment.source) if part]
            before = next(filter(str.strip, parts), "")
            is_cdata = _CDATA.fullmatch(before) and "]]>" not in text
            text = f"<![CDATA[{text}]]>" if is_cdata else escape(text, RETURN)
        # lines that end with a carriage return, which XML does not read
        end = self.data.find(b"\n", segment.unit.start)
        has_returns = self.data[end - 1 : max(end, 0)] == b"\r"
        return _FEED.sub("\r\n", text) if has_returns else text

    def with_proposals(self, proposals: dict[TranslationUnit, Proposal]) -> bytes:
        """Returns the file with proposals, each with a note.

        Raises:
            UserError: a proposal breaks the XML, see :meth:`refusal`.
        """
        changes: set[tuple[int, int, bytes]] = set()  # segments of a unit share the target's tag
        for unit, proposal in proposals.items():
            for start, end, text in self.changes(unit, proposal):
                changes.add((start, end, text.encode("utf-8")))
        written = replaced(self.data, changes).decode("utf-8")
        # two segments of a unit share its notes
        written = written.replace(f"</{self.prefix}notes><{self.prefix}notes>", "")
        data = written.encode(self.encoding, "xmlcharrefreplace")
        if proposals:
            Tree(self.path, data)
        return data

    def changes(self, unit: TranslationUnit, proposal: Proposal) -> Iterator[tuple[int, int, str]]:
        """Yields spans of the file's bytes and their replacements."""
        segment = self.segments[unit.entry]
        target, part = segment.unit.first("target"), segment.target
        text = self.written(segment, proposal.text)
        note = self.note(unit, proposal)
        for child, _ in self.notes(segment):
            yield child.start, child.end, ""
        if self.is_2:
            yield self.noted(segment.unit, note)
            note = ""
        if part is None:
            divided = segment.unit.first("seg-source") or segment.source
            place = max(divided.end, segment.source.end)
            opening = self.for_review(segment, f"<{self.prefix}target>")
            yield place, place, f"{opening}{text}</{self.prefix}target>{note}"
            return
        opening = self.tag(part)
        if target:
            tag = self.for_review(segment, self.tag(target))
            yield target.end, target.end, note
            if part is target:
                opening = tag
            else:
                yield target.start, target.inside[0], tag
        # <target/> has none
        closing = f"</{self.prefix}{part.name}>" if part.inside[1] == part.end else ""
        yield part.start, part.inside[1], f"{opening}{text}{closing}"

    def noted(self, unit: Element, note: str) -> tuple[int, int, str]:
        """Returns where a note of XLIFF 2 is written, whose notes stand together before the
        segments, and how."""
        notes = unit.first("notes")
        if notes and notes.end > notes.inside[1]:
            return notes.inside[1], notes.inside[1], note
        later = (c for c in unit.children if c.name in ("originalData", *_SEGMENTS))
        place = next(later).start
        return place, place, f"<{self.prefix}notes>{note}</{self.prefix}notes>"

    def tag(self, element: Element) -> str:
        """Returns the opening tag of an element."""
        tag = self.data[element.start : element.inside[0]].decode("utf-8")
        return tag.removesuffix("/>").removesuffix(">") + ">"

    def note(self, unit: TranslationUnit, proposal: Proposal) -> str:
        """Returns the note of a proposal, with the texts that stood there."""
        segment = self.segments[unit.entry]
        is_raw = str(self.has_markup(segment))
        known = fingerprint(unit.source), fingerprint(proposal.text, unit.target, is_raw)
        content = note(proposal, *known)
        if segment.mid:
            content += f"; segment {escape(segment.mid)}"
        if proposal.left:
            content += f"; to do: {escape(proposal.left)}"
        if unit.target:
            content += f"; was: {escape(unit.target)}"
        named = "category" if self.is_2 else "from"
        return f'<{self.prefix}note {named}="lev_plugins">{content}</{self.prefix}note>'

    def for_review(self, segment: Segment, tag: str) -> str:
        """Returns the opening tag of a target, which says that its text is to be reviewed."""
        if self.is_2 or (segment.target and self.state(segment, "", "text") == "fuzzy"):
            return tag
        if _STATE.search(tag):
            return _STATE.sub(rf'\1"{REVIEW}"', tag)
        return f'{tag.removesuffix(">").rstrip()} state="{REVIEW}">'

    def has_markup(self, segment: Segment) -> bool:
        """Returns whether a text is read as it stands in the file: it has elements, comments or
        entities of the file's own."""
        for part in (segment.source, segment.target):
            plain = _ANY_CDATA.sub("", self.tree.raw(part)) if part else ""
            if part and (part.children or "<" in plain or _OTHER_ENTITY.search(plain)):
                return True
        return False


def segments_of(unit: Element, divide: bool = True) -> Iterator[Segment]:
    """Yields source and target of a unit, or those of each segment if both are in segments."""
    source, target, divided = map(unit.first, ("source", "target", "seg-source"))
    states = {child.get("id"): child.attributes for child in unit.all("sdl:seg")}
    targets = marks(target) if divide else {}
    sources = marks(divided or source)
    shared = [mid for mid in sources if mid in targets]
    for mid in shared:
        attributes = unit.attributes
        if mid in states:
            attributes = attributes | {"conf": ""} | states[mid]
        yield Segment(unit, sources[mid], targets[mid], attributes, mid)
    if source and not shared:
        yield Segment(unit, source, target, unit.attributes)


def segments_of_2(unit: Element) -> Iterator[Segment]:
    """Yields the segments of a unit of XLIFF 2."""
    for child in unit.all("segment"):
        if source := child.first("source"):
            state = {"conf": child.get("state", "initial")}  # as Trados names it
            yield Segment(unit, source, child.first("target"), state, child.get("id"))


def matches_of_2(segment: Segment) -> Iterator[Segment]:
    """Yields what a tool has found for a segment, by the module for matches of XLIFF 2."""
    for element, _ in segment.unit.below():
        is_match = element.name.rpartition(":")[2] == "match"
        named = element.get("ref").rpartition("=")[2].strip("#")
        is_here = named in ("", segment.mid)
        source = element.first("source") if is_match and is_here else None
        if source:
            yield Segment(segment.unit, source, element.first("target"), {}, segment.mid)


def marks(part: Element | None) -> dict[str, Element]:
    """Returns the segments of a source or a target by their numbers."""
    elements = part.all("mrk") if part else ()
    return {mark.get("mid", "0"): mark for mark in elements if mark.get("mtype") == "seg"}


def quality(match: Element) -> float:
    """Returns how good a match is, as its tool says; 0 if it does not say."""
    number = _NUMBER.search("".join(map(match.get, _QUALITY)))
    return float(number[0]) if number else 0.0


def markup(text: str) -> Counter[str]:
    """Returns the tags in a text, and elements that stay as they are."""
    return Counter(match[0] for match in _MARKUP.finditer(text))
