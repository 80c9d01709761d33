"""The expert's labels of insertions, by the environment, which is that of test_decoding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.ops.edits import Compaction, Opening, insertion_labels

pytestmark = pytest.mark.device

BOS, PAD, EOS, PLH = 0, 1, 2, 99
# of sentences the inner tokens, each with whether it is kept
SENTENCES = st.lists(
    st.lists(st.tuples(st.integers(3, 6), st.booleans()), max_size=7), min_size=1, max_size=5
)


@given(SENTENCES)
def test_insertion_labels_lead_from_what_stands_back_to_the_target(sentences):
    rows = [[(BOS, True), *inner, (EOS, True)] for inner in sentences]
    width = max(map(len, rows))
    sides = torch.tensor([row + [(PAD, False)] * (width - len(row)) for row in rows]).unbind(2)
    tokens, kept = sides[0], sides[1].bool()
    # padding is never missing, whether it is marked as kept or not
    for keep in (kept, kept | tokens.eq(PAD)):
        labels = insertion_labels(tokens, keep, PAD, PLH)
        standing = Compaction(kept)(tokens, PAD)
        assert torch.equal(labels.before[:, : standing.size(1)], standing)
        assert labels.before[:, standing.size(1) :].eq(PAD).all()
        assert torch.equal(labels.slots, labels.before[:, 1:].ne(PAD))
        assert not labels.counts[~labels.slots].any()
        opening = Opening(labels.before.ne(PAD).sum(1), labels.counts)
        opened = opening(labels.before, PLH, PAD)
        assert torch.equal(opened, labels.after[:, : opened.size(1)])
        assert labels.after[:, opened.size(1) :].eq(PAD).all()
        assert torch.equal(labels.after.eq(PLH), labels.missing)
        filled = labels.after.masked_scatter(labels.missing, tokens[labels.missing])
        assert torch.equal(filled, tokens)
