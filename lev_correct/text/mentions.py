"""Misspellings that a line mentions: it sets them next to their correction, marks them by [sic],
says that they are misspelt, or that a thing is called so."""

import re
from collections.abc import Callable, Iterable

from .units import Span, core_of

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
