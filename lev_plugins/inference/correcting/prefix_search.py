"""What the decoder of a model of torch has read, for :mod:`lev_runtime.search`.

Shapes: B units, R prefixes of all units at one depth, W of one unit, N tokens before them that
begin one, V symbols.
"""

import contextlib
from collections.abc import Mapping
from contextlib import AbstractContextManager

import numpy as np
import torch
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from lev_runtime.search import Floats, Numbers

from ...nn.decoding import KVCache
from ...nn.seq2seq.model import TransformerDecoder

#: Prefixes of a source that a decoder reads together.
TOGETHER = 16
_NO_LOCK = contextlib.nullcontext()


class Prefixes:
    """What a decoder has read of B sources.

    Up to :data:`TOGETHER` prefixes of a source are a group G, which attends as one sentence does:
    to the N tokens that any of them begins with, each to its own. A decoder that is no plain
    :class:`.TransformerDecoder` reads each prefix anew. ``lock``: held while the model computes.
    """

    def __init__(
        self,
        model: FairseqEncoderDecoderModel,
        inputs: Mapping[str, Tensor],
        pad: int,
        lock: AbstractContextManager[object] = _NO_LOCK,
    ) -> None:
        self.model, self.pad, self.device = model, pad, inputs["src_tokens"].device
        self.lock = lock
        plain = getattr(type(model.decoder), "forward", None) is TransformerDecoder.forward
        self.branch = plain and model.decoder.bias is None
        with self.lock, torch.no_grad():
            self.encoded = model.encoder(**inputs)
        #: of each block the keys and values of the N + W tokens of each group
        self.before: list[KVCache] = []
        #: R × depth, where the tokens of each prefix are among those of all groups; the tokens
        #: themselves where each is read anew
        self.tokens = np.zeros((len(inputs["src_tokens"]), 0), dtype=np.int64)

    def read(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Floats:
        """Log-probabilities of what follows prefixes, R × V; of each its unit, in order, its parent
        among the prefixes read last, and its last symbol."""
        with self.lock, torch.no_grad():
            logs = (self._branched if self.branch else self._anew)(units, parents, symbols)
        return logs.cpu().numpy()

    def _anew(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Tensor:
        model = self.model
        self.tokens = np.concatenate([self.tokens[parents], symbols[:, None]], 1)
        tokens = torch.from_numpy(self.tokens).to(self.device)
        sources = torch.from_numpy(units).to(self.device)
        encoded = model.encoder.reorder_encoder_out(self.encoded, sources)
        output = model.decoder(tokens, encoder_out=encoded)
        logs = model.get_normalized_probs(output, log_probs=True)
        return logs[:, -1].float()

    def _branched(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Tensor:
        rank = np.arange(len(units)) - np.searchsorted(units, units)
        column = rank % TOGETHER
        begins_group = column == 0
        group = begins_group.cumsum() - 1
        size = int(group[-1]) + 1
        width = int(column.max()) + 1
        seen = self._select(group, column, parents, size, width)
        tokens = torch.full((size, width), self.pad)
        tokens[group, column] = torch.from_numpy(symbols)
        sources = torch.from_numpy(units[begins_group]).to(self.device)
        model, depth = self.model, self.tokens.shape[1] - 1
        encoded = model.encoder.reorder_encoder_out(self.encoded, sources)
        features, self.before = model.decoder.forward_tree(
            tokens.to(self.device), depth, seen, encoded, self.before
        )
        logits = model.decoder.output_layer(features)
        logs = model.get_normalized_probs((logits, None), log_probs=True).float()
        return logs[group, column]

    def _select(
        self, group: Numbers, column: Numbers, parents: Numbers, size: int, width: int
    ) -> Tensor:
        """Keeps of the tokens those that the groups begin with: G × W × (N + W), which of them, and
        of the newest, each prefix has."""
        tokens = self.tokens[parents]
        num_symbols = int(self.tokens.max(initial=0)) + 1
        owned = group[:, None] * num_symbols + tokens
        keys, number = np.unique(owned, return_inverse=True)
        owner, token = np.divmod(keys, num_symbols)
        place = np.arange(len(keys)) - np.searchsorted(owner, owner)
        count = int(place.max(initial=-1)) + 1
        if count:
            kept = np.zeros((size, count), dtype=np.int64)
            kept[owner, place] = token
            self.before = [(_at(k, kept), _at(v, kept)) for k, v in self.before]
        # what is no prefix has itself, so that its softmax is not empty
        own = np.eye(width, count + width, count, dtype=bool)
        seen = np.repeat(own[None], size, 0)
        kept_columns = place[number.reshape(tokens.shape)]
        seen[group[:, None], column[:, None], kept_columns] = True
        new = np.concatenate([kept_columns, count + column[:, None]], 1)
        self.tokens = group[:, None] * (count + width) + new
        return torch.from_numpy(seen).to(self.device)


def _at(states: Tensor, kept: Numbers) -> Tensor:
    """G' × H × M × D at G × N numbers among G' · M: G × H × N × D."""
    _, heads, count, dim = states.shape
    which, place = np.divmod(kept[:, None], count)
    head = np.arange(heads)[:, None]
    flat = (which * heads + head) * count + place
    rows = torch.from_numpy(flat.ravel()).to(states.device)
    selected = states.reshape(-1, dim).index_select(0, rows)
    return selected.view(*flat.shape, dim)
