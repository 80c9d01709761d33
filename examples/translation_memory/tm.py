"""The former name of lev-memory, for one version."""

import sys

from lev_memory.cli import run_script

print("note: tm.py is now lev-memory", file=sys.stderr)
run_script()
