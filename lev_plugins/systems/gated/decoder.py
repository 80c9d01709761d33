"""The decoder: a backbone's, whose every token is copied, generated or skipped (Eq. 3-8).

Two readings of the paper (``--gate-variant``):

=========  ===========================  ============================  ===========================
           the generate gate looks at   before the softmax (Eq. 6)    the gates weigh (Eq. 7)
=========  ===========================  ============================  ===========================
pointer    the decoder's state          nothing                       probabilities; *copy* is of
                                                                      the source
paper      the encoder's state (Eq. 4)  a sigmoid                     hidden states
=========  ===========================  ============================  ===========================

*pointer*, the default, is ours: what copying means elsewhere (See et al., 2017); a trained model
answers with fresh gates nearly as without them. *paper* is as printed: the output layer of a
trained model gets other states than it was trained with.

Shapes: B sentences, T' newest target tokens, S source tokens, C channels, V symbols, G gates that
are on.
"""

from collections.abc import Mapping

import torch
from fairseq.data import Dictionary
from torch import Tensor

from ...nn.backbone import Backbone
from ...nn.seq2seq.model import DecoderOut, EncoderOut, IncrementalState, TransformerDecoder
from ...nn.transformer import EncoderOutput
from .encoder import GatedEncoderOutput
from .gates import DecoderGates, MaskEmbedding, aligned_states


class GatedDecoder(TransformerDecoder):
    """A backbone's decoder with copy, generate and skip gates.

    names: the gates that are on; none makes it the backbone's own decoder. vector: emb_mask.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        source: Dictionary,
        backbone: Backbone,
        names: list[str],
        variant: str,
        copy_bias: float,
        vector: MaskEmbedding,
        limit: int,
    ) -> None:
        super().__init__(dictionary, backbone, limit)
        self.variant = variant
        self.gates: DecoderGates | None = None
        if names:
            dim = backbone.target.table.embedding_dim
            self.gates = DecoderGates(dim, names, variant == "paper", copy_bias)
        self.mask_vector = vector if variant == "paper" and "skip" in names else None
        if variant == "pointer":
            symbols = torch.tensor([dictionary.index(symbol) for symbol in source.symbols])
            self.register_buffer("target_of_source", symbols, persistent=False)

    def needs_weights(self) -> bool:
        """Returns True in training too for *pointer*, which copies by the attention."""
        return not self.training or (self.gates is not None and self.variant == "pointer")

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: EncoderOut | None = None,
        incremental_state: IncrementalState | None = None,
        **unused: object,
    ) -> DecoderOut:
        """See :meth:`.TransformerDecoder.forward`.

        ``extra["gates"]``: B × T' × G, in the order of ``self.gates.names``.
        """
        x, extra = self.extract_features(prev_output_tokens, encoder_out, incremental_state)
        if self.gates is None:
            return self.output_layer(x), extra
        assert encoder_out is not None
        (output,) = encoder_out["encoder_out"]
        first = prev_output_tokens.size(1) - x.size(1)
        aligned = self._aligned_source_states(prev_output_tokens, output, first)
        gates = self.gates(x, aligned)
        extra["gates"] = gates
        if self.variant == "pointer":
            return self.pointer(x, gates, extra["attn"][0], self.source_symbols(output)), extra
        return self._paper(x, gates, prev_output_tokens[:, first:]), extra

    def _aligned_source_states(
        self, tokens: Tensor, encoder_out: EncoderOutput, first: int
    ) -> Tensor | None:
        """Returns what the generate gate of *paper* reads (Eq. 4), B × T' × C; None for others."""
        assert self.gates is not None and encoder_out.mask is not None
        if self.variant != "paper" or "generate" not in self.gates.names:
            return None
        counts = tokens.ne(self.pad).cumsum(1)[:, first:]
        positions = (counts - 1).clamp(min=0)
        return aligned_states(encoder_out.states, encoder_out.mask[:, 0, 0], positions)

    def _weight(self, gates: Tensor, name: str) -> Tensor | None:
        """Returns a gate, B × T' × 1; None for one that is off."""
        assert self.gates is not None
        if name not in self.gates.names:
            return None
        index = self.gates.names.index(name)
        return gates[..., index : index + 1]

    def _paper(self, x: Tensor, gates: Tensor, previous: Tensor) -> Tensor:
        """Returns Eq. 8 of h'' = c · y' + g · σ(h') + s · emb_mask (Eq. 7)."""
        parts = []
        copy = self._weight(gates, "copy")
        if copy is not None:
            parts.append(copy * self.embed.scaled_embedding(previous))
        generate = self._weight(gates, "generate")
        if generate is not None:
            parts.append(generate * x.sigmoid())
        skip = self._weight(gates, "skip")
        if self.mask_vector is not None and skip is not None:
            parts.append(skip * self.mask_vector())
        weighed = torch.stack(torch.broadcast_tensors(*parts)).sum(0)
        return self.output(weighed)

    def pointer(
        self, x: Tensor, gates: Tensor, attention: Tensor, symbols: Mapping[str, Tensor]
    ) -> Tensor:
        """Returns log(g · p + c · source + s · the source's next symbols), as logits.

        symbols: of :meth:`source_symbols`.

        Copying writes the source token that the last block looks at; skipping passes over it
        and writes the one after.
        """
        # half precision would round small probabilities to 0
        wide = torch.promote_types(x.dtype, torch.float32)
        gates, attention = gates.to(wide), attention.to(wide)
        generate = self._weight(gates, "generate")
        assert generate is not None, "checked when the model was built"
        probabilities = generate * self.output(x).to(wide).softmax(2)
        for name, written in symbols.items():
            gate = self._weight(gates, name)
            if gate is not None:
                places = written.unsqueeze(1).expand_as(attention)
                probabilities = probabilities.scatter_add(2, places, gate * attention)
        smallest = torch.finfo(wide).tiny
        return probabilities.clamp(min=smallest).log()

    def source_symbols(self, encoder_out: GatedEncoderOutput) -> dict[str, Tensor]:
        """Returns which target symbols the copy and the skip gate write of a source, B × S each."""
        sides = {"copy": encoder_out.tokens, "skip": encoder_out.following}
        return {name: self.target_of_source[tokens] for name, tokens in sides.items()}
