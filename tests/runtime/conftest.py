"""An exported model that several tests read."""

from pathlib import Path

import pytest
from exported import both_editors


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """A small edit model, exported."""
    path = tmp_path_factory.mktemp("exported") / "model"
    both_editors(path)
    return path
