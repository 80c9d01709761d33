"""The expert policy: minimal scripts of insertions and deletions (paper, Eq. 8).

Edit distance with insertions and deletions only is the longest common subsequence: what both
sequences keep is the LCS, the rest of ``x`` is deleted and the rest of ``y`` is inserted.

The rows of the LCS table are kept as bits (Crochemore et al., 2001; Hyyrö, 2004): bit j of row i
says that the LCS of x[:i] and y[:j + 1] is longer than that of x[:i] and y[:j]. One addition of
long integers makes a row from the one before.

Shapes: B sentences, N tokens of x, M tokens of y (padded on the right), W words of a row's bits.
"""

import functools
import importlib.util
import logging

import numpy as np
import torch
from torch import Tensor

logger = logging.getLogger(__name__)
#: tokens of y that the kernels for GPUs align with
MAX_KERNEL_WIDTH = 2048


def lcs_masks(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """Which tokens of ``x`` and of ``y`` a longest common subsequence keeps.

    Args:
        x: tokens, B × N, long.
        y: tokens, B × M, long.
        pad: the padding index; padding is never kept.

    Returns:
        ``keep_x`` (B × N, bool) and ``keep_y`` (B × M, bool): as many kept on either side, and
        ``x[keep_x] == y[keep_y]`` in order. Deleting ``~keep_x`` and inserting the tokens at
        ``~keep_y`` turns x into y with as few edits as possible. Where several subsequences are as
        long, it is the one that goes from the end of x to the front, and takes for each token the
        leftmost column that is as good.

    On a GPU with Triton nothing is copied to the host, and nothing waits.
    """
    if x.device.type == "cpu":
        return _masks_on_cpu(x, y, pad)
    if y.size(1) <= MAX_KERNEL_WIDTH and has_kernels(x.device):
        from .alignment_triton import lcs_masks_triton

        return lcs_masks_triton(x, y, pad)
    return masks_by_host(x, y, pad)


def masks_by_host(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """What :func:`lcs_masks` gives, with one copy to the host and one back."""
    sizes = [x.size(1), y.size(1)]
    host_x, host_y = torch.cat([x, y], 1).cpu().split(sizes, 1)
    masks = torch.cat(_masks_on_cpu(host_x, host_y, pad), 1)
    keep_x, keep_y = masks.to(x.device, non_blocking=True).split(sizes, 1)
    return keep_x, keep_y


@functools.cache
def has_kernels(device: torch.device) -> bool:
    """Whether Triton compiles and starts the kernels on this device; a log line says why not."""
    if device.type != "cuda" or importlib.util.find_spec("triton") is None:
        return False
    try:
        from .alignment_triton import lcs_masks_triton

        tokens = torch.zeros(1, 1, dtype=torch.long, device=device)
        lcs_masks_triton(tokens, tokens, pad=1)
    except Exception as error:  # no C compiler, an old driver, an old GPU: each raises its own
        reason = str(error).partition("\n")[0] or type(error).__name__
        logger.warning("edits are aligned on the host: Triton does not work here (%s)", reason)
        return False
    return True


def _masks_on_cpu(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """:func:`lcs_masks`; a row of the table is one integer for the whole batch.

    Each sentence has M + 1 bits of it: the last one takes the carry of a sentence's addition.
    """
    batch, width = y.shape
    columns = np.arange(width + 1)
    full = _as_integer(np.broadcast_to(columns < width, (batch, width + 1)))
    carries = _as_integer(np.broadcast_to(columns == width, (batch, width + 1)))
    rows = _table_rows(x.numpy(), y.numpy(), pad, full)
    shifts = [1 << power for power in range(width.bit_length())]
    # what a shift to the right brings from the sentence behind is cut off
    insides = [np.broadcast_to(columns < width - shift, (batch, width + 1)) for shift in shifts]
    steps = list(zip(shifts, map(_as_integer, insides)))
    allowed, keep_y, keep_x = full, 0, []
    for row, before in zip(rows[:0:-1], rows[-2::-1]):
        # the last column so far where this row grows: x_i is kept if the row before does not, too
        up_to_last = row & allowed
        for shift, inside in steps:
            up_to_last |= (up_to_last >> shift) & inside
        last = up_to_last ^ ((up_to_last >> 1) & full)
        kept = last ^ (last & before)
        sentences = (kept + full) & carries
        allowed &= full ^ (sentences - kept)
        keep_y |= kept
        keep_x.append(_as_bits(sentences, (batch, width + 1))[:, width])
    bits_x = np.stack(keep_x[::-1], 1) if keep_x else np.zeros(x.shape, bool)
    bits_y = _as_bits(keep_y, (batch, width + 1))[:, :width]
    return torch.from_numpy(bits_x), torch.from_numpy(np.ascontiguousarray(bits_y))


def _table_rows(x: np.ndarray, y: np.ndarray, pad: int, full: int) -> list[int]:
    """The N + 1 rows of the LCS table; ``full``: bits of all columns of y."""
    rows, flat = [0], full  # flat: where the LCS does not grow
    equal = np.zeros((y.shape[0], y.shape[1] + 1), bool)
    real = x != pad
    for i in range(x.shape[1]):
        np.logical_and(y == x[:, i : i + 1], real[:, i : i + 1], out=equal[:, :-1])
        hit = flat & _as_integer(equal)
        flat = ((flat + hit) | (flat - hit)) & full
        rows.append(full ^ flat)
    return rows


def _as_integer(bits: np.ndarray) -> int:
    """The integer of these bits (bool), the lowest first."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _as_bits(number: int, shape: tuple[int, int]) -> np.ndarray:
    """The bits of :func:`_as_integer` (bool)."""
    size = shape[0] * shape[1]
    packed = np.frombuffer(number.to_bytes(-(-size // 8), "little"), np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").view(bool).reshape(shape)
