"""Tasks of fairseq's own lose no sentence either."""

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary, FairseqDataset, LanguagePairDataset
from pbd_corpus import STOCK, Corrector, prepared

import lev_plugins  # noqa: F401  (patches fairseq)
from lev_plugins import fairseq_patches as patches


@pytest.fixture(scope="module")
def stock(commands, tmp_path_factory) -> Corrector:
    """fairseq's own Transformer, trained by its own task."""
    made = prepared(commands, tmp_path_factory.mktemp("stock_batches"))
    flags = "--max-update 1 --disable-validation --save-dir trained"
    made.done(made.train(flags, STOCK))
    return made


def pairs(count):
    symbols = Dictionary()
    rows = [torch.tensor([symbols.eos()])] * count
    return LanguagePairDataset(rows, np.ones(count, np.int64), symbols, shuffle=False)


def batched(count, **limits):
    data = pairs(count)
    batches = data.batch_by_size(data.ordered_indices(), **limits)
    assert [len(batch) for batch in batches].count(0) == 0
    return [int(index) for batch in batches for index in batch]


@pytest.mark.parametrize("count", [1, 3, 8, 11, 16, 29])
@pytest.mark.parametrize("limits", [{"max_sentences": 4}, {"max_tokens": 10}, {}])
def test_a_data_set_of_fairseqs_own_is_batched_whole(count, limits):
    assert batched(count, required_batch_size_multiple=8, **limits) == list(range(count))
    assert batched(count, **limits) == list(range(count))


def test_no_sentence_makes_no_batch():
    assert batched(0, required_batch_size_multiple=8, max_sentences=4) == []


def test_nothing_to_train_on_is_said(monkeypatch):
    monkeypatch.setattr("sys.argv", ["fairseq-train"])
    with pytest.raises(lev_plugins.errors.UserError, match="has no sentence, or none within"):
        batched(0, required_batch_size_multiple=8)


def test_fairseq_still_drops_its_last_batch():
    """Once this fails ``keep_last_batch`` can go."""
    stock = FairseqDataset.batch_by_size.__wrapped__
    data = pairs(11)
    kept = stock(data, data.ordered_indices(), max_sentences=4, required_batch_size_multiple=8)
    assert sum(map(len, kept)) == 8


def test_a_data_set_may_be_patched_twice():
    """As by a copy of the package under another name."""
    before = FairseqDataset.batch_by_size
    try:
        patches.keep_last_batch()
        assert batched(11, max_sentences=4, required_batch_size_multiple=8) == list(range(11))
    finally:
        FairseqDataset.batch_by_size = before


@pytest.mark.parametrize(("subset", "count"), [("test1", 3), ("test", 11)])
def test_generate_prints_every_sentence(stock, subset, count):
    result = stock.done(stock.generate(f"--gen-subset {subset} --max-len-b 5"))
    assert sorted(result.lines("H")) == list(range(count)) == sorted(result.lines("T"))
    assert f"Translated {count} sentences" in result.out + result.err


def test_validate_counts_every_sentence(stock):
    """Three sentences, of which fairseq alone would count none."""
    result = stock.done(
        f"fairseq-validate {stock.data} --path {stock.checkpoint} --valid-subset test1 "
        "--batch-size 8"
    )
    assert "| bsz 3\n" in result.out + result.err
