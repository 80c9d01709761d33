"""The environment ℰ: deletions and placeholders in padded batches, and their labels (paper, §2.2).

Shapes: B sentences of up to T tokens, padded on the right; sentences begin with <s> and end
with </s>. Slot k lies between tokens k and k + 1, so there are T − 1 slots.
"""

from typing import NamedTuple

import torch
from torch import Tensor


def true_places(mask: Tensor, count: int | None = None) -> Tensor:
    """Places where the flattened mask is true: P, long, in order.

    Args:
        mask: any shape, bool.
        count: P, where it is known: no device is waited for to find it out.
    """
    flat = mask.flatten()
    if count is None or flat.device.type == "cpu":
        return flat.nonzero().squeeze(1)
    return known_places(flat, count)


def known_places(flat: Tensor, count: int) -> Tensor:
    """Returns :func:`true_places` of a vector, by operations of known sizes alone."""
    rank = flat.cumsum(0) - 1
    # what is false is written after the end, which is cut off
    rank = rank.masked_fill(~flat, count)
    places = torch.arange(len(flat), device=flat.device)
    ranked = places.new_empty(count + 1)
    return ranked.scatter_(0, rank, places)[:count]


def has_gaps(real: Tensor) -> bool:
    """Returns whether padding stands before a real token in any row of R × T, bool."""
    return bool((real[:, 1:] & ~real[:, :-1]).any())


class Compaction:
    """ℰ(y, d): moves the kept entries of each row to its left end, in any values of the rows.

    Args:
        keep: B × T, bool.
        width: L, where it is known: no device is waited for to find it out.

    Attributes:
        width: L, by default the largest number of kept entries in a row (at least 1).
    """

    def __init__(self, keep: Tensor, width: int | None = None) -> None:
        place = keep.cumsum(1) - 1
        if width is None:
            width = max(int(place[:, -1].max()) + 1, 1) if keep.numel() else 1
        self.width = width
        self.place = place.masked_fill(~keep, width)

    def __call__(self, values: Tensor, fill: float) -> Tensor:
        """Compacts B × T → B × L; ``fill`` stands after the kept entries."""
        out = values.new_full((values.size(0), self.width + 1), fill)
        return out.scatter_(1, self.place, values)[:, : self.width]


class Opening:
    """ℰ(y, p): opens every slot by its count, in any values of the same sentences.

    Args:
        lengths: B, number of real tokens, at least 1.
        counts: B × (T − 1), how many entries to insert in each slot; 0 beyond a sentence's end.
        width: L, where it is known: no device is waited for to find it out.

    Attributes:
        width: L, the longest sentence after insertion.
    """

    def __init__(self, lengths: Tensor, counts: Tensor, width: int | None = None) -> None:
        total = lengths + counts.sum(1)
        self.width = int(total.max()) if width is None else width
        num_tokens = counts.size(1) + 1
        steps = torch.arange(max(self.width, num_tokens), device=counts.device)
        self.behind = steps[: self.width] >= total.unsqueeze(1)
        index = steps[:num_tokens]
        opened_before = torch.nn.functional.pad(counts, (1, 0)).cumsum(1)
        is_padding = index >= lengths.unsqueeze(1)
        # padding is written to a column that is cut off
        self.place = (index + opened_before).masked_fill(is_padding, self.width)

    def __call__(self, values: Tensor, new: float, fill: float) -> Tensor:
        """Opens B × T → B × L; ``new`` is inserted, ``fill`` stands after a sentence's end."""
        out = values.new_full((values.size(0), self.width + 1), new)
        inside = out[:, : self.width]
        if fill != new:
            inside.masked_fill_(self.behind, fill)
        out.scatter_(1, self.place, values)
        return inside


class InsertionLabels(NamedTuple):
    """The expert's insertions (paper, Eq. 7-8), made from y* and the tokens of it that are kept.

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
    """Makes labels for inserting back into ``target[kept]`` what ``kept`` leaves out.

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
    # a device would have to be waited for to know the longest
    moved = Compaction(kept, None if target.device.type == "cpu" else target.size(1))
    before = moved(target, pad)
    position = torch.arange(target.size(1), device=target.device).expand_as(target)
    place = moved(position, -1)
    slots = place[:, 1:] >= 0
    counts = (place[:, 1:] - place[:, :-1] - 1).masked_fill(~slots, 0)
    missing = real & ~kept
    after = target.masked_fill(missing, placeholder)
    return InsertionLabels(before, counts, slots, after, missing)
