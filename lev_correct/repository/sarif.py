"""Findings as a log of SARIF 2.1.0, which code scanning and editors read."""

import json
import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from lev_runtime import __version__
from lev_runtime.errors import printable

from .findings import Reported

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "misspelling": "A word that is misspelt, or written for another one",
    "misspelt-identifier": "A listed misspelling as a part of an identifier",
}


def as_sarif(findings: Iterable[Reported]) -> str:
    """Returns a log of one run, with a fix for each finding that is corrected without a person.

    Paths are relative to the current folder, as code scanning expects of the top of a repository.
    """
    rules = [{"id": name, "shortDescription": {"text": about}} for name, about in RULES.items()]
    driver = {"name": "lev-correct", "version": __version__, "rules": rules}
    run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints"}
    run["results"] = [*map(_result, findings)]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(finding: Reported) -> dict[str, Any]:
    file = {"artifactLocation": {"uri": quote(os.fsencode(os.path.relpath(finding.file)))}}
    region = _region(finding.line, finding.column, finding.before)
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": finding.level,
        "message": {"text": printable(finding.message)},
        "locations": [{"physicalLocation": {**file, "region": region}}],
    }
    if finding.edit and finding.edit.applied and not finding.written:
        region = _region(finding.line, finding.edit_column, finding.edit.before)
        replacement = {"deletedRegion": region, "insertedContent": {"text": finding.edit.after}}
        result["fixes"] = [{"artifactChanges": [{**file, "replacements": [replacement]}]}]
    return result


def _region(line: int, column: int, text: str) -> dict[str, int]:
    return {"startLine": line, "startColumn": column, "endColumn": column + len(text)}
