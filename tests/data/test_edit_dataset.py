"""Sources, targets and drafts stay together, whatever fairseq does to the order of a batch."""

import numpy as np
import pytest
import tiny
import torch
from fairseq.data import ListDataset

from lev_plugins.data.edit_dataset import EditDataset
from lev_plugins.ops.alignment import lcs_masks

SYMBOLS = tiny.dictionary()
ROWS = tiny.triples(21, seed=5)
SIDES = [[tiny.sentence(text, SYMBOLS) for text in texts] for texts in zip(*ROWS, strict=True)]
SIZES = [[len(row) for row in side] for side in SIDES]


def listed(rows) -> ListDataset:
    return ListDataset(rows, np.array([*map(len, rows)]))


def data_set(**options) -> EditDataset:
    return EditDataset(*map(listed, SIDES), SYMBOLS, SYMBOLS, **options)


def collate(data):
    return data.collater([data[i] for i in range(len(data))])


@pytest.mark.parametrize("left", [True, False])
def test_every_draft_stays_beside_its_source_and_target(left):
    batch = collate(data_set(left_pad_source=left))
    source, target, draft = batch["net_input"]["src_tokens"], batch["target"], batch["draft"]
    lengths = batch["net_input"]["src_lengths"].tolist()
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > lengths[-1]
    for number, *sides in zip(batch["id"].tolist(), source, target, draft, strict=True):
        assert tuple(tiny.letters(side, SYMBOLS) for side in sides) == ROWS[number]
    for side in (draft, target) if left else (draft, target, source):
        assert side[:, 0].eq(SYMBOLS.bos()).all(), "padded on the right"
    assert not left or source[:, -1].eq(SYMBOLS.eos()).all()
    assert draft.size(1) == max(SIZES[2])


def test_a_sentence_counts_as_long_as_its_longest_side():
    longest = [*map(max, zip(*SIZES))]
    assert longest != [*map(max, zip(*SIZES[:2]))], "some draft is the longest"
    assert data_set().num_tokens_vec(np.arange(len(ROWS))).tolist() == longest


@pytest.mark.parametrize("limit", [6, (6, 7), (100, 5), None])
def test_sources_targets_and_drafts_are_held_to_their_limits(limit):
    kept, ignored = data_set().filter_indices_by_size(np.arange(len(ROWS)), limit)
    source, target = limit if isinstance(limit, tuple) else (limit or 100, limit or 100)
    fits = [a <= source and max(b, c) <= target for a, b, c in zip(*SIZES)]
    assert kept.tolist() == [i for i, fit in enumerate(fits) if fit]
    assert sorted(ignored) == [i for i, fit in enumerate(fits) if not fit]
    assert limit is None or (any(fits) and not all(fits))


@pytest.mark.parametrize("workers", [0, 1])
def test_the_expert_aligns_drafts_and_targets_where_batches_are_made(workers):
    task = tiny.task(required_seq_len_multiple=1)
    task.is_training_run = True
    # rows without <s>, as a folder of data has them
    sides = ([row[1:] for row in side] for side in SIDES)
    data = task.make_dataset(*map(listed, sides), shuffle=True)
    epoch = task.get_batch_iterator(data, max_sentences=6, num_workers=workers, seed=3)
    batches = list(epoch.next_epoch_itr())
    assert sum(len(batch["id"]) for batch in batches) == len(ROWS)
    for batch in batches:
        expected = lcs_masks(batch["draft"], batch["target"], SYMBOLS.pad())
        assert all(map(torch.equal, (batch["draft_kept"], batch["target_kept"]), expected))
