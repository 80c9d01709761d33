"""Runs the command: ``python -m lev_plugins.cli.distill``."""

from ...fairseq_patches import run_cli
from . import main

run_cli(main)
