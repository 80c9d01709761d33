"""The source at the placeholders: what ``--source-copy uniform`` adds to their embeddings."""

import torch
from torch import Tensor

from ...nn.transformer import EncoderOutput


def source_at_placeholders(
    tokens: Tensor, encoder_out: EncoderOutput, pad: int, placeholder: int
) -> Tensor:
    """Returns the encoder's states at the placeholders' relative places in the source, 0 elsewhere.

    B × T tokens → B × T × C; the first and the last are the source's (Gu et al., 2018, §3.1.2).
    Several rows may read one source, one after the other.
    """
    states = encoder_out.states
    mask = encoder_out.mask
    real = torch.ones_like(states[..., 0], dtype=torch.bool) if mask is None else mask.flatten(1)
    rows_per_source = len(tokens) // len(states)
    if rows_per_source > 1:
        real = real.repeat_interleave(rows_per_source, 0)
    first = real.int().argmax(1, keepdim=True)
    last = real.sum(1, keepdim=True) - 1
    end = tokens.ne(pad).sum(1, keepdim=True) - 1
    end = end.clamp(min=1)  # stock's rules may leave </s>
    place = torch.arange(tokens.size(1), device=tokens.device)
    # rounded in whole numbers: the same on any device
    column = (2 * place * last + end).div(2 * end, rounding_mode="floor")
    column = first + torch.minimum(column, last)  # behind </s> there is no place
    index = column.view(len(states), -1, 1).expand(-1, -1, states.size(2))
    copied = states.gather(1, index).view(*tokens.shape, -1)
    is_placeholder = tokens.eq(placeholder)
    return copied * is_placeholder.unsqueeze(2)
