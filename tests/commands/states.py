"""What a training has saved."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import lev_plugins  # noqa: F401  (torch may then read checkpoints)


def state(path: Path) -> dict[str, Any]:
    """All of a checkpoint."""
    return torch.load(path, weights_only=True)


def parameters(path: Path) -> dict[str, Tensor]:
    """Those of the model."""
    return state(path)["model"]


def tensors(path: Path) -> dict[str, Tensor]:
    """Those of a training's state: the model's and what the optimizer remembers."""
    kept = state(path)
    kept_tensors = dict(kept["model"])
    for number, moments in kept["last_optimizer_state"]["state"].items():
        kept_tensors |= {f"{number}.{name}": value for name, value in moments.items()}
    return {name: value for name, value in kept_tensors.items() if torch.is_tensor(value)}


def assert_equal(actual: dict[str, Tensor], expected: dict[str, Tensor], least: int = 20) -> None:
    """The same names, ``least`` of them or more, and tensors equal bit for bit."""
    assert actual.keys() == expected.keys() and len(actual) >= least
    assert not [name for name in actual if not torch.equal(actual[name], expected[name])]
