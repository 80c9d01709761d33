"""The score of an answer: what was done, and that nothing is left to do."""

from typing import Any

import pytest
import tiny
import torch
from fake_policy import RandomPolicy, Script, ScriptedPolicy

from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from lev_plugins.systems.levenshtein.decoding.diversity import Diversity
from lev_plugins.systems.levenshtein.decoding.generator import rate

SYMBOLS = tiny.dictionary("abcd")
PLH = SYMBOLS.add_symbol("<plh>")
NEVER = [SYMBOLS.bos(), SYMBOLS.pad(), SYMBOLS.eos(), PLH]
Hypothesis = dict[str, Any]


def decode(policy: Any, source: str, draft: str, **more: Any) -> list:
    options = RefinementOptions(
        diversity=Diversity(5, 1.0), nbest=5, max_iter=4, retain_history=True, **more
    )
    sample = {
        "net_input": {"src_tokens": tiny.sentence(source, SYMBOLS).unsqueeze(0)},
        "draft": tiny.sentence(draft, SYMBOLS).unsqueeze(0),
    }
    (found,) = RefinementGenerator(SYMBOLS, PLH, options).generate([policy], sample)
    return found


def log_probability(policy: RandomPolicy, source: str, hypothesis: Hypothesis) -> float:
    """The score, action by action from the history."""
    memory = policy.encode(tiny.sentence(source, SYMBOLS).unsqueeze(0))
    total = 0.0
    history = hypothesis["history"]
    for before, delete, opened, filled in zip(*(history[i::3] for i in range(4)), strict=False):
        logits = policy.deletion_logits(before["tokens"].unsqueeze(0), memory)[0].log_softmax(-1)
        total += float(logits[~delete["mask"], 1].sum())
        where = filled["mask"].unsqueeze(0)
        if where.any():
            logits = policy.token_logits(opened["tokens"].unsqueeze(0), memory, where)
            logits[:, NEVER] = float("-inf")
            written = filled["tokens"][filled["mask"]]
            total += float(logits.log_softmax(-1).gather(1, written.unsqueeze(1)).sum())
    tokens = hypothesis["tokens"].unsqueeze(0)
    keep = policy.deletion_logits(tokens, memory)[0, 1:-1].log_softmax(-1)[:, 0]
    close = policy.placeholder_logits(tokens, memory)[0].log_softmax(-1)[:, 0]
    return total + float(keep.sum() + close.sum())


@pytest.mark.parametrize("draft", ["", "abca"])
def test_the_score_is_that_of_all_deletions_and_tokens_and_of_the_answer_as_final(draft):
    for seed in range(3):
        policy = RandomPolicy(SYMBOLS, PLH, seed)
        found = decode(policy, "ab", draft)
        expected = [log_probability(policy, "ab", one) for one in found]
        # sums of up to a few hundred nats in single precision
        assert [one["score"] for one in found] == pytest.approx(expected, rel=1e-5)
        assert expected == sorted(expected, reverse=True)


def test_an_empty_answer_is_not_the_best_of_a_policy_that_knows_better():
    fill = {"??": "ab", "?": "a", "???": "abc", "a?": "ab"}
    script = Script(insert={"": "??", "a": "a?"}, fill=fill)
    policy = ScriptedPolicy(SYMBOLS, PLH, {"a": script})
    wild = [tiny.letters(one["tokens"], SYMBOLS) for one in decode(policy, "a", "")]
    found = decode(policy, "a", "", max_len_b=2)
    assert wild[0] == tiny.letters(found[0]["tokens"], SYMBOLS) == "ab"
    nothing = {"tokens": tiny.sentence("", SYMBOLS), "actions": 0.0}
    rate(policy, policy.encode(tiny.sentence("a", SYMBOLS).unsqueeze(0)), [nothing], SYMBOLS)
    assert nothing["score"] < found[0]["score"]


@pytest.mark.parametrize("several", [False, True])
def test_one_answer_has_the_mean_of_its_positional_scores(several):
    options = {"diversity": Diversity(2)} if several else {}
    sample = {"net_input": {"src_tokens": tiny.sentence("ab", SYMBOLS).unsqueeze(0)}}
    generator = RefinementGenerator(SYMBOLS, PLH, RefinementOptions(**options))
    ((one,),) = generator.generate([RandomPolicy(SYMBOLS, PLH, 3)], sample)
    mean = float(one["positional_scores"].mean())
    assert (one["score"] == pytest.approx(mean, rel=1e-6)) is not several


def test_an_empty_batch_has_no_answers():
    sample = {"net_input": {"src_tokens": torch.zeros(0, 3).long()}}
    generator = RefinementGenerator(SYMBOLS, PLH, RefinementOptions(diversity=Diversity(3)))
    assert generator.generate([RandomPolicy(SYMBOLS, PLH, 1)], sample) == []
