"""How fast two trees are beside each other, on this CPU: start-up and LevT.

    taskset -c 0 python benchmarks/guard/speed.py --tree . --against ../base --models .guard/models

Everything runs in processes of its own, for both trees in turn. Start-up is CPU seconds. LevT is
each tree's own levt_speed.py, at a small size and in CPU time: our time over that of fairseq's LevT
in the same process. ``faster`` above 1: the tree is faster than the other.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
LINE = b"one line of wrods\n"
SMALL = "--layers 2 --dim 256 --ffn 512 --vocab 2000 --tokens 1000 --batches 1,16 --threads 1"
ROW = re.compile(r"^(\S.*?) {2,}([\d.]+) +ms +([\d.]+) +ms ", re.M)
Times = dict[str, float]


def seconds(arguments: Sequence[str], tree: Path) -> float:
    """CPU seconds of one process, which gets a line to correct.

    Raises:
        RuntimeError: it failed.
    """
    with tempfile.TemporaryFile() as stdin:
        stdin.write(LINE)
        stdin.seek(0)
        null = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        env = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, *arguments]
        process = subprocess.Popen(command, cwd=tree, env=env, stdin=stdin, **null)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed in {tree}: {process.returncode}")
    return used.ru_utime + used.ru_stime


def started(tree: Path, corrector: Path) -> Times:
    """CPU seconds until each is there."""
    rows = {
        "import lev_plugins": ["-c", "import lev_plugins"],
        "correct --help": ["-m", "lev_plugins", "correct", "--help"],
        "correct, one line": ["-m", "lev_plugins", "correct", "--path", str(corrector)],
        "fairseq-train --help": "-m fairseq_cli.train --user-dir lev_plugins --help".split(),
    }
    return {name: seconds(arguments, tree) for name, arguments in rows.items()}


def benchmarked(tree: Path) -> Times:
    """Our time over that of fairseq's LevT, of each row of the table."""
    command = [sys.executable, "benchmarks/levt_speed.py", "--clock", "cpu", *SMALL.split()]
    environ = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environ, capture_output=True, text=True)
    rows = {f"LevT, {what}": float(b) / float(a) for what, a, b in ROW.findall(done.stdout)}
    if done.returncode or not rows:
        raise RuntimeError(f"levt_speed.py: status {done.returncode}: {done.stderr[-500:]}")
    return rows


def table(pairs: Sequence[tuple[Times, Times]]) -> str:
    """Medians of both trees over the rounds, and how many times faster the first is."""
    lines = [f"{'':64} {'tree':>7} {'against':>7}  faster, lowest … highest"]
    for name in pairs[0][0]:
        one, other = zip(*((a[name], b[name]) for a, b in pairs), strict=True)
        ratios = sorted(b / a for a, b in zip(one, other, strict=True))
        a, b = median(one), median(other)
        span = f"{b / a:.2f}, {ratios[0]:.2f} … {ratios[-1]:.2f}"
        lines.append(f"{name[:64]:64} {a:7.3f} {b:7.3f}  {span}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=ROOT, help="a checkout (default: this)")
    parser.add_argument("--against", type=Path, required=True, help="the other one")
    parser.add_argument("--models", type=Path, required=True, help="of checkpoints.py")
    parser.add_argument("--runs", type=int, default=7, help="of each start-up (default: 7)")
    parser.add_argument("--rounds", type=int, default=3, help="of benchmarks (default: 3)")
    parser.add_argument("--only", choices=("start", "levt"), help="one of the two tables")
    args = parser.parse_args()
    trees = [args.tree.resolve(), args.against.resolve()]
    corrector = args.models.resolve() / "corrector" / "checkpoint_best.pt"
    print("one thread; start-up: CPU seconds; the rest: our time / fairseq's")
    if args.only != "levt":
        found = [tuple(started(tree, corrector) for tree in trees) for _ in range(args.runs)]
        print(table(found), flush=True)
    if args.only != "start":
        found = [tuple(benchmarked(tree) for tree in trees) for _ in range(args.rounds)]
        print(table(found), flush=True)


if __name__ == "__main__":
    main()
