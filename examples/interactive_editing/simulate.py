"""What help by a person is worth: marks and terms that are taken from the reference.

    python examples/interactive_editing/simulate.py CHECKPOINT --sources F --references F \\
        [--drafts F] [--terms 2] [--sentences 500] [--seed 1]

With drafts: the editor alone; with every right word locked; with wrong words marked to go as well;
and the drafts without these words, unedited, which is what the editor has to beat.
Without: the model alone; starting from some words of the reference, which it may delete (soft
terms) or not (hard terms). Right words are those of the draft that an alignment keeps. Files are
plain text; line n of each belongs together.
"""

import argparse
import random
from collections.abc import Sequence

from lev_plugins import LevenshteinEditor
from lev_plugins.metrics.corpus import add_up, make_metric
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_parallel
from lev_runtime.text.markup import escape_markup, write_mark
from lev_runtime.text.words import right_words

METRICS = ("bleu", "ter_normalized", "accuracy")
#: marks of right and of wrong words
MARKS = {
    "the editor alone": (None, None),
    "right words locked": ("keep", None),
    "… and wrong words removed": ("keep", "drop"),
}


def main() -> None:
    """Edits in each way, scores and prints a row for each."""
    args = _arguments()
    files = [args.sources, args.references, *([args.drafts] if args.drafts else [])]
    sources, references, *drafts = zip(*list(read_parallel(files))[: args.sentences], strict=True)
    editor = LevenshteinEditor.from_pretrained(args.checkpoint)
    print(f"{len(sources)} sentences".ljust(28) + "   BLEU     TER   exact   terms present")
    if drafts:
        pairs = list(zip(*drafts, references, strict=True))
        terms = [[word for word, right in words_of(*pair) if right] for pair in pairs]
        _print_row("no-edit baseline", drafts[0], references, terms)
        _print_row("wrong words removed", list(map(" ".join, terms)), references, terms)
        ways = {
            name: {"drafts": [marked(*pair, *kinds) for pair in pairs], "markup": True}
            for name, kinds in MARKS.items()
        }
    else:
        rng = random.Random(args.seed)
        terms = [sample_words(reference, args.terms, rng) for reference in references]
        ways = {
            "the model alone": {},
            f"{args.terms} soft terms": {"drafts": list(map(" ".join, terms))},
            f"{args.terms} hard terms": {"terms": terms},
        }
    for name, options in ways.items():
        outputs = [trace.text for trace in editor.edit(sources, **options)]
        _print_row(name, outputs, references, terms)


def words_of(draft: str, reference: str) -> list[tuple[str, bool]]:
    """Returns the words of the draft, and which are right."""
    words, right = draft.split(), right_words(reference.split(), draft.split())
    return [(word, place in right) for place, word in enumerate(words)]


def marked(draft: str, reference: str, right: str | None, wrong: str | None) -> str:
    """Returns the draft with its right and wrong words marked in these ways."""
    marks = ((word, right if is_right else wrong) for word, is_right in words_of(draft, reference))
    return " ".join(write_mark(word, kind) if kind else escape_markup(word) for word, kind in marks)


def sample_words(reference: str, count: int, rng: random.Random) -> list[str]:
    """Returns random words of a sentence, in order."""
    words = reference.split()
    return [words[i] for i in sorted(rng.sample(range(len(words)), min(count, len(words))))]


def _print_row(
    name: str, outputs: Sequence[str], references: Sequence[str], terms: Sequence[Sequence[str]]
) -> None:
    pairs = list(zip(outputs, references, strict=True))
    scores = [
        metric.score(add_up(metric, (metric.statistics(*pair) for pair in pairs)))
        for metric in map(make_metric, METRICS)
    ]
    present = [word in output for output, words in zip(outputs, terms) for word in words]
    share = f"{100 * sum(present) / max(len(present), 1):.1f}%"
    print(f"{name:28}{'{:7.2f} {:7.2f} {:6.1f}%'.format(*scores)} {share:>12}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("checkpoint", help="a trained levenshtein_editor")
    add("--sources", required=True, metavar="FILE", help="sources, a sentence a line")
    add("--references", required=True, metavar="FILE", help="what they should become")
    add("--drafts", metavar="FILE", help="drafts; without them the model translates")
    add("--terms", type=int, default=2, help="words of each reference given as terms (default: 2)")
    add("--sentences", type=int, default=500, help="how many, from the first (default: 500)")
    add("--seed", type=int, default=1, help="of the choice of terms (default: 1)")
    return parser.parse_args()


if __name__ == "__main__":
    run_cli(main)
