"""Corrector, server and reports are products on top: without them the rest works as before."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PRODUCTS = ("corrector", "serve", "reports")
# one file of tests a system, Python, and the commands from text to generated text
CLAIMS = (
    "tests/systems/test_levenshtein.py",
    "tests/systems/test_transformer_concat.py",
    "tests/systems/test_pbd.py",
    "tests/systems/test_gated.py",
    "tests/systems/test_enct5.py",
    "tests/inference",
    "tests/commands/test_end_to_end.py",
)


@pytest.fixture
def without_products(root: Path, tmp_path: Path) -> Path:
    """A copy of the package and its tests, less the products."""
    ignore = shutil.ignore_patterns("__pycache__", *PRODUCTS)
    for folder in ("lev_plugins", "tests"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=ignore)
    for file in ("pyproject.toml", "setup.py"):
        shutil.copy(root / file, tmp_path)
    return tmp_path


@pytest.mark.long
def test_training_generation_and_python_need_no_product(without_products):
    environ = {**os.environ, "PYTHONPATH": str(without_products)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *CLAIMS]
    result = subprocess.run(
        command, cwd=without_products, env=environ, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout[-3000:]
