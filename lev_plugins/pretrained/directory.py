"""A pre-trained model's local folder: its settings and its weights.

Nothing is fetched, and no code that lies there runs: settings are JSON, weights are safetensors or
a pickle of plain data.
"""

import importlib
import json
import os
from collections.abc import Mapping
from functools import cached_property
from glob import glob
from types import ModuleType
from typing import Any

from torch import Tensor

from lev_runtime.errors import UserError, require_extra

from ..fairseq_patches.checkpoints import read_checkpoint

#: ``model_type`` → which of our kinds it is
KINDS = {"bert": "bert", "bart": "bart", "t5": "t5", "mt5": "t5"}
CONFIG = "config.json"
#: files of weights; the first of them that are there are read
SAFETENSORS, PICKLE = "model.safetensors", "pytorch_model.bin"
WEIGHTS = (SAFETENSORS, "model-*-of-*.safetensors", PICKLE, "pytorch_model-*-of-*.bin")
#: what larger models put before the names of the one inside
OUTER_NAMES = ("bert.", "model.", "transformer.")
#: field of ours → its name in config.json, and its value where that does not say it
Sizes = Mapping[str, tuple[str, Any]]
#: parts of names in the oldest BERTs → today's
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def optional_library(name: str, purpose: str) -> ModuleType:
    """Returns a library that only pre-trained models need; raises :class:`UserError` without it."""
    require_extra("pretrained", what=purpose, modules=[name])
    return importlib.import_module(name)


class Directory:
    """A folder with a pre-trained model. What it lacks or cannot be read raises UserError."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not self.has(CONFIG):
            problem = f"no {CONFIG} in it" if os.path.isdir(path) else "no such folder"
            raise UserError(
                f"{path}: {problem}; a pre-trained model is a local folder with {CONFIG}, "
                f"{SAFETENSORS} and the tokenizer's files (nothing is downloaded)"
            )

    def has(self, name: str) -> bool:
        """Returns whether a file is there."""
        return os.path.isfile(self.file(name))

    def file(self, name: str) -> str:
        """Returns the path of a file."""
        return os.path.join(self.path, name)

    def read_json(self, name: str, purpose: str) -> dict[str, Any]:
        """Returns the settings in a file."""
        try:
            with open(self.file(name), encoding="utf-8") as file:
                values = json.load(file)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{self.path}: {name}, its {purpose}, cannot be read: {error}"
            ) from None
        if not isinstance(values, dict):
            raise UserError(f"{self.path}: {name} holds no {purpose} but a {type(values).__name__}")
        return values

    @cached_property
    def config(self) -> dict[str, Any]:
        """Returns the settings of the model."""
        return self.read_json(CONFIG, "configuration")

    @cached_property
    def model_type(self) -> str:
        """Returns one of :data:`KINDS`."""
        model_type = self.config.get("model_type")
        if not isinstance(model_type, str) or model_type not in KINDS:
            known = ", ".join(KINDS)
            raise UserError(f"{self.path}: model_type is {model_type!r:.80}; known: {known}")
        return model_type

    @property
    def kind(self) -> str:
        """Returns bert, bart or t5."""
        return KINDS[self.model_type]

    def sizes(self, table: Sizes) -> dict[str, Any]:
        """Returns the configuration's values of a table, of the types of their defaults."""
        values = {}
        for field, (name, default) in table.items():
            value: Any = self.config.get(name, default)
            values[field] = value
            expected = type(default)
            has_type = type(value) is expected or (type(value) is int and expected is float)
            is_too_small = has_type and expected is int and value < 1
            if not has_type or is_too_small:
                raise UserError(
                    f"{self.path}: {CONFIG}: {name} is {value!r:.80}; expected a value such "
                    f"as {default!r}"
                )
        return values

    def weights(self) -> dict[str, Tensor]:
        """Returns the tensors, by the names that they have in their own model today."""
        for pattern in WEIGHTS:
            files = sorted(glob(pattern, root_dir=self.path))
            if files:
                break
        else:
            raise UserError(f"{self.path}: has no weights ({SAFETENSORS} or {PICKLE})")
        tensors = {}
        for file in files:
            for name, tensor in _read_tensors(self.file(file)).items():
                tensors[_todays_name(name)] = tensor
        return tensors


def _read_tensors(path: str) -> Mapping[str, Tensor]:
    if path.endswith(".bin"):
        stored: Any = read_checkpoint(path)
        return stored  # type: ignore[no-any-return]
    library = optional_library("safetensors.torch", f"{path}: reading it")
    try:
        return library.load_file(path)  # type: ignore[no-any-return]
    except Exception as error:  # the library's own class is no more special
        message = f"damaged or cut short ({error!s:.200}); copy it again"
        raise UserError(f"{path}: {message}") from None


def _todays_name(name: str) -> str:
    for outer in OUTER_NAMES:
        if name.startswith(outer):
            name = name.removeprefix(outer)
            break
    for old, new in OLD_NAMES.items():
        name = name.replace(old, new)
    return name
