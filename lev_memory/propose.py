"""Fill the fuzzy translations of files with proposals.

The draft is the translation that stands there. What it was made from is the older source that the
file keeps (``msgmerge --previous``), else what the memory knows of this text, else unknown. A
proposal takes its place only where it needs fewer edits in so large a share of like cases; what
stood there is kept in a comment.
"""

import argparse
import difflib
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lev_runtime.errors import UserError, printable, require_share
from lev_runtime.io.text_files import read_bytes
from lev_runtime.refine.editor import Editor

from .formats.files import (
    READERS,
    Problems,
    files_in,
    folder_memory,
    language_of,
    read_document,
    read_lines,
    replace_file,
    stored_language,
    stored_pairs,
)
from .formats.units import (
    Document,
    Proposal,
    Unit,
    same_language,
)
from .memory import Memory
from .proposals import (
    Change,
    Settings,
    load,
    propose,
    read_terms,
    settings_of,
)
from .repair.codes import lost_code
from .repair.lines import (
    is_nested_like,
    other_kind,
    same_entities,
    to_line,
    to_text,
    with_ends,
)
from .repair.plurals import Category, counting
from .repair.repair import Terms, repaired
from .repair.scripts import places

FOREIGN = 2  # times as many unknown pairs of words as on the validation part tell another project
BY_RULE = "repaired by rule"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
NO_END = "\\ No newline at end of file"


Report = Counter[tuple[str, str]]  # "proposed", "kept" or "left", and why
Chosen = tuple[Proposal, str]  # what may be proposed, and how it was made


class Draft(NamedTuple):
    """A unit of a file, what its text was made from, and how that is known.

    way: "kept" in the file, "found" in the memory, "unknown"; "match" if nothing stood there and
    the memory gives the draft, "exact" if it has the source as it is.
    """

    unit: Unit
    old: str
    text: str
    way: str


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


@dataclass
class Proposer:
    """Makes the proposals for all files.

    Attributes:
        language: that the memory translates into, "" if it is not known.
        precision: the least share of proposals that need fewer edits than what stands there.
        terms: of a glossary.
        learnt: what the model has learnt, if the memory has more.
        usual: :meth:`memory.Memory.unknown` of sources like those it has learnt.
    """

    editor: Editor
    memory: Memory
    settings: Settings
    language: str = ""
    precision: float = 0.8
    terms: Terms = field(default_factory=dict)
    learnt: Memory | None = None
    usual: float = math.inf

    # what is edited ---------------------------------------------------------------------------

    def drafts(self, document: Document, report: Report) -> list[Draft]:
        """Returns the fuzzy units of a file that there is a draft for."""
        own, empty = [], []
        for unit in document.units:
            if unit.state != "fuzzy":
                continue
            if unit.proposed:
                report["left", "have a proposal"] += 1
            elif not unit.target.strip():
                empty.append(unit)
            elif unit.old.strip() == unit.source.strip():
                report["kept", "of the same source"] += 1
            else:
                own.append(unit)
        drafts = [*self.own_drafts(own), *self.matches(empty)]
        report["left", "without a text and a match"] += len(own) + len(empty) - len(drafts)
        return drafts

    def own_drafts(self, units: Sequence[Unit]) -> Iterator[Draft]:
        """Yields the texts that stand there, with the sources that they were made from."""
        lost = [unit for unit in units if not unit.old]
        texts = [stripped(unit.target) for unit in lost]
        olds = self.memory.translated_from(texts, [stripped(unit.source) for unit in lost])
        for unit in units:
            text = stripped(unit.target)
            if unit.old:
                yield Draft(unit, stripped(unit.old), text, "kept")
                continue
            old = next(olds)
            if old == stripped(unit.source):
                yield Draft(unit, old, self.memory.translations[old], "exact")
            else:
                yield Draft(unit, old, text, "found" if old else "unknown")

    def matches(self, units: Sequence[Unit]) -> Iterator[Draft]:
        """Yields matches for empty units: that of the file, else the best of the memory."""
        sources = [stripped(unit.source) for unit in units]
        near = self.memory.matches(sources, 1, itself=True)
        for unit, source, matches in zip(units, sources, near, strict=True):
            old, draft, _ = matches[0] if matches else ("", "", 0)
            way = "exact" if old == source else "match"
            if way == "match" and unit.old and unit.draft:
                old, draft = stripped(unit.old), stripped(unit.draft)
            if old:
                yield Draft(unit, old, draft, way)

    # what is proposed -------------------------------------------------------------------------

    def proposals(self, document: Document, report: Report) -> dict[Unit, Proposal]:
        """Returns the proposals for a file."""
        drafts = self.drafts(document, report)
        category = counting(language_of(document) or self.language, document.form_of)
        changes = [self.change(draft, category) for draft in drafts]
        outputs: Sequence[Proposal | None] = [None] * len(changes)
        if self.has_learnt(document):
            threshold = self.settings.delete_threshold
            outputs = propose(self.editor, changes, threshold, self.memory)
        proposals: dict[Unit, Proposal] = {}
        for draft, change, output in zip(drafts, changes, outputs, strict=True):
            proposal, why = self.chosen(document, draft, change, output)
            report["proposed" if proposal else "kept", why] += 1
            if proposal:
                proposals[draft.unit] = proposal
        return proposals

    def change(self, draft: Draft, category: Category) -> Change:
        """Returns what the model reads of a draft."""
        source, sign = draft.unit.source, self.memory.group_sign
        new = stripped(source)
        start = repaired(draft.old, new, draft.text, self.terms, sign, category)
        terms = [*itertools.chain(*self.wanted(source))]
        return Change(new, draft.old, start.text, terms, start.is_all)

    def has_learnt(self, document: Document) -> bool:
        """Returns whether a file is of a project like the one that the model has learnt."""
        unknown = (self.learnt or self.memory).unknown(unit.source for unit in document.units)
        return unknown <= FOREIGN * self.usual

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

    def chosen(
        self, document: Document, draft: Draft, change: Change, output: Proposal | None
    ) -> tuple[Proposal | None, str]:
        """Returns what is proposed and why, None if the present text stays.

        Only what a program can use is proposed, with all terms of the glossary.
        """
        why = "not sure enough" if output else "of a project that the model has not learnt"
        for proposal, reason in self.candidates(draft, change, output):
            text = self.written(draft.unit, proposal.text)
            if text == draft.unit.target:
                why = why if reason == BY_RULE else "as they are"
                continue
            lacking = self.lacking(document, draft, text, change.draft)
            if not lacking:
                return Proposal(text, proposal.probability), reason
            why = lacking
        return None, why

    def candidates(self, draft: Draft, change: Change, output: Proposal | None) -> Iterator[Chosen]:
        """Yields the model's output if it is sure enough, then the draft repaired by rule."""
        settings = self.settings
        if draft.way == "exact":
            yield Proposal(draft.text, 1.0), "translated so in the memory"
        elif draft.way == "match":
            if output and settings.is_sure(change, output):
                yield output, "edited matches"
            text = change.draft if change.is_all else draft.text
            yield Proposal(text, settings.rule["kept"]), "matches"
        else:
            least = settings.confidence(draft.way, self.precision)
            if output and output.probability >= least:
                yield output, "edited by the model"
            rate = settings.rule.get(draft.way, 0.0)
            if change.is_all and (draft.way == "kept" or rate >= self.precision):
                yield Proposal(change.draft, rate or 1.0), BY_RULE

    def written(self, unit: Unit, line: str) -> str:
        """Returns a line as text, with the spaces and line breaks at its ends that it needs."""
        ends = unit.source
        if unit.target.strip() and breaks(unit.target) == breaks(unit.source):
            kept = unit.old and with_ends("", unit.old) != with_ends("", unit.source)
            ends = unit.source if kept else unit.target
        return with_ends(to_text(line), ends)

    def lacking(self, document: Document, draft: Draft, text: str, *read: str) -> str:
        """Returns why a text cannot be proposed, "" where it can.

        read: what else it was made from.
        """
        source, unit = draft.unit.source, draft.unit
        if not text.strip():
            return "without a word"
        patterns = source, *unit.alternatives
        old, before = to_text(draft.old), to_text(draft.text)
        kinds = [other_kind(like, text, unit.printf, before) for like in patterns]
        if all(kinds):
            return f"with other {kinds[0]}"
        if not is_nested_like(source, text):
            return "with tags out of order"
        if not same_entities(text, source, old, before):
            return "with other entities or line breaks"
        if lost_code(text, source, old or source, before):
            return "without what source and draft share"
        if refusal := document.refusal(unit, text):
            return refusal
        terms = itertools.chain(*self.terms.values())
        if self.memory.made_up(text, source, unit.old, unit.target, draft.text, *read, *terms):
            return "with a word or an identifier that is made up"
        for translations in self.wanted(source):
            if not any(holds(text, to_text(term)) for term in translations):
                return "without a term"
        return ""


def proposer_of(args: argparse.Namespace, problems: Problems) -> Proposer:
    """Loads the model, the memory and the settings of a WORK, and what else is asked for.

    Raises:
        UserError: one of them is not there.
    """
    language, terms = stored_language(args.work) or args.language or "", read_terms(args.terms)
    settings, editor = settings_of(args.work), load(args.work)
    learnt = memory = Memory(stored_pairs(args.work))
    if args.memory:
        more, _ = folder_memory(args.memory, language, problems)
        memory = Memory([*more, *learnt.pairs])
    usual = learnt.unknown(source for (source,) in read_lines(args.work / "text/valid.new"))
    named = language, args.precision, terms, learnt, usual
    return Proposer(editor, memory, settings, *named)


def breaks(text: str) -> tuple[int, int]:
    """Counts the line breaks at both ends of a text; gettext wants those of the source."""
    start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return start.count("\n"), end.count("\n")


def holds(text: str, term: str) -> bool:
    """Returns whether a term stands in a text, upper case or lower, not inside a word."""
    return bool(places(text.casefold(), term.casefold()))


def diff(document: Document, before: bytes, after: bytes) -> str:
    """Returns two versions of a file as a unified diff."""
    name = printable(str(document.path))
    old, new = (data.decode(document.encoding) for data in (before, after))
    lines = difflib.unified_diff(_LINE.findall(old), _LINE.findall(new), name, name)
    return "".join(line if line[-1] == "\n" else f"{line}\n{NO_END}\n" for line in lines)


def fill(path: Path, proposer: Proposer, args: argparse.Namespace, report: Report) -> str:
    """Writes the proposals of a file; returns what became of it.

    Raises:
        UserError: the file cannot be used, or is into another language than the memory.
    """
    before, own = read_bytes(str(path)), Counter[tuple[str, str]]()
    document = read_document(path)
    language = language_of(document)
    if not same_language(language, proposer.language):
        raise UserError(f"{path} is {language}, and the memory {proposer.language}")
    if proposer.memory.is_reversed(unit.source for unit in document.units):
        raise UserError(f"{path}: its sources are in the language that the memory translates into: "
                        "prepare it with the languages the other way round")  # fmt: skip
    after = document.with_proposals(proposer.proposals(document, own))
    report.update(own)
    if args.diff:
        print(diff(document, before, after), end="")
    target = target_of(path, args)
    if not (args.diff or args.dry_run) and (after != before or target != path):
        if read_bytes(str(path)) != before:
            raise UserError(f"{path} has changed in the meantime: run the command again")
        replace_file(target, after, args.backup)
    return summary(own)


def target_of(path: Path, args: argparse.Namespace) -> Path:
    """Returns where a file is written: below the output, if that is a folder or is for one."""
    output: Path | None = args.output
    if output is None:
        return path
    if args.place.is_dir():
        return output / path.relative_to(args.place)
    return output / path.name if output.is_dir() else output


def paths_of(args: argparse.Namespace) -> list[Path]:
    """Returns the files to fill, without those of an output within their folder.

    Raises:
        UserError: there is none, or the output is a file and they are in a folder.
    """
    place, output = args.place.resolve(), args.output and args.output.resolve()
    paths = files_in(args.place, READERS)
    if output is None or not place.is_dir():
        return paths
    if output.exists() and not output.is_dir():
        raise UserError(f"-o {args.output} is a file, and {args.place} a folder: name a folder")
    is_within = place in output.parents
    return [path for path in paths if not (is_within and output in path.resolve().parents)]


def run(args: argparse.Namespace) -> int:
    """Runs the command ``propose``."""
    require_share("--precision", args.precision)
    paths = paths_of(args)
    problems, report = Problems(), Counter[tuple[str, str]]()
    proposer = proposer_of(args, problems)
    for number, path in enumerate(paths, start=1):
        try:
            outcome = fill(path, proposer, args, report)
        except UserError as error:
            if len(paths) == 1 and path == args.place:
                raise
            problems.name(error, path)
            continue
        if len(paths) > 1 or not args.diff:
            print(f"[{number}/{len(paths)}] {printable(str(path))}: {outcome}", flush=True)
    problems.say()
    if len(paths) > 1:
        done = len(paths) - problems.count
        broken = f", {problems.count} left alone" if problems.count else ""
        print(f"{done} of {len(paths)} files{broken}: {summary(report)}")
    if args.dry_run or args.diff:
        print("nothing was written")
    return 2 if problems.count else 0
