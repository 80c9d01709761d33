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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lev_runtime.editor import Editor
from lev_runtime.errors import UserError, printable, require_share
from lev_runtime.io.text_files import read_bytes

from .formats.files import (
    READERS,
    Problems,
    files_in,
    folder_memory,
    language_of,
    read_document,
    read_lines,
    read_settings,
    replace_file,
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
    same_entities,
    same_placeholders,
    to_line,
    to_text,
    with_ends,
)
from .repair.repair import Repaired, Terms, repaired
from .repair.scripts import places

FOREIGN = 2  # times as many unknown pairs of words as on the validation part tell another project
NO_END = "\\ No newline at end of file"


class Draft(NamedTuple):
    """A unit of a file, what its text was made from, and how that is known.

    way: "kept" in the file, "found" in the memory, "unknown"; "match" where nothing stood there and
    the memory gives the draft, "exact" where it has the source as it is.
    """

    number: int
    unit: Unit
    old: str
    text: str
    way: str


class Report:
    """What became of the fuzzy translations of files: proposed, kept as they were, or left, and
    why."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def add(self, what: str, why: str) -> None:
        self.counts[what, why] += 1

    def said(self) -> str:
        """``3 proposed (2 edited by the model, …), 1 kept (…), 0 left``."""
        parts = []
        for what in ("proposed", "kept", "left"):
            reasons = {why: count for (kind, why), count in self.counts.items() if kind == what}
            why = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
            parts.append(f"{sum(reasons.values())} {what}" + (f" ({why})" if why else ""))
        return ", ".join(parts)


@dataclass
class Proposer:
    """What proposals for all files are made with.

    Attributes:
        language: that the memory translates into, "" where it is not known.
        precision: the least share of proposals that need fewer edits than what stands there.
        terms: of a glossary.
        learnt: what the model has learnt, where the memory has more.
        usual: what :meth:`memory.Memory.unknown` says of sources like those it has learnt.
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
        """The fuzzy units of a file that there is a draft for."""
        units = [(i, unit) for i, unit in enumerate(document.units) if unit.state == "fuzzy"]
        asked = []
        for index, unit in units:
            if unit.proposed:
                report.add("left", "have a proposal")
            elif unit.target.strip() and unit.old.strip() == unit.source.strip():
                report.add("kept", "of the same source")
            else:
                asked.append((index, unit))
        own = [pair for pair in asked if pair[1].target.strip()]
        empty = [pair for pair in asked if not pair[1].target.strip()]
        return [*self.own_drafts(own), *self.matches(empty, report)]

    def own_drafts(self, units: Sequence[tuple[int, Unit]]) -> list[Draft]:
        """What stands there, always; with what it was made from, where that is known."""
        lost = [pair for pair in units if not pair[1].old]
        texts = [to_line(unit.target.strip()) for _, unit in lost]
        sources = [to_line(unit.source.strip()) for _, unit in lost]
        olds = dict(zip((i for i, _ in lost), self.memory.translated_from(texts, sources)))
        drafts = []
        for index, unit in units:
            old = to_line(unit.old.strip()) or olds.get(index, "")
            way = "kept" if unit.old else "found" if old else "unknown"
            text = to_line(unit.target.strip())
            if way == "found" and old == to_line(unit.source.strip()):
                way, text = "exact", self.memory.translations[old]
            drafts.append(Draft(index, unit, old, text, way))
        return drafts

    def matches(self, units: Sequence[tuple[int, Unit]], report: Report) -> list[Draft]:
        """Where nothing stands: the match that the file has beside it, else the memory's best."""
        drafts = []
        sources = [to_line(unit.source.strip()) for _, unit in units]
        near = self.memory.matches(sources, 1, itself=True)
        for (index, unit), source, matches in zip(units, sources, near, strict=True):
            if matches and matches[0].old == source:
                drafts.append(Draft(index, unit, source, matches[0].draft, "exact"))
            elif unit.old and unit.draft:
                pair = to_line(unit.old.strip()), to_line(unit.draft.strip())
                drafts.append(Draft(index, unit, *pair, "match"))
            elif matches:
                drafts.append(Draft(index, unit, *matches[0][:2], "match"))
            else:
                report.add("left", "without a text and a match")
        return drafts

    # what is proposed -------------------------------------------------------------------------

    def proposals(self, document: Document, report: Report) -> dict[int, Proposal]:
        """By the index of a unit, what takes the place of its text."""
        drafts = self.drafts(document, report)
        changes = []
        for draft in drafts:
            new = to_line(draft.unit.source.strip())
            start = Repaired(draft.text, False)
            if draft.old:
                sign = self.memory.group_sign
                start = repaired(draft.old, new, draft.text, self.terms, sign)
            terms = [*itertools.chain(*self.wanted(draft.unit.source))]
            changes.append(Change(new, draft.old, start.text, terms, start.whole))
        edited: Sequence[Proposal | None] = [None] * len(changes)
        if self.has_learnt(document):
            threshold = self.settings.delete_threshold
            edited = propose(self.editor, changes, threshold, self.memory)
        proposals: dict[int, Proposal] = {}
        for draft, change, output in zip(drafts, changes, edited, strict=True):
            chosen, why = self.chosen(document, draft, change, output)
            report.add("kept" if chosen is None else "proposed", why)
            if chosen is not None:
                proposals[draft.number] = chosen
        return proposals

    def has_learnt(self, document: Document) -> bool:
        """Returns whether a file is of a project like the one that the model has learnt."""
        unknown = (self.learnt or self.memory).unknown(unit.source for unit in document.units)
        return unknown <= FOREIGN * self.usual

    def wanted(self, source: str) -> list[Sequence[str]]:
        """The glossary's translations of each term in a source that is no part of a longer one."""
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
        """What is proposed and why, None where what stands there stays.

        That is the model's output where there is one and it is sure enough, else the draft that
        was repaired by rule; either only if a program can use it, and all terms of the glossary are
        in it.
        """
        why = "not sure enough" if output else "of a project that the model has not learnt"
        if draft.way == "exact":
            candidates = [(Proposal(draft.text, 1.0), "translated so in the memory")]
        elif draft.way == "match":
            sure = output and self.settings.is_sure(change, output)
            candidates = [(output, "edited matches")] if output and sure else []
            text = change.draft if change.whole else draft.text
            candidates.append((Proposal(text, self.settings.rule["kept"]), "matches"))
        else:
            least = self.settings.confidence(draft.way, self.precision)
            sure = output and output.probability >= least
            candidates = [(output, "edited by the model")] if output and sure else []
            rate = self.settings.rule.get(draft.way, 0.0)
            if change.whole and (draft.way == "kept" or rate >= self.precision):
                candidates.append((Proposal(change.draft, rate or 1.0), "repaired by rule"))
        for proposal, reason in candidates:
            text = self.written(draft, proposal.text)
            if text == draft.unit.target:
                why = why if reason == "repaired by rule" else "as they are"
                continue
            lacking = self.lacking(document, draft, text, change.draft)
            if not lacking:
                return Proposal(text, proposal.probability), reason
            why = lacking
        return None, why

    def written(self, draft: Draft, line: str) -> str:
        """A line as text, with the spaces and line breaks at its ends that it has to have."""
        unit = draft.unit
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
        if not any(same_placeholders(one, text, unit.printf, before) for one in patterns):
            return "with other placeholders"
        if not is_nested_like(source, text):
            return "with tags out of order"
        if not same_entities(text, source, old, before):
            return "with other entities or line breaks"
        if lost_code(text, source, old or source, before):
            return "without what source and draft share"
        if refusal := document.refusal(draft.number, text):
            return refusal
        terms = itertools.chain(*self.terms.values())
        if self.memory.made_up(text, source, unit.old, unit.target, draft.text, *read, *terms):
            return "with a word or an identifier that is made up"
        has_all = all(
            any(holds(text, to_text(term)) for term in terms) for terms in self.wanted(source)
        )
        return "" if has_all else "without a term"


def proposer_of(args: argparse.Namespace, problems: Problems) -> Proposer:
    """The model, the memory and the settings of a WORK, and what else is asked for.

    Raises:
        UserError: one of them is not there.
    """
    language, terms = stored_language(args.work), read_terms(args.terms)
    settings, editor = settings_of(args.work), load(args.work)
    learnt = memory = Memory(stored_pairs(args.work))
    if args.memory:
        more, _ = folder_memory(args.memory, language, problems)
        memory = Memory([*more, *learnt.pairs])
    usual = learnt.unknown(source for (source,) in read_lines(args.work / "text/valid.new"))
    named = language, args.precision, terms, learnt, usual
    return Proposer(editor, memory, settings, *named)


def breaks(text: str) -> tuple[int, int]:
    """Line breaks at both ends of a text, which gettext wants to be those of the source."""
    start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return start.count("\n"), end.count("\n")


def holds(text: str, term: str) -> bool:
    """Whether a term stands in a text, upper case or lower, not inside a word."""
    return bool(places(text.casefold(), term.casefold()))


def stored_language(work: Path) -> str:
    """The language that the memory of a WORK translates into; "" where it is not known."""
    path = work / "memory.json"
    return str(read_settings(path).get("language", "")) if path.is_file() else ""


def diff(document: Document, before: bytes, after: bytes) -> str:
    """Two versions of a file as a unified diff."""
    name = printable(str(document.path))
    old, new = (
        re.findall(r"[^\n]*\n|[^\n]+", data.decode(document.encoding)) for data in (before, after)
    )
    lines = difflib.unified_diff(old, new, name, name)
    return "".join(line if line[-1] == "\n" else f"{line}\n{NO_END}\n" for line in lines)


def fill(path: Path, proposer: Proposer, args: argparse.Namespace, report: Report) -> str:
    """Writes the proposals of a file; returns what became of it.

    Raises:
        UserError: the file cannot be used, or is into another language than the memory.
    """
    before, own = read_bytes(str(path)), Report()
    document = read_document(path)
    language = language_of(document)
    if not same_language(language, proposer.language):
        raise UserError(f"{path} is {language}, and the memory {proposer.language}")
    if proposer.memory.is_reversed(unit.source for unit in document.units):
        raise UserError(f"{path}: its sources are in the language that the memory translates into: "
                        "prepare it with the languages the other way round")  # fmt: skip
    after = document.with_proposals(proposer.proposals(document, own))
    report.counts += own.counts
    if args.diff:
        print(diff(document, before, after), end="")
    target = target_of(path, args)
    if not (args.diff or args.dry_run) and (after != before or target != path):
        if read_bytes(str(path)) != before:
            raise UserError(f"{path} has changed in the meantime: run the command again")
        replace_file(target, after, args.backup)
    return own.said()


def target_of(path: Path, args: argparse.Namespace) -> Path:
    """Where a file is written: below the output, if that is a folder or is for one."""
    output: Path | None = args.output
    if output is None:
        return path
    if args.place.is_dir():
        return output / path.relative_to(args.place)
    return output / path.name if output.is_dir() else output


def paths_of(args: argparse.Namespace) -> list[Path]:
    """The files to fill; those of an output within their folder are none.

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
    """The command ``propose``."""
    require_share("--precision", args.precision, "proposals that need fewer edits")
    paths = paths_of(args)
    problems, report = Problems(), Report()
    proposer = proposer_of(args, problems)
    for number, path in enumerate(paths, start=1):
        try:
            said = fill(path, proposer, args, report)
        except UserError as error:
            if len(paths) == 1 and path == args.place:
                raise
            problems.name(error, path)
            continue
        if len(paths) > 1 or not args.diff:
            print(f"[{number}/{len(paths)}] {printable(str(path))}: {said}", flush=True)
    problems.say()
    if len(paths) > 1:
        done = len(paths) - problems.count
        broken = f", {problems.count} left alone" if problems.count else ""
        print(f"{done} of {len(paths)} files{broken}: {report.said()}")
    if args.dry_run or args.diff:
        print("nothing was written")
    return 2 if problems.count else 0
