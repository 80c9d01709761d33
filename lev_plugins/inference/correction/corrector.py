"""The corrector: lines in, corrected lines and their edits out."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...errors import UserError
from ...models import ENGLISH_SPELLING, installed_misspellings
from ..arguments import strings
from .backends import Backend, Tokens
from .corrections import Correction, Edit, Reason, apply_edits, by_words
from .proposals import Proposal, proposals
from .prose import CODE, SURE, Document
from .protection import Protection, refused
from .units import KINDS, UNREADABLE, Context, Unit, UnitKind, context, pieces, spans

#: What has more letters is no word (nor a sentence of a script without spaces), and stays.
LONGEST_WORD = 1000
_CODE = Protection([CODE])


class Corrector:
    """Corrects lines with any backend.

    Several threads may use one corrector; its model serves them in turn.

    Args:
        backend: the model.
        unit: what it reads at once: ``word``, ``letters``, ``line``, ``sentence`` or ``window``;
            by default ``word`` for a model of characters that knows no space, else a window of the
            words that it learnt to read at once, or ``line`` where that is not known.
        window: words in a window, which then is the unit; by default those that it learnt to read.
        min_confidence: probability of the edits that are made, where a call gives none.
        longest: characters that an edit may add, at most.
        temperature: of the model's probabilities (:mod:`.fitting`).

    Raises:
        UserError: units that are not known or that the model cannot read.
    """

    #: What the corrector was tuned for, in words, and the file that says so.
    tuned: str | None = None
    settings: str | None = None

    def __init__(
        self,
        backend: Backend,
        unit: str | None = None,
        window: int | None = None,
        min_confidence: float = 0.0,
        longest: int | None = None,
        temperature: float = 1.0,
    ):
        self.backend, self.min_confidence, self.longest = backend, min_confidence, longest
        self.temperature = temperature
        #: What every call leaves alone, besides what it is given itself.
        self.protection = Protection()
        #: Whether code and the like stay as they are (:mod:`.prose`).
        self.protects_code = False
        knows_spaces = backend.knows_spaces
        learnt = backend.words_learnt if knows_spaces else None
        if unit in (None, "window") and window is None:
            window = learnt
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
        device: str | torch.device | None = None, unit: str | None = None,
        window: int | None = None, beam: int | None = None, max_iter: int | None = None,
        delete_threshold: float | None = None, precision: str = "fp32",
        lexicon: str | None = None, lookup: str | None = None, settings: str | None = None,
        weights: Mapping[str, float] | None = None, bigrams: str | None = None,
        confusions: str | None = None, **processing: Any,
    ) -> "Corrector":  # fmt: skip
        """Loads a checkpoint of task translation_edit, translation, translation_concat or
        noisy_translation.

        Args:
            path: a checkpoint, or a folder with checkpoint_best.pt, checkpoint_last.pt or
                model.pt; several joined by ``:`` are averaged. By default the model of English
                spelling that comes with the package.
            data: folder with the dictionaries; by default those that the checkpoint carries, else
                those of its data folder, else those beside it.
            device: such as ``cuda``; the CPU by default.
            precision: fp32, bf16 or int8 (CPU); less is faster and may change outputs.
            settings: file of settings, ``"none"`` for none; by default ``corrector.json`` beside
                the checkpoint where there is one.
            unit: like window, beam, max_iter, delete_threshold, lexicon, lookup, bigrams,
                confusions, weights as of :class:`.settings.Settings`, before what the file says.
            **processing: text processing as in fairseq, such as ``bpe="sentencepiece"``,
                ``sentencepiece_model=…``; by default, and where it is None, what the model was
                trained with, and characters where every symbol of the dictionary is one;
                ``"none"``: the text is cut already.

        Raises:
            UserError: no checkpoint there, one that cannot be read or of another kind, no
                dictionaries, options that this kind of model has not got.
        """
        from .loading import load  # fairseq is slow to import, and tests do without

        if path is None:
            path, lookup = ENGLISH_SPELLING, lookup or installed_misspellings()
        files = {"lexicon": lexicon, "lookup": lookup, "bigrams": bigrams, "confusions": confusions}
        search = {"beam": beam, "max_iter": max_iter, "delete_threshold": delete_threshold}
        unit, given = check_unit(unit, window), files | search
        more = data and os.fspath(data), device, precision, processing
        backend, use, file = load(os.fspath(path), settings, unit, weights or {}, given, *more)
        if unit is None:
            unit, window = check_unit(use.unit, use.window), use.window
        made = cls(backend, unit, window, use.min_confidence, use.longest, use.temperature)
        made.protection, made.protects_code = use.protection(), use.protect_code
        made.tuned, made.settings = use.tuned if file else None, file
        return made

    def __repr__(self) -> str:
        kind = type(getattr(getattr(self.backend, "ranker", None), "backend", self.backend))
        device = getattr(self.backend, "device", "cpu")
        tuned = f", min_confidence {self.min_confidence:.3g}" if self.min_confidence else ""
        return f"Corrector({kind.__name__}, unit {self.unit}{tuned}, device {device})"

    def correct(
        self,
        lines: Iterable[str],
        *,
        min_confidence: float | None = None,
        protect: Iterable[str] = (),
        protect_words: Iterable[str] = (),
        protection: Protection | None = None,
        document: Document | None = None,
        batch_size: int = 64,
    ) -> list[Correction]:
        """A correction for every line, in order.

        Args:
            lines: text; a line end is a space like others and stays.
            min_confidence: of the edits that are made; by default what the model was tuned to.
            protect: regular expressions; an edit that touches what they match is not made.
            protect_words: stay as whole words, besides those kept by ``correct --tune``.
            protection: patterns and words that were read once for many calls, in their place.
            document: of :meth:`document`, the text whose next lines these are.
            batch_size: units that the model reads at once; does not change the outcome.

        Raises:
            UserError: what is no list of strings, a probability outside [0, 1], a pattern that is
                none, a batch size below 1.
        """
        protection = Protection(protect, protect_words) if protection is None else protection
        lines = strings("lines", "line", lines)
        if min_confidence is None:
            min_confidence = self.min_confidence
        check_confidence(min_confidence)
        if batch_size < 1:
            raise UserError(f"batch_size={batch_size}: must be 1 or more")
        code = document.read(lines) if document else [False] * len(lines)
        if document and document.foreign:
            min_confidence = max(min_confidence, SURE)
        read: dict[str, Tokens] = {}
        units = [
            [] if no_prose else list(self._units(line, read))
            for line, no_prose in zip(lines, code, strict=True)
        ]
        found = self._proposals(units, read, batch_size)
        protections = [self.protection, protection, *([_CODE] if self.protects_code else [])]
        return [
            Correction(line, line, (), code=True)
            if no_prose
            else _corrected(line, some, found, min_confidence, protections, self.longest, document)
            for line, some, no_prose in zip(lines, units, code, strict=True)
        ]

    def _proposals(
        self, units: Sequence[Sequence[Unit]], read: Mapping[str, Tokens], batch_size: int
    ) -> dict[tuple[str, Context], Sequence[Proposal]]:
        """What the model proposes for each unit; nothing for those whose answer had no end."""
        # Equal units have equal answers: a text has many words twice.
        wanted = {(one.text, one.context): read[one.text] for some in units for one in some}
        contexts = [around for _, around in wanted]
        answers = self.backend.write([*wanted.values()], batch_size, contexts)
        return {
            key: proposals(self.backend, key[0], tokens, answer, self.temperature)
            for (key, tokens), answer in zip(wanted.items(), answers, strict=True)
            if answer is not None
        }

    def document(self) -> Document | None:
        """A text that is to be corrected some lines at a time; None where code is not protected.

        Its lines of code stay; an unknown word that returns, spelt alike, is rather a term than an
        error; and where most words are unknown only sure edits are made.
        """
        if not self.protects_code:
            return None
        ranker = getattr(self.backend, "ranker", None)
        return Document(ranker.unknown if ranker else lambda word: False)

    def _units(self, line: str, read: dict[str, Tokens]) -> Iterator[Unit]:
        """The units of a line that the model is given; ``read`` gets their tokens."""

        def fits(text: str) -> bool:
            if text not in read:
                tokens = self.backend.tokens(text)
                if len(tokens) > self.backend.limit:
                    return False
                read[text] = tokens
            return True

        words, stays = self.unit in ("word", "letters"), self.backend.stays
        longest = LONGEST_WORD if words else len(line)
        places = [one for one in spans(line, self.unit, self.window) if one[1] - one[0] <= longest]
        for number, (start, end) in enumerate(places):
            if words and end - start <= self.backend.limit and stays(line[start:end]):
                continue
            for unit in pieces(line, start, end, fits):
                if self.backend.uses_context and unit.places[0] == start and unit.places[-1] == end:
                    unit = replace(unit, context=context(line, places, number))
                if read[unit.text]:
                    yield unit


def check_unit(unit: str | None, window: int | None) -> UnitKind | None:
    """The unit, ``window`` where its size alone is given, None for the default.

    Raises:
        UserError: a name that is not known, a size below 1 or of another unit.
    """
    if unit is None and window is not None:
        unit = "window"
    kind = next((kind for kind in KINDS if kind == unit), None)
    if unit is not None and kind is None:
        raise UserError(f"unit={unit}: choose one of {', '.join(KINDS)}")
    if window is not None and kind != "window":
        raise UserError(f"window={window} is no size of unit={unit}; leave one of them out")
    if window is not None and window < 1:
        raise UserError(f"window={window}: must be 1 or more")
    return kind


def check_confidence(value: float) -> None:
    """Raises :class:`UserError` unless the value is a probability."""
    if not 0 <= value <= 1:
        raise UserError(f"min_confidence={value} is outside [0, 1]; give a probability")


def _corrected(
    line: str,
    units: Sequence[Unit],
    found: Mapping[tuple[str, Context], Sequence[Proposal]],
    min_confidence: float,
    protections: Sequence[Protection],
    longest: int | None,
    document: Document | None,
) -> Correction:
    """A line with the edits of its units that are sure enough and touch nothing protected."""
    if not units:
        return Correction(line, line, ())
    wanted: list[tuple[list[tuple[int, int, str]], float]] = []
    unterminated = []
    for unit in units:
        if (unit.text, unit.context) not in found:
            unterminated.append((unit.places[0], unit.places[-1]))
            continue
        for proposal in found[unit.text, unit.context]:
            placed = [(unit.places[i], unit.places[j], after) for i, j, after in proposal.edits]
            chance = proposal.probability
            wanted.append((placed, document.probability(unit.text, chance) if document else chance))
    groups = [placed for placed, _ in wanted]
    reasons = [_objection(placed, chance < min_confidence, longest) for placed, chance in wanted]
    sure = [number for number, reason in enumerate(reasons) if reason is None]
    protected = refused(line, groups, protections, sure)
    edits: list[Edit] = []
    for number, ((placed, chance), reason) in enumerate(zip(wanted, reasons, strict=True)):
        if number in protected and reason != "unknown":
            reason = "protected"
        edits += [
            Edit(start, line[start:end], after, chance, reason is None, reason)
            for start, end, after in placed
        ]
    text, words = apply_edits(line, edits), by_words(line, edits)
    return Correction(line, text, tuple(words), tuple(unterminated))


def _objection(
    edits: Sequence[tuple[int, int, str]], unsure: bool, longest: int | None
) -> Reason | None:
    """Why edits are not made, None if they are, unless they touch what is protected."""
    if any(UNREADABLE in after for _, _, after in edits):
        return "unknown"
    if unsure:
        return "confidence"
    grown = sum(len(after) - (end - start) for start, end, after in edits)
    return "length" if longest is not None and grown > longest else None
