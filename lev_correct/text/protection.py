"""Text that must stay as it is: patterns, words of a list, what is no prose (code, names of
things), and misspellings that a line mentions."""

import re
from collections.abc import Callable, Iterable, Iterator

from lev_runtime.errors import UserError, strings

from ..files.markup import differing_part, is_shouted, without_markup
from .units import Span, composed, core_of, spans

#: Why a character stays, from the weakest reason on: a word of the corrector's own list, between
#: whose parts spaces come and go; what is protected, or hidden in what a model reads; another
#: language; a misspelling that the line mentions.
FREE, LISTED, PROTECTED, FOREIGN, MENTIONED = range(5)

#: What is code inside a line of prose, of what may also be read as words: a run of characters is
#: read once, from its beginning, since a long line would else take the square of its length.
CODE = "|".join(
    (
        r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)",  # `backticks` of any number
        r"(?<![\w-])--?[A-Za-z][\w-]*(?:=\S*)?",  # --flags
        r"\b\w++\((?!(?:e?s|[A-Z]\w*)\))[^\s()]*\)?",  # calls(), but not word(s)
        r"(?<!\w)\.\w+",  # .ending
        r"<(?P<tag>code|kbd|pre|samp|tt|var)\b[^<>]*>[^<]*</(?P=tag)>",  # <code>x</code>
        r"(?<![\w\]])\[[\w.-]+\](?![\w(\[])",  # [label] of a link
        r"(?<![^\s>])\[[^\[\]]+\]:(?=\s)",  # [the label]: of its target
        r":[\w:]+:",  # :roles:
        r"\b\w++(?:::~?\w++)+|(?<![\w:])::\w+",  # scope::name
        r"\b[A-Za-z]*[a-z][A-Z]\w*\b",  # camelCase
    )
)
#: What is a name where a line has small letters too.
CAPITALS = r"\b[A-Z]{2,6}s?\b"  # NATO, URLs

_FIRST_TOKEN = re.compile(r"\w+|[^\w\s]")
_NO_LETTER = re.compile(r"(?<!\w)|(?!\w)")  # before or after


class Protection:
    """Finds what an edit may not touch.

    Args:
        patterns: regular expressions of Python's ``re``; what they match is protected.
        words: words or phrases, protected where they stand as whole words, in this spelling.

    Raises:
        UserError: no lists of strings, a pattern that is none.
    """

    def __init__(self, patterns: Iterable[str] = (), words: Iterable[str] = ()) -> None:
        self.patterns: list[re.Pattern[str]] = []
        for pattern in strings("protect", patterns):
            try:
                self.patterns.append(re.compile(pattern))
            except (re.error, OverflowError) as error:
                raise UserError(
                    f"protect={pattern!r} is not a valid regular expression: {error}"
                ) from None
        self.words = {composed(word.strip())[0] for word in strings("protect_words", words)}
        # by their first token all lengths: a line is then read once, however long the list
        self._lengths: dict[str, set[int]] = {}
        for word in self.words:
            if first := _FIRST_TOKEN.match(word):
                self._lengths.setdefault(first.group(), set()).add(len(word))

    def spans(self, line: str) -> list[Span]:
        """Returns where protected text stands in a line, in characters; none is empty."""
        matches = (match for pattern in self.patterns for match in pattern.finditer(line))
        matched = [match.span() for match in matches if match.group()]
        return [*matched, *self._words(line)]

    def in_line(self, line: str, shown: str) -> list[Span]:
        """Returns the spans of a line of a file; ``shown``: as its words are read."""
        return self.spans(line)

    def _words(self, line: str) -> Iterator[Span]:
        for match in _FIRST_TOKEN.finditer(line) if self.words else ():
            start = match.start()
            lengths = sorted(self._lengths.get(match.group(), ()), reverse=True)
            for end in (start + n for n in lengths):
                if line[start:end] in self.words and _NO_LETTER.match(line, end):
                    yield start, end
                    break


class CodeProtection(Protection):
    """Finds code and the like in a line: :data:`CODE`, words in capitals unless all are, and
    what holds more than letters and punctuation (addresses, paths, *snake_case*), in which
    :func:`.units.spans` finds no words."""

    def __init__(self) -> None:
        super().__init__([CODE])
        self._capitals = Protection([CAPITALS])

    def spans(self, line: str) -> list[Span]:
        capitals = [] if is_shouted(line) else self._capitals.spans(line)
        others = [*line]
        for start, end in spans(line, "letters"):
            others[start:end] = " " * (end - start)
        code = (match.span() for match in _WORD.finditer("".join(others)))
        return [*super().spans(line), *capitals, *code]

    def in_line(self, line: str, shown: str) -> list[Span]:
        """Returns the spans but for those of markup alone, such as tags, which end at words: an
        edit may write a letter there."""
        words = without_markup(shown)
        return [(start, end) for start, end in self.spans(shown) if not words[start:end].isspace()]


def mark(stays: bytearray, spans: Iterable[Span], reason: int) -> None:
    """Notes why the characters of spans stay; the strongest reason of a character counts."""
    for start, end in spans:
        stays[start:end] = bytes(max(reason, noted) for noted in stays[start:end])


def differing(line: str, shown: str) -> list[Span]:
    """Returns the characters of a line that are shown as others."""
    pairs = enumerate(zip(line, shown, strict=True))
    return [(place, place + 1) for place, (written, read) in pairs if written != read]


def touched(stays: bytearray, start: int, before: str, after: str) -> int:
    """Returns the strongest reason of the characters that an edit changes, or between which or onto
    which it writes; 0 for none.

    Args:
        stays: of each character of the line, as of :func:`mark`.
        start: where ``before`` stands. What both begin and end with is not touched.
    """
    same, old, new = differing_part(before, after)
    first = start + same
    if old:
        return max(stays[first : first + len(old)])
    at_end = max(stays[max(first - 1, 0) : first], default=FREE)
    at_start = max(stays[first : first + 1], default=FREE)
    is_onto = (at_end and not new[0].isspace()) or (at_start and not new[-1].isspace())
    return max(at_end, at_start) if is_onto or (at_end and at_start) else FREE


#: Characters of a sentence on each side of a word that tell whether it is mentioned.
NEAR = 60
_WORD, _SENTENCE_END = re.compile(r"\w+"), re.compile(r"[.!?…]\s|\n")
#: What says that a word is misspelt; what stands before the name of a thing; words that may stand
#: between these, or a right form, and the misspelling, and those of them that lead away from what
#: says so (*a typo in the name*).
_SAYS = r"typo(?:s|'?ed)?|mis-?(?:sp|typ)\w*|mispel\w*|spellings?|spelled|spelt|sic"
_CALLED = re.compile(r"(?<!were )\b(?:called|named|titled)\W*\Z")
_LINKING = set(
    "a actually alias also an and any are argument as attribute be became become becomes been "
    "branch by changed class column command common commonly constant correct corrected "
    "correctly deprecated directory each element entered enum error errors event field file fix "
    "fixed flag folder for form former formerly from function have he header here i identifier "
    "in include includes including incorrect incorrectly instead into is it its key keyword "
    "known label legacy like macro mean means meant method mistake mistakes module must name no "
    "node not noun now obsolete of often old one option or original ought over package param "
    "parameter path previous proper property query rather renamed replaced right said seems "
    "setting should sometimes spell still string such symbol table tag term than that the this "
    "to token type typed use used usually variable verb versus vs was were when which with word "
    "would write written wrong wrongly wrote you".split()
)
_ELSEWHERE = set("and by for from in into or to use with".split())


def mentioned(
    line: str,
    changes: Iterable[tuple[int, int, str, float]],
    listed: Callable[[str], Iterable[str]],
) -> list[Span]:
    """Returns where the words stand that a line mentions, of those that changes are of: it sets a
    misspelling against its correction, says that it is one, or that a thing is called so.

    Args:
        changes: each of ``line[start:end]``, its new text and its probability.
        listed: the corrections that a list has for a word.
    """
    found = list[Span]()
    for start, end, after, _ in changes:
        word, right = core_of(line[start:end]), core_of(after)
        if not (word and right):
            continue
        first = line.index(word, start)
        last = first + len(word)
        before = _SENTENCE_END.split(line[max(first - NEAR, 0) : first])[-1]
        behind = _SENTENCE_END.split(line[last : last + NEAR])[0]
        rights = "|".join(map(re.escape, (right, *listed(word.lower()))))
        against = re.compile(rf"(?i)\b({rights})\b| ?\b(?:{_SAYS})\b ?")
        gaps = [(before[match.end() :], match[1]) for match in against.finditer(before)][-1:]
        gaps += [(behind[: match.start()], match[1]) for match in against.finditer(behind)][:1]
        if _CALLED.search(before) or any(_is_linked(*gap) for gap in gaps):
            found.append((start, end))
    return found


def _is_linked(gap: str, right: str | None) -> bool:
    """Returns whether the text between a misspelling and its right form, or (None) what says that
    it is one, sets one against the other."""
    words = {*_WORD.findall(gap.lower())}
    if right is None:
        return words <= _LINKING - _ELSEWHERE
    return bool(gap.strip(" ,")) and words <= _LINKING and not (words and right.lower() in _LINKING)
