"""Scores a corrector on one text, beside no edits and symspellpy with the same words.

    python examples/spelling_and_ocr/score_corrector.py NOISY CLEAN --path MODEL --lexicon WORDS

Line n of both files belongs together. Printed are the share of the wrong words that are right
afterwards, and how many of 10,000 right words are changed; then some lines as they came and as they
are corrected.
"""

import argparse
import sys
from collections.abc import Sequence

from symspell import symspell

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.inference.correction.lexicon import Lexicon
from lev_plugins.io.text_files import read_lines
from lev_plugins.metrics import correction_counts

SHOWN = 3  # lines


def main(argv: Sequence[str] | None = None) -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("noisy", help="text as it came")
    parser.add_argument("clean", help="the same as it should be")
    parser.add_argument("--path", required=True, help="checkpoint or folder of the corrector")
    parser.add_argument("--lexicon", required=True, help="words of symspellpy")
    args = parser.parse_args(argv)
    noisy, clean = list(read_lines(args.noisy)), list(read_lines(args.clean))
    if len(noisy) != len(clean):
        raise UserError(f"{args.noisy} has {len(noisy)} lines and {args.clean} {len(clean)}")
    from lev_plugins.inference.correction import Corrector

    found = Corrector.from_pretrained(args.path).correct(noisy)
    systems = {
        "no edits": noisy,
        "symspellpy, the same words": symspell(Lexicon.read(args.lexicon).counts)(noisy),
        "this model": [one.text for one in found],
    }
    print(f"{'':28}{'wrong':>8}{'corrected':>12}{'right':>8}{'changed in 10,000':>20}")
    for name, lines in systems.items():
        counts = correction_counts(noisy, lines, clean)
        share = 10_000 * counts.miscorrected / max(counts.right_before, 1)
        print(
            f"{name:28}{counts.wrong_before:>8,}{counts.correction_rate:>10.1f} %"
            f"{counts.right_before:>8,}{share:>20.0f}"
        )
    changed = [one for one in found if one.text != one.source][:SHOWN]
    print("".join(f"\n{one.source}\n→ {one.text}\n" for one in changed))


if __name__ == "__main__":
    sys.exit(run_cli(main))
