"""Choose settings on the validation part, and score the test part by similarity.

"identifiers": words that the new source has, the older one lacks, and the reference has as they
are; how many of them the outputs have.
"""

import argparse
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

from lev_runtime.editor import Editor

from .formats.files import read_lines, stored_pairs
from .formats.units import Proposal
from .memory import Memory
from .prepare import Row
from .proposals import (
    FEWEST,
    USUAL,
    WAYS,
    Change,
    Settings,
    load,
    propose,
    save_settings,
)
from .repair.lines import to_text
from .repair.repair import repair, repaired
from .scores import bleu, ter

THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.5)
CAUTIONS = (2.0, 1.5, 1.0, 0.5, 0.0)
EDGES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)


def part_of(work: Path, part: str) -> list[Row]:
    """The rows of a part."""
    paths = (work / f"text/{part}.{side}" for side in Row._fields)
    return [Row(*row) for row in read_lines(*paths)]


def edits(text: str, target: str) -> float:
    """Returns the edits of TER from a text to its reference."""
    return ter().statistics(to_text(text), to_text(target))[0]


def told(rows: Sequence[Row]) -> list[Change]:
    """What the model reads where the older sources are known."""
    return [Change(row.new, row.old, row.draft) for row in rows]


def decoded(
    part: str, editor: Editor, changes: Sequence[Change], limit: float, memory: Memory
) -> list[Proposal]:
    """Returns the model's outputs, and prints which are being made."""
    print(f"{part}: decoding {len(changes)} sentences, threshold {limit}", flush=True)
    return propose(editor, changes, limit, memory)


def tune(editor: Editor, rows: Sequence[Row], memory: Memory) -> tuple[Settings, list[Proposal]]:
    """The settings with the fewest edits on the validation part, of equals the most careful; and
    the model's outputs at that threshold."""
    before = [edits(row.draft, row.tgt) for row in rows]
    changes = told(rows)
    outputs = {limit: decoded("valid", editor, changes, limit, memory) for limit in THRESHOLDS}
    best, fewest = Settings(THRESHOLDS[0], math.inf), sum(before)
    for threshold, proposals in outputs.items():
        after = [edits(output.text, row.tgt) for output, row in zip(proposals, rows)]
        gains = [old - new for old, new in zip(before, after)]
        for caution in CAUTIONS:
            settings = Settings(threshold, caution=caution)
            margins = [*map(settings.margin, changes, proposals)]
            settings.min_confidence, gain = least_margin(margins, gains)
            if sum(before) - gain < fewest:
                best, fewest = settings, sum(before) - gain
    said = f"threshold {best.delete_threshold}, probability {best.min_confidence:.3f}"
    said += f", caution {best.caution:g}"
    print(f"valid: {sum(before):g} edits from the repaired drafts, {fewest:g} at {said}")
    return best, outputs[best.delete_threshold]


def least_margin(margins: Sequence[float], gains: Sequence[float]) -> tuple[float, float]:
    """The margin at and above which the gains sum to the most, and that sum; infinite and 0 where
    no sum is above 0."""
    best, most, total = math.inf, 0.0, 0.0
    ordered = sorted(zip(margins, gains, strict=True), reverse=True)
    for margin, tied in itertools.groupby(ordered, key=lambda pair: pair[0]):
        total += sum(gain for _, gain in tied)  # these sentences too are left to the model
        if total > most:
            best, most = margin, total
    return best, most


def outcomes(
    rows: Sequence[Row], proposals: Sequence[Proposal], drafts: Sequence[str], memory: Memory
) -> list[tuple[float, bool]]:
    """Of sentences that are changed: the probability, and whether they are better now.

    Proposals with a made-up word or identifier are not made.

    That is, they need fewer edits than the draft as it was, and no more than the one that was
    repaired by rule, of ``drafts``, which is proposed otherwise.
    """
    changed = []
    for row, one, draft in zip(rows, proposals, drafts, strict=True):
        read = row.new, row.old, row.raw, row.draft
        if one.text != row.raw and not memory.made_up(one.text, *read):
            after = edits(one.text, row.tgt)
            better = after < edits(row.raw, row.tgt) and after <= edits(draft, row.tgt)
            changed.append((round(one.probability, 4), better))
    return changed


def rule_share(rows: Sequence[Row], drafts: Sequence[str], memory: Memory) -> float:
    """The share of repaired drafts that are better; 0 where they are too few to tell."""
    known = outcomes(rows, [Proposal(draft, 1.0) for draft in drafts], drafts, memory)
    return sum(better for _, better in known) / len(known) if len(known) >= FEWEST else 0.0


def calibrate(
    editor: Editor, rows: Sequence[Row], memory: Memory, settings: Settings,
    proposals: Sequence[Proposal],
) -> None:  # fmt: skip
    """Notes in the settings how often proposals are better, for each way to an older source."""
    raw, new = [row.raw for row in rows], [row.new for row in rows]
    olds = memory.translated_from(raw, new, itself=False)
    found = [(row, old) for row, old in zip(rows, olds, strict=True) if old]
    changes = {
        "found": [Change(row.new, old, repaired(old, row.new, row.raw).text) for row, old in found],
        "unknown": [Change(row.new, "", row.raw) for row in rows],
    }
    threshold = settings.delete_threshold
    whole = [repair(row.old, row.new, row.raw) for row in rows]
    settings.outcomes["kept"] = outcomes(rows, proposals, whole, memory)
    for way, asked in (("found", [row for row, _ in found]), ("unknown", rows)):
        drafts = [change.draft for change in changes[way]]
        outputs = decoded(f"valid, older source {way}", editor, changes[way], threshold, memory)
        settings.outcomes[way] = outcomes(asked, outputs, drafts, memory)
    settings.rule["kept"] = rule_share(rows, whole, memory)
    drafts = [repair(old, row.new, row.raw) for row, old in found]
    settings.rule["found"] = rule_share([row for row, _ in found], drafts, memory)


def say_precision(settings: Settings, precision: float) -> None:
    """How many validation sentences get proposals that are right often enough."""
    for way in WAYS:
        known, least = settings.outcomes[way], settings.confidence(way, precision)
        above = [better for probability, better in known if probability >= least]
        counted = f"{sum(above)} of {len(above)} better, {len(known)} changed by the model"
        print(f"valid, older source {way}: {counted}; probability {least:.3f} and more")
    rates = ", ".join(f"{100 * rate:.1f} % ({way})" for way, rate in settings.rule.items())
    print(f"valid, repaired by rule: better {rates}")


def identifiers(rows: Sequence[Row], texts: Sequence[str]) -> float:
    """Percent of the identifiers that are right."""
    right = total = 0
    for row, text in zip(rows, texts, strict=True):
        wanted = {*row.new.split()} & {*row.tgt.split()} - {*row.old.split()}
        total += len(wanted)
        right += len(wanted & {*text.split()})
    return 100 * right / max(total, 1)


def table(rows: Sequence[Row], systems: dict[str, list[str]]) -> str:
    """TER / BLEU of each system by similarity, in Markdown."""
    bins = {
        f"{low:g}–{min(high, 1):g}": [
            i for i, row in enumerate(rows) if low <= float(row.sim) < high
        ]
        for low, high in zip(EDGES, EDGES[1:])
    }
    bins[f"{USUAL:g}–1"] = [i for i, row in enumerate(rows) if float(row.sim) >= USUAL]
    bins["all"] = [*range(len(rows))]
    heads = [f"{name} ({len(places)})" for name, places in bins.items()]
    lines = [["TER / BLEU", *heads, "exact %", "identifiers %"]]
    lines.append(["---"] * len(lines[0]))
    for name, texts in systems.items():
        cells = [name]
        for places in bins.values():
            outputs = [to_text(texts[i]) for i in places]
            references = [to_text(rows[i].tgt) for i in places]
            scores = (score.corpus(outputs, references) for score in (ter(), bleu()))
            cells.append(" / ".join(f"{score:.1f}" for score in scores) if places else "–")
        exact = sum(text == row.tgt for text, row in zip(texts, rows, strict=True))
        cells += [f"{100 * exact / len(rows):.1f}", f"{identifiers(rows, texts):.1f}"]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def fewest_edits(
    rows: Sequence[Row], proposals: Sequence[Proposal], settings: Settings
) -> list[str]:
    """The model's outputs where it is sure enough, else the repaired drafts."""
    return [
        output.text if settings.is_sure(change, output) else change.draft
        for change, output in zip(told(rows), proposals)
    ]


def run(args: argparse.Namespace) -> int:
    """The command ``evaluate``."""
    work: Path = args.work
    editor = load(work)
    valid, test = part_of(work, "valid"), part_of(work, "test")
    memory = Memory(stored_pairs(work))
    settings, proposals = tune(editor, valid, memory)
    calibrate(editor, valid, memory, settings, proposals)
    save_settings(work, settings)
    say_precision(settings, args.precision)
    drafts = [row.draft for row in test]
    systems = {"no edits": [row.raw for row in test], "repaired by rule": drafts}
    outputs = decoded("test", editor, told(test), settings.delete_threshold, memory)
    least = settings.confidence("kept", args.precision)
    proposed = outcomes(test, outputs, drafts, memory)
    sure = [outcome for outcome in proposed if outcome[0] >= least]
    better = sum(outcome[1] for outcome in sure)
    print(f"test, older source kept: {better} of {len(sure)} better, of {len(test)}")
    systems["LevT"] = fewest_edits(test, outputs, settings)
    print(table(test, systems))
    return 0
