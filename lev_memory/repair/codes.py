"""Identifiers and markup, which a translation shares with its source: corrects misspelt ones, finds
made-up ones."""

import functools
import operator
from collections import Counter
from collections.abc import Container, Iterable

import regex
from rapidfuzz import fuzz, process

from .kinds import FIXED
from .scripts import SINGLE

#: likeness, in percent, from which on a code of the source is meant; chosen on a validation part
LEAST_LIKENESS = 60
# marks of scripts without spaces part words, whatever stands around them
_WORD = regex.compile(rf"[^\s{SINGLE}\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff65]+")
# marks around words: any of Unicode's but those of code
_EDGE = r"(?V1)[\p{P}--[_\\@#%&`/\-]]+"
_EDGES = regex.compile(rf"^{_EDGE}|{_EDGE}$")
_MARKS = regex.compile(r"[_\\@#$%{}<>=|~^&+]|://")
_LETTER = regex.compile(r"\p{L}")
_ENDING = regex.compile(r"[:'’]\p{L}{1,6}$")  # of languages that inflect names
_TICK = "`"
# code between marks, whole; options, keys of settings, numbers, words of two letters or more
_KEPT = regex.compile(
    r"(?s)(?P<code>``.+?``|`[^`]+`|<(code|kbd|samp|var|tt|pre)\b[^<>]*>(?:(?!<\2\b).)*?</\2>)"
    rf"|{FIXED}|(?P<word>(?<![\w-])--?[A-Za-z][\w-]*|(?m:^)[A-Za-z][\w.-]*[:=](?=\s)"
    rf"|\d+(?:[.,]\d+)*|(?:(?![{SINGLE}])\w){{2,}}(?:[._](?:(?![{SINGLE}])\w)+)*)"
)


def _kept(text: str) -> Counter[str]:
    """Returns code, numbers and words of a text, but none of a placeholder."""
    words = (match["code"] or match["word"] for match in _KEPT.finditer(text))
    return Counter(filter(None, words))


def lost_code(text: str, *read: str) -> list[str]:
    """Returns the code, numbers and names that stand alike in all texts that a text was made
    from, and are not in it; a small first letter is no change."""
    here, common = _kept(text), functools.reduce(operator.and_, map(_kept, read))
    return [
        name
        for name, count in common.items()
        if not (name.isalpha() and name.islower())
        and count > here[name] + (here[name.lower()] if name.isalpha() else 0)
    ]


def codes_of(text: str) -> list[str]:
    """Returns the words of a text that are none of a language, without the marks around them: with
    letters and a mark inside, or between backticks."""
    codes = []
    for match in _WORD.finditer(text):
        code = _EDGES.sub("", match[0])
        is_role = match[0].startswith(":") and _TICK in code
        is_quoted = (is_role or code.startswith(_TICK)) and code.endswith(_TICK)
        if _LETTER.search(code) and (is_quoted or _MARKS.search(code)):
            codes.append(code)
    return codes


def all_codes(texts: Iterable[str]) -> set[str]:
    """Returns the codes of texts."""
    return {code for text in texts for code in codes_of(text)}


def made_up_codes(text: str, known: Container[str], source: str, *others: str) -> list[str]:
    """Returns the codes of a text that are neither ``known`` nor in its source or the other texts
    that it was made from; and a backtick without a partner."""

    read, codes = "\n".join([source, *others]), []
    for code in codes_of(text):
        bare = _ENDING.sub("", code)
        if not (code in known or bare in known or code in read or bare in read):
            codes.append(code)
    is_open = any(text.count(tick) % 2 > source.count(tick) % 2 for tick in (_TICK, 2 * _TICK))
    return [*codes, _TICK] if is_open else codes


def with_right_codes(text: str, source: str, known: Container[str], *others: str) -> str:
    """Replaces made-up codes of a text, each by the most similar code of the source that the text
    lacks."""
    for code in made_up_codes(text, known, source, *others):
        there = codes_of(text)
        lacking = [wanted for wanted in codes_of(source) if wanted not in there]
        nearest = process.extractOne(code, lacking, scorer=fuzz.ratio, score_cutoff=LEAST_LIKENESS)
        if nearest:
            text = text.replace(code, nearest[0], 1)
    return text
