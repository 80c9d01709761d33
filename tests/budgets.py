"""Count how much code there is to read in each room, and fail above tests/budgets.toml.

    python tests/budgets.py

A room's size is its *nodes* (statements and expressions of the syntax tree, without docstrings)
plus its *patterns* (items of regular expressions: letters in a row count once, a class once; word
lists inside a long pattern count by the word). Line breaks and comments change neither.

A number of budgets.toml is raised in a commit of its own, which says what the room gains and what
was removed for it. It is lowered whenever a room shrinks.
"""

import ast
import re
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from re import _parser

ROOT = Path(__file__).resolve().parent.parent

#: what a pattern has and prose of its length mostly has not
SIGNS = re.compile(r"[\\\[(|*+?]")

#: the length from which a pattern is read as several lines of re.VERBOSE
VERBOSE = 1500


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


def size_of(source: str) -> int:
    """Returns the nodes and patterns of a module."""
    tree = ast.parse(source)
    left_out = docstrings(tree)
    read = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt | ast.expr) and node not in left_out
    ]
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node not in left_out and isinstance(node.value, str)
    ]
    return len(read) + sum(map(pattern_size, strings))


def main() -> None:
    """Print each room's size beside its budget; exits with 1 if one is above."""
    budgets: dict[str, int] = tomllib.loads((ROOT / "tests/budgets.toml").read_text("utf-8"))
    above = []
    for rooms, budget in budgets.items():
        files = [path for room in rooms.split(" + ") for path in (ROOT / room).rglob("*.py")]
        size = sum(size_of(path.read_text("utf-8")) for path in files)
        print(f"{rooms:22} {size:7,} of {budget:7,}")
        if size > budget:
            above.append(f"{rooms} by {size - budget:,}")
    if above:
        sys.exit(f"error: larger than in tests/budgets.toml: {', '.join(above)}")


if __name__ == "__main__":
    main()
