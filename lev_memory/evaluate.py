"""Choose settings on the validation part, and score the test part by similarity.

"identifiers": words that the new source has, the older one lacks, and the reference has as they
are; how many of them the outputs have.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lev_runtime.errors import counted, require_share
from lev_runtime.refine.editor import Editor

from .formats.files import stored_language, stored_pairs
from .formats.units import Proposal
from .memory import Memory
from .prepare import Row, Say, part_of
from .proposals import (
    RATHER,
    WAYS,
    ModelSettings,
    Outcome,
    SourceChange,
    features_of,
    is_first,
    load,
    propose,
    save_settings,
)
from .repair.confidence import Weights, fitted, probability
from .repair.entries import Repair, Repairer
from .repair.repair import Category, counting
from .repair.text import to_text
from .scores import bleu, corpus, edits, ter

THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.5)
ITERATIONS = (1, 2, 10)  # at most: each costs as long as the first
EDGES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
SAME = 0.003  # edits a word, 0.3 TER: ten iterations take 1.2 times as long as two for less
USUAL = 0.7  # the least similarity at which translators' tools show a match
How = tuple[float, int]  # the deletion threshold, and the most iterations
Rows = Sequence[Row]


class Case(NamedTuple):
    """Holds what may be proposed for a row: the text, features of how sure it is, the edits that it
    saves, and the words of the right text. A text with a made-up word is never proposed."""

    text: str
    features: dict[str, float]
    saved: float
    words: int
    is_possible: bool

    @property
    def outcome(self) -> tuple[dict[str, float], bool]:
        return self.features, self.saved > 0


Cases = Sequence[tuple[Case, Case]]  # of each row the model's output, and the repair


class Judged(NamedTuple):
    """The text that would be proposed for a row."""

    probability: float
    case: Case


def weights_of(cases: Cases) -> list[Weights]:
    """Returns the weights of the probabilities of both."""
    return [
        fitted([pair[side].outcome for pair in cases if pair[side].is_possible]) for side in (0, 1)
    ]


def judged(cases: Cases, weights: Sequence[Weights]) -> list[Judged]:
    """Returns for each row the model's output if it is rather better than the draft as it was, else
    the more probable of both; probability 0 where neither is possible."""
    chosen = []
    for pair in cases:
        edited, repaired = (
            Judged(probability(case.features, known) if case.is_possible else 0.0, case)
            for case, known in zip(pair, weights)
        )
        better = is_first(edited.probability, repaired.probability)
        chosen.append(edited if better else repaired)
    return chosen


def gain(cases: Sequence[Judged]) -> float:
    """Returns the edits that are saved by what is rather better."""
    return sum(each.case.saved for each in cases if each.probability > RATHER)


def best(tried: Mapping[How, Cases], half: slice) -> tuple[How, list[Weights]]:
    """Returns the way to decode that saves the most edits in a half of the rows, with the fewest
    iterations that save as many, and the weights of that half."""
    weights = {how: weights_of(cases[half]) for how, cases in tried.items()}
    gains = {how: gain(judged(cases[half], weights[how])) for how, cases in tried.items()}
    words = sum(case.words for case, _ in next(iter(tried.values()))[half])
    enough = max(gains.values()) - SAME * words
    fewest = min(most for (_, most), saved in gains.items() if saved >= enough)
    how = max((how for how in tried if how[1] == fewest), key=gains.__getitem__)
    return how, weights[how]


def crossed(tried: Mapping[How, Cases]) -> list[Outcome]:
    """Returns the outcomes of each half of the rows, by what is best for the other one."""
    halves, outcomes = (slice(0, None, 2), slice(1, None, 2)), list[Outcome]()
    for half, other in zip(halves, halves[::-1]):
        how, weights = best(tried, other)
        for chance, case in judged(tried[how][half], weights):
            if chance:
                outcomes.append((round(chance, 4), case.saved > 0))
    return outcomes


class Evaluation:
    """Decodes the validation and the test part with the model of a memory."""

    def __init__(
        self, editor: Editor, memory: Memory, category: Category, say: Say = lambda line: None
    ) -> None:
        self.editor, self.memory, self.category, self.say = editor, memory, category, say
        self.repairer = Repairer(memory.all_pairs)

    def cases(self, name: str, rows: Rows, hows: Iterable[How]) -> dict[How, Cases]:
        """Repairs and decodes rows, in each way, and says so."""
        repairs = [self.repairer.repair(row.old, row.new, row.raw, self.category) for row in rows]
        changes = [
            SourceChange(row.new, row.old, repair.eager) for row, repair in zip(rows, repairs)
        ]
        tried = dict[How, Cases]()
        for threshold, most in hows:
            described = f"threshold {threshold}, iterations at most {most}"
            self.say(f"{name}: decoding {counted(len(rows), 'sentence')}, {described}")
            outputs = propose(self.editor, changes, threshold, self.memory, most)
            entries = zip(rows, repairs, changes, outputs, strict=True)
            tried[threshold, most] = [self.pair(*entry) for entry in entries]
        return tried

    def pair(
        self, row: Row, repair: Repair, change: SourceChange, output: Proposal
    ) -> tuple[Case, Case]:
        """Returns both texts that may be proposed for a row."""
        edited, repaired = features_of(change, row.raw, repair, output)
        return self.case(row, output.text, edited), self.case(row, repair.text, repaired)

    def case(self, row: Row, text: str, features: dict[str, float]) -> Case:
        """Returns a text that may be proposed."""
        is_possible = text != row.raw and not self.memory.made_up(text, row.new, row.old, row.raw)
        saved = edits(row.raw, row.tgt) - edits(text, row.tgt)
        return Case(text, features, saved, len(row.tgt.split()), is_possible)

    def tune(self, rows: Rows) -> ModelSettings:
        """Returns the settings that save the most edits, of equals the quickest and most careful,
        and how often their proposals are better, for each way to an older source."""
        hows = [(threshold, most) for most in ITERATIONS for threshold in THRESHOLDS]
        tried = self.cases("valid", rows, hows)
        how, _ = best(tried, slice(None))
        asked = [(row.new, row.raw) for row in rows]
        olds = self.memory.translated_from(asked, itself=False)
        traced = [row._replace(old=old) for row, old in zip(rows, olds, strict=True) if old]
        unknown = [row._replace(old="") for row in rows]
        settings = ModelSettings(*how)
        for way, part in zip(WAYS, (rows, traced, unknown)):
            if part is not rows:
                tried = self.cases(f"valid, older source {way}", part, [how])
            settings.weights[way] = weights_of(tried[how])
            settings.outcomes[way] = crossed(tried)
        return settings


def sure_outcomes(outcomes: Sequence[Outcome], least: float) -> str:
    """Returns in words how many outcomes of at least a probability are better, and how many of them
    were to be."""
    above = [outcome for outcome in outcomes if outcome[0] >= least]
    if not above:
        return "no proposal"
    stated, better = np.mean(above, axis=0)
    return f"{counted(len(above), 'proposal')}, {stated:.1%} stated, {better:.1%} better"


def identifiers(rows: Rows, texts: Sequence[str]) -> float:
    """Returns the percentage of the identifiers that are right."""
    right = total = 0
    for row, text in zip(rows, texts, strict=True):
        wanted = {*row.new.split()} & {*row.tgt.split()} - {*row.old.split()}
        total += len(wanted)
        right += len(wanted & {*text.split()})
    return 100 * right / max(total, 1)


def by_similarity(rows: Rows) -> Iterator[tuple[str, list[int]]]:
    """Yields the classes of similarity, with the places of their rows."""
    similarities = [float(row.sim) for row in rows]
    for low, high in [*itertools.pairwise(EDGES), (USUAL, EDGES[-1])]:
        places = [i for i, similarity in enumerate(similarities) if low <= similarity < high]
        yield f"{low:g}–{min(high, 1):g}", places
    yield "all", [*range(len(rows))]


def scores(rows: Rows, texts: Sequence[str], places: Sequence[int]) -> str:
    """Returns TER / BLEU of the texts at some places."""
    if not places:
        return "–"
    outputs = [to_text(texts[i]) for i in places]
    references = [to_text(rows[i].tgt) for i in places]
    return " / ".join(f"{corpus(metric, outputs, references):.1f}" for metric in (ter(), bleu()))


def table(rows: Rows, systems: dict[str, list[str]]) -> str:
    """Returns TER / BLEU of each system by similarity, in Markdown."""
    classes = [*by_similarity(rows)]
    heads = [f"{name} ({len(places)})" for name, places in classes]
    lines = [["TER / BLEU", *heads, "exact %", "identifiers %"]]
    lines.append(["---"] * len(lines[0]))
    for name, texts in systems.items():
        cells = [scores(rows, texts, places) for _, places in classes]
        exact = sum(text == row.tgt for text, row in zip(texts, rows, strict=True))
        shares = 100 * exact / len(rows), identifiers(rows, texts)
        lines.append([name, *cells, *(f"{percent:.1f}" for percent in shares)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def evaluate(work: Path, precision: float = 0.8, say: Say = lambda line: None) -> str:
    """Chooses and stores the settings of a WORK; returns the scores of the test part as a table."""
    require_share("--precision", precision)
    category = counting(stored_language(work))
    evaluation = Evaluation(load(work), Memory(stored_pairs(work)), category, say)
    settings, test = evaluation.tune(part_of(work, "valid")), part_of(work, "test")
    save_settings(work, settings)
    how = settings.delete_threshold, settings.max_iter
    say(f"valid: threshold {how[0]}, iterations at most {how[1]}")
    for way in WAYS:
        known, least = settings.outcomes[way], settings.confidence(way, precision)
        sure = f"{sure_outcomes(known, least)}; probability {least:.3f} and more"
        say(f"valid, older source {way}: {sure}")
    cases = evaluation.cases("test", test, [how])[how]
    chosen = judged(cases, settings.weights["kept"])
    outcomes = [(chance, case.saved > 0) for chance, case in chosen if chance]
    better = sure_outcomes(outcomes, settings.confidence("kept", precision))
    say(f"test, older source kept: {better}, of {len(test)}")
    texts = {
        "no edits": [row.raw for row in test],
        "repair": [repair.text for _, repair in cases],
        "LevT": [output.text for output, _ in cases],
        "LevT or repair": [
            case.text if chance > RATHER else row.raw for row, (chance, case) in zip(test, chosen)
        ],
    }
    return table(test, texts)
