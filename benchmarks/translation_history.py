"""Proposals of a translation memory next to what translators wrote, from two versions of a package.

OLD and NEW have the .po files of one language, MERGED is what a translator of NEW finds (msgmerge
is of gettext), PROPOSED what ``lev-memory propose WORK MERGED -o PROPOSED`` writes.

cd NEW && for f in $(find . -name '*.po'); do
    mkdir -p MERGED/${f%/*} && msgmerge --previous -qo MERGED/$f OLD/$f $f; done
python benchmarks/translation_history.py MERGED PROPOSED NEW
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from lev_memory.formats.files import files_in, read_document
from lev_memory.repair.lines import to_line
from lev_memory.repair.repair import repair
from lev_memory.scores import edits, ter


def history(*folders: Path) -> Iterator[tuple[str, ...]]:
    """Yields what translators wrote, the draft, the repaired draft and the proposal; of entries
    with an older source and without plural forms."""
    for path in files_in(folders[0], [".po"]):
        names = (folder / path.relative_to(folders[0]) for folder in folders)
        before, after, new = (read_document(name).units for name in names)
        written = {unit.source: unit.target for unit in new if unit.state == "translated"}
        for unit, filled in zip(before, after, strict=True):
            if unit.old and unit.form is None and unit.source in written:
                old, source, draft = map(to_line, (unit.old, unit.source, unit.target))
                texts = draft, repair(old, source, draft), to_line(filled.target)
                yield to_line(written[unit.source]), *texts


if __name__ == "__main__":
    written, *systems = zip(*{*history(*map(Path, sys.argv[1:]))})
    counts = [[*map(edits, texts, written)] for texts in systems]
    print(f"{len(written)} entries: TER, changed, of them with fewer edits, with more")
    for name, texts, after in zip(("kept", "rule", "propose"), systems, counts):
        changed = sum(map(str.__ne__, systems[0], texts))
        fewer, more = (sum(map(how, counts[0], after)) for how in (float.__gt__, float.__lt__))
        print(f"{name}: {ter().corpus(texts, written):.1f}, {changed}, {fewer}, {more}")
