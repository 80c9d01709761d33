"""Read .po files as gettext does, and write proposals into them; all else stays byte for byte."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from units import COMMENT, Proposal, Unit, fingerprint, note

from lev_plugins.errors import UserError

WIDTH = 79  # columns of a line, the quotes too
WAS = "#  was:"
_STRINGS = r'((?:"(?:[^"\\]|\\.)*"[^\S\n]*)+)$'
_KEYWORDS = "msgctxt|msgid_plural|msgid|msgstr|domain"
_FIELD = re.compile(rf"({_KEYWORDS})[^\S\n]*(?:\[[^\S\n]*(\d+)[^\S\n]*\])?[^\S\n]*{_STRINGS}")
_CONTINUED = re.compile(_STRINGS)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"((?:\\x[0-9a-fA-F]{1,2}|\\[0-7]{1,3})+)|\\(.)")
_CODE = re.compile(r"\\(x[0-9a-fA-F]+|[0-7]+)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_QUOTED = {character: "\\" + letter for letter, character in _ESCAPES.items()}
_QUOTED |= {"\\": "\\\\", '"': '\\"'}
_CHARSET = re.compile(rb'Content-Type:[^"\\]*charset\s*=\s*([^\s"\\;]+)', re.IGNORECASE)
_LANGUAGE = re.compile(r"^Language:[^\S\n]*(\S+)", re.MULTILINE)
_WAS = re.compile(r"#  was(\[\d+\])?:")
_TOLD = re.compile(rf"#\s*{re.escape(COMMENT)}(?: [\d.]+, source (\w+))?")


def unquoted(strings: str, charset: str = "utf-8") -> str:
    """The text of strings in quotes; ``charset``: of what is written as numbers."""

    def character(match: re.Match[str]) -> str:
        if match[2]:
            return _ESCAPES.get(match[2], match[2])
        codes = _CODE.findall(match[1])
        numbers = (int(code[1:], 16) if code[0] == "x" else int(code, 8) for code in codes)
        return bytes(number & 255 for number in numbers).decode(charset, "replace")

    return "".join(_ESCAPE.sub(character, body) for body in _STRING.findall(strings))


def quoted(keyword: str, text: str) -> list[str]:
    """A field's lines, broken behind line breaks and at spaces as gettext breaks them."""
    escaped = "".join(_QUOTED.get(character, character) for character in text)
    parts = re.findall(r".*?(?<!\\)(?:\\\\)*\\n|.+", escaped) or [""]
    if len(parts) == 1 and len(f'{keyword} "{escaped}"') <= WIDTH:
        return [f'{keyword} "{escaped}"']
    lines = [f'{keyword} ""']
    for part in parts:
        row = ""
        for word in re.findall(r"[^ ]+ *| +", part):
            if row and len(row) + len(word) > WIDTH - 2:
                lines.append(f'"{row}"')
                row = ""
            row += word
        lines.append(f'"{row}"')
    return lines


@dataclass
class Field:
    """A keyword with its text, and the characters of the file at which it stands."""

    text: str
    start: int
    end: int


@dataclass
class Entry:
    """An entry of a .po file.

    fields: by keyword, of msgstr by (keyword, form) too. told: the comment of a proposal and the
    lines of the text before it, as spans of the file; source: the fingerprint in that comment.
    """

    line: int
    start: int
    flags: set[str] = field(default_factory=set)
    fields: dict[tuple[str, int | None], Field] = field(default_factory=dict)
    previous: dict[str, str] = field(default_factory=dict)
    told: list[tuple[int, int]] = field(default_factory=list)
    source: str | None = None

    def text(self, keyword: str) -> str:
        """A field's text, "" without it."""
        stands = self.fields.get((keyword, None))
        return stands.text if stands else ""

    def fingerprint(self) -> str:
        return fingerprint(self.text("msgid"), self.text("msgid_plural"))

    def forms(self) -> list[int | None]:
        return [form for keyword, form in self.fields if keyword == "msgstr"]

    def unit(self, number: int, form: int | None) -> Unit:
        """A translation of the entry; the first of several forms is of the singular."""
        plural = bool(form) or (form == 0 and len(self.forms()) == 1)
        keyword = "msgid_plural" if plural else "msgid"
        target = self.fields["msgstr", form].text
        state = "fuzzy" if "fuzzy" in self.flags else "translated" if target else "untranslated"
        return Unit(
            entry=number,
            form=form,
            line=self.line,
            source=self.text(keyword),
            target=target,
            old=self.previous.get(keyword, ""),
            draft="",
            state=state,
            proposed=self.source in ("", self.fingerprint()),
            printf=any(flag.endswith("c-format") for flag in self.flags - {"no-c-format"}),
        )


class Parser:
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
        self.previous = ""  # the same, of what stands behind #|
        for line in content.split("\n"):
            self.number += 1
            self.read(line)
            self.position += len(line) + 1
        self.close()

    def refuse(self, why: str) -> UserError:
        return UserError(f"{self.path}:{self.number}: {why}; see msgfmt -c {self.path}")

    def close(self) -> None:
        """Ends the entry; one of comments alone is none."""
        entry, self.entry, self.field = self.entry, None, None
        if entry is None or not entry.fields:
            return
        if ("domain", None) in entry.fields and len(entry.fields) == 1:
            return
        if ("msgid", None) not in entry.fields or not entry.forms():
            lacking = "msgstr" if ("msgid", None) in entry.fields else "msgid"
            self.number = max(self.number, entry.line)
            raise self.refuse(f"the entry of line {entry.line} has no {lacking}")
        if (("msgid_plural", None) in entry.fields) != (None not in entry.forms()):
            raise self.refuse(f"the entry of line {entry.line} has a plural without forms")
        self.entries.append(entry)

    def current(self) -> Entry:
        """The entry that a line belongs to, begun where there is none."""
        if self.entry is None:
            self.entry = Entry(self.number, self.position)
        return self.entry

    def read(self, line: str) -> None:
        """A line without its line feed."""
        body = line.strip().lstrip("\ufeff").strip()
        if not body:
            return
        if body.startswith("#"):
            self.read_comment(body, line)
        elif match := _FIELD.match(body):
            self.read_field(match, line)
        elif (match := _CONTINUED.match(body)) and self.field:
            self.field.text += unquoted(match[1], self.charset)
            self.field.end = self.position + len(line.rstrip())
        else:
            raise self.refuse(f"this is no line of a .po file: {body[:60]}")

    def read_field(self, match: re.Match[str], line: str) -> None:
        keyword, form, strings = match.groups()
        if self.entry and self.entry.forms() and keyword != "msgstr":
            self.close()
        start = self.position + len(line) - len(line.lstrip().lstrip("\ufeff"))
        end = self.position + len(line.rstrip())
        self.field = Field(unquoted(strings, self.charset), start, end)
        key = keyword, None if form is None else int(form)
        if key in self.current().fields:
            raise self.refuse(f"a second {keyword} in one entry")
        self.current().fields[key] = self.field

    def read_comment(self, body: str, line: str) -> None:
        """Obsolete entries are passed over; a comment behind a translation begins an entry."""
        if self.entry and self.entry.forms():
            self.close()
        entry = self.current()
        if body.startswith(("#,", "#=")):
            entry.flags |= {flag.strip() for flag in body[2:].split(",")}
        elif body.startswith("#|"):
            self.read_previous(entry, body[2:].strip())
        elif body.startswith("#~"):
            self.entry = self.field = None
        elif told := _TOLD.match(body):
            entry.told.append((self.position, self.position + len(line) + 1))
            entry.source = told[1] or ""
        elif entry.told and _WAS.match(body):
            entry.told.append((self.position, self.position + len(line) + 1))

    def read_previous(self, entry: Entry, body: str) -> None:
        match = _FIELD.match(body)
        if match:
            self.previous = match[1]
            entry.previous[match[1]] = unquoted(match[3], self.charset)
        elif (match := _CONTINUED.match(body)) and self.previous in entry.previous:
            entry.previous[self.previous] += unquoted(match[1], self.charset)
        else:
            raise self.refuse(f"this is no older source: {body[:60]}")


class PoFile:
    """A .po file (:class:`units.Document`).

    Raises:
        UserError: it is not in the encoding that its header names, or no .po file.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        named = _CHARSET.search(data)
        self.charset = named[1].decode("ascii", "replace") if named else "utf-8"
        if self.charset.upper() == "CHARSET":  # of a template
            self.charset = "utf-8"
        try:
            self.content = data.decode(codecs.lookup(self.charset).name)
        except LookupError as error:
            raise UserError(f"{path}: its header names the encoding {self.charset}, which is "
                            "none: set charset=UTF-8") from error  # fmt: skip
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is not {self.charset} (byte {error.start}), as its header "
                            f"says: msgconv -t UTF-8 {path}") from error  # fmt: skip
        self.entries = Parser(path, self.content, self.charset).entries
        self.language = self.header_language()
        self.units = [
            entry.unit(number, form)
            for number, entry in enumerate(self.entries)
            if entry.text("msgid") or ("msgctxt", None) in entry.fields
            for form in sorted(entry.forms(), key=lambda form: form or 0)
        ]

    def header_language(self) -> str:
        headers = (entry for entry in self.entries if not entry.text("msgid"))
        header = next((one for one in headers if ("msgstr", None) in one.fields), None)
        named = _LANGUAGE.search(header.text("msgstr")) if header else None
        return named[1] if named else ""

    def with_proposals(self, proposals: dict[int, Proposal]) -> bytes:
        """The file with proposals, by the index of their unit; each with a comment and, also in
        a comment, what stood there.

        Raises:
            UserError: the file's encoding cannot write a proposal.
        """
        changes = sorted(self.changes(proposals))
        text, position = "", 0
        for start, end, replacement in changes:
            text += self.content[position:start] + replacement
            position = end
        text += self.content[position:]
        try:
            return text.encode(codecs.lookup(self.charset).name)
        except UnicodeEncodeError as error:
            raise UserError(f"{self.path}: {self.charset} has no {error.object[error.start]!r}: "
                            f"msgconv -t UTF-8 {self.path}") from error  # fmt: skip

    def changes(self, proposals: dict[int, Proposal]) -> Iterator[tuple[int, int, str]]:
        """Spans of the content and what takes their places."""
        by_entry: dict[int, list[tuple[Unit, Proposal]]] = {}
        for index, proposal in proposals.items():
            unit = self.units[index]
            by_entry.setdefault(unit.entry, []).append((unit, proposal))
        for number, changed in by_entry.items():
            entry = self.entries[number]
            yield from ((start, end, "") for start, end in entry.told)
            least = min(proposal.probability for _, proposal in changed)
            lines = [f"# {note(least, entry.fingerprint())}"]
            for unit, proposal in changed:
                span, form = entry.fields["msgstr", unit.form], unit.form
                keyword = "msgstr" if form is None else f"msgstr[{form}]"
                written = self.joined(quoted(keyword, proposal.text), span.start)
                yield span.start, span.end, written
                if unit.target:
                    mark = WAS if form is None else f"{WAS[:-1]}[{form}]:"
                    lines += [f"{mark} {row.strip()}" for row in quoted("", unit.target)
                              if row.strip() != '""']  # fmt: skip
            yield entry.start, entry.start, self.joined([*lines, ""], entry.start)

    def joined(self, lines: list[str], start: int) -> str:
        """Lines with the indentation and the line ends that stand at a place of the file."""
        first = self.content.rfind("\n", 0, start) + 1
        margin = re.match(r"[^\S\n]*", self.content[first:])
        end = self.content.find("\n", start)
        feed = "\r\n" if end > 0 and self.content[end - 1] == "\r" else "\n"
        indent = margin[0].rstrip("\r") if margin else ""
        return (feed + (indent if start > first else "")).join(lines)


def read_po(path: Path) -> PoFile:
    """A .po file; errors of :class:`PoFile`."""
    return PoFile(path, path.read_bytes())
