"""Which tests notice the mutants of mutants.jsonl: lines of the package, and others in their place.

    python benchmarks/guard/mutants.py run COPY new.jsonl tests/systems
    python benchmarks/guard/mutants.py compare benchmarks/guard/mutants.jsonl new.jsonl

``run`` changes the files of a tree: give it a copy. pytest's arguments follow, which say what tests
a mutant is tried with, until the first fails. It goes on where it was stopped.

A mutant of the list also has the verdict of the tree that the list was made from (commit c32784a),
or, if it took the place of another whose line went, that of some tests, or ``untried``.
"""

import ast
import collections
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT = 600  # seconds, after which a mutant hangs
LIST = Path(__file__).with_name("mutants.jsonl")
Mutant = dict[str, str]


def read(path: Path) -> list[Mutant]:
    """Returns the mutants of a file, none of one that is not there yet."""
    return [json.loads(line) for line in path.open(encoding="utf-8")] if path.exists() else []


def key(mutant: Mutant) -> tuple[str, ...]:
    """Returns what tells a mutant from all others."""
    return mutant["file"], mutant["function"], mutant["line"]


def place(mutant: Mutant, tree: Path) -> tuple[Path, int] | None:
    """Returns file and index of a mutant's line in a tree: in its file, else where it moved to.

    ``None`` where the line is gone, or stands in several other functions.
    """
    home = tree / mutant["file"]
    hits = []
    for path in sorted(tree.glob("lev_*/**/*.py")):
        lines = path.read_text(encoding="utf-8").split("\n")
        same = [index for index, line in enumerate(lines) if line.strip() == mutant["line"]]
        if same:
            inside: dict[int, str] = {}
            for node in ast.walk(ast.parse("\n".join(lines))):
                if isinstance(node, ast.FunctionDef):
                    span = range(node.lineno - 1, node.end_lineno or 0)
                    inside.update(dict.fromkeys(span, node.name))
            name = mutant["function"].split(".")[-1]
            hits += [(inside.get(index) != name, path != home, path, index) for index in same]
    hits.sort()
    if not hits or (hits[0][0] and hits[0][1] and len(hits) > 1):
        return None
    return hits[0][2:]


def verdict(mutant: Mutant, tree: Path, tests: Sequence[str]) -> tuple[str, str]:
    """Returns what becomes of a mutant, and the test that notices it."""
    if (location := place(mutant, tree)) is None:
        return "gone", ""
    path, index = location
    original = path.read_text(encoding="utf-8")
    lines = original.split("\n")
    lines[index] = lines[index].replace(mutant["line"], mutant["mutant"])
    path.write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environ = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environ, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return "noticed", "hangs"
    finally:
        path.write_text(original, encoding="utf-8")
    if not done.returncode:
        return "survives", ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    return "noticed", failed[1] if failed else f"status {done.returncode}"


def compare(before: Path, after: Path) -> bool:
    """Prints counts and what is noticed no more; returns whether it is one in a hundred at most."""
    old, new = ({key(mutant): mutant for mutant in read(path)} for path in (before, after))
    both = [name for name in old if name in new]
    pairs = collections.Counter((old[name]["verdict"], new[name]["verdict"]) for name in both)
    for (was, now), count in sorted(pairs.items()):
        print(f"{was} → {now}: {count}")
    noticed = [name for name in both if old[name]["verdict"] == "noticed"]
    lost = [name for name in noticed if new[name]["verdict"] in ("survives", "unreached")]
    for name in lost:
        print(*name, "→", old[name]["mutant"], "by", old[name]["by"])
    return len(lost) <= len(noticed) / 100


def main() -> int:
    """Runs or compares; returns 1 where more than one in a hundred is noticed no more."""
    action, first, second, *tests = sys.argv[1:]
    if action == "compare":
        return not compare(Path(first), Path(second))
    into = Path(second)
    known = set(map(key, read(into)))
    for mutant in read(LIST):
        if key(mutant) not in known:
            becomes, by = verdict(mutant, Path(first).resolve(), tests)
            with into.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**mutant, "verdict": becomes, "by": by}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
