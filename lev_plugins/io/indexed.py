"""Index files of preprocessed text: looked at before they are believed."""

import os
import struct
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UserError
from .patching import Stock, patches

if TYPE_CHECKING:
    from fairseq.data import Dictionary

_MMAP, _OLD = b"MMIDIDX\0\0", b"TNTIDX\0\0"
#: after the name: version, type of the numbers, sentences; and of the old kind version, type,
#: bytes of a number, sentences, sizes
_MMAP_HEAD, _OLD_HEAD = struct.Struct("<9sQBQ"), struct.Struct("<8sQQQQQ")
AGAIN = "damaged, cut short or not from preprocess; copy it again, or run preprocess again"


def check_index_files() -> None:
    """Refuse index files that promise what is not there.

    Fault: fairseq takes every number of an ``.idx`` for what it says, so a damaged one gives
    other sentences in silence, a traceback, or memory for as many sentences as it claims; and a
    damaged ``.bin`` gives symbols that no dictionary has, which a GPU answers with an assertion
    that kills the process.
    """
    from fairseq.data import indexed_dataset

    @patches(indexed_dataset, "make_dataset")
    def make_dataset(
        stock: Stock,
        path: str,
        impl: str,
        fix_lua_indexing: bool = False,
        dictionary: "Dictionary | None" = None,
    ) -> object:
        """fairseq's data set, where its files agree with each other and the dictionary."""
        check = {"mmap": _check_mmap, "lazy": _check_old, "cached": _check_old}.get(impl)
        if check is not None and indexed_dataset.dataset_exists(path, impl):
            check(path, None if dictionary is None else len(dictionary))
        return stock(path, impl, fix_lua_indexing, dictionary)


def _validate(path: str, holds: bool) -> None:
    if not holds:
        raise UserError(f"{path}: {AGAIN}")


def _head(path: str, form: struct.Struct, name: bytes) -> list[int]:
    """The numbers after the name and the version."""
    with open(path, "rb") as file:
        start = file.read(form.size)
    _validate(path, len(start) == form.size)
    found, version, *numbers = form.unpack(start)
    _validate(path, found == name and version == 1)
    return numbers


def _number_type(path: str, code: int) -> np.dtype:
    from fairseq.data.indexed_dataset import _code_to_dtype

    _validate(path, code in _code_to_dtype)
    return np.dtype(_code_to_dtype[code])


def _check_mmap(prefix: str, symbols: int | None) -> None:
    """The files that preprocess writes today, with numbers of symbols (None: of something else)."""
    kind, sizes = read_index(prefix)
    if not sizes.any():  # nothing cannot be mapped
        raise UserError(f"{prefix}: holds no sentence; preprocess a text that has lines")
    if symbols is not None:
        _check_symbols(f"{prefix}.bin", kind, symbols)


def read_index(prefix: str) -> tuple[np.dtype, np.ndarray]:
    """The type of the numbers, and how many each entry has, as ``.bin`` bears out.

    Args:
        prefix: path without ``.idx``.

    Raises:
        UserError: the files are damaged, or do not belong together.
        OSError: one cannot be read.
    """
    path, data = f"{prefix}.idx", f"{prefix}.bin"
    code, count = _head(path, _MMAP_HEAD, _MMAP)
    kind = _number_type(path, code)
    _validate(path, os.path.getsize(path) == _MMAP_HEAD.size + 12 * count)
    sizes = np.fromfile(path, "<i4", count, offset=_MMAP_HEAD.size)
    places = np.fromfile(path, "<i8", count, offset=_MMAP_HEAD.size + 4 * count)
    _validate(path, bool((sizes >= 0).all()))
    ends = sizes.cumsum(dtype=np.int64)
    _validate(path, np.array_equal(places, (ends - sizes) * kind.itemsize))
    total = int(ends[-1]) if count else 0
    _validate(data, os.path.getsize(data) == total * kind.itemsize)
    return kind, sizes


def _check_old(prefix: str, symbols: int | None) -> None:
    """The files that preprocess wrote before, whose symbols count from 1."""
    path, data = f"{prefix}.idx", f"{prefix}.bin"
    code, width, count, listed = _head(path, _OLD_HEAD, _OLD)
    kind = _number_type(path, code)
    room = os.path.getsize(path) - _OLD_HEAD.size
    _validate(path, width > 0 and room == 8 * (2 * (count + 1) + listed))
    numbers = np.fromfile(path, "<i8", offset=_OLD_HEAD.size)
    dims, places, sizes = np.split(numbers, [count + 1, 2 * (count + 1)])
    for ends, last in ((dims, listed), (places, int(places[-1]))):
        _validate(path, ends[0] == 0 and ends[-1] == last and bool((np.diff(ends) >= 0).all()))
    _validate(data, os.path.getsize(data) == int(places[-1]) * width)
    if symbols is not None:  # text: sentences, which have one size each
        _validate(path, listed == count and width == kind.itemsize)
        _validate(path, bool((np.diff(dims) == 1).all()) and np.array_equal(np.diff(places), sizes))
        if places[-1]:
            _check_symbols(data, kind, symbols, first=1)


def _check_symbols(data: str, kind: np.dtype, symbols: int, first: int = 0) -> None:
    """All numbers are symbols of the dictionary, which count from ``first``."""
    _validate(data, np.issubdtype(kind, np.integer))
    numbers = np.memmap(data, kind, "r")
    low, high = int(numbers.min()) - first, int(numbers.max()) - first
    if low < 0 or high >= symbols:
        raise UserError(
            f"{data}: has symbol {high if high >= symbols else low}, and the dictionary has "
            f"{symbols}; it is damaged, or of another dictionary: run preprocess again"
        )
