"""Algorithm 2: each way to end, each limit, and nothing that depends on the batch."""

import math
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import pytest
import tiny
import torch
from fairseq.data import Dictionary
from fake_policy import ConstantPolicy, RandomPolicy
from refusals import refuses

from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions

SYMBOLS = tiny.dictionary()
PLH = SYMBOLS.add_symbol("<plh>")
FORBIDDEN = [SYMBOLS.bos(), SYMBOLS.pad(), SYMBOLS.eos(), PLH]
Hypothesis = dict[str, Any]


def options(**values: Any) -> RefinementOptions:
    return RefinementOptions(**{"retain_history": True, **values})


def decode(
    policy: Any,
    pairs: Sequence[tuple[str, str | None]],
    left: bool = True,
    extra: int = 0,
    **values: Any,
) -> list[Hypothesis]:
    """Hypotheses of (source, draft) pairs; drafts are all None or all strings."""
    sources = [tiny.sentence(source, SYMBOLS) for source, _ in pairs]
    tokens = tiny.stack(sources, SYMBOLS.pad(), left, extra)
    sample: dict[str, Any] = {"net_input": {"src_tokens": tokens}}
    if pairs and pairs[0][1] is not None:
        drafts = [tiny.sentence(draft or "", SYMBOLS, PLH) for _, draft in pairs]
        sample["draft"] = tiny.stack(drafts, SYMBOLS.pad())
    found = RefinementGenerator(SYMBOLS, PLH, options(**values)).generate([policy], sample)
    assert all(len(one) == 1 for one in found)
    return [one for (one,) in found]


def text(hypothesis: Hypothesis) -> str:
    return tiny.letters(hypothesis["tokens"], SYMBOLS, PLH)


def end(hypothesis: Hypothesis) -> tuple[str, int, str]:
    return text(hypothesis), hypothesis["steps"], hypothesis["terminated"]


# the policies' options ------------------------------------------------------------------------


def constant(**logits: Any) -> ConstantPolicy:
    return ConstantPolicy(SYMBOLS, PLH, **logits)


def likely(letter: str, logit: float = 4.0) -> torch.Tensor:
    return logit * torch.eye(len(SYMBOLS))[SYMBOLS.index(letter)]


@pytest.mark.parametrize(
    "probability, threshold, deleted",
    [
        (0.6, 0.5, True),
        (0.6, 0.7, False),
        (0.4, 0.5, False),
        (0.4, 0.3, True),
        (0.5, 0.5, False),  # a tie is no argmax for deletion
        (0.999, 1.0, False),
        (0.001, 0.0, True),
    ],
)
def test_a_token_is_deleted_above_the_threshold(probability, threshold, deleted):
    policy = constant(deletion=(math.log(1 - probability), math.log(probability)))
    (hypothesis,) = decode(policy, [("a", "abc")], delete_threshold=threshold)
    assert text(hypothesis) == ("" if deleted else "abc")
    if not deleted:
        inner = hypothesis["positional_scores"][1:-1]
        assert torch.allclose(inner, torch.full((3,), math.log(1 - probability)), atol=1e-6)


WORDS = {  # of each way to cut words: three words and their tokens
    "▁": ["▁ab", "c", "▁d", "▁e", "f", "g"],
    "##": ["ab", "##c", "d", "e", "##f", "##g"],
    "@@": ["ab@@", "c", "d", "e@@", "f@@", "g"],
}
SURE = [0.9, 0.5, 0.65, 0.9, 0.1, 0.2]


@pytest.mark.parametrize("tokens", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize(
    ("threshold", "words", "left"),
    [(0.6, True, [3, 4, 5]), (0.68, True, [2, 3, 4, 5]), (0.6, False, [1, 4, 5])],
)
def test_words_go_or_stay_as_a_whole_by_the_mean_of_their_tokens(tokens, threshold, words, left):
    symbols = Dictionary()
    indices = [symbols.add_symbol(token) for token in tokens]
    placeholder = symbols.add_symbol("<plh>")

    class Known(ConstantPolicy):
        def deletion_logits(self, tokens, memory):
            gone = torch.full((len(symbols),), 0.5)
            gone[indices] = torch.tensor(SURE)
            return torch.stack([(1 - gone).log(), gone.log()], 1)[tokens]

    known = Known(symbols, placeholder)
    sample = {
        "net_input": {"src_tokens": torch.tensor([[0, 4, 2], [0, 4, 2]])},
        "draft": torch.tensor([[0, *indices, 2], [0, indices[2], 2, *[1] * 5]]),
    }
    how = options(delete_threshold=threshold, delete_words=words, max_iter=1)
    (found,), (other,) = RefinementGenerator(symbols, placeholder, how).generate([known], sample)
    assert found["tokens"].tolist() == [0, *(indices[i] for i in left), 2]
    assert len(other["tokens"]) == (2 if threshold < 0.65 else 3)


@pytest.mark.parametrize("penalty, written", [(0.0, "_"), (0.9, "_"), (1.1, "c")])
def test_the_unknown_penalty_is_taken_from_the_logit_of_the_unknown_symbol(penalty, written):
    token = torch.zeros(len(SYMBOLS))
    token[SYMBOLS.unk()], token[SYMBOLS.index("c")] = 3.0, 2.0
    policy = constant(counts=(0.0, 1.0), token=token)
    (hypothesis,) = decode(policy, [("a", "")], unk_penalty=penalty, max_iter=1)
    assert text(hypothesis) == written


# the length limit -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a, b, source, longest",
    [
        (0.0, 3, "abcd", 3),
        (2.0, 1, "abc", 7),
        (1.5, 0, "abc", 4),  # 4.5 tokens are four
        (1.0, 2, "", 2),
    ],
)
def test_the_limit_counts_the_words_of_the_source_without_padding(a, b, source, longest):
    pairs, grows = [(source, None), ("abcdefgh", None)], constant(counts=(0.0, 1.0))
    first, second = decode(grows, pairs, True, 2, max_len_a=a, max_len_b=b, max_iter=30)
    assert len(text(first)) == longest
    assert len(text(second)) == int(8 * a) + b


# what comes back ------------------------------------------------------------------------------


def mixed_pairs(count: int, seed: int = 2) -> list[tuple[str, str]]:
    return [(row.source, row.draft) for row in tiny.triples(count, seed, longest=6)]


def check_history(hypothesis: Hypothesis, draft: str) -> None:
    """Every entry follows from the one before it, by its mask, and knows what stands."""
    first, *rest = hypothesis["history"]
    assert first["phase"] == "draft" and tiny.letters(first["tokens"], SYMBOLS, PLH) == draft
    assert [step["phase"] for step in rest] == ["delete", "placeholder", "token"] * (len(rest) // 3)
    assert len(rest) == 3 * hypothesis["steps"]
    before = first["tokens"]
    for delete, opened, token in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        assert torch.equal(delete["tokens"], before[delete["mask"]])
        where = opened["tokens"].eq(PLH)
        assert torch.equal(opened["tokens"][~where], delete["tokens"])
        assert torch.equal(token["mask"], where)
        assert torch.equal(token["tokens"][~where], delete["tokens"])
        assert not torch.isin(token["tokens"][where], torch.tensor(FORBIDDEN)).any()
        before = token["tokens"]
    assert torch.equal(before, hypothesis["tokens"])
    for step in hypothesis["history"]:
        check_origin(step["origin"], step["tokens"], draft)
    assert torch.equal(hypothesis["history"][-1]["origin"], hypothesis["origin"])


def check_origin(origin: torch.Tensor, tokens: torch.Tensor, draft: str) -> None:
    """Every token with an origin is the draft's token there; origins go up."""
    old = origin.ge(0)
    assert origin.shape == tokens.shape and old[0] and old[-1]
    assert torch.equal(tiny.sentence(draft, SYMBOLS)[origin[old]], tokens[old])
    assert origin[old].diff().gt(0).all() and origin[~old].eq(-1).all()


@pytest.mark.parametrize(("seed", "growth"), [(0, -2.0), (1, 2.0)])
def test_whatever_a_policy_does_the_result_is_sound(seed, growth):
    pairs = mixed_pairs(24, seed)
    policy = RandomPolicy(SYMBOLS, PLH, seed, growth)
    found = decode(policy, pairs, max_len_b=7, max_iter=8)
    for (_, draft), hypothesis in zip(pairs, found, strict=True):
        tokens, scores = hypothesis["tokens"], hypothesis["positional_scores"]
        assert tokens[0] == SYMBOLS.bos() and tokens[-1] == SYMBOLS.eos()
        assert not torch.isin(tokens[1:-1], torch.tensor(FORBIDDEN)).any()
        assert len(tokens) - 2 <= max(7, -(-3 * len(draft) // 2))
        assert 0 <= hypothesis["steps"] <= 8
        assert scores.shape == tokens.shape and scores.isfinite().all() and scores.le(0).all()
        assert hypothesis["score"] == pytest.approx(float(scores.mean()), abs=1e-6)
        assert scores[0] == scores[-1] == 0, "<s> and </s> are nobody's choice"
        assert scores[1:-1].lt(0).all()
        check_origin(hypothesis["origin"], tokens, draft)
        check_history(hypothesis, draft)


def test_a_score_is_the_log_probability_of_what_put_or_kept_the_token():
    policy = constant(deletion=(4.0, 0.0), counts=(0.0, 1.0), token=likely("b"))
    (hypothesis,) = decode(policy, [("a", "a")], max_iter=1)
    kept = torch.tensor([4.0, 0.0]).log_softmax(0)[0]
    allowed = len(SYMBOLS) - len(FORBIDDEN)
    written = torch.tensor([4.0] + [0.0] * (allowed - 1)).log_softmax(0)[0]
    expected = torch.tensor([0.0, written, kept, written, 0.0])
    assert text(hypothesis) == "bab"
    assert torch.allclose(hypothesis["positional_scores"], expected, atol=1e-6)


def test_hypotheses_share_no_memory():
    # fairseq-generate divides positional_scores in place
    for policy in (constant(), constant(counts=(0.0, 1.0)), constant(deletion=(0.0, 1.0))):
        found = decode(policy, [("a", "ab")] * 3, max_iter=2)
        before = [one["positional_scores"].clone() for one in found]
        found[0]["positional_scores"].div_(math.log(2))
        found[0]["tokens"].fill_(5)
        for other, scores in zip(found[1:], before[1:], strict=True):
            assert torch.equal(other["positional_scores"], scores)
            assert not other["tokens"].eq(5).all()
            assert other["history"][0]["tokens"].tolist() != [5, 5, 5, 5]


# fairseq's own rules --------------------------------------------------------------------------


def test_stock_rules_refill_the_unknown_symbol():
    policy = constant(token=likely("b"))
    (stock,) = decode(policy, [("a", "a_")], stock=True)
    assert text(stock) == "ab" and stock["origin"].tolist() == [0, 1, -1, 3]
    (ours,) = decode(policy, [("a", "a_")])
    assert end(ours) == ("a_", 0, "unchanged")


def test_stock_rules_may_write_any_symbol_but_the_placeholder():
    token = torch.zeros(len(SYMBOLS))
    token[SYMBOLS.pad()], token[PLH] = 5.0, 6.0
    policy = constant(counts=(0.0, 1.0), token=token)
    (hypothesis,) = decode(policy, [("a", "b")], stock=True, max_iter=1, retain_history=False)
    # a <pad> that was written cannot be told from padding: this is how stock loses tokens
    assert hypothesis["tokens"].tolist() == tiny.sentence("b", SYMBOLS).tolist()
    ours = decode(policy, [("a", "b")], max_iter=1)[0]
    assert not torch.isin(ours["tokens"][1:-1], torch.tensor(FORBIDDEN)).any()


# options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "flag"),
    [
        ({"max_iter": 0}, "--iter-decode-max-iter 0"),
        ({"delete_threshold": 1.5}, "--delete-threshold 1.5"),
        ({"delete_threshold": float("nan")}, "--delete-threshold nan"),
        ({"candidates": 0}, "--iter-decode-with-beam 0"),
        ({"noise_scale": -0.1}, "--noise-scale -0.1"),
        ({"nbest": 3, "candidates": 2}, "--iter-decode-with-beam 3"),
        ({"nbest": 0}, "--nbest 0"),
        ({"length_penalty": float("nan")}, "--lenpen nan"),
        ({"empty_penalty": float("inf")}, "--iter-decode-eos-penalty inf"),
    ],
)
def test_options_out_of_range_are_refused_in_one_line(values, flag):
    with refuses(flag):
        RefinementOptions(**values)


@pytest.mark.parametrize("flag", [{"sampling": True}, {"lm_path": "lm.pt"}])
def test_what_edit_models_cannot_do_is_refused(flag):
    with refuses("--" + next(iter(flag)).replace("_", "-")):
        RefinementOptions.from_generation(Namespace(**flag))


def test_options_are_read_from_the_flags_of_fairseq_generate():
    flags = {
        "iter_decode_max_iter": 4,
        "iter_decode_eos_penalty": 1.5,
        "retain_iter_history": True,
        "max_len_a": 1.2,
        "max_len_b": 17,
        "unkpen": 0.5,
        "iter_decode_with_beam": 5,
        "nbest": 3,
        "iter_decode_with_external_reranker": True,
        "lenpen": 0.7,
    }
    found = RefinementOptions.from_generation(
        Namespace(**flags, iter_decode_force_max_iter=True), delete_threshold=0.6, stock=True
    )
    told = (4, 1.5, 0.6, False, True, 1.2, 17, 0.5, 5, 0.5, 1, 3, True, 0.7, True)
    assert found == RefinementOptions(*told)
    assert RefinementOptions.from_generation(Namespace()) == RefinementOptions()


def test_the_task_says_whether_words_go_as_a_whole():
    for asked in (False, True):
        task = tiny.task(delete_words=asked)
        generator = task.build_generator([tiny.model(task)], Namespace())
        assert generator.options.delete_words is asked
