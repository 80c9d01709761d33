"""Correctors of English side by side: right text that is to stay, and misspellings in context.

    python benchmarks/correctors.py DATA --json correctors.json
    python benchmarks/correctors.py DATA --systems lev-correct codespell

DATA holds ``right_text/*.txt`` and ``foreign/*.txt``, which are to stay, and ``in_context/*.noisy``
beside ``*.gold``: for each line a JSON list with an entry for each word, ``"k"`` (right), ``"?"``
(unclear), or ``[kind, [corrections]]``; only the kind ``nonword`` is counted. Every system corrects
every file with its default settings: it runs in an empty folder, where no configuration is found.
Peers: ``pip install -r benchmarks/requirements-peers.txt``.

A line for each system: words changed, of right and of foreign text and per 1,000; misspelt words
made right, in percent; right words broken, per 1,000; processor seconds, of all files together; and
the most memory that a process took. Each file is a command of its own, which has to start first.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from lev_runtime.text.words import word_edits  # noqa: E402


def in_place(*command: str) -> Callable[[Path], list[str]]:
    """Returns a command that rewrites the file at its end."""
    return lambda path: [*command, str(path)]


def through(*command: str) -> Callable[[Path], list[str]]:
    """Returns a command that reads standard input and writes the whole text."""
    quoted = " ".join(command)
    script = f'{quoted} < "$0" > "$0.out" && mv "$0.out" "$0"'
    return lambda path: ["bash", "-c", script, str(path)]


def ours(*options: str) -> Callable[[Path], list[str]]:
    """Returns this package's command."""
    return through(sys.executable, "-m", "lev_plugins", "correct", *options)


#: Rewrites the file that it is called with, each line as a text of its own, as a sentence is typed.
EACH_LINE = """
import sys
from lev_correct import Corrector
corrector, path = Corrector.from_pretrained(), sys.argv[1]
with open(path, encoding="utf-8", newline="") as file:
    lines = file.read().split("\\n")
corrected = [corrector.correct([line], document=corrector.document(text=[line])) for line in lines]
with open(path, "w", encoding="utf-8", newline="") as file:
    file.write("\\n".join(correction.text for (correction,) in corrected))
"""

SYSTEMS: dict[str, Callable[[], Callable[[Path], list[str]]]] = {
    "no edits": lambda: in_place("true"),
    "codespell": lambda: in_place("codespell", "-w"),
    "typos": lambda: in_place("typos", "--isolated", "--write-changes"),
    "symspellpy": lambda: through(
        sys.executable,
        str(ROOT / "examples/spelling_and_ocr/symspell.py"),
        str(resources.files("symspellpy") / "frequency_dictionary_en_82_765.txt"),
    ),
    "lev-correct": ours,
    "lev-correct, each line a text": lambda: in_place(sys.executable, "-c", EACH_LINE),
    "lev-correct --min-confidence 0.9": lambda: ours("--min-confidence", "0.9"),
    "lev-correct --min-confidence 0.05": lambda: ours("--min-confidence", "0.05"),
}

#: Runs a command and prints its cost. A process of its own, and a small one: what a process took
#: before it became the command counts as well.
RUNNER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6)
"""


def cost_of(command: Sequence[str], folder: str) -> list[float]:
    """Returns processor seconds and megabytes of memory of a command, with all that it starts.

    It runs in ``folder``, with this tree's packages.
    """
    runner = [sys.executable, "-S", "-c", RUNNER, *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.check_output(runner, text=True, cwd=folder, env=environment)
    return list(map(float, printed.split()))


def lines_of(path: Path) -> list[str]:
    """Returns the lines of a file, without their ends."""
    return path.read_text(encoding="utf-8").split("\n")


def words_changed(before: Path, after: Path) -> tuple[int, int]:
    """Returns the words of a text, and how many of them were changed."""
    words = changed = 0
    for old, new in zip(lines_of(before), lines_of(after), strict=True):
        words += len(old.split())
        for edit in word_edits(old.split(), new.split()):
            changed += max(edit.end - edit.start, len(edit.words))
    return words, changed


def in_context(noisy: Path, output: Path) -> Iterator[tuple[str, bool]]:
    """Yields for each word that counts if it was right or misspelt, and if it is right now."""
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
    """Returns what one system makes of all files.

    Raises:
        OSError: its command is not there.
    """
    files = [
        *sorted(data.glob("right_text/*.txt")),
        *sorted(data.glob("foreign/*.txt")),
        *sorted(data.glob("in_context/*.noisy")),
    ]
    words, changed, costs = Counter[str](), Counter[str](), []
    command_for = SYSTEMS[name]()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as empty:
        for file in files:
            copy = Path(folder, f"{file.stem}.txt")
            shutil.copy(file, copy)
            costs.append(cost_of(command_for(copy), empty))
            if file.suffix == ".txt":
                numbers = words_changed(file, copy)
                words[file.parent.name] += numbers[0]
                changed[file.parent.name] += numbers[1]
            else:
                for kind, right_now in in_context(file, copy):
                    words[kind] += 1
                    changed[kind] += right_now if kind == "misspelt" else not right_now
    seconds, memory = zip(*costs, strict=True)
    return {
        "name": name,
        **{f"{kind} words": number for kind, number in words.items()},
        **{f"{kind} changed": changed[kind] for kind in words},
        "right_text": round(1000 * changed["right_text"] / words["right_text"], 2),
        "foreign": round(1000 * changed["foreign"] / words["foreign"], 2),
        "made_right": round(100 * changed["misspelt"] / words["misspelt"], 1),
        "broken": round(1000 * changed["right"] / words["right"], 2),
        "cpu_seconds": round(sum(seconds), 1),
        "memory": round(max(memory)),
    }


def line_of(measured: dict[str, Any]) -> str:
    """Returns what was measured of a system, to be read."""
    return (
        "{name}: right text {right_text changed:,} of {right_text words:,} words changed"
        " ({right_text} per 1,000), foreign {foreign changed:,} of {foreign words:,} ({foreign});"
        " {made_right} % of {misspelt words:,} misspelt words made right,"
        " {right changed:,} of {right words:,} right ones broken ({broken});"
        " {cpu_seconds} s of the processor, {memory} MB"
    ).format(**measured)


def main(argv: Sequence[str] | None = None) -> None:
    """Prints a line for each system."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("data", metavar="DATA", type=Path, help="folder of the texts")
    add("--systems", nargs="+", metavar="NAME", default=list(SYSTEMS), choices=list(SYSTEMS),
        help=f"of {', '.join(SYSTEMS)} (default: all)")  # fmt: skip
    add("--json", metavar="FILE", type=Path, help="also write all figures as JSON")
    args = parser.parse_args(argv)
    systems = []
    for name in args.systems:
        systems.append(measure(name, args.data))
        print(line_of(systems[-1]), flush=True)
        if args.json:
            args.json.write_text(json.dumps({"systems": systems}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
