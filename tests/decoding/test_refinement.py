"""Algorithm 2: each option and limit, what comes back, and ensembles."""

import math
from argparse import Namespace

import pytest
import tiny
import torch
from fairseq.data import Dictionary
from fake_policy import (
    SYMBOLS,
    ConstantPolicy,
    single,
    text,
)
from refusals import refuses

from lev_plugins.nn.arrays import TORCH
from lev_plugins.systems.levenshtein.generator import (
    EnsemblePolicy,
    RefinementGenerator,
    RefinementOptions,
)
from lev_runtime.traces import Trace

pytestmark = pytest.mark.device


def likely(letter: str, logit: float = 4.0) -> torch.Tensor:
    return logit * torch.eye(len(SYMBOLS))[SYMBOLS.index(letter)]


# options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "probability, threshold, deleted",
    [
        (0.6, 0.5, True),
        (0.6, 0.7, False),
        (0.5, 0.5, False),  # a tie is no argmax for deletion
        (0.001, 0.0, True),
    ],
)
def test_a_token_is_deleted_above_the_threshold(probability, threshold, deleted):
    policy = ConstantPolicy(deletion=(math.log(1 - probability), math.log(probability)))
    (hypothesis,) = single(policy, [("a", "abc")], delete_threshold=threshold)
    assert text(hypothesis["tokens"]) == ("" if deleted else "abc")


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

    sample = {
        "net_input": {"src_tokens": torch.tensor([[0, 4, 2], [0, 4, 2]])},
        "draft": torch.tensor([[0, *indices, 2], [0, indices[2], 2, *[1] * 5]]),
    }
    how = RefinementOptions(delete_threshold=threshold, delete_words=words, max_iter=1)
    (hypothesis,), (other,) = RefinementGenerator(symbols, placeholder, how).generate(
        [Known()], sample
    )
    assert hypothesis["tokens"].tolist() == [0, *(indices[i] for i in left), 2]
    assert len(other["tokens"]) == (2 if threshold < 0.65 else 3)


@pytest.mark.parametrize(
    "a, b, source, longest",
    [
        (2.0, 1, "abc", 7),
        (1.5, 0, "abc", 4),  # 4.5 tokens are four
        (1.0, 2, "", 2),
    ],
)
def test_the_limit_counts_the_words_of_the_source_without_padding(a, b, source, longest):
    pairs, grows = [(source, ""), ("abcdabcd", "")], ConstantPolicy(counts=(0.0, 1.0))
    layout = {"left": True, "extra": 2}
    hypotheses = single(grows, pairs, **layout, max_len_a=a, max_len_b=b, max_iter=30)
    assert [len(text(hypothesis["tokens"])) for hypothesis in hypotheses] == [
        longest,
        int(8 * a) + b,
    ]


@pytest.mark.parametrize(
    ("values", "flag"),
    [
        ({"max_iter": 0}, "--iter-decode-max-iter 0"),
        ({"delete_threshold": float("nan")}, "--delete-threshold nan"),
        ({"candidates": 0}, "--iter-decode-with-beam 0"),
        ({"nbest": 0}, ""),
        ({"noise_scale": -1.0}, ""),
        ({"nbest": 3, "candidates": 2}, "--iter-decode-with-beam 3"),
    ],
)
def test_options_out_of_range_are_refused_in_one_line(values, flag):
    with refuses(flag):
        RefinementOptions(**values)


def test_options_are_those_of_fairseq_generate_and_of_the_task():
    flags = {
        "iter_decode_max_iter": 4,
        "iter_decode_eos_penalty": 1.5,
        "iter_decode_force_max_iter": True,
        "retain_iter_history": True,
        "max_len_a": 1.2,
        "max_len_b": 17,
        "unkpen": 0.5,
        "iter_decode_with_beam": 5,
        "nbest": 3,
        "iter_decode_with_external_reranker": True,
        "lenpen": 0.7,
    }
    task = tiny.task(delete_threshold=0.6, noise_scale=0.4, delete_words=True)
    options_ = task.build_generator([], Namespace(**flags)).options
    values = (4, 1.5, 0.6, False, True, 1.2, 17, 0.5, 5, 0.4, 1, 3, True, True, 0.7)
    assert options_ == RefinementOptions(*values)
    for seed, stock in ((0, False), (1, True)):
        task = tiny.task(seed=seed, stock_decoding=stock)
        options_ = task.build_generator([], Namespace()).options
        # stock runs one iteration more than it is told
        assert options_ == RefinementOptions(max_iter=10 + stock, seed=seed)


# what comes back ------------------------------------------------------------------------------


def test_hypotheses_share_no_memory():
    # fairseq-generate divides positional_scores in place
    for policy in (ConstantPolicy(), ConstantPolicy(counts=(0.0, 1.0))):
        hypotheses = single(policy, [("a", "ab")] * 3, max_iter=2)
        before = [hypothesis["positional_scores"].clone() for hypothesis in hypotheses]
        hypotheses[0]["positional_scores"].div_(math.log(2))
        hypotheses[0]["tokens"].fill_(5)
        for other, scores in zip(hypotheses[1:], before[1:], strict=True):
            assert torch.equal(other["positional_scores"], scores)
            assert not other["tokens"].eq(5).all()


# ensembles ------------------------------------------------------------------------------------


def test_probabilities_are_the_mean_of_the_members():
    task = tiny.task()
    sizes = [{"deletion_trace": True}, {"decoder_layers": 1, "max_insertions": 3}, {}]
    sizes[2] = {"encoder_embed_dim": 16, "decoder_embed_dim": 16, "max_insertions": 7}
    models = [
        tiny.sharpen(tiny.model(task, seed, **size)).eval()
        for seed, size in enumerate(sizes, start=1)
    ]
    sources, states = (
        tiny.stack([tiny.sentence(draft, task.tgt_dict, task.placeholder) for draft in side], 1)
        for side in (("ab", "h", "efg"), ("a?bc?", "??", "abcde"))
    )

    gone = torch.full((3, 1), 5)  # after <s>; a member without a trace does not see it
    with_gone = torch.cat([states[:, :1], gone, states[:, 1:]], 1)
    trace = Trace(with_gone, torch.arange(with_gone.size(1)).expand_as(with_gone).eq(1), TORCH)

    def outputs(policy) -> list[torch.Tensor]:
        memory, where = policy.encode(sources), states.eq(task.placeholder)
        seen = trace if policy.traces else None
        return [
            tiny.logits(policy, "deletion", states, memory),
            tiny.logits(policy, "placeholder", states, memory, trace=seen),
            tiny.logits(policy, "token", states, memory, where, seen),
        ]

    members = list(map(outputs, models))
    for logits, *own in zip(outputs(EnsemblePolicy(models)), *members, strict=True):
        classes = max(logits.size(-1) for logits in own)
        expected = torch.zeros(*logits.shape[:-1], classes)
        for step_logits in own:
            expected[..., : step_logits.size(-1)] += step_logits.softmax(-1) / len(models)
        assert logits.size(-1) == classes
        assert torch.allclose(logits.exp(), expected, atol=1e-5)


def test_positions_are_those_of_the_tightest_member_on_each_side():
    members = [
        ConstantPolicy(),  # knows no limit
        tiny.model(tiny.task(), max_source_positions=30, max_target_positions=20),
        tiny.model(tiny.task(), max_source_positions=10, max_target_positions=40),
    ]
    assert EnsemblePolicy(members).max_positions() == (10, 20)
