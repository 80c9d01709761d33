"""From what fairseq-generate printed to the targets of a distilled bitext, in the sources' order.

    python examples/translation/distilled.py PRINTED SOURCE REFERENCE OUTPUT [--interpolate]

Line n of OUTPUT is the teacher's translation of line n of SOURCE (Kim and Rush 2016): the best, or
with --interpolate the one of the beam with the highest sentence BLEU against the reference (their
§3.3). An empty source stays empty. A translation that cannot be right gives way to the reference:
empty, as long as the search allows, or of another length than the source by a factor of RATIO. So
does one that is missing, of a source longer than all that were translated.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence

from sacrebleu.metrics import BLEU

from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.output import whole_file
from lev_runtime.io.text_files import read_lines, read_parallel

RATIO, SLACK = 3, 5  # times the tokens of one the other may have, and so many more


def hypotheses(path: str) -> dict[int, list[str]]:
    """The texts of fairseq's H- lines by their sentence, the best first."""
    texts: dict[int, list[str]] = defaultdict(list)
    for line in read_lines(path):
        if line.startswith("H-"):
            number, _, text = line.split("\t", 2)
            texts[int(number[2:])].append(text)
    return texts


def can_be_right(text: str, source: str, longest: int) -> bool:
    """Whether a translation of a source that is not empty has a length that it may have."""
    target, size = len(text.split()), len(source.split())
    return 0 < target < longest and max(size, target) <= RATIO * min(size, target) + SLACK


def choose(beam: Sequence[str], source: str, reference: str, longest: int, nearest: bool) -> str:
    """The line to learn from."""
    if not source.split():
        return ""
    if nearest:
        bleu = BLEU(tokenize="none", effective_order=True)
        fine = [text for text in beam if can_be_right(text, source, longest)] or beam
        beam = [max(fine, key=lambda text: bleu.sentence_score(text, [reference]).score)]
    right = can_be_right(beam[0], source, longest) or not reference.strip()
    return beam[0] if right else reference


def main() -> None:
    """Write OUTPUT, whole or not at all."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    for name in ("printed", "source", "reference", "output"):
        parser.add_argument(name, metavar=name.upper())
    parser.add_argument("--longest", type=int, default=200, help="as of --max-len-b (default: 200)")
    parser.add_argument("--interpolate", action="store_true", help="the nearest to the reference")
    args = parser.parse_args()
    beams = hypotheses(args.printed)
    pairs = list(read_parallel([args.source, args.reference]))
    sizes = [len(source.split()) for source, _ in pairs]
    missing = [sizes[number] for number in range(len(pairs)) if number not in beams]
    translated = [sizes[number] for number in beams if number < len(pairs)]
    if len(beams) != len(translated) or missing and min(missing) <= max(translated, default=0):
        raise UserError(f"{args.printed} has other sentences than {args.source}; generate it again")
    replaced = 0
    with whole_file(args.output) as output:
        for number, (source, reference) in enumerate(pairs):
            beam = beams.get(number, [""])  # the teacher reads no source of this length
            text = choose(beam, source, reference, args.longest, args.interpolate)
            replaced += bool(source.split()) and text not in beam
            output.write(f"{text}\n")
    print(f"{args.output}: {len(pairs):,} lines, {replaced:,} of them references", file=sys.stderr)


if __name__ == "__main__":
    run_cli(main)
