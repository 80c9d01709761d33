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
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.text_files import read_parallel
from lev_plugins.metrics.corpus import make_metric
from lev_plugins.ops.alignment import lcs_masks
from lev_plugins.systems.levenshtein.markup import escape_markup, write_mark

METRICS = ("bleu", "ter_normalized", "accuracy")
KINDS = {"=": "keep", "-": "drop"}


def main() -> int:
    args = _arguments()
    files = [args.sources, args.references] + ([args.drafts] if args.drafts else [])
    rows = list(zip(*list(read_parallel(files))[: args.sentences]))
    names = ("bpe", "sentencepiece_model")
    processing = {name: value for name in names if (value := getattr(args, name))}
    editor = LevenshteinEditor.from_pretrained(args.checkpoint, **processing)
    print(f"{len(rows[0])} sentences".ljust(28) + "   BLEU     TER   exact   asked for and there")
    if args.drafts:
        _with_drafts(editor, *rows)
    else:
        _with_terms(editor, *rows, args)
    for name in METRICS[:2]:
        print(make_metric(name).signature())
    return 0


def _with_drafts(
    editor: LevenshteinEditor,
    sources: Sequence[str],
    references: Sequence[str],
    drafts: Sequence[str],
) -> None:
    right = [right_words(*pair) for pair in zip(drafts, references)]
    locked = [_locked(draft, marks) for draft, marks in zip(drafts, right)]
    _print_row("no-edit baseline", drafts, references, locked)
    ways = {
        "the editor alone": [escape_markup(draft) for draft in drafts],
        "right words locked": [marked(*pair, "") for pair in zip(drafts, right)],
        "… and wrong words removed": [marked(*pair, "-") for pair in zip(drafts, right)],
    }
    for name, given in ways.items():
        outputs = [trace.text for trace in editor.edit(sources, given, markup=True)]
        _print_row(name, outputs, references, locked)


def _with_terms(
    editor: LevenshteinEditor,
    sources: Sequence[str],
    references: Sequence[str],
    args: argparse.Namespace,
) -> None:
    rng = random.Random(args.seed)
    terms = []
    for reference in references:
        words = reference.split()
        places = sorted(rng.sample(range(len(words)), min(args.terms, len(words))))
        terms.append([words[i] for i in places])
    ways = {
        "the model alone": {},
        f"{args.terms} soft terms": {"terms": terms, "hard_terms": False},
        f"{args.terms} hard terms": {"terms": terms},
    }
    for name, options in ways.items():
        outputs = [trace.text for trace in editor.edit(sources, **options)]
        _print_row(name, outputs, references, terms)


def right_words(draft: str, reference: str) -> list[bool]:
    """Which words of the draft are right."""
    numbers: dict[str, int] = {}
    rows = [
        [numbers.setdefault(word, len(numbers) + 1) for word in text.split()]
        for text in (draft, reference)
    ]
    if not rows[0]:
        return []
    keep, _ = lcs_masks(torch.tensor([rows[0]]), torch.tensor([rows[1] or [0]]), 0)
    return keep[0].tolist()


def marked(draft: str, right: Sequence[bool], wrong: str) -> str:
    """The draft with right words locked and, if ``wrong`` is ``-``, the others marked to go."""
    words = []
    for word, is_right in zip(draft.split(), right):
        sign = "=" if is_right else wrong
        words.append(write_mark(word, KINDS[sign]) if sign else escape_markup(word))
    return " ".join(words)


def _locked(draft: str, right: Sequence[bool]) -> list[str]:
    return [word for word, is_right in zip(draft.split(), right) if is_right]


def _print_row(
    name: str,
    outputs: Sequence[str],
    references: Sequence[str],
    wanted: Sequence[Sequence[str]],
) -> None:
    figures = []
    for metric in map(make_metric, METRICS):
        rows = (metric.statistics(*pair) for pair in zip(outputs, references))
        figures.append(metric.score([sum(column) for column in zip(*rows)]))
    asked = sum(map(len, wanted))
    there = sum(word in output for output, words in zip(outputs, wanted) for word in words)
    share = f"{100 * there / max(asked, 1):.1f}%"
    print(
        f"{name:28}{figures[0]:7.2f} {figures[1]:7.2f} {figures[2]:6.1f}% {share:>12}", flush=True
    )


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
