"""Runs the command: ``python -m lev_plugins.cli.serve``."""

from ...compat import run_cli
from . import main

run_cli(main)
