"""Edit models as correctors: their outputs, and edits with the probabilities of their traces."""

import math

import editors
import pytest
import tiny
import torch
from closeness import near
from hypothesis import given
from hypothesis import strategies as st

from lev_correct.edits import apply_edits
from lev_correct.models.editor import LevenshteinBackend, rewriting, trace_edits
from lev_plugins.inference.text_processing import TextProcessing
from lev_runtime.history import EditTrace, Iteration

ONE = editors.edit_corrector(max_iter=1).backend
TASK, MODEL = ONE.editor.task, ONE.editor.models[0]


@torch.no_grad()
def by_hand(word):
    """The probability of all that one iteration takes away and writes, and its outcome."""
    tokens = torch.tensor([[0, *(TASK.tgt_dict.index(letter) for letter in word), 2]])
    memory = MODEL.encode(tokens)
    logits = tiny.logits(MODEL, "deletion", tokens, memory).log_softmax(-1)[0]
    total, stays = 0.0, [0]
    for place in range(1, tokens.size(1) - 1):
        if logits[place, 1] > math.log(0.5):
            total += float(logits[place, 1])
        else:
            stays.append(place)
    tokens = tokens[:, [*stays, tokens.size(1) - 1]]
    sizes = tiny.logits(MODEL, "placeholder", tokens, memory)[0]
    opened = [0]
    for slot, token in enumerate(tokens[0, 1:].tolist()):
        opened += [TASK.placeholder] * int(sizes[slot].argmax()) + [token]
    tokens = torch.tensor([opened])
    where = tokens == TASK.placeholder
    if where.any():
        written = tiny.logits(MODEL, "token", tokens, memory, where)
        never = [0, 1, 2, TASK.placeholder]
        best = written.index_fill(1, torch.tensor(never), float("-inf")).log_softmax(-1).max(-1)
        total += float(best.values.sum())
        tokens[where] = best.indices
    return math.exp(total), tokens[0, 1:-1].tolist()


@pytest.mark.parametrize("word", ["abc", "hgf", "aabbcc", "d", "fade", "bead"])
def test_a_probability_is_the_product_over_deletions_and_tokens_written(word):
    (answer,) = ONE.write([word], 1)
    sure, numbers = by_hand(word)
    unknown = TASK.tgt_dict.unk()
    written = "".join("\ufffd" if n == unknown else TASK.tgt_dict[n] for n in numbers)
    (edit,) = answer or {None: 1.0}
    assert (word if edit is None else " ".join(edit.words)) == written
    assert edit is None or answer[edit] == pytest.approx(sure, abs=1e-4)


def test_a_unit_longer_than_it_was_still_fits():
    assert ONE.limit == 51  # of 64 positions, with room for a longer correction
    short = editors.editor(characters=True, max_source_positions=20)
    assert LevenshteinBackend(short, knows_spaces=True).limit == 18  # between <s> and </s>
    (answer,) = ONE.write(["abcdefgh" * 6], 1)
    assert answer is not None


# traces -----------------------------------------------------------------------------------------


def test_a_token_is_followed_through_all_iterations():
    # 5 6 7 → 5 8 9, then 8 goes again
    first = Iteration(
        tuple("567"), (False, True, True), tuple("589"), (False, True, True),
        (0.0, 0.9, 0.8), (0.9, 0.5, 0.6),
    )  # fmt: skip
    second = Iteration(
        tuple("589"), (False, True, False), tuple("59"), (False, False), (0.0, 0.7, 0.1), (0.9, 0.9)
    )
    rewritten = rewriting(EditTrace("s", "5 6 7", "5 9", -1.0, (first, second), "loop"), "9")
    assert rewritten.unit == tuple("567") and rewritten.written == ["5", None]
    assert rewritten.gone == [None, near(math.log(0.9)), near(math.log(0.8))]
    assert rewritten.come == [None, near(math.log(0.6))]


EDITORS = {kind: editors.editor(characters=kind, max_insertions=1) for kind in (False, True)}


@given(st.lists(st.text("abcdeé", min_size=1, max_size=3), max_size=6), st.booleans())
def test_edits_of_any_model_lead_from_the_draft_to_the_text(words, characters):
    of = EDITORS[characters]
    draft = "  ".join(words)
    assert trace_edits(EditTrace("s", None, "a", 0.0, (), "loop"), TextProcessing()) == []
    (trace,) = of.edit(["a b"], [draft], max_iter=3)
    edits = trace_edits(trace, TextProcessing(of.tokenizer, of.bpe))
    assert apply_edits(draft, edits).split() == trace.text.split()
    assert all(edit.end <= other.offset for edit, other in zip(edits, edits[1:]))
    assert all(0 <= edit.probability <= 1 for edit in edits)
