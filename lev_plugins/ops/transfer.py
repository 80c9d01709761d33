"""Tensors on their way between the host and a device, in as few waits as there can be."""

from collections.abc import Iterable

import torch
from torch import Tensor


def to_host(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Tensors of any shapes on the host; a device is waited for once for each of their types."""
    wanted = list(tensors)
    if all(tensor.device.type == "cpu" for tensor in wanted):
        return wanted
    copies: list[Tensor] = list(wanted)
    for kind in {tensor.dtype for tensor in wanted}:
        numbers = [number for number, tensor in enumerate(wanted) if tensor.dtype == kind]
        alike = [wanted[number] for number in numbers]
        joined = torch.cat([tensor.flatten() for tensor in alike]).cpu()
        parts = joined.split([tensor.numel() for tensor in alike])
        for number, tensor, part in zip(numbers, alike, parts, strict=True):
            copies[number] = part.view(tensor.shape)
    return copies
