#!/usr/bin/env bash
# Style, types and spelling, with the versions of constraints.txt; makes .venv first if need be:
#
#     bash tests/lint.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
cd "$root"
bash examples/environment.sh
python=.venv/bin/python
"$python" -m pip install --quiet --disable-pip-version-check -c constraints.txt ruff mypy
"$python" -m ruff check .
"$python" -m ruff format --check .
"$python" -m mypy
"$python" tests/budgets.py
# The examples of documents and comments are no setting: what is typed in this folder is corrected.
.venv/bin/lev-correct check . --protect-words docs/misspelt_on_purpose.txt
echo "lint: all passed"
