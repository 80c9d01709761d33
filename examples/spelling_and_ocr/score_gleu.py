r"""GLEU of corrected sentences beside the sentences as they came (Napoles et al., 2015 and 2016).

    python examples/spelling_and_ocr/score_gleu.py SOURCES OUTPUTS REFERENCES… \
        [--lexicon work/text/lexicon.txt] [--json FILE]

Text with spaces between the words, a sentence a line; REFERENCES are one file for each annotator.
GLEU is BLEU whose n-grams lose where the output keeps what the source has and the reference has
not. With several references one is chosen at random for each sentence, 500 times over (seed 1), and
the scores' mean is taken, as the metric's authors do.
"""

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.inference.correction.lexicon import Lexicon  # noqa: E402
from lev_plugins.io.text_files import read_lines  # noqa: E402

ORDER, ROUNDS = 4, 500
Statistics = tuple[int, ...]


def statistics(source: str, output: str, reference: str) -> Statistics:
    """Lengths of output and reference, then matches and n-grams of each order."""
    texts = [text.split() for text in (source, output, reference)]
    found = [len(texts[1]), len(texts[2])]
    for order in range(1, ORDER + 1):
        before, written, right = (_ngrams(text, order) for text in texts)
        wrong = Counter({one: count for one, count in before.items() if one not in right})
        matches = (written & right).total() - (written & wrong).total()
        found += [max(matches, 0), written.total()]
    return tuple(found)


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))


def gleu(sums: Statistics) -> float:
    """In percent, from statistics of sentences added up; 0 where an order has no match."""
    written, right, *counts = sums
    if min(counts) == 0:
        return 0.0
    logs = [math.log(counts[i] / counts[i + 1]) for i in range(0, len(counts), 2)]
    return 100 * math.exp(min(0.0, 1 - right / written) + sum(logs) / ORDER)


def score(sources: Sequence[str], outputs: Sequence[str], references: Sequence[list[str]]) -> float:
    """Mean over random choices of a reference for each sentence."""
    table = [
        [statistics(source, output, one[number]) for one in references]
        for number, (source, output) in enumerate(zip(sources, outputs, strict=True))
    ]
    rng = random.Random(1)
    rounds = ROUNDS if len(references) > 1 else 1
    totals = 0.0
    for _ in range(rounds):
        chosen = (rng.choice(row) for row in table)
        totals += gleu(tuple(map(sum, zip(*chosen))))
    return totals / rounds


def main() -> None:
    """Score both, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", help="sentences as they came")
    parser.add_argument("outputs", help="the same, corrected")
    parser.add_argument("references", nargs="+", help="one file for each annotator")
    parser.add_argument("--lexicon", help="words and counts: also symspellpy with these words")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers there")
    args = parser.parse_args()
    sources, outputs, *references = (
        list(read_lines(path)) for path in (args.sources, args.outputs, *args.references)
    )
    for path, lines in zip((args.outputs, *args.references), (outputs, *references)):
        if len(lines) != len(sources):
            raise UserError(f"{path} has {len(lines)} lines, and {args.sources} {len(sources)}")
    texts = {"no-edit baseline": sources, "corrected": outputs}
    if args.lexicon:
        from score_typos import symspell

        texts["symspellpy"] = symspell(Lexicon.read(args.lexicon).counts)(sources)
    systems = {}
    for name, lines in texts.items():
        changed = sum(a != b for a, b in zip(lines, sources))
        systems[name] = {"gleu": score(sources, lines, references), "changed": changed}
        print(f"{name:18} GLEU {systems[name]['gleu']:6.2f}   {changed:5,} sentences changed")
    if args.json:
        args.json.write_text(json.dumps({"systems": systems}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run_cli(main))
