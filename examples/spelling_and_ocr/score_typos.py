"""Measures a corrector of words on lists, beside no edits and symspellpy with the same words.

    python examples/spelling_and_ocr/score_typos.py TEXT [CHECKPOINT]

TEXT is the folder of prepare_typos.py. Printed are, in per cent of the words: misspellings
corrected, held-out ones of codespell's list, alone and in running text, those of a list of this
project's own, and words for others that exist too (then for than), in running text; and right words
left as they are, known and unknown ones and running text. symspellpy, a dictionary corrector, runs
with the corrector's lexicon, and with the often misspelt words alone. --also adds a list of your
own, as it came and as it should be.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lists import parser_of
from symspell import Correct, symspell

from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_lines, read_parallel

LISTS = {
    "heldout": "misspellings, held out",
    "inside": "the same in running text",
    "everyday": "misspellings, another list",
    "confused": "real-word errors",
    "known": "right, known",
    "unknown": "right, unknown",
    "running": "right, running text",
}
MISSPELT = ("heldout", "inside", "everyday", "confused")
SIDES = ("noisy", "clean")
#: for each list its words, and each system's share in per cent
Shares = dict[str, tuple[int, dict[str, float]]]


def share(
    outputs: Sequence[str], wanted: Sequence[str], before: Sequence[str] | None = None
) -> tuple[int, float]:
    """Words, and how many of them are as they should be, in per cent.

    before: the lines as they came, where only the words that were wrong count.
    """
    right = total = 0
    for output, line, came in zip(outputs, wanted, before or [""] * len(wanted), strict=True):
        meant, words = line.split(), output.split()
        old = came.split() if before else [None] * len(meant)
        wrong = [
            n
            for n, (old_word, other) in enumerate(zip(old, meant, strict=True))
            if old_word != other
        ]
        total += len(wrong)
        if len(words) == len(meant):
            right += sum(words[n] == meant[n] for n in wrong)
    return total, 100 * right / max(total, 1)


def word_lists(text: Path, also: Sequence[Sequence[Path]] = ()) -> dict[str, list[list[str]]]:
    """For each list the lines as they came and as they should be."""
    files = {name: [text / f"test_{name}.{side}" for side in SIDES] for name in LISTS}
    files |= {str(noisy): [noisy, clean] for noisy, clean in also}
    lists = {}
    for name, paths in files.items():
        noisy, clean = zip(*read_parallel([str(path) for path in paths]), strict=True)
        lists[name] = [list(noisy), list(clean)]
    return lists


def measured(systems: Mapping[str, Correct], lists: Mapping[str, list[list[str]]]) -> Shares:
    """Every system on every list."""
    result: Shares = {}
    for name, (noisy, clean) in lists.items():
        before = noisy if name in MISSPELT else None
        shares = {
            system: share(correct(noisy), clean, before)[1] for system, correct in systems.items()
        }
        result[name] = share(noisy, clean, before)[0], shares
    return result


def table(measures: Shares) -> str:
    """A line for each list, a column for each system."""
    width = max(len(LISTS.get(name, name)) for name in measures)
    systems = list(next(iter(measures.values()))[1])
    rows = [" " * width + "   words" + "".join(f"{name:>26}" for name in systems)]
    for name, (number, shares) in measures.items():
        cells = [f"{value:.1f} %" for value in shares.values()]
        title = LISTS.get(name, name)
        rows.append(f"{title:{width}}{number:>8,}" + "".join(f"{cell:>26}" for cell in cells))
    return "\n".join(rows)


def main() -> None:
    """Score and print."""
    parser = parser_of(__doc__)
    parser.add_argument("text", type=Path, help="folder of prepare_typos.py")
    add = parser.add_argument
    add("checkpoint", nargs="?", help="tuned (default: the built-in English spelling model)")
    add("--data", help="folder with the dictionaries")
    pair = {"nargs": 2, "type": Path, "metavar": ("NOISY", "CLEAN"), "default": []}
    add("--also", action="append", help="a list: lines as they came and should be", **pair)
    add("--json", type=Path, metavar="FILE", help="also write the shares there")
    args = parser.parse_args()
    from lev_correct import Corrector
    from lev_correct.words.lexicon import Lexicon

    counts = Lexicon.read(str(args.text / "lexicon.txt")).counts
    often = {word: counts.get(word, 1) for word in read_lines(str(args.text / "words.txt"))}
    corrector = Corrector.from_pretrained(args.checkpoint, args.data)
    use = corrector.settings
    print(f"tuned with a threshold of {use.min_confidence:.2f} ({use.tuned})\n")
    systems = {
        "no edits": list,
        f"symspellpy, {len(often):,} words": symspell(often),
        f"symspellpy, {len(counts):,} words": symspell(counts),
        "this model": lambda lines: [item.text for item in corrector.correct(lines)],
    }
    shares = measured(systems, word_lists(args.text, args.also))
    print(table(shares))
    if args.json:
        by_system = {
            item: {name: both[item] for name, (_, both) in shares.items()} for item in systems
        }
        text = json.dumps({"systems": by_system}, indent=1)
        args.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run_cli(main))
