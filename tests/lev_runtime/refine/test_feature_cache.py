"""Features that are kept while a sentence stays as it is: fewer reads, and the same answers."""

import itertools
from typing import Any

import pytest
from fake_policy import PAIRS, SYMBOLS, FakePolicy, single, text

from lev_runtime.refine.arrays import Array
from lev_runtime.refine.policy import EditState


def reads(policy: FakePolicy) -> list:
    """What was read since, but nothing of a sentence that is empty; alone no head asks for it."""
    noted, policy.read = policy.read, []
    return sorted(read for read in noted if len(read[2]) > 2)


@pytest.mark.parametrize("traces", [False, True])
def test_a_batch_reads_what_its_sentences_read_alone_and_none_is_read_twice(arrays, traces):
    policy, pairs = FakePolicy(arrays, growth=-3.0, traces=traces), PAIRS[:9]
    answers, alone, calm = [], [], {"delete_threshold": 0.98}
    for pair in pairs:
        (hypothesis,) = single(policy, [pair], reuse=True, **calm)
        assert all(read[1:] != other[1:] for read, other in itertools.pairwise(policy.read))
        answers.append(text(hypothesis))
        alone += reads(policy)
    for reuse in (True, False):
        hypotheses = single(policy, pairs, reuse=reuse, **calm)
        assert [text(hypothesis) for hypothesis in hypotheses] == answers
        batch = reads(policy)
        assert (batch == sorted(alone)) == reuse
    assert len(batch) > 1.1 * len(alone)


class Quick(FakePolicy):
    """Knows the likeliest token without logits: always the same."""

    def best_tokens(self, state: EditState) -> tuple[Array, Array]:
        written = state.tokens.reshape(-1)[state.places]
        assert (written == SYMBOLS.placeholder).all()
        return written * 0 + 4, self.arrays.zeros_like(written) - 0.25


@pytest.mark.parametrize("reuse", [False, True])
def test_the_likeliest_token_is_taken_from_the_policy_where_nothing_else_decides(arrays, reuse):
    def written(**options: Any) -> set[tuple[int, float]]:
        hypotheses = single(Quick(arrays, 5), PAIRS, reuse=reuse, max_iter=1, **options)
        sides = ((each[name].tolist() for name in ("tokens", "positional_scores", "origin"))
                 for each in hypotheses)  # fmt: skip
        rows = itertools.chain.from_iterable(itertools.starmap(zip, sides))
        return {(token, score) for token, score, origin in rows if origin < 0}

    assert written() == {(4, -0.25)}
    assert len(written(unk_penalty=1.0)) > 9
