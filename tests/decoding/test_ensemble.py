"""Ensembles: the mean of the members' probabilities, and nothing that depends on the batch."""

from collections.abc import Sequence
from typing import Any

import tiny
import torch
from fake_policy import ConstantPolicy, Policy, RandomPolicy
from torch import Tensor

from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from lev_plugins.systems.levenshtein.decoding.policy import EnsemblePolicy

SYMBOLS = tiny.dictionary()
PLH = SYMBOLS.add_symbol("<plh>")
PAIRS = [(row.source, row.draft) for row in tiny.triples(24, 2, longest=6)]


def decode(policy: Any, pairs: Sequence[tuple[str, str]], **values: Any) -> list[tuple]:
    """Tokens, iterations and rounded score of each (source, draft)."""
    pad = SYMBOLS.pad()
    sources = tiny.stack([tiny.sentence(source, SYMBOLS) for source, _ in pairs], pad)
    drafts = tiny.stack([tiny.sentence(draft, SYMBOLS) for _, draft in pairs], pad)
    options = RefinementOptions(**{"max_len_b": 8, "max_iter": 6, **values})
    sample = {"net_input": {"src_tokens": sources}, "draft": drafts}
    found = RefinementGenerator(SYMBOLS, PLH, options).generate([policy], sample)
    return [(one["tokens"].tolist(), one["steps"], round(one["score"], 4)) for (one,) in found]


def random_policy(seed: int, **options: Any) -> RandomPolicy:
    return RandomPolicy(SYMBOLS, PLH, seed, **options)


class Trained(ConstantPolicy):
    """Whether it is in training; as models in fairseq-generate, it says nothing when that ends."""

    training = True

    def eval(self) -> None:
        self.training = False


def outputs(policy: Any, sources: Tensor, tokens: Tensor) -> list[Tensor]:
    """Logits of the three policies for one state, whose placeholders are to be written."""
    memory = policy.encode(sources)
    where = tokens.eq(PLH)
    return [
        policy.deletion_logits(tokens, memory),
        policy.placeholder_logits(tokens, memory),
        policy.token_logits(tokens, memory, where),
    ]


def state(words: Sequence[str] = ("a?bc?", "??", "abcde")) -> tuple[Tensor, Tensor]:
    pad = SYMBOLS.pad()
    sources = tiny.stack([tiny.sentence(word, SYMBOLS) for word in ("ab", "h", "efg")], pad)
    return sources, tiny.stack([tiny.sentence(word, SYMBOLS, PLH) for word in words], pad)


def test_probabilities_are_the_mean_of_the_members():
    task = tiny.task()
    sizes = [{}, {"decoder_layers": 1, "max_insertions": 3}, {"encoder_embed_dim": 16}]
    sizes[2] |= {"decoder_embed_dim": 16, "max_insertions": 7, "weight_sharing": "none"}
    models = [
        tiny.sharpen(tiny.model(task, seed, **size)).eval()
        for seed, size in enumerate(sizes, start=1)
    ]
    sources, tokens = state()
    single = [outputs(model, sources, tokens) for model in models]
    for phase, logits in enumerate(outputs(EnsemblePolicy(models), sources, tokens)):
        classes = max(one[phase].size(-1) for one in single)
        expected = torch.zeros(*logits.shape[:-1], classes)
        for one in single:
            expected[..., : one[phase].size(-1)] += one[phase].softmax(-1) / len(models)
        assert logits.size(-1) == classes
        assert torch.allclose(logits.exp(), expected, atol=1e-5)
        own = single[0][phase].softmax(-1)
        assert not torch.allclose(logits.exp()[..., : own.size(-1)], own, atol=0.05)


def test_a_batch_of_one_is_a_batch_of_many():
    # the fake policies notice a memory that is out of step with its sentences
    policy = EnsemblePolicy([random_policy(3), random_policy(4), random_policy(5)])
    together = decode(policy, PAIRS)
    assert together == [decode(policy, [pair])[0] for pair in PAIRS]
    assert len({steps for _, steps, _ in together}) > 2


def test_positions_are_those_of_the_tightest_member():
    for limits, tightest in (([None, None], None), ([9, None], (9, 9))):
        members = [Policy(SYMBOLS, PLH, limit) for limit in limits]
        assert EnsemblePolicy(members).max_positions() == tightest
    models = [
        tiny.model(tiny.task(), max_source_positions=source, max_target_positions=target)
        for source, target in ((30, 20), (10, 40))
    ]
    assert EnsemblePolicy(models).max_positions() == (10, 20), "each side by itself"


def test_decoding_puts_every_member_into_evaluation_mode():
    for number in (1, 3):
        members = [Trained(SYMBOLS, PLH) for _ in range(number)]
        sample = {"net_input": {"src_tokens": torch.tensor([[0, 4, 2]])}}
        RefinementGenerator(SYMBOLS, PLH, RefinementOptions()).generate(members, sample)
        assert not any(member.training for member in members)
