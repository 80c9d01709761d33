"""What help by a person is worth: marks and terms that are taken from the reference.

    python examples/interactive_editing/simulate.py CHECKPOINT --sources F --references F \\
        [--drafts F] [--terms 2] [--sentences 500] [--seed 1]

With drafts: the editor alone; with every right word locked; with wrong words marked to go as well.
Without: the model alone; starting from some words of the reference, which it may delete (soft
terms) or not (hard terms). Right words are those of a longest common subsequence of draft and
reference, word by word. Files are plain text, line n of each belongs together.
"""

import argparse
import random
from collections.abc import Sequence

import torch

from lev_plugins import LevenshteinEditor
from lev_plugins.metrics.corpus import add_up, make_metric
from lev_plugins.ops.alignment import lcs_masks
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_parallel
from lev_runtime.markup import escape_markup, write_mark

METRICS = ("bleu", "ter_normalized", "accuracy")


def main() -> int:
    """Edit in each way, score, print."""
    args = _arguments()
    files = [args.sources, args.references] + ([args.drafts] if args.drafts else [])
    sources, references, *drafts = zip(*list(read_parallel(files))[: args.sentences], strict=True)
    names = ("bpe", "sentencepiece_model")
    processing = {name: value for name in names if (value := getattr(args, name))}
    editor = LevenshteinEditor.from_pretrained(args.checkpoint, **processing)
    print(f"{len(sources)} sentences".ljust(28) + "   BLEU     TER   exact   terms present")
    if drafts:
        pairs = list(zip(*drafts, references, strict=True))
        wanted = [[word for word, right in words_of(*pair) if right] for pair in pairs]
        _print_row("no-edit baseline", drafts[0], references, wanted)
        marks = {
            "the editor alone": list(map(escape_markup, drafts[0])),
            "right words locked": [marked(*pair, False) for pair in pairs],
            "… and wrong words removed": [marked(*pair, True) for pair in pairs],
        }
        ways = {name: {"drafts": some, "markup": True} for name, some in marks.items()}
    else:
        rng = random.Random(args.seed)
        wanted = [some_words(reference, args.terms, rng) for reference in references]
        ways = {
            "the model alone": {},
            f"{args.terms} soft terms": {"drafts": list(map(" ".join, wanted))},
            f"{args.terms} hard terms": {"terms": wanted},
        }
    for name, options in ways.items():
        outputs = [trace.text for trace in editor.edit(sources, **options)]
        _print_row(name, outputs, references, wanted)
    return 0


def words_of(draft: str, reference: str) -> list[tuple[str, bool]]:
    """The words of the draft, and which are right."""
    numbers: dict[str, int] = {}
    rows = [
        [numbers.setdefault(word, len(numbers) + 1) for word in text.split()]
        for text in (draft, reference)
    ]
    if not rows[0]:
        return []
    keep, _ = lcs_masks(torch.tensor([rows[0]]), torch.tensor([rows[1] or [0]]), 0)
    return list(zip(draft.split(), keep[0].tolist(), strict=True))


def marked(draft: str, reference: str, drop: bool) -> str:
    """The draft with right words locked and, if wanted, the others marked to go."""
    kinds = {True: "keep", False: "drop" if drop else None}
    words = words_of(draft, reference)
    return " ".join(
        write_mark(word, kinds[right]) if kinds[right] else escape_markup(word)
        for word, right in words
    )


def some_words(reference: str, count: int, rng: random.Random) -> list[str]:
    """Words of a sentence, in order."""
    words = reference.split()
    return [words[i] for i in sorted(rng.sample(range(len(words)), min(count, len(words))))]


def _print_row(
    name: str, outputs: Sequence[str], references: Sequence[str], wanted: Sequence[Sequence[str]]
) -> None:
    figures = []
    for metric in map(make_metric, METRICS):
        pairs = zip(outputs, references, strict=True)
        figures.append(metric.score(add_up(metric, (metric.statistics(*pair) for pair in pairs))))
    asked = sum(map(len, wanted))
    there = sum(word in output for output, words in zip(outputs, wanted) for word in words)
    share = f"{100 * there / max(asked, 1):.1f}%"
    shown = "{:7.2f} {:7.2f} {:6.1f}%".format(*figures)
    print(f"{name:28}{shown} {share:>12}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("checkpoint", help="a trained levenshtein_editor")
    add("--sources", required=True, metavar="FILE", help="sources, a sentence a line")
    add("--references", required=True, metavar="FILE", help="what they should become")
    add("--drafts", metavar="FILE", help="drafts; without them the model translates")
    add("--terms", type=int, default=2, help="words of each reference given as terms (default 2)")
    add("--sentences", type=int, default=500, help="how many, from the first (default 500)")
    add("--seed", type=int, default=1, help="of the choice of terms (default 1)")
    add("--bpe", help="text processing, as the model was trained by default")
    add("--sentencepiece-model", help="file for --bpe sentencepiece")
    return parser.parse_args()


if __name__ == "__main__":
    run_cli(main)
