"""Docstrings of the four packages begin with a verb or a noun, not with What, Of or Whether."""

import ast
import re

from plain_files import ROOT

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_no_docstring_begins_with_what_of_or_whether():
    faults = []
    for path in sorted(ROOT.glob("lev_*/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            if text and re.match(r"(What|Of|Whether)\b", text):
                faults.append(f"{path.relative_to(ROOT)}: {text.splitlines()[0]}")
    assert not faults
