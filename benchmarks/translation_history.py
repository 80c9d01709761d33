"""Proposals of a translation memory beside what translators wrote, from two versions of a package.

OLD and NEW have the .po files of one language under the same names, MERGED is what a translator of
NEW finds (msgmerge is of gettext), PROPOSED what ``tm.py propose WORK MERGED -o PROPOSED`` writes.

cd NEW && for f in $(find . -name '*.po'); do
    mkdir -p MERGED/${f%/*} && msgmerge --previous -qo MERGED/$f OLD/$f $f; done
python benchmarks/translation_history.py MERGED PROPOSED NEW
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "examples/translation_memory"))
from evaluate import TER, edits  # noqa: E402
from files import files_in, read_document  # noqa: E402
from lines import to_line  # noqa: E402
from repair import repair  # noqa: E402

Texts = tuple[str, ...]  # of an entry: old and new source, draft, proposal, what became of it


def history(*folders: Path) -> list[Texts]:
    """The fuzzy entries that are translated in NEW, each once; those with plural forms are out."""
    entries: dict[Texts, None] = {}
    for path in files_in(folders[0], [".po"]):
        name = path.relative_to(folders[0])
        before, after, new = (read_document(folder / name).units for folder in folders)
        written = {unit.source: unit.target for unit in new if unit.state == "translated"}
        for unit, one in zip(before, after, strict=True):
            if unit.old and unit.form is None and unit.source in written:
                texts = unit.old, unit.source, unit.target, one.target, written[unit.source]
                entries[tuple(map(to_line, texts))] = None
    return [*entries]


def row(name: str, texts: list[str], drafts: list[str], written: list[str]) -> str:
    """A row of the table: TER, and how many changed texts need fewer edits than before."""
    counts = [TER.statistics(*pair) for pair in zip(texts, written)]
    ter = 100 * sum(count[0] for count in counts) / sum(count[1] for count in counts)
    changes = [texts for texts in zip(drafts, texts, written) if texts[0] != texts[1]]
    gains = [edits(draft, target) - edits(text, target) for draft, text, target in changes]
    fewer, more = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return f"| {name} | {ter:.1f} | {fewer} | {len(gains) - fewer - more} | {more} |"


if __name__ == "__main__":
    entries = history(*map(Path, sys.argv[1:]))
    olds, sources, drafts, proposals, written = map(list, zip(*entries))
    repaired = [*map(repair, olds, sources, drafts)]
    print(f"| {len(entries)} entries | TER | fewer edits | as many | more |\n|---|---|---|---|---|")
    for name, texts in zip(("kept", "rule", "propose"), (drafts, repaired, proposals)):
        print(row(name, texts, drafts, written))
