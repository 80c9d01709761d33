"""Which tensors a GPU computes with."""

from collections.abc import Iterable

import torch
from torch import Tensor


def are_on_one_accelerator(tensors: Iterable[Tensor]) -> bool:
    """Whether all lie on one device that is no CPU, nor one that fairseq has a way of its own for.

    Sparse gradients are left to fairseq, which refuses them.
    """
    places = {(tensor.device, tensor.layout) for tensor in tensors}
    if len(places) != 1:
        return False
    device, layout = places.pop()
    return device.type not in ("cpu", "xla") and layout == torch.strided
