"""Identifiers and markup, which a translation has as its source has them: what a model has
misspelt is put right, what it has made up is found."""

import functools
import operator
from collections import Counter
from collections.abc import Container, Iterable

import regex
from rapidfuzz import fuzz

from .lines import FIXED
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
    found = (match["code"] or match["word"] for match in _KEPT.finditer(text))
    return Counter(word for word in found if word)


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
    """The words of a text that stand for no word of a language, without the marks around them:
    with letters and a mark inside, or between backticks."""
    codes = []
    for match in _WORD.finditer(text):
        code = _EDGES.sub("", match[0])
        is_role = match[0].startswith(":") and _TICK in code
        is_quoted = (is_role or code.startswith(_TICK)) and code.endswith(_TICK)
        if _LETTER.search(code) and (is_quoted or _MARKS.search(code)):
            codes.append(code)
    return codes


def all_codes(texts: Iterable[str]) -> set[str]:
    """The codes of texts."""
    return {code for text in texts for code in codes_of(text)}


def made_up_codes(text: str, known: Container[str], source: str, *others: str) -> list[str]:
    """The codes of a text that neither are ``known`` nor stand in its source or one of the other
    texts that it was made from; and a backtick that has no partner."""

    def is_made_up(code: str) -> bool:
        forms = code, _ENDING.sub("", code)
        return not any(
            form in known or any(form in read for read in (source, *others)) for form in forms
        )

    codes = [code for code in codes_of(text) if is_made_up(code)]
    is_open = any(text.count(tick) % 2 > source.count(tick) % 2 for tick in (_TICK, 2 * _TICK))
    return [*codes, _TICK] if is_open else codes


def with_right_codes(text: str, source: str, known: Container[str], *others: str) -> str:
    """A text whose made-up codes are replaced, each by the most similar code of the source that
    the text lacks."""
    for code in made_up_codes(text, known, source, *others):
        there = codes_of(text)
        lacking = [wanted for wanted in codes_of(source) if wanted not in there]
        likenesses = [(fuzz.ratio(code, wanted), wanted) for wanted in lacking]
        likeness, nearest = max(likenesses, default=(0.0, ""))
        if likeness >= LEAST_LIKENESS:
            text = text.replace(code, nearest, 1)
    return text
