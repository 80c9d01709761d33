"""Propose translations of changed sources, and fill the fuzzy entries of files with them.

The draft is the translation that stands there. What it was made from is the older source that the
file keeps (``msgmerge --previous``), else what the memory knows of this text, else unknown. A
proposal takes its place only where it needs fewer edits in so large a share of like cases; what
stood there is kept in a comment. Proposals are those of a model, in a project that it has learnt,
and repairs from the memory's own words, which need no training.
"""

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from lev_runtime.errors import UserError, printable, require_share
from lev_runtime.io.text_files import read_bytes

from .formats.files import (
    Problems,
    document_pairs,
    folder_memory,
    language_of,
    read_document,
    replace_file,
    stored_language,
)
from .formats.units import BilingualFile, Proposal, TranslationUnit, same_language
from .memory import Memory, Pair
from .proposals import WAYS, Model, SourceChange, is_first, propose, read_terms
from .repair.code import code_mismatch, is_nested_like, is_paired_like, same_entities
from .repair.confidence import least_probability, probability
from .repair.entries import EXACT, RULE, SPELLING, Repair, Repairer, stated, to_do
from .repair.invented import lost_code, vocabulary
from .repair.layout import MARKS
from .repair.repair import Category, counting
from .repair.text import places, to_line, to_text, with_ends

BY_RULE, BY_LOOK_UP = "repaired by rule", "repaired from the memory"
STANDING = "have a proposal"
# kinds of whole repairs that an untranslated entry gets: of four projects in four languages 14 of
# 15 are what was written; in German 13 of 31 with look-ups or deletions, none of 64 in part
SURE = {RULE, MARKS, SPELLING}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
NO_END = "\\ No newline at end of file"
Terms = Mapping[str, Sequence[str]]  # of a glossary: source to translations
Report = Counter[tuple[str, str]]  # "proposed", "kept" or "left", and why


Way = Literal[
    "kept",  # the file keeps the older source
    "found",  # the memory has a source for this text
    "unknown",  # neither does
    "match",  # nothing stands there, the memory gives the draft
    "exact",  # the memory has the source as it is
]


class FuzzyMatch(NamedTuple):
    """A unit of a file, the source that its text was made from, and how that is known."""

    unit: TranslationUnit
    old: str
    text: str
    way: Way


class Decision(NamedTuple):
    """Tells what becomes of a unit: "proposed", "kept" or "left", and why.

    proposal: the best one, whether it is made or not.
    """

    unit: TranslationUnit
    outcome: str
    why: str
    proposal: Proposal | None = None

    @property
    def is_new(self) -> bool:
        """Returns whether no proposal stands there, or another one is made."""
        is_made = self.outcome == "proposed" and self.proposal
        standing = self.unit.standing
        return not standing or bool(is_made and is_made.text != standing)

    @property
    def is_listed(self) -> bool:
        """Returns whether it is of a text that stands there, or makes one."""
        unit = self.unit
        return unit.state == "fuzzy" or bool(unit.standing) or self.outcome == "proposed"


def proposals_of(decisions: Iterable[Decision]) -> dict[TranslationUnit, Proposal]:
    """Returns the proposals that take the place of texts."""
    return {
        each.unit: each.proposal
        for each in decisions
        if each.outcome == "proposed" and each.proposal
    }


class Filled(NamedTuple):
    """A file before and after, and what became of each fuzzy unit."""

    document: BilingualFile
    before: bytes
    after: bytes
    decisions: list[Decision]

    @property
    def report(self) -> Report:
        return Counter((each.outcome, each.why) for each in self.decisions)

    def diff(self) -> str:
        """Returns both versions of the file as a unified diff."""
        name = printable(str(self.document.path))
        old, new = (data.decode(self.document.encoding) for data in (self.before, self.after))
        lines = difflib.unified_diff(_LINE.findall(old), _LINE.findall(new), name, name)
        return "".join(line if line[-1] == "\n" else f"{line}\n{NO_END}\n" for line in lines)


@dataclass
class TranslationMemory:
    """Proposes translations of changed sources.

    ``TranslationMemory.of([path]).propose([(new, old, draft)])`` needs no training;
    ``fill(path)`` writes into the file.

    Attributes:
        language: that the memory translates into, "" if it is not known.
        precision: the least share of proposals that need fewer edits than what stands there.
        terms: of a glossary.
        model: of a project; None: repairs alone.
        matches_untranslated: whether untranslated entries get all matches, not the sure ones alone.
    """

    memory: Memory
    language: str = ""
    precision: float = 0.8
    terms: Terms = field(default_factory=dict)
    model: Model | None = None
    matches_untranslated: bool = False

    def __post_init__(self) -> None:
        require_share("--precision", self.precision)

    @classmethod
    def load(
        cls,
        work: str | PathLike[str],
        precision: float = 0.8,
        terms: str | PathLike[str] | None = None,
        more: str | PathLike[str] | None = None,
        language: str = "",
        problems: Problems | None = None,
    ) -> "TranslationMemory":
        """Loads the model, the memory and the settings of a WORK.

        Args:
            terms: a glossary.
            more: files to match from.
            problems: collects those of them that cannot be read; else one is an error.

        Raises:
            UserError: something is not there.
        """
        work = Path(work)
        language, glossary = (
            stored_language(work) or language,
            read_terms(Path(terms) if terms else None),
        )
        model = Model.load(work)
        memory = model.learnt
        if more:
            pairs, _ = folder_memory(Path(more), language, problems)
            memory = Memory([*pairs, *memory.pairs])
        return cls(memory, language, precision, glossary, model, True)

    @classmethod
    def of(
        cls,
        files: Iterable[str | PathLike[str] | BilingualFile],
        more: Sequence[Pair] = (),
        language: str = "",
        precision: float = 0.8,
    ) -> "TranslationMemory":
        """Makes a memory of what is finished in .po and XLIFF files, or in what was read of them,
        and of what their fuzzy entries were made from.

        Args:
            more: pairs of other memories, as lines; they match what is untranslated, too.

        Raises:
            UserError: a file cannot be read.
        """
        documents = (f if isinstance(f, BilingualFile) else read_document(Path(f)) for f in files)
        pairs = [pair for document in documents for pair in document_pairs(document, drafts=True)]
        lines = [(stripped(source), stripped(target)) for source, target in pairs]
        memory = Memory([*lines, *more])
        return cls(memory, language, precision, matches_untranslated=bool(more))

    @cached_property
    def repairer(self) -> Repairer:
        return Repairer(self.memory.all_pairs)

    def propose(self, changes: Iterable[tuple[str, str, str]]) -> list[Proposal | None]:
        """Returns a proposal for each new source, older source and draft, None where the draft
        stays."""
        units = [
            TranslationUnit(number, None, new, draft, old, "", "fuzzy")
            for number, (new, old, draft) in enumerate(changes)
        ]
        proposals = proposals_of(self.decisions(BilingualFile(Path(), self.language, units)))
        return [proposals.get(unit) for unit in units]

    def fill(
        self,
        path: str | PathLike[str],
        output: str | PathLike[str] | None = None,
        backup: bool = False,
        write: bool = True,
        document: BilingualFile | None = None,
    ) -> Filled:
        """Writes the proposals of a file into it, or into ``output`` if that is given.

        Args:
            backup: keeps what is replaced as FILE.bak.
            write: False: only returns what would be written.
            document: what was read of it.

        Raises:
            UserError: the file cannot be used, or is into another language than the memory.
        """
        path = Path(path)
        before, target = read_bytes(str(path)), Path(output or path)
        document = document or read_document(path)
        language = language_of(document)
        if not same_language(language, self.language):
            raise UserError(f"{path} is {language}, and the memory {self.language}")
        if self.memory.is_reversed(unit.source for unit in document.units):
            raise UserError(f"{path}: its sources are in the language that the memory translates "
                            "into: prepare it with the languages the other way round")  # fmt: skip
        decisions = self.decisions(document)
        after = document.with_proposals(proposals_of(decisions))
        if write and (after != before or target != path):
            replace_file(target, after, backup, before if target == path else None)
        return Filled(document, before, after, decisions)

    # what is edited ---------------------------------------------------------------------------

    def drafts(self, document: BilingualFile) -> tuple[list[FuzzyMatch], list[Decision]]:
        """Returns the fuzzy units of a file that there is a draft for, and what becomes of the
        others."""
        own, empty, others = list[TranslationUnit](), list[TranslationUnit](), list[Decision]()
        for unit in document.units:
            if unit.state not in ("fuzzy", "untranslated"):
                continue
            if unit.proposed:
                others.append(Decision(unit, "left", STANDING))
            elif not unit.target.strip():
                empty.append(unit)
            elif unit.old.strip() == unit.source.strip():
                others.append(Decision(unit, "kept", "of the same source"))
            else:
                own.append(unit)
        drafts = [*self.own_drafts(own), *self.matches(empty)]
        there = {draft.unit for draft in drafts}
        lost = (unit for unit in empty if unit not in there)
        others += [Decision(unit, "left", "without a text and a match") for unit in lost]
        return drafts, others

    def own_drafts(self, units: Sequence[TranslationUnit]) -> Iterator[FuzzyMatch]:
        """Yields the texts that stand there, with the sources that they were made from."""
        lost = [(stripped(unit.source), stripped(unit.target)) for unit in units if not unit.old]
        olds = self.memory.translated_from(lost)
        for unit in units:
            text = stripped(unit.target)
            old = stripped(unit.old) if unit.old else next(olds)
            if unit.old:
                yield FuzzyMatch(unit, old, text, "kept")
            elif old == stripped(unit.source):
                yield FuzzyMatch(unit, old, self.memory.translations[old], "exact")
            else:
                yield FuzzyMatch(unit, old, text, "found" if old else "unknown")

    def matches(self, units: Sequence[TranslationUnit]) -> Iterator[FuzzyMatch]:
        """Yields matches for empty units: that of the file, else the best of the memory."""
        sources = [stripped(unit.source) for unit in units]
        near = self.memory.matches(sources, 1, itself=True)
        for unit, source, matches in zip(units, sources, near, strict=True):
            old, draft, _ = matches[0] if matches else ("", "", 0)
            way: Way = "exact" if old == source else "match"
            if way == "match" and unit.old and unit.draft:
                old, draft = stripped(unit.old), stripped(unit.draft)
            if old:
                yield FuzzyMatch(unit, old, draft, way)

    # what is proposed -------------------------------------------------------------------------

    def decisions(self, document: BilingualFile) -> list[Decision]:
        """Returns what becomes of each fuzzy unit of a file."""
        drafts, others = self.drafts(document)
        category = counting(language_of(document) or self.language)
        repairs = [self.repair(draft, category) for draft in drafts]
        changes = [self.change(*pair) for pair in zip(drafts, repairs)]
        outputs: Sequence[Proposal | None] = [None] * len(changes)
        if self.model and self.model.has_learnt(document):
            settings = self.model.settings
            how = settings.delete_threshold, self.memory, settings.max_iter
            outputs = propose(self.model.editor, changes, *how)
        entries = zip(drafts, repairs, changes, outputs, strict=True)
        made = [*others, *(self.decision(document, *entry) for entry in entries)]
        made = [each if each.is_new else Decision(each.unit, "left", STANDING) for each in made]
        return [each for each in made if self.matches_untranslated or each.is_listed]

    def repair(self, draft: FuzzyMatch, category: Category) -> Repair:
        """Returns the translation that the memory has of the new source, else the draft repaired
        from the memory's words."""
        new = stripped(draft.unit.source)
        exact = self.memory.translations.get(new)
        if draft.old and exact and exact != draft.text:
            features = {EXACT: 1.0}
            return Repair(exact, (EXACT,), True, probability(features), features, eager=exact)
        return self.repairer.repair(draft.old, new, draft.text, category)

    def change(self, draft: FuzzyMatch, repair: Repair) -> SourceChange:
        """Returns what the model reads of a draft."""
        wanted = self.wanted(draft.unit.source)
        terms = list(itertools.chain(*wanted))
        # of several translations any may come, so none is asked for
        only = [term for term, *others in wanted if not others]
        lacking = [term for term in only if not places(repair.eager, term)]
        return SourceChange(stripped(draft.unit.source), draft.old, repair.eager, terms, lacking)

    def wanted(self, source: str) -> list[Sequence[str]]:
        """Returns the glossary's translations of each term in a source that is no part of a longer
        one."""
        text, wanted = source.casefold(), []
        for term in sorted(self.terms, key=len, reverse=True):
            part = to_text(term).casefold()
            if places(text, part):
                wanted.append(self.terms[term])
                text = text.replace(part, "\n" * len(part))
        return wanted

    def decision(
        self,
        document: BilingualFile,
        draft: FuzzyMatch,
        repair: Repair,
        change: SourceChange,
        output: Proposal | None,
    ) -> Decision:
        """Returns what is proposed and why, or why the present text stays.

        Only what a program can use is proposed, with all terms of the glossary.
        """
        unit, why, best = draft.unit, "", None
        for proposal in self.candidates(draft, repair, change, output):
            proposal = proposal._replace(text=self.written(unit, proposal.text))
            is_repair = proposal.reason in (BY_RULE, BY_LOOK_UP)
            if proposal.text == unit.target:
                why = why or ("" if is_repair else "as they are")
                continue
            unsure = "not sure enough"
            if repair.says_something_else and is_repair:
                unsure = "where a repair in part would say something else"
            lacking = self.lacking(document, draft, proposal, change.draft)
            if proposal.probability >= proposal.least and not lacking:
                return Decision(unit, "proposed", proposal.reason, proposal)
            why = lacking or why or unsure
            best = proposal
        return Decision(unit, "kept", why or self.standing(draft, repair, change, output), best)

    def standing(
        self, draft: FuzzyMatch, repair: Repair, change: SourceChange, output: Proposal | None
    ) -> str:
        """Returns why an entry stays that nothing else is said of."""
        if SPELLING in repair.kinds and repair.is_all:
            return "right as they are, only a typo was fixed in the source"
        if repair.is_all and draft.old:
            return "right as they are"
        if draft.old and not vocabulary([draft.old]) & vocabulary([change.new]):
            return "of another text"
        is_foreign = self.model and not output
        return "of a project that the model has not learnt" if is_foreign else "without a repair"

    def candidates(
        self, draft: FuzzyMatch, repair: Repair, change: SourceChange, output: Proposal | None
    ) -> Iterator[Proposal]:
        """Yields the model's output, where it is rather better, and the repair, else the more
        probable first; for an empty unit a match, too."""
        if draft.way == "exact":
            why = "translated so in the memory"
            yield Proposal(draft.text, 1.0, reason=why, kinds=(EXACT,))
            return
        every = self.matches_untranslated or draft.unit.state == "fuzzy"
        is_sure = repair.is_all and repair.kinds and SURE.issuperset(repair.kinds)
        if not every and not is_sure:
            return
        chance, least = repair.probability, least_probability(self.precision)
        candidates = list[Proposal]()
        if output and self.model and EXACT not in repair.kinds:
            settings, way = self.model.settings, draft.way if draft.way in WAYS else "kept"
            edited, chance = settings.stated(way, change, draft.text, repair, output)
            least = settings.confidence(way, self.precision)
            reason = "edited matches" if draft.way == "match" else "edited by the model"
            candidates.append(output._replace(probability=edited, reason=reason, least=least))
        if draft.old:
            reason = BY_RULE if {*repair.kinds} <= {RULE, SPELLING} else BY_LOOK_UP
            if draft.way == "match":
                reason = "matches"
            made = repair.text, chance, repair.is_all, to_do(repair.left)
            candidates.append(Proposal(*made, reason, repair.kinds, least))
        if len(candidates) > 1 and not is_first(edited, chance):
            candidates.reverse()
        yield from candidates
        if draft.way == "match" and every:
            left = self.repairer.unfollowed(draft.old, change.new)
            yield Proposal(draft.text, stated(chance, left), False, to_do(left), "matches")

    def written(self, unit: TranslationUnit, line: str) -> str:
        """Returns a line as text, with the spaces and line breaks at its ends that it needs."""
        ends = unit.source
        if unit.target.strip() and breaks(unit.target) == breaks(unit.source):
            kept = unit.old and with_ends("", unit.old) != with_ends("", unit.source)
            ends = unit.source if kept else unit.target
        return with_ends(to_text(line), ends)

    def lacking(
        self, document: BilingualFile, draft: FuzzyMatch, proposal: Proposal, *read: str
    ) -> str:
        """Returns why a text cannot be proposed, "" where it can; a repair in part may lack the
        code that the present text lacks.

        read: what else it was made from.
        """
        source, unit, text = draft.unit.source, draft.unit, proposal.text
        if not text.strip():
            return "without a word"
        if not (proposal.is_all or document.takes_parts):
            return "where a repair would follow only a part"
        fault = self.fault(draft, text)
        if fault and (proposal.is_all or fault != self.fault(draft, unit.target)):
            return fault
        if refusal := document.refusal(unit, text):
            return refusal
        terms = itertools.chain(*self.terms.values())
        if self.memory.made_up(text, source, unit.old, unit.target, draft.text, *read, *terms):
            return "with a word or an identifier that is made up"
        for translations in self.wanted(source):
            if not any(holds(text, to_text(term)) for term in translations):
                return "without a term"
        return ""

    def fault(self, draft: FuzzyMatch, text: str) -> str:
        """Returns which of its source's code a text has not as a program needs it, "" for none."""
        source, unit = draft.unit.source, draft.unit
        old, before = to_text(draft.old), to_text(draft.text)
        patterns = source, *unit.alternatives
        kinds = [code_mismatch(like, text, unit.printf, before) for like in patterns]
        if all(kinds):
            return f"with other {kinds[0]}"
        if not is_nested_like(source, text):
            return "with tags out of order"
        if not is_paired_like(text, source, before):
            return "with a bracket or a quotation mark alone"
        if not same_entities(text, source, old, before):
            return "with other entities or line breaks"
        if lost_code(text, source, old or source, before):
            return "without what source and draft share"
        return ""


def summary(report: Report) -> str:
    """Returns ``3 proposed (2 edited by the model, …), 1 kept (…), 0 left``."""
    parts = []
    for outcome in ("proposed", "kept", "left"):
        reasons = {why: count for (kind, why), count in report.items() if kind == outcome and count}
        part = f"{sum(reasons.values())} {outcome}"
        if reasons:
            part += f" ({', '.join(f'{reasons[why]} {why}' for why in sorted(reasons))})"
        parts.append(part)
    return ", ".join(parts)


def stripped(text: str) -> str:
    """Returns a text of a file as a line."""
    return to_line(text.strip())


def breaks(text: str) -> tuple[int, int]:
    """Counts the line breaks at both ends of a text; gettext wants those of the source."""
    start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return start.count("\n"), end.count("\n")


def holds(text: str, term: str) -> bool:
    """Returns whether a term stands in a text, upper case or lower, not inside a word."""
    return bool(places(text.casefold(), term.casefold()))
