"""Choose settings on the validation part, and score the test part by similarity.

"identifiers": words that the new source has, the older one lacks, and the reference has as they
are; how many of them the outputs have.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lev_runtime.errors import require_share
from lev_runtime.refine.editor import Editor

from .formats.files import read_lines, stored_language, stored_pairs
from .formats.units import Proposal
from .memory import Memory
from .prepare import Row, Say
from .proposals import (
    USUAL,
    WAYS,
    Change,
    Outcome,
    Settings,
    load,
    propose,
    save_settings,
)
from .repair.entries import Repairer
from .repair.lines import to_text
from .repair.plurals import Category, counting
from .scores import bleu, edits, ter

THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.5)
ITERATIONS = (1, 2, 10)  # at most: each costs as long as the first
CAUTIONS = (2.0, 1.5, 1.0, 0.5, 0.0)
EDGES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
Rows = Sequence[Row]
Proposals = Sequence[Proposal]


def part_of(work: Path, part: str) -> list[Row]:
    """Returns the rows of a part."""
    paths = (work / f"text/{part}.{side}" for side in Row._fields)
    return [Row(*row) for row in read_lines(*paths)]


class Evaluation:
    """Decodes the validation and the test part with the model of a memory."""

    def __init__(
        self, editor: Editor, memory: Memory, category: Category, say: Say = lambda line: None
    ) -> None:
        self.editor, self.memory, self.category, self.say = editor, memory, category, say
        self.repairer = Repairer(memory.all_pairs)

    def decoded(self, part: str, rows: Rows, settings: Settings) -> list[Proposal]:
        """Returns the model's outputs, and says which are being made."""
        threshold, most = settings.delete_threshold, settings.max_iter
        how = f"threshold {threshold}, iterations at most {most}"
        self.say(f"{part}: decoding {len(rows)} sentences, {how}")
        return propose(self.editor, [*map(change_of, rows)], threshold, self.memory, most)

    def tune(self, rows: Rows) -> tuple[Settings, list[Proposal]]:
        """Returns the settings with the fewest edits, of equals the quickest and most careful, and
        the model's outputs by these."""
        changes = [change_of(row) for row in rows]
        before = [edits(row.draft, row.tgt) for row in rows]
        best, most = Settings(THRESHOLDS[0], math.inf, max_iter=1), 0.0
        outputs: list[Proposal] = []
        for iterations, threshold in itertools.product(ITERATIONS, THRESHOLDS):
            tried = Settings(threshold, max_iter=iterations)
            proposals = self.decoded("valid", rows, tried)
            outputs = outputs or proposals
            after = [edits(output.text, row.tgt) for output, row in zip(proposals, rows)]
            gains = [old - new for old, new in zip(before, after)]
            for caution in CAUTIONS:
                settings = replace(tried, caution=caution)
                margins = [*map(settings.margin, changes, proposals)]
                settings.min_confidence, gain = least_margin(margins, gains)
                if gain > most:
                    best, most, outputs = settings, gain, proposals
        chosen = f"threshold {best.delete_threshold}, iterations at most {best.max_iter}"
        chosen += f", probability {best.min_confidence:.3f}"
        counts = f"{sum(before):g} edits from the repaired drafts, {sum(before) - most:g}"
        self.say(f"valid: {counts} at {chosen}, caution {best.caution:g}")
        return best, outputs

    def calibrate(self, rows: Rows, settings: Settings, kept: Proposals) -> None:
        """Stores how often proposals are better, for each way to an older source.

        kept: the model's outputs with the older sources.
        """
        asked = [row.raw for row in rows], [row.new for row in rows]
        olds = self.memory.translated_from(*asked, itself=False)
        parts = {
            "kept": rows,
            "found": [self.with_old(*pair) for pair in zip(rows, olds, strict=True) if pair[1]],
            "unknown": [self.with_old(row, "") for row in rows],
        }
        for way, part in parts.items():
            drafts = [row.draft for row in part]
            label = f"valid, older source {way}"
            outputs = kept
            if way != "kept":
                outputs = self.decoded(label, part, settings)
            settings.outcomes[way] = self.outcomes(part, outputs, drafts)

    def with_old(self, row: Row, old: str) -> Row:
        """Returns a row with another older source, and the draft repaired by that."""
        draft = self.repairer.repair(old, row.new, row.raw, self.category).text
        return row._replace(old=old, draft=draft)

    def outcomes(self, rows: Rows, outputs: Proposals, drafts: Sequence[str]) -> list[Outcome]:
        """Returns the outcomes of sentences that are changed: the probability, and if it is better.

        Better are fewer edits than the draft as it was, and no more than the one that was repaired
        by rule, of ``drafts``, which is proposed otherwise. Proposals with a made-up word or
        identifier are not made.
        """
        changed = []
        for row, output, draft in zip(rows, outputs, drafts, strict=True):
            text, read = output.text, (row.new, row.old, row.raw, row.draft)
            if text == row.raw or self.memory.made_up(text, *read):
                continue
            after, old, by_rule = (edits(each, row.tgt) for each in (text, row.raw, draft))
            better = after < old and after <= by_rule
            changed.append((round(output.probability, 4), better))
        return changed


def change_of(row: Row) -> Change:
    """Returns what the model reads of a row."""
    return Change(row.new, row.old, row.draft)


def least_margin(margins: Sequence[float], gains: Sequence[float]) -> tuple[float, float]:
    """Returns the margin at and above which the gains sum to the most, and that sum; infinite and
    0 if no sum is above 0."""
    best, most, total = math.inf, 0.0, 0.0
    ordered = sorted(zip(margins, gains, strict=True), reverse=True)
    for margin, tied in itertools.groupby(ordered, key=lambda pair: pair[0]):
        total += sum(gain for _, gain in tied)  # these sentences too are left to the model
        if total > most:
            best, most = margin, total
    return best, most


def sure_outcomes(outcomes: Sequence[Outcome], least: float) -> str:
    """Returns how many outcomes of at least a probability are better, in words."""
    above = [better for probability, better in outcomes if probability >= least]
    return f"{sum(above)} of {len(above)} better"


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
    return " / ".join(f"{metric.corpus(outputs, references):.1f}" for metric in (ter(), bleu()))


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
    valid, test = part_of(work, "valid"), part_of(work, "test")
    settings, proposals = evaluation.tune(valid)
    evaluation.calibrate(valid, settings, proposals)
    save_settings(work, settings)
    for way in WAYS:
        known, least = settings.outcomes[way], settings.confidence(way, precision)
        counts = f"{sure_outcomes(known, least)}, {len(known)} changed by the model"
        say(f"valid, older source {way}: {counts}; probability {least:.3f} and more")
    drafts = [row.draft for row in test]
    outputs = evaluation.decoded("test", test, settings)
    better = sure_outcomes(
        evaluation.outcomes(test, outputs, drafts), settings.confidence("kept", precision)
    )
    say(f"test, older source kept: {better}, of {len(test)}")
    edited = [
        output.text if settings.is_sure(change_of(row), output) else row.draft
        for row, output in zip(test, outputs, strict=True)
    ]
    raw = [row.raw for row in test]
    return table(test, {"no edits": raw, "repaired by rule": drafts, "LevT": edited})
