"""Decodes by the rules of fairseq's ``levenshtein_transformer``: its own loop over our policies.

Shapes: B sentences, T tokens of the sequence being edited, V symbols.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.iterative_refinement_generator import DecoderOut, IterativeRefinementGenerator
from fairseq.models.nat.levenshtein_transformer import LevenshteinTransformerModel
from torch import Tensor

from lev_runtime.errors import UserError
from lev_runtime.refine.decoding import limit_insertions
from lev_runtime.refine.policy import EditPolicy, EditState, Symbols

from ...data.batch import Batch, Hypothesis
from ...nn.arrays import TORCH
from .generator import RefinementGenerator

MOST = 2  #: fairseq's ratio of target and source tokens


class StockGenerator(RefinementGenerator):
    """Decodes as fairseq: one more iteration, ``<unk>`` is refilled, whole iterations compared."""

    @torch.no_grad()
    def generate(  # type: ignore[override]
        self, models: Sequence[Any], sample: Batch, **unused: object
    ) -> list[list[Hypothesis]]:
        """Returns a hypothesis for every sentence; it depends on the batch wherever fairseq's does.

        Raises:
            UserError: marks on drafts, several candidates, or a model with a trace.
        """
        options = self.options
        policy, _ = self.policy(models)
        marks = sample.get("marks")
        for is_asked, flag in (
            (marks is not None and bool(marks.any()), "--markup"),
            (options.candidates > 1, "--iter-decode-with-beam"),
            (policy.traces, "a model with --deletion-trace"),
        ):
            if is_asked:
                raise UserError(f"--stock-decoding does not support {flag}; leave one of them out")
        loop = IterativeRefinementGenerator(
            self.dictionary,
            eos_penalty=options.empty_penalty,
            max_iter=options.max_iter - 1,
            max_ratio=MOST,
            adaptive=options.adaptive,
            retain_history=options.retain_history,
        )
        source = sample["net_input"]["src_tokens"]
        model = StockModel(policy, self.symbols, sample.get("draft"))
        inputs = {"net_input": {"src_tokens": source, "src_lengths": None}}
        hypotheses: list[list[Hypothesis]] = loop.generate([model], inputs)
        return hypotheses


class StockModel:
    """A policy with the interface that fairseq's decoding calls; its step is used as it is."""

    forward_decoder = LevenshteinTransformerModel.forward_decoder

    def __init__(self, policy: EditPolicy, symbols: Symbols, draft: Tensor | None) -> None:
        self.policy = policy
        self.placeholder = symbols.placeholder
        self.pad, self.bos, self.eos, self.unk = symbols[1:5]
        self.draft = draft
        self.encoder = self.decoder = self

    def eval(self) -> None:
        """Does nothing: the policy is prepared already."""

    def forward_encoder(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """Runs the encoder."""
        src_tokens, _ = inputs
        encoder_out = self.policy.encode(src_tokens)
        return {"encoder_out": encoder_out, "encoder_padding_mask": [src_tokens.eq(self.pad)]}

    def reorder_encoder_out(self, encoder_out: dict[str, Any], order: Tensor) -> dict[str, Any]:
        """Selects sentences."""
        rows = order.reshape(-1)
        (mask,) = encoder_out["encoder_padding_mask"]
        return {
            "encoder_out": encoder_out["encoder_out"].select(rows),
            "encoder_padding_mask": [mask.index_select(0, rows)],
        }

    def initialize_output_tokens(self, encoder_out: object, src_tokens: Tensor) -> DecoderOut:
        """Starts from the drafts, or from empty sentences."""
        draft = self.draft
        if draft is None:
            draft = src_tokens.new_tensor([[self.bos, self.eos]]).repeat(len(src_tokens), 1)
        scores = torch.zeros_like(draft, dtype=torch.float)
        return DecoderOut(draft, scores, attn=None, step=0, max_step=0, history=None)

    def _logits(self, head: str, tokens: Tensor, encoder_out: Any, where: Any = None) -> Tensor:
        state = EditState(tokens, encoder_out["encoder_out"], where=where)
        return self.policy.logits(head, state).float()

    def forward_word_del(
        self, normalize: bool, prev_output_tokens: Tensor, encoder_out: Any
    ) -> tuple[Tensor, None]:
        """Returns log-probabilities of keeping and deleting, B × T × 2."""
        logits = self._logits("deletion", prev_output_tokens, encoder_out)
        return logits.log_softmax(-1), None

    def forward_mask_ins(
        self, normalize: bool, prev_output_tokens: Tensor, encoder_out: Any
    ) -> tuple[Tensor, None]:
        """Returns log-probabilities of the number of placeholders, B × (T − 1) × (K + 1).

        Where the likeliest would outgrow the model's positions, fewer are certain.
        """
        scores = self._logits("placeholder", prev_output_tokens, encoder_out).log_softmax(-1)
        _, longest = self.policy.max_positions()
        real = prev_output_tokens.ne(self.pad)
        (padding,) = encoder_out["encoder_padding_mask"]
        # fairseq limits each slot (forward_decoder): twice the source, at least 10
        most = (MOST * (~padding).sum(1)).clamp(min=10)
        counts = torch.minimum(scores.argmax(-1), most[:, None]) * real[:, 1:]
        room = longest - real.sum(1)
        allowed = limit_insertions(counts, room, TORCH)
        is_long = (counts != allowed).any(1)[:, None, None]
        certain = F.one_hot(allowed, scores.size(-1)).float().log()
        return torch.where(is_long, certain, scores), None

    def forward_word_ins(
        self, normalize: bool, prev_output_tokens: Tensor, encoder_out: Any
    ) -> tuple[Tensor, None]:
        """Returns log-probabilities of the symbols, B × T × V; 0 where nothing is filled."""
        where = prev_output_tokens.eq(self.unk)
        tokens = prev_output_tokens.masked_fill(where, self.placeholder)
        logits = self._logits("token", tokens, encoder_out, where)
        logits[:, self.placeholder] = float("-inf")
        scores = logits.new_zeros(*where.shape, logits.size(1))
        scores[where] = logits.log_softmax(-1)
        return scores, None
