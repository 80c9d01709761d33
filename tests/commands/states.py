"""What a training has saved."""

from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_leaves_with_path

import lev_plugins  # noqa: F401  (torch may then read checkpoints)


def state(path: Path) -> dict[str, Any]:
    """Reads all of a checkpoint."""
    return torch.load(path, weights_only=True)


def differences(ours: Any, other: Any) -> list[str]:
    """Returns where two states differ, bit for bit."""
    leaves, others = (dict(tree_leaves_with_path(tree)) for tree in (ours, other))
    if leaves.keys() != others.keys():
        return ["names"]
    return [keystr(path) for path in leaves if not is_same(leaves[path], others[path])]


def is_same(left: Any, right: Any) -> bool:
    if torch.is_tensor(left) and torch.is_tensor(right):
        return left.dtype == right.dtype and torch.equal(left, right)
    return type(left) is type(right) and left == right
