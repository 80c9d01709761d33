"""An exported model that several tests read, and the arrays that the loop computes with."""

from pathlib import Path
from typing import Any

import pytest

from lev_runtime.refine.arrays import NUMPY


@pytest.fixture(
    scope="session",
    params=["numpy", pytest.param("torch", marks=[pytest.mark.plugin, pytest.mark.device])],
)
def arrays(request) -> Any:
    """numpy's, and torch's where it is installed."""
    return NUMPY if request.param == "numpy" else pytest.importorskip("lev_plugins.nn.arrays").TORCH


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """A small edit model, exported."""
    pytest.importorskip("torch")
    from exported import both_editors

    path = tmp_path_factory.mktemp("exported") / "model"
    both_editors(path)
    return path
