"""A model's directory as Hugging Face writes it, read without their library and without network.

``config.json``; ``model.safetensors`` or ``pytorch_model.bin``, whole or in shards with an index;
the tokenizer's files. Nothing of it is trusted: what is missing, cut short or of another shape
ends in one :class:`UserError` that names the file.
"""

import importlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from ..errors import UserError
from ..fairseq_patches import read_checkpoint

Shape = tuple[int, ...]
CONFIG = "config.json"
SAFETENSORS, PICKLE = "model.safetensors", "pytorch_model.bin"
INDEX = ".index.json"
# a tokenizer for a hundred languages takes some 35 MB
LARGEST_JSON = 512 * 2**20
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def optional_library(name: str, purpose: str) -> ModuleType:
    """A library that only pre-trained models need.

    Raises:
        UserError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserError(
            f"{purpose} needs the library {name}: pip install 'lev_plugins[pretrained]'"
        ) from error


class Directory:
    """A folder with a pre-trained model.

    Raises:
        UserError: no such folder, or no configuration in it that can be read.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise UserError(
                f"{path}: no such folder; a pre-trained model is a local folder with {CONFIG}, "
                f"{SAFETENSORS} and the tokenizer's files (nothing is downloaded)"
            )
        if not self.has(CONFIG):
            raise UserError(f"{path}: no {CONFIG} in it; is this the model's folder?")
        self.config = Config(str(self.path / CONFIG), self.json(CONFIG))

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.path / name).is_file()

    def file(self, name: str) -> str:
        """The path of a file."""
        return str(self.path / name)

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file.

        Raises:
            UserError: it cannot be read, or is something else.
        """
        path = self.file(name)
        try:
            if os.path.getsize(path) > LARGEST_JSON:
                raise UserError(f"{path}: too large for such a file")
            with open(path, encoding="utf-8") as stream:
                found = json.load(stream)
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from error
        except (ValueError, RecursionError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"{path}: not valid JSON ({error}); copy it again") from error
        if not isinstance(found, dict):
            raise UserError(f"{path}: holds no JSON object; copy it again")
        return found

    def optional_json(self, name: str) -> dict[str, Any]:
        """:meth:`json`, or an empty object where there is no such file."""
        return self.json(name) if self.has(name) else {}

    def weights(self) -> "Weights":
        """The tensors; safetensors come first where there are both.

        Raises:
            UserError: there are none, or a file is broken.
        """
        for name, opened in ((SAFETENSORS, _safetensors), (PICKLE, _pickle)):
            if self.has(name):
                return Weights(opened(self.file(name)))
            if self.has(name + INDEX):
                return Weights(self._shards(name + INDEX, opened))
        raise UserError(
            f"{self.path}: no weights in it: {SAFETENSORS} or {PICKLE}, whole or with {INDEX}"
        )

    def _shards(self, index: str, opened: "Callable[[str], dict[str, _Stored]]") -> "Stored":
        """The tensors of several files, by the index that says which is where."""
        path, places = self.file(index), self.json(index).get("weight_map")
        if not isinstance(places, dict) or not places:
            raise UserError(f"{path}: no weight_map in it; copy it again")
        shards: dict[str, dict[str, _Stored]] = {}
        stored = {}
        for tensor, name in places.items():
            # a name that leads out of the folder is no shard's
            if not isinstance(name, str) or os.path.basename(name) != name or not self.has(name):
                raise UserError(f"{path}: {tensor} is said to be in {name!r}, which is not there")
            if name not in shards:
                shards[name] = opened(self.file(name))
            if tensor not in shards[name]:
                raise UserError(f"{self.file(name)}: lacks {tensor}, which {index} promises")
            stored[tensor] = shards[name][tensor]
        return stored


class _Stored:
    """A tensor in a file: where, its shape, and how to read it."""

    def __init__(self, file: str, shape: Iterable[int], read: Callable[[], Tensor]) -> None:
        self.file, self.shape, self.read = file, tuple(shape), read


Stored = dict[str, _Stored]


def _safetensors(path: str) -> Stored:
    library = optional_library("safetensors", f"{path}: reading it")
    try:
        with open(path, "rb"):  # the library says of whatever it may not read that it is not there
            pass
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        file = library.safe_open(path, framework="pt")
        return {
            name: _Stored(path, file.get_slice(name).get_shape(), partial(file.get_tensor, name))
            for name in file.keys()
        }
    except (library.SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{path}: damaged or cut short ({error}); copy it again") from error


def _pickle(path: str) -> Stored:
    found = read_checkpoint(path)
    if not isinstance(found, dict):
        raise UserError(f"{path}: holds a {type(found).__name__}, not tensors by name")
    return {
        str(name): _Stored(path, value.shape, value.detach)
        for name, value in found.items()
        if isinstance(value, Tensor)
    }


class Weights:
    """Tensors by name."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self.file = next((one.file for one in stored.values()), "")

    def __contains__(self, name: str) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def renamed(self, rename: Callable[[str], str]) -> "Weights":
        """The same under other names."""
        found = {rename(name): one for name, one in self._stored.items()}
        if len(found) != len(self._stored):
            raise UserError(f"{self.file}: holds one model's tensors twice, under two names")
        return Weights(found)

    def shape(self, name: str) -> Shape:
        """A tensor's shape, without reading it.

        Raises:
            UserError: there is no such tensor.
        """
        if name not in self._stored:
            raise UserError(f"{self.file}: the tensor {name} is missing")
        return self._stored[name].shape

    def expect(self, name: str, *shape: int) -> None:
        """Raises :class:`UserError` unless there is a tensor of that name and shape."""
        if self.shape(name) != shape:
            raise UserError(
                f"{self._stored[name].file}: {name} is {self.shape(name)} and should be {shape} "
                f"after {CONFIG}"
            )

    def tensor(self, name: str) -> Tensor:
        """A tensor in single precision, whatever it was stored in.

        Raises:
            UserError: there is none, it cannot be read, or holds no finite numbers.
        """
        shape = self.shape(name)
        stored = self._stored[name]
        try:
            found = stored.read()
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(f"{stored.file}: {name} cannot be read ({error})") from error
        except Exception as error:  # safetensors' own error is no subclass of any of these
            if type(error).__name__ != "SafetensorError":
                raise
            raise UserError(f"{stored.file}: {name} cannot be read ({error})") from error
        if found.dtype not in FLOATS:
            raise UserError(f"{stored.file}: {name} holds {found.dtype}, not floating point")
        found = found.float()
        if tuple(found.shape) != shape or not bool(found.isfinite().all()):
            raise UserError(f"{stored.file}: {name} holds numbers that are not finite")
        return found


class Config:
    """What ``config.json`` says, with the types that are expected; ``path``: for the errors."""

    def __init__(self, path: str, values: dict[str, Any]) -> None:
        self.path, self.values = path, values

    @property
    def kind(self) -> str:
        """``model_type``: bert, bart, t5 …"""
        return self.text("model_type", "")

    def count(self, name: str, default: int | None = None, most: int = 2**24) -> int:
        """A whole number of one or more."""
        return self._value(name, default, {int}, f"a number from 1 to {most}", 1, most)

    def number(self, name: str, default: float) -> float:
        """A number that is not negative."""
        return float(self._value(name, default, {int, float}, "a number from 0 up", 0, 1e9))

    def flag(self, name: str, default: bool) -> bool:
        """Yes or no."""
        return self._value(name, default, {bool}, "true or false")

    def text(self, name: str, default: str) -> str:
        """A word."""
        return self._value(name, default, {str}, "a text")

    def one_of(self, name: str, default: str, choices: Iterable[str]) -> str:
        """A word out of a few."""
        value, known = self.text(name, default), list(choices)
        if value not in known:
            raise UserError(f"{self.path}: {name} is {value!r}; known are {', '.join(known)}")
        return value

    def _value(
        self,
        name: str,
        default: Any,
        kinds: set[type],
        what: str,
        least: float | None = None,
        most: float = 0,
    ) -> Any:
        value = self.values.get(name)
        if value is None:
            value = default
        if value is None:
            raise UserError(f"{self.path}: {name} is missing; copy the file again")
        if type(value) not in kinds or (least is not None and not least <= value <= most):
            raise UserError(f"{self.path}: {name} is {value!r}, not {what}")
        return value


def few(names: Sequence[str], most: int, between: str = ", ") -> str:
    """The first of many names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{between.join(names[:most])}{more}"
