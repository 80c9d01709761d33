"""The expert policy: minimal scripts of insertions and deletions (paper, Eq. 8).

Edit distance with insertions and deletions only is the longest common subsequence: what both
sequences keep is the LCS, the rest of ``x`` is deleted and the rest of ``y`` is inserted.

Shapes: B sentences, N tokens of x, M tokens of y (padded on the right).
"""

import functools
import importlib.util
import logging

import numpy as np
import torch
from rapidfuzz.distance import LCSseq
from torch import Tensor

logger = logging.getLogger(__name__)
#: tokens of y that the kernels for GPUs align with
MAX_KERNEL_WIDTH = 2048
_NO_TOKEN = -2


def lcs_masks(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """Returns which tokens of ``x`` and ``y`` a longest common subsequence keeps.

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
    """Computes :func:`lcs_masks` with one copy to the host and one back."""
    sizes = [x.size(1), y.size(1)]
    host_x, host_y = torch.cat([x, y], 1).cpu().split(sizes, 1)
    host_masks = _masks_on_cpu(host_x, host_y, pad)
    masks = torch.cat(host_masks, 1)
    masks = masks.to(x.device, non_blocking=True)
    keep_x, keep_y = masks.split(sizes, 1)
    return keep_x, keep_y


@functools.cache
def has_kernels(device: torch.device) -> bool:
    """Returns whether Triton runs the kernels on this device; a log line says why not."""
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
    """Computes :func:`lcs_masks` by sentence; rapidfuzz goes the same way through the table."""
    keep_x = np.zeros(x.shape, bool)
    keep_y = np.zeros(y.shape, bool)
    texts = x.masked_fill(x == pad, _NO_TOKEN).tolist()
    for row_x, row_y, text, other in zip(keep_x, keep_y, texts, y.tolist()):
        # with another end, else it would keep first what both end with
        edits = LCSseq.editops(other, [*text, _NO_TOKEN])
        for block in edits.as_matching_blocks():
            row_x[block.b : block.b + block.size] = True
            row_y[block.a : block.a + block.size] = True
    return torch.from_numpy(keep_x), torch.from_numpy(keep_y)
