"""Decoding in fairseq: options as flags, and ensembles."""

from argparse import Namespace
from typing import Any

import pytest
import tiny
import torch
import torch.nn.functional as F
from closeness import assert_near
from refusals import refuses

from lev_plugins.nn.arrays import TORCH
from lev_plugins.systems.levenshtein.generator import EnsemblePolicy, RefinementOptions
from lev_runtime.refine.policy import EditPolicy, Trace

pytestmark = pytest.mark.device


# options --------------------------------------------------------------------------------------


def test_options_are_refused_by_the_flags_of_fairseq_generate():
    with refuses("--iter-decode-max-iter 0"):
        RefinementOptions(max_iter=0)
    with refuses("--iter-decode-with-beam 3"):
        RefinementOptions(nbest=3, candidates=2)


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
    task = tiny.task(delete_threshold=0.6, noise_scale=0.4)
    options_ = task.build_generator([], Namespace(**flags)).options
    values = (4, 1.5, 0.6, False, True, 1.2, 17, 0.5, 5, 0.4, 1, 3, True, 0.7)
    assert options_ == RefinementOptions(*values)


# ensembles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["deletion", "placeholder", "token"])
def test_probabilities_are_the_mean_of_the_members(head):
    task = tiny.task()
    sizes: list[dict[str, Any]] = [
        {"deletion_trace": True},
        {"decoder_layers": 1, "max_insertions": 3},
        {"encoder_embed_dim": 16, "decoder_embed_dim": 16, "max_insertions": 7},
    ]
    models = [tiny.sharpen(tiny.model(task, 1, **size)).eval() for size in sizes]
    sources, states = (
        tiny.stack([tiny.sentence(row, task.tgt_dict, task.placeholder) for row in side], 1)
        for side in (("ab", "h", "efg"), ("a?bc?", "??", "abcde"))
    )
    # after <s>; a member without a trace does not see it
    with_gone = torch.cat([states[:, :1], torch.full((3, 1), 5), states[:, 1:]], 1)
    is_gone = torch.zeros_like(with_gone, dtype=torch.bool)
    is_gone[:, 1] = True
    trace = Trace(with_gone, is_gone, TORCH) if head != "deletion" else None

    def chances(policy) -> torch.Tensor:
        where, seen = states.eq(task.placeholder), trace if policy.traces else None
        memory = policy.encode(sources)
        return tiny.logits(policy, head, states, memory, where, seen).softmax(-1)

    members = list(map(chances, models))
    classes = max(member.size(-1) for member in members)
    widened = [F.pad(member, (0, classes - member.size(-1))) for member in members]
    assert_near(chances(EnsemblePolicy(models)), sum(widened) / len(models))


def test_positions_are_those_of_the_tightest_member_on_each_side():
    members = [
        EditPolicy(),  # knows no limit
        tiny.model(tiny.task(), max_source_positions=30, max_target_positions=20),
        tiny.model(tiny.task(), max_source_positions=10, max_target_positions=40),
    ]
    assert EnsemblePolicy(members).max_positions() == (10, 20)
