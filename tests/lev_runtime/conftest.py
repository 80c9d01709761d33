"""An exported model that several tests read."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """A small edit model, exported."""
    pytest.importorskip("torch")
    from exported import both_editors

    path = tmp_path_factory.mktemp("exported") / "model"
    both_editors(path)
    return path
