"""Algorithm 2 over a batch: held against one sentence at a time in plain lists, with orders on it.

What a person ordered holds, whatever the policy wants: locks, terms, and what has to go.
"""

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
    single,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from lev_runtime.refine.arrays import NUMPY
from lev_runtime.refine.candidates import gumbel_noise, sentence_keys
from lev_runtime.refine.options import RefinementOptions
from lev_runtime.refine.policy import EditState, Trace
from lev_runtime.text.markup import DROP, JOINED, KEEP

PLH = SYMBOLS.placeholder


#: a mark's bit, and that between its tokens nothing is inserted
BITS = {"": (0, 0), "keep": (KEEP, 0), "term": (KEEP, JOINED), "drop": (DROP, JOINED)}


class Case(NamedTuple):
    """A source, and the segments of a draft, each with its mark."""

    source: str
    segments: list[tuple[str, str]]

    @property
    def draft(self) -> str:
        return "".join(letters for letters, _ in self.segments)

    @property
    def bits(self) -> list[int]:
        """Those of the draft's tokens, without <s> and </s>."""
        marks = [(len(letters) - 1, *BITS[kind]) for letters, kind in self.segments]
        return sum(([bit | joined] * more + [bit] for more, bit, joined in marks), [])


class Token(NamedTuple):
    """A token, its place in the draft and when the iteration began, or −1, and its mark; the
    log-probability of what put or kept it, and whether it was deleted in this iteration."""

    token: int
    origin: int = -1
    since: int = -1
    mark: int = 0
    score: float = 0.0
    gone: bool = False


Row = list[Token]


@dataclass
class Slow:
    """Algorithm 2 for a single sentence, or one of its candidates, which differ by noise."""

    policy: FakePolicy
    options: RefinementOptions
    wanted: Case
    number: int = 0
    seen: list[list[int]] = field(default_factory=list)
    actions: float = 0.0

    def run(self) -> dict[str, Any]:
        """All that a hypothesis holds."""
        marked = zip(sentence(self.wanted.draft), [0, *self.wanted.bits, 0])
        self.y = [Token(token, place, mark=mark) for place, (token, mark) in enumerate(marked)]
        self.history = [("draft", places(self.y), None)]
        for t in range(self.options.max_iter):
            self.step = t
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
            scores = [token.score for token in self.y]
            self.actions += sum(log for token, log in zip(traced, deletes) if token.gone)
            self.actions += sum(token.score for token in self.y if token.since < 0)
            self.history.append(("deletion", places(kept), near(deletes[1:-1])))
            self.history.append(("placeholder", places(standing(opened)), None))
            self.history.append(("token", places(self.y), near(scores[1:-1])))
        return self.end(self.options.max_iter, "max_iterations")

    def end(self, steps: int, reason: str) -> dict[str, Any]:
        scores = [token.score for token in self.y]
        score = sum(scores) / len(scores)
        if self.options.candidates > 1:
            keep = log_softmax(self.logits("deletion", self.y)[0])[1:-1, 0].sum()
            close = log_softmax(self.logits("placeholder", self.y)[0])[:, 0].sum()
            score = self.actions + keep + close
        return {
            "tokens": numbers(self.y),
            "origin": [token.origin for token in self.y],
            "positional_scores": near(scores),
            "score": score,
            "actions": near(self.actions),
            "steps": steps,
            "terminated": reason,
            "history": self.history,
        }

    def noise(self, stream: int, places: Sequence[int], classes: int) -> np.ndarray:
        sides = (np.array([sentence(side)]) for side in (self.wanted.source, self.wanted.draft))
        keys, rows = sentence_keys(*sides, PAD).repeat(len(places)), [self.number] * len(places)
        asked = keys, np.array(rows, int), stream, np.array(places, int)
        return gumbel_noise(self.options, *asked, classes, NUMPY)

    def logits(self, head: str, y: Row) -> np.ndarray:
        """What the policy says of a sentence, double precision; it may read what was deleted."""
        tokens, read = (np.array([numbers(row)]) for row in (standing(y), y))
        trace = Trace(read, np.array([[token.gone for token in y]]))
        encoder_out = Encoded(np.array([sentence(self.wanted.source)]))
        state = EditState(tokens, encoder_out, trace if self.policy.traces else None, tokens == PLH)
        return self.policy.logits(head, state).astype(float)

    def delete(self) -> tuple[Row, list[float]]:
        """What stays and goes, and log-probabilities of deleting each; rates the draft's tokens."""
        logs = log_softmax(self.logits("deletion", self.y)[0])
        traced = list(self.y)
        for i, token in enumerate(self.y[1:-1], start=1):
            keep, delete = logs[i]
            gone = math.exp(delete) > self.options.delete_threshold and not token.mark & KEEP
            score = token.score if token.origin < 0 else keep
            traced[i] = token._replace(gone=gone or token.mark & DROP > 0, score=score)
        self.y = [token._replace(gone=False) for token in traced]
        again: int | None = 0
        while again is not None:  # what is left must not join to what had to go
            left = [place for place, token in enumerate(traced) if not token.gone]
            new = [i for i, place in enumerate(left) if traced[place].origin < 0]
            again = self.again([traced[place].token for place in left], new)
            if again is not None:
                traced[left[again]] = traced[left[again]]._replace(gone=True)
        return traced, logs[:, 1].tolist()

    def open(self, traced: Row) -> Row:
        """Opens slots; what is new stands behind what was deleted there."""
        logits = self.logits("placeholder", traced)[0]
        logits[:, 0] -= self.options.empty_penalty
        logits += self.noise(2 * self.step, range(len(logits)), logits.shape[1])
        most = int(self.options.max_len_a * len(self.wanted.source)) + self.options.max_len_b
        most = max(most, -(-3 * len(self.wanted.draft) // 2)) + 2
        kept = standing(traced)
        room = max(0, min(most, self.policy.longest) - len(kept))
        out, slots = [], zip(kept[:1] + kept, [0, *logits.argmax(1).tolist()])
        for following in traced:
            if not following.gone:
                left, wanted = next(slots)
                count = 0 if left.mark & JOINED else min(room, wanted)
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
        logs = log_softmax(logits)
        logits += self.noise(2 * self.step + 1, new, logits.shape[1])
        again = 0
        while new and again is not None:
            for place, row, log in zip(new, logits.argmax(1).tolist(), logs):
                y[place] = Token(row, score=log[row])
            again = self.again(numbers(y), new)
            if again is not None:
                logits[new.index(again), y[again].token] = -math.inf
        return y

    def again(self, tokens: list[int], new: list[int]) -> int | None:
        """The first new token of a sequence that had to go."""
        for wanted in (sentence(run)[1:-1] for run, kind in self.wanted.segments if kind == "drop"):
            for start in range(len(tokens)):
                end = start + len(wanted)
                written = [place for place in new if start <= place < end]
                if tokens[start:end] == wanted and written:
                    return written[0]
        return None


def standing(y: Row) -> Row:
    return [token for token in y if not token.gone]


def numbers(y: Row) -> list[int]:
    return [token.token for token in y]


def places(y: Row) -> list[tuple[int, ...]]:
    return [token[:3] for token in y]


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def shown(value: Any) -> Any:
    """What a hypothesis holds, as :class:`Slow` does."""
    if isinstance(value, list):
        return [shown(step) for step in value]
    if not isinstance(value, dict):
        return value.tolist() if hasattr(value, "tolist") else value
    tokens, origin, since, scores = (
        shown(value.get(name)) for name in ("tokens", "origin", "since", "scores")
    )
    rows = zip(tokens, origin, since or [-1] * len(tokens), strict=True)
    return value["phase"], [*rows], scores and scores[1:-1]


def cases(kinds: Sequence[str]) -> Any:
    segment = st.tuples(st.text(LETTERS, min_size=1, max_size=3), st.sampled_from(kinds))
    return st.builds(Case, st.text(LETTERS, max_size=3), st.lists(segment, max_size=4))


CASES = st.lists(st.one_of(cases([""]), cases([*BITS])), min_size=1, max_size=4)
OPTIONS = [
    {},
    {"empty_penalty": 1.5, "unk_penalty": 1.0},
    {"delete_threshold": 0.7},
    {"delete_threshold": 0.0},
    {"max_len_a": 0.0, "max_len_b": 14, "max_iter": 3},
    {"adaptive": False},
    {"candidates": 3, "nbest": 3, "noise_scale": 1.0},
    {"candidates": 2, "nbest": 1, "noise_scale": 2.0, "max_iter": 2},
]
POLICIES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "growth": st.sampled_from([-1.0, 0.0, 2.0]),
        "traces": st.booleans(),
        "apart": st.booleans(),
        "longest": st.sampled_from([14, 40]),
    }
)
LAYOUTS = st.fixed_dictionaries(
    {"left": st.booleans(), "extra": st.integers(0, 2), "reuse": st.booleans()}
)


@settings(max_examples=55)
@given(CASES, POLICIES, st.sampled_from(OPTIONS), LAYOUTS)
def test_every_sentence_of_a_batch_is_edited_by_algorithm_2_whatever_its_padding(
    arrays, cases, policy, values, layout
):
    """With orders or without, with a trace of deletions or without, features reused or not, and so
    is each of several candidates; the best of those that differ come back, the best first."""
    values = {"max_len_a": 1.5, "max_len_b": 2, "max_iter": 6, **values}
    options, slow = RefinementOptions(**values), FakePolicy(NUMPY, **policy)
    pairs, marks = [(case.source, case.draft) for case in cases], [case.bits for case in cases]
    groups = decode(FakePolicy(arrays, **policy), pairs, marks, **layout, **values)
    for group, case in zip(groups, cases, strict=True):
        several = [Slow(slow, options, case, i).run() for i in range(options.candidates)]
        best = {}
        for each in sorted(several, key=lambda each: -each["score"]):
            best.setdefault(tuple(each["tokens"]), {**each, "score": near(each["score"])})
        expected = [*best.values()][: options.nbest]
        assert [{name: shown(each[name]) for name in several[0]} for each in group] == expected


def test_hypotheses_share_no_memory(arrays):
    # fairseq-generate divides positional_scores in place
    for pair in PAIRS:
        first, *others = single(FakePolicy(arrays), [pair] * 3, max_iter=2)
        before = [shown([*other.values()]) for other in others]
        first["positional_scores"] /= 2
        first["tokens"][:] = UNK
        assert before == [shown([*other.values()]) for other in others]


@settings(max_examples=40)
@given(st.lists(cases(["", "drop"]), min_size=4, max_size=4), POLICIES, LAYOUTS)
def test_what_was_removed_is_not_written_again_nor_joined_by_deletions(
    arrays, cases, policy, layout
):
    pairs, marks = [(case.source, case.draft) for case in cases], [case.bits for case in cases]
    asked = FakePolicy(arrays, **policy), pairs, marks
    for hypothesis, case in zip(single(*asked, **layout, max_iter=9), cases, strict=True):
        slow = Slow(FakePolicy(NUMPY), RefinementOptions(), case)
        for step in (*hypothesis["history"], hypothesis):
            tokens, origin = shown(step["tokens"]), shown(step["origin"])
            new = [place for place, of_draft in enumerate(origin) if of_draft < 0]
            assert slow.again(tokens, new) is None
