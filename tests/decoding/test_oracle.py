"""Decoding with an oracle: what it deletes and inserts is the expert's, tokens are the model's."""

from collections.abc import Sequence
from typing import Any

import pytest
import tiny
import torch
from fake_policy import FakeMemory, Policy, RandomPolicy
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import ORACLES, missing_tokens, with_oracle
from tiny import is_subsequence
from torch import Tensor

from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions

SYMBOLS = tiny.dictionary()
PLH = SYMBOLS.add_symbol("<plh>")
PAD = SYMBOLS.pad()
Hypothesis = dict[str, Any]

# few letters, so that repetitions and ties are the rule; _ is the unknown symbol
WORDS = st.text("abc_", max_size=8)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5)  # draft, target


def stacked(words: Sequence[str], extra: int = 0, left: bool = False) -> Tensor:
    return tiny.stack([tiny.sentence(word, SYMBOLS, PLH) for word in words], PAD, left, extra)


def decode(
    policy: Any,
    mode: str,
    pairs: Sequence[tuple[str, str]],
    sources: Sequence[str] | None = None,
    extra: int = 0,
    **values: Any,
) -> list[Hypothesis]:
    """Hypotheses of (draft, target) pairs; the source is the target where none is given."""
    drafts, targets = zip(*pairs, strict=True)
    options = RefinementOptions(**{"retain_history": True, "max_iter": 6, **values})
    sample = {
        "net_input": {"src_tokens": stacked(sources or targets, extra, left=True)},
        "draft": stacked(drafts, extra),
    }
    asked = with_oracle(policy, mode, stacked(targets, extra), PAD)
    return [one for (one,) in RefinementGenerator(SYMBOLS, PLH, options).generate([asked], sample)]


def text(hypothesis: Hypothesis) -> str:
    return tiny.letters(hypothesis["tokens"], SYMBOLS, PLH)


def lcs_length(x: str, y: str) -> int:
    """By the textbook."""
    rows = [[0] * (len(y) + 1)]
    for one in x:
        above, row = rows[-1], [0]
        for j, other in enumerate(y):
            row.append(above[j] + 1 if one == other else max(above[j + 1], row[-1]))
        rows.append(row)
    return rows[-1][-1]


class Knowing(Policy):
    """Its tokens are right wherever everything else is; the source is the target.

    Deletion and placeholders are not its business.
    """

    def deletion_logits(self, tokens: Tensor, memory: FakeMemory) -> Tensor:
        raise AssertionError("the oracle deletes")

    def placeholder_logits(self, tokens: Tensor, memory: FakeMemory, trace: Any = None) -> Tensor:
        raise AssertionError("the oracle inserts placeholders")

    def token_logits(
        self, tokens: Tensor, memory: FakeMemory, where: Tensor, trace: Any = None
    ) -> Tensor:
        rows = []
        for source, sentence in self.read(tokens, memory):
            assert len(source) == len(sentence), f"{sentence} is to become {source}"
            rows += [
                tiny.sentence(one, SYMBOLS)[1]
                for one, other in zip(source, sentence, strict=True)
                if other == tiny.PLACEHOLDER
            ]
        logits = torch.zeros(len(rows), len(SYMBOLS))
        if rows:
            logits.scatter_(1, torch.stack(rows).unsqueeze(1), 5.0)
        return logits


# the properties -------------------------------------------------------------------------------


@given(PAIRS)
@example([("", ""), ("cba", "abc"), ("abc", "abc"), ("aaaa", "aa"), ("", "abcabc")])
def test_with_both_oracles_right_tokens_reach_the_target_in_one_iteration(pairs):
    policy = Knowing(SYMBOLS, PLH)
    for (draft, target), one in zip(pairs, decode(policy, ORACLES[2], pairs), strict=True):
        assert text(one) == target
        assert one["steps"] == (draft != target) and one["terminated"] == "unchanged"
        assert one["positional_scores"].isfinite().all()


@given(PAIRS)
def test_the_oracle_deletes_nothing_of_a_longest_common_subsequence(pairs):
    policy = RandomPolicy(SYMBOLS, PLH, 5)
    for mode in ORACLES[1:]:
        found = decode(policy, mode, pairs, max_iter=1, adaptive=False)
        for (draft, target), one in zip(pairs, found, strict=True):
            kept = tiny.letters(one["history"][1]["tokens"], SYMBOLS, PLH)
            assert is_subsequence(kept, draft) and is_subsequence(kept, target)
            assert len(kept) == lcs_length(draft, target)


@given(PAIRS, st.integers(0, 3))
def test_for_any_state_as_many_tokens_are_missing_as_the_alignment_lacks(pairs, extra):
    drafts, targets = zip(*pairs, strict=True)
    counts = missing_tokens(stacked(drafts, extra), stacked(targets, 2 * extra), PAD)
    assert counts.shape == (len(pairs), max(map(len, drafts)) + 1 + extra)
    for (draft, target), row in zip(pairs, counts, strict=True):
        assert row.ge(0).all() and not row[len(draft) + 1 :].any(), "there are no slots there"
        assert int(row.sum()) == len(target) - lcs_length(draft, target)


MIXED = [(row.draft, row.target) for row in tiny.triples(24, 4, longest=7)]
SOURCES = [row.source for row in tiny.triples(24, 4, longest=7)]


def outcome(hypothesis: Hypothesis) -> tuple:
    states = [(step["phase"], step["tokens"].tolist()) for step in hypothesis["history"]]
    score = round(hypothesis["score"], 5)
    return text(hypothesis), hypothesis["steps"], hypothesis["terminated"], score, states


@pytest.mark.parametrize("mode", ORACLES)
def test_a_sentence_does_not_depend_on_its_batch(mode):
    policy = RandomPolicy(SYMBOLS, PLH, 6)
    together = [outcome(one) for one in decode(policy, mode, MIXED, SOURCES)]
    padded = [outcome(one) for one in decode(policy, mode, MIXED, SOURCES, extra=3)]
    alone = [
        outcome(decode(policy, mode, [pair], [source])[0])
        for pair, source in zip(MIXED, SOURCES, strict=True)
    ]
    assert together == padded == alone
    assert len({steps for _, steps, *_ in together}) > 2, "sentences leave at different times"


# what is whose --------------------------------------------------------------------------------


def test_targets_of_other_sentences_are_noticed():
    oracle = with_oracle(RandomPolicy(SYMBOLS, PLH, 1), "deletion", stacked("ab"))
    with pytest.raises(ValueError, match="3 sources but 2 targets"):
        oracle.encode(stacked("abc"))
