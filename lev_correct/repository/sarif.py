"""Findings as a log of SARIF 2.1.0, which code scanning and editors read."""

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lev_runtime import __version__
from lev_runtime.errors import printable

if TYPE_CHECKING:
    from .findings import Found

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "misspelling": ("warning", "A word that is misspelt, or written for another one"),
    "misspelt-identifier": ("note", "A listed misspelling as a part of an identifier"),
}


def as_sarif(findings: Iterable["Found"]) -> str:
    """Returns a log of one run, with a fix for each finding that is corrected without a person.

    Paths are relative to the current folder, as code scanning expects of the top of a repository.
    """
    rules = [
        {
            "id": name,
            "shortDescription": {"text": about},
            "defaultConfiguration": {"level": level},
        }
        for name, (level, about) in RULES.items()
    ]
    driver = {"name": "lev-correct", "semanticVersion": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": list(map(_result, findings)),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _result(found: "Found") -> dict[str, Any]:
    file = {"uri": quote(os.fsencode(os.path.relpath(found.file)).replace(os.sep.encode(), b"/"))}
    region = _region(found.line, found.column, found.column + len(found.before))
    result = {
        "ruleId": found.rule,
        "ruleIndex": [*RULES].index(found.rule),
        "level": RULES[found.rule][0],
        "message": {"text": printable(found.message)},
        "locations": [{"physicalLocation": {"artifactLocation": file, "region": region}}],
    }
    if found.fix:
        first, last, text = found.fix
        replaced = _region(found.line, first, last)
        replacement = {"deletedRegion": replaced, "insertedContent": {"text": text}}
        changes = [{"artifactLocation": file, "replacements": [replacement]}]
        result["fixes"] = [{"description": result["message"], "artifactChanges": changes}]
    return result


def _region(line: int, first: int, last: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": first, "endLine": line, "endColumn": last}
