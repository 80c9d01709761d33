"""How large the tensors are that something makes."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Allocations(TorchDispatchMode):
    """Inside ``with``: notes the bytes of each tensor that is made, views of others left out.

    Around a fake GPU it sees what that one would make.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        before = {address(value) for value in tree_leaves((args, kwargs)) if torch.is_tensor(value)}
        result = func(*args, **kwargs or {})
        for value in tree_leaves(result):
            if torch.is_tensor(value) and address(value) not in before:
                self.sizes.append(value.untyped_storage().nbytes())
        return result


def address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
