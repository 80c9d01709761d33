"""Functions that layers compute with: torch's own, or those of a device (:mod:`.backends`)."""

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from .packing import AttentionLayout, Unpadding

#: numbers of a mask's row that kernels of attention read together
ALIGNED = 16

#: mask → what is added to the scores, by their type
_added_masks = WeakIdKeyDictionary()


class Kernels:
    """Torch's functions, as an accelerator computes them best; right on any device.

    The host starts an accelerator's kernels one after the other. Small ones take it longer than
    they take the device, and wherever it has to know a number it waits until the device has done
    all before. So padding is masked and not left out, and what all layers need is made once.
    """

    #: True if one large pass is faster than several small ones plus finding out which are needed
    prefers_large_passes = True

    def linear(
        self, x: Tensor, weight: Tensor, bias: Tensor | None = None, *, relu: bool = False
    ) -> Tensor:
        """``torch.nn.functional.linear``: … × inputs, outputs × inputs, outputs → … × outputs.

        With ``relu`` negative results become 0.
        """
        out = F.linear(x, weight, bias)
        # not in place: it is a view, whose gradient would be copied
        return F.relu(out) if relu else out

    def attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        dropout: float = 0.0,
        scale: float | None = None,
    ) -> Tensor:
        """Does ``scaled_dot_product_attention`` of B × H × T × D queries over B × H × S × D.

        ``mask``: bool, True where attention may look, or to be added; expands to B × H × T × S.
        ``scale``: None for 1 / √D.
        """
        if mask is not None and mask.dtype == torch.bool:
            mask = added_mask(mask, query.dtype)
        elif mask is not None:
            mask = mask.to(query.dtype)
        return F.scaled_dot_product_attention(query, key, value, mask, dropout, scale=scale)

    def dropout(self, x: Tensor, p: float, training: bool) -> Tensor:
        """Does ``torch.nn.functional.dropout``, any shape."""
        return F.dropout(x, p, training) if training and p > 0 else x

    def upcast(self, x: Tensor) -> Tensor:
        """Returns the tensor in the precision in which products of it are fast."""
        return x

    def packing(self, real: Tensor) -> Unpadding | None:
        """Returns how layers leave padding out, None if they do not. ``real``: B × T, bool."""
        return None

    def layout(self, real: Tensor) -> AttentionLayout:
        """Makes the attention layout of a batch; ``real``: B × T, bool."""
        return AttentionLayout(real[:, None, None, :])


def added_mask(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Turns a mask of bools into one to be added to the scores: 0, and −inf where it is False.

    … × keys; each row begins where kernels of attention want it. A mask serves many layers, in
    each of which torch would make it again. It is not to be written to.
    """
    by_dtype = _added_masks.setdefault(mask, {})
    if dtype not in by_dtype:
        *rows, keys = mask.shape
        wide = mask.new_zeros(*rows, keys + -keys % ALIGNED, dtype=dtype)
        by_dtype[dtype] = wide[..., :keys].masked_fill_(~mask, float("-inf"))
    return by_dtype[dtype]


#: those of a layer that nobody has put on its device's
TORCH = Kernels()


def joined(layers: Iterable[Any]) -> tuple[Tensor, Tensor]:
    """Returns weight and bias of layers that read the same input, for one product of all."""
    weight, bias = zip(*((layer.weight, layer.bias) for layer in layers))
    return torch.cat(weight), torch.cat(bias)


def set_kernels(model: nn.Module, kernels: Kernels) -> None:
    """Lets all layers of a model compute with these."""
    for module in model.modules():
        if hasattr(module, "kernels"):
            setattr(module, "kernels", kernels)  # noqa: B010


class Linear(nn.Linear):
    """A linear layer."""

    kernels: Kernels = TORCH

    def forward(self, input: Tensor, *, relu: bool = False) -> Tensor:
        """Maps … × inputs → … × outputs; ``relu``: negative ones become 0."""
        return self.kernels.linear(input, self.weight, self.bias, relu=relu)
