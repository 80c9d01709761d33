"""The corrector: lines in, corrected lines and their edits out."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from inspect import signature
from operator import attrgetter, itemgetter
from typing import Any, TypedDict, Unpack
from unicodedata import is_normalized, normalize

from lev_runtime.batching import BUFFER, Pause, chunks
from lev_runtime.errors import UserError, require_count, require_number, strings
from lev_runtime.io.text_files import require_files

from .document import Document, Text, groups
from .files.markup import as_asked, is_shouted
from .judge.features import ENGLISH, Weights
from .judge.judge import (
    ANOTHER_WORD,
    Evidence,
    Judge,
    LineJudge,
    Run,
    calibrated,
    inside,
    kind_of_spaces,
    of_error,
)
from .judge.languages import Languages
from .lines import (
    Change,
    Correction,
    Edit,
    Line,
    Reason,
    apply_edits,
    likeliest,
    placed,
    with_loose_mark,
)
from .packaged import ENGLISH_SPELLING
from .propose import loading
from .propose.backend import Backend
from .settings import DEFAULTS, NAMES, Settings, chosen
from .text.protection import (
    FOREIGN,
    FREE,
    LISTED,
    MENTIONED,
    PROTECTED,
    CodeProtection,
    Protection,
    differing,
    mark,
    mentioned,
    touched,
)
from .text.units import (
    UNREADABLE,
    ModelUnit,
    Span,
    UnitKind,
    check_unit,
    composed,
    context,
    pieces,
    spans,
    with_case,
)
from .words.lexicon import RARE_OR_WRONG, KnownWords, installed_misspellings

#: What has more letters is no word (nor a sentence of a script without spaces), and stays.
LONGEST_WORD = 1000
#: Lines that are remembered: those of tables and licences return in many files.
LINES_KEPT = 10_000
#: Characters of a line that is remembered, at most.
LONGEST_KEPT = 200
#: Probability of an edit from which it is made by default where a text tells (:class:`.Evidence`):
#: at 0.5 5 in 100 misspelt words of learners fewer become right, and in right text as many change.
DEFAULT_THRESHOLD = 0.3
#: Terms of a probability that an edit carries.
REASONS = 3
_CODE = CodeProtection()
_STAYS: dict[int, Reason] = {
    LISTED: "protected",
    PROTECTED: "protected",
    FOREIGN: "foreign",
    MENTIONED: "mentioned",
}


class Options(TypedDict, total=False):
    """Holds what a call may choose; meanings, errors are :meth:`Corrector.correct_documents`'s."""

    min_confidence: float | None
    protect: Iterable[str]
    protect_words: Iterable[str]
    batch_size: int


class Corrector:
    """Corrects lines with any backend.

    Several threads may use one corrector; its model serves them in turn.

    Args:
        unit: what the model reads at once: ``word``, ``letters``, ``line`` or ``window``; by
            default ``word`` for one that knows no space, else a window, or ``line`` where it is not
            known how many words it learnt to read.
        window: words in a window, which then is the unit; by default as many as it learnt to read.
        settings: threshold, calibration and what is protected; its unit and lists are not used.

    Raises:
        UserError: units that are not known or that the model cannot read.
    """

    #: Where the settings come from, where that is a file.
    settings_file: str | None = None

    def __init__(
        self,
        backend: Backend,
        unit: str | None = None,
        window: int | None = None,
        settings: Settings = DEFAULTS,
    ):
        self.backend, self.settings = backend, settings
        self._kept = lru_cache(LINES_KEPT)(self._cut)
        #: What every call leaves alone, besides what it is given itself.
        self.protections = [settings.protection()]
        knows_spaces = backend.knows_spaces
        if unit in (None, "window") and window is None and knows_spaces:
            window = backend.words_learnt
        self.unit: UnitKind = check_unit(unit, window) or ("line" if knows_spaces else "word")
        self.window = window or 0
        single = self.unit in ("word", "letters") or self.window == 1
        if not single and not knows_spaces:
            raise UserError(
                f"unit={self.unit}: the model's dictionary has no space, so it was trained on "
                "single words; unit=word or unit=letters"
            )
        if self.unit == "window" and window is None:
            raise UserError("unit=window: the checkpoint does not say how many words: window=N")

    @classmethod
    def from_pretrained(
        cls, path: str | os.PathLike[str] | None = None,
        data: str | os.PathLike[str] | None = None,
        device: Any = None, precision: str = "fp32", settings: str | None = None,
        **options: Any,
    ) -> "Corrector":  # fmt: skip
        """Loads a checkpoint of one of the tasks of :mod:`.loading`.

        Args:
            path: like data, device and precision as of ``LevenshteinEditor.from_pretrained``; by
                default the package's English model.
            settings: file of settings, ``"none"`` for none; by default ``corrector.json`` next to
                the checkpoint where there is one.
            **options: fields of :class:`.settings.Settings`, before what the file says; others are
                text processing, as of ``LevenshteinEditor.from_pretrained``.

        Raises:
            UserError: no checkpoint there, one that cannot be read or of another kind, no
                dictionaries, options that this kind of model has not got.
        """
        given = {name: options.pop(name) for name in NAMES & options.keys()}
        if path is None:
            # the weight there is that of installed_misspellings(); the user's table is followed
            listed = {"lookup": loading.LISTED} if given.get("lookup") else {}
            given["weights"] = {**listed, **(given.get("weights") or {})}
            given["lookup"] = given.get("lookup") or installed_misspellings()
        place, folder = os.fspath(path or ENGLISH_SPELLING), os.fspath(data) if data else None
        use, file = chosen(place, settings, given)
        # a file that is missing is told before the model loads
        require_files([path for path in (use.protect_words, use.known) if path])
        backend = loading.load_backend(place, folder, device, use.beam, precision, options)
        corrector = cls(loading.ranked(backend, use), use.unit, use.window, use)
        corrector.settings_file = file
        return corrector

    def correct(
        self,
        lines: Iterable[str],
        *,
        document: Document | None = None,
        ignored: Sequence[bool] = (),
        **options: Unpack[Options],
    ) -> list[Correction]:
        """A correction for every line, in order.

        Args:
            lines: text; a line end is a space like others and stays.
            document: of :meth:`document`, the text whose next lines these are.
            ignored: of each line, whether it stays as it is (default: none does).
            **options: as of :class:`Options`.
        """
        lines = strings("lines", lines)
        return next(self.correct_documents([(lines, document, ignored)], **options))

    def read(self, lines: Iterable[str], document: Document) -> None:
        """Reads lines of a text that stay, and tell of those that follow."""
        self._read(strings("lines", lines), document, ())

    def stream(
        self,
        lines: Iterable[str | Pause],
        *,
        buffer: int = BUFFER,
        ignored: Callable[[Sequence[str]], Sequence[bool]] = lambda lines: (),
        document: Document | None = None,
        **options: Unpack[Options],
    ) -> Iterator[Correction]:
        """Yields a correction for every line, in order; reads no more than a buffer ahead.

        Args:
            lines: text, which may be without an end.
            buffer: lines that are taken and corrected together, as :meth:`correct` does it: what
                they tell of their text counts for all of them, and with a document for all that
                follow; 1 answers each before the next is asked for, a
                :class:`lev_runtime.batching.Pause` what came before it.
            ignored: returns of the next lines which stay as they are, as :class:`.IgnoreComments`.
            document: as of :meth:`correct`.
            **options: as of :class:`Options`.
        """
        signature(self.correct_documents).bind((), **options)  # also where no line comes
        first = 1
        for chunk in chunks(lines, buffer):
            texts = strings("lines", chunk, first=first)
            yield from self.correct(texts, document=document, ignored=ignored(texts), **options)
            first += len(texts)

    def correct_documents(
        self,
        texts: Iterable[tuple[Sequence[str], Document | None, Sequence[bool]]],
        *,
        min_confidence: float | None = None,
        protect: Iterable[str] = (),
        protect_words: Iterable[str] = (),
        batch_size: int = 64,
    ) -> Iterator[list[Correction]]:
        """The corrections of several texts, one after the other.

        All of them are read before the first is corrected, so that they tell together what returns
        in them, and the units of many lines are answered together.

        Args:
            texts: lines, document and ignored of each, as of :meth:`correct`.
            min_confidence: probability from which on an edit is made.
            protect, protect_words: as of :class:`.Protection`, besides :attr:`protections`.
            batch_size: units at once; does not change the outcome.

        Raises:
            UserError: no list of strings, a probability outside [0, 1], a pattern that is none.
        """
        protections = [*self.protections, Protection(protect, protect_words)]
        protections += [_CODE] if self.settings.protect_code else []
        threshold = self.min_confidence if min_confidence is None else min_confidence
        threshold = require_number("min_confidence=", threshold, 0, 1)
        batch_size = require_count("batch_size", batch_size)
        read = [self._read(*text) for text in texts]
        for group in groups(read):
            lines = [line for text in group for line in text.read.values()]
            # a text has many words twice
            queries = [*dict.fromkeys(unit.query for line in lines for unit in line.units)]
            written = self.backend.write(queries, batch_size, self._is_judged)
            answers = dict(zip(queries, written, strict=True))
            for line in lines:
                line.answers = [answers[unit.query] for unit in line.units]
            for text in group:
                rows = zip(text.lines, text.code, strict=True)
                done = [Correction(line, line, (), code=is_code) for line, is_code in rows]
                for number, line in text.read.items():
                    done[number] = self._corrected(text, line, threshold, protections)
                yield done

    def _read(
        self,
        lines: Sequence[str],
        document: Document | None,
        ignored: Sequence[bool],
    ) -> Text:
        """Reads the next lines of a text: what may change in them, and what stays."""
        by_letters = self.unit == "letters"
        document = document or Document(self.judge(), self.backend.knows, has_code=False)
        judge, first = document.judge, document.lines_read
        forms = [composed(line, by_letters) for line in lines]
        texts = [text for text, _ in forms]
        code, seen = document.read(texts)
        read = list[Line]()
        columns = zip(lines, forms, seen, code, ignored or [False] * len(lines), strict=True)
        for number, (written, form, words_of, is_code, is_ignored) in enumerate(columns, first):
            text, origins = form
            shown = words_of if by_letters else text
            if is_code or is_ignored or not shown.strip():
                continue
            cut = self._cut if len(shown) > LONGEST_KEPT else self._kept
            words, units, is_respaced = cut(shown, words_of)
            read.append(Line(written, text, origins, shown, number, words, [*units], is_respaced))
        if by_letters:
            document.leave_divided_words(texts, read)
        judge.lines_read += sum(bool(line.strip()) for line in lines)
        seen = [seen[line.number - first] for line in read]
        foreign = judge.foreign_parts(seen, [line.words for line in read])
        for line, words_of, parts in zip(read, seen, foreign, strict=True):
            if not (line.units or line.is_respaced):
                continue
            line.stays = bytearray(len(line.text))
            mark(line.stays, parts, FOREIGN)
            if not by_letters:  # what is hidden stands in the units
                mark(line.stays, differing(line.text, words_of), PROTECTED)
            line.units = [*_surveyed(line, parts, judge)]
        kept = {line.number - first: line for line in read if line.units or line.is_respaced}
        return Text(lines, code, kept, document)

    def _cut(self, shown: str, words_of: str) -> tuple[Sequence[Span], Sequence[ModelUnit], bool]:
        """Returns the words of a line, its units, and whether more than these may change."""
        words = [*spans(words_of, "letters")]
        spacing = self.backend.spacing if words else None
        proposed = spacing.proposed(shown, words) if spacing else ()
        return words, [*self._units(shown, words)], self.settings.grammar or any(proposed)

    def document(
        self, others: Document | None = None, path: str | None = None, text: Sequence[str] = ()
    ) -> Document:
        """A text to correct some lines at a time, which teaches words and says what is code, where
        that is protected, or another language (:mod:`.protection`).

        Args:
            others: another text of the same run: the words of both count for both.
            path: the name of its file.
            text: all of its lines, by which one of Markdown is read (:mod:`.markdown`).
        """
        judge, lines = self.judge(others, path), [composed(line)[0] for line in text]
        names = others.names if others else None
        has_code = self.settings.protect_code
        return Document(judge, self.backend.knows, path, lines, has_code, names)

    def judge(self, others: Document | None = None, path: str | None = None) -> Judge:
        """Returns one of the edits of a text.

        Args:
            others: another text of the same run; None for lines that are no text.
            path: of its file.
        """
        if self._known is None:
            return Judge()
        if others and isinstance(others.judge, Evidence):
            return Evidence(others.judge.run, path)
        return Evidence(Run(self.backend, self._known, self._weights, self.languages), path)

    @property
    def min_confidence(self) -> float:
        """Probability from which an edit is made where a call does not say."""
        return max(self.settings.min_confidence, DEFAULT_THRESHOLD * self._is_judged)

    @property
    def _is_judged(self) -> bool:
        return self.settings.known is not None

    @cached_property
    def _known(self) -> KnownWords | None:
        return KnownWords(self.settings.known) if self.settings.known else None

    @cached_property
    def _weights(self) -> Weights:
        return Weights.read(self.settings.judge or ENGLISH)

    @cached_property
    def languages(self) -> Languages:
        """Returns what tells other languages."""
        return Languages(self.settings.language)

    def _units(self, line: str, letters: Sequence[Span]) -> Iterator[ModelUnit]:
        """The units of a line that the model is given; ``letters``: its spans of that kind."""
        tokens, limit = self.backend.processing.tokens, self.backend.limit
        words = self.unit in ("word", "letters")
        longest = LONGEST_WORD if words else len(line)
        all_places = letters if self.unit == "letters" else spans(line, self.unit, self.window)
        places = [(start, end) for start, end in all_places if end - start <= longest]
        shown = as_asked(line, places) if self.unit == "letters" else line
        forms = (shown,) if is_shouted(line) else (line, shown)
        for number, (start, end) in enumerate(places):
            if words and not all(self.backend.readable(form[start:end]) for form in forms):
                continue
            for unit in pieces(shown, start, end, lambda text: len(tokens(text)) <= limit):
                if self.backend.uses_context and (unit.start, unit.end) == (start, end):
                    unit = unit._replace(context=context(line, places, number))
                if tokens(unit.text):
                    yield unit

    def _corrected(
        self, text: Text, line: Line, threshold: float, protections: Sequence[Protection]
    ) -> Correction:
        """Corrects a line of a text, and says of each edit that is not made why."""
        document = text.document
        judge = document.judge.line(line.shown, line.words)
        proposed = likeliest([*self._wanted(line, judge), *self._respaced(line, judge)])
        marked = [with_loose_mark(line.shown, change) for change in proposed]
        changes = [each for each in marked if each.after != line.text[each.start : each.end]]
        terms_of = {change: _terms(judge, change) for change in changes}
        sure = [
            change
            for change in changes
            if of_error(change.probability, terms_of[change]) >= threshold
        ]
        if sure:
            self._protect(line, sure, protections)
        edits = list[Edit]()
        for change in changes:
            least = threshold if change in sure else None
            reason = self._reason_of(document, line, change, least)
            edits.append(_edit(line, change, reason, terms_of[change]))
        edits = self._with_slips(line, edits, protections)
        text_after = apply_edits(line.written, edits)
        answers = zip(line.units, line.answers, strict=True)
        silent = [unit for unit, answer in answers if answer is None]
        unterminated = [(line.origins[unit.start], line.origins[unit.end]) for unit in silent]
        return Correction(line.written, text_after, tuple(edits), tuple(unterminated))

    def _reason_of(
        self, document: Document, line: Line, change: Change, threshold: float | None
    ) -> Reason | None:
        """Returns why a change is not made; None for one that is.

        Args:
            threshold: the least probability of a correction; None where the word itself is not
                likely enough to be wrong.
        """
        start, end, after, chance = change
        before, shown = line.text[start:end], line.shown[start:end]
        is_spaced = kind_of_spaces(shown, after) is not None
        if UNREADABLE in after:
            return "unknown"
        if threshold is None:
            return "confidence"
        if is_spaced and before != shown:  # markup between the words
            return "protected"
        why = touched(line.stays, start, before, after)
        covered = max(line.stays[start:end], default=FREE) if is_spaced else FREE
        if why or covered > LISTED:
            return _STAYS[max(why, covered)]
        longest = self.settings.longest
        if longest is not None and len(after) - len(before) > longest:
            return "length"
        if chance < max(threshold, self._least_of(before)):
            return "unsure"
        return None if document.fits(line, change) else "reported"

    def _least_of(self, word: str) -> float:
        """Returns the probability from which on a word that exists is changed: of a rare one that a
        list has as a misspelling none is enough."""
        if self._known is None:
            return 0.0
        is_rare = self._known.level(word.lower()) == RARE_OR_WRONG
        return math.inf if is_rare else ANOTHER_WORD * self.backend.is_confused(word)

    def _with_slips(
        self, line: Line, edits: Sequence[Edit], protections: Sequence[Protection]
    ) -> list[Edit]:
        """Returns the edits of a line and, as reported, its everyday slips, if asked for: where
        nothing is protected, and in the place of what is less probable."""
        if not (self.settings.grammar and self.settings.language == "en"):
            return [*edits]
        from .propose.usage import doubts

        self._protect(line, (), protections)
        for slip in doubts(line.shown):
            start, end, after, _ = slip
            edit = _edit(line, slip, "reported", {})
            here = [other for other in edits if other.offset < edit.end and edit.offset < other.end]
            is_likelier = all(other.reason == "confidence" for other in here)
            if is_likelier and not touched(line.stays, start, line.text[start:end], after):
                edits = [*(other for other in edits if other not in here), edit]
        return sorted(edits, key=attrgetter("offset"))

    def _protect(
        self, line: Line, sure: Sequence[Change], protections: Sequence[Protection]
    ) -> None:
        """Notes in a line what is protected and what it mentions."""
        for protection in protections:
            reason = LISTED if protection is self.protections[0] else PROTECTED
            mark(line.stays, protection.in_line(line.text, line.shown), reason)
        if _CODE in protections:
            mark(line.stays, mentioned(line.text, sure, self.backend.misspelt), MENTIONED)

    def _respaced(self, line: Line, judge: Judge | LineJudge) -> Iterator[Change]:
        """Yields the changes of spaces and apostrophes of a line, each with its probability."""
        spacing = self.backend.spacing if line.words else None
        for change in spacing.proposed(line.shown, line.words) if spacing else ():
            start, end, after, chance = change
            before = line.shown[start:end]
            # without a judge nothing tells a compound
            if self._is_judged or kind_of_spaces(before, after) != "left out":
                chance = judge.probability(start, before, after, chance)
                yield change._replace(probability=chance)

    def _wanted(self, line: Line, judge: Judge | LineJudge) -> list[Change]:
        """The changes of units that the model wants in a line, each with its probability there."""
        shouted = self.unit == "letters" and is_shouted(line.shown)
        wanted: list[Change] = []
        for unit, answer in zip(line.units, line.answers, strict=True):
            written = line.shown[unit.start : unit.end]
            for edit, probability in (answer or {}).items():
                chance = calibrated(probability, self.settings.temperature)
                start, end, after, _ = placed(line.shown, unit.start, unit.end, edit)
                chance = judge.probability(unit.start, written, after, chance)
                cased = after.upper() if shouted else with_case(after, written)
                after = cased if unit.text != written else after
                wanted.append(Change(start, end, after, chance))
        return wanted


def _surveyed(line: Line, foreign: Sequence[Span], judge: Judge) -> Iterator[ModelUnit]:
    """Yields the units of a line that may change, each with the words that it may be a slip of."""
    for unit in line.units:
        word = line.shown[unit.start : unit.end]  # which has the capital of a sentence still
        if not (inside(unit.start, foreign) or judge.leaves_alone(word)):
            yield unit._replace(often=judge.met_oftener(word))


def _terms(judge: Judge | LineJudge, change: Change) -> Mapping[str, float]:
    """Returns the terms of a change's log-odds: those of the shortest judged text around it."""
    spans = [span for span in judge.why if span[0] <= change.start and change.end <= span[1]]
    spans.sort(key=lambda span: span[1] - span[0])
    return judge.why[spans[0]] if spans else {}


def _edit(line: Line, change: Change, reason: Reason | None, terms: Mapping[str, float]) -> Edit:
    """Returns a change of a line as an edit of what is written there.

    Args:
        reason: why it is not made.
        terms: of its log-odds.
    """
    start, end, after, chance = change
    first, last = line.origins[start], line.origins[end]
    if not is_normalized("NFC", line.written):
        after = normalize("NFD", after)
    telling = filter(itemgetter(1), terms.items())
    largest = sorted(telling, key=lambda term: -abs(term[1]))[:REASONS]
    before = line.written[first:last]
    return Edit(first, before, after, chance, reason is None, reason, (*largest,))
