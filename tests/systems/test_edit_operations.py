"""An edit operation that the package has not got is trained, decoded and traced by its name.

It is all in this file: neighbours change places.
"""

from typing import Any

import pytest
import tiny
import torch
from fairseq.logging import metrics
from omegaconf import OmegaConf
from refusals import refuses
from torch import Tensor, nn

from lev_plugins.inference.sentences import Sentence
from lev_plugins.nn.embedding import token_table
from lev_plugins.ops.edits import true_places
from lev_plugins.systems.levenshtein import LevenshteinEditorConfig
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss, EditPolicyLossConfig
from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from lev_plugins.systems.levenshtein.operations import (
    Decision,
    EditOperation,
    Lesson,
    View,
    edit_operation,
    edit_operations,
)
from lev_plugins.systems.levenshtein.task import Draft

WIDE = {"encoder_embed_dim": 16, "decoder_embed_dim": 16}
ALONE, BEHIND_DELETION = "swap,insert,fill", "delete,swap,insert,fill"


@edit_operation("swap")
class Swap(EditOperation):
    """Of every token, whether it changes places with the next."""

    name, short, blocks, stage = "swap", "swp", "token", "revise"
    exits_early = False

    def heads(self, cfg, vocabulary):
        return {"swap_head": token_table(2, cfg.encoder_embed_dim)}

    def logits(self, model, features, view, memory):
        if view.places is not None:
            features = features.flatten(0, 1).index_select(0, view.places)
        return features @ model.swap_head.weight.T

    def lesson(self, expert):
        tokens = expert.draft
        target = nn.functional.pad(expert.target, (0, tokens.size(1)), value=expert.pad)
        target = target[:, : tokens.size(1)]
        crossed = tokens[:, :-1].eq(target[:, 1:]) & tokens[:, 1:].eq(target[:, :-1])
        swapped = nn.functional.pad(crossed & tokens[:, :-1].ne(target[:, :-1]), (0, 1))
        places = true_places(expert.inner(tokens))
        return Lesson(View(tokens, places), swapped.flatten().index_select(0, places).long())

    def decide(self, decoding, step):
        state = decoding.state
        inner = decoding.inner(state.tokens)
        wanted = decoding.logits(self).argmax(2).bool() & inner
        wanted[:, :-1] &= inner[:, 1:]
        places = torch.arange(wanted.size(1)).expand_as(wanted).clone()
        for place in range(1, wanted.size(1) - 1):
            wanted[:, place] &= ~wanted[:, place - 1]
        places += wanted.long()
        places[:, 1:] -= wanted[:, :-1].long()
        return Decision(places, state.lengths, moves=wanted.any(1))

    def outcome(self, state, decision):
        return state.tokens.gather(1, decision.action)

    def act(self, decoding, decision):
        decoding.state.move(lambda values, fill: values.gather(1, decision.action))

    def rest(self, logits, inner, real):
        return logits.log_softmax(2)[..., 0].masked_fill(~inner, 0.0).sum(1)


TASK = tiny.task()
ROWS = [
    tiny.Triple(target, target, draft)
    for target, draft in [("abc", "bac"), ("ef", "fe"), ("gcab", "cgba"), ("hd", "hd")]
]
#: what is right already stays so
LEARNT = ROWS + [row._replace(draft=row.target) for row in ROWS]
CRITERION = EditPolicyLoss(TASK, EditPolicyLossConfig())


def trained(names: str, updates: int) -> tuple[Any, list[float], dict[str, Any]]:
    """A model that has learnt the rows; its losses, and what was logged last."""
    model = tiny.model(TASK, edit_operations=names, **WIDE).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, updates)
    losses = []
    for update in range(updates):
        sample = TASK.with_expert(tiny.batch(TASK, LEARNT), update, (1.0, 0.0))
        loss, _, log = CRITERION(model, sample)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
    return model.eval(), losses, log


@pytest.fixture(scope="module")
def learnt() -> tuple[Any, list[float], dict[str, Any]]:
    return trained(ALONE, 120)


def edited(model: Any, **options: Any) -> list[list[dict[str, Any]]]:
    refinement = RefinementOptions(**{"retain_history": True, "max_len_b": 12, **options})
    generator = RefinementGenerator(TASK.target_dictionary, TASK.placeholder, refinement)
    return generator.generate([model], tiny.batch(TASK, ROWS))


def letters(tokens: Tensor) -> str:
    return tiny.letters(tokens, TASK.target_dictionary)


def test_it_is_learnt_and_logged_by_its_name(learnt):
    model, losses, log = learnt
    assert losses[-1] < losses[0] / 4
    assert log["swap_count"] == sum(len(row.draft) for row in LEARNT)
    assert {"swap_head.weight", "placeholder_head.weight"} <= model.state_dict().keys()
    assert "deletion_head.weight" not in model.state_dict()
    with metrics.aggregate() as shown:
        EditPolicyLoss.reduce_metrics([log])
    assert shown["swp_acc"].avg > 95 and "del_acc" not in shown


def test_it_is_decoded(learnt):
    for (hypothesis,), row in zip(edited(learnt[0]), ROWS, strict=True):
        assert letters(hypothesis["tokens"]) == row.target
        assert hypothesis["terminated"] == "unchanged"
        assert hypothesis["steps"] == (row.draft != row.target)
        order = [row.draft.index(letter) + 1 for letter in row.target]
        assert hypothesis["origin"].tolist() == [0, *order, len(order) + 1]


def test_it_is_traced_as_tokens_that_move(learnt):
    for (hypothesis,), row in zip(edited(learnt[0])[:-1], ROWS[:-1], strict=True):
        tokens = tiny.sentence(row.draft, TASK.target_dictionary)
        coded = Draft(tokens, torch.zeros_like(tokens))
        sentence = Sentence(row.source, row.draft, row.draft, tokens, coded, TASK.tgt_dict)
        trace = sentence.trace(row.target, hypothesis)
        net = trace.net()
        assert "".join(net.after) == row.target and "".join(net.before) == row.draft
        assert [row.draft[place] for place in net.origins] == list(row.target)
        assert not any(net.deleted + net.inserted), "nothing is gone, nothing is new"
        assert net.changed
        shown = {kind: [token for mark, token in net.merged() if mark == kind]
                 for kind in ("kept", "deleted", "inserted")}  # fmt: skip
        assert sorted(shown["deleted"]) == sorted(shown["inserted"]) != []
        assert "".join(token for mark, token in net.merged() if mark != "deleted") == row.target
        assert "origins" in net.to_dict()


def test_candidates_are_rated_with_it(learnt):
    for group in edited(learnt[0], candidates=3, nbest=2, noise_scale=0.1):
        assert all(hypothesis["score"] <= 0 for hypothesis in group)


def test_it_stands_beside_deletion():
    model, losses, log = trained(BEHIND_DELETION, 3)
    assert log["swap_count"] and log["deletion_count"]
    names = [step["phase"] for step in edited(model, adaptive=False, max_iter=2)[0][0]["history"]]
    assert names == ["draft", *["deletion", "swap", "placeholder", "token"] * 2]


@pytest.mark.parametrize("names", [ALONE, BEHIND_DELETION])
def test_a_trace_of_deletions_is_refused_where_deletion_does_not_come_last(names):
    """Insertion would read tokens as they stood before the other revision."""
    with refuses("--deletion-trace"):
        tiny.model(TASK, edit_operations=names, deletion_trace=True)


@edit_operation("restart")
class Restart(Swap):
    """One whose expert keeps nothing of a draft."""

    @staticmethod
    def align(draft, target, pad):
        return tuple(side.eq(0) | side.eq(2) for side in (draft, target))


def test_the_first_revision_says_what_stands_where_insertion_is_learnt():
    task = tiny.task()
    cfg = LevenshteinEditorConfig(**tiny.SIZES, edit_operations="restart,insert,fill")
    cfg._name = "levenshtein_editor"
    task.build_model(OmegaConf.structured(cfg))
    before = task.with_expert(tiny.batch(task, ROWS), 1, (0.5, 1.0))["expert"].insertion.before
    assert {letters(row) for row in before} == {""}
    cfg.edit_operations = "delete,insert,fill"
    task.build_model(OmegaConf.structured(cfg))
    before = task.with_expert(tiny.batch(task, ROWS), 1, (0.5, 1.0))["expert"].insertion.before
    assert letters(before[3]) == "hd"


def test_models_of_other_operations_form_no_ensemble(learnt):
    other = tiny.model(TASK).eval()
    generator = RefinementGenerator(TASK.target_dictionary, TASK.placeholder, RefinementOptions())
    with refuses("--edit-operations"):
        generator.generate([learnt[0], other], tiny.batch(TASK, ROWS))


def test_stocks_rules_are_for_its_operations(learnt):
    with refuses("--stock-decoding"):
        edited(learnt[0], stock=True)


@pytest.mark.parametrize(
    "names",
    ["", "delete", "delete,fill,insert", "insert,delete,fill", "delete,insert",
     "replace,insert,fill", "delete,delete,insert,fill", "insert,insert,fill",
     "delete, insert,fill"],
)  # fmt: skip
def test_lists_that_do_not_work_are_refused_in_one_line(names):
    with refuses(f"--edit-operations {names}"):
        edit_operations(names)


def test_a_list_without_revisions_writes_from_nothing():
    model = tiny.sharpen(tiny.model(TASK, edit_operations="insert,fill"), 2.0).eval()
    CRITERION(model, TASK.with_expert(tiny.batch(TASK, ROWS), 1, (0.5, 0.5)))[0].backward()
    for (hypothesis,) in edited(model):
        phases = {step["phase"] for step in hypothesis["history"]}
        assert phases <= {"draft", "placeholder", "token"}


def test_models_of_earlier_versions_delete_insert_and_fill():
    names = [operation.name for operation in edit_operations()]
    assert names == ["deletion", "placeholder", "token"]
    assert LevenshteinEditorConfig().edit_operations == "delete,insert,fill"
