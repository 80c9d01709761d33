#!/usr/bin/env bash
# Runs the tests of what uses a model, in an environment as `pip install .` makes it: without torch,
# fairseq and a compiler. Makes it in build/core-venv, anew where a requirement has changed.
#
#     bash tests/core.sh                 # about two minutes: all but lev_plugins
#     bash tests/core.sh -x -k serve     # arguments are pytest's
#
# PYTHON names the interpreter (default: python3.11, else python3).
set -euo pipefail
unset PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX

source "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
cd "$root"
venv="$root/build/core-venv"
base="${PYTHON:-$(command -v python3.11 || command -v python3)}"
state="$("$base" -V; cat pyproject.toml constraints.txt | cksum)"
if [ "$state" != "$(cat "$venv/stamp" 2>/dev/null)" ]; then
  rm -rf "$venv"
  "$base" -I -m venv "$venv"
  "$venv/bin/python" -m pip --disable-pip-version-check --no-input install -q -c constraints.txt \
    -e '.[lsp,memory,serve]' httpx2 hypothesis polib pytest pytest-xdist
  printf '%s\n' "$state" >"$venv/stamp"
fi
"$venv/bin/python" -c '
from importlib.util import find_spec
there = [name for name in ("torch", "fairseq", "scipy", "sklearn") if find_spec(name)]
raise SystemExit(f"error: installed with the core: {there}" if there else 0)'
export OMP_NUM_THREADS=1
exec "$venv/bin/python" -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder \
  tests/lev_runtime tests/lev_correct tests/lev_memory tests/lev_serve tests/test_core.py tests/test_doctests.py \
  tests/test_imports.py tests/test_streams.py "$@"
