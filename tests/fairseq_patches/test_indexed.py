"""Preprocessed files that are damaged, forged or of other data: noticed before they are used."""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tiny
from damage import refused
from fairseq.data import Dictionary, data_utils, indexed_dataset

from lev_plugins import UserError

LINES = ("abc", "h", "gfedcba", "", "aa")
IMPLS = ("mmap", "cached", "lazy")


def write(prefix: Path, impl: str, symbols: Dictionary, lines: tuple[str, ...] = LINES) -> None:
    """Sentences as fairseq writes them."""
    rows = (tiny.sentence(line, symbols)[1:] for line in lines)
    tiny.write_indexed(prefix, rows, len(symbols), impl)


@pytest.fixture(scope="module")
def symbols() -> Dictionary:
    return tiny.dictionary()


@pytest.fixture(params=IMPLS)
def impl(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def prefix(tmp_path: Path, impl: str, symbols: Dictionary) -> Path:
    path = tmp_path / "train.src-tgt.src"
    write(path, impl, symbols)
    return path


def read(prefix: Path, symbols: Dictionary, impl: str | None = None) -> list[str]:
    """Every sentence of a data set, as letters."""
    found = data_utils.load_indexed_dataset(str(prefix), symbols, impl)
    if getattr(found, "supports_prefetch", False):
        found.prefetch(range(len(found)))
    return [symbols.string(found[i]).replace(" ", "") for i in range(len(found))]


def flipped(content: bytes) -> Iterator[bytes]:
    """The same with one bit flipped, for every bit."""
    for place in range(len(content)):
        for bit in range(8):
            bad = bytearray(content)
            bad[place] ^= 1 << bit
            yield bytes(bad)


def test_what_fairseq_writes_is_read(prefix, impl, symbols):
    assert read(prefix, symbols, impl) == read(prefix, symbols) == list(LINES)
    write(prefix, impl, symbols, ())
    if impl == "mmap":
        assert "holds no sentence" in refused(lambda: read(prefix, symbols, impl))
    else:
        assert read(prefix, symbols, impl) == []


def test_every_flipped_bit_of_an_index_is_noticed(prefix, impl, symbols):
    index = Path(f"{prefix}.idx")
    whole, count = index.read_bytes(), 0
    for bad in flipped(whole):
        index.write_bytes(bad)
        assert str(prefix) in refused(lambda: read(prefix, symbols, impl))
        count += 1
    assert count == 8 * len(whole)


def test_a_flipped_bit_of_the_sentences_is_noticed_or_another_symbol(prefix, impl, symbols):
    data = Path(f"{prefix}.bin")
    whole, found = data.read_bytes(), [0, 0]
    for bad in flipped(whole):
        data.write_bytes(bad)
        try:
            assert len(read(prefix, symbols, impl)) == len(LINES)
            found[0] += 1
        except UserError as error:
            assert str(data) in str(error) and "the dictionary has 12" in str(error)
            found[1] += 1
    assert min(found) > 20


@pytest.mark.parametrize("ending", ["idx", "bin"])
def test_files_cut_short_or_longer_are_refused(prefix, impl, symbols, ending):
    path = Path(f"{prefix}.{ending}")
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert str(prefix) in refused(lambda: read(prefix, symbols, impl))
    path.write_bytes(whole + b"\0")
    assert str(path) in refused(lambda: read(prefix, symbols, impl))


@pytest.mark.parametrize("claimed", [0, 1, 6, 2**20, 2**31, 2**40, 2**61, 2**62, 2**64 - 1])
def test_an_index_that_claims_other_numbers_takes_no_memory(prefix, impl, symbols, claimed):
    index = Path(f"{prefix}.idx")
    whole = bytearray(index.read_bytes())
    places = (18,) if impl == "mmap" else (24, 32, 40)
    for place in places:  # sentences; and of the old kind bytes of a number, and sizes
        bad = whole[:]
        bad[place : place + 8] = struct.pack("<Q", claimed)
        index.write_bytes(bad)
        assert str(prefix) in refused(lambda: read(prefix, symbols, impl))


def test_sizes_that_no_file_has_are_refused(tmp_path, symbols):
    prefix = tmp_path / "a"
    for sizes in ([2**31 - 1] * 4, [-1, 4], [0, 2**31 - 1], [3, 3]):
        write(prefix, "mmap", symbols, ("abc",))
        ends = np.cumsum(sizes, dtype=np.int64)
        index = struct.pack("<9sQBQ", b"MMIDIDX\0\0", 1, 8, len(sizes))
        index += np.array(sizes, "<i4").tobytes() + ((ends - sizes) * 2).astype("<i8").tobytes()
        Path(f"{prefix}.idx").write_bytes(index)
        assert str(prefix) in refused(lambda: read(prefix, symbols))


def test_sentences_of_another_dictionary_are_refused(prefix, impl, symbols):
    fewer = tiny.dictionary("abc")
    said = refused(lambda: read(prefix, fewer, impl))
    assert f"{prefix}.bin: has symbol 11, and the dictionary has 7" in said
    assert "run preprocess again" in said


def test_numbers_that_are_no_symbols_are_left_alone(prefix, impl, symbols):
    found = indexed_dataset.make_dataset(str(prefix), impl)
    assert len(found) == len(LINES)
