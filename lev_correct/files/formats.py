"""Formats of text: patterns of what in them is no prose, with samples in formats.tsv."""

import re
from functools import cache
from html import unescape
from pathlib import Path

#: What is shown for a character that no word touches, and for markup at which a sentence begins: it
#: is white space.
CODE, BREAK = "\0", "\x1e"
#: Signs for what is hidden, the first of them before others: markup at which a sentence begins;
#: spaces; code; markup, over which words are neighbours.
_BREAK, _SPACE, _CODE, _MARKUP = "\1\2\3\4"
_HIDDEN_RUN = re.compile(f"[{_CODE}{_MARKUP}{_SPACE}{_BREAK}]+")
_BLANK, _VISIBLE = re.compile(r"[^\S\n]"), re.compile(r"\S")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,30});")
#: Parts of patterns, which name them in pointed brackets.
_PARTS = {
    # What follows in a sentence and seldom in code: words with nothing else between.
    "SENTENCE": r"\b(?:[^\W\d_]++[,;:]? ){3}[^\W\d_]",
    "LONG": r"\b(?:[^\W\d_]++[,;:]?\s){4}[^\W\d_]",
    # reStructuredText: names of parameters.
    "NAMES": r"\*{0,2}[A-Za-z_][\w.]*(?:, \*{0,2}[A-Za-z_][\w.]*)*",
    # Comments: the beginning of a line, a type.
    "AT": r"^[^\w@\\\n]*",
    # Comments that programs read: a name, a colon and what it gets, or a word that they know.
    "DIRECTIVE": r"(?!TODO|FIXME|NOTE|XXX|HACK|BUG)[A-Za-z][\w.-]*:(?=[A-Za-z]).*"
    r"|(?://)(?:export|extern|line|sys|sysnb) \S+$|\+build\b.*|#cgo\b.*"
    r"|(?:<TOOLS>)\b"
    r"(?:[:(=,]|[-\w]* (?:<SWITCHES>)\b|$|-).*"
    r"|(?:exported|globals?) [\w$]+(?:,.*|\s*\*/)?$|type: .*"
    r"|@ts-[\w-]+.*",
    "TYPE": r"(?:\{(?:[^{}\n]|\{[^{}\n]*\})*\}|\[[^\]\n]*\])",
    # TeX: what comes after one or two arguments of code, arguments in braces.
    "AFTER_CODE": r"<BOXES>|(?:fcolorbox|multicolumn|multirow|resizebox)\*?(?:\[[^\]]*\])?"
    r"\{[^{}]*\}",
    "BRACED": r"\{(?:[^{}\\]|\\(?s:.)|<INNER>)*+\}",
    "INNER": r"\{(?:[^{}\\]|\\(?s:.)|<INMOST>)*+\}",
    "INMOST": r"\{(?:[^{}\\]|\\(?s:.)|\{[^{}]*\})*+\}",
    # HTML: what stands before an attribute of prose; an apostrophe.
    "ATTRIBUTE": r"[^<>]*?\s(?:<ATTRIBUTES>)=[\"']",
    "APOSTROPHE": r"(?:apos|rsquo|#0*39|#8217|#[xX]27|#[xX]2019)",
    # Markdown.
    "TITLE": r"(?:\s+[\"'(](?P<title>[^\n]+?)[\"')])?",
    # White space of a line; what stands between brackets or braces; the end of a word; lines.
    "GAP": r"[^\S\n]*",
    "SPACES": r"[^\S\n]+",
    "OPTION": r"(?:\[[^\]]*\])?",
    "BRACKETED": r"\[[^\]]*\]",
    "BRACKETS": r"\[[^\[\]]*\]",
    "BRACES": r"\{[^{}]*\}",
    "POINTED": r"<[^<>\n]*>",
    "ENDS": r"(?=\s|$)",
    "LINES": r"\n(?:.*\n)*?",
}
_NAMED_PART = re.compile(r"<([A-Z_]+)>")


def table_rows(name: str) -> list[list[str]]:
    """Returns the cells of a table beside this file, without its heads."""
    _, *lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines]


#: Words that patterns name, too; some are patterns themselves.
_WORDS = {name: words for name, _, words in table_rows("format_words.tsv")}
#: What is no prose, by format: each match of a pattern, but for its named groups. One with such a
#: group is markup; ``space`` parts words, at ``opening`` a sentence begins. The table's other
#: columns, what a pattern hides, a text and what is left of it, are tested.
FORMATS: dict[str, list[str]] = {}
for _row in table_rows("formats.tsv"):
    for _name in _row[0].split(", "):
        FORMATS.setdefault(_name, []).append(_row[2])
#: What is shown for the matches of a pattern with such a group.
_SIGNS = {"space": _SPACE, "opening": _BREAK}


@cache
def _patterns(name: str) -> list[tuple[re.Pattern[str], str]]:
    """Returns the patterns of a format, each with the sign for what it hides."""
    patterns = []
    for text in FORMATS[name]:
        pattern = re.compile(with_parts(text), re.MULTILINE)
        signs = [_SIGNS.get(group, _MARKUP) for group in pattern.groupindex]
        patterns.append((pattern, min(signs, default=_CODE)))
    return patterns


def with_parts(pattern: str) -> str:
    """Returns a pattern with those that it names in pointed brackets."""
    return _NAMED_PART.sub(_part, pattern)


def _part(name: re.Match[str]) -> str:
    return with_parts(_PARTS.get(name[1]) or one_of(_WORDS[name[1]]))


def one_of(words: str) -> str:
    """Returns a pattern of any of some words, without brackets around it."""
    return "|".join(words.split())


_ENGLISH = re.compile(r"^\"Language: en\b", re.MULTILINE)


def masked(text: str, name: str) -> str:
    """Returns a text with what its format hides :func:`hidden`."""
    if name == "po" and _ENGLISH.search(text):
        name = "english.po"
    places: list[tuple[int, int, str]] = []
    for pattern, sign in _patterns(name):
        for match in pattern.finditer(text):
            start = match.start()
            for kept in pattern.groupindex:
                if match[kept]:
                    places.append((start, match.start(kept), sign))
                    start = match.end(kept)
            places.append((start, match.end(), sign))
    pieces, last = [], 0
    for start, end, sign in sorted(places):
        if end > last:
            start = max(start, last)
            pieces += [text[last:start], hidden(text[start:end], sign)]
            last = end
    return "".join([*pieces, text[last:]])


def _decoded(entity: re.Match[str]) -> str:
    """Returns the character that an entity means before spaces; code for what words have."""
    size, char = len(entity[0]), unescape(entity[0])
    if len(char) > 1:
        return _CODE * size
    if char.isalnum() or char in "'\u2019":
        return CODE * size
    return char.strip().ljust(size)


def hidden(text: str, sign: str = _CODE) -> str:
    """Returns a text as long that is hidden until it is :func:`settled`, with its white space where
    there is no other."""
    if not text or text.isspace():
        return text
    if text.isascii():
        return text.translate(_as_sign(sign))
    return _BLANK.sub(_SPACE, _VISIBLE.sub(sign, text))


@cache
def _as_sign(sign: str) -> dict[int, str]:
    """Returns what each ASCII character but a line's end becomes that is hidden by a sign."""
    others = [char for char in map(chr, range(128)) if char != "\n"]
    return {ord(char): _SPACE if char.isspace() else sign for char in others}


def as_code(match: re.Match[str]) -> str:
    """Returns the sign of code for each character but line ends."""
    return re.sub(r"[^\n]", CODE, match[0])


def settled(shown: str) -> str:
    """Returns a text with the signs of code for what is hidden, and spaces where prose touches it
    and for markup, breaks where a sentence begins; but none inside a word, between letters at both
    sides; for an entity of HTML with the character that it means."""
    return _HIDDEN_RUN.sub(_settled, _ENTITY.sub(_decoded, shown))


def _settled(run: re.Match[str]) -> str:
    text, (start, end), size = run.string, run.span(), len(run[0])
    following = text[end : end + 2].lstrip("([")  # a bracket parts a word, too
    is_inside = text[start - 1 : start].isalpha() and following[:1].isalpha()
    parts_words = _SPACE in run[0] or _BREAK in run[0]
    if is_inside and not parts_words:
        return CODE * size
    blank = BREAK if _BREAK in run[0] else " "
    if size < 3 or _CODE not in run[0]:
        return blank * size
    return f"{blank}{CODE * (size - 2)}{blank}"
