"""Text that must stay as it is: patterns, words of a list, and what is no prose: code, names of
things, other languages."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from os.path import commonprefix

from lev_runtime.errors import UserError
from lev_runtime.io.lines import STANDARD_STREAM
from lev_runtime.text.sentences import strings

from ..edits import Patch
from ..evidence.evidence import Evidence
from ..evidence.text_prior import TextPrior
from .grammar import read_grammar
from .markup import is_prose, is_shouted, without_markup
from .places import fitted
from .units import (
    HYPHENS,
    Span,
    Unit,
    composed,
    spans,
)

#: The power of how often an unknown word is met, by which the odds of a change are divided.
REPEATED = 3.0
#: Words from which on a text may be foreign, and what an edit's probability has to be in such one.
ENOUGH, SURE = 20, 0.9
#: Words of a line that count for that, at least.
SEVERAL = 3

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
    )
)

#: What is a name where a line is no prose, or has small letters too.
QUOTED = r"(?<![\w\"])\"\w+\"|(?<![\w'])'\w+'(?!\w)"  # "one" 'word'
CAPITALS = r"\b[A-Z]{2,6}s?\b"  # NATO, URLs

_FENCE = re.compile(r"[\ufeff >]*(?P<mark>`{3,}|~{3,})(?P<told>.*)")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_PROMPT = re.compile(r"\s*(?:>>>|\.\.\.|\$) ")
_FIRST_TOKEN = re.compile(r"\w+|[^\w\s]")
_DIVIDED = re.compile(rf"[^\W\d_][{HYPHENS}]\s*$")
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

    def __init__(self) -> None:
        super().__init__([CODE])
        self._quoted, self._capitals = Protection([QUOTED]), Protection([CAPITALS])

    def spans(self, line: str) -> list[Span]:
        spans = super().spans(line)
        if not is_prose(line):
            spans += self._quoted.spans(line)
        if not is_shouted(line):
            spans += self._capitals.spans(line)
        return spans

    def names(self, line: str) -> list[Span]:
        """The spans but for those of markup alone, such as tags, which end at words: an edit may
        write a letter there."""
        words = without_markup(line)
        return [(start, end) for start, end in self.spans(line) if not words[start:end].isspace()]


def protected_spans(
    protections: Iterable[Protection], line: str, shown: str, others: Iterable[Span] = ()
) -> bytearray:
    """Returns, for each character of a line, 1 where it is protected or in one of other spans;
    code as it is shown, less markup, which no word touches."""
    spans = [*others]
    for protection in protections:
        if isinstance(protection, CodeProtection):
            spans += protection.names(shown)
        else:
            spans += protection.spans(line)
    return marked(spans, len(line))


def marked(spans: Iterable[Span], size: int) -> bytearray:
    """Returns 1 for each of so many characters that is in a span."""
    mask = bytearray(size)
    for first, end in spans:
        mask[first:end] = b"\1" * (end - first)
    return mask


def differing(line: str, shown: str) -> list[Span]:
    """Returns the characters of a line that are shown as others."""
    pairs = enumerate(zip(line, shown, strict=True))
    return [(place, place + 1) for place, (written, read) in pairs if written != read]


def touched(protected: bytearray, start: int, before: str, after: str) -> bool:
    """Returns whether an edit changes a protected character, or writes between two or onto one.

    Args:
        protected: as of :func:`protected_spans`.
        start: where ``before`` stands. What both begin and end with is not touched.
    """
    same = len(commonprefix([before, after]))
    before, after = before[same:], after[same:]
    alike = len(commonprefix([before[::-1], after[::-1]]))
    first, end = start + same, start + same + len(before) - alike
    if first < end:
        return covered(protected, first, end)
    new = after[: len(after) - alike]
    at_end, at_start = covered(protected, first - 1, first), covered(protected, first, first + 1)
    return (at_end and (at_start or not new[0].isspace())) or (at_start and not new[-1].isspace())


def covered(protected: bytearray, start: int, end: int) -> bool:
    """Returns whether one of the characters between two places is protected."""
    return 1 in protected[max(start, 0) : end]


class Document:
    """Keeps what the lines of one text tell together; they are read in order, some at a time.

    Args:
        unknown: as of :attr:`.Backend.unknown`.
        others: another text of the same run: the words of both count for both.
        path: the name of its file, where it has one.
        evidence: what counts its words, where edits are judged by them.
        text: all of its lines; one of Markdown, by its path, is then read by its grammar.
        prior: what else judges edits, by the share of errors in the text.
    """

    def __init__(
        self,
        unknown: Callable[[str], bool],
        others: "Document | None" = None,
        path: str | None = None,
        evidence: Evidence | None = None,
        text: Sequence[str] = (),
        prior: TextPrior | None = None,
    ) -> None:
        self._unknown, self.path, self.evidence = unknown, path, evidence
        self.prior = prior
        knows = evidence.run.words.knows if evidence else lambda word: not unknown(word)
        self._grammar = read_grammar(path, text, knows)
        self._named = path not in (None, STANDARD_STREAM)
        self._read = 0  # lines, so far
        self._fence, self._blank, self._indented = "", False, False
        self._divided = False  # a word, at the end of the line before
        self._words = self._strange = 0  # in lines of several words, not in lists of single ones
        # unknown words, as they are spelt
        self._met: Counter[str] = others._met if others else Counter()

    def read(self, lines: Sequence[str], ignored: Sequence[bool] = ()) -> list[bool]:
        """Which of the next lines are code; the words of the others are counted, but for those
        that are ``ignored``."""
        code = self._code_of(lines)
        self._read += len(lines)
        if self.evidence:
            return code
        silent = [mark or skip for mark, skip in zip_longest(code, ignored, fillvalue=False)]
        prose = zip(self.shown(lines), silent, strict=True)
        for line in (line for line, no_prose in prose if not no_prose):
            words = [line[start:end] for start, end in spans(line, "letters")]
            unknown = [word for word in words if self._unknown(word)]
            self._met.update(unknown)
            if self.prior:
                self.prior.read(unknown)
            if len(words) >= SEVERAL:
                self._words += len(words)
                self._strange += len(unknown)
        return code

    def shown(self, lines: Sequence[str]) -> Sequence[str]:
        """The lines that were read last as their words are read: each as long as it is; of
        Markdown with spaces for its markup."""
        if self._grammar is None:
            return lines
        return self._grammar.shown[self._read - len(lines) : self._read]

    def fitted(self, number: int, line: str, patch: Patch) -> str | None:
        """The new text of a change of the line of that number as it is written there
        (:mod:`.places`); None where it does not fit, or the file is only reported on."""
        grammar = self._grammar
        if grammar is None or self.left_out:
            return None if grammar else patch[2]

        def written(column: int) -> str:
            place = sum(len(line) + 1 for line in grammar.shown[:number]) + column
            return next((mark for start, end, mark in grammar.strings if start <= place < end), "'")

        return fitted(line, patch, written)

    @property
    def lines_read(self) -> int:
        """How many lines were read so far."""
        return self._read

    @property
    def left_out(self) -> str:
        """The kind of a file that is left alone, or whose comments alone are read."""
        return self._grammar.left_out if self._grammar else ""

    def _code_of(self, lines: Sequence[str]) -> list[bool]:
        """Which of the next lines are code."""
        if self._grammar is None:
            return list(map(self._is_code, lines))
        code = self._grammar.code[self._read : self._read + len(lines)]
        prompts = map(_PROMPT.match, lines)
        return [mark or bool(prompt) for mark, prompt in zip(code, prompts, strict=True)]

    def _is_code(self, line: str) -> bool:
        """Returns whether the next line is code in Markdown: a fence or between fences, indented by
        four spaces or a tab after an empty line, or after a prompt."""
        mark = _FENCE.fullmatch(line.rstrip())
        if self._fence:
            if mark and mark["mark"].startswith(self._fence) and not mark["told"].strip():
                self._fence = ""
            return True
        if mark and "`" not in mark["told"] and (mark["mark"][0] == "`" or self._blank):
            self._fence = mark["mark"]  # a row of ~ below a line is a heading of other markups
            return True
        blank = not line.strip()
        if not blank:
            indented = bool(_INDENTED.match(line)) and not self._named
            self._indented = indented and (self._blank or self._indented)
        self._blank = blank
        return not blank and (self._indented or bool(_PROMPT.match(line)))

    def leave_divided_words(self, lines: Sequence[str], units: Sequence[list[Unit]]) -> None:
        """Takes away the units of both halves of each word with a hyphen at the end of its line;
        ``lines``: the next ones."""
        for line, line_units in zip(lines, units, strict=True):
            divided = bool(_DIVIDED.search(line))
            if divided and line_units and len(line[line_units[-1].end :].strip()) == 1:
                line_units.pop()
            begins = bool(line_units) and not any(map(str.isalnum, line[: line_units[0].start]))
            if self._divided and begins:
                line_units.pop(0)
            self._divided = divided

    def probability(self, word: str, chance: float) -> float:
        """Returns that of a change of a word: an unknown one that returns is rather a term.

        Its odds are divided by the third power of how often it was met.
        """
        times = self._met[word]
        if self.prior:
            return self.prior.probability(word, chance, max(times, 1) ** REPEATED)
        if times < 2:
            return chance
        odds = chance / max(1 - chance, 1e-9) / times**REPEATED
        return odds / (1 + odds)

    @property
    def foreign(self) -> bool:
        """Returns whether most of so many words are in no list: the text is in another language."""
        if self.evidence:
            return self.evidence.foreign
        return self._words >= ENOUGH and 2 * self._strange > self._words
