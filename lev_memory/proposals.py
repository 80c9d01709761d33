"""Proposals of a trained model for fuzzy matches, and how sure it has to be."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from lev_runtime.errors import UserError
from lev_runtime.folder import is_export
from lev_runtime.refine.editor import Editor
from lev_runtime.text.markup import escape_markup, write_mark

from .formats.files import read_settings, require_work, write_json
from .formats.units import Proposal
from .memory import Memory, similarity
from .repair.codes import with_right_codes
from .repair.lines import to_line
from .repair.repeats import without_double_marks, without_repeats
from .repair.scripts import places
from .train import EXPORTED, export

FEWEST = 10  # outcomes that say anything
USUAL = 0.7  # the least similarity at which translators' tools show a match
Outcome = tuple[float, bool]  # the probability of a proposal, and whether it is better
WAYS = ("kept", "found", "unknown")  # the older source: in the file, found in the memory, not


class Change(NamedTuple):
    """A new source, the older one ("": not known), the draft: the older one's translation,
    repaired; and the terms that stay where they are in it. Lines, as :func:`lines.to_line` makes
    them."""

    new: str
    old: str
    draft: str
    terms: Sequence[str] = ()

    def marked(self) -> str:
        """Returns the draft with the marks of its terms."""
        spans: list[tuple[int, int]] = []
        for term in self.terms:
            spans += places(self.draft, term)
        text, position = "", 0
        for start, end in sorted(spans):
            if start >= position:
                text += escape_markup(self.draft[position:start])
                text += write_mark(self.draft[start:end], "keep")
                position = end
        return text + escape_markup(self.draft[position:])

    @property
    def beyond_usual(self) -> float:
        """Returns how much more similar its sources are than :data:`USUAL`, at least 0."""
        return max(similarity(self.old, self.new) - USUAL, 0.0)


@dataclass
class Settings:
    """The settings that ``evaluate`` has found best on the validation part.

    Attributes:
        delete_threshold, max_iter: of the model.
        min_confidence: the least probability of an output, for the fewest edits; otherwise the
            draft repaired by rule stays.
        outcomes: for each way to an older source, the validation sentences that the model changed:
            is one better, it needs fewer edits than the draft as it was, and no more than the draft
            repaired by rule.
        caution: how much ``min_confidence`` rises with similarity beyond the usual one: the more
            similar the sources, the more of the draft is right.
    """

    delete_threshold: float = 0.9
    min_confidence: float = 0.0
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    caution: float = 0.0
    max_iter: int = 10

    def is_sure(self, change: Change, output: Proposal) -> bool:
        """Returns whether the model's output probably needs fewer edits than the repaired draft."""
        return self.margin(change, output) >= self.min_confidence

    def margin(self, change: Change, output: Proposal) -> float:
        """Returns the number that is compared with :attr:`min_confidence`."""
        return output.probability - self.caution * change.beyond_usual

    def confidence(self, way: str, precision: float) -> float:
        """Returns the least probability of proposals that are right often enough, infinite if none
        is.

        precision: the least share of proposals that need fewer edits than what stands there.
        """
        return least_confidence(self.outcomes.get(way, ()), precision)


def least_confidence(outcomes: Sequence[Outcome], precision: float) -> float:
    """Returns the lowest probability at and above which so large a share of the outcomes is better,
    of :data:`FEWEST` at least; infinite if there is none."""
    lowest, better = math.inf, 0
    ordered = sorted(outcomes, key=lambda outcome: -outcome[0])
    for count, (probability, good) in enumerate(ordered, start=1):
        better += good
        last = count == len(ordered) or ordered[count][0] < probability
        if last and count >= FEWEST and better >= precision * count:
            lowest = probability
    return lowest


def load(work: Path) -> Editor:
    """Loads the model that ``train`` has trained; one of an older version is exported first."""
    require_work(work)
    if not is_export(work / EXPORTED):
        export(work)
    return Editor(work / EXPORTED)


def settings_of(work: Path) -> Settings:
    """Reads the settings of a WORK.

    Raises:
        UserError: it has none, or those of an older version.
    """
    require_work(work)
    path = work / "settings.json"
    if not path.is_file():
        raise UserError(f"{work} has no settings: lev-memory evaluate {work} chooses them")
    settings = Settings()
    for name, value in read_settings(path).items():
        setattr(settings, name, value)  # one of an older version is not read
    if not settings.outcomes:
        raise UserError(
            f"{path} does not say how sure the model is: lev-memory evaluate {work} does"
        )
    return settings


def save_settings(work: Path, settings: Settings) -> None:
    write_json(work / "settings.json", asdict(settings))


def propose(
    editor: Editor,
    changes: Sequence[Change],
    delete_threshold: float,
    memory: Memory,
    max_iter: int = 10,
) -> list[Proposal]:
    """Returns the model's outputs; the draft, with probability 0, if a line is too long for it.

    A word or a mark that only the model has written twice in a row stands once, and an identifier
    that it has misspelt is the source's.
    """
    proposals = [Proposal(change.draft, 0.0) for change in changes]
    fitting = {
        i: change
        for i, change in enumerate(changes)
        if editor.fits(change.new, change.draft, change.old)
    }
    traces = editor.edit(
        [change.new for change in fitting.values()],
        [change.marked() for change in fitting.values()],
        old_sources=[change.old for change in fitting.values()],
        delete_threshold=delete_threshold,
        max_iter=max_iter,
        batch_size=32,
        markup=True,
        history=False,
    )
    for (i, change), trace in zip(fitting.items(), traces, strict=True):
        read = change.new, change.draft
        text = without_double_marks(without_repeats(trace.text, memory.repeats, *read), *read)
        text = with_right_codes(text, change.new, memory.codes, change.old, change.draft)
        proposals[i] = Proposal(text, math.exp(min(trace.score, 0.0)))
    return proposals


def read_terms(path: Path | None) -> dict[str, list[str]]:
    """Reads a glossary: source, tab, translation on each line, further fields unread. A source
    that has several lines has several translations.

    Raises:
        UserError: it cannot be read, or a line has no tab.
    """
    terms: dict[str, list[str]] = {}
    if path is None:
        return terms
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--terms {path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        source, target = [*map(str.strip, line.split("\t")), ""][:2]
        if not (source and target):
            raise UserError(f"--terms {path}:{number}: write source<TAB>translation")
        translations = terms.setdefault(to_line(source), [])
        if to_line(target) not in translations:
            translations.append(to_line(target))
    return terms
