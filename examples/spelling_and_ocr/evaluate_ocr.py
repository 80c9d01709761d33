"""Scores doing nothing, a look-up table and the trained correctors; evaluate_ocr.sh calls it.

WORK is the folder of prepare_ocr.sh and train_ocr.sh. What can be chosen (last or best checkpoint,
LevT's deletion threshold) is chosen by the fewest word errors on the dev set; the test set is then
decoded once with each system.
"""

import argparse
import filecmp
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lookup
from ocr_pieces import joined, pieces
from ocr_scores import Scores, score, word_errors
from prepare_codespell import whole_number

from lev_plugins.compat import run_cli
from lev_plugins.data.text_files import read_lines
from lev_plugins.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINTS = ("checkpoint_last.pt", "checkpoint_best.pt")
BATCH = 64

Decode = Callable[[list[str]], list[str]]
Candidate = tuple[str, Decode]  # what is shown of it, and how it corrects text


class Text:
    """Noisy and clean lines of a part."""

    def __init__(self, work: Path, part: str) -> None:
        self.noisy = list(read_lines(str(work / "text" / f"{part}.noisy")))
        self.clean = list(read_lines(str(work / "text" / f"{part}.clean")))


def main() -> None:
    """Choose, decode, score, print."""
    args = _arguments()
    train, dev, test = (Text(args.work, part) for part in ("train", "dev", "test"))
    table = lookup.learn(train.noisy + dev.noisy, train.clean + dev.clean)
    outputs = {
        "doing nothing": test.noisy,
        "look-up": [lookup.correct(table, line) for line in test.noisy],
    }
    for name, folder, candidates in (("AR", "ar", _ar), ("LevT", "levt", _levt)):
        checkpoints = _checkpoints(args.work / folder)
        if not checkpoints:
            script = "bash examples/spelling_and_ocr/train_ocr.sh"
            print(f"{name} is not trained: {script} {args.work} {folder}")
            continue
        found: list[Candidate] = [
            (label, partial(_by_pieces, decode, _words(args.work)))
            for label, decode in candidates(args, checkpoints)
        ]
        outputs[name] = _chosen(name, found, dev, test)
    _write(args.work / "output", outputs)
    _print({name: score(lines, test.noisy, test.clean) for name, lines in outputs.items()})


def _checkpoints(folder: Path) -> list[Path]:
    """Those that are there, and the best only where it is not the last itself."""
    found = [folder / name for name in CHECKPOINTS if (folder / name).is_file()]
    return found[:1] if len(found) == 2 and filecmp.cmp(found[0], found[1], False) else found


def _words(work: Path) -> int:
    """How many words a piece has, as prepare_ocr.sh noted it; 0: whole lines."""
    return int("".join(read_lines(str(work / "words"))))


def _by_pieces(decode: Decode, words: int, lines: list[str]) -> list[str]:
    """Corrected lines, cut and joined where the systems were trained on pieces."""
    cut = [pieces(line, words) for line in lines]
    corrected = iter(decode([piece for line in cut for piece in line]))
    return [joined([next(corrected) for _ in line]) for line in cut]


def _chosen(name: str, candidates: list[Candidate], dev: Text, test: Text) -> list[str]:
    """The test set by the candidate with the fewest word errors on dev, the first of equals."""
    words = sum(len(line.split()) for line in dev.clean)
    found: list[tuple[int, int]] = []  # word errors, candidate
    for label, decode in candidates if len(candidates) > 1 else ():
        found.append((word_errors(decode(dev.noisy), dev.clean), len(found)))
        print(f"dev  {name:5} {label:40} WER {100 * found[-1][0] / max(words, 1):6.2f}", flush=True)
    label, decode = candidates[min(found)[1] if found else 0]
    print(f"test {name:5} {label}", flush=True)
    return decode(test.noisy)


def _levt(args: argparse.Namespace, checkpoints: list[Path]) -> Iterator[Candidate]:
    """LevT with y0 = the noisy line: every checkpoint with every threshold."""
    from lev_plugins.hub import LevenshteinEditor

    for path in checkpoints:
        editor = LevenshteinEditor.from_pretrained(str(path), str(args.work / "data"))
        for threshold in args.thresholds:

            def decode(
                lines: list[str], editor: Any = editor, threshold: float = threshold
            ) -> list[str]:
                options = {"max_iter": args.max_iter, "delete_threshold": threshold}
                traces = editor.edit(lines, lines, batch_size=BATCH, **options)
                return [trace.text for trace in traces]

            yield f"{path.name}, --delete-threshold {threshold:g}", decode


def _ar(args: argparse.Namespace, checkpoints: list[Path]) -> Iterator[Candidate]:
    """fairseq's transformer by fairseq-interactive: every checkpoint."""
    for path in checkpoints:
        yield f"{path.name}, --beam {args.beam}", partial(_written, args, path)


def _written(args: argparse.Namespace, path: Path, lines: list[str]) -> list[str]:
    """What fairseq-interactive writes for lines, in their order."""
    command = [sys.executable, "-m", "fairseq_cli.interactive", str(args.work / "data")]
    command += ["--user-dir", str(ROOT / "lev_plugins"), "--task", "translation"]
    command += ["--path", str(path), "--source-lang", "noisy", "--target-lang", "clean"]
    command += ["--bpe", "characters", "--beam", str(args.beam)]
    command += ["--max-len-a", "1.5", "--max-len-b", "10"]
    command += ["--batch-size", str(BATCH), "--buffer-size", str(max(len(lines), BATCH))]
    done = subprocess.run(
        command,
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1", "PYTHONWARNINGS": "ignore"},
    )
    found = {}
    for line in done.stdout.split("\n"):
        if line.startswith("D-"):
            number, _, output = line.split("\t", 2)
            found[int(number[2:])] = output
    if done.returncode or sorted(found) != list(range(len(lines))):
        said = (done.stderr.strip() or "no message").splitlines()[-1]
        raise UserError(
            f"fairseq-interactive gave {len(found)} of {len(lines)} lines with {path}: {said}"
        )
    return [found[number] for number in range(len(found))]


def _write(folder: Path, outputs: dict[str, list[str]]) -> None:
    folder.mkdir(exist_ok=True)
    for name, lines in outputs.items():
        path = folder / f"test.{name.replace(' ', '-').lower()}"
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def _print(scores: dict[str, Scores]) -> None:
    first = next(iter(scores.values()))
    wrong = first.words - first.words_right
    print(f"\ntest: {first.lines} lines, {first.words} words, {wrong} of them wrong as they came")
    heads = ("words right", "CER", "WER", "lines right", "mended", "broken")
    print(f"{'':15}" + "".join(f"{head:>13}" for head in heads))
    for name, found in scores.items():
        lines = 100 * found.lines_right / max(found.lines, 1)
        print(
            f"{name:15}{found.word_accuracy:>11.2f} %{found.cer:>13.2f}{found.wer:>13.2f}"
            f"{lines:>11.2f} %{found.mended:>13}{found.broken:>13}"
        )


def _thresholds(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [-1.0]
    if not all(0 <= value <= 1 for value in values):
        raise argparse.ArgumentTypeError(f"numbers from 0 to 1 with commas, not {text!r}")
    return values


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of prepare_ocr.sh and train_ocr.sh")
    parser.add_argument(
        "--thresholds",
        type=_thresholds,
        default=[0.5, 0.6, 0.7, 0.9],
        help="deletion thresholds of LevT to choose from on dev (default 0.5,0.6,0.7,0.9)",
    )
    count = whole_number(1)
    parser.add_argument("--beam", type=count, default=4, help="beam of the AR model (default 4)")
    parser.add_argument("--max-iter", type=count, default=10, help="LevT's iterations (default 10)")
    args = parser.parse_args()
    if not (args.work / "data").is_dir():
        script = "bash examples/spelling_and_ocr/prepare_ocr.sh"
        raise UserError(f"no data in {args.work}: {script} DATA {args.work} makes them")
    return args


if __name__ == "__main__":
    sys.exit(run_cli(main))
