"""fairseq's beam search in diverse groups."""

import torch
from torch import Tensor

from ..io.patching import Stock, patches


def patch_diverse_beams() -> None:
    """Let ``--diverse-beam-groups`` decode any batch.

    Fault: how far the groups of a sentence agree is kept by its row in the batch and looked up by
    its number in the data: an IndexError, or the agreement of another sentence.
    """
    from fairseq.search import DiverseBeamSearch

    @patches(DiverseBeamSearch, "step")
    def step_by_row(
        stock: Stock,
        self: DiverseBeamSearch,
        step: int,
        lprobs: Tensor,
        scores: Tensor,
        *others: object,
        **named_others: object,
    ) -> object:
        """fairseq's, with a sentence's row for its number."""
        rows = torch.arange(len(lprobs), device=lprobs.device)
        return stock(self, step, lprobs, scores, original_batch_idxs=rows)

    def prune_sentences(self: DiverseBeamSearch, batch_idxs: Tensor) -> None:
        """Keeps the rows of the sentences that are not finished."""
        self.group_overlap = self.group_overlap[batch_idxs]

    DiverseBeamSearch.prune_sentences = prune_sentences
