"""Lists of words in a form that loads at once: arrays in a file of numpy's (npz)."""

import io
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from lev_runtime.errors import UserError
from lev_runtime.io.output import whole_file
from lev_runtime.io.text_files import reading

#: the first bytes of an npz file
ZIP = b"PK\x03\x04"
#: of files that are no npz, cut short or damaged
_FAULTS = (KeyError, ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
Arrays = Mapping[str, np.ndarray]


def read_arrays(path: str, names: Iterable[str], optional: Iterable[str] = ()) -> Arrays | None:
    """The arrays of a prepared list; None for a file of another form.

    Args:
        optional: names of arrays that older lists have not got.

    Raises:
        UserError: the file cannot be read, is damaged, or lacks one of the ``names``.
    """
    if not os.path.isfile(path):  # a pipe is read once
        return None
    with reading(path), open(path, "rb") as file:
        if file.read(len(ZIP)) != ZIP:
            return None
        content = ZIP + file.read()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            present = [name for name in optional if name in stored]
            return {name: stored[name] for name in (*names, *present)}
    except _FAULTS as error:
        reason = f"it has no array of {error}" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path} is not a prepared list of this kind ({reason})") from None


def write_arrays(path: str, arrays: Arrays) -> None:
    """Writes a prepared list."""
    with whole_file(path) as file:
        np.savez_compressed(file.buffer, allow_pickle=False, **dict(arrays))


def packed(words: Sequence[str]) -> np.ndarray:
    """Words without line ends as bytes."""
    return np.frombuffer("\n".join(words).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked(text: np.ndarray) -> list[str]:
    """The words of :func:`packed`."""
    words = text.tobytes().decode("utf-8", "surrogatepass")
    return words.split("\n") if words else []


def numbers(values: np.ndarray) -> np.ndarray:
    """Integers of 0 or more, in as few bytes as hold them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def counts_as_arrays(counts: Sequence[float]) -> dict[str, np.ndarray]:
    """Counts of which many are equal."""
    values, places = np.unique(np.array(counts, dtype=np.float64), return_inverse=True)
    return {"counts": values, "count_places": numbers(places)}


def counts_of(arrays: Arrays) -> np.ndarray:
    """The counts of :func:`counts_as_arrays`."""
    return arrays["counts"][arrays["count_places"]]


def user_cache() -> Path:
    """Returns the folder for what is kept for later runs; it may begin with a ~."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "lev_plugins")
