"""A deletion that leaves a trace: what the heads read, in training and step by step."""

from typing import Any

import pytest
import tiny
import torch
import torch.nn.functional as F
from closeness import assert_near
from contract import ROWS, System
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.nn.arrays import TORCH
from lev_plugins.nn.transformer import EncoderOutput
from lev_plugins.ops.alignment import lcs_masks
from lev_plugins.ops.edits import Compaction, insertion_labels
from lev_plugins.systems.levenshtein.expert import deletion_state, insertion_inputs
from lev_runtime.refine.policy import EditPolicy, EditState, Trace

pytestmark = pytest.mark.device

OPTIONS = {"deletion_trace": True, "encoder_normalize_before": True, "max_insertions": 9}
PAD = 1


def make(**options: Any) -> tuple[Any, Any]:
    """A task and a model whose new heads are not undecided."""
    task = tiny.task()
    model = tiny.model(task, **{**OPTIONS, **options})
    for head in (model.deleted.what, model.deleted.count):
        torch.nn.init.normal_(head.weight)
    return task, tiny.sharpen(model, 2.0).eval()


def compact(trace: Trace) -> Tensor:
    return Compaction(trace.standing(PAD))(trace.tokens, PAD)


def shown(tokens: Tensor) -> list[list[int]]:
    """The rows without their padding, which may be wider on a GPU."""
    return [row[row.ne(PAD)].tolist() for row in tokens]


def test_the_placeholder_head_reads_what_was_deleted_in_a_slot_and_how_much():
    task, model = make()
    sample = tiny.batch(task, [tiny.Triple("abc", "", "abcdef")], extra=2)
    memory, tokens = model.encode(sample["net_input"]["src_tokens"]), sample["draft"]
    deleted = torch.zeros_like(tokens, dtype=torch.bool)
    deleted[0, 2:4] = deleted[0, 6] = True  # a [bc] d e [f]
    trace = Trace(tokens, deleted, TORCH)
    (logits,) = tiny.logits(model, "placeholder", compact(trace), memory, trace=trace)
    (h,) = model.decode(tokens, memory, "placeholder", deleted)
    for slot, (left, right) in enumerate(((0, 1), (1, 4), (4, 5), (5, 7))):
        expected = model.placeholder_head.weight @ torch.cat([h[left], h[right]])
        if between := right - left - 1:
            expected += model.deleted.what.weight @ h[left + 1 : right].mean(0)
            expected += model.deleted.count.weight[between - 1]
        assert_near(logits[slot], expected)


def test_deleted_tokens_are_read_as_such():
    # e(y_i) + p_i + m where it was deleted: the blocks see nothing else of a deletion
    task, model = make(decoder_layers=1, early_exit="")
    seen = []
    model.decoder["token"].forward = lambda x, *others: seen.append(x) or x
    sample = tiny.batch(task, [tiny.Triple("ab", "", "abcd")])
    memory, tokens = model.encode(sample["net_input"]["src_tokens"]), sample["draft"]
    deleted = torch.tensor([[False, False, True, False, True, False]])
    model.decode(tokens, memory, "placeholder", deleted)
    model.decode(tokens, memory, "placeholder")
    marks = (seen[0] - seen[1])[0]
    assert_near(marks[deleted[0]], model.scale * model.deleted.mark.weight.expand(2, -1))
    assert not marks[~deleted[0]].any()


@pytest.mark.parametrize("masking", ["none", "uniform"])
@pytest.mark.parametrize("traced", [True, False], ids=["traced", "as in the paper"])
def test_training_asks_each_head_what_decoding_asks_it(traced, masking):
    task, model = make()
    if not traced:
        model = tiny.sharpen(tiny.model(task)).eval()
    task.cfg.token_masking = masking
    sample = tiny.batch(task, [row for row in ROWS if row.draft])
    states = task.with_states(sample, 1, (0.5, 1.0))["states"]
    source = sample["net_input"]["src_tokens"]
    answers, memory = model(source, None, states), model.encode(source)
    y_del = deletion_state(states, answers["token"][0], model.forbidden_symbols)
    counting, writing = insertion_inputs(states, model.traces)
    insertion = states.insertion
    assert shown(compact(counting)) == shown(insertion.before)
    assert bool(counting.deleted.any()) is traced
    assert shown(compact(writing)) == shown(states.masked_target)
    slots = tiny.logits(model, "placeholder", insertion.before, memory, trace=counting)
    tokens = tiny.logits(model, "token", states.masked_target, memory, states.predicted, writing)
    deletions = tiny.logits(model, "deletion", y_del, memory)
    expected = {
        "placeholder": slots[insertion.slots],
        "token": tokens,
        "deletion": deletions[y_del.gt(2)],
    }
    for head, logits in expected.items():
        assert_near(answers[head][0], logits)
    assert states.delete_draft.any() and not states.delete_draft.all()


def test_only_the_experts_deletions_from_drafts_leave_a_trace():
    task, model = make()
    sample = tiny.batch(task, tiny.triples(40))
    pairs = {name: tensor for name, tensor in sample.items() if name != "draft"}
    for read, beta, leaves in ((sample, 0.0, False), (sample, 0.5, True), (pairs, 0.5, False)):
        counting, _ = insertion_inputs(tiny.states(task, read, beta=beta), True)
        assert bool(counting.deleted.any()) == leaves


class Editing(EditPolicy):
    """Edits as the expert does, the targets being its memory; notes the traces it is given."""

    arrays, traces = TORCH, True

    def __init__(self, target: Tensor, placeholder: int) -> None:
        self.target, self.placeholder = target, placeholder
        self.seen: dict[str, dict[int, list]] = {"placeholder": {}, "token": {}}

    def encode(self, src_tokens: Tensor) -> EncoderOutput:
        return EncoderOutput(self.target, None, rows=torch.arange(len(self.target)))

    def logits(self, head: str, state: EditState) -> Tensor:
        tokens, goal = state.tokens, state.encoder_out.states
        kept, found = lcs_masks(tokens, goal, PAD)
        if head == "deletion":
            return torch.stack([9.0 * kept, 9.0 * ~kept], 2)
        trace = state.trace or Trace(tokens, torch.zeros_like(tokens, dtype=torch.bool), TORCH)
        assert torch.equal(compact(trace), tokens[:, : compact(trace).size(1)])
        rows = state.encoder_out.rows.tolist()
        for row, read, gone in zip(rows, trace.tokens, trace.deleted):
            sides = [side[read.ne(PAD)].tolist() for side in (read, gone)]
            self.seen[head].setdefault(row, sides)
        if head == "placeholder":
            counts = insertion_labels(goal, found, PAD, self.placeholder).counts
            return F.one_hot(F.pad(counts, (0, tokens.size(1) - 1 - counts.size(1))), 12).float()
        goal = F.pad(goal, (0, tokens.size(1) - goal.size(1)), value=PAD)
        return F.one_hot(goal[state.where], 20).float()


@given(seed=st.integers(0, 10_000))
def test_step_by_step_the_heads_read_what_they_read_in_training(seed):
    task, model = make()
    sample = tiny.batch(task, tiny.triples(6, seed))
    counting, writing = insertion_inputs(tiny.states(task, sample, beta=1.0), True)
    policy = Editing(sample["target"], task.placeholder)
    generator = System(task, None, None, None, {}).generator(policy)
    hypotheses = generator.generate([policy], sample)
    for row, (hypothesis,) in enumerate(hypotheses):
        target = sample["target"][row]
        assert hypothesis["tokens"].tolist() == target[target.ne(PAD)].tolist()
    for phase, trace in (("placeholder", counting), ("token", writing)):
        for row in policy.seen["token"]:
            real = trace.tokens[row].ne(PAD)
            assert policy.seen[phase][row] == [
                side[row][real].tolist() for side in (trace.tokens, trace.deleted)
            ]
