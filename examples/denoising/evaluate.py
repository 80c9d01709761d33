"""Scores the no-edit baseline and the trained denoisers by beam search; evaluate.sh calls it.

WORK is the folder of prepare.sh and train.sh. The noisy lines of all test sets go once through
fairseq-interactive, so that nothing but the noisy text reaches the model:
no gold token is ever fed. With --lexicon they go through ``correct --lexicon`` too, which reads
words one by one and leaves those alone that the lexicon has, and through symspellpy with its words.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy import stats

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.inference.correction.lexicon import Lexicon
from lev_plugins.io.reading import checksum
from lev_plugins.io.text_files import read_lines
from lev_plugins.metrics import correction_counts, make_metric
from lev_plugins.metrics.corpus import add_up, bleu

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINT = "checkpoint_last.pt"
METRICS = ("wrr", "cer")
TRIALS = 10_000
WITH_LEXICON = "+lexicon"
WRITTEN = re.compile(r"D-([0-9]+)\t[^\t]*\t(.*)")


def main(argv: Sequence[str] | None = None) -> None:
    """Decode, score, print."""
    args = _arguments(argv)
    sets = test_sets(args.work / "data")
    systems = args.systems or sorted(path.parent.name for path in args.work.glob(f"*/{CHECKPOINT}"))
    if not systems:
        raise UserError(
            f"{args.work}: nothing is trained there; examples/denoising/train.sh does it"
        )
    for system in systems:
        if not (args.work / system / CHECKPOINT).is_file():
            raise UserError(f"--systems {system}: there is no {args.work / system / CHECKPOINT}")
    output = args.work / "output"
    output.mkdir(exist_ok=True)
    if args.lexicon:
        forget_other_words(output, args.lexicon)
    for system in systems:
        decode(args, system, sets)
    tables = {name: _table(name, pair, systems, args) for name, pair in sets.items()}
    (output / "tables.json").write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    if args.json:
        text = json.dumps({"systems": summary(tables)}, indent=1)
        args.json.write_text(text + "\n", encoding="utf-8")
    for name, table in tables.items():
        print(f"\n## {name}: {table['words']:,} words, noise {table['noise']:.2f} %\n")
        print(_rendered(table["systems"]))


def summary(tables: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The numbers of each system.

    With one test set all of it. With one for each kind of noise the WRR by the kind and their mean,
    and the words corrected and miscorrected in all; what is of text from elsewhere apart, named so.
    """
    if len(tables) == 1:
        (table,) = tables.values()
        return table["systems"]
    found: dict[str, dict[str, float]] = {}
    for where in ("", "elsewhere-"):
        kinds = {
            name.removeprefix(f"test-{where}"): table["systems"]
            for name, table in tables.items()
            if name.startswith("test-elsewhere-") is bool(where)
        }
        for system in next(iter(kinds.values()), ()):
            one = found.setdefault(system, {})
            one |= {where + kind: systems[system]["wrr"] for kind, systems in kinds.items()}
            one[f"{where}wrr"] = fmean(systems[system]["wrr"] for systems in kinds.values())
            for count in ("corrected", "miscorrected"):
                one[where + count] = sum(systems[system][count] for systems in kinds.values())
    return found


def test_sets(data: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Noisy and clean lines of each test set, by name."""
    found = {}
    for path in sorted(data.glob("test*.noisy")):
        clean = path.with_suffix(".clean")
        pair = [list(read_lines(str(side))) for side in (path, clean)]
        if len(pair[0]) != len(pair[1]):
            raise UserError(f"{path} has {len(pair[0])} lines and {clean} has {len(pair[1])}")
        found[path.stem] = (pair[0], pair[1])
    if not found:
        raise UserError(f"{data}: no test sets; examples/denoising/prepare.sh makes them")
    return found


def decode(
    args: argparse.Namespace, system: str, sets: dict[str, tuple[list[str], list[str]]]
) -> None:
    """Writes output/SYSTEM.TEST_SET for all test sets, unless it is younger than the checkpoint."""
    checkpoint = args.work / system / CHECKPOINT
    _write(args, system, sets, _searched, checkpoint)
    if args.lexicon:
        _write(args, system + WITH_LEXICON, sets, _corrected, checkpoint)


def forget_other_words(output: Path, lexicon: Path) -> None:
    """Deletes what was corrected with other words than these."""
    stamp, found = output / "lexicon.sha256", checksum(str(lexicon))
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != found:
        for path in output.glob(f"*{WITH_LEXICON}.*"):
            path.unlink()
        stamp.write_text(found, encoding="utf-8")


def _write(
    args: argparse.Namespace,
    name: str,
    sets: dict[str, tuple[list[str], list[str]]],
    decoder: Callable[[argparse.Namespace, Path, list[str]], list[str]],
    checkpoint: Path,
) -> None:
    paths = {one: args.work / "output" / f"{name}.{one}" for one in sets}
    age = checkpoint.stat().st_mtime
    if all(path.is_file() and path.stat().st_mtime > age for path in paths.values()):
        return
    lines = [line for noisy, _ in sets.values() for line in noisy]
    # an empty line has nothing to correct, and the search would write something
    asked = [number for number, line in enumerate(lines) if line.strip()]
    print(f"decoding {name} …", file=sys.stderr, flush=True)
    written = dict(zip(asked, decoder(args, checkpoint, [lines[number] for number in asked])))
    answers = [written.get(number, "") for number in range(len(lines))]
    for one, path in paths.items():
        count = len(sets[one][0])
        path.write_text("".join(line + "\n" for line in answers[:count]), encoding="utf-8")
        answers = answers[count:]


def _searched(args: argparse.Namespace, checkpoint: Path, lines: list[str]) -> list[str]:
    flags = ["--source-lang", "noisy", "--target-lang", "clean", "--max-len-a", "1.5"]
    flags += ["--beam", str(args.beam), *_text_processing(args)]
    return search(args.work / "data", checkpoint, lines, flags)


def search(data: Path, checkpoint: Path, lines: list[str], flags: list[str]) -> list[str]:
    """What fairseq-interactive writes for each of the lines, which are not empty."""
    command = ["fairseq_cli.interactive", str(data), "--path", str(checkpoint)]
    command += ["--user-dir", str(ROOT / "lev_plugins"), "--task", "noisy_translation"]
    command += ["--max-len-b", "10", "--buffer-size", "2000", "--max-tokens", "4000", *flags]
    written = answer([*command, "--input"], lines)
    found = [match.groups() for match in map(WRITTEN.fullmatch, written) if match]
    answers = {int(number): text for number, text in found}
    if sorted(answers) != list(range(len(lines))):
        raise UserError(f"{checkpoint}: {len(answers)} of {len(lines)} lines came back")
    return [answers[number] for number in range(len(lines))]


def _corrected(args: argparse.Namespace, checkpoint: Path, lines: list[str]) -> list[str]:
    command = ["lev_plugins", "correct", "--path", str(checkpoint)]
    command += ["--data", str(args.work / "data"), "--beam", str(args.beam)]
    command += ["--lexicon", str(args.lexicon), "--settings", "none", *_text_processing(args)]
    return answer(command, lines)[:-1]


def _text_processing(args: argparse.Namespace) -> list[str]:
    backbone = args.work / "backbone"
    if backbone.is_file():
        directory = backbone.read_text(encoding="utf-8").strip()
        return ["--bpe", "hf", "--hf-directory", directory]
    return ["--bpe", "characters"]


def answer(command: list[str], lines: list[str]) -> list[str]:
    """What a command (a module and its arguments) writes of a file with the lines."""
    with tempfile.TemporaryDirectory() as folder:
        noisy = Path(folder, "noisy")
        noisy.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        ended = subprocess.run(
            [sys.executable, "-m", *command, str(noisy)],
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    if ended.returncode != 0:
        raise UserError(f"{command[0]} failed: {ended.stderr.strip()[-300:]!r}")
    return ended.stdout.split("\n")


def _table(
    name: str, pair: tuple[list[str], list[str]], systems: list[str], args: argparse.Namespace
) -> dict[str, Any]:
    """All numbers of a test set."""
    noisy, clean = pair
    outputs = {"no-edit baseline": noisy}
    if args.lexicon:
        outputs["symspellpy"] = args.symspell(noisy)
        systems = [one for name in systems for one in (name, name + WITH_LEXICON)]
    for system in systems:
        path = args.work / "output" / f"{system}.{name}"
        outputs[system] = list(read_lines(str(path)))
    rows = {system: scores(lines, noisy, clean) for system, lines in outputs.items()}
    for system, row in rows.items():
        if args.against in rows and system not in (args.against, "no-edit baseline"):
            row["welch"] = compared(outputs[system], outputs[args.against], clean)
    words = sum(len(line.split()) for line in clean)
    return {"words": words, "noise": 100 - rows["no-edit baseline"]["wrr"], "systems": rows}


def compared(ours: list[str], theirs: list[str], clean: list[str]) -> dict[str, float | None]:
    """p of two tests whether two systems differ in WRR, two-sided; None where nothing varies.

    ``p``: Welch's t-test on the WRR of the lines. ``p_paired``: approximate randomization (Riezler
    and Maxwell, 2005), the share of exchanges of outputs after which the texts differ more.
    """
    metric = make_metric("wrr")
    sides = [[metric.statistics(*pair) for pair in zip(side, clean)] for side in (ours, theirs)]
    a, b = ([metric.score(one) for one in side] for side in sides)
    varies = len(a) > 1 and max(len(set(a)), len(set(b))) > 1
    welch = float(stats.ttest_ind(a, b, equal_var=False).pvalue) if varies else None
    # the words of the reference are the same for both, so that errors tell which is better
    apart = np.array([x[0] - y[0] for x, y in zip(*sides) if x != y], dtype=np.float32)
    signs = np.random.default_rng(12345).choice(np.float32([-1, 1]), (TRIALS, len(apart)))
    more = np.abs(signs @ apart) > abs(apart.sum())
    return {"p": welch, "p_paired": float(more.mean()) if len(apart) else None}


def scores(lines: list[str], noisy: list[str], clean: list[str]) -> dict[str, Any]:
    """Scores of corrected lines, in percent, and words corrected and miscorrected.

    BLEU is the mean of the lines' own, with n-grams no longer than the line: segments of three
    words have no n-grams of four, and a corpus of them would have 0.
    """
    by_line = bleu(effective_order=True)
    each = [by_line.score(by_line.statistics(out, right)) for out, right in zip(lines, clean)]
    found: dict[str, Any] = {"bleu": fmean(each)}
    for name in METRICS:
        metric = make_metric(name)
        statistics = (metric.statistics(out, right) for out, right in zip(lines, clean))
        found[name] = metric.score(add_up(metric, statistics))
    found["wrr_jaccard"] = 100 * fmean(map(overlap, lines, clean))
    counts = correction_counts(noisy, lines, clean)
    found |= {"corrected": counts.corrected, "miscorrected": counts.miscorrected}
    return found


def overlap(output: str, reference: str) -> float:
    """The other reading of WRR: the Jaccard index of the word sets of a line, in lower case."""
    a, b = (set(text.lower().split()) for text in (output, reference))
    return len(a & b) / len(a | b) if a | b else 1.0


def _rendered(rows: dict[str, dict[str, Any]]) -> str:
    head = (
        "| | WRR | WRR (Jaccard) | noise % | BLEU | CER | corrected | miscorrected "
        "| Welch's p | paired p |"
    )
    lines = [head, "|" + "---|" * 10]
    for system, row in rows.items():
        welch = row.get("welch", {})
        tests = [_p(welch.get(key)) for key in ("p", "p_paired")]
        numbers = [row["wrr"], row["wrr_jaccard"], 100 - row["wrr"], row["bleu"], row["cer"]]
        cells = [f"{number:.2f}" for number in numbers] + [
            f"{row['corrected']}",
            f"{row['miscorrected']}",
        ]
        lines.append(f"| {system} | " + " | ".join(cells + tests) + " |")
    return "\n".join(lines)


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of prepare.sh and train.sh")
    parser.add_argument("--systems", nargs="+", help="folders in WORK (default: all)")
    parser.add_argument("--against", default="none", help="what others are compared with")
    parser.add_argument(
        "--lexicon",
        type=Path,
        help="words, one a line, maybe with counts: each model in `correct --lexicon`, and "
        "symspellpy (pip install symspellpy), with them too",
    )
    parser.add_argument("--beam", type=int, default=4, help="width of the search (default 4)")
    parser.add_argument("--json", type=Path, help="FILE: also the numbers of each system there")
    args = parser.parse_args(argv)
    if args.beam < 1:
        raise UserError(f"--beam {args.beam}: give a number of 1 or more")
    if not (args.work / "data").is_dir():
        raise UserError(f"{args.work} has no data: examples/denoising/prepare.sh makes them")
    if args.lexicon:
        args.symspell = symspell_with(args.lexicon)
    return args


def symspell_with(lexicon: Path) -> Callable[[Sequence[str]], list[str]]:
    """symspellpy with the words of a file, for lines."""
    sys.path.append(str(ROOT / "examples" / "spelling_and_ocr"))
    from score_typos import symspell

    try:
        return symspell(Lexicon.read(str(lexicon)).counts)
    except ModuleNotFoundError as error:
        raise UserError("--lexicon needs symspellpy: pip install symspellpy") from error


if __name__ == "__main__":
    run_cli(main)
