"""Exports an EncT5 as one graph, from subwords to logits.

Shapes: B texts, S subwords, L decoder positions, C channels, V latents, N labels.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..nn.transformer import EncoderOutput
from ..systems.enct5.model import EncT5Model, cross_attention_mask
from ..systems.enct5.problem_types import ProblemType
from .trace import masks, numbers, trace, traceable
from .weights import WeightFile

GRAPH = "labeler.onnx"


class Labeler(nn.Module):
    """Subwords, B × S, and latents, B × L → logits, B × L × outputs."""

    def __init__(self, model: EncT5Model) -> None:
        super().__init__()
        self.model = model
        # does not depend on the text: made once, and not in every run
        decoder: Any = model.decoder
        attended = decoder.latent_self_attention(decoder.blocks[0])
        decoder.latent_self_attention = lambda _: attended

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor,
        latents: Tensor,
        latent_mask: Tensor,
        spans: Tensor | None = None,
        latent_spans: Tensor | None = None,
    ) -> Tensor:
        """``mask``, ``latent_mask``: 0 at padding. ``spans`` (B × S) and ``latent_spans`` (B × L)
        tell the word of each subword and latent where words are tagged."""
        model, real = self.model, mask.bool()
        decoder: Any = model.decoder
        states = model.encoder(model.embed(tokens), real)
        seen = real[:, None]
        if spans is not None and latent_spans is not None:
            seen = cross_attention_mask(mask, spans, latent_mask, latent_spans)
        # padding sees padding, as in the model: nothing would be no number
        read = decoder.read(latents, latent_mask, EncoderOutput(states, seen[:, None]))
        logits: Tensor = model.head(read)
        return logits


@torch.no_grad()
def write_graph(
    model: EncT5Model, kind: ProblemType, folder: Path, weights: WeightFile, int8: bool
) -> dict[str, Any]:
    """Writes the graph into a folder; returns its description for the runtime."""
    text = "batch", "length"
    count = model.decoder.table.num_embeddings
    positions = "batch", count if kind is ProblemType.MULTILABEL else "positions"
    latents, _ = numbers(*positions)
    inputs = {
        "tokens": numbers(*text),
        "mask": masks(*text),
        "latents": (latents % count, positions),
        "latent_mask": masks(*positions),
    }
    if kind is ProblemType.TAGGING:
        inputs |= {"spans": numbers(*text), "latent_spans": numbers(*positions)}
    labeler = Labeler(traceable(model))
    return {"labeler": trace(labeler, inputs, ["logits"], folder / GRAPH, weights, int8)}
