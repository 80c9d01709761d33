"""Beam searches that share what they compute: each prefix of a unit is read once.

A free search, one among the words of a lexicon, and texts to be rated advance together, symbol by
symbol, and find what fairseq's searches find one by one.

Shapes: B units, R prefixes of all units at one depth, W of one unit, N tokens before them that
begin one, K slots of a beam, V symbols. Texts are strings of ``chr(number)``, without </s>.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from fairseq.models import FairseqEncoderDecoderModel
from numpy.typing import NDArray
from torch import Tensor

from ..data.near_words import code_points
from ..nn.decoding import KeysValues
from ..nn.seq2seq.model import TransformerDecoder

Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]
#: Prefixes of a source that a decoder reads together.
TOGETHER = 16


class WordTree:
    """Which symbols may follow, so that a search writes nothing but given words.

    The symbols behind node n are ``symbols[starts[n]:starts[n + 1]]``, </s> among them; the symbol
    of number k leads to node k + 1. Node 0 is the beginning.
    """

    def __init__(self, words: Sequence[str], eos: int) -> None:
        ended = sorted({word + chr(eos) for word in words})
        sizes = np.array([len(word) for word in ended])
        letters = np.zeros((len(ended), int(sizes.max())), dtype=np.int64)
        real = np.arange(letters.shape[1]) < sizes[:, None]
        letters[real] = code_points(ended)
        # words are in order, so that equal beginnings stand together
        new = np.ones_like(real)
        new[1:] = np.logical_or.accumulate(letters[1:] != letters[:-1], 1)
        new = (new & real).T
        nodes = np.zeros((len(new) + 1, len(ended)), dtype=np.int64)
        nodes[1:] = new.cumsum().reshape(new.shape)
        parents, self.symbols = nodes[:-1][new], letters.T[new]
        self.starts = np.searchsorted(parents, np.arange(len(parents) + 3))

    def after(self, nodes: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """All that may follow some nodes: which of them, the symbol, the child."""
        first = self.starts[nodes]
        count = self.starts[nodes + 1] - first
        which = np.repeat(np.arange(len(nodes)), count)
        edges = np.arange(len(which)) + (first - count.cumsum() + count)[which]
        return which, self.symbols[edges], edges + 1


class Beam:
    """The slots of a beam search for B units, as fairseq's ``BeamSearch`` fills them, with a
    tree as its ``PrefixConstrainedBeamSearch``: each text that is found takes a slot away.
    ``limits``: B, symbols of a text at most."""

    def __init__(self, width: int, limits: Numbers, eos: int, tree: WordTree | None = None) -> None:
        self.width, self.limits, self.eos, self.tree = width, limits, eos, tree
        shape = len(limits), width
        self.rows = np.repeat(np.arange(len(limits))[:, None], width, 1)
        self.scores = np.full(shape, -np.inf, dtype=np.float32)
        self.scores[:, 0] = 0
        self.going = self.scores == 0
        self.nodes = np.zeros(shape, dtype=np.int64)
        self.found: list[dict[str, float]] = [{} for _ in limits]
        self._depth = 0

    def step(self, logs: Floats, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """Reads on by a symbol, of which ``logs``, R × V, has the log-probabilities behind the
        prefixes ``texts``; returns those that it wants next: rows of ``logs``, and symbols."""
        size, count = len(self.limits), logs.shape[1]
        total, nodes = self._totals(logs)
        most = min(self.width if self.tree else 2 * self.width, self.width * count - 1)
        best = torch.from_numpy(total.reshape(size, -1)).topk(most)
        scores, index = best.values.numpy(), best.indices.numpy()
        rows, symbols = np.take_along_axis(self.rows, index // count, 1), index % count
        going = self._going_on(scores, rows, symbols, texts)
        order = np.argsort(~going, axis=1, kind="stable")[:, : self.width]

        def kept(one: NDArray[Any]) -> NDArray[Any]:
            return np.take_along_axis(one, order, 1)

        self.going, self.scores, self.rows = kept(going), kept(scores), kept(rows)
        self.scores[~self.going] = -np.inf
        if nodes is not None:
            self.nodes = np.where(self.going, np.take_along_axis(nodes, kept(index), 1), 0)
        self._depth += 1
        return self.rows[self.going], kept(symbols)[self.going]

    def place(self, rows: Numbers) -> None:
        """The numbers that the prefixes wanted last have from now on, in the same order."""
        self.rows = np.zeros_like(self.rows)
        self.rows[self.going] = rows

    def best(self, unit: int) -> list[tuple[str, float]]:
        """What was found for a unit, and its log-probability; the highest mean of symbols first."""
        return sorted(self.found[unit].items(), key=lambda one: -one[1] / (len(one[0]) + 1))

    def _totals(self, logs: Floats) -> tuple[Floats, Numbers | None]:
        """What a slot has with each symbol, B × K × V, and with a tree the nodes then, B × K·V."""
        total = self.scores[:, :, None] + logs[self.rows]
        if not self._depth:  # nothing is no answer
            total[:, :, self.eos] = -np.inf
        ended = total[:, :, self.eos].copy()
        total[self.limits <= self._depth] = -np.inf
        total[:, :, self.eos] = ended
        if self.tree is None:
            return total, None
        which, symbols, children = self.tree.after(self.nodes.ravel())
        flat, among = total.reshape(-1), np.full(total.size, -np.inf, dtype=np.float32)
        places = which * logs.shape[1] + symbols
        among[places] = flat[places]
        nodes = np.zeros(total.size, dtype=np.int64)
        nodes[places] = children
        return among.reshape(total.shape), nodes.reshape(len(total), -1)

    def _going_on(
        self, scores: Floats, rows: Numbers, symbols: Numbers, texts: Sequence[str]
    ) -> NDArray[np.bool_]:
        """Which of the best are slots to come, in order; those that end among the first stay."""
        slots = [self.width - (len(some) if self.tree else 0) for some in self.found]
        first = np.arange(scores.shape[1]) < np.array(slots)[:, None]
        real, ends = scores > -np.inf, symbols == self.eos
        for unit, place in np.argwhere(real & ends & first[:, : scores.shape[1]]).tolist():
            if len(self.found[unit]) < self.width:
                self.found[unit][texts[rows[unit, place]]] = float(scores[unit, place])
        wanting = np.array([len(some) < self.width for some in self.found])
        return real & ~ends & wanting[:, None]


class Given:
    """Texts of each unit, to be rated; read as a :class:`Beam` is."""

    def __init__(self, texts: Sequence[Sequence[str]], eos: int) -> None:
        self.texts = texts
        ended = [text + chr(eos) for some in texts for text in some]
        sizes = np.array([len(text) for text in ended], dtype=np.int64)
        self.symbols = np.zeros((len(ended), sizes.max(initial=0)), dtype=np.int64)
        self.symbols[np.arange(self.symbols.shape[1]) < sizes[:, None]] = code_points(ended)
        self.sizes, self.scores = sizes, np.zeros(len(ended))
        self.units = self.rows = np.repeat(np.arange(len(texts)), [len(some) for some in texts])
        self.going = np.arange(len(ended))
        self._depth = 0

    def step(self, logs: Floats, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        going = self.going
        symbols = self.symbols[going, self._depth] if len(going) else going
        self.scores[going] += logs[self.rows, symbols]
        self._depth += 1
        on = self.sizes[going] > self._depth
        self.going, self.rows = going[on], self.rows[on]
        return self.rows, symbols[on]

    def place(self, rows: Numbers) -> None:
        self.rows = rows

    def rated(self, unit: int) -> list[tuple[str, float]]:
        """The texts of a unit, with their log-probabilities."""
        return list(zip(self.texts[unit], self.scores[self.units == unit].tolist(), strict=True))


class Prefixes:
    """What a decoder has read of B sources.

    Up to :data:`TOGETHER` prefixes of a source are a group G, which attends as one sentence does:
    to the N tokens that any of them begins with, each to its own. A decoder that is no plain
    :class:`.TransformerDecoder` reads each prefix anew.
    """

    def __init__(
        self, model: FairseqEncoderDecoderModel, inputs: Mapping[str, Tensor], pad: int
    ) -> None:
        self.model, self.pad, self.device = model, pad, inputs["src_tokens"].device
        plain = getattr(type(model.decoder), "forward", None) is TransformerDecoder.forward
        self.branch = plain and model.decoder.bias is None
        self.encoded = model.encoder(**inputs)
        #: of each block the keys and values of the N + W tokens of each group
        self.before: list[KeysValues] = []
        #: R × depth, where the tokens of each prefix are among those of all groups; the tokens
        #: themselves where each is read anew
        self.tokens = np.zeros((len(inputs["src_tokens"]), 0), dtype=np.int64)

    def read(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Floats:
        """Log-probabilities of what follows prefixes, R × V; of each its unit, in order, its parent
        among the prefixes read last, and its last symbol."""
        logs = (self._branched if self.branch else self._anew)(units, parents, symbols)
        return logs.cpu().numpy()

    def _anew(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Tensor:
        self.tokens = np.concatenate([self.tokens[parents], symbols[:, None]], 1)
        tokens, sources = (torch.from_numpy(one).to(self.device) for one in (self.tokens, units))
        read = self.model.encoder.reorder_encoder_out(self.encoded, sources)
        output = self.model.decoder(tokens, encoder_out=read)
        return self.model.get_normalized_probs(output, log_probs=True)[:, -1].float()

    def _branched(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Tensor:
        column = np.arange(len(units)) - np.searchsorted(units, units)
        group, column = (column % TOGETHER == 0).cumsum() - 1, column % TOGETHER
        size, width = int(group[-1]) + 1, int(column.max()) + 1
        seen = self._select(group, column, parents, size, width)
        tokens = torch.full((size, width), self.pad)
        tokens[group, column] = torch.from_numpy(symbols)
        sources = torch.from_numpy(units[column == 0]).to(self.device)
        model, depth = self.model, self.tokens.shape[1] - 1
        encoded = model.encoder.reorder_encoder_out(self.encoded, sources)
        features, self.before = model.decoder.branch(
            tokens.to(self.device), depth, seen, encoded, self.before
        )
        logits = model.decoder.output_layer(features)
        every = model.get_normalized_probs((logits, None), log_probs=True).float()
        return every[group, column]

    def _select(
        self, group: Numbers, column: Numbers, parents: Numbers, size: int, width: int
    ) -> Tensor:
        """Keeps of the tokens those that the groups begin with: G × W × (N + W), which of them, and
        of the newest, each prefix has."""
        tokens = self.tokens[parents]
        every = int(self.tokens.max(initial=0)) + 1
        keys, number = np.unique(group[:, None] * every + tokens, return_inverse=True)
        owner, token = np.divmod(keys, every)
        place = np.arange(len(keys)) - np.searchsorted(owner, owner)
        count = int(place.max(initial=-1)) + 1
        if count:
            kept = np.zeros((size, count), dtype=np.int64)
            kept[owner, place] = token
            self.before = [(_at(k, kept), _at(v, kept)) for k, v in self.before]
        # what is no prefix has itself, so that its softmax is not empty
        seen = np.repeat(np.eye(width, count + width, count, dtype=bool)[None], size, 0)
        mine = place[number.reshape(tokens.shape)]
        seen[group[:, None], column[:, None], mine] = True
        new = np.concatenate([mine, count + column[:, None]], 1)
        self.tokens = group[:, None] * (count + width) + new
        return torch.from_numpy(seen).to(self.device)


def _at(states: Tensor, kept: Numbers) -> Tensor:
    """G' × H × M × D at G × N numbers among G' · M: G × H × N × D."""
    _, heads, count, dim = states.shape
    which, place = np.divmod(kept[:, None], count)
    flat = (which * heads + np.arange(heads)[:, None]) * count + place
    rows = torch.from_numpy(flat.ravel()).to(states.device)
    return states.reshape(-1, dim).index_select(0, rows).view(*flat.shape, dim)


@torch.no_grad()
def search(
    model: FairseqEncoderDecoderModel,
    inputs: Mapping[str, Tensor],
    readers: Sequence[Beam | Given],
    eos: int,
    pad: int,
) -> None:
    """Reads all that the readers want; arguments as of :class:`Prefixes`."""
    prefixes = Prefixes(model, inputs, pad)
    units = parents = np.arange(len(inputs["src_tokens"]))
    symbols, texts = np.full(len(units), eos), [""] * len(units)
    while len(units):
        logs = prefixes.read(units, parents, symbols)
        logs[:, pad] = -np.inf
        wanted = [reader.step(logs, texts) for reader in readers]
        pairs = np.concatenate([np.stack(some) for some in wanted], 1)
        # equal prefixes are one; in order of their parents, and so of their units
        keys, numbers = np.unique(pairs[0] * logs.shape[1] + pairs[1], return_inverse=True)
        parents, symbols = np.divmod(keys, logs.shape[1])
        texts = [texts[p] + chr(s) for p, s in zip(parents.tolist(), symbols.tolist(), strict=True)]
        units = units[parents]
        ends = np.cumsum([len(some) for some, _ in wanted])
        for reader, rows in zip(readers, np.split(numbers, ends[:-1]), strict=True):
            reader.place(rows)
