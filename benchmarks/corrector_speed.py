"""Words a second of a corrector, beside a dictionary corrector and fairseq-generate.

    python benchmarks/corrector_speed.py TEXT CHECKPOINT --data DATA

TEXT is the folder of examples/spelling_and_ocr/prepare_typos.py, CHECKPOINT a left-to-right model
that was tuned with a lexicon (the quickstart's, for one). Three texts, each read once: right
running text, the same with misspellings, and misspellings alone. Systems, one after the other:

    symspellpy        with the same lexicon, a word at a time
    correct           as tuned: words of the lexicon stay, the others are ranked
    the model alone   correct --settings none --unit letters, which writes every word anew
    fairseq-generate  the same model and words, in batches of as many

Equal words are corrected once in a call of correct, and fairseq-generate gets each once. Counted
are seconds of the processor after a first call; of fairseq-generate those that it takes for all
words less those for one.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT, ROOT / "examples" / "spelling_and_ocr"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import prepare_codespell  # noqa: E402
from score_typos import symspell  # noqa: E402

from benchmarks.commands import run, spent  # noqa: E402
from benchmarks.machine import machine  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.inference.correction.lexicon import Lexicon  # noqa: E402
from lev_plugins.inference.correction.units import spans  # noqa: E402
from lev_plugins.io.text_files import read_lines  # noqa: E402

TEXTS = {
    "right running text": "test_running",
    "with misspellings": "test_inside",
    "misspellings": "test_heldout",
}
WARM = ["teh qwxz"]
Correct = Callable[[Sequence[str]], object]


def words(lines: Sequence[str]) -> list[str]:
    """What a corrector of words reads."""
    return [line[start:end] for line in lines for start, end in spans(line, "letters")]


def timed(make: Callable[[], Correct], lines: Sequence[str]) -> float:
    """Words a second; ``make`` makes the corrector anew, so that it knows no word from before."""
    correct = make()
    correct(WARM)
    started = time.process_time()
    correct(lines)
    return len(words(lines)) / max(time.process_time() - started, 1e-9)


def generate_seconds(args: argparse.Namespace, some: Sequence[str], folder: Path) -> float:
    """Processor seconds of fairseq-generate for some words.

    Raises:
        UserError: it failed.
    """
    sides = args.source_lang, args.target_lang
    for side in sides:
        text = "".join(f"{prepare_codespell.as_characters(word)}\n" for word in some)
        (folder / f"some.{side}").write_text(text, encoding="utf-8")
    data = ["--source-lang", sides[0], "--target-lang", sides[1]]
    where = tempfile.mkdtemp(dir=folder)
    command = [sys.executable, "-m", "lev_plugins", "preprocess", *data, "--destdir", where]
    for option, side in zip(("--srcdict", "--tgtdict"), sides):
        command += [option, f"{args.data}/dict.{side}.txt"]
    run([*command, "--testpref", str(folder / "some")], folder / "preprocess.log")
    command = ["fairseq-generate", where, "--user-dir", str(ROOT / "lev_plugins"), *data]
    command += ["--path", args.checkpoint, "--beam", "5", "--batch-size", str(args.batch_size)]
    before = spent()
    run(command, folder / "generate.log")
    return spent() - before


def measured(args: argparse.Namespace) -> dict[str, list[float]]:
    """For each system words a second of each text."""
    from lev_plugins.inference.correction import Corrector

    counts = Lexicon.read(str(args.text / "lexicon.txt")).counts

    def corrector(unit: str | None = None, settings: str | None = None) -> Callable[[], Correct]:
        def make() -> Correct:
            load = Corrector.from_pretrained
            made = load(args.checkpoint, args.data, unit=unit, settings=settings)
            return lambda lines: made.correct(lines, batch_size=args.batch_size)

        return make

    makers = {
        "symspellpy": lambda: symspell(counts),
        "correct": corrector(),
        "the model alone": corrector("letters", "none"),
    }
    found: dict[str, list[float]] = {name: [] for name in (*makers, "fairseq-generate")}
    with tempfile.TemporaryDirectory() as folder:
        loading = generate_seconds(args, ["a"], Path(folder))
        for name in TEXTS.values():
            lines = list(read_lines(str(args.text / f"{name}.noisy")))[: args.lines]
            for system, make in makers.items():
                found[system].append(timed(make, lines))
            different = sorted({word.lower() for word in words(lines)})
            taken = generate_seconds(args, different, Path(folder)) - loading
            found["fairseq-generate"].append(len(words(lines)) / max(taken, 1e-9))
    return found


def table(found: dict[str, list[float]]) -> str:
    """A line for each system."""
    rows = [f"{'words a second':18}" + "".join(f"{name:>22}" for name in TEXTS)]
    rows += [f"{name:18}" + "".join(f"{one:>22,.0f}" for one in of) for name, of in found.items()]
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    number = prepare_codespell.whole_number(1)
    add = parser.add_argument
    add("text", type=Path, help="folder of prepare_typos.py")
    add("checkpoint", help="checkpoint with corrector.json beside it")
    add("--data", required=True, help="folder with the dictionaries")
    add("--source-lang", default="typo", help="name of the one to read with (default typo)")
    add("--target-lang", default="word", help="name of the one to write with (default word)")
    add("--lines", type=number, help="of each text, at most (default: all)")
    add("--batch-size", type=number, default=64, help="words at once (default 64)")
    args = parser.parse_args(argv)
    import torch

    torch.set_num_threads(1)
    print(table(measured(args)))
    print(f"torch:{torch.__version__}|cpu:{machine('cpu')}|threads:1|clock:cpu"
          f"|batch:{args.batch_size}|lines:{args.lines or 'all'}")  # fmt: skip
    return 0


if __name__ == "__main__":
    run_cli(main)
