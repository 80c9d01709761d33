#!/usr/bin/env bash
# Runs the plain tests; makes .venv first if need be (examples/environment.sh).
#
#     bash tests/run.sh                     # what a change needs: no real commands, nothing slow
#     bash tests/run.sh -m "not long"       # the slow tests too, as .ci/run does
#     bash tests/run.sh -m long             # what takes minutes: whole examples on tiny data
#     bash tests/run.sh tests/ops -x        # arguments are pytest's, paths as seen from the repository root
#     bash tests/run.sh -n 0                # in one process; without it one for each core, four at most
#
# A file of tests runs in one process. Corpora and models that commands share are trained once for the same sources
# (.pytest_cache/trained). Plain tests of more than 2 CPU seconds are named at the end.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
cd "$root"
bash examples/environment.sh || exit 1

# The models of the tests are tiny: several threads each would only wait for one another.
export OMP_NUM_THREADS=1
status=0
.venv/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder "$@" || status=$?
case "$status" in
  0) echo "tests: all passed in $((SECONDS / 60)) min $((SECONDS % 60)) s" ;;
  5) echo "error: no test was run: check the arguments" >&2 ;;
  *) echo "error: the tests did not pass (pytest's status $status): see above" >&2 ;;
esac
exit "$status"
