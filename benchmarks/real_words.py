"""Real-word errors: words written for others that exist (then for than), in right text of yours.

    python benchmarks/real_words.py TEXT… --path CHECKPOINT --confusions SETS --lexicon WORDS

TEXT has right sentences. A quarter of the words that SETS has are put in the place of one another,
and the corrector reads that, with SETS and without; so does symspellpy with the corrector's words
(``--lexicon``). Printed are how many of these words are right afterwards, and how many others
became wrong. Then the text is read as it came: ``--show`` prints the words that only
the sets change, with what stands around them, since right text holds such errors, too.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT, ROOT / "examples" / "spelling_and_ocr"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from prepare_typos import misspelt  # noqa: E402
from score_typos import symspell  # noqa: E402

from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.inference.correction.lexicon import Confusions, Lexicon  # noqa: E402
from lev_plugins.io.text_files import read_lines  # noqa: E402

AROUND = 30  # characters shown on both sides of a change


def plain(line: str) -> str:
    """A tokenized line as people write it: no space before a comma, nor in *don't*."""
    line = re.sub(r"\b([Gg]o[tn]|[Ww]an) (ta|na)\b", r"\1\2", line)
    line = re.sub(r" (n['’]t|nt\b|['’](?:s|re|ve|ll|d|m)\b|[,.;:!?)])", r"\1", line)
    return line.replace("( ", "(")


def counted(
    noisy: Sequence[str], clean: Sequence[str], outputs: Sequence[str]
) -> dict[str, int | float]:
    """confused: wrong words. corrected, %: of these. miscorrected: right words that changed."""
    found = {"words": 0, "confused": 0, "corrected": 0, "miscorrected": 0}
    for before, meant, after in zip(noisy, clean, outputs, strict=True):
        sides = (before.split(), meant.split(), after.split())
        words = zip(*sides, strict=True) if len(sides[0]) == len(sides[2]) else zip(*sides)
        for one, wanted, written in words:
            found["words"] += 1
            found["confused"] += one != wanted
            found["corrected"] += one != wanted == written
            found["miscorrected"] += one == wanted != written
    return {**found, "corrected, %": 100 * found["corrected"] / max(found["confused"], 1)}


def changes(lines: Sequence[str], without: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """The words that only the sets change, with what stands around them."""
    found = []
    for line, one, other in zip(lines, without, outputs, strict=True):
        if one == other:
            continue
        places = [match.span() for match in re.finditer(r"\S+", line)]
        for (start, end), old, new in zip(places, one.split(), other.split()):
            if old != new:
                before, behind = line[max(0, start - AROUND) : start], line[end : end + AROUND]
                found.append(f"{before}[{line[start:end]} → {new}]{behind}")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Correct, count and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("text", nargs="+", help="files of right sentences, one a line")
    add("--path", required=True, help="checkpoint of a corrector, with corrector.json beside it")
    add("--data", help="folder with the dictionaries")
    add("--confusions", required=True, help="sets of words, one a line")
    add("--lexicon", required=True, help="words and counts, for symspellpy")
    add("--seed", type=int, default=1, help="of the words that are replaced (default 1)")
    add("--show", action="store_true", help="print what is changed in the text as it came")
    add("--json", type=Path, metavar="FILE", help="also write the counts there")
    args = parser.parse_args(argv)
    from lev_plugins.inference.correction import Corrector

    clean = [plain(line) for path in args.text for line in read_lines(path)]
    others = Confusions.read(args.confusions).others
    rng = random.Random(args.seed)
    noisy = [misspelt(line, others, rng) for line in clean]

    def corrector(**more: str) -> Callable[[Sequence[str]], list[str]]:
        made = Corrector.from_pretrained(args.path, args.data, **more)
        if not more:  # the settings may name sets
            made.backend.ranker.confused = {}
        return lambda lines: [one.text for one in made.correct(lines)]

    model = corrector(confusions=args.confusions)  # first: it refuses a model without a lexicon
    without = corrector()
    systems = {
        "no edits": list,
        "symspellpy": symspell(Lexicon.read(args.lexicon).counts),
        "without sets": without,
        "with sets": model,
    }
    found = {name: counted(noisy, clean, one(noisy)) for name, one in systems.items()}
    print(f"{'':14}{'words':>9}{'confused':>10}{'corrected':>18}{'miscorrected':>14}")
    for name, row in found.items():
        share = f"{row['corrected']:,} ({row['corrected, %']:.1f} %)"
        print(f"{name:14}{row['words']:>9,}{row['confused']:>10,}{share:>18}"
              f"{row['miscorrected']:>14,}")  # fmt: skip
    changed = changes(clean, without(clean), model(clean))
    print(f"\nas it came: words that only the sets change: {len(changed)}")
    if args.show:
        print("\n".join(changed))
    if args.json:
        args.json.write_text(json.dumps({"systems": found}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run_cli(main))
