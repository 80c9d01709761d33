"""A sentence on its way through an editor: from text to tokens, from states to iterations."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from fairseq.data import Dictionary
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..data.batch import Batch
from ..systems.levenshtein.decoding.history import Iteration
from ..systems.levenshtein.decoding.state import EditHypothesis, Step
from ..systems.levenshtein.task import Draft

_DIGITS = 6


class Item(NamedTuple):
    """A sentence: as text and as tokens."""

    source: str
    draft: str | None
    tokens: Tensor
    coded: Draft
    words: Sequence[str]  # of the draft, as they were typed
    dictionary: Dictionary

    @property
    def size(self) -> int:
        """Tokens of source and draft."""
        return len(self.tokens) + len(self.coded.tokens)

    def symbols(self, state: Step | EditHypothesis) -> tuple[str, ...]:
        """Tokens of a state as strings; what stands since the draft, as it was typed."""
        pairs = zip(state["tokens"].tolist()[1:-1], state["origin"].tolist()[1:-1])
        return tuple(
            self.words[origin - 1] if origin > 0 else self.dictionary[token]
            for token, origin in pairs
        )

    def iterations(self, history: list[Step]) -> list[Iteration]:
        """The recorded phases (draft, then delete, placeholder, token in turn) as iterations."""
        iterations = []
        for before, delete, after in zip(history[0::3], history[1::3], history[3::3]):
            size = len(before["tokens"])
            iterations.append(
                Iteration(
                    before=self.symbols(before),
                    deleted=tuple((~delete["mask"][1 : size - 1]).tolist()),
                    after=self.symbols(after),
                    inserted=tuple(after["mask"][1 : len(after["tokens"]) - 1].tolist()),
                    delete_probabilities=_probabilities(delete["scores"]),
                    token_probabilities=_probabilities(after["scores"]),
                )
            )
        return iterations


def collated(
    sources: Sequence[Tensor], drafts: Sequence[Draft], pad: int, device: torch.device
) -> Batch:
    """A batch to decode."""

    def padded(rows: list[Tensor], value: int) -> Tensor:
        return pad_sequence(rows, batch_first=True, padding_value=value).to(device)

    return {
        "net_input": {"src_tokens": padded(list(sources), pad), "src_lengths": None},
        "draft": padded([draft.tokens for draft in drafts], pad),
        "marks": padded([draft.marks for draft in drafts], 0),
    }


def _probabilities(scores: Tensor) -> tuple[float, ...]:
    """Of log-probabilities, those of <s> and </s> left out."""
    return tuple(round(value, _DIGITS) for value in scores[1:-1].exp().tolist())
