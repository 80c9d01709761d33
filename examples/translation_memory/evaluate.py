"""Choose settings on the validation part, and score the test part by similarity.

    python examples/translation_memory/evaluate.py WORK [OUTPUT]

The settings are those with the fewest edits of TER on the validation part; WORK/settings.json gets
them. OUTPUT is what fairseq-generate printed of the test part for another model. "identifiers":
words that the new source has, the older one lacks, and the reference has as they are; how many of
them the outputs have.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from memory import to_text
from prepare import Row, read
from proposals import Change, Settings, load, propose

from lev_plugins import LevenshteinEditor
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.printed import read_printed
from lev_plugins.metrics.corpus import Metric, add_up, bleu, ter

THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.5)
EDGES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
USUAL = 0.7  # the least similarity at which translators' tools show a match
TER, BLEU = ter(normalized=True, case_sensitive=True), bleu()


def part_of(work: Path, part: str) -> tuple[list[Row], list[Change]]:
    """A part, and what the model reads of it."""
    rows = [Row(*row) for row in read(*(work / f"text/{part}.{side}" for side in Row._fields))]
    return rows, [Change(row.new, row.old, row.draft) for row in rows]


def counts(metric: Metric, text: str, target: str) -> Sequence[float]:
    """A sentence's statistics; of TER the first one is its edits."""
    return metric.statistics(to_text(text), to_text(target))


def tune(editor: LevenshteinEditor, work: Path) -> Settings:
    """The settings with the fewest edits on the validation part; of equals the most careful."""
    rows, changes = part_of(work, "valid")
    before = [counts(TER, row.draft, row.tgt)[0] for row in rows]
    best, fewest = Settings(1.0, 1.0), sum(before)
    for threshold in THRESHOLDS:
        found = propose(editor, changes, Settings(threshold))
        edits = [counts(TER, one.text, row.tgt)[0] for one, row in zip(found, rows)]
        total = sum(before)
        order = sorted(range(len(rows)), key=lambda i: -found[i].probability)
        for i in order:  # one sentence more is left to the model
            total += edits[i] - before[i]
            if total < fewest:
                best, fewest = Settings(threshold, found[i].probability), total
    print(f"valid: {sum(before):g} edits from the repaired drafts, {fewest:g} with {best}")
    return best


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
    heads = [f"{name} ({len(some)})" for name, some in bins.items()]
    lines = [["TER / BLEU", *heads, "exact %", "identifiers %"]]
    lines.append(["---"] * len(lines[0]))
    for name, texts in systems.items():
        cells = [name]
        for some in bins.values():
            pairs = [(texts[i], rows[i].tgt) for i in some]
            found = (m.score(add_up(m, (counts(m, *one) for one in pairs))) for m in (TER, BLEU))
            cells.append(" / ".join(f"{one:.1f}" for one in found) if pairs else "–")
        exact = sum(text == row.tgt for text, row in zip(texts, rows, strict=True))
        cells += [f"{100 * exact / len(rows):.1f}", f"{identifiers(rows, texts):.1f}"]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Choose settings, then score by similarity.")
    parser.add_argument("work", metavar="WORK", type=Path, help="folder of prepare.py, train.sh")
    parser.add_argument("output", metavar="OUTPUT", nargs="?", help="of another model")
    args = parser.parse_args()
    editor = load(args.work)
    settings = tune(editor, args.work)
    (args.work / "settings.json").write_text(json.dumps(settings._asdict()) + "\n", "utf-8")
    rows, changes = part_of(args.work, "test")
    drafts = [row.draft for row in rows]
    systems = {"no edits": [row.raw for row in rows], "repaired by rule": drafts}
    if args.output:  # the draft stays where a line was too long for the model
        found = read_printed(args.output).outputs
        systems["transformer_concat"] = [found.get(i, one) for i, one in enumerate(drafts)]
    systems["LevT"] = [one.text for one in propose(editor, changes, settings)]
    print(table(rows, systems))


if __name__ == "__main__":
    run_cli(main)
