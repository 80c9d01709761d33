"""What is faster where a GPU, or another accelerator, computes.

The host starts its kernels one after the other. Small ones take it longer than they take the
device, and wherever it has to know a number it waits until the device has done all before. So
shapes are known beforehand, padding is masked and not left out (:mod:`.packing`), and what all
layers need is made once.
"""

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

#: numbers of a mask's row that kernels of attention read together
ALIGNED = 16

#: mask → what is added to the scores, by their type
_added = WeakIdKeyDictionary()


def is_accelerator(x: Tensor) -> bool:
    """Whether a tensor lies elsewhere than on the CPU."""
    return x.device.type != "cpu"


def added_mask(mask: Tensor, kind: torch.dtype) -> Tensor:
    """What a mask of bools adds to the scores: 0, and −inf where nothing may be seen.

    … × keys; each row begins where kernels of attention want it. A mask serves many layers, in
    each of which torch would make it anew. It is not to be written to.
    """
    if torch.compiler.is_compiling():  # which knows no tables of tensors
        return mask
    made = _added.setdefault(mask, {})
    if kind not in made:
        *rows, keys = mask.shape
        wide = mask.new_zeros(*rows, keys + -keys % ALIGNED, dtype=kind)
        made[kind] = wide[..., :keys].masked_fill_(~mask, float("-inf"))
    return made[kind]


def places(where: Tensor, count: int) -> Tensor:
    """The ``count`` places that are true, in a batch laid flat: long, row-major.

    As ``where.flatten().nonzero()``, but for those who know how many there are: nobody waits.
    """
    flat = where.flatten()
    number = flat.cumsum(0) - 1
    place = torch.arange(len(flat), device=flat.device)
    # what is false is written behind the end
    found = place.new_empty(count + 1)
    return found.scatter_(0, torch.where(flat, number, count), place)[:count]
