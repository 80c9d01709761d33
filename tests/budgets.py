"""Measure how much code there is to read in each room, and how dense it is; fail where that grows.

    python tests/budgets.py                      # compares with tests/budgets.toml
    python tests/budgets.py --update [ROOM …]    # writes what fell there, of ROOM what rose, too

A room's *size* is its nodes (statements and expressions of the syntax tree, without docstrings)
plus its patterns (items of regular expressions: letters in a row count once, a class once; word
lists inside a long pattern count by the word). Its density is the mean number of expressions in a
statement, of functions with three or more: the *median* and the ninth *decile*. Line breaks and
comments change neither.

budgets.toml has a target and a count of each. What is above its target stays at or below its count,
which is raised in a commit of its own, which says what the room gains and what was removed for it.
Targets only fall: they are compared with those where the branch began.
"""

import argparse
import ast
import math
import re
import statistics
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from re import _parser

ROOT = Path(__file__).resolve().parent.parent
FILE = "tests/budgets.toml"
HEADER = "# What each room may have: python tests/budgets.py"

#: what a density may grow by, which is rounded; of whole numbers this is nothing
TOLERANCE = 0.05

#: statements from which on a function has a density
LEAST = 3

#: what a pattern has and prose of its length mostly has not
SIGNS = re.compile(r"[\\\[(|*+?]")

#: the length from which a pattern is read as several lines of re.VERBOSE
VERBOSE = 1500

#: "size of lev_serve" → "target" and "count"
Budgets = dict[str, dict[str, float]]
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """Returns the statements that are docstrings, and their values."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    own = [node for node in ast.walk(tree) if isinstance(node, owners) and ast.get_docstring(node)]
    first = [node.body[0] for node in own]
    return {*first, *(statement.value for statement in first if isinstance(statement, ast.Expr))}


def items(pattern: _parser.SubPattern) -> Iterator[str]:
    """Yields the kind of each item of a parsed pattern; letters in a row are one."""
    before = ""
    for code, argument in pattern.data:
        kind = str(code)
        if not kind == before == "LITERAL":
            yield kind
        before = kind
        parts = argument if isinstance(argument, tuple) else (argument,)
        for part in parts:
            for inner in part if isinstance(part, list) else [part]:
                if isinstance(inner, _parser.SubPattern):
                    yield from items(inner)


def pattern_size(text: str) -> int:
    """Returns the items of a string that is a regular expression; 0 for other strings."""
    if len(text) <= 3 or not SIGNS.search(text):
        return 0
    is_long = len(text) >= VERBOSE
    size = 0
    for line in text.split("\n") if is_long else [text]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                size += len([*items(_parser.parse(line, re.VERBOSE if is_long else 0))])
        except (re.error, OverflowError, RecursionError):  # a part, or a pattern of regex
            size += max(1, len(line) // 6)
    return size


def size_of(tree: ast.Module) -> int:
    """Returns the nodes and patterns of a module."""
    left_out = docstrings(tree)
    read = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt | ast.expr) and node not in left_out
    ]
    constants = [node.value for node in read if isinstance(node, ast.Constant)]
    return len(read) + sum(pattern_size(text) for text in constants if isinstance(text, str))


def expressions(statement: ast.AST) -> int:
    """Counts the expressions of a statement, without those of statements inside it."""
    parts = [part for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt)]
    return sum(isinstance(part, ast.expr) + expressions(part) for part in parts)


def densities(tree: ast.Module) -> Iterator[float]:
    """Yields the expressions a statement of each function of a module."""
    left_out = docstrings(tree)
    for function in ast.walk(tree):
        if isinstance(function, FUNCTIONS):
            body = [node for part in function.body for node in ast.walk(part)]
            read = [node for node in body if isinstance(node, ast.stmt) and node not in left_out]
            if len(read) >= LEAST:
                yield statistics.mean(map(expressions, read))


@cache
def measured(room: str) -> dict[str, float]:
    """Returns size, median and decile of folders: their patterns, joined by `` + ``."""
    paths = [path for folder in room.split(" + ") for path in ROOT.glob(f"{folder}/**/*.py")]
    trees = [ast.parse(path.read_text("utf-8")) for path in paths]
    dense = sorted(density for tree in trees for density in densities(tree)) or [0.0]
    median, decile = statistics.median(dense), dense[len(dense) * 9 // 10]
    size = sum(map(size_of, trees))
    return {"size": size, "median": round(median, 2), "decile": round(decile, 2)}


def grown(budgets: Budgets, now: dict[str, float]) -> list[str]:
    """Returns what is above its target, and above its count."""
    return [
        name
        for name, budget in budgets.items()
        if now[name] > max(budget["target"], budget["count"] + TOLERANCE)
    ]


def eased(before: Budgets, after: Budgets) -> list[str]:
    """Returns whose target is higher than before, or gone."""
    none = {"target": math.inf}
    return [
        name
        for name, budget in before.items()
        if after.get(name, none)["target"] > budget["target"]
    ]


def updated(budgets: Budgets, now: dict[str, float], raised: list[str]) -> Budgets:
    """Returns budgets with counts that fell, are within their target, or are of a raised room."""
    new = {}
    for name, budget in budgets.items():
        is_right = now[name] <= max(budget.values()) or name.partition(" of ")[2] in raised
        new[name] = budget | ({"count": now[name]} if is_right else {})
    return new


def git(*words: str) -> str:
    """Returns what git answers, "" where it cannot."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.strip()


def earlier() -> tuple[str, Budgets]:
    """Returns the commit where the branch began, of main the one before, and its budgets.

    There are none without a history, or where they had no targets.
    """
    commit = git("merge-base", "HEAD", "origin/main")
    if commit in ("", git("rev-parse", "HEAD")):
        commit = git("rev-parse", "HEAD~1")
    budgets = tomllib.loads(git("show", f"{commit}:{FILE}") if commit else "")
    return commit, {name: each for name, each in budgets.items() if isinstance(each, dict)}


def main() -> None:
    """Print what each room has beside its budget; exits with 1 where it or a target has grown."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--update", nargs="*", metavar="ROOM", help="write counts, see above")
    raised = parser.parse_args().update
    budgets: Budgets = tomllib.loads((ROOT / FILE).read_text("utf-8"))
    now = {}
    for name in budgets:
        measure, _, room = name.partition(" of ")
        now[name] = measured(room)[measure]
    if raised is not None:
        budgets = updated(budgets, now, raised)
        lines = [
            f'"{name}" = {{ target = {each["target"]:_}, count = {each["count"]:_} }}'
            for name, each in budgets.items()
        ]
        (ROOT / FILE).write_text("\n".join([HEADER, *lines, ""]), "utf-8")
    for name, budget in budgets.items():
        print(f"{name:32} {now[name]:8,} of {budget['count']:8,}, target {budget['target']:8,}")
    commit, before = earlier()
    print(f"targets compared: {len(before)}, of {commit[:12] or 'no earlier commit'}")
    faults = [f"{name} has grown" for name in grown(budgets, now)]
    faults += [f"the target of {name} was raised" for name in eased(before, budgets)]
    if faults:
        sys.exit(f"error: {FILE}: {'; '.join(faults)}")


if __name__ == "__main__":
    main()
