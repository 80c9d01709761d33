"""Policies that need no model, for numpy's arrays and torch's, and what they decode.

They answer every sentence by itself, so what a batch does to an answer is the loop's doing. A
sentence is a string of letters, a letter being a token: ``_`` is unknown, ``?`` the placeholder.
"""

import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lev_runtime.history import EditHypothesis
from lev_runtime.refine.arrays import Array, Arrays
from lev_runtime.refine.decoding import Decoding
from lev_runtime.refine.feature_cache import reused
from lev_runtime.refine.options import RefinementOptions
from lev_runtime.refine.policy import HEADS, EditState, FeaturePolicy, Symbols

BOS, PAD, EOS, UNK = range(4)
# few letters, so that a random policy often wants to write what was removed
LETTERS = "abcd"
#: sources and drafts
PAIRS = [
    pair.split("→")
    for pair in """
    →dcdb cda→ddcd dadbd→cbcddc ba→bcda abcbdca→bddb dacbcb→ a→aabb caac→bacdcbd →abcdbbac bd→b
    cbdcc→ dbcad→cb cdcd→dab bcadbd→cdcacbb ab→a →cdba dda→bc acbbc→dadadb cb→ aabd→bbcac
    """.split()
]


def symbols_of(words: Iterable[str]) -> Symbols:
    """Those of a dictionary as fairseq makes it."""
    names = ("<s>", "<pad>", "</s>", "_", *words, "?")
    return Symbols(names, PAD, BOS, EOS, UNK, len(names) - 1)


SYMBOLS = symbols_of(LETTERS)


def sentence(letters: Iterable[str], symbols: Symbols = SYMBOLS) -> list[int]:
    return [BOS, *map(symbols.names.index, letters), EOS]


def text(hypothesis: EditHypothesis) -> str:
    return "".join(SYMBOLS.names[token] for token in hypothesis["tokens"].tolist()[1:-1])


def stack(
    arrays: Arrays, rows: Sequence[list[int]], pad: int = PAD, left: bool = False, extra: int = 0
) -> Array:
    """Rows of any length → B × T, with ``extra`` columns of padding more than it takes."""
    width = max(map(len, rows)) + extra
    gaps = [[pad] * (width - len(row)) for row in rows]
    return arrays.xp.asarray([gap + row if left else row + gap for row, gap in zip(rows, gaps)])


@dataclass
class Encoded:
    """The sources, as an encoder's output."""

    sources: Array

    def select(self, rows: Array) -> "Encoded":
        return Encoded(self.sources[rows])


class FakePolicy(FeaturePolicy):
    """Draws its features from a sentence and its source: at random, yet always the same.

    One pass makes those of deletion and of placeholders, unless the heads are ``apart``.

    growth: taken from the logit of inserting nothing; above 0 sentences tend to grow. longest: of
    its positions. read: for what head it has read which source and tokens; of each token also
    whether it was just deleted.
    """

    exits = dict(zip(HEADS, HEADS))
    encode = Encoded

    def __init__(
        self,
        arrays: Arrays,
        seed=3,
        growth=0.0,
        traces=False,
        longest=sys.maxsize,
        symbols=SYMBOLS,
        apart=False,
    ) -> None:
        self.arrays, self.seed, self.growth, self.traces = arrays, seed, growth, traces
        self.apart = apart
        self.longest, self.symbols = longest, symbols
        self.read: list[tuple[str, list[int], list[tuple[int, bool]]]] = []

    def max_positions(self) -> tuple[int, int]:
        return sys.maxsize, self.longest

    def features(self, head: str, state: EditState) -> dict[Any, Array]:
        tokens, deleted = state.inputs()
        heads, size = (HEADS[2:], len(self.symbols.names)) if head == "token" else (HEADS[:2], 6)
        features = np.full((*tokens.shape, size), 3.0, np.float32)  # at padding
        gone = np.zeros(tokens.shape, bool) if deleted is None else deleted
        sides = (side.tolist() for side in (state.encoder_out.sources, tokens, gone))
        for into, source, row, flags in zip(features, *sides, strict=True):
            source = [token for token in source if token != PAD]
            real = [pair for pair in zip(row, flags) if pair[0] != PAD]
            self.read.append((head, source, real))
            key = zlib.crc32(f"{self.seed} {size} {source} {real}".encode())
            drawn = 2 * np.random.default_rng(key).standard_normal((len(real), size))
            standing = [not is_gone for _, is_gone in real]
            into[: sum(standing)] = drawn[standing]
        heads = (head,) if self.apart else heads
        return dict.fromkeys(heads, self.arrays.as_tensor(features, tokens))

    def head_logits(self, head: str, features: Array, state: EditState) -> Array:
        features = features[:, : state.tokens.shape[1]]
        if head == "deletion":
            return features[..., :2]
        if head == "token":
            return features[state.where]
        logits = self.arrays.copy(features[:, :-1, 2:])
        logits[..., 0] -= self.growth
        return logits


def decode(
    policy: FakePolicy,
    pairs: Iterable[Sequence[Iterable[str]]],
    marks: Iterable[list[int]] = (),
    left: bool = False,
    extra: int = 0,
    reuse: bool = False,
    **options: Any,
) -> list[list[EditHypothesis]]:
    """The hypotheses of sources and drafts.

    marks: bits of the drafts' letters. left, extra: of :func:`stack`; no draft is padded on the
    left. reuse: whether features are.
    """
    how = RefinementOptions(**{"retain_history": True, "max_len_b": 9, "max_iter": 6, **options})
    symbols, arrays = policy.symbols, policy.arrays
    sources, drafts = ([sentence(letters, symbols) for letters in side] for side in zip(*pairs))
    source, draft = stack(arrays, sources, PAD, left, extra), stack(arrays, drafts, extra=extra)
    rows = [[0, *bits, 0] for bits in marks]
    bits = stack(arrays, rows, 0, extra=extra) if rows else None
    asked = reused(policy) if reuse else policy
    decoding = Decoding(asked, source, draft, bits, symbols, how)
    hypotheses = decoding.run()
    if how.candidates > 1:
        decoding.rate(hypotheses)
    return decoding.nbest(hypotheses)


def single(*asked: Any, **values: Any) -> list[EditHypothesis]:
    """:func:`decode` where there is one for each."""
    return [hypothesis for (hypothesis,) in decode(*asked, **values)]
