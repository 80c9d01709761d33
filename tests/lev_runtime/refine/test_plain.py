"""The loop over one sentence answers as the one over a batch does."""

from typing import Any

from closeness import near
from fake_policy import LETTERS, SYMBOLS, FakePolicy, sentence, single, stack
from hypothesis import given, settings
from hypothesis import strategies as st
from test_decoding import POLICIES

from lev_runtime.history import EditHypothesis
from lev_runtime.refine.arrays import Array
from lev_runtime.refine.options import RefinementOptions
from lev_runtime.refine.plain import decode
from lev_runtime.refine.policy import EditState, FeaturePolicy, Symbols

PAIRS = st.lists(st.tuples(st.text(LETTERS, max_size=4), st.text(LETTERS, max_size=7)), min_size=1)
OPTIONS = st.fixed_dictionaries(
    {
        "delete_threshold": st.sampled_from([0.0, 0.2, 0.5, 0.8]),
        "max_iter": st.sampled_from([1, 3, 7]),
        "max_len_a": st.sampled_from([0.0, 1.5]),
        "max_len_b": st.sampled_from([2, 9]),
    }
)


class Likeliest(FeaturePolicy):
    """A policy that says which tokens are likeliest. apart: each pass tells of one head alone."""

    def __init__(self, policy: FeaturePolicy, symbols: Symbols, apart: bool = False) -> None:
        self.policy, self.symbols, self.apart = policy, symbols, apart
        for name in ("arrays", "exits", "traces", "encode", "max_positions", "head_logits"):
            setattr(self, name, getattr(policy, name))

    def features(self, head: str, state: EditState) -> Any:
        features, exit = self.policy.features(head, state), self.exits[head]
        return {exit: features[exit]} if self.apart else features

    def best_tokens(self, state: EditState) -> tuple[Array, Array]:
        logits = self.arrays.float32(self.arrays.copy(self.logits("token", state)))
        symbols = self.symbols
        for symbol in (symbols.pad, symbols.bos, symbols.eos, symbols.placeholder):
            logits[:, symbol] = float("-inf")
        best = self.arrays.argmax(logits)
        likelihood = self.arrays.gather(logits, best[:, None])[:, 0]
        return best, likelihood - self.arrays.logsumexp(logits)


def shown(hypothesis: EditHypothesis) -> list[Any]:
    sides = ("tokens", "origin", "positional_scores", "steps", "terminated", "score", "history")
    values = [hypothesis[side] for side in sides]  # type: ignore[literal-required]
    rows = [(value.dtype, value.tolist()) if hasattr(value, "dtype") else value for value in values]
    return [*rows, near(hypothesis["actions"])]


@settings(max_examples=55)
@given(PAIRS, POLICIES, OPTIONS, st.booleans(), st.booleans(), st.integers(0, 2))
def test_one_by_one_answers_as_a_batch_whatever_the_policy(
    arrays, pairs, policy, options, apart, left, extra
):
    asked = Likeliest(FakePolicy(arrays, **policy), SYMBOLS, apart)
    expected = single(asked, pairs, retain_history=False, left=left, extra=extra, **options)
    source = stack(arrays, [sentence(source) for source, _ in pairs], left=left, extra=extra)
    drafts = [sentence(draft) for _, draft in pairs]
    for row, (draft, hypothesis) in enumerate(zip(drafts, expected, strict=True)):
        answer = decode(asked, source[row : row + 1], draft, SYMBOLS, RefinementOptions(**options))
        assert shown(answer) == shown(hypothesis)
