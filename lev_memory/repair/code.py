"""Code in a text: what a program fills in or runs has to stand in a translation, too."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import regex

PRINTF, TAGS, LINKS = "printf placeholders", "tags", "links"
TAG = regex.compile(r"<!--(?:(?!<!--).)*?-->|</?[a-zA-Z][\w:.-]*(?=[\s/>])[^<>]*>|</?\d+\s*/?>")
# an element of HTML that has no end, its name, what else it has
VOID = regex.compile(
    r"(?i)<(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b([^<>]*?)\s*/?>"
)
# flags, width, precision and type, in C, gettext, Python, Objective-C, Go, Lua, Ruby …
_VALUE = (
    r"[-+#0'I]*(?:\*(?:\d+\$)?|\d+)?(?:\.(?:\*(?:\d+\$)?|\d+)?)?"
    r"(?:<PRI[a-zA-Z0-9]+>|(?:hh|h|ll|l|L|q|j|z|Z|t)?[a-zA-Z@%])"
)


def _rows(group: str) -> dict[str, str]:
    """Returns the patterns of a group of the table beside this file, by their kinds."""
    _, *lines = Path(__file__).with_name("code.tsv").read_text("utf-8").splitlines()
    patterns = dict[str, str]()
    for line in lines:
        of, kind, _, pattern, *_ = line.split("\t")
        if of == group:
            patterns[kind] = pattern
    return patterns


#: what is replaced whole: a pattern without groups for each kind, which messages name; tests read
#: the table's other columns: where a kind is met, a text, and the code in it
FORMATS = {kind: text.replace("@VALUE@", _VALUE) for kind, text in _rows("replaced").items()}
#: what stays as often as it is there, beside these
GUARDS = _rows("kept")
_FORMATS = "|".join(FORMATS.values())
#: a tag or what is replaced whole, as a pattern without groups
FIXED = f"(?:{TAG.pattern}|{_FORMATS})"
GUARD = regex.compile("|".join(GUARDS.values()))
# a blank after the per cent sign is a flag of formats alone: "100 % de" is text
FORMAT = regex.compile(_FORMATS), regex.compile(_FORMATS.replace("'I]", "'I ]"))
ORDERED = regex.compile(f"% ?{_VALUE}")  # is identified by its place


def tag_key(tag: str) -> str:
    """Returns what all ways to write a tag have in common: ``<BR />`` and ``<br>`` are one."""
    return VOID.sub(lambda match: f"<{match[1].lower()}{match[2]}>", tag)


def kind_of(code: str) -> str:
    """Returns the kind that a message names a code by; a link is none without what is around it."""
    kinds = {TAGS: TAG.pattern, **FORMATS, **GUARDS}.items()
    return next((kind for kind, pattern in kinds if regex.fullmatch(pattern, code)), LINKS)


# placeholders, tags, entities -------------------------------------------------------------------

_NO_ARGUMENTS = {"%%", "%m", "%n"}
_ARGUMENT = re.compile(r"%(\d+)\$")
_PERCENT = re.compile(r"(?<![\w%])(\d+)(?:[.,]\d+)?\s?%(?!\w)")
_DOUBLE_QUOTES = re.compile('["„“”«»]')
_SIGN = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]\w*);|[\n\t]")


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
    """Returns whether a translation has the code of its source, see :func:`code_mismatch`."""
    return not code_mismatch(source, text, printf, draft)


def code_mismatch(source: str, text: str, printf: bool = False, draft: str = "") -> str:
    """Returns the first kind of placeholder whose count differs between source and translation, ""
    if none.

    It may number arguments that its source has in order, and write ``%50`` for ``50%``. An ICU
    message has its source's arguments, and the plural forms of its language.

    Args:
        draft: an older translation, whose plural forms show where the language writes no number.
    """
    sides = branches(source), branches(text), branches(draft)
    kind = _branch_mismatch(*sides, lambda wanted, part: _text_mismatch(wanted, part, printf))
    return kind or ("" if same_accelerators(source, text) else "accelerators")


def _text_mismatch(source: str, text: str, printf: bool) -> str:
    """Returns the same for two texts without ICU arguments."""
    here, there = placeholders(source, printf), placeholders(text, printf)
    _drop_percents(here.named, there.named, source, text)
    starred = any("*" in name for side in (here, there) for name in side.ordered)
    differ = here.is_numbered() != there.is_numbered()
    if differ and not starred and here.with_numbers() == there.with_numbers():
        return ""
    names = (here.named - there.named) + (there.named - here.named)
    return next(map(kind_of, names), "" if here.ordered == there.ordered else PRINTF)


def is_nested_like(source: str, text: str) -> bool:
    """Returns whether tags are closed in order if those of the source are."""
    return is_nested(text) or not is_nested(source)


def is_paired_like(text: str, *others: str) -> bool:
    """Returns whether brackets and quotation marks are in pairs where they are in the other texts,
    which it was made from."""
    return _lone(text) <= set[str]().union(*map(_lone, others))


def _lone(text: str) -> set[str]:
    """Returns the marks of which a text has an odd one."""
    lone = {pair for pair in ("()", "[]", "{}") if text.count(pair[0]) != text.count(pair[1])}
    return lone | ({'"'} if len(_DOUBLE_QUOTES.findall(text)) % 2 else set())


def is_nested(text: str) -> bool:
    """Returns whether tags are closed in order."""
    names: list[str] = []
    for tag in TAG.findall(text):
        name = re.match(r"</?([\w:.-]+)", tag)
        # a comment, or an element of one tag
        if name is None or tag.endswith("/>") or VOID.fullmatch(tag):
            continue
        if not tag.startswith("</"):
            names.append(name[1])
        elif not names or names.pop() != name[1]:
            return False
    return not names


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


# messages of other frameworks --------------------------------------------------------------------

# an argument that chooses between texts, up to its first branch, and what stands before a branch
_CHOICE = regex.compile(
    r"\{\s*+([\w.-]++)\s*+,\s*+(plural|select|selectordinal)\s*+,\s*+(?:offset:\s*+(\d++)\s*+)?"
)
_KEY = regex.compile(r"\s*+(=?\w++)\s*+(?=\{)")
_BRACE = regex.compile(r"'[{}][^']*'|[{}]")  # one in quotes is text
_WIKI = regex.compile(r"(\{\{\s*[^\W\d_]+\s*:[^{}|]*)\|[^{}]*\}\}")  # {{PLURAL:$1|file|files}}
ICU = "ICU arguments"
_CATEGORIES = set("zero one two few many".split())  # a language has some of them, and "other"
# marks before the letter of a key: where one surely is, and where one may be
_START = r"(?<![^\s(\"'])"
ACCELERATORS = (
    (rf"{_START}\w*&(?!#?\w+;)(?=\w)", r"&(?!#?\w+;)(?=\w)"),
    (rf"{_START}(?:\p{{Lu}}\p{{Ll}}*_(?=\p{{Ll}})|_(?=\p{{L}}+(?!\w)))", r"(?<!_)_(?=\p{L})"),
    (rf"{_START}~(?=\p{{L}})", r"~(?=\p{L})"),
)
Branch = tuple[tuple[str, str, str], ...]  # names of arguments, their kinds, keys of the branches


def general(path: Branch) -> Branch:
    """Returns the branch that a language takes without plural forms."""
    return tuple(
        (name, kind, "other" if kind != "select" and key in _CATEGORIES else key)
        for name, kind, key in path
    )


def ends(text: str) -> dict[int, int]:
    """Returns where each brace is closed."""
    closed, opened = {}, []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            closed[opened.pop()] = match.end()
    return closed


def branches(message: str) -> dict[Branch, str]:
    """Returns the texts of an ICU message by their paths; a text without arguments has one."""
    texts: dict[Branch, str] = {}
    todo: list[tuple[str, Branch]] = [(message, ())]
    for text, path in todo:
        closed, outside, position = ends(text), "", 0
        for match in _CHOICE.finditer(text):
            if match.start() < position or match.start() not in closed:
                continue
            name, kind, offset = match.groups()
            outside += f"{text[position : match.start()]}{{{name},{kind},{offset}}}"
            place, position = match.end(), closed[match.start()]
            while (key := _KEY.match(text, place)) and key.end() in closed:
                place = closed[key.end()]
                todo.append((text[key.end() + 1 : place - 1], (*path, (name, kind, key[1]))))
        outside = _WIKI.sub(r"\1}}", outside + text[position:])
        texts[path] = texts.get(path, "") + outside
    return texts


def _branch_mismatch(
    wanted: dict[Branch, str],
    translated: dict[Branch, str],
    before: dict[Branch, str],
    mismatch: Callable[[str, str], str],
) -> str:
    """Returns the first kind of placeholder whose count differs between two branches, "" if none.

    Args:
        before: the branches of an older translation.
        mismatch: gives the kind for two texts without branches.
    """
    if any(path not in translated and path == general(path) for path in wanted):
        return ICU
    for path, text in translated.items():
        source = wanted.get(path, wanted.get(general(path)))
        if source is None:
            return ICU
        if kind := mismatch(source, text):
            return kind
        shown = {source.count("#"), before.get(path, source).count("#")}
        if text.count("#") not in shown and any(kind != "select" for _, kind, _ in path):
            return ICU
    return ""


def same_accelerators(source: str, text: str) -> bool:
    """Returns whether a text marks a letter (``&File``) if its source marks one."""
    for certain, possible in ACCELERATORS:
        for side, other in ((source, text), (text, source)):
            is_marked = len(regex.findall(certain, side)) == 1
            if is_marked and len(regex.findall(possible, other)) != 1:
                return False
    return True
