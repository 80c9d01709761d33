"""The environment ℰ: applying deletions, placeholders and tokens to padded batches (paper, §2.2).

Shapes: B sentences of up to T tokens, padded on the right; sentences begin with <s> and end
with </s>. Slot k lies between tokens k and k + 1, so there are T − 1 slots.
"""

from typing import NamedTuple

import torch
from torch import Tensor


def compact(values: Tensor, keep: Tensor, fill: float) -> Tensor:
    """Moves the kept entries of each row to its left end.

    Args:
        values: B × T.
        keep: B × T, bool.
        fill: what stands behind the kept entries.

    Returns:
        B × L, L the largest number of kept entries in a row (at least 1).
    """
    target = keep.cumsum(1) - 1
    width = max(int(target[:, -1].max()) + 1, 1) if values.numel() else 1
    out = values.new_full((values.size(0), width + 1), fill)
    out.scatter_(1, target.masked_fill(~keep, width), values)
    return out[:, :width]


def apply_deletion(tokens: Tensor, keep: Tensor, pad: int) -> Tensor:
    """ℰ(y, d): the kept tokens of every sentence, closed up (B × T → B × L)."""
    return compact(tokens, keep & tokens.ne(pad), pad)


def limit_insertions(counts: Tensor, room: Tensor) -> Tensor:
    """Cuts insertion counts, from the left, so that a sentence gets at most ``room`` new tokens.

    Args:
        counts: B × (T − 1), placeholders wanted in every slot.
        room: B, how many tokens may be added (negative counts as 0).
    """
    before = counts.cumsum(1) - counts
    return torch.minimum(counts, (room.unsqueeze(1) - before).clamp(min=0))


def apply_placeholders(
    values: Tensor, lengths: Tensor, counts: Tensor, new: float, fill: float
) -> Tensor:
    """ℰ(y, p): opens every slot by its count.

    Args:
        values: B × T (tokens, scores or marks).
        lengths: B, number of real tokens, at least 1.
        counts: B × (T − 1), how many entries to insert in each slot; 0 beyond a sentence's end.
        new: value of an inserted entry.
        fill: value behind a sentence's end.

    Returns:
        B × L, L the longest sentence after insertion.
    """
    total = lengths + counts.sum(1)
    width = int(total.max())
    position = torch.arange(width, device=values.device).unsqueeze(0)
    out = values.new_full((values.size(0), width), new)
    out.masked_fill_(position >= total.unsqueeze(1), fill)
    shift = torch.nn.functional.pad(counts, (1, 0)).cumsum(1)
    index = torch.arange(values.size(1), device=values.device).unsqueeze(0)
    real = index < lengths.unsqueeze(1)
    out = torch.nn.functional.pad(out, (0, 1))  # padding is written to a column that is cut off
    out.scatter_(1, (index + shift).masked_fill(~real, width), values)
    return out[:, :width]


class InsertionLabels(NamedTuple):
    """What the expert inserts (paper, Eq. 7-8), made from y* and the tokens of it that stand.

    before: y_ins, B × L, tokens that stand.
    counts: p*, B × (L − 1), missing tokens in every slot; 0 beyond the end.
    slots: B × (L − 1), bool, which slots exist.
    after: y'_ins, B × M, y* with the placeholder where a token is missing.
    missing: B × M, bool, where the placeholders are; t* are the tokens of y* there.
    """

    before: Tensor
    counts: Tensor
    slots: Tensor
    after: Tensor
    missing: Tensor


def insertion_labels(target: Tensor, kept: Tensor, pad: int, placeholder: int) -> InsertionLabels:
    """Labels for inserting back into ``target[kept]`` what ``kept`` leaves out.

    Args:
        target: y*, B × M, with <s> and </s>.
        kept: B × M, bool; <s> and </s> are always kept.
        pad: padding index.
        placeholder: index of the placeholder symbol.

    The drop mask is the script, whether it comes from random deletion or from an alignment:
    no second alignment is needed.
    """
    real = target.ne(pad)
    kept = kept & real
    before = compact(target, kept, pad)
    position = torch.arange(target.size(1), device=target.device).expand_as(target)
    place = compact(position, kept, -1)
    slots = place[:, 1:] >= 0
    counts = (place[:, 1:] - place[:, :-1] - 1).masked_fill(~slots, 0)
    missing = real & ~kept
    return InsertionLabels(before, counts, slots, target.masked_fill(missing, placeholder), missing)
