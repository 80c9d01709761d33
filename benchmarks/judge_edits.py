"""Which edits of a text are corrections: a sheet for a reader who is not told whose edits they are.

    python benchmarks/judge_edits.py write SHEET TEXT… --path CHECKPOINT --lexicon WORDS
    python benchmarks/judge_edits.py count SHEET

No list of errors says how a corrector does on text as it comes. The first command has TEXT read by
the corrector, and by symspellpy with the words of ``--lexicon``, and writes all their edits to
SHEET in a random order, each once, with the words around it and a column for the verdict. Who made
which edit stands in SHEET.key. A reader puts ``r`` (right: an error became what was meant), ``w``
(wrong: what was right is changed) or ``n`` (neither: an error is another error now, or both will
do) into the first column. The second command counts them; it does so once more for symspellpy as
if words with a capital or an apostrophe were kept from it: nearly all its edits of these are wrong.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT, ROOT / "benchmarks", ROOT / "examples" / "spelling_and_ocr"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from rapidfuzz.distance import Levenshtein  # noqa: E402
from real_words import plain  # noqa: E402
from score_typos import symspell  # noqa: E402

from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.inference.correction.lexicon import Lexicon  # noqa: E402
from lev_plugins.io.text_files import read_lines  # noqa: E402

VERDICTS = {"r": "right", "w": "wrong", "n": "neither"}
AROUND = 4  # words shown on both sides of an edit
HEAD = "verdict\tbefore\tafter\ttext"
Edit = tuple[int, int, int, str]  # line, first word, behind its last word, what is written


def edits(lines: Sequence[str], outputs: Sequence[str]) -> Iterator[Edit]:
    """What was written in the place of which words; one word for one is an edit by itself."""
    for number, (line, output) in enumerate(zip(lines, outputs, strict=True)):
        before, after = line.split(), output.split()
        blocks = [(0, 0, 0), *Levenshtein.editops(before, after).as_matching_blocks()]
        for (one, other, size), (start, first, _) in zip(blocks, blocks[1:]):
            gone, written = before[one + size : start], after[other + size : first]
            if len(gone) == len(written):
                yield from ((number, place, place + 1, word)
                            for place, word in enumerate(written, one + size))  # fmt: skip
            else:
                yield number, one + size, start, " ".join(written)


def small(line: str, edit: Edit) -> bool:
    """Whether an edit is of words without capitals and apostrophes: no name, no abbreviation."""
    return not any(one.isupper() or one in "'’" for word in line.split()[slice(*edit[1:3])]
                   for one in word)  # fmt: skip


def shown(line: str, edit: Edit) -> str:
    """The row of an edit: what was there, what is written, and the text around it."""
    _, start, end, written = edit
    words = line.split()
    before = " ".join(words[start:end])
    around = [*words[max(0, start - AROUND) : start], f"[{before}]", *words[end : end + AROUND]]
    return "\t".join(["", before, written, " ".join(around)])


def write(sheet: Path, lines: Sequence[str], found: Mapping[str, list[Edit]], seed: int) -> int:
    """The sheet, and beside it the systems that made each edit.

    Returns:
        the number of rows.
    """
    makers: dict[Edit, list[str]] = {}
    for name, some in found.items():
        for edit in some:
            makers.setdefault(edit, []).append(name)
    rows = sorted(makers)
    random.Random(seed).shuffle(rows)
    text = "\n".join([HEAD, *(shown(lines[edit[0]], edit) for edit in rows)])
    sheet.write_text(text + "\n", encoding="utf-8")
    words = sum(len(line.split()) for line in lines)
    key = {"words": words, "systems": list(found), "rows": [makers[edit] for edit in rows]}
    key_of(sheet).write_text(json.dumps(key) + "\n", encoding="utf-8")
    return len(rows)


def key_of(sheet: Path) -> Path:
    """Where it stands who made which edit."""
    return sheet.with_name(sheet.name + ".key")


def count(sheet: Path) -> dict[str, dict[str, float]]:
    """For each system its edits, and how many are right, wrong and neither.

    found, %: of all edits in the sheet that are right, so of the errors that any system corrects.

    Raises:
        UserError: a row without a verdict, or another number of rows than were written.
    """
    key = json.loads(key_of(sheet).read_text(encoding="utf-8"))
    rows = [line.split("\t")[0] for line in list(read_lines(sheet))[1:]]
    if len(rows) != len(key["rows"]):
        raise UserError(f"{sheet} has {len(rows)} rows, {len(key['rows'])} were written")
    for number, verdict in enumerate(rows, start=2):
        if verdict not in VERDICTS:
            raise UserError(f"{sheet}, line {number}: the verdict is {verdict!r}: put r, w or n")
    right = rows.count("r")
    counted = {}
    for name in key["systems"]:
        of = Counter(one for one, makers in zip(rows, key["rows"]) if name in makers)
        counted[name] = {
            "edits": of.total(),
            **{word: of[letter] for letter, word in VERDICTS.items()},
            "right, %": 100 * of["r"] / max(of.total(), 1),
            "found, %": 100 * of["r"] / max(right, 1),
            "wrong in 10,000 words": 1e4 * of["w"] / key["words"],
        }
    return counted


def main(argv: Sequence[str] | None = None) -> int:
    """Write a sheet or count what a reader put into it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    add = steps.add_parser("write", help="have a text read, and write the sheet").add_argument
    add("sheet", type=Path)
    add("text", nargs="+", help="files of sentences as people wrote them, one a line")
    add("--path", required=True, help="checkpoint of a corrector, with corrector.json beside it")
    add("--data", help="folder with the dictionaries")
    add("--lexicon", required=True, help="words and counts, for symspellpy")
    add("--min-confidence", type=float, nargs="*", default=(), metavar="P",
        help="the corrector once more at each of these thresholds")  # fmt: skip
    add("--seed", type=int, default=1, help="of the order of the rows (default 1)")
    add = steps.add_parser("count", help="count the verdicts").add_argument
    add("sheet", type=Path)
    add("--json", type=Path, metavar="FILE", help="also write the counts there")
    args = parser.parse_args(argv)
    if args.step == "write":
        from lev_plugins.inference.correction import Corrector  # slow to import

        if args.sheet.exists():
            raise UserError(f"{args.sheet} is there already, perhaps with verdicts: name another")
        model = Corrector.from_pretrained(args.path, args.data)
        lines = [plain(line) for path in args.text for line in read_lines(path)]
        peer = list(edits(lines, symspell(Lexicon.read(args.lexicon).counts)(lines)))
        found = {
            "symspellpy": peer,
            "symspellpy, small letters": [one for one in peer if small(lines[one[0]], one)],
            "this model": list(edits(lines, [one.text for one in model.correct(lines)])),
        }
        for least in args.min_confidence:
            sure = [one.text for one in model.correct(lines, min_confidence=least)]
            found[f"this model, {least}"] = list(edits(lines, sure))
        rows = write(args.sheet, lines, found, args.seed)
        print(f"{args.sheet}: {rows:,} edits; put r, w or n into the first column")
        return 0
    counted = count(args.sheet)
    names = list(next(iter(counted.values())))
    print("".join([f"{'':26}", *(f"{name:>{len(name) + 3}}" for name in names)]))
    for system, row in counted.items():
        cells = [f"{row[name]:>{len(name) + 3},.{1 if isinstance(row[name], float) else 0}f}"
                 for name in names]  # fmt: skip
        print("".join([f"{system:26}", *cells]))
    if args.json:
        args.json.write_text(json.dumps({"systems": counted}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run_cli(main))
