"""Decoding that reads no sentence twice: a model's features are kept until a sentence changes.

Shapes: B sentences, T tokens of the sequence being edited, C channels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor

from lev_runtime.policy import EditPolicy, EditState

from ...ops.edits import true_places
from ...ops.transfer import to_device
from .model import EditEncoderOutput, LevenshteinEditorModel

#: on an accelerator unchanged sentences are skipped if that saves at least this many tokens
LEAST_SPARED = 512
#: at most this many gathered sentences per skipped one: gathering copies encoder states
MOST_CHOSEN = 8


@dataclass
class CachedEncoderOutput:
    """The encoder's output, and by exit the features that were read last, B × T × C, with the head
    that read them."""

    encoder_out: EditEncoderOutput
    features: dict[tuple[str, int], tuple[Tensor, str]]

    def select(self, rows: Tensor) -> "CachedEncoderOutput":
        """Returns those of the sentences at ``rows``."""
        kept = {
            end: (features.index_select(0, rows), head)
            for end, (features, head) in self.features.items()
        }
        return CachedEncoderOutput(self.encoder_out.select(rows), kept)


class ReusedFeatures(EditPolicy):
    """A model that decodes without reading unchanged sentences again, nor those with nothing to
    write; on a GPU it replays small passes (:mod:`.replayed`)."""

    def __init__(self, model: LevenshteinEditorModel) -> None:
        self.model = model
        self.arrays, self.traces, self.trace_of = model.arrays, model.traces, model.trace_of
        self.max_positions = model.max_positions  # type: ignore[method-assign]

    def encode(self, src_tokens: Tensor) -> CachedEncoderOutput:
        """Runs the encoder: B × S tokens."""
        model, passes = self.model, self.model.passes
        if passes is None or not passes.serve(src_tokens, model.encoder_positions):
            return CachedEncoderOutput(model.encode(src_tokens), {})
        mask = src_tokens.ne(model.pad)[:, None, None]
        states = passes.encode(model, src_tokens)
        return CachedEncoderOutput(EditEncoderOutput(states, mask, source=src_tokens), {})

    def logits(self, head: str, state: EditState) -> Tensor:
        """See the base class."""
        cached: CachedEncoderOutput = state.encoder_out
        state = replace(state, encoder_out=cached.encoder_out)
        if head == "token":
            writing = state.counts.writing
            if writing is not None and self._are_few(writing, state.tokens):
                state = _selected(state, writing)
            features = self._decode(head, state)
        else:
            features = self._reuse(head, state, cached)
        return self.model.head_logits(head, features, state)

    def _decode(self, head: str, state: EditState) -> Tensor:
        model, passes = self.model, self.model.passes
        tokens, deleted = model.inputs(head, state)
        if passes is not None and passes.serve(tokens, model.decoder_positions):
            return passes.features(model, tokens, state.encoder_out, head, deleted)  # type: ignore[no-any-return]
        return model.decode(tokens, state.encoder_out, head, deleted)

    def _reuse(self, head: str, state: EditState, cached: CachedEncoderOutput) -> Tensor:
        """Returns the features for a head; only sentences that have changed go through the
        decoder."""
        tokens, deleted = self.model.inputs(head, state)
        end = self.model.exits[head]
        before, reader = cached.features.get(end, (None, ""))
        changed = state.counts.changed.get(reader)
        if before is None or changed is None or (changed and not self._are_few(changed, tokens)):
            features = self._decode(head, state)
        else:
            features = F.pad(before, (0, 0, 0, tokens.size(1) - before.size(1)))
            if changed:
                rows = to_device(changed, tokens.device)
                features.index_copy_(0, rows, self._decode(head, _selected(state, changed)))
        if deleted is None:
            cached.features[end] = features, head
        return features

    def _are_few(self, rows: Sequence[int], tokens: Tensor) -> bool:
        """Returns whether decoding these rows alone is cheaper than decoding the whole batch."""
        spared_rows = len(tokens) - len(rows)
        spared_tokens = spared_rows * tokens.size(1)
        # on a device a few extra rows cost less than selecting rows on the host
        least = LEAST_SPARED if self.model.kernels.prefers_large_passes else 1
        return spared_tokens >= least and len(rows) <= MOST_CHOSEN * spared_rows


def _selected(state: EditState, chosen: Sequence[int]) -> EditState:
    """Returns the state of the sentences that are chosen."""
    rows = to_device(chosen, state.tokens.device)
    where = places = None
    if state.where is not None and state.places is not None:
        where = state.where.index_select(0, rows)
        places = true_places(where, len(state.places))
    return EditState(
        state.tokens.index_select(0, rows),
        state.encoder_out.select(rows),
        None if state.trace is None else state.trace.select(rows),
        where,
        places,
    )
