"""Read .po files as gettext does, and write proposals into them; all else stays byte for byte."""

import gettext
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from lev_runtime.errors import UserError

from ..repair.code import has_fewer_placeholders, same_placeholders
from ..repair.text import replaced
from .units import NOTE, BilingualFile, Proposal, TranslationUnit, fingerprint, note

WIDTH = 79  # columns of a line, the quotes too
UNWRAPPED = 10**9  # of a file that does not break its lines
LEFT = "#  to do: "
_STRINGS = r'((?:"(?:[^"\\]|\\.)*"[^\S\n]*)+)$'
_KEYWORDS = "msgctxt|msgid_plural|msgid|msgstr|domain"
_FIELD = re.compile(rf"({_KEYWORDS})[^\S\n]*(?:\[[^\S\n]*(\d+)[^\S\n]*\])?[^\S\n]*{_STRINGS}")
_CONTINUED = re.compile(_STRINGS)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"((?:\\x[0-9a-fA-F]{1,2}|\\[0-7]{1,3})+)|\\(.)")
_CODE = re.compile(r"\\(x[0-9a-fA-F]+|[0-7]+)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
#: what is written inside quotes for a character
_QUOTED = {code: f"\\{code:03o}" for code in (*range(32), 127)}
_QUOTED |= {ord(character): "\\" + letter for letter, character in _ESCAPES.items()}
_QUOTED |= {ord("\\"): "\\\\", ord('"'): '\\"'}
_HEADER = re.compile(
    rb'^(?:\xef\xbb\xbf)?[^\S\n]*msgid\s*(?:""\s*)+msgstr\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)',
    re.MULTILINE,
)
_CHARSET = re.compile(rb"Content-Type:[^\\]*?charset\s*=\s*([^\s\\;]+)", re.IGNORECASE)
_PLURAL = re.compile(r"^Plural-Forms:.*?\bplural\s*=\s*([^;\n]+)", re.MULTILINE | re.IGNORECASE)
_LANGUAGE = re.compile(r"^Language:[^\S\n]*(\S+)", re.MULTILINE)
_WAS = re.compile(r"#  (was|to do)(?:\[(\d+)\])?: (.*)")
# flags of formats in which a blank may stand after the per cent sign
_SPACED_FORMATS = {
    f"{language}-format"
    for language in "awk c elisp gcc-internal gfc-internal librep lua objc object-pascal perl php "
    "python ruby tcl ycp".split()
}
_PROPOSAL = re.compile(rf"#\s*{NOTE}")


def unquoted(strings: str, charset: str = "utf-8") -> str:
    """Returns the text of strings in quotes; ``charset``: of characters written as numbers."""

    def character(match: re.Match[str]) -> str:
        if match[2]:
            return _ESCAPES.get(match[2], match[2])
        codes = _CODE.findall(match[1])
        numbers = (int(code[1:], 16) if code[0] == "x" else int(code, 8) for code in codes)
        return bytes(number & 255 for number in numbers).decode(charset, "replace")

    return "".join(_ESCAPE.sub(character, body) for body in _STRING.findall(strings))


def quoted(keyword: str, text: str, width: int = WIDTH) -> list[str]:
    """Returns a field's lines, broken after line breaks and at spaces as gettext breaks them."""
    escaped = text.translate(_QUOTED)
    parts = re.findall(r".*?(?<!\\)(?:\\\\)*\\n|.+", escaped) or [""]
    if len(parts) == 1 and len(f'{keyword} "{escaped}"') <= width:
        return [f'{keyword} "{escaped}"']
    lines = [f'{keyword} ""']
    for part in parts:
        row = ""
        for word in re.findall(r"[^ ]+ *| +", part):
            if row and len(row) + len(word) > width - 2:
                lines.append(f'"{row}"')
                row = ""
            row += word
        lines.append(f'"{row}"')
    return lines


def index_of(form: int | None) -> str:
    """Returns how a form of a plural is named behind its keyword, "" for no plural."""
    return "" if form is None else f"[{form}]"


def line_end(content: str) -> str:
    """Returns what ends lines, a carriage return alone only where there is no line feed."""
    return "\r" if "\r" in content and "\n" not in content else "\n"


class Plurals(NamedTuple):
    """The form for 1, and those for a single number."""

    singular: int
    single: frozenset[int]


def plurals_of(header: str) -> Plurals | None:
    """Evaluates the formula in a header; None without one that can be evaluated."""
    formula = _PLURAL.search(header)
    try:
        form_of = gettext.c2py(formula[1].strip() if formula else "")
        counts = Counter(form_of(number) for number in range(1000))
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return Plurals(form_of(1), frozenset(form for form, count in counts.items() if count == 1))


@dataclass
class Field:
    """A keyword with its text, and the characters of the file at which it stands."""

    text: str
    start: int
    end: int


@dataclass
class Entry:
    """An entry of a .po file.

    fields: by keyword, of msgstr by (keyword, form) too. comments: that of a proposal and the
    lines of the texts before it, as spans of the file; marks: the fingerprints in that comment;
    was: for each form the text before, in quotes.
    """

    line: int
    start: int
    flags: set[str] = field(default_factory=set)
    fields: dict[tuple[str, int | None], Field] = field(default_factory=dict)
    previous: dict[str, Field] = field(default_factory=dict)
    comments: list[tuple[int, int]] = field(default_factory=list)
    marks: Sequence[str] = ()
    was: dict[int | None, str] = field(default_factory=dict)

    def text(self, keyword: str) -> str:
        """Returns a field's text, "" without it."""
        return self.fields[keyword, None].text if (keyword, None) in self.fields else ""

    def fingerprint(self) -> str:
        return fingerprint(self.text("msgid"), self.text("msgid_plural"))

    def forms(self) -> list[int | None]:
        return [form for keyword, form in self.fields if keyword == "msgstr"]

    def state_of(self, texts: dict[int | None, str], was: dict[int | None, str]) -> str:
        """Returns the fingerprint of texts of its forms, and of those before them."""
        now = {form: self.fields["msgstr", form].text for form in self.forms()} | texts
        return fingerprint(*(f"{form} {text}" for form, text in (*now.items(), *was.items())))

    @cached_property
    def before(self) -> dict[int | None, str]:
        """Returns the texts before proposals; none where somebody has edited one of either."""
        before = {form: unquoted(strings) for form, strings in self.was.items()}
        is_proposal = bool(before) and "fuzzy" in self.flags
        is_same = is_proposal and self.marks == (self.fingerprint(), self.state_of({}, before))
        return before if is_same else {}

    def unit(self, number: int, form: int | None, plurals: Plurals | None) -> TranslationUnit:
        """Returns a translation of the entry."""
        keyword = self.keyword(form, plurals)
        text = self.fields["msgstr", form].text
        target = self.before.get(form, text)
        is_fuzzy = "fuzzy" in self.flags and not (form in self.before and not target)
        state = "fuzzy" if is_fuzzy else "translated" if target else "untranslated"
        return TranslationUnit(
            entry=number,
            form=form,
            source=self.text(keyword),
            target=target,
            old=self.previous[keyword].text if keyword in self.previous else "",
            draft="",
            state=state,
            proposed=not self.before and self.marks[:1] == (self.fingerprint(),),
            standing=text if form in self.before else "",
            printf=self.is_printf,
            alternatives=() if form is None else self.alternatives(form, plurals, target),
        )

    @property
    def is_printf(self) -> bool:
        return bool(self.flags & _SPACED_FORMATS)

    def keyword(self, form: int | None, plurals: Plurals | None) -> str:
        """Returns the keyword of a form's source: the singular's is for 1, unless the form is for
        more numbers (Russian: 1, 21, 31) and the singular lacks a placeholder."""
        singular, plural = self.text("msgid"), self.text("msgid_plural")
        if form is None:
            return "msgid"
        if len(self.forms()) == 1 or form != (plurals.singular if plurals else 0):
            return "msgid_plural"
        is_single = plurals is None or form in plurals.single
        has_all = is_single or same_placeholders(plural, singular, self.is_printf)
        return "msgid" if has_all else "msgid_plural"

    def alternatives(self, form: int, plurals: Plurals | None, target: str) -> tuple[str, ...]:
        """Returns texts whose placeholders a form may have, as msgfmt checks them: a form for a
        single number may lack some of the plural's."""
        singular, plural = self.text("msgid"), self.text("msgid_plural")
        printf = self.is_printf
        if plurals is None:
            is_single = form == 0 and same_placeholders(singular, target, printf)
        else:
            is_single = form in plurals.single
        if not is_single:
            return (plural,)
        is_part = plurals and target.strip() and has_fewer_placeholders(target, plural, printf)
        return (plural, singular, target) if is_part else (plural, singular)


def charset_of(data: bytes) -> str:
    """Returns the encoding that the header of a file names, else UTF-8."""
    header = _HEADER.search(data.replace(b"\r", b"\n"))
    strings = re.findall(rb'"((?:[^"\\\n]|\\.)*)"', header[1]) if header else []
    named = _CHARSET.search(b"".join(strings))
    charset = named[1].decode("ascii", "replace") if named else "utf-8"
    return "utf-8" if charset.upper() == "CHARSET" else charset  # CHARSET: of a template


class PoParser:
    """Entries of a .po file's text, as gettext reads them.

    Raises:
        UserError: a line that gettext would not read; the message names it.
    """

    def __init__(self, path: Path, content: str, charset: str) -> None:
        self.path, self.charset = path, charset
        self.number = self.position = 0
        self.entries: list[Entry] = []
        self.entry: Entry | None = None
        self.field: Field | None = None  # that a string in quotes goes on with
        self.older: Field | None = None  # the same, of a string after #|
        self.obsolete = list[str]()  # lines of obsolete entries without their marks
        for line in content.split(line_end(content)):
            self.number += 1
            self.read(line)
            self.position += len(line) + 1
        self.close()

    def refused(self, why: str) -> UserError:
        return UserError(f"{self.path}:{self.number}: {why}; see msgfmt -c {self.path}")

    def close(self) -> None:
        """Ends the entry; one of comments alone is none."""
        entry, self.entry, self.field, self.older = self.entry, None, None, None
        if entry is None or {*entry.fields} <= {("domain", None)}:
            return
        has_source = ("msgid", None) in entry.fields
        if not has_source or not entry.forms():
            lacking = "msgstr" if has_source else "msgid"
            raise self.refused(f"the entry of line {entry.line} has no {lacking}")
        if (("msgid_plural", None) in entry.fields) == (None in entry.forms()):
            raise self.refused(f"the entry of line {entry.line} has a plural without forms")
        self.entries.append(entry)

    def current(self, begins: bool) -> Entry:
        """Returns the entry that a line belongs to: a new one if there is none, or if the line
        begins one after a translation."""
        if begins and self.entry and self.entry.forms():
            self.close()
        if self.entry is None:
            self.entry = Entry(self.number, self.position)
        return self.entry

    def read(self, line: str) -> None:
        """Reads a line without its line feed."""
        body = line.strip().lstrip("\ufeff").strip()
        is_older = body.startswith("#|")
        written = body[2:].strip() if is_older else body
        if body.startswith("#") and not is_older:
            self.read_comment(body, line)
        elif match := _FIELD.match(written):
            self.read_field(match, line, is_older)
        elif (match := _CONTINUED.match(written)) and (
            field := self.older if is_older else self.field
        ):
            field.text += unquoted(match[1], self.charset)
            field.end = self.position + len(line.rstrip())
        elif body:
            raise self.refused(f"this is not a line of a .po file: {body[:60]}")

    def read_field(self, match: re.Match[str], line: str, is_older: bool) -> None:
        """Reads the line with which a field begins, of the present texts or of older ones."""
        keyword, form, strings = match.groups()
        entry = self.current(is_older or keyword != "msgstr")
        start = self.position + len(line) - len(line.lstrip().lstrip("\ufeff"))
        field = Field(unquoted(strings, self.charset), start, self.position + len(line.rstrip()))
        key = keyword, None if form is None else int(form)
        if is_older:
            self.older = entry.previous[keyword] = field
        elif key in entry.fields:
            raise self.refused(f"a second {keyword} in one entry")
        else:
            self.field = entry.fields[key] = field

    def read_comment(self, body: str, line: str) -> None:
        """Reads a comment; after a translation it begins an entry."""
        entry = self.current(begins=True)
        span = self.position, self.position + len(line) + 1
        if body.startswith(("#,", "#=")):
            entry.flags |= {flag.strip() for flag in body[2:].split(",")}
        elif body.startswith("#~"):
            self.obsolete += ["#, fuzzy"] if "fuzzy" in entry.flags else []
            self.obsolete.append(body[2:].strip())
            self.entry = self.field = None
        elif match := _PROPOSAL.match(body):
            entry.comments.append(span)
            entry.marks = match.groups()
        elif entry.comments and (match := _WAS.match(body)):
            entry.comments.append(span)
            kind, form, strings = match.groups()
            if kind == "was":
                key = None if form is None else int(form)
                entry.was[key] = entry.was.get(key, "") + strings


class PoFile(BilingualFile):
    """A .po file.

    Raises:
        UserError: it is not in the encoding that its header names, or no .po file.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.encoding = charset_of(data)
        try:
            self.content = data.decode(self.encoding)
            if self.content.encode(self.encoding) != data:
                raise UnicodeError("it would not write it as it is")
        except UnicodeError as error:
            raise UserError(f"{path} is not {self.encoding}, as its header says ({error}): "
                            f"msgconv -t UTF-8 {path}") from None  # fmt: skip
        except (LookupError, ValueError):
            raise UserError(f"{path}: its header names the encoding {self.encoding}, which is "
                            "unknown: set charset=UTF-8") from None  # fmt: skip
        parser = PoParser(path, self.content, self.encoding)
        self.entries = parser.entries
        headers = (entry.text("msgstr") for entry in self.entries if not entry.text("msgid"))
        header = next(filter(None, headers), "")
        named = _LANGUAGE.search(header)
        plurals = plurals_of(header)
        units = [
            entry.unit(number, form, plurals)
            for number, entry in enumerate(self.entries)
            if entry.text("msgid") or ("msgctxt", None) in entry.fields
            for form in sorted(entry.forms(), key=lambda form: form or 0)
        ]
        super().__init__(path, named[1] if named else "", units)
        with suppress(UserError):  # nobody reads them but a memory
            obsolete = PoParser(path, "\n".join(parser.obsolete), self.encoding).entries
            done = (entry for entry in obsolete if not entry.flags and entry.text("msgstr"))
            self.obsolete = [(entry.text("msgid"), entry.text("msgstr")) for entry in done]

    def refusal(self, unit: TranslationUnit, text: str) -> str:
        """Returns why a text cannot be written for a unit, "" if it can."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError as error:
            return f"with {error.object[error.start]!r}, which {self.encoding} lacks"
        return ""

    def with_proposals(self, proposals: dict[TranslationUnit, Proposal]) -> bytes:
        """Returns the file with proposals; each with a comment and, also in
        a comment, what stood there.
        """
        return replaced(self.content, self.changes(proposals)).encode(self.encoding)

    def changes(self, proposals: dict[TranslationUnit, Proposal]) -> Iterator[tuple[int, int, str]]:
        """Yields spans of the content and their replacements."""
        by_entry: dict[int, list[tuple[TranslationUnit, Proposal]]] = {}
        for unit, proposal in proposals.items():
            by_entry.setdefault(unit.entry, []).append((unit, proposal))
        for number, changed in by_entry.items():
            entry = self.entries[number]
            for start, end in entry.comments:
                yield start, end, ""
            least = min((proposal for _, proposal in changed), key=lambda each: each[1:])
            was = entry.before | {unit.form: unit.target for unit, _ in changed}
            texts = {unit.form: proposal.text for unit, proposal in changed}
            lines = [f"# {note(least, entry.fingerprint(), entry.state_of(texts, was))}"]
            left = dict.fromkeys(proposal.left for _, proposal in changed if proposal.left)
            lines += [LEFT + self.encodable("; ".join(left))] if left else []
            if "fuzzy" not in entry.flags:
                first = min(
                    part.start for part in (*entry.fields.values(), *entry.previous.values())
                )
                yield first, first, self.joined(["#, fuzzy", ""], first)
            for unit, proposal in changed:
                span = entry.fields["msgstr", unit.form]
                keyword = f"msgstr{index_of(unit.form)}"
                rows = quoted(keyword, proposal.text, self.width(entry))
                yield span.start, span.end, self.joined(rows, span.start)
            for form, text in was.items():
                lines.append(f'#  was{index_of(form)}: "{text.translate(_QUOTED)}"')
            yield entry.start, entry.start, self.joined([*lines, ""], entry.start)

    def encodable(self, text: str) -> str:
        """Returns a text for a comment in the encoding of the file, which may lack an arrow."""
        if self.refusal(self.units[0], text):
            text = text.replace("→", "->")
        return text.encode(self.encoding, "replace").decode(self.encoding)

    def width(self, entry: Entry) -> int:
        """Returns the width of lines: gettext's, unless one that could be broken is longer."""
        for lines in entry.fields.values():
            for row in self.content[lines.start : lines.end].splitlines():
                row = row.strip()
                if len(row) > WIDTH + 1 and " " in row.partition('"')[2]:
                    return UNWRAPPED
        return WIDTH

    def joined(self, lines: list[str], start: int) -> str:
        """Joins lines with the indentation and the line ends of a place of the file."""
        feed = line_end(self.content)
        before = self.content[self.content.rfind(feed, 0, start) + 1 : start]
        indent = before[: len(before) - len(before.lstrip())]
        if self.content[start : self.content.find("\n", start)].endswith("\r"):
            feed = "\r\n"
        return (feed + indent).join(lines)
