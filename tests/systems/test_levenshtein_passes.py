"""Passes that Algorithm 2 does not need are not made, and nobody sees that they were not."""

from argparse import Namespace
from typing import Any

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.ops.edits import Compaction
from lev_plugins.systems.levenshtein import LevenshteinEditorModel
from lev_plugins.systems.levenshtein.decoding.policy import EditPolicy

SENTENCES = ["abcde", "a", "", "hgfedcba", "aabb"]
TOLERANCE = {"rtol": 0, "atol": 1e-10}


def sharp(**options: Any) -> tuple[Any, LevenshteinEditorModel]:
    task = tiny.task()
    return task, tiny.sharpen(tiny.model(task, 1, **options)).double().eval()


def rows_read(model: LevenshteinEditorModel) -> list[int]:
    """Fills with the number of sentences of every pass through the decoder from now on."""
    seen: list[int] = []
    features = model.features

    def noting(tokens: Tensor, *others: Any) -> Tensor:
        seen.append(len(tokens))
        return features(tokens, *others)

    model.features = noting
    return seen


@settings(deadline=None)
@given(
    kept=st.lists(st.lists(st.booleans(), min_size=10, max_size=10), min_size=5, max_size=5),
    chosen=st.permutations(range(5)).flatmap(lambda p: st.integers(1, 5).map(lambda n: p[:n])),
)
def test_features_of_untouched_sentences_serve_both_heads(kept, chosen):
    task, model = sharp()
    batch = tiny.batch(task, [tiny.Triple(one[::-1], one, one) for one in SENTENCES])
    source, tokens = batch["net_input"]["src_tokens"], batch["draft"]
    memory = model.with_features(tokens, model.encode(source))
    # some sentences are finished, some tokens of the others go
    rows = torch.tensor(chosen)
    memory, tokens = memory.select(rows), tokens[rows]
    keep = torch.tensor(kept)[rows][:, : tokens.size(1)] & tokens.ne(model.pad)
    keep |= tokens.eq(model.bos) | tokens.eq(model.eos)
    after = Compaction(keep)(tokens, model.pad)
    lost = (keep.sum(1) != tokens.ne(model.pad).sum(1)).nonzero().squeeze(1)
    changed = len(lost)
    read = rows_read(model)
    found = model.placeholder_logits(after, memory)
    assert read == ([changed] if changed else [])
    backwards = torch.arange(len(rows)).flip(0)
    turned = model.placeholder_logits(after[backwards], memory.select(backwards))
    anew = model.placeholder_logits(after, model.with_features(after, memory))
    wanted = model.placeholder_logits(after, model.encode(source[rows]))
    slots = after[:, 1:].ne(model.pad)
    for one in (found, turned[backwards], anew):
        torch.testing.assert_close(one[slots], wanted[slots], **TOLERANCE)


class Forgetful(EditPolicy):
    """A policy that computes anew whatever it is asked."""

    def __init__(self, model: LevenshteinEditorModel) -> None:
        self.encode, self.max_positions = model.encode, model.max_positions
        self.deletion_logits, self.token_logits = model.deletion_logits, model.token_logits
        self.placeholder_logits = model.placeholder_logits


@pytest.mark.parametrize("policies", [1, 2], ids=["alone", "ensemble"])
def test_outputs_are_those_of_a_policy_that_remembers_nothing(policies):
    task = tiny.task()
    models = [tiny.sharpen(tiny.model(task, seed)).double().eval() for seed in range(3, 23)]
    rows = tiny.triples(9, longest=12)
    limits = Namespace(max_len_a=0, max_len_b=20, iter_decode_max_iter=6)
    deleted = 0
    for first in range(0, len(models) - policies, policies):
        chosen = models[first : first + policies]
        generator = task.build_generator(chosen, limits)
        found, expected = (
            [one for (one,) in generator.generate(some, tiny.batch(task, rows))]
            for some in (chosen, list(map(Forgetful, chosen)))
        )
        deleted += sum(bool(one["actions"]) and one["steps"] > 1 for one in found)
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one["tokens"], other["tokens"]) and one["steps"] == other["steps"]
            torch.testing.assert_close(one["positional_scores"], other["positional_scores"])
    assert deleted > 10


@pytest.mark.parametrize(
    ("options", "passes"),
    [({}, 1), ({"weight_sharing": "none"}, 2), ({"early_exit": "2,1"}, 2)],
    ids=["one exit", "a stack each", "an exit each"],
)
def test_only_heads_that_read_the_same_features_share_a_pass(options, passes):
    task, model = sharp(**options)
    batch = tiny.batch(task, [tiny.Triple("abc", "abc", "abc")])
    memory, read = model.encode(batch["net_input"]["src_tokens"]), rows_read(model)
    memory = model.with_features(batch["draft"], memory)
    model.deletion_logits(batch["draft"], memory)
    model.placeholder_logits(batch["draft"], memory)
    assert len(read) == passes
