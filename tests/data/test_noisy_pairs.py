"""Pairs read from text with noise: lines, what becomes of them in which epoch, and how long."""

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary
from fairseq.data.iterators import EpochBatchIterator

from lev_plugins.data.noise import Noise, sentence_random
from lev_plugins.data.noisy_pairs import NoisyPairs, NoisySide, TextSide

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LINES = ["house " * (i % 7) + LETTERS[i : i + 5] for i in range(20)]


def spell(line: str) -> str:
    return " ".join(line.replace(" ", "_"))


@pytest.fixture
def symbols() -> Dictionary:
    made = Dictionary()
    for letter in LETTERS + LETTERS.upper() + "0123456789!@#$%^&*()_+":
        made.add_symbol(letter)
    return made


@pytest.fixture
def pairs(symbols):
    """Builds pairs of LINES with themselves; options are those of the noisy side."""

    def make(*names, lines=LINES, rates=(0.3, 0.3), run=5, longest=100, truncate=False):
        target = TextSide(lines, spell, symbols)
        clean = TextSide(lines, spell, symbols, target.sizes)
        source = NoisySide(clean, Noise(names, *rates), 1, run, longest, truncate)
        return NoisyPairs(source, symbols, target, symbols)

    return make


def text(tokens: torch.Tensor, symbols: Dictionary) -> str:
    return symbols.string(tokens).replace(" ", "").replace("_", " ")


def test_a_sentence_is_its_line_with_the_noise_of_its_epoch(pairs, symbols):
    made = pairs("keyboard", "delete")
    noise = Noise(("keyboard", "delete"))
    for epoch in (1, 2, 1):
        made.set_epoch(epoch)
        for number in (3, 17, 3):
            item = made[number]
            expected = noise(LINES[number], sentence_random(1, epoch, number, 5))
            assert text(item["source"], symbols) == expected
            assert text(item["target"], symbols) == LINES[number]
            assert item["source"][-1] == symbols.eos()


def read_by(dataset, workers: int, epochs: int, start: int = 1, offset: int = 0) -> list:
    """Sources of all batches, as fairseq's iterator reads them epoch by epoch."""
    batches = dataset.batch_by_size(np.arange(len(dataset)), max_sentences=6)
    dataset.set_epoch(start)
    iterator = EpochBatchIterator(
        dataset,
        dataset.collater,
        batches,
        seed=1,
        num_workers=workers,
        epoch=start,
        reuse_dataloader=True,
        persistent_workers=True,
    )
    if offset:
        state = {"version": 2, "epoch": start, "iterations_in_epoch": offset, "shuffle": True}
        iterator.load_state_dict(state)
    found = []
    for _ in range(epochs):
        for batch in iterator.next_epoch_itr(shuffle=True):
            found.append((batch["id"].tolist(), batch["net_input"]["src_tokens"].tolist()))
    return found


# said by torch on a machine without a GPU
@pytest.mark.filterwarnings("ignore:.*pin_memory:UserWarning")
def test_processes_that_live_for_several_epochs_read_what_one_process_reads(pairs):
    alone = read_by(pairs("keyboard"), workers=0, epochs=3)
    assert read_by(pairs("keyboard"), workers=2, epochs=3) == alone
    first, second = alone[:4], alone[4:8]
    assert sorted(id for ids, _ in first for id in ids) == list(range(20))
    sources = [
        {id: row for ids, rows in epoch for id, row in zip(ids, rows)} for epoch in (first, second)
    ]
    assert sum(sources[0][i] != sources[1][i] for i in range(20)) > 12
    assert read_by(pairs("keyboard"), workers=2, epochs=1, start=2, offset=3) == alone[7:8]


def test_a_line_that_noise_makes_too_long_is_read_without_it(pairs, symbols):
    lines = ["abcdefgh" * 2, "abcdefgh"]
    made = pairs("random", lines=lines, rates=(1.0, 1.0), longest=17)
    seen = set()
    for epoch in range(1, 40):
        made.set_epoch(epoch)
        source = made[0]["source"]
        assert len(source) <= 17
        seen.add(text(source, symbols) == lines[0])
        assert text(made[1]["source"], symbols) != lines[1]
    assert seen == {True, False} and (made.src_sizes <= 17).all()


def test_truncation_is_asked_for_and_keeps_the_end_symbol(pairs, symbols):
    made = pairs("keyboard", lines=["abcdefghijk", "abc"], longest=6, truncate=True)
    assert len(made[0]["source"]) == 6 and made[0]["source"][-1] == symbols.eos()
    assert made.size(0) == (6, 12) and made.size(1) == (4, 4)
    made.limit(5, 100)
    assert len(made[0]["source"]) == 5 and made.size(0) == (5, 12)


def test_limits_are_held_against_the_clean_text(pairs):
    made = pairs("random", rates=(1.0, 1.0))
    made.src.sizes = made.src.sizes + 50
    kept, ignored = made.filter_indices_by_size(np.arange(20), (20, 30))
    assert sorted([*kept, *ignored]) == list(range(20))
    assert all((len(LINES[i]) + 1 <= 20) == (i in kept) for i in range(20))
    # what fits into a batch without noise fits with it, and nobody is left out
    made.limit(1000, 50)
    batches = made.batch_by_size(np.arange(20), max_tokens=50)
    assert sorted(i for batch in batches for i in batch) == list(range(20))


def test_control_symbols_typed_as_text_are_unknown_words(symbols):
    side = TextSide(["a </s> b <pad> <unk>", ""], str, symbols)
    unknown = symbols.unk()
    a, b = symbols.index("a"), symbols.index("b")
    assert side[0].tolist() == [a, unknown, b, unknown, unknown, symbols.eos()]
    assert side[1].tolist() == [symbols.eos()] and side.sizes.tolist() == [6, 1]
    assert side.unknown == 3
