"""The mutants of mutants.jsonl, and where each stands in a later tree.

A mutant is a line, what stands there instead, and the function around it; in the file also what
became of it in the tree that the list was made from (commit c32784a, by noticed.py; of the tests
those that run in one process, no commands). The script that made the list is in commit a08d4cd.
"""

import ast
from pathlib import Path

Mutant = dict[str, str]


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
