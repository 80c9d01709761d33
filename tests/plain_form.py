"""The loop over lists in the place of the one over arrays, for policies of every kind."""

from typing import Any

from lev_runtime.history import EditHypothesis
from lev_runtime.refine.arrays import Array
from lev_runtime.refine.decoding import Decoding
from lev_runtime.refine.plain import PlainDecoding
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


class DecodingByLists(Decoding):
    """Decodes over lists what has no marks, history or candidates, and the rest as its base."""

    def __init__(self, policy, source, draft, marks, symbols, options):
        super().__init__(policy, source, draft, marks, symbols, options)
        self.source = source

    def run(self) -> list[EditHypothesis]:
        is_plain = self.options.is_plain and self.constraints is None
        if not (is_plain and isinstance(self.policy, FeaturePolicy)):
            return super().run()
        rows = zip(self.state.tokens.tolist(), self.state.sizes)
        drafts, policy = [row[:size] for row, size in rows], Likeliest(self.policy, self.symbols)
        return PlainDecoding(policy, self.source, drafts, self.symbols, self.options).run()
