"""An app's texts by key, their translation, and what their source has become since.

A text whose source changed, and which nobody has translated since, is a fuzzy unit. A copy of the
older source follows the new one. All else stays byte for byte: a proposal takes the place of a
text between its quotes or tags, as its format writes it.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import shorten
from typing import NamedTuple

import yaml

from lev_runtime.errors import UserError

from ..repair.text import replaced
from .files import is_locale
from .tree import Element, Tree, encoding_of
from .units import BilingualFile, Proposal, TranslationUnit

#: names of the forms of a plural, by CLDR
_FORMS = "zero|one|two|few|many|other"
#: a form as the last part of a key: its own in Rails and Android, the end of one in i18next
_FORM = re.compile(rf"(?:\A|(?<=_))(?:{_FORMS})\Z")
_JSON = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")(?P<colon>\s*:)?|[{}\[\],]')
_PROPERTY = re.compile(
    r"^[ \t\f]*(?![#!])(?P<key>(?:\\.|[^\s:=\\])+)"
    r"(?:[ \t\f]*[=:])?[ \t\f]*"
    r"(?P<text>(?:\\(?:\r\n|.)|[^\\\r\n])*)",
    re.MULTILINE | re.DOTALL,
)
_STRING = re.compile(
    r"/\*.*?\*/|//[^\n]*"
    r'|(?P<key>"(?:[^"\\]|\\.)*"|[\w.-]+)\s*=\s*"(?P<text>(?:[^"\\]|\\.)*)"\s*;',
    re.DOTALL,
)
#: libyaml's where it was built with it
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: an anchor and a tag of YAML, before a text
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_ESCAPED = re.compile(
    r"\\(?:[uU](?P<code>[0-9a-fA-F]{4})|(?P<end>\r?\n)[ \t\f]*|(?P<char>.))", re.DOTALL
)
#: an escape that has letters, which shows their case
_CODE = re.compile(r"\\u(?=\d*[a-fA-F])[0-9a-fA-F]{4}")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
#: an apostrophe of a text, not of a tag, that has no backslash
_APOSTROPHE = re.compile(r"<[^>]*>|(?<!\\)'")
#: characters of the keys that are named in a line
NAMED = 120

Key = tuple[str | int, ...]


class Message(NamedTuple):
    """A text of a file, at characters ``start`` to ``end``."""

    key: Key
    start: int
    end: int
    text: str


# formats ------------------------------------------------------------------------------------------


def of_json(path: Path, text: str) -> Iterator[Message]:
    """Yields the texts of a .json or .arb file; keys with an @ are about others, as in .arb."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}") from None
    key = list[str | int]()
    for match in _JSON.finditer(text):
        if match["colon"]:
            key[-1] = json.loads(match["text"])
        elif match["text"]:
            if not any(str(part).startswith("@") for part in key):
                yield Message((*key,), *match.span("text"), json.loads(match["text"]))
        elif match[0] in "{[":
            key.append("" if match[0] == "{" else 0)
        elif match[0] in "}]":
            key.pop()
        elif isinstance(key[-1], int):
            key[-1] += 1


def of_yaml(path: Path, text: str) -> Iterator[Message]:
    """Yields the texts of a YAML file; a root that names the language, as in Rails, is no key."""
    try:
        root = yaml.compose(text, _LOADER)
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    if isinstance(root, yaml.MappingNode) and len(root.value) == 1:
        name, below = root.value[0]
        root = below if is_locale(str(name.value)) else root
    yield from _below(text, root, (), set())


def _below(text: str, node: yaml.Node | None, key: Key, seen: set[int]) -> Iterator[Message]:
    """Yields the texts of a node of YAML; an alias is read where its anchor is."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        if node.tag == "tag:yaml.org,2002:str":
            start, end = node.start_mark.index, node.end_mark.index
            properties = _PROPERTIES.match(text, start)
            yield Message(key, properties.end() if properties else start, end, node.value)
    elif isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _below(text, value, (*key, str(name.value)), seen)
    else:
        for number, value in enumerate(node.value):
            yield from _below(text, value, (*key, number), seen)


def of_lines(path: Path, text: str) -> Iterator[Message]:
    """Yields the texts of a .properties or .strings file."""
    pattern = _PROPERTY if path.suffix == ".properties" else _STRING
    for match in pattern.finditer(text):
        if match["key"]:
            key = unescaped(match["key"].strip('"'))
            yield Message((key,), *match.span("text"), unescaped(match["text"]))


def of_xml(path: Path, text: str) -> Iterator[Message]:
    """Yields the texts of Android's strings.xml and of a .resx file, with their tags."""
    tree = Tree(path, text.encode(encoding_of(text.encode())))  # as the file declares
    done = characters = 0
    for key, element in _elements(path, tree.root.children[0]):
        start, end = element.inside
        raw = tree.raw(element)
        characters += len(tree.data[done:start].decode())
        done = start
        if cdata := _CDATA.fullmatch(raw):
            yield Message(key, characters + cdata.start(1), characters + cdata.end(1), cdata[1])
        elif end > start:
            shown = raw.replace(r"\'", "'") if path.suffix == ".xml" else raw
            yield Message(key, characters, characters + len(raw), shown)


def _elements(path: Path, root: Element) -> Iterator[tuple[Key, Element]]:
    """Yields the elements of texts, each with its key."""
    if root.name not in ("resources", "root"):
        raise UserError(f"{path}: no strings.xml of Android: its root is {root.name}")
    for element in root.children:
        name = element.get("name")
        is_text = element.get("translatable") != "false" and not element.get("type")
        if not is_text or element.name not in ("string", "plurals", "string-array", "data"):
            continue
        if element.name == "string":
            yield (name,), element
            continue
        parts = [part for part in element.children if part.name in ("item", "value")]
        for number, part in enumerate(parts):
            yield (name, part.get("quantity") or number), part


def unescaped(text: str) -> str:
    """Returns a text without the backslashes of .properties and .strings."""

    def character(match: re.Match[str]) -> str:
        if match["code"]:
            return chr(int(match["code"], 16))
        return "" if match["end"] else _CONTROLS.get(match["char"], match["char"])

    plain = _ESCAPED.sub(character, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def in_json(text: str, before: str, whole: str) -> str:
    """Returns a text in quotes; with escapes alone where its file has only these."""
    return json.dumps(text, ensure_ascii=whole.isascii() and r"\u" in whole)


def in_yaml(text: str, before: str, whole: str) -> str:
    """Returns a text in the style that the one before it has, where it can be written so."""
    # signs that end a plain text inside of brackets, where the one before has none
    is_risky = bool({*",[]{}"} & {*text} - {*before})
    style = before[0] if before[0] in "\"'|>" else '"' * is_risky
    dumped = yaml.safe_dump([text], default_style=style, allow_unicode=True, width=math.inf)
    styled, after = dumped.removeprefix("- ").rstrip(), before[len(before.rstrip()) :]
    if style in ("|", ">"):
        _, _, body = before.partition("\n")
        indent = body[: len(body) - len(body.lstrip())].rpartition("\n")[2]
        styled = styled.replace("\n  ", f"\n{indent}")
    return styled + after


def in_lines(text: str, before: str, whole: str) -> str:
    """Returns a text with backslashes; letters as escapes where its file has only these."""
    for char, escape in {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.items():
        text = text.replace(char, escape)
    if text.startswith(" "):  # which would belong to what stands before a text
        text = "\\" + text
    if whole.isascii() and (code := _CODE.search(whole)):
        digits = "04X" if code[0][2:].isupper() else "04x"
        units = text.encode("utf-16-be", "surrogatepass")
        letters = (int.from_bytes(units[place : place + 2]) for place in range(0, len(units), 2))
        text = "".join(
            chr(letter) if letter < 128 else rf"\u{letter:{digits}}" for letter in letters
        )
    return text


def in_strings(text: str, before: str, whole: str) -> str:
    """Returns a text as it stands in the quotes of a .strings file."""
    return in_lines(text, before, whole).replace('"', r"\"")


def in_android(text: str, before: str, whole: str) -> str:
    """Returns a text with Android's backslashes before apostrophes, unless quotes are around it."""
    if before.startswith('"'):
        return text
    return _APOSTROPHE.sub(lambda match: r"\'" if match[0] == "'" else match[0], text)


def as_it_is(text: str, before: str, whole: str) -> str:
    """Returns a text."""
    return text


class Format(NamedTuple):
    """Reads the texts of a file, and writes one in the place of another."""

    read: Callable[[Path, str], Iterable[Message]]
    write: Callable[[str, str, str], str]


FORMATS = {
    ".json": Format(of_json, in_json),
    ".arb": Format(of_json, in_json),
    ".yml": Format(of_yaml, in_yaml),
    ".yaml": Format(of_yaml, in_yaml),
    ".properties": Format(of_lines, in_lines),
    ".strings": Format(of_lines, in_strings),
    ".xml": Format(of_xml, in_android),
    ".resx": Format(of_xml, as_it_is),
}


# the file -----------------------------------------------------------------------------------------


def family(key: Key) -> Key:
    """Returns a key without the form of a plural."""
    return (*key[:-1], _FORM.sub("", str(key[-1])))


def decoded(path: Path, data: bytes) -> tuple[str, str]:
    """Returns a file's text and encoding: UTF-8, what its first bytes say, or Java's Latin-1."""
    encodings = [encoding_of(data), "latin-1"]
    for encoding in encodings if path.suffix == ".properties" else encodings[:1]:
        with suppress(UnicodeDecodeError):
            return data.decode(encoding), encoding
    raise UserError(f"{path}: it or its source is not {encodings[0]}")


class KeyedFile(BilingualFile):
    """The texts of an app in another language, whose source has changed.

    Args:
        old, new: the source as it was when it was translated, and as it is now.
        since: the translation as it was then; None: nobody has edited it since.

    Attributes:
        copies: texts in the source's language, which follow it.
        lacking: keys of the source that it does not have.

    Raises:
        UserError: a file is not of its format.
    """

    takes_parts = False

    def __init__(
        self, path: Path, translation: bytes, old: bytes, new: bytes, since: bytes | None = None
    ) -> None:
        super().__init__(path, "", [])
        self.format = FORMATS[path.suffix.lower()]
        self.text, self.encoding = decoded(path, translation)
        self.messages = dict[TranslationUnit, Message]()
        self.copies = list[tuple[Message, str]]()
        before, now = self.texts(old), self.texts(new)
        then = self.texts(translation if since is None else since)
        forms = dict[Key, dict[Key, str]]()  # of plurals
        for key, text in now.items():
            forms.setdefault(family(key), {})[key] = text
        there = [*self.format.read(path, self.text)]
        for message in there:
            alike = forms.get(family(message.key), {})
            others = (key for key in alike if str(key[-1]).endswith("other"))
            # a form that English has not, such as few, is made from its other
            key = message.key if message.key in now else next(others, ())
            source, was = now.get(key, ""), before.get(key, "")
            is_changed = source.split() != was.split() and bool(source and was)
            is_older = then.get(message.key) == message.text
            if is_changed and message.text == was:
                self.copies.append((message, source))
            elif source and message.text.strip() and message.text != source:
                is_fuzzy = is_changed and is_older
                unit = TranslationUnit(
                    len(self.units), None, source, message.text, was if is_fuzzy else "", "",
                    "fuzzy" if is_fuzzy else "translated", alternatives=(*alike.values(),),
                )  # fmt: skip
                self.units.append(unit)
                self.messages[unit] = message
        known = {family(message.key) for message in there}
        self.lacking = [".".join(map(str, key)) for key in forms if key not in known]

    def texts(self, data: bytes) -> dict[Key, str]:
        """Returns the texts of another file of this format by their keys."""
        text, _ = decoded(self.path, data)
        return {message.key: message.text for message in self.format.read(self.path, text)}

    def outcome(self, entries: str) -> str:
        """See the base class."""
        parts = [entries]
        if self.copies:
            parts.append(f"{len(self.copies)} untranslated follow their source")
        if self.lacking:
            named = shorten(", ".join(self.lacking), NAMED, placeholder=" …")
            parts.append(f"without {len(self.lacking)} of the source's keys ({named})")
        return "; ".join(parts)

    def with_proposals(self, proposals: dict[TranslationUnit, Proposal]) -> bytes:
        """See the base class.

        Raises:
            UserError: the file would not say what is proposed.
        """
        made = [(self.messages[unit], proposal.text) for unit, proposal in proposals.items()]
        edits, wanted = list[tuple[int, int, str]](), self.texts(self.text.encode(self.encoding))
        for (key, start, end, _), text in [*self.copies, *made]:
            edits.append((start, end, self.format.write(text, self.text[start:end], self.text)))
            wanted[key] = text
        after = replaced(self.text, edits).encode(self.encoding)
        if self.texts(after) != wanted:
            raise UserError(f"{self.path}: a proposal cannot be written in this format")
        return after
