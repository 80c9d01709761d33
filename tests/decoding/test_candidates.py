"""N-best for a sentence and a re-ranker, through the generator."""

from collections.abc import Sequence
from typing import Any

import pytest
import tiny
import torch
from fake_policy import RandomPolicy, ScriptedPolicy

from lev_plugins.errors import UserError
from lev_plugins.nn import blocks
from lev_plugins.systems.levenshtein.decoding import (
    RefinementGenerator,
    RefinementOptions,
    generator,
)
from lev_plugins.systems.levenshtein.decoding.diversity import Diversity
from lev_plugins.systems.levenshtein.markup import DROP, KEEP

SYMBOLS = tiny.dictionary("abcd")
PLH = SYMBOLS.add_symbol("<plh>")
Hypothesis = dict[str, Any]


def known(text: str) -> str:
    return "".join(letter for letter in text if letter in "abcd")


ROWS = tiny.triples(10, seed=5, longest=4)
PAIRS = [(known(row.source), known(row.draft)) for row in ROWS]


class Fixed(ScriptedPolicy):
    """The same probabilities everywhere: of deleting, of inserting one token, and of the words."""

    def __init__(self, deleting: float, inserting: float, words: dict[str, float]) -> None:
        super().__init__(SYMBOLS, PLH, {})
        self.deleting, self.inserting = deleting, inserting
        self.words = torch.full((len(SYMBOLS),), 1e-30)
        for letter, probability in words.items():
            self.words[SYMBOLS.index(letter)] = probability

    def deletion_logits(self, tokens, memory):
        two = torch.tensor([1 - self.deleting, self.deleting])
        return two.log().repeat(*tokens.shape, 1)

    def placeholder_logits(self, tokens, memory):
        two = torch.tensor([1 - self.inserting, self.inserting])
        return two.log().repeat(tokens.size(0), tokens.size(1) - 1, 1)

    def token_logits(self, tokens, memory, where):
        return self.words.log().repeat(int(where.sum()), 1)


def batch(pairs: Sequence[tuple[str, str]], extra: int = 0) -> dict[str, Any]:
    sources, drafts = ([tiny.sentence(text, SYMBOLS) for text in side] for side in zip(*pairs))
    pad = SYMBOLS.pad()
    return {
        "net_input": {"src_tokens": tiny.stack(sources, pad, left=True, extra=extra)},
        "draft": tiny.stack(drafts, pad, extra=extra),
    }


def candidates(
    policies: Any,
    pairs: Sequence[tuple[str, str]] = PAIRS,
    count: int = 1,
    scale: float = 0.5,
    seed: int = 1,
    extra: int = 0,
    more: dict[str, Any] | None = None,
    **options: Any,
) -> list[list[Hypothesis]]:
    """All different candidates of every sentence, the best first."""
    options = {"nbest": count, "max_iter": 4, "max_len_b": 8, "retain_history": True, **options}
    settings = RefinementOptions(diversity=Diversity(count, scale, seed), **options)
    policies = policies if isinstance(policies, list) else [policies]
    sample = {**batch(pairs, extra), **(more or {})}
    return RefinementGenerator(SYMBOLS, PLH, settings).generate(policies, sample)


@pytest.fixture
def unsorted(monkeypatch):
    """Answers as they were made: answer i of a sentence is number i."""
    monkeypatch.setattr(generator, "best", lambda found, number: found)


def policy(seed: int = 3, growth: float = 0.0) -> RandomPolicy:
    return RandomPolicy(SYMBOLS, PLH, seed, growth)


def text(hypothesis: Hypothesis) -> str:
    return tiny.letters(hypothesis["tokens"], SYMBOLS, PLH)


def plain(hypothesis: Hypothesis) -> tuple:
    history = [(step["phase"], step["tokens"].tolist()) for step in hypothesis["history"]]
    masks = [step["mask"].tolist() for step in hypothesis["history"] if "mask" in step]
    scores = hypothesis["positional_scores"].tolist()
    ending = hypothesis["steps"], hypothesis["terminated"]
    return text(hypothesis), scores, *ending, hypothesis["origin"].tolist(), history, masks


def all_plain(found: list[list[Hypothesis]]) -> list[list[tuple]]:
    return [[plain(one) for one in group] for group in found]


def outcomes(found: list[list[Hypothesis]]) -> list[list[tuple]]:
    """What may not depend on a batch; scores may, in their last digits."""
    return [[(text(one), one["steps"], one["terminated"]) for one in group] for group in found]


# answers and their kinds ------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"unk_penalty": 1.0}])
def test_tokens_chosen_a_row_at_a_time_are_those_chosen_together(monkeypatch, options):
    together = candidates(policy(), count=3, scale=1.0, **options)
    monkeypatch.setattr(blocks, "AT_ONCE", 1)
    assert all_plain(candidates(policy(), count=3, scale=1.0, **options)) == all_plain(together)


@pytest.mark.parametrize("stock", [False, True])
def test_answer_0_is_plain_decoding_to_the_last_digit(unsorted, stock):
    def tame(logits: torch.Tensor) -> torch.Tensor:
        return logits.index_fill(1, torch.tensor([0, 1, 2, PLH]), -99.0)

    random = policy()
    wild = random.token_logits
    random.token_logits = lambda *asked: tame(wild(*asked))  # stock rules may write anything
    single = candidates(random, stock=stock)
    several = candidates(random, count=3, stock=stock, scale=1.0)
    assert [len(group) for group in several] == [3] * len(PAIRS)
    assert all_plain([[group[0]] for group in several]) == all_plain(single)
    others = [group[i] for group in several for i in (1, 2)]
    assert sum(text(one) not in map(text, group) for one, group in zip(others, single * 2)) > 3


def test_noise_belongs_to_the_sentence_and_not_to_the_batch(unsorted):
    values = {"count": 3, "scale": 1.0}
    together = outcomes(candidates(policy(), **values))
    assert together == outcomes(candidates(policy(), extra=3, **values))
    assert together == [outcomes(candidates(policy(), [pair], **values))[0] for pair in PAIRS]
    turned = candidates(policy(), PAIRS[::-1], **values)
    assert together == outcomes(turned)[::-1]
    # nor on how many answers there are
    more = outcomes(candidates(policy(), **{**values, "count": 5}))
    assert together == [group[:3] for group in more]
    assert together != outcomes(candidates(policy(), **values, seed=2))
    assert all(len(set(group)) > 1 for group in together)


def test_n_best_do_not_depend_on_the_batch_either(unsorted):
    together = outcomes(candidates(policy(), count=4))
    assert together == outcomes(candidates(policy(), count=4, extra=2))
    alone = [outcomes(candidates(policy(), [pair], 4))[0] for pair in PAIRS]
    assert together == alone


def test_noise_of_scale_0_is_plain_decoding(unsorted):
    (single,) = zip(*all_plain(candidates(policy())))
    for number in zip(*all_plain(candidates(policy(), count=3, scale=0.0))):
        assert number == single


def test_scores_of_noisy_answers_are_the_models_own():
    fixed = Fixed(0.3, 0.5, {"a": 0.7, "b": 0.2, "c": 0.1})
    (found,) = candidates(fixed, [("a", "dd")], 8, scale=3.0, max_iter=1)
    assert len({text(one) for one in found}) > 3
    written = {"a": 0.7, "b": 0.2, "c": 0.1, "d": 0.7}  # d: the probability of keeping it
    for one in found:
        expected = torch.tensor([written[letter] for letter in text(one)]).log()
        assert one["positional_scores"][1:-1].allclose(expected, atol=1e-4)


# the best of them -------------------------------------------------------------------------------


def test_the_best_come_first_and_none_comes_twice(monkeypatch):
    found = candidates(policy(), count=5)
    assert {len(group) for group in found} != {5}, "no answer was there twice"
    for group in found:
        scores = [one["score"] for one in group]
        assert scores == sorted(scores, reverse=True)
        assert 1 <= len(group) == len(set(map(text, group))) <= 5
    for number in (1, 2):
        fewer = candidates(policy(), count=5, nbest=number)
        assert all_plain(fewer) == [group[:number] for group in all_plain(found)]
    monkeypatch.setattr(generator, "best", lambda every, _: every)
    for group, every in zip(found, candidates(policy(), count=5), strict=True):
        assert set(map(text, group)) == set(map(text, every))
        assert group[0]["score"] == max(one["score"] for one in every)


def test_more_answers_than_are_made_cannot_be_given_back():
    with pytest.raises(UserError) as caught:
        candidates(policy(), count=2, nbest=3)
    assert (
        "--nbest 3 asks for more candidates than are made; give --iter-decode-with-beam 3"
        in str(caught.value)
    )


def test_every_answer_keeps_to_the_orders(unsorted):
    marks = torch.tensor([[0, KEEP, DROP, KEEP, 0]])
    different = 0
    for seed in range(6):
        (group,) = candidates(policy(seed), [("ab", "abc")], 4, 2.0, more={"marks": marks})
        assert len(group) == 4
        different += len(set(map(text, group))) - 1
        for one in group:
            places = one["origin"].tolist()
            assert [place for place in places if place >= 0] == [0, 1, 3, 4]
            written = zip(text(one), places[1:-1], strict=True)
            assert not any(letter == "b" for letter, place in written if place < 0)
    assert different >= 4


# re-ranker --------------------------------------------------------------------------


def test_options_that_cannot_be_are_refused():
    with pytest.raises(UserError, match="--lenpen nan: must be a number"):
        candidates(policy(), length_penalty=float("nan"))
    with pytest.raises(UserError, match="--iter-decode-eos-penalty inf: must be a number"):
        candidates(policy(), empty_penalty=float("inf"))


class Longest:
    """Ranks by length, and notes what it was asked."""

    asked: list[tuple] = []

    def __init__(self, model: Any, *_: Any, length_penalty: float, **more: Any) -> None:
        assert (model, length_penalty) == ("ranking", 1.2)

    def score(self, source, draft, hypotheses) -> list[list[float]]:
        self.asked.append((source, draft, hypotheses))
        return [[float(len(tokens)) for tokens in group] for group in hypotheses]


def test_the_last_model_ranks_the_answers(monkeypatch):
    monkeypatch.setattr(generator, "Reranker", Longest)
    Longest.asked.clear()
    found = candidates([policy(), "ranking"], count=4, external_reranker=True, length_penalty=1.2)
    own = candidates(policy(), count=4)
    for group, before in zip(found, own, strict=True):
        assert set(map(text, group)) == set(map(text, before))
        assert [one["score"] for one in group] == sorted(
            (float(len(one["tokens"])) for one in before), reverse=True
        )
    assert all_plain([group[:1] for group in found]) != all_plain([group[:1] for group in own])
    ((source, draft, hypotheses),) = Longest.asked
    assert torch.equal(source, batch(PAIRS)["net_input"]["src_tokens"])
    assert torch.equal(draft, batch(PAIRS)["draft"])
    assert [len(group) for group in hypotheses] == [4] * len(PAIRS)


def test_a_ranking_model_is_needed_and_only_at_the_end():
    with pytest.raises(UserError, match="needs a second checkpoint, of an autoregressive model"):
        candidates(policy(), external_reranker=True)
    for models in ([object(), policy()], [policy(), object()]):
        with pytest.raises(UserError, match="^object is no edit model; give it last, with"):
            candidates(models)
