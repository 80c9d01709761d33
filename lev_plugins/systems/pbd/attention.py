"""Self-attention that reads the source to the right of where it writes (paper, §2.1, Figure 2).

Query i, the state after i tokens have been written, predicts the next one. It sees what was
generated up to itself and the source tokens after the one that stands at its own place:

    keys      generated 0 … T − 1       copied source 0 … S − 1
    query i   sees k ≤ i                sees j > i

Indices count real tokens from 0, wherever the padding is. Shapes: B sentences, T target tokens,
S source tokens, C channels, H heads, D = C / H.
"""

import torch
from torch import Tensor, nn

from ...nn.decoder_block import KVCache, append_kv
from ...nn.packing import AttentionLayout
from ...nn.transformer import Attention

GENERATED, COPIED = 0, 1


def future_mask(places: Tensor, source_real: Tensor) -> Tensor:
    """Makes the mask of queries over the source: B × T × S.

    Args:
        places: B × T, of the queries.
        source_real: B × S, bool.
    """
    source_places = source_real.long().cumsum(1).unsqueeze(1) - 1  # ONNX sums no bools
    is_ahead = source_places > places.unsqueeze(2)
    return source_real.unsqueeze(1) & is_ahead


class PseudoBidirectionalAttention(nn.Module):
    """Attention over what was generated and what was copied, marked by learned ``segments``."""

    def __init__(self, attention: Attention, segments: bool) -> None:
        super().__init__()
        self.attention = attention
        self.segment = None
        if segments:
            dim = attention.output.out_features
            self.segment = nn.Embedding(2, dim)
            nn.init.normal_(self.segment.weight, std=dim**-0.5)

    def _mark(self, x: Tensor, segment: int) -> Tensor:
        return x if self.segment is None else x + self.segment.weight[segment]

    def copied(self, states: Tensor, layout: AttentionLayout) -> KVCache:
        """Projects encoder states, B × S × C or packed, to keys and values, B × H × S × D each."""
        _, key, value = self.attention.project(self._mark(states, COPIED), layout)
        if not self.training:  # contiguous, as every step reads them
            key, value = key.contiguous(), value.contiguous()
        return key, value

    def forward(
        self,
        x: Tensor,
        layout: AttentionLayout,
        before: KVCache | None,
        copied: KVCache | None,
    ) -> tuple[Tensor, KVCache]:
        """Attends from every position of ``x``.

        Args:
            x: B × T' × C, the states of the newest tokens (packed: N × C).
            before: keys and values of the tokens before them, None where there are none.
            copied: of the source, None where it is not to be seen.

        Returns:
            what ``x`` is shaped like, and the keys and values of all tokens generated.
        """
        query, key, value = self.attention.project(self._mark(x, GENERATED), layout)
        generated = append_kv(before, (key, value))
        if copied is None:
            return self.attention.attend(query, *generated, layout), generated
        has_few_queries = query.size(2) == 1 or before is not None
        if has_few_queries and not (self.training or torch.jit.is_tracing()):
            segments = [generated, copied]
            out = self.attention.attend_to_segments(query, segments, layout.mask)
            return out, generated
        key, value = append_kv(generated, copied)
        return self.attention.attend(query, key, value, layout), generated
