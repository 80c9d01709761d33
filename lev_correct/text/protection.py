"""Text that must stay as it is: patterns, words of a list, what is no prose (code, names of
things), and misspellings that a line mentions."""

import re
from collections.abc import Callable, Iterable, Iterator

from lev_runtime.errors import UserError, strings

from ..files.markup import is_prose, is_shouted, without_markup
from ..files.places import differing_part
from .units import Span, composed, core_of

#: Why a character stays, from the weakest reason on: a word of the corrector's own list, between
#: whose parts spaces come and go; what is protected, or hidden in what a model reads; another
#: language; a misspelling that the line mentions.
FREE, LISTED, PROTECTED, FOREIGN, MENTIONED = range(5)

#: What is code, an address or a name inside a line of prose. A run of characters is read once,
#: from its beginning: a long line would else take the square of its length.
CODE = "|".join(
    (
        r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)",  # `backticks` of any number
        r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+://[^\s<>]+",  # addresses
        r"\bwww\.[^\s<>]+",
        r"(?<![\w.+%-])[\w.+%-]++@[\w-]++(?:\.[\w-]++)+",  # of people
        r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@%+-]+)+/?",  # /a/path ./a/path ~/a/path
        r"(?<![\w.-])[\w.-]++(?:/[\w.-]++){2,}/?",  # a/longer/path
        r"\b[A-Za-z]:\\\S+|\\\\\S+",  # C:\a\path
        r"(?<![\w-])--?[A-Za-z][\w-]*(?:=\S*)?",  # --flags
        r"\b\w++(?:\.\w++)*+\((?!(?:e?s|[A-Z]\w*)\))[^\s()]*\)?",  # calls(), but not word(s)
        r"\b\w+(?:\.\w+)+\b|(?<!\w)\.\w+",  # a.b .ending
        r"%\(\w+\)[-#0 +]*\w|%[-#0 +]*+\d*+(?:\.\d*+)?[a-zA-Z]\b",  # %(x)s %5d
        r"\$?\{[^{}\s]*\}",  # {x} ${x}
        r"[$@\\#]\w+",  # $HOME @name \command #tag
        r"<(?P<tag>code|kbd|pre|samp|tt|var)\b[^<>]*>[^<]*</(?P=tag)>",  # <code>x</code>
        r"<[/!?]?[A-Za-z][^<>]*>",  # <tags>
        r"(?<![\w\]])\[[\w.-]+\](?![\w(\[])",  # [label] of a link
        r"(?<![^\s>])\[[^\[\]]+\]:(?=\s)",  # [the label]: of its target
        r":[\w:]+:",  # :roles:
        r"\b\w+=\S*",  # name=value
        r"\b\w*(?:_|\d)\w*\b",  # snake_case, b2, utf8
        r"\b[A-Za-z]*[a-z][A-Z]\w*\b",  # camelCase
        r"\b\w+(?:-\w+){3,}\b",  # four-words-with-hyphens
        r"(?<![\w/])s/[^/\n]+/[^/\n]*/(?!\w{4})",  # s/a/b/
        # base64
        r"(?<![\w+/])(?=[A-Za-z+/]*(?:[a-z][A-Z]|[\d+]))[A-Za-z0-9+/]{24,}={,2}(?![\w+/])",
    )
)

#: What is a name where a line is no prose, or has small letters too.
QUOTED = r"(?<![\w\"])\"\w+\"|(?<![\w'])'\w+'(?!\w)"  # "one" 'word'
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
    """Finds code and the like in a line: :data:`CODE`, a single word in quotes unless the line is
    prose, and words in capitals unless all are."""

    def spans(self, line: str) -> list[Span]:
        patterns = [CODE] + [QUOTED] * (not is_prose(line)) + [CAPITALS] * (not is_shouted(line))
        matches = (match for pattern in patterns for match in re.finditer(pattern, line))
        return [match.span() for match in matches if match.group()]

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


# mentions: a line sets a misspelling next to its correction, marks it by [sic], says that it is
# misspelt, or that a thing is called so

#: Characters on each side of a word that tell whether it is mentioned, and those in which a line
#: says that it is misspelt.
AROUND, NEAR = 200, 60
_WORD, _SENTENCE_END = re.compile(r"\w+"), re.compile(r"[.!?…]\s|\n")
_OPENS, _CLOSES = "\"'`“‘«*_", "\"'`”’»*_"
#: Signs between a misspelling and its correction, with no word between: arrows, tags, a column.
_AGAINST = re.compile(
    rf"[-=~]>|<[-=~]|[→⇒⟶➔➜←↔≠|/=\t]|</?\w[^<>]*>|\s\s|[{_CLOSES}]\s?[,:;]?\s?[{_OPENS}]|\s[<>]\s"
)
#: Words between two quotations, between any two, and those that tell with others that one is meant
#: for the other.
_BETWEEN_QUOTES = set("and as by for from or to with".split())
_CONTRAST = set("into not now or over rather than use versus vs write".split())
_TELLING = set(
    "actually alias became become becomes changed correct corrected deprecated error fixed "
    "formerly incorrect incorrectly instead mean means meant mistake must obsolete ought proper "
    "rather renamed replaced right said should typed wrong wrongly wrote".split()
)
_FILLERS = set(
    "a also an and are as be been by common commonly correctly for form from he here i in is it "
    "its known not now of often place she some sometimes than the they to use usually was we were "
    "with word would write you".split()
)
#: Beginnings of verbs whose object becomes another one, and what stands before the other.
_CHANGE = "replac chang renam correct fix turn substitut swap switch convert".split()
_BECOMES = set("by into to with".split())
_MISSPELT = re.compile(
    r"(?i)\b(?:typo(?:s|'?ed)?\b|mis-?sp|mispel|mis-?typ|spellings?\b|spelled|spelt)[\w']*"
    r"(?: fix\w*)?"
)
#: What stands between that and the misspelling, besides things; words that name none.
_LINKS = set(
    "are as be error errors include includes including incorrectly is like looks mistake mistakes "
    "of often seems such the was were wrongly".split()
)
_THINGS = set(
    "alias argument attribute branch class column command constant directory element enum event "
    "field file flag folder function header identifier key keyword label macro method module name "
    "node noun option package param parameter path property query setting string symbol table tag "
    "term token type variable verb word entered read say spell typed write wrote".split()
)
_NO_NAMES = set(
    "a about after again all along and any are as at because been before between but by during "
    "each either else every everywhere for from have if in inside instead into is it its later "
    "like more of off on once only or other otherwise out outside over since so some still such "
    "than that the their then there they this through throughout to today together too twice under "
    "until upon using was were when whenever where whether which while will with within without "
    "you".split()
)
#: What a thing is before its name: *a file called*, *the old name*.
_CALLED = set("called dubbed entitled labeled labelled named titled".split())
_FORMER = set("deprecated former incorrect legacy old original previous wrong".split())
_ONE = set("a an any each it its no one some that the this".split())
_LISTED = re.compile(r"\w+(?:,\s|\s(?:and|or)\s|/)\W{0,3}")
_SIC = re.compile(r"(?i)\W{0,3}(?:\w+\W+)?[\[({<*_]+!?sic\b")


def mentioned(
    line: str,
    changes: Iterable[tuple[int, int, str, float]],
    listed: Callable[[str], Iterable[str]],
) -> list[Span]:
    """Returns where the words stand that a line mentions, of those that changes are of.

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
        before = _SENTENCE_END.split(line[max(first - AROUND, 0) : first])[-1]
        behind = _SENTENCE_END.split(line[last : last + AROUND])[0]
        rights = "|".join(map(re.escape, filter(None, (right, *listed(word.lower())))))
        is_name = right.lower() not in _NO_NAMES and not right.endswith("ly")
        if (
            _SIC.match(behind)
            or _is_beside(before, behind, rights, is_name)
            or _is_said_misspelt(before, behind, is_name)
            or (is_name and _is_called(before, behind))
        ):
            found.append((start, end))
    return found


def _is_beside(before: str, behind: str, rights: str, is_name: bool) -> bool:
    """Returns whether a right form stands next to a word, set against it."""
    right = re.compile(rf"(?i)(?<!\w)(?:{rights})(?!\w)")
    gaps = [before[match.end() :] for match in [*right.finditer(before)][-1:]]
    gaps += [behind[: match.start()] for match in [*right.finditer(behind)][:1]]
    is_change = any(word.startswith(tuple(_CHANGE)) for word in _words(before))
    for gap in gaps:
        words = _words(gap)
        if not words:
            is_beside = bool(_AGAINST.search(gap) or re.fullmatch(r"\s?\(\W{0,2}", gap))
        elif words <= _BETWEEN_QUOTES and _is_quoted(gap, gap):
            is_beside = True
        elif words <= _FILLERS | _TELLING and (words & _TELLING or _MISSPELT.search(gap)):
            is_beside = is_name
        else:
            is_object = is_change and words & _BECOMES and words <= _FILLERS | _THINGS
            is_beside = is_name and bool(words <= _CONTRAST or is_object)
        if is_beside:
            return True
    return False


def _is_said_misspelt(before: str, behind: str, is_name: bool) -> bool:
    """Returns whether a line says of a word that it is misspelt."""
    before, behind = before[-NEAR:], behind[:NEAR]
    gaps = [before[match.end() :] for match in [*_MISSPELT.finditer(before)][-1:]]
    gaps += [behind[: match.start()] for match in [*_MISSPELT.finditer(behind)][:1]]
    if _is_quoted(before, behind):
        return bool(gaps)
    return any(
        re.search(r":\s\W*\Z", gap)
        or (is_name and _words(_LISTED.sub("", gap)) <= _LINKS | _THINGS)
        for gap in gaps
    )


def _is_called(before: str, behind: str) -> bool:
    """Returns whether a word is the name of a thing."""
    first, second, last = ["", "", "", *_WORD.findall(before.lower())][-3:]
    following = ["", *_WORD.findall(behind.lower())][:2][-1]
    if last in _CALLED:
        return second in _THINGS or first in _ONE or second in ("is", "was")
    is_thing = last in _THINGS
    if _is_quoted(before, behind):
        return is_thing or following in _THINGS
    return is_thing and second in _FORMER


def _is_quoted(before: str, behind: str) -> bool:
    return before[-1:] in {*_OPENS} and behind[:1] in {*_CLOSES}


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text.lower())}
