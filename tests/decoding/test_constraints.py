"""What a person ordered holds, whatever the policy wants: locks, terms, and what has to go.

Words that stay are whole, whatever the tokenizer makes of them.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
import tiny
import torch
from closeness import near
from fairseq.data import Dictionary
from fake_policy import (
    FORBIDDEN,
    LETTERS,
    PLH,
    SYMBOLS,
    RandomPolicy,
    sentence,
    single,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from lev_plugins.systems.levenshtein.generator import RefinementGenerator, RefinementOptions
from lev_runtime.text.markup import (
    BEGINS,
    DROP,
    ENDS,
    JOINED,
    KEEP,
    Joining,
    whole_words,
)

pytestmark = pytest.mark.device


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

    @property
    def unmarked(self) -> "Case":
        return self._replace(bits=[0] * len(self.draft))


def case(source: str, segments: Sequence[tuple[str, str]]) -> Case:
    """From segments such as ``("ab", "term")``; the empty kind is no mark."""
    draft, bits = "", []
    for letters, kind in segments:
        bit = {"": 0, "keep": KEEP, "term": KEEP, "drop": DROP}[kind]
        joined = JOINED if kind in ("term", "drop") else 0
        draft += letters
        bits += [bit | joined] * (len(letters) - 1) + [bit]
    return Case(source, draft, bits)


KINDS = st.sampled_from(["", "keep", "term", "drop"])
SEGMENTS = st.lists(st.tuples(st.text(LETTERS, min_size=1, max_size=3), KINDS), max_size=4)
CASES = st.builds(case, st.text(LETTERS, max_size=3), SEGMENTS)


# against Algorithm 2 with orders, one sentence at a time -----------------------------------------


class Token(NamedTuple):
    """A token, its place in the draft or −1, and the log-probability of what put or kept it."""

    token: int
    origin: int = -1
    score: float = 0.0


Row = list[Token]


@dataclass
class Slow:
    """Algorithm 2 for a single sentence."""

    policy: Any
    options: RefinementOptions
    wanted: Case
    seen: list[list[int]] = field(default_factory=list)
    actions: float = 0.0

    def run(self) -> dict[str, Any]:
        """All that a hypothesis holds."""
        self.memory = self.policy.encode(sentence(self.wanted.source).unsqueeze(0))
        self.bits = [0, *self.wanted.bits, 0]
        draft = sentence(self.wanted.draft).tolist()
        self.y = [Token(token, place) for place, token in enumerate(draft)]
        self.history = [noted("draft", self.y)]
        for t in range(self.options.max_iter):
            stays, deletes = self.delete()
            kept = [token for token, stay in zip(self.y, stays, strict=True) if stay]
            if self.options.adaptive:
                if numbers(kept) in self.seen:
                    is_last = all(stays) and numbers(kept) == self.seen[-1]
                    return self.end(t, "unchanged" if is_last else "loop")
                self.seen.append(numbers(kept))
            opened = self.open(kept)
            if self.options.adaptive and len(opened) == len(self.y) and all(stays):
                return self.end(t, "unchanged")
            self.y = self.fill(opened)
            is_new = [token.token == PLH for token in opened]
            scores = [token.score for token in self.y]
            self.actions += sum(itertools.compress(deletes, [not stay for stay in stays]))
            self.actions += sum(itertools.compress(scores, is_new))
            self.history.append(noted("deletion", kept, near(deletes)))
            self.history.append(noted("placeholder", opened))
            self.history.append(noted("token", self.y, near(scores)))
        return self.end(self.options.max_iter, "max_iterations")

    def end(self, steps: int, reason: str) -> dict[str, Any]:
        return {
            "tokens": numbers(self.y),
            "origin": [token.origin for token in self.y],
            "positional_scores": near([token.score for token in self.y]),
            "score": near(sum(token.score for token in self.y) / len(self.y)),
            "actions": near(self.actions),
            "steps": steps,
            "terminated": reason,
            "history": self.history,
        }

    def marked(self, origin: int, bit: int) -> bool:
        return origin >= 0 and bool(self.bits[origin] & bit)

    def logits(self, head: str, y: Row, where: Any = None) -> torch.Tensor:
        return tiny.logits(self.policy, head, torch.tensor([numbers(y)]), self.memory, where)

    def delete(self) -> tuple[list[bool], list[float]]:
        """What stays, and log-probabilities of deleting each token; rates the draft's tokens."""
        stays = [True] * len(self.y)
        if not self.y[2:]:
            return stays, [0.0, 0.0]
        logs = self.logits("deletion", self.y)[0].log_softmax(-1).tolist()
        for i, (token, origin, _) in enumerate(self.y[1:-1], start=1):
            keep, delete = logs[i]
            gone = math.exp(delete) > self.options.delete_threshold
            gone = (gone and not self.marked(origin, KEEP)) or self.marked(origin, DROP)
            stays[i] = not gone
            if origin >= 0:
                self.y[i] = Token(token, origin, keep)
        return stays, [delete for _, delete in logs]

    def open(self, kept: Row) -> Row:
        logits = self.logits("placeholder", kept)[0].clone()
        logits[:, 0] -= self.options.empty_penalty
        most = int(self.options.max_len_a * len(self.wanted.source)) + self.options.max_len_b
        room = max(most, -(-3 * len(self.wanted.draft) // 2)) + 2 - len(kept)
        out = kept[:1]
        for slot, following in enumerate(kept[1:]):
            count = min(max(room, 0), int(logits[slot].argmax()))
            count = 0 if self.marked(kept[slot].origin, JOINED) else count
            room -= count
            out += [Token(PLH)] * count + [following]
        return out

    def fill(self, opened: Row) -> Row:
        new = [token.token == PLH for token in opened]
        if not any(new):
            return opened
        logits = self.logits("token", opened, torch.tensor([new]))
        logits[:, SYMBOLS.unk()] -= self.options.unk_penalty
        logits[:, FORBIDDEN] = float("-inf")
        logs = iter(logits.log_softmax(1))
        ranked = [
            [Token(int(i), -1, float(row[i])) for i in row.argsort(descending=True)]
            for row in (next(logs) if is_new else torch.zeros(1) for is_new in new)
        ]
        options = [
            choices if is_new else [token]
            for choices, is_new, token in zip(ranked, new, opened, strict=True)
        ]
        while (again := self.again([option[0].token for option in options], new)) is not None:
            options[again] = options[again][1:]
        return [option[0] for option in options]

    def again(self, tokens: list[int], new: list[bool]) -> int | None:
        """The first new token of a sequence that had to go."""
        for run in self.wanted.runs:
            wanted = sentence(run).tolist()[1:-1]
            for start in range(len(tokens)):
                places = range(start, start + len(wanted))
                if tokens[start : start + len(wanted)] == wanted and any(new[i] for i in places):
                    return next(i for i in places if new[i])
        return None


def numbers(y: Row) -> list[int]:
    return [token.token for token in y]


def noted(phase: str, y: Row, scores: Any = None) -> tuple:
    return phase, numbers(y), [token.origin for token in y], scores


@settings(max_examples=160)
@given(
    CASES,
    st.integers(0, 10**6),
    st.sampled_from([-1.0, 0.0, 2.0]),
    st.sampled_from(
        [
            {},
            {"empty_penalty": 1.5, "unk_penalty": 1.0},
            {"delete_threshold": 0.7},
            {"delete_threshold": 0.0},
            {"max_len_a": 1.5, "max_len_b": 1, "max_iter": 2},
            {"adaptive": False},
        ]
    ),
    st.booleans(),
)
def test_hypotheses_are_those_of_algorithm_2_with_orders_or_without(
    wanted, seed, growth, values, marked
):
    policy, values = RandomPolicy(seed, growth), {"max_len_b": 14, "max_iter": 6, **values}
    marks = [wanted.bits] if marked else None
    (hypothesis,) = single(policy, [(wanted.source, wanted.draft)], marks=marks, **values)
    options = RefinementOptions(**values)
    expected = Slow(policy, options, wanted if marked else wanted.unmarked).run()
    history = [
        tuple(
            step[name].tolist() if isinstance(step.get(name), torch.Tensor) else step.get(name)
            for name in ("phase", "tokens", "origin", "scores")
        )
        for step in hypothesis["history"]
    ]
    actual = {
        name: value.tolist() if isinstance(value, torch.Tensor) else value
        for name, value in {**hypothesis, "history": history}.items()
    }
    assert {name: actual[name] for name in expected} == expected


# whole words --------------------------------------------------------------------------------------

# symbols of the dictionary, a draft, and which of its tokens stay
WORDS = {
    "sentencepiece": ("▁Fluss ▁Win ter n s . ▁und", "▁und ▁Fluss ▁und ▁Win ter . n", [1, 3, 4]),
    "wordpiece": ("Fluss Win ##ter ##n ##s . und", "Fluss und Win ##ter . ##n", [0, 2, 3]),
    "bpe": ("Fluss Win@@ ter x@@ y@@ . und", "Fluss und Win@@ ter x@@ .", [0, 2, 3]),
    "characters": ("F l u s W ▁ . x", "F l u s ▁ W x . x", [0, 1, 2, 3, 5, 6]),
}


@pytest.mark.parametrize(("words", "typed", "kept"), WORDS.values(), ids=WORDS)
def test_nothing_is_written_onto_or_into_a_word_that_stays(words, typed, kept):
    symbols, draft, dictionary = words.split(), typed.split(), Dictionary()
    ids = {symbol: dictionary.add_symbol(symbol) for symbol in symbols}
    placeholder, joining = dictionary.add_symbol("<plh>"), Joining(symbols)
    keep = [KEEP * (i in kept) for i in range(len(draft))]
    bits = [0, *whole_words(draft, keep, joining), 0]
    generator = RefinementGenerator(dictionary, placeholder, RefinementOptions(max_iter=3))

    def grows(seed: int, marks: list[int]) -> bool:
        """Whether neighbours are written as one where a word that stays begins or ends."""
        sides = {"draft": [0, *map(ids.get, draft), 2], "marks": marks}
        sample: dict[str, Any] = {name: torch.tensor([side]) for name, side in sides.items()}
        sample["net_input"] = {"src_tokens": torch.tensor([[0, 2]])}
        policy = RandomPolicy(seed, 1.0, len(dictionary))
        ((hypothesis,),) = generator.generate([policy], sample)
        tokens, origin = (hypothesis[name].tolist() for name in ("tokens", "origin"))
        assert {i + 1 for i in kept} <= set(origin)
        for (left, right), pair in zip(itertools.pairwise(origin), itertools.pairwise(tokens)):
            if marks == bits and left >= 0 and bits[left] & JOINED:
                assert right == left + 1, "no word is torn apart"
            at_edge = (left >= 0 and bits[left] & ENDS) or (right >= 0 and bits[right] & BEGINS)
            ends, begins = (joining.edges(dictionary[token]) for token in pair)
            if at_edge and ends[1] and begins[0]:
                return True
        return False

    assert not any(grows(seed, bits) for seed in range(40))
    # else no policy wanted to: nothing was tested
    assert sum(grows(seed, [0, *keep, 0]) for seed in range(40)) > 5
