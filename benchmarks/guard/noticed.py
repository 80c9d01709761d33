"""Which tests notice the mutants of ``mutants.jsonl``, which says what the base noticed.

    python benchmarks/guard/noticed.py cover --into new.cover tests -m "not long"
    python benchmarks/guard/noticed.py run --tree COPY --cover new.cover --into new.jsonl
    python benchmarks/guard/noticed.py compare benchmarks/guard/mutants.jsonl new.jsonl

``cover`` runs the tests once, its further arguments are pytest's. ``run`` goes on where it was
stopped; it changes the files of its tree: give it a copy. It tries the quickest tests that reach
the line first, a minute of them at most. Both need the package ``coverage``, and Linux.
"""

import argparse
import collections
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

if (root := str(Path(__file__).resolve().parents[2])) not in sys.path:
    sys.path.insert(0, root)

from benchmarks.guard.mutants import Mutant, place  # noqa: E402

SECONDS = 60  # of tests for a mutant
LIMIT = 180  # seconds of the clock, after which a mutant hangs


def pytest_runtest_protocol(item: Any, nextitem: Any) -> None:
    """As a plugin of pytest: names the test that begins to coverage, also in its commands."""
    import coverage

    os.environ["GUARD_TEST"] = item.nodeid
    if (current := coverage.Coverage.current()) is not None:
        current.switch_context(item.nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """As a plugin of pytest: how long a test took, and whether it passed."""
    with open(os.environ["GUARD_TIMES"], "a", encoding="utf-8") as file:
        file.write(json.dumps([report.nodeid, report.duration, not report.failed]) + "\n")


def cover(tree: Path, into: Path, arguments: list[str]) -> None:
    """Run the tests once with coverage, that of the commands they call too."""
    site, config = into / "site", into / "coveragerc"
    site.mkdir(parents=True, exist_ok=True)
    (site / "sitecustomize.py").write_text("import coverage\ncoverage.process_startup()\n")
    config.write_text(
        f"[run]\nsource = {tree}/lev_plugins\ndata_file = {into}/data\nparallel = true\n"
        "sigterm = true\ncontext = ${GUARD_TEST-}\n"
    )
    paths = [str(site), str(tree), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths), "COVERAGE_PROCESS_START": str(config),
        "GUARD_TIMES": str(into / "times.jsonl"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    plugin = ["-p", "benchmarks.guard.noticed", "-p", "no:cacheprovider"]
    subprocess.run([sys.executable, "-m", "pytest", *plugin, *arguments], cwd=tree, env=environment)
    subprocess.run([sys.executable, "-m", "coverage", "combine", "--rcfile", config, "-q"])


class Reached:
    """For each line the tests that reach it, the quickest first."""

    def __init__(self, folder: Path) -> None:
        import coverage

        self.data = coverage.CoverageData(str(folder / "data"))
        self.data.read()
        self.root = (folder / "coveragerc").read_text().split("source = ")[1].split("\n")[0]
        self.seconds: dict[str, float] = collections.defaultdict(float)
        rows = [json.loads(line) for line in (folder / "times.jsonl").open(encoding="utf-8")]
        for test, seconds, _ in rows:
            self.seconds[test] += seconds
        for test in {test for test, _, passed in rows if not passed}:
            del self.seconds[test]

    def tests(self, file: str, line: int) -> list[str]:
        """Those of a line (from 1) that take :data:`SECONDS` together, and one at least."""
        contexts = self.data.contexts_by_lineno(str(Path(self.root).parent / file)).get(line, [])
        reaching = {name for name in contexts if name in self.seconds}
        chosen: list[str] = []
        left = float(SECONDS)
        for test in sorted(reaching, key=lambda test: (self.seconds[test], test)):
            left -= self.seconds[test]
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen


def _run_tests(tests: list[str], log: Path) -> None:
    """In a child: run the tests, leave the name of the first that fails, and end."""
    import pytest

    class Log:
        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                log.write_text(report.nodeid)

    os.setsid()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", ""]
    os._exit(int(pytest.main([*options, *tests], plugins=[Log()])))


def failing(tree: Path, tests: list[str]) -> str | None:
    """The first of the tests that fails, in a process of its own; "hangs" past the limit."""
    log = tree / ".guard-failed"
    log.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _run_tests(tests, log)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return (log.read_text() if log.exists() else "collection") if status else None
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


def verdict(tree: Path, reached: Reached, one: Mutant, sound: set[str]) -> tuple[str, str]:
    """What becomes of a mutant, and the test that notices it.

    Args:
        sound: tests that are known to pass alone without a mutant; added to.
    """
    if (found := place(one, tree)) is None:
        return "gone", ""
    path, index = found
    tests = reached.tests(str(path.relative_to(tree)), index + 1)
    original = path.read_text(encoding="utf-8")
    lines = original.split("\n")
    lines[index] = lines[index].replace(one["line"], one["mutant"])
    while tests:
        path.write_text("\n".join(lines), encoding="utf-8")
        try:
            failed = failing(tree, tests)
        finally:
            path.write_text(original, encoding="utf-8")
        if failed is None:
            return "survives", ""
        if failed in sound or failed not in tests or failing(tree, [failed]) is None:
            sound.add(failed)
            return "noticed", failed
        tests.remove(failed)  # it fails alone without the mutant too
    return "unreached", ""


def key(one: Mutant) -> tuple[str, ...]:
    """What tells a mutant from all others."""
    return one["file"], one["function"], one["line"]


def run(tree: Path, reached: Reached, mutants: list[Mutant], into: Path) -> None:
    """Try each mutant that ``into`` has no line of; a line for each: what became of it."""
    known = {key(json.loads(line)) for line in into.open()} if into.exists() else set()
    os.chdir(tree)
    os.environ |= {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    sys.path[0] = str(tree)
    import fairseq.models  # noqa: F401  (once, for all children)
    import fairseq.tasks  # noqa: F401
    import hypothesis  # noqa: F401
    import pytest  # noqa: F401

    sound: set[str] = set()
    for one in mutants:
        if key(one) not in known:
            what, by = verdict(tree, reached, one, sound)
            with into.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**one, "verdict": what, "by": by}) + "\n")


def compare(before: Path, after: Path) -> bool:
    """Print counts and what is noticed no more; whether that is one in a hundred at most."""
    sides = [{key(row): row for row in map(json.loads, file.open())} for file in (before, after)]
    for name, side in zip(("before", "after"), sides):
        print(name, dict(collections.Counter(row["verdict"] for row in side.values())))
    there = [(sides[0][one], sides[1][one]) for one in sides[0] if one in sides[1]]
    there = [(old, new) for old, new in there if "gone" not in (old["verdict"], new["verdict"])]
    lost = [new for old, new in there if old["verdict"] == "noticed" != new["verdict"]]
    won = [new for old, new in there if old["verdict"] != "noticed" == new["verdict"]]
    for row in lost:
        print(f"no more: {row['file']} {row['function']}: {row['mutant']} ({row['verdict']})")
    print(f"noticed no more {len(lost)}, noticed now {len(won)}, of {len(there)} that still stand")
    return len(lost) - len(won) <= len(there) / 100


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("cover", "run", "compare"))
    parser.add_argument("files", nargs="*", help="compare: before and after; cover: tests")
    parser.add_argument("--tree", type=Path, default=Path())
    parser.add_argument("--into", type=Path, help="cover: a folder; run: a file, added to")
    parser.add_argument("--cover", type=Path, help="run: the folder that cover made")
    parser.add_argument("--part", default="0/1", help="run: every n-th mutant from the k-th, k/n")
    options, rest = parser.parse_known_args()
    tree = options.tree.resolve()
    if options.action == "cover":
        cover(tree, options.into.resolve(), [*options.files, *rest])
    elif options.action == "run":
        k, n = map(int, options.part.split("/"))
        rows = [json.loads(line) for line in Path(__file__).with_name("mutants.jsonl").open()]
        run(tree, Reached(options.cover.resolve()), rows[k::n], options.into.resolve())
    else:
        return not compare(*map(Path, options.files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
