"""Correctors of words, trained ones and the dictionary that users would pick: how right, how quick.

    python benchmarks/spelling_peers.py TEXT --system LevT=levt.pt --system PBD=pbd.pt --threads 1

TEXT is the folder of examples/spelling_and_ocr/prepare_typos.py. Every system gets the same words
in one run: held-out misspellings (how many are corrected), and right words, of which none should
change, those of the lexicon and unknown ones. symspellpy runs twice, with the lexicon of the
correctors and with the words that are often misspelt alone. Speed is words a second, all at once,
and milliseconds for one word alone, in CPU time after a first call; equal words are corrected once
in a call of ours.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from common import machine

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples" / "spelling_and_ocr"))

from symspell import symspell  # noqa: E402

from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.inference.correction import Corrector  # noqa: E402
from lev_plugins.inference.correction.lexicon import Lexicon  # noqa: E402
from lev_plugins.io.text_files import read_lines  # noqa: E402

LISTS = {"heldout": "corrected, %", "known": "known changed, %", "unknown": "unknown changed, %"}
ALONE = 100  # words for the time of one
Correct = Callable[[Sequence[str]], list[str]]


def systems(args: argparse.Namespace) -> dict[str, Correct]:
    """No edits, symspellpy twice, and the checkpoints."""
    counts = Lexicon.read(str(args.text / "lexicon.txt")).counts
    often = {word: counts.get(word, 1) for word in read_lines(str(args.text / "words.txt"))}
    found: dict[str, Correct] = {"no edits": list}
    for words in (often, counts):
        found[f"symspellpy, {len(words):,} words"] = symspell(words)
    for given in args.system:
        name, separator, path = given.partition("=")
        if not (separator and name and path):
            raise UserError(f"--system {given}: give NAME=FILE, a checkpoint")
        corrector = Corrector.from_pretrained(path, args.data)
        found[name] = lambda lines, corrector=corrector: [
            one.text for one in corrector.correct(lines, batch_size=250)
        ]
    return found


def changed(outputs: Sequence[str], wanted: Sequence[str]) -> float:
    """Outputs that are not as wanted, in percent."""
    return 100 * sum(a != b for a, b in zip(outputs, wanted, strict=True)) / max(len(wanted), 1)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("text", type=Path, help="folder of prepare_typos.py")
    add("--system", action="append", default=[], metavar="NAME=FILE", help="a corrector of ours")
    add("--data", help="folder with the dictionaries (default: those of each checkpoint)")
    add("--threads", type=int, default=0, help="torch's threads (default: torch's own choice)")
    args = parser.parse_args(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    lists = {
        name: [list(read_lines(str(args.text / f"test_{name}.{side}"))) for side in sides]
        for name in LISTS
        if (sides := ("noisy", "clean"))
    }
    everything = [word for noisy, _ in lists.values() for word in noisy]
    few = lists["heldout"][0][:ALONE]
    width = 26
    print(f"{'':{width}}" + "".join(f"{head:>20}" for head in LISTS.values()), end="")
    print(f"{'words a second':>18}{'ms, one alone':>15}")
    for name, correct in systems(args).items():
        correct(few[:2])  # not counted: first allocations
        started = time.process_time()
        correct(everything)
        together = time.process_time() - started
        started = time.process_time()
        for word in few:
            correct([word])
        alone = 1000 * (time.process_time() - started) / len(few)
        shares = {one: changed(correct(noisy), clean) for one, (noisy, clean) in lists.items()}
        shares["heldout"] = 100 - shares["heldout"]
        print(f"{name:{width}}" + "".join(f"{share:>20.1f}" for share in shares.values()), end="")
        print(f"{len(everything) / max(together, 1e-9):>18,.0f}{alone:>15.2f}", flush=True)
    print(f"torch:{torch.__version__}|cpu:{machine()}|threads:{torch.get_num_threads()}|clock:cpu")
    return 0


if __name__ == "__main__":
    run_cli(main)
