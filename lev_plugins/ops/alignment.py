"""The expert policy: minimal scripts of insertions and deletions (paper, Eq. 8).

Edit distance with insertions and deletions only is the longest common subsequence: what both
sequences keep is the LCS, the rest of ``x`` is deleted and the rest of ``y`` is inserted.

Shapes: B sentences, N tokens of x, M tokens of y (padded on the right).
"""

import torch
from torch import Tensor


def lcs_masks(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """Which tokens of ``x`` and of ``y`` a longest common subsequence keeps.

    Args:
        x: tokens, B × N, long.
        y: tokens, B × M, long.
        pad: the padding index; padding is never kept.

    Returns:
        ``keep_x`` (B × N, bool) and ``keep_y`` (B × M, bool): as many kept on either side, and
        ``x[keep_x] == y[keep_y]`` in order. Deleting ``~keep_x`` and inserting the tokens at
        ``~keep_y`` turns x into y with as few edits as possible.

    The recurrence runs over rows of x for the whole batch at once, on the host: another device
    would start some fifteen small kernels for each row. Memory is B·N·M 16-bit integers, so
    sequences are limited to 32,767 tokens.
    """
    if x.device.type != "cpu":
        return masks_by_host(x, y, pad)
    rows = _lcs_table(x, y, pad)
    column = torch.full((x.size(0), 1), y.size(1), dtype=torch.long, device=x.device)
    keep_x = torch.zeros_like(x, dtype=torch.bool)
    # one column more than y has tokens: the place where "nothing matched" is written
    keep_y = torch.zeros(y.size(0), y.size(1) + 1, dtype=torch.bool, device=y.device)
    for i in range(x.size(1), 0, -1):
        length = rows[i].gather(1, column)
        first = (rows[i] < length).sum(1, keepdim=True)  # leftmost column as good as this one
        matched = rows[i - 1].gather(1, first) < length
        keep_x[:, i - 1 : i] = matched
        left = first - 1
        keep_y.scatter_(1, torch.where(matched, left, y.size(1)), True)
        column = torch.where(matched, left, column)
    return keep_x, keep_y[:, :-1]


def masks_by_host(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """What :func:`lcs_masks` gives, with one copy to the host and one back."""
    sizes = [x.size(1), y.size(1)]
    host_x, host_y = torch.cat([x, y], 1).cpu().split(sizes, 1)
    found = lcs_masks(host_x, host_y, pad)
    keep_x, keep_y = torch.cat(found, 1).to(x.device, non_blocking=True).split(sizes, 1)
    return keep_x, keep_y


def _lcs_table(x: Tensor, y: Tensor, pad: int) -> list[Tensor]:
    """Row i, column j: length of the LCS of x[:i] and y[:j]; N + 1 rows, each B × (M + 1)."""
    row = torch.zeros(y.size(0), y.size(1) + 1, dtype=torch.int16, device=x.device)
    rows = [row]
    equal = (x.unsqueeze(2) == y.unsqueeze(1)) & x.ne(pad).unsqueeze(2)
    for i in range(x.size(1)):
        best = torch.maximum(row[:, 1:], row[:, :-1] + equal[:, i])
        row = torch.cat([row[:, :1], best.cummax(1).values], dim=1)
        rows.append(row)
    return rows
