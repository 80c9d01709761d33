"""Decoding in fairseq: options as flags, and ensembles."""

from argparse import Namespace
from typing import Any

import pytest
import tiny
import torch
import torch.nn.functional as F
from closeness import assert_near
from fake_policy import FakePolicy
from refusals import refuses

from lev_plugins.nn.arrays import TORCH
from lev_plugins.systems.levenshtein.generator import EnsemblePolicy, RefinementOptions
from lev_runtime.refine.policy import HEADS, EditPolicy, EditState, Trace

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


class Narrow(FakePolicy):
    """Inserts fewer."""

    def head_logits(self, head: str, *read: Any) -> torch.Tensor:
        logits = super().head_logits(head, *read)
        return logits[..., :3] if head == "placeholder" else logits


@pytest.mark.parametrize("head", HEADS)
def test_probabilities_are_the_mean_of_the_members(head):
    members = [FakePolicy(TORCH, 1, traces=True), Narrow(TORCH, 2), FakePolicy(TORCH, 3)]
    tokens = torch.tensor([[0, 4, 8, 8, 2, 1], [0, 8, 4, 5, 6, 2]])
    # after <s>; a member without a trace does not see it
    with_gone = torch.cat([tokens[:, :1], torch.full((2, 1), 5), tokens[:, 1:]], 1)
    trace, where = Trace(with_gone, torch.arange(7).eq(1).expand(2, -1), TORCH), tokens.eq(8)

    def chances(policy: EditPolicy) -> torch.Tensor:
        encoder_out = policy.encode(torch.tensor([[0, 4, 2], [0, 7, 2]]))
        seen = trace if policy.traces and head != "deletion" else None
        return policy.logits(head, EditState(tokens, encoder_out, seen, where)).softmax(-1)

    shares = list(map(chances, members))
    widened = [F.pad(share, (0, shares[0].size(-1) - share.size(-1))) for share in shares]
    assert_near(chances(EnsemblePolicy(members)), sum(widened) / 3)


def test_positions_are_those_of_the_tightest_member_on_each_side():
    members = [
        EditPolicy(),  # knows no limit
        tiny.model(tiny.task(), max_source_positions=30, max_target_positions=20),
        tiny.model(tiny.task(), max_source_positions=10, max_target_positions=40),
    ]
    assert EnsemblePolicy(members).max_positions() == (10, 20)
