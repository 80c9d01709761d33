"""Algorithm 2 over a batch: held against one sentence at a time in plain lists, with orders on it.

What a person ordered holds, whatever the policy wants: locks, terms, and what has to go.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from closeness import near
from fake_policy import (
    BOS,
    EOS,
    LETTERS,
    PAD,
    PAIRS,
    SYMBOLS,
    UNK,
    Encoded,
    FakePolicy,
    decode,
    sentence,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from lev_runtime.refine.arrays import NUMPY
from lev_runtime.refine.options import RefinementOptions
from lev_runtime.refine.policy import EditState, Trace
from lev_runtime.text.markup import DROP, JOINED, KEEP

PLH = SYMBOLS.placeholder


class Case(NamedTuple):
    """A source, a draft, and the mark bits of the draft's tokens, without <s> and </s>."""

    source: str
    draft: str
    bits: list[int]

    @property
    def runs(self) -> list[str]:
        """The sequences that have to go."""
        runs, run = [], ""
        for letter, bit in zip(self.draft, self.bits, strict=True):
            run += letter if bit & DROP else ""
            if run and not bit & JOINED:
                runs, run = [*runs, run], ""
        return runs


def case(source: str, segments: Sequence[tuple[str, str]]) -> Case:
    """From segments such as ``("ab", "term")``; the empty kind is no mark."""
    draft, bits = "", []
    for letters, kind in segments:
        bit = {"": 0, "keep": KEEP, "term": KEEP, "drop": DROP}[kind]
        joined = JOINED if kind in ("term", "drop") else 0
        draft += letters
        bits += [bit | joined] * (len(letters) - 1) + [bit]
    return Case(source, draft, bits)


class Token(NamedTuple):
    """A token, its place in the draft and when the iteration began, or −1, the log-probability of
    what put or kept it, and whether it was deleted in this iteration."""

    token: int
    origin: int = -1
    since: int = -1
    score: float = 0.0
    gone: bool = False


Row = list[Token]


@dataclass
class Slow:
    """Algorithm 2 for a single sentence."""

    policy: FakePolicy
    options: RefinementOptions
    wanted: Case
    seen: list[list[int]] = field(default_factory=list)
    actions: float = 0.0

    def run(self) -> dict[str, Any]:
        """All that a hypothesis holds."""
        self.bits = [0, *self.wanted.bits, 0]
        draft = sentence(self.wanted.draft)
        self.y = [Token(token, place) for place, token in enumerate(draft)]
        self.history = [("draft", numbers(self.y), column(self.y, "origin"), None, None)]
        for t in range(self.options.max_iter):
            self.y = [token._replace(since=place) for place, token in enumerate(self.y)]
            traced, deletes = self.delete()
            kept = standing(traced)
            if self.options.adaptive:
                if numbers(kept) in self.seen:
                    is_last = kept == traced and numbers(kept) == self.seen[-1]
                    return self.end(t, "unchanged" if is_last else "loop")
                self.seen.append(numbers(kept))
            opened = self.open(traced)
            if self.options.adaptive and opened == self.y:
                return self.end(t, "unchanged")
            self.y = self.fill(opened)
            self.actions += sum(itertools.compress(deletes, column(traced, "gone")))
            self.actions += sum(token.score for token in self.y if token.since < 0)
            self.note("deletion", kept, deletes)
            self.note("placeholder", standing(opened))
            self.note("token", self.y, column(self.y, "score"))
        return self.end(self.options.max_iter, "max_iterations")

    def note(self, phase: str, y: Row, scores: list[float] | None = None) -> None:
        logs = None if scores is None else near(scores[1:-1])
        self.history.append((phase, numbers(y), column(y, "origin"), column(y, "since"), logs))

    def end(self, steps: int, reason: str) -> dict[str, Any]:
        scores = column(self.y, "score")
        return {
            "tokens": numbers(self.y),
            "origin": column(self.y, "origin"),
            "positional_scores": near(scores),
            "score": near(sum(scores) / len(scores)),
            "actions": near(self.actions),
            "steps": steps,
            "terminated": reason,
            "history": self.history,
        }

    def marked(self, origin: int, bit: int) -> bool:
        return origin >= 0 and bool(self.bits[origin] & bit)

    def logits(self, head: str, y: Row) -> np.ndarray:
        """What the policy says of a sentence, double precision; it may read what was deleted."""
        tokens, read = (np.array([numbers(row)]) for row in (standing(y), y))
        trace = Trace(read, np.array([column(y, "gone")])) if self.policy.traces else None
        encoder_out = Encoded(np.array([sentence(self.wanted.source)]))
        state = EditState(tokens, encoder_out, trace, tokens == PLH)
        return self.policy.logits(head, state).astype(float)

    def delete(self) -> tuple[Row, list[float]]:
        """What stays and goes, and log-probabilities of deleting each; rates the draft's tokens."""
        logs = log_softmax(self.logits("deletion", self.y)[0])
        for i, token in enumerate(self.y[1:-1], start=1):
            keep, delete = logs[i]
            gone = math.exp(delete) > self.options.delete_threshold
            gone = gone and not self.marked(token.origin, KEEP)
            gone = gone or self.marked(token.origin, DROP)
            score = token.score if token.origin < 0 else keep
            self.y[i] = token._replace(gone=gone, score=score)
        traced, self.y = self.y, [token._replace(gone=False) for token in self.y]
        return traced, [delete for _, delete in logs]

    def open(self, traced: Row) -> Row:
        """Opens slots; what is new stands behind what was deleted there."""
        kept, wanted = standing(traced), self.wanted
        logits = self.logits("placeholder", traced)[0]
        logits[:, 0] -= self.options.empty_penalty
        most = int(self.options.max_len_a * len(wanted.source)) + self.options.max_len_b
        most = max(most, -(-3 * len(wanted.draft) // 2)) + 2
        room = max(0, min(most, self.policy.longest) - len(kept))
        out, slots = traced[:1], iter(zip(logits, kept))
        for following in traced[1:]:
            if not following.gone:
                row, left = next(slots)
                count = 0 if self.marked(left.origin, JOINED) else min(room, int(row.argmax()))
                room -= count
                out += [Token(PLH)] * count
            out.append(following)
        return out

    def fill(self, opened: Row) -> Row:
        y = standing(opened)
        new = [place for place, token in enumerate(y) if token.token == PLH]
        logits = self.logits("token", opened)
        logits[:, UNK] -= self.options.unk_penalty
        logits[:, [BOS, PAD, EOS, PLH]] = -math.inf
        logs = dict(zip(new, log_softmax(logits)))
        ranked = {place: row.argsort().tolist() for place, row in logs.items()}  # the best last
        written = numbers(y)
        again: int | None = None
        while True:
            for place in new if again is None else [again]:
                written[place] = ranked[place].pop()
            again = self.again(written, new)
            if again is None:
                break
        for place in new:
            y[place] = Token(written[place], score=logs[place][written[place]])
        return y

    def again(self, tokens: list[int], new: list[int]) -> int | None:
        """The first new token of a sequence that had to go."""
        for run in self.wanted.runs:
            wanted = sentence(run)[1:-1]
            for start in range(len(tokens)):
                places = range(start, start + len(wanted))
                if tokens[start : start + len(wanted)] == wanted and any(i in places for i in new):
                    return next(i for i in new if i in places)
        return None


def standing(y: Row) -> Row:
    return [token for token in y if not token.gone]


def column(y: Row, name: str) -> list[Any]:
    return [getattr(token, name) for token in y]


def numbers(y: Row) -> list[int]:
    return column(y, "token")


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def shown(value: Any) -> Any:
    """What a hypothesis holds, as :class:`Slow` does."""
    if isinstance(value, list):
        return [shown(step) for step in value]
    if not isinstance(value, dict):
        return value.tolist() if hasattr(value, "tolist") else value
    sides = [shown(value.get(name)) for name in ("phase", "tokens", "origin", "since", "scores")]
    return *sides[:4], sides[4] and sides[4][1:-1]


KINDS = st.sampled_from(["", "keep", "term", "drop"])
SEGMENTS = st.lists(st.tuples(st.text(LETTERS, min_size=1, max_size=3), KINDS), max_size=4)
CASES = st.lists(
    st.builds(case, st.text(LETTERS, max_size=3), SEGMENTS), min_size=1, max_size=4
)  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {},
    {"empty_penalty": 1.5, "unk_penalty": 1.0},
    {"delete_threshold": 0.7},
    {"delete_threshold": 0.0},
    {"max_len_a": 1.5, "max_len_b": 1, "max_iter": 2},
    {"adaptive": False},
]
POLICIES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "growth": st.sampled_from([-1.0, 0.0, 2.0]),
        "traces": st.booleans(),
        "longest": st.sampled_from([14, 40]),
    }
)
LAYOUTS = st.fixed_dictionaries(
    {"left": st.booleans(), "extra": st.integers(0, 2), "reuse": st.booleans()}
)


@settings(max_examples=70)
@given(CASES, POLICIES, st.sampled_from(OPTIONS), LAYOUTS, st.booleans())
def test_every_sentence_of_a_batch_is_edited_by_algorithm_2_whatever_its_padding(
    arrays, cases, policy, values, layout, marked
):
    """With orders or without, with a trace of deletions or without, features reused or not."""
    values = {"max_len_b": 14, "max_iter": 6, **values}
    marks = [wanted.bits for wanted in cases] if marked else None
    pairs = [(wanted.source, wanted.draft) for wanted in cases]
    groups = decode(FakePolicy(arrays, **policy), pairs, marks, **layout, **values)
    for (hypothesis,), wanted in zip(groups, cases, strict=True):
        wanted = wanted if marked else wanted._replace(bits=[0] * len(wanted.draft))
        expected = Slow(FakePolicy(NUMPY, **policy), RefinementOptions(**values), wanted).run()
        assert {name: shown(hypothesis[name]) for name in expected} == expected


def test_hypotheses_share_no_memory(arrays):
    # fairseq-generate divides positional_scores in place
    for pair in PAIRS:
        (first,), *others = decode(FakePolicy(arrays), [pair] * 3, max_iter=2)
        before = [shown(other["tokens"]) for (other,) in others]
        scores = [shown(other["positional_scores"]) for (other,) in others]
        first["positional_scores"] /= 2
        first["tokens"][:] = UNK
        assert before == [shown(other["tokens"]) for (other,) in others]
        assert scores == [shown(other["positional_scores"]) for (other,) in others]
