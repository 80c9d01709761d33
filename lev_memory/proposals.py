"""Proposals of a trained model for fuzzy matches, and how sure it has to be."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from lev_runtime.errors import UserError
from lev_runtime.folder import is_export
from lev_runtime.refine.editor import Editor
from lev_runtime.text.markup import write_marks

from .formats.files import (
    EXPORTED,
    read_lines,
    read_settings,
    require_work,
    stored_pairs,
    write_json,
)
from .formats.units import BilingualFile, Proposal
from .memory import Memory, similarity
from .repair.confidence import Weights, log_odds, lowest, probability
from .repair.entries import Repair
from .repair.invented import with_right_codes, without_repeats
from .repair.text import places, to_line

FOREIGN = 2  # times as many unknown pairs of words as on the validation part tell another project
RATHER = 0.5  # probability from which on the model's output comes before a repair
Outcome = tuple[float, bool]  # the probability of a proposal, and whether it is better
WAYS = ("kept", "found", "unknown")  # the older source: in the file, found in the memory, not


class SourceChange(NamedTuple):
    """A new source, the older one ("": not known), the draft: the older one's translation,
    repaired; the terms that stay where they are in it, and those that it lacks. Lines, as
    :func:`text.to_line` makes them."""

    new: str
    old: str
    draft: str
    terms: Sequence[str] = ()
    lacking: Sequence[str] = ()

    def marked(self) -> str:
        """Returns the draft with the marks of its terms."""
        spans = sorted(span for term in self.terms for span in places(self.draft, term))
        marks, position = list[tuple[int, int, str]](), 0
        for start, end in spans:
            if start >= position:
                marks.append((start, end, "keep"))
                position = end
        return write_marks(self.draft, marks)


@dataclass
class ModelSettings:
    """The settings that ``evaluate`` has found best on the validation part.

    Attributes:
        delete_threshold, max_iter: of the model.
        weights: for each way to an older source those of the probabilities that a model's output,
            and a repair, need fewer edits than the draft as it was.
        outcomes: for each way the probability of what would be proposed of the validation part,
            stated by one half of it for the other, and whether it is better.
    """

    delete_threshold: float = 0.9
    max_iter: int = 10
    weights: dict[str, list[Weights]] = field(default_factory=dict)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)

    def stated(
        self, way: str, change: SourceChange, draft: str, repair: Repair, output: Proposal
    ) -> list[float]:
        """Returns the probabilities of a model's output and of a repair."""
        both = features_of(change, draft, repair, output)
        return [probability(each, weights) for each, weights in zip(both, self.weights[way])]

    def confidence(self, way: str, precision: float) -> float:
        """Returns the lowest probability of a proposal, see :func:`confidence.lowest`.

        precision: the least share of proposals that need fewer edits than what stands there.
        """
        return lowest((chance for chance, _ in self.outcomes.get(way, ())), precision)


def features_of(
    change: SourceChange, draft: str, repair: Repair, output: Proposal
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns what tells how sure a model's output is, and a repair.

    draft: as it was.
    """
    repairs = log_odds(repair.probability) if repair.text != draft else 0.0
    like = Levenshtein.normalized_similarity(draft.split(), output.text.split())
    edited = {
        "score": math.log(max(output.probability, 1e-9)),
        "similarity": similarity(change.old, change.new),
        "repair": repairs,
        "no repair": repair.text == draft,
        "as the repair": output.text == repair.text,
        "as the draft": like,
    }
    return edited, {"repair": repairs, "part": not repair.is_all}


def is_first(edited: float, repaired: float) -> bool:
    """Returns whether a model's output comes before a repair, by their probabilities: it saves more
    edits than a repair that is surer."""
    return edited >= min(repaired, RATHER)


def load(work: Path) -> Editor:
    """Loads the model that ``train`` has trained; one of an older version is exported first."""
    require_work(work)
    if not is_export(work / EXPORTED):
        from .train import export  # needs what a training needs

        export(work)
    return Editor(work / EXPORTED)


def settings_of(work: Path) -> ModelSettings:
    """Reads the settings of a WORK.

    Raises:
        UserError: it has none, or those of an older version.
    """
    require_work(work)
    path = work / "settings.json"
    if not path.is_file():
        raise UserError(f"{work} has no settings: lev-memory evaluate {work} chooses them")
    stored = read_settings(path)  # those of an older version are not read
    settings = ModelSettings(
        **{name: stored[name] for name in vars(ModelSettings()) if name in stored}
    )
    if not settings.weights:
        raise UserError(
            f"{path} does not say how sure the model is: lev-memory evaluate {work} does"
        )
    return settings


def save_settings(work: Path, settings: ModelSettings) -> None:
    write_json(work / "settings.json", asdict(settings))


@dataclass
class Model:
    """A model, and which project it has learnt.

    Attributes:
        learnt: the memory that it was trained on.
        usual: :meth:`memory.Memory.unknown` of sources like those.
    """

    editor: Editor
    settings: ModelSettings
    learnt: Memory
    usual: float = math.inf

    @classmethod
    def load(cls, work: Path) -> "Model":
        """Loads the model of a WORK.

        Raises:
            UserError: it has none, or no settings.
        """
        settings, editor = settings_of(work), load(work)
        learnt = Memory(stored_pairs(work))
        usual = learnt.unknown(source for (source,) in read_lines(work / "text/valid.new"))
        return cls(editor, settings, learnt, usual)

    def has_learnt(self, document: BilingualFile) -> bool:
        """Returns whether a file is of a project like the one that it has learnt."""
        unknown = self.learnt.unknown(unit.source for unit in document.units)
        return unknown <= FOREIGN * self.usual


def propose(
    editor: Editor,
    changes: Sequence[SourceChange],
    delete_threshold: float,
    memory: Memory,
    max_iter: int = 10,
) -> list[Proposal]:
    """Returns the model's outputs; the draft, with probability 0, if a line is too long for it.

    A word that only the model has written twice in a row stands once, and an identifier
    that it has misspelt is the source's.
    """
    proposals = [Proposal(change.draft, 0.0) for change in changes]
    fitting = {
        i: change
        for i, change in enumerate(changes)
        if editor.fits(change.new, " ".join([change.draft, *change.lacking]), change.old)
    }
    traces = editor.edit(
        [change.new for change in fitting.values()],
        [change.marked() for change in fitting.values()],
        old_sources=[change.old for change in fitting.values()],
        terms=[list(filter(editor.knows, change.lacking)) for change in fitting.values()],
        delete_threshold=delete_threshold,
        max_iter=max_iter,
        batch_size=32,
        markup=True,
        history=False,
    )
    for (i, change), trace in zip(fitting.items(), traces, strict=True):
        text = without_repeats(trace.text, memory.repeats, change.new, change.draft)
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
