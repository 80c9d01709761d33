"""Small faults for the package: a fixed list, and where each stands in a later tree.

    python benchmarks/guard/mutants.py > benchmarks/guard/mutants.jsonl      # made once

A mutant is a line, what stands there instead, and the function around it; in the file also what
became of it in the tree that the list was made from (commit c32784a, by noticed.py; of the tests
those that run in one process, no commands).
"""

import ast
import collections
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("systems", "ops", "nn", "data", "metrics", "tasks", "inference")
OPERATORS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: (" in ", " not in "),
    ast.NotIn: (" not in ", " in "), ast.Is: (" is ", " is not "), ast.IsNot: (" is not ", " is "),
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.And: (" and ", " or "), ast.Or: (" or ", " and "),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "ones": "zeros", "zeros": "ones"}
#: what changes nothing that a test could see, or is text
SKIPPED = (ast.Raise, ast.Assert, ast.AnnAssign, ast.arg, ast.JoinedStr)
Edit = tuple[str, Any, Any, str, str]
Mutant = dict[str, str]


def _constant(node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", node, node, str(value), str(not value)
    elif isinstance(value, int):
        yield "off by one", node, node, str(value), str(value + 1)
    elif isinstance(value, float):
        yield "constant", node, node, repr(value), repr(value * 2 + 0.125)


def _call(node: ast.Call) -> Iterator[Edit]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name in NAMES:
        yield "operator", node.func, node.func, name, NAMES[name]
    for keyword in node.keywords:
        if keyword.arg == "device" and node.args:
            yield "device", node.args[-1], keyword, f", {ast.unparse(keyword)}", ""
    if len(node.args) > 1 and not any(isinstance(given, ast.Starred) for given in node.args[:2]):
        first, second = map(ast.unparse, node.args[:2])
        if first != second:
            swapped = f"{second}, {first}"
            yield "arguments", node.args[0], node.args[1], f"{first}, {second}", swapped


def _edits(node: Any) -> Iterator[Edit]:
    """Kind, the nodes at which the text begins and ends, the text, what stands there instead."""
    operator = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
    if isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(operator, ast.Not):
        yield "operator", node, node, "not ", ""
    elif type(operator) in OPERATORS and not isinstance(node, ast.AugAssign):
        if isinstance(node, ast.Compare):
            sides = node.left, node.comparators[0]
        else:
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) else node.values[:2]
        yield "operator", *sides, *OPERATORS[type(operator)]


def _nodes(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node that does something, with the function that it stands in."""
    for node in ast.iter_child_nodes(tree):
        strict = isinstance(node, ast.keyword) and node.arg == "strict"
        if isinstance(node, SKIPPED) or strict:
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inner = f"{function}.{node.name}".lstrip(".")
            yield from _nodes(ast.Module(node.body, []), inner)
        else:
            if function:
                yield function, node
            yield from _nodes(node, function)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a file."""
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    for function, node in _nodes(ast.parse(source)):
        for kind, begin, end, old, new in _edits(node):
            line = lines[begin.lineno - 1]
            if begin.lineno != end.end_lineno or not line.isascii():  # columns are bytes
                continue
            left, right = begin.col_offset, end.end_col_offset
            if line[left:right].count(old) == 1:
                changed = line[:left] + line[left:right].replace(old, new) + line[right:]
                yield {"file": str(path.relative_to(ROOT)), "function": function, "kind": kind,
                       "line": line.strip(), "mutant": changed.strip()}  # fmt: skip


def choose(count: int = 300, seed: int = 1) -> list[Mutant]:
    """One a line, three a function, some dropped devices and swapped arguments first."""
    folders = [ROOT / "lev_plugins" / folder for folder in FOLDERS]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    found = [mutant for path in paths for mutant in mutants_of(path)]
    random.Random(seed).shuffle(found)
    chosen: list[Mutant] = []
    taken: collections.Counter[tuple[str, ...]] = collections.Counter()
    for kinds, limit in (({"device"}, count // 30), ({"arguments"}, count // 6), (None, count)):
        for one in found:
            function, line = (one["file"], one["function"]), (one["file"], one["line"])
            wanted = one["kind"] in kinds if kinds else one["kind"] not in ("device", "arguments")
            if wanted and len(chosen) < limit and taken[function] < 3 and not taken[line]:
                taken.update([function, line])
                chosen.append(one)
    return sorted(chosen, key=lambda one: (one["file"], one["function"], one["line"]))


def place(one: Mutant, tree: Path) -> tuple[Path, int] | None:
    """File and index of a mutant's line in a tree: in its file, else where it moved to.

    ``None`` where the line is gone, or stands in several other functions.
    """
    home = tree / one["file"]
    hits = []
    for path in sorted((tree / "lev_plugins").rglob("*.py")):
        lines = path.read_text(encoding="utf-8").split("\n")
        same = [index for index, line in enumerate(lines) if line.strip() == one["line"]]
        if same:
            inside: dict[int, str] = {}
            for node in ast.walk(ast.parse("\n".join(lines))):
                if isinstance(node, ast.FunctionDef):
                    span = range(node.lineno - 1, node.end_lineno or 0)
                    inside.update(dict.fromkeys(span, node.name))
            name = one["function"].split(".")[-1]
            hits += [(inside.get(index) != name, path != home, path, index) for index in same]
    hits.sort()
    if not hits or (hits[0][0] and hits[0][1] and len(hits) > 1):
        return None
    return hits[0][2:]


if __name__ == "__main__":
    for mutant in choose():
        print(json.dumps(mutant))
