"""Sources, targets and drafts stay together, whatever fairseq does to the order of a batch."""

import numpy as np
import pytest
import tiny
import torch
from fairseq.data import LanguagePairDataset

from lev_plugins.data.edit_dataset import EditDataset

SYMBOLS = tiny.dictionary()
ROWS = tiny.triples(21, seed=5)


def side(texts: list[str]) -> list[torch.Tensor]:
    return [tiny.sentence(text, SYMBOLS) for text in texts]


def sizes(tokens: list[torch.Tensor]) -> list[int]:
    return [len(row) for row in tokens]


def data_set(rows=ROWS, targets: bool = True, drafts: bool = True, **options) -> EditDataset:
    source, target = side([r.source for r in rows]), side([r.target for r in rows])
    draft = side([r.draft for r in rows])
    return EditDataset(
        source,
        sizes(source),
        SYMBOLS,
        target if targets else None,
        sizes(target) if targets else None,
        SYMBOLS,
        draft=draft if drafts else None,
        draft_sizes=sizes(draft) if drafts else None,
        **options,
    )


def collate(data, indices=None):
    return data.collater([data[i] for i in (range(len(data)) if indices is None else indices)])


def test_every_draft_stays_beside_its_source_and_target():
    batch = collate(data_set())
    lengths = batch["net_input"]["src_lengths"].tolist()
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > lengths[-1]
    for i, number in enumerate(batch["id"].tolist()):
        row = ROWS[number]
        assert tiny.letters(batch["net_input"]["src_tokens"][i], SYMBOLS) == row.source
        assert tiny.letters(batch["target"][i], SYMBOLS) == row.target
        assert tiny.letters(batch["draft"][i], SYMBOLS) == row.draft


def test_drafts_are_padded_on_the_right_and_sources_as_asked_for():
    for left in (True, False):
        batch = collate(data_set(left_pad_source=left))
        assert batch["draft"][:, 0].eq(SYMBOLS.bos()).all()
        assert batch["target"][:, 0].eq(SYMBOLS.bos()).all()
        edge = batch["net_input"]["src_tokens"][:, -1 if left else 0]
        assert edge.eq(SYMBOLS.eos() if left else SYMBOLS.bos()).all()
        assert batch["draft"].size(1) == max(len(row.draft) for row in ROWS) + 2


def test_without_drafts_a_batch_is_fairseqs():
    source, target = side([r.source for r in ROWS]), side([r.target for r in ROWS])
    both = (source, sizes(source), SYMBOLS, target, sizes(target), SYMBOLS)
    theirs = collate(LanguagePairDataset(*both, input_feeding=False))
    ours = collate(data_set(drafts=False))
    assert ours.keys() == theirs.keys()
    assert "draft" not in ours and "prev_output_tokens" not in ours["net_input"]
    assert torch.equal(ours["target"], theirs["target"])
    assert torch.equal(ours["id"], theirs["id"])
    assert ours["ntokens"] == theirs["ntokens"] == sum(len(row.target) + 2 for row in ROWS)
    for name, value in theirs["net_input"].items():
        assert torch.equal(ours["net_input"][name], value)


def test_interactive_data_hand_their_drafts_and_marks_out_as_constraints():
    marks = [torch.arange(len(row.draft) + 2) + i for i, row in enumerate(ROWS)]
    batch = collate(data_set(targets=False, marks=marks))
    assert batch["target"] is None
    drafts, marked = batch["constraints"].unbind(1)
    assert torch.equal(drafts, batch["draft"]) and torch.equal(marked, batch["marks"])
    for i, number in enumerate(batch["id"].tolist()):
        size = len(marks[number])
        assert torch.equal(marked[i, :size], marks[number]) and not marked[i, size:].any()
    assert "constraints" not in collate(data_set()) and data_set().collater([]) == {}


def test_a_sentence_counts_as_long_as_its_longest_side():
    data = data_set()
    longest = [max(map(len, row)) + 2 for row in ROWS]
    assert any(len(row.draft) > max(len(row.source), len(row.target)) for row in ROWS)
    assert data.num_tokens_vec(np.arange(len(ROWS))).tolist() == longest
    assert data.size(0) == tuple(len(part) + 2 for part in ROWS[0])
    assert len(data_set(drafts=False).size(0)) == 2


@pytest.mark.parametrize("limit", [6, (6, 7), (100, 5), None])
def test_sources_targets_and_drafts_are_held_to_their_limits(limit):
    kept, ignored = data_set().filter_indices_by_size(np.arange(len(ROWS)), limit)
    source, target = (limit, limit) if not isinstance(limit, tuple) else limit
    fits = [
        limit is None
        or len(row.source) + 2 <= source
        and max(len(row.target), len(row.draft)) + 2 <= target
        for row in ROWS
    ]
    assert kept.tolist() == [i for i, fit in enumerate(fits) if fit]
    assert sorted(ignored) == [i for i, fit in enumerate(fits) if not fit]
    assert limit is None or (any(fits) and not all(fits))
