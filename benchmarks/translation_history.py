"""Proposals of a translation memory beside what translators wrote, from two versions of a package.

OLD and NEW have the .po files of one language, MERGED is what a translator of NEW finds (msgmerge
is of gettext), PROPOSED what ``tm.py propose WORK MERGED -o PROPOSED`` writes.

cd NEW && for f in $(find . -name '*.po'); do
    mkdir -p MERGED/${f%/*} && msgmerge --previous -qo MERGED/$f OLD/$f $f; done
python benchmarks/translation_history.py MERGED PROPOSED NEW
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "examples/translation_memory"))
from evaluate import TER  # noqa: E402
from files import files_in, read_document  # noqa: E402
from lines import to_line  # noqa: E402
from repair import repair  # noqa: E402


def history(*folders: Path) -> Iterator[tuple[str, ...]]:
    """Yields what translators wrote, the draft, the repaired draft and the proposal; of entries
    with an older source and without plural forms."""
    for path in files_in(folders[0], [".po"]):
        names = (folder / path.relative_to(folders[0]) for folder in folders)
        before, after, new = (read_document(name).units for name in names)
        written = {unit.source: unit.target for unit in new if unit.state == "translated"}
        for unit, one in zip(before, after, strict=True):
            if unit.old and unit.form is None and unit.source in written:
                read = [to_line(text) for text in (unit.old, unit.source, unit.target)]
                outcome = to_line(written[unit.source])
                yield outcome, read[2], repair(*read), to_line(one.target)


if __name__ == "__main__":
    written, *systems = zip(*{*history(*map(Path, sys.argv[1:]))})
    words = sum(TER.statistics(text, text)[1] for text in written)
    edits = [[TER.statistics(*pair)[0] for pair in zip(texts, written)] for texts in systems]
    print(f"| {len(written)} entries | TER | fewer edits | as many | more |")
    for name, texts, counts in zip(("kept", "rule", "propose"), systems, edits):
        rows = zip(systems[0], texts, edits[0], counts)
        gains = Counter(
            (old > new) - (old < new) for draft, text, old, new in rows if draft != text
        )
        ter = 100 * sum(counts) / words
        print(f"| {name} | {ter:.1f} | {gains[1]} | {gains[0]} | {gains[-1]} |")
