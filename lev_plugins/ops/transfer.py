"""Tensors on their way between the host and a device, in as few waits as there can be."""

from collections.abc import Iterable, Sequence

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
        joined = torch.cat([wanted[number].flatten() for number in numbers]).cpu()
        parts = joined.split([wanted[number].numel() for number in numbers])
        for number, part in zip(numbers, parts, strict=True):
            copies[number] = part.view(wanted[number].shape)
    return copies


def to_device(numbers: Sequence[int], device: torch.device) -> Tensor:
    """Whole numbers of the host on a device, long; nobody waits for it."""
    return torch.tensor(numbers, dtype=torch.long).to(device, non_blocking=True)
