"""The arrays that the decoding loop computes with."""

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
