"""Runs the cells of examples/python/edits.ipynb and stores what they show.

    python docs/notebook.py

A test runs them and compares, but for cells with the tag ``depends-on-cpu``: CPUs round in other
orders, so that probabilities differ in their last digits.
"""

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "python" / "edits.ipynb"
Cell = dict[str, Any]


def depends_on_cpu(cell: Cell) -> bool:
    """Whether a cell is tagged as one that shows other numbers elsewhere."""
    return "depends-on-cpu" in cell["metadata"].get("tags", ())


def run_cell(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The outputs of a code cell, as a notebook stores them: printed text, and its last value."""
    body, value, printed = ast.parse(source, f"cell {number}"), None, io.StringIO()
    last = body.body[-1] if body.body else None
    if isinstance(last, ast.Expr):
        body.body.pop()
    with redirect_stdout(printed):
        exec(compile(body, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        shown = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({**shown, "data": data})
    return outputs


def main() -> None:
    """Run all cells in order and write the notebook with their outputs."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        cell["execution_count"] = number
        cell["outputs"] = run_cell("".join(cell["source"]), names, number)
    text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    NOTEBOOK.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
