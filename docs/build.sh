#!/usr/bin/env bash
# Builds the site of all documents and the generated reference into build/docs. A broken link or a
# docstring that cannot be read ends it with an error; tests/test_docs.py looks at the rest. It uses the
# environment that is active, else .venv, which it makes. The site needs no network.
#
#     bash docs/build.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
cd "$root"
if [ -n "${VIRTUAL_ENV:-${CONDA_PREFIX:-}}" ]; then
  python=python
else
  bash examples/environment.sh || exit 1
  python="$root/.venv/bin/python"
fi
if ! "$python" -c 'import furo, myst_parser, sphinx' 2>/dev/null; then
  "$python" -m pip install -q --disable-pip-version-check -c constraints.txt \
    $("$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
fi
"$python" -m sphinx -q -W --keep-going -b html -c docs . build/docs
echo "docs: build/docs/index.html"
