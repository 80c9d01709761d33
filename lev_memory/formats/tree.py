"""The elements of an XML file, with their places in its bytes."""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from lev_runtime.errors import UserError

from ..repair.code import is_placeholder

# a tag as it stands in a file; a > inside quotes is no end
_TAG = re.compile(rb"<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>")
# elements whose text is read, and those inside them whose text is a tool's own
TEXTS = {"source", "seg-source", "target", "seg", "note"}
INLINE_CODES = {"bpt", "ept", "ph", "it", "ut", "x", "sub"}


@dataclass(slots=True)
class Element:
    """An element of a file, at bytes ``start`` to ``end``, its content at ``inside``."""

    name: str
    attributes: dict[str, str]
    start: int
    inside: tuple[int, int] = (0, 0)
    end: int = 0
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def get(self, name: str, default: str = "") -> str:
        """Returns an attribute, or the default."""
        return self.attributes.get(name, default)

    def all(self, name: str) -> Iterator["Element"]:
        """Yields the elements of a name below this one, in order."""
        return (element for element, _ in self.below() if element.name == name)

    def below(self) -> Iterator[tuple["Element", bool]]:
        """Yields all elements below this one, in order, and whether they are to be translated."""
        stack = [(child, True) for child in reversed(self.children)]
        while stack:
            element, is_translated = stack.pop()
            if element.get("translate") in ("yes", "no"):
                is_translated = element.get("translate") == "yes"
            yield element, is_translated
            stack += [(child, is_translated) for child in reversed(element.children)]

    def first(self, name: str) -> "Element | None":
        """Returns the first child of a name."""
        return next((child for child in self.children if child.name == name), None)


_STARTS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
_DECLARED = re.compile(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([-\w.]+)")


def encoding_of(data: bytes) -> str:
    """Returns the encoding of an XML file, by its first bytes, else as it says, else UTF-8."""
    for start, encoding in _STARTS.items():
        if data.startswith(start):
            return encoding
    declared = _DECLARED.match(data)
    return declared[1].decode("ascii") if declared else "utf-8"


class Tree:
    """The elements of an XML file, with their places in its bytes, as UTF-8 has them.

    A name is without its prefix, if that is the root's; others are of other vocabularies.

    units: a function that takes each element ``tu`` at its end, which is then forgotten.

    Raises:
        UserError: no well-formed XML, or not in its encoding.
    """

    def __init__(
        self, path: Path, data: bytes, units: Callable[[Element], None] | None = None
    ) -> None:
        self.units, self.encoding = units, encoding_of(data)
        self.prefix = ""  # of the root, with its colon
        self.root = Element("", {}, 0)
        self.open = [self.root]
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.started
        self.parser.EndElementHandler = self.ended
        self.parser.CharacterDataHandler = self.character_data
        try:
            text = data.decode(self.encoding)
            self.data = text.encode("utf-8")
            if text.encode(self.encoding) != data:
                raise UserError(f"{path}: {self.encoding} would not write it as it is: "
                                "save it as UTF-8")  # fmt: skip
            self.parser.Parse(self.data, True)
        except (expat.ExpatError, UnicodeError, LookupError) as error:
            raise UserError(f"{path} is not valid XML: {error}; see xmllint {path}") from None

    def started(self, name: str, attributes: dict[str, str]) -> None:
        """Opens an element."""
        prefix, colon, local = name.rpartition(":")
        if not self.root.children:
            self.prefix = prefix + colon
        named = local if prefix + colon == self.prefix else name
        element = Element(named, attributes, self.parser.CurrentByteIndex)
        inside = self.after_tag(element.start)
        element.inside = (inside, inside)
        self.open[-1].children.append(element)
        self.open.append(element)

    def after_tag(self, start: int) -> int:
        """Returns where the tag at a place ends."""
        tag = _TAG.match(self.data, start)
        return tag.end() if tag else start

    def ended(self, name: str) -> None:
        """Closes the element that was opened last."""
        element, place = self.open.pop(), self.parser.CurrentByteIndex
        if self.data[element.inside[0] - 2 : element.inside[0]] == b"/>":  # has no end tag
            element.end = element.inside[0]
            return
        element.inside = (element.inside[0], place)
        element.end = self.after_tag(place)
        if element.name in INLINE_CODES and is_placeholder(element.text):
            self.character_data(element.text)  # no tool's own code, but the text's
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
        """Returns the content of an element, as it stands there."""
        return self.data[slice(*element.inside)].decode("utf-8")
