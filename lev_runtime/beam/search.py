"""Beam searches that share what they compute: each prefix of a unit is read once.

A free search, one among the words of a lexicon, and whatever else steps as they do advance
together, symbol by symbol, and find what fairseq's searches find one by one.

Shapes: B units, R prefixes of all units at one depth, K slots of a beam, V symbols. Texts are
strings of ``chr(number)``, without </s>.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .options import DEFAULTS, SearchOptions

#: What is written for a unit is longer only when the model repeats itself without end.
LONGEST_RATIO, LONGEST_MORE = 2, 20
#: Of the longest text that a model writes, a unit takes this share, so that its own may be longer.
LENGTH_SHARE = 0.8
Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]


class PrefixReader(Protocol):
    """A model that reads prefixes, each a symbol longer than one that it has read before."""

    def read(self, units: Numbers, parents: Numbers, symbols: Numbers) -> Floats:
        """Returns log-probabilities of the next symbol of each prefix, R × V.

        Of each prefix: its unit, in order, its parent among the prefixes read last, and its last
        symbol.
        """


class WordTree:
    """Which symbols may follow, so that a search writes nothing but given words.

    The symbols after node n are ``symbols[starts[n]:starts[n + 1]]``, </s> among them; the symbol
    of number k leads to node k + 1. Node 0 is the beginning.

    Args:
        sizes: how many symbols follow each node.
    """

    def __init__(self, symbols: Numbers, sizes: Numbers) -> None:
        self.symbols = symbols
        self.starts = np.concatenate([[0], sizes.cumsum(dtype=np.int64)])

    @classmethod
    def of(cls, text: str, eos: int) -> "WordTree":
        """Makes the tree of words, each with </s> after it."""
        letters = code_points([text]).astype(np.int64)
        sizes = np.diff(np.flatnonzero(letters == eos), prepend=-1)
        begins = sizes.cumsum() - sizes
        nodes = np.zeros(len(begins), dtype=np.int64)  # that each word has come to
        live = np.arange(len(begins))
        count = 0
        parents, symbols = [], []
        for depth in range(int(sizes.max())):
            live = live[sizes[live] > depth]
            edges = nodes[live] << 32 | letters[begins[live] + depth]
            edges, places = np.unique(edges, return_inverse=True)
            parents.append(edges >> 32)
            symbols.append(edges & 0xFFFFFFFF)
            nodes[live] = count + 1 + places
            count += len(edges)
        sizes = np.bincount(np.concatenate(parents), minlength=count + 2)
        return cls(np.concatenate(symbols), sizes)

    def after(self, nodes: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Returns all that may follow some nodes: which of them, the symbol, the child."""
        first = self.starts[nodes]
        count = self.starts[nodes + 1] - first
        which = np.repeat(np.arange(len(nodes)), count)
        offset = first - count.cumsum() + count
        edges = np.arange(len(which)) + offset[which]
        return which, self.symbols[edges], edges + 1


class Texts:
    """The prefixes that were read last, by their rows; each is put together when it is asked for.

    steps: of each depth the parents, rows of the one before, and the last symbols.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[Numbers, Numbers]] = []

    def __getitem__(self, row: int) -> str:
        letters = []
        for parents, symbols in reversed(self.steps):
            letters.append(chr(symbols[row]))
            row = parents[row]
        return "".join(reversed(letters))


class Beam:
    """The slots of a beam search for B units, filled as by fairseq's ``BeamSearch``.

    With a tree it does as ``PrefixConstrainedBeamSearch``: each text that is found takes a slot
    away. ``limits``: B, the most symbols of a text. ``unk``: the symbol that a penalty is for.
    """

    def __init__(
        self,
        width: int,
        limits: Numbers,
        eos: int,
        tree: WordTree | None = None,
        options: SearchOptions = DEFAULTS,
        unk: int = 0,
    ) -> None:
        self.width = width
        self.options, self.unk = options, unk
        self.limits = limits
        self.eos = eos
        self.tree = tree
        shape = len(limits), width
        self.rows = np.repeat(np.arange(len(limits))[:, None], width, 1)
        self.scores = np.full(shape, -np.inf, dtype=np.float32)
        self.scores[:, 0] = 0
        self.going = self.scores == 0
        self.nodes = np.zeros(shape, dtype=np.int64)
        self.ended: list[dict[str, float]] = [{} for _ in limits]
        self._depth = 0

    def step(self, logs: Floats, texts: Texts) -> tuple[Numbers, Numbers]:
        """Chooses the next prefixes; returns their parents (rows of ``logs``) and last symbols.

        ``logs``: R × V, log-probabilities of the next symbol of the prefixes ``texts``.
        """
        size, count = len(self.limits), logs.shape[1]
        total, nodes = self._totals(logs)
        most = self.width if self.tree else 2 * self.width
        most = min(most, self.width * count - 1)
        scores, index = largest(total.reshape(size, -1), most)
        rows = np.take_along_axis(self.rows, index // count, 1)
        symbols = index % count
        going = self._going_on(scores, rows, symbols, texts)
        order = np.argsort(~going, axis=1, kind="stable")[:, : self.width]

        def kept(values: NDArray[Any]) -> NDArray[Any]:
            return np.take_along_axis(values, order, 1)

        self.going = kept(going)
        self.scores = kept(scores)
        self.scores[~self.going] = -np.inf
        self.rows = kept(rows)
        if nodes is not None:
            nodes = np.take_along_axis(nodes, kept(index), 1)
            self.nodes = np.where(self.going, nodes, 0)
        self._depth += 1
        return self.rows[self.going], kept(symbols)[self.going]

    def place(self, rows: Numbers) -> None:
        """Takes the numbers that the prefixes wanted last have from now on, in the same order."""
        self.rows = np.zeros_like(self.rows)
        self.rows[self.going] = rows

    def best(self, unit: int) -> list[tuple[str, float]]:
        """Returns the texts of a unit with log-probabilities, the best first."""

        def rank(rated: tuple[str, float]) -> float:
            text, log = rated
            return -self.options.score(log, len(text) + 1)

        return sorted(self.ended[unit].items(), key=rank)

    def _totals(self, logs: Floats) -> tuple[Floats, Numbers | None]:
        """Returns slots' scores with each symbol, B × K × V, and with a tree the nodes, B × K·V."""
        total = self.scores[:, :, None] + logs[self.rows]
        total[:, :, self.unk] -= self.options.unkpen
        if self._depth < self.options.min_len:  # nothing is no answer
            total[:, :, self.eos] = -np.inf
        ended = total[:, :, self.eos].copy()
        total[self.limits <= self._depth] = -np.inf
        total[:, :, self.eos] = ended
        if self.tree is None:
            return total, None
        slots, symbols, children = self.tree.after(self.nodes.ravel())
        places = slots * logs.shape[1] + symbols
        flat = total.reshape(-1)
        among = np.full_like(flat, -np.inf)
        among[places] = flat[places]
        nodes = np.zeros(total.size, dtype=np.int64)
        nodes[places] = children
        return among.reshape(total.shape), nodes.reshape(len(total), -1)

    def _going_on(
        self, scores: Floats, rows: Numbers, symbols: Numbers, texts: Texts
    ) -> NDArray[np.bool_]:
        """Returns which of the best are slots to come; keeps those that end among the first."""
        taken = np.array([len(ended) if self.tree else 0 for ended in self.ended])
        slots = self.width - taken
        is_first = np.arange(scores.shape[1]) < slots[:, None]
        is_real = scores > -np.inf
        is_end = symbols == self.eos
        for unit, place in np.argwhere(is_real & is_end & is_first).tolist():
            ended = self.ended[unit]
            if len(ended) < self.width:
                text = texts[rows[unit, place]]
                ended[text] = float(scores[unit, place])
        is_wanting = np.array([len(ended) < self.width for ended in self.ended])
        return is_real & ~is_end & is_wanting[:, None]


def search(prefixes: PrefixReader, units: int, readers: Sequence[Any], eos: int, pad: int) -> None:
    """Reads all that the readers want of so many ``units``.

    readers: with the methods ``step`` and ``place`` of :class:`Beam`.
    """
    rows = parents = np.arange(units)
    symbols = np.full(units, eos)
    texts = Texts()
    while len(rows):
        logs = prefixes.read(rows, parents, symbols)
        logs[:, pad] = -np.inf
        wanted = [reader.step(logs, texts) for reader in readers]
        parents, symbols = np.concatenate([np.stack(pair) for pair in wanted], 1)
        # equal prefixes are one; in order of their parents, and so of their units
        count = logs.shape[1]
        keys, numbers = np.unique(parents * count + symbols, return_inverse=True)
        parents, symbols = np.divmod(keys, count)
        texts.steps.append((parents, symbols))
        rows = rows[parents]
        ends = np.cumsum([len(parts) for parts, _ in wanted])
        for reader, places in zip(readers, np.split(numbers, ends[:-1]), strict=True):
            reader.place(places)


def largest(values: Floats, count: int) -> tuple[Floats, Numbers]:
    """Returns the largest values of each row, in order, and their places."""
    places = np.argpartition(-values, count - 1, axis=1)[:, :count]
    chosen = np.take_along_axis(values, places, 1)
    order = np.argsort(-chosen, axis=1, kind="stable")
    places = np.take_along_axis(places, order, 1)
    return np.take_along_axis(chosen, order, 1), places


def code_points(words: Sequence[str]) -> NDArray[np.uint32]:
    """Returns the code points of all their letters."""
    encoded = "".join(words).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, dtype="<u4")
