"""Words and code that a model should not have written: twice in a row, or made up.

Identifiers and markup are those of the source; misspelt ones are corrected.
"""

import functools
import itertools
import operator
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator

import regex
from rapidfuzz import fuzz, process

from .text import SINGLE, tokens_of

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


def _kept(text: str) -> Counter[str]:
    """Returns code, numbers and words of a text, but no placeholders and tags."""
    return Counter(
        token.text
        for token in tokens_of(text)
        if token.kind in ("code", "number", "word")
        and (len(token.text) > 1 or token.kind == "number")
        and token.text[0] not in "%{$<"
    )


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
    for word in _WORD.findall(text):
        if not (_TICK in word or _MARKS.search(word)):
            continue
        code = _EDGES.sub("", word)
        is_role = word.startswith(":") and _TICK in code
        is_quoted = (is_role or code.startswith(_TICK)) and code.endswith(_TICK)
        if _LETTER.search(code) and (is_quoted or _MARKS.search(code)):
            codes.append(code)
    return codes


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


# words -------------------------------------------------------------------------------------------

USUAL = 5  # translations of a memory that repeat words, from which on it is the language's way
_LETTERS = regex.compile(rf"(?V1)[{SINGLE}]|[[\p{{L}}\p{{M}}]--[{SINGLE}]]+")
_AFTER = r".,;:!?…)\]»”"  # marks that may follow a word
# a word or two that follow themselves, the second ones with the space before
_REPEATED = regex.compile(
    rf"(?if)(?<!\S)(?P<words>(?:\S+\s+)?\S*[^\s{_AFTER}])(?P<again>\s+(?P=words))(?=[{_AFTER}]*(?!\S))"
)


def repeats(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yields words that follow themselves, and the span of the second ones with the space before.
    Numbers and marks may well be repeated, and do not count."""
    for match in _REPEATED.finditer(text, overlapped=True):
        if _LETTER.search(match["words"]):
            yield match["words"].casefold(), match.span("again")


def usual_repeats(translations: Iterable[str]) -> set[str]:
    """Returns the words that a memory repeats often enough."""
    counts = Counter(words for text in translations for words in {w for w, _ in repeats(text)})
    return {words for words, count in counts.items() if count >= USUAL}


def without_repeats(text: str, usual: Container[str], *others: str) -> str:
    """Removes words of a text that follow themselves, unless that is usual or one of
    the other texts, which it was made from, has it too."""
    known = {words for other in others for words, _ in repeats(other)}
    while span := next((s for w, s in repeats(text) if w not in known and w not in usual), None):
        text = text[: span[0]] + text[span[1] :]
    return text


def folded(word: str) -> str:
    """Returns a word in a normal form: small, composed, the i of Turkish with a dot or without."""
    plain = unicodedata.normalize("NFC", word).casefold()
    return plain.replace("\u0307", "").replace("ı", "i")


def vocabulary(texts: Iterable[str]) -> set[str]:
    """Returns the words of texts, in small letters."""
    return {*map(folded, {word for text in texts for word in _LETTERS.findall(text)})}


def neighbours(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields the pairs of neighbouring words of texts, in small letters."""
    for text in texts:
        yield from itertools.pairwise(map(folded, _LETTERS.findall(text)))


def made_up(text: str, known: Container[str], *others: str) -> list[str]:
    """Returns the words of a text that are neither ``known`` nor in the other texts, which it was
    made from."""
    there = vocabulary(others)
    return [word for word in vocabulary([text]) if word not in known and word not in there]
