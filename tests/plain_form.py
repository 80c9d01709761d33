"""The loop over one sentence in the place of the one over a batch, for policies of every kind."""

from typing import Any

from lev_runtime.history import EditHypothesis
from lev_runtime.refine.arrays import Array
from lev_runtime.refine.plain import decode
from lev_runtime.refine.policy import EditState, FeaturePolicy, Symbols


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


def one_by_one(policy, source, drafts, symbols, options) -> list[EditHypothesis]:
    """The hypotheses of sentences that are decoded by themselves."""
    return [
        decode(policy, source[row : row + 1], draft, symbols, options)
        for row, draft in enumerate(drafts)
    ]
