"""The expert policy: minimal scripts of insertions and deletions (paper, Eq. 8).

Edit distance with insertions and deletions only is the longest common subsequence: what both
sequences keep is the LCS, the rest of ``x`` is deleted and the rest of ``y`` is inserted.

Shapes: B sentences, N tokens of x, M tokens of y (padded on the right).
"""

import numpy as np
import torch
import torch.nn.functional as F
from rapidfuzz.distance import LCSseq
from torch import Tensor

_NO_TOKEN = -2


def lcs_masks(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """Returns which tokens of ``x`` and of ``y`` a longest common subsequence keeps.

    Args:
        x: tokens, B × N, long; N is 1 or more.
        y: tokens, B × M, long.
        pad: the padding index; padding is never kept.

    Returns:
        ``keep_x`` (B × N, bool) and ``keep_y`` (B × M, bool): as many kept on either side, and
        ``x[keep_x] == y[keep_y]`` in order. Deleting ``~keep_x`` and inserting the tokens at
        ``~keep_y`` turns x into y with as few edits as possible. Where several subsequences are as
        long, it is the one that goes from the end of x to the front, and takes for each token the
        leftmost column that is as good.

    On a GPU nothing is copied to the host, and nothing waits.
    """
    return (masks_by_rapidfuzz if x.device.type == "cpu" else masks_by_table)(x, y, pad)


def masks_by_rapidfuzz(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """:func:`lcs_masks`, sentence by sentence; rapidfuzz goes the same way through the table."""
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


def masks_by_table(x: Tensor, y: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """:func:`lcs_masks` by the textbook's table, row by row for all sentences at once."""
    matches = (x.unsqueeze(2) == y.unsqueeze(1)) & x.ne(pad).unsqueeze(2)
    columns = y.size(1) + 1
    row = y.new_zeros(len(y), columns)  # lengths of the LCS of x[:i] with y[:j]
    rows = [row]
    for match in F.pad(matches, (1, 0)).unbind(1):
        longer = F.pad(row[:, :-1], (1, 0)) + match
        row = torch.maximum(row, longer).cummax(1).values
        rows.append(row)
    lengths = torch.stack(rows, 1)
    before, after = lengths[:, :-1], lengths[:, 1:]
    column = torch.arange(columns, device=x.device)
    grows = F.pad(after.diff(dim=2), (1, 0)).bool()
    leftmost = (grows * column).cummax(2).values  # the first column with the same length
    kept = before.gather(2, leftmost) < after
    onward = torch.where(kept, leftmost - 1, column)  # where the path meets the row before
    place = column[-1:].expand(len(x), 1)
    path = []
    for step in reversed(onward.unbind(1)):
        path.append(place)
        place = step.gather(1, place)
    places = torch.stack(path[::-1], 1)
    keep_x = kept.gather(2, places).squeeze(2)
    # what is not kept is written to column 0, which is cut off
    at = leftmost.gather(2, places).squeeze(2) * keep_x
    keep_y = matches.new_zeros(len(y), columns).scatter_(1, at, True)
    return keep_x, keep_y[:, 1:]
