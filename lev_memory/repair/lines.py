"""Texts as lines for a model, and back; what a program needs of a text."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import AnyStr, NamedTuple

from .kinds import FORMAT, GUARD, ORDERED, PRINTF, TAG, VOID, kind_of, tag_key
from .messages import branches, other_branches, same_accelerators

# whitespace that subwords would lose, and the sign that stands for it in a line
_SIGNS = {"\n": "␊", "\t": "␉", "\u00a0": "⍽", "\u202f": "⎵", "\r": "␍"}
_SPACES = {sign: space for space, sign in _SIGNS.items()}
_ESCAPE = "␛"  # before what stands for itself
_RARE = 0xF0000  # what other whitespace is moved by: to characters of nobody
_MARK = r"<(?=/?(?:del|ins)>)"  # of the change of a source
_TO_LINE = re.compile(rf"[{_ESCAPE}{''.join(_SPACES)}]|{_MARK}|[^\S ]|[\U000F0000-\U000F3000]")
_TO_TEXT = re.compile(rf"{_ESCAPE}(.)|([{''.join(_SPACES)}\U000F0000-\U000F3000])")

_NO_ARGUMENTS = {"%%", "%m", "%n"}
_ARGUMENT = re.compile(r"%(\d+)\$")
_PERCENT = re.compile(r"(?<![\w%])(\d+)(?:[.,]\d+)?\s?%(?!\w)")
_SIGN = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]\w*);|[\n\t]")


def to_line(text: str) -> str:
    """Returns a text as one line, whose only whitespace are plain spaces."""

    def character(match: re.Match[str]) -> str:
        char = match[0]
        if char in _SIGNS:
            return _SIGNS[char]
        if char == "<":
            return f"<{_ESCAPE}"
        return chr(_RARE + ord(char)) if char.isspace() else _ESCAPE + char

    return _TO_LINE.sub(character, text)


def to_text(line: str) -> str:
    """Returns the text that :func:`to_line` was given."""

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        return _SPACES.get(match[2]) or chr(ord(match[2]) - _RARE)

    return _TO_TEXT.sub(character, line)


class Placeholders(NamedTuple):
    """Placeholders: those that are identified by their order, and the others, with tags."""

    ordered: list[str]
    named: Counter[str]

    def is_numbered(self) -> bool:
        return any(map(_ARGUMENT.match, self.named))

    def with_numbers(self) -> Counter[str]:
        """Returns all of them, the ordered ones with their numbers: ``%s`` as ``%1$s``."""
        names, number = self.named.copy(), 0
        for name in self.ordered:
            if name not in _NO_ARGUMENTS:
                number += 1
                name = f"%{number}${name[1:]}"
            names[name] += 1
        return names


def placeholders(text: str, printf: bool = False) -> Placeholders:
    """Returns the placeholders of a text.

    printf: a blank may stand after the per cent sign, as in C.
    """
    ordered, named = [], Counter(map(tag_key, TAG.findall(text)))
    named.update(match[0] for match in GUARD.finditer(text))
    for match in FORMAT[printf].finditer(text):
        if ORDERED.fullmatch(match[0]):
            ordered.append(match[0])
        else:
            named[match[0]] += 1
    return Placeholders(ordered, named)


def is_placeholder(text: str) -> bool:
    """Returns whether a text is a placeholder and nothing else."""
    return bool(FORMAT[False].fullmatch(text.strip()))


def same_placeholders(source: str, text: str, printf: bool = False, draft: str = "") -> bool:
    """Returns whether a translation has the code of its source, see :func:`other_kind`."""
    return not other_kind(source, text, printf, draft)


def other_kind(source: str, text: str, printf: bool = False, draft: str = "") -> str:
    """Returns a kind of code that a translation has not as often as its source, "" for none.

    It may number arguments that its source has in order, and write ``%50`` for ``50%``. An ICU
    message has its source's arguments, and the plural forms of its language.

    Args:
        draft: an older translation, whose plural forms show where the language writes no number.
    """
    sides = branches(source), branches(text), branches(draft)
    kind = other_branches(*sides, lambda wanted, part: _other_fixed(wanted, part, printf))
    return kind or ("" if same_accelerators(source, text) else "accelerators")


def _other_fixed(source: str, text: str, printf: bool) -> str:
    """Returns the same of two texts without ICU arguments."""
    here, there = placeholders(source, printf), placeholders(text, printf)
    _drop_percents(here.named, there.named, source, text)
    starred = any("*" in name for side in (here, there) for name in side.ordered)
    differ = here.is_numbered() != there.is_numbered()
    if differ and not starred and here.with_numbers() == there.with_numbers():
        return ""
    names = (here.named - there.named) + (there.named - here.named)
    return next(map(kind_of, names), "" if here.ordered == there.ordered else PRINTF)


def is_nested_like(source: str, text: str) -> bool:
    """Returns whether tags are closed in order if those of the source are, and all of the text is
    inside tags if all of the source is."""
    bare_source, bare_text = map(_outside_tags, (source, text))
    if bare_source is None:
        return True
    return bare_text is not None and (bool(bare_source.strip()) or not bare_text.strip())


def _outside_tags(text: str) -> str | None:
    """Returns the text outside of elements, None if tags are not closed in order."""
    outside, position = "", 0
    names: list[str] = []
    for match in TAG.finditer(text):
        name = re.match(r"</?([\w:.-]+)", match[0])
        # a comment, or an element of one tag
        if name is None or match[0].endswith("/>") or VOID.fullmatch(match[0]):
            continue
        if not names:
            outside += text[position : match.start()]
        if not match[0].startswith("</"):
            names.append(name[1])
        elif not names or names.pop() != name[1]:
            return None
        position = match.end()
    return None if names else outside + text[position:]


def _drop_percents(named: Counter[str], others: Counter[str], *texts: str) -> None:
    """Takes out ``%50`` where the other text has ``50%``, and no ``%50``."""
    before, after = ({*_PERCENT.findall(text)} for text in texts)
    for counts, rest, percents in ((named, others, after), (others, named, before)):
        for name in [*counts]:
            if name[1:] in percents and name not in rest:
                del counts[name]


def has_fewer_placeholders(text: str, other: str, printf: bool = False) -> bool:
    """Returns whether a text lacks placeholders of another one, and has no others."""
    here, there = placeholders(text, printf), placeholders(other, printf)
    rest = iter(there.ordered)
    is_part = all(name in rest for name in here.ordered) and here.named <= there.named
    return is_part and here != there


def same_entities(text: str, source: str, old_source: str, old_text: str) -> bool:
    """Returns whether a text has the entities (``&amp;``), line breaks and tabs of its source, or
    those of the older text, changed as those of its source, if the older one is known."""
    here, new, old, before = map(signs, (text, source, old_source, old_text))
    if old_source:
        before = before + (new - old) - (old - new)
    return here in (new, before)


def signs(text: str) -> Counter[str]:
    """Returns the entities, line breaks and tabs inside a text."""
    return Counter(_SIGN.findall(text.strip()))


def replaced(text: AnyStr, edits: Iterable[tuple[int, int, AnyStr]]) -> AnyStr:
    """Returns a text with other characters at some spans; of spans that overlap the first stays."""
    parts: list[AnyStr] = []
    position = 0
    for start, end, new in sorted(edits):
        if start >= position:
            parts += [text[position:start], new]
            position = end
    parts.append(text[position:])
    return text[:0].join(parts)


def with_ends(text: str, like: str) -> str:
    """Returns a text with the whitespace at both ends that another has."""
    body = like.strip()
    if not body:
        return text
    start = like.index(body)
    return like[:start] + text.strip() + like[start + len(body) :]
