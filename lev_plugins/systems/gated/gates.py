"""The gates (paper, §3): what to mask in the source, and what to do with each target token.

Shapes: B sentences, S source tokens, T' newest target tokens, C channels, V symbols, G gates of
the decoder that are on.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_runtime.errors import UserError

from ...nn.kernels import joined

ENCODER_GATE = "mask"
DECODER_GATES = ("copy", "generate", "skip")
GATES = (ENCODER_GATE, *DECODER_GATES)
# A trained model answers with fresh gates nearly as without them: u of Eq. 1 is 0.0025, copying and
# skipping weigh 0.047 each. Were u 0.5, it could grow until the whole source is hidden.
INITIAL_MASK_BIAS = -6.0
COPY_BIAS = -3.0


def chosen_gates(text: str) -> list[str]:
    """Returns the gates that ``"mask,generate"`` or ``"all"`` names, in the order of :data:`GATES`.

    Raises:
        UserError: a name that no gate has.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["all"]:
        return list(GATES)
    if names == ["none"]:
        return []
    unknown = [name for name in names if name not in GATES]
    if unknown:
        raise UserError(
            f"--gates {text}: no gate {unknown[0]!r}; give some of {','.join(GATES)}, or "
            "only all or none"
        )
    return [name for name in GATES if name in names]


def _gate(dim: int, bias: float | None = None) -> nn.Linear:
    """Makes a random gate, or one whose output is at first ``bias`` for any state."""
    gate = nn.Linear(dim, 1)
    if bias is None:
        nn.init.xavier_uniform_(gate.weight)
    else:
        nn.init.zeros_(gate.weight)
    nn.init.constant_(gate.bias, bias or 0.0)
    return gate


class MaskEmbedding(nn.Module):
    """emb_mask: the scaled embedding of the mask symbol, or a vector of its own without ``row``."""

    def __init__(self, table: nn.Embedding, row: int | None, scale: float) -> None:
        super().__init__()
        self.row = row
        self.scale = scale
        if row is None:
            dim = table.embedding_dim
            self.vector = nn.Parameter(torch.empty(dim).normal_(std=dim**-0.5))
        else:
            self.table = table

    def forward(self) -> Tensor:
        """Returns the vector: C."""
        vector = self.vector if self.row is None else self.table.weight[self.row]
        return vector * self.scale


class MaskGate(nn.Module):
    """Hides source tokens that look wrong (Eq. 1 and 2)."""

    def __init__(self, dim: int, vector: MaskEmbedding) -> None:
        super().__init__()
        self.gate = _gate(dim, INITIAL_MASK_BIAS)
        self.vector = vector

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the states, B × S × C, with what looks wrong replaced, and u of Eq. 1, B × S."""
        masked = self.gate(states).sigmoid()
        mixed = masked * self.vector() + (1 - masked) * states
        return mixed, masked.squeeze(2)


class DecoderGates(nn.Module):
    """Copy, generate and skip, one weight each for every target token (Eq. 3-6).

    bounded: a sigmoid before the softmax (Eq. 3-5), which holds every gate of three within 0.155 …
    0.576. Without it they start nearly at generating alone, unless ``copy_bias``, what copying and
    skipping answer at first, is near 0.
    """

    def __init__(
        self, dim: int, names: Sequence[str], bounded: bool, copy_bias: float = COPY_BIAS
    ) -> None:
        super().__init__()
        self.names = list(names)
        self.bounded = bounded
        self.gates = nn.ModuleDict()
        for name in self.names:
            bias = 0.0 if name == "generate" else copy_bias
            self.gates[name] = _gate(dim, None if bounded else bias)

    def forward(self, states: Tensor, generate: Tensor | None = None) -> Tensor:
        """Returns weights that sum to 1: B × T' × G.

        Args:
            states: h', B × T' × C.
            generate: what the generate gate looks at instead, B × T' × C (the paper's Eq. 4).
        """
        logits = F.linear(states, *joined(self.gates.values()))
        if generate is not None and "generate" in self.names:
            own = self.gates["generate"](generate)
            gates = torch.arange(len(self.names), device=own.device)  # made there: no copy, no wait
            logits = torch.where(gates == self.names.index("generate"), own, logits)
        if self.bounded:
            logits = logits.sigmoid()
        return logits.softmax(2)


def aligned_states(states: Tensor, real: Tensor, positions: Tensor) -> Tensor:
    """Returns the source states at the target tokens' positions, B × T' × C; beyond the end </s>'s.

    Args:
        states: B × S × C. real: B × S, bool.
        positions: B × T', from 0, counted in real tokens.
    """
    real_first = (~real).long().argsort(dim=1, stable=True)
    last = real.sum(1, keepdim=True).clamp(min=1) - 1
    index = real_first.gather(1, torch.minimum(positions, last))
    index = index.unsqueeze(2).expand(-1, -1, states.size(2))
    return states.gather(1, index)


def following(tokens: Tensor, pad: int) -> Tensor:
    """Returns the source token after each of B × S tokens; of the last one itself."""
    after = F.pad(tokens[:, 1:], (0, 1), value=pad)
    return torch.where(after.eq(pad), tokens, after)
