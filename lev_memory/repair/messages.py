"""Structure of messages of other frameworks: ICU arguments, accelerators."""

from collections.abc import Callable

import regex

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
_ACCELERATORS = (
    (rf"{_START}\w*&(?!#?\w+;)(?=\w)", r"&(?!#?\w+;)(?=\w)"),
    (rf"{_START}(?:\p{{Lu}}\p{{Ll}}*_(?=\p{{Ll}})|_(?=\p{{L}}+(?!\w)))", r"(?<!_)_(?=\p{L})"),
    (rf"{_START}~(?=\p{{L}})", r"~(?=\p{L})"),
)


Path = tuple[tuple[str, str, str], ...]  # names of arguments, their kinds, keys of the branches


def general(path: Path) -> Path:
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


def branches(message: str) -> dict[Path, str]:
    """Returns the texts of an ICU message by their paths; a text without arguments has one."""
    texts: dict[Path, str] = {}
    todo: list[tuple[str, Path]] = [(message, ())]
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


def other_branches(
    wanted: dict[Path, str],
    translated: dict[Path, str],
    before: dict[Path, str],
    other: Callable[[str, str], str],
) -> str:
    """Returns a kind of code that a message has not as its source's branches have it, "" for none.

    Args:
        before: the branches of an older translation.
        other: gives the kind for two texts without branches.
    """
    if any(path not in translated and path == general(path) for path in wanted):
        return ICU
    for path, text in translated.items():
        source = wanted.get(path, wanted.get(general(path)))
        if source is None:
            return ICU
        if kind := other(source, text):
            return kind
        shown = {source.count("#"), before.get(path, source).count("#")}
        if text.count("#") not in shown and any(kind != "select" for _, kind, _ in path):
            return ICU
    return ""


def same_accelerators(source: str, text: str) -> bool:
    """Returns whether a text marks a letter (``&File``) if its source marks one."""
    for certain, possible in _ACCELERATORS:
        for side, other in ((source, text), (text, source)):
            is_marked = len(regex.findall(certain, side)) == 1
            if is_marked and len(regex.findall(possible, other)) != 1:
                return False
    return True
