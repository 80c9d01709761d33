"""CPU seconds until a command answers: Python, torch, fairseq, and our commands with their helps.

    python benchmarks/startup.py
    python benchmarks/startup.py --path checkpoint_best.pt --against ../other-checkout --runs 7

Each is a process of its own, user and system time together, all in turn, the median of --runs of
them: other work on the machine changes the clock, and this little. --path also corrects one line;
--against measures another checkout of this package in the same rounds, and gives the ratio.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from machine import machine

ROOT = Path(__file__).resolve().parent.parent
#: what is there before our code: the rows that others are compared with
BASE = {
    "python": ["-c", "pass"],
    "import torch": ["-c", "import torch"],
    "import fairseq": ["-c", "import fairseq"],
}
COMMANDS = (
    *("correct", "serve", "trace", "tune", "report", "noise", "predict", "enct5-prepare"),
    *("backbone", "average", "preprocess"),
)
HELP = {f"{name} --help": ["-m", "lev_plugins", name, "--help"] for name in COMMANDS}
LINE = b"one line of wrods\n"


def seconds(arguments: Sequence[str], tree: Path, given: bytes = b"") -> float:
    """CPU seconds of one process.

    Raises:
        RuntimeError: it failed.
    """
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"},
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed in {tree}: {process.returncode}")
    return used.ru_utime + used.ru_stime


def measured(
    rows: Mapping[str, Sequence[str]], trees: Sequence[Path], runs: int
) -> dict[str, list[float]]:
    """Of each row the median of each tree; what needs none of our code is measured in the first."""
    found: dict[str, list[list[float]]] = {
        name: [[] for _ in (trees[:1] if name in BASE else trees)] for name in rows
    }
    for _ in range(runs):
        for name, arguments in rows.items():
            for tree, taken in zip(trees, found[name]):
                taken.append(seconds(arguments, tree, LINE))
    return {name: [statistics.median(one) for one in taken] for name, taken in found.items()}


def table(found: Mapping[str, Sequence[float]]) -> str:
    """The medians as text; with two trees the other's, and how many times ours it is."""
    width = max(map(len, found))
    several = max(map(len, found.values())) > 1
    lines = [
        f"{'CPU seconds':{width}}  {'ours':>6}" + (f"  {'other':>6}  ratio" if several else "")
    ]
    for name, medians in found.items():
        other = f"  {medians[1]:6.2f}  {medians[1] / medians[0]:5.2f}" if len(medians) > 1 else ""
        lines.append(f"{name:{width}}  {medians[0]:6.2f}{other}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--path", metavar="CHECKPOINT", help="a corrector: corrects a line with it")
    parser.add_argument("--settings", default="none", help="of correct (default: none)")
    parser.add_argument("--against", metavar="DIR", type=Path, help="another checkout, in turn")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose name holds this")
    parser.add_argument("--runs", type=int, default=5, help="processes of each (default: 5)")
    args = parser.parse_args(argv)
    rows = {**BASE, "import lev_plugins": ["-c", "import lev_plugins"], **HELP}
    if args.path:
        path = os.path.abspath(args.path)
        rows["correct, one line"] = ["-m", "lev_plugins", "correct", "--path", path]
        rows["correct, one line"] += ["--settings", args.settings]
    rows = {name: what for name, what in rows.items() if name in BASE or args.only in name}
    trees = [ROOT, *([args.against.resolve()] if args.against else [])]
    print(f"{machine('cpu')}, one thread; medians of {args.runs}")
    print(table(measured(rows, trees, args.runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
