"""Edit models as correctors: their outputs, and edits with the probabilities of their traces."""

import editors
from hypothesis import given
from hypothesis import strategies as st

from lev_correct.lines import apply_edits
from lev_correct.propose.editor import LevenshteinBackend, trace_edits
from lev_correct.text.units import ModelUnit
from lev_plugins.inference.text_processing import TextProcessing
from lev_runtime.history import EditTrace

ONE = editors.edit_corrector(max_iter=1).backend


def test_a_unit_longer_than_it_was_still_fits():
    assert ONE.limit == 51  # of 64 positions, with room for a longer correction
    short = editors.editor(characters=True, max_source_positions=20)
    assert LevenshteinBackend(short, knows_spaces=True).limit == 18  # between <s> and </s>
    (answer,) = ONE.write([ModelUnit(0, 0, "abcdefgh" * 6)], 1)
    assert answer is not None


# traces -----------------------------------------------------------------------------------------


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
