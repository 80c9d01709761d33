"""Correctors of English side by side: right text that is to stay, and misspellings in context.

    python benchmarks/correctors.py DATA [--systems lev-correct symspellpy …] > correctors.json

DATA holds ``right_text/*.txt`` and ``foreign/*.txt``, which are to stay, and ``in_context/*.noisy``
beside ``*.gold``: for each line a JSON list with an entry for each word, ``"k"`` (right), ``"?"``
(unclear), or ``[kind, [corrections]]``; only the kind ``nonword`` is counted. Every system corrects
every file, as its users would run it. Peers: ``pip install -r benchmarks/requirements-peers.txt``.

A line of JSON for each system: words changed per 1,000 of right and of foreign text, misspelt words
made right in percent, right words broken per 1,000, and processor seconds.
"""

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from lev_plugins.metrics.word_edits import word_edits  # noqa: E402


def in_place(*command: str) -> Callable[[Path], list[str]]:
    """A command that rewrites the file behind it."""
    return lambda path: [*command, str(path)]


def own_dictionary() -> str:
    """symspellpy's frequency dictionary of English."""
    spec = importlib.util.find_spec("symspellpy")
    assert spec is not None and spec.origin is not None, "pip install symspellpy"
    return str(Path(spec.origin).with_name("frequency_dictionary_en_82_765.txt"))


def through(*command: str) -> Callable[[Path], list[str]]:
    """A command that reads standard input and writes the whole text."""
    quoted = " ".join(command)
    script = f'{quoted} < "$0" > "$0.out" && mv "$0.out" "$0"'
    return lambda path: ["bash", "-c", script, str(path)]


SYSTEMS: dict[str, Callable[[], Callable[[Path], list[str]]]] = {
    "no edits": lambda: in_place("true"),
    "lev-correct": lambda: through(sys.executable, "-m", "lev_plugins", "correct"),
    "lev-correct --eager": lambda: through(
        sys.executable, "-m", "lev_plugins", "correct", "--eager"
    ),
    "symspellpy": lambda: through(
        sys.executable, str(ROOT / "examples/spelling_and_ocr/symspell.py"), own_dictionary()
    ),
    "codespell": lambda: in_place("codespell", "--config", os.devnull, "-w"),
    "typos": lambda: in_place("typos", "--isolated", "--write-changes"),
    "harper": lambda: through(sys.executable, str(ROOT / "benchmarks/harper_lines.py")),
}


def lines_of(path: Path) -> list[str]:
    """The lines of a file, without their ends."""
    return path.read_text(encoding="utf-8").split("\n")


def words_changed(before: Path, after: Path) -> tuple[int, int]:
    """Words of a text, and how many of them were changed."""
    words = changed = 0
    for old, new in zip(lines_of(before), lines_of(after), strict=True):
        words += len(old.split())
        for edit in word_edits(old.split(), new.split()):
            changed += max(edit.end - edit.start, len(edit.words))
    return words, changed


def in_context(noisy: Path, output: Path) -> Iterator[tuple[str, bool]]:
    """Of each word that counts: whether it was right or misspelt, and whether it is right now."""
    marks_of_lines = json.loads(noisy.with_suffix(".gold").read_text(encoding="utf-8"))
    for line, answer, marks in zip(lines_of(noisy), lines_of(output), marks_of_lines):
        words = line.split()
        written: list[str] = list(words)
        for edit in word_edits(words, answer.split()):
            for place in range(edit.start, edit.end):
                alone = edit.end - edit.start == 1
                written[place] = " ".join(edit.words) if alone else ""
        for word, mark, now in zip(words, marks, written):
            if mark == "k":
                yield "right", now == word
            elif isinstance(mark, list) and mark[0] == "nonword":
                if any(correction.lower() != word.lower() for correction in mark[1]):
                    yield "misspelt", now in mark[1]


def measure(name: str, data: Path) -> dict[str, Any]:
    """All files through one system."""
    files = [
        *sorted(data.glob("right_text/*.txt")),
        *sorted(data.glob("foreign/*.txt")),
        *sorted(data.glob("in_context/*.noisy")),
    ]
    counts = {"right_text": [0, 0], "foreign": [0, 0], "right": [0, 0], "misspelt": [0, 0]}
    command_for = SYSTEMS[name]()
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            copy = Path(folder, f"{file.stem}.txt")
            shutil.copy(file, copy)
            subprocess.run(command_for(copy), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if file.suffix == ".txt":
                words, changed = words_changed(file, copy)
                counts[file.parent.name][0] += words
                counts[file.parent.name][1] += changed
                continue
            for kind, right in in_context(file, copy):
                counts[kind][0] += 1
                counts[kind][1] += right
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    right, misspelt = counts["right"], counts["misspelt"]
    return {
        "name": name,
        "right_text": round(1000 * counts["right_text"][1] / counts["right_text"][0], 2),
        "foreign": round(1000 * counts["foreign"][1] / counts["foreign"][0], 2),
        "made_right": round(100 * misspelt[1] / misspelt[0], 1),
        "broken": round(1000 * (right[0] - right[1]) / right[0], 2),
        "seconds": round(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime, 1),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line for each system."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    args = parser.parse_args(argv)
    for name in args.systems:
        print(json.dumps(measure(name, args.data)), flush=True)


if __name__ == "__main__":
    main()
