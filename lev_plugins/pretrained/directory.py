"""A pre-trained model's local folder, as Hugging Face writes it: ``transformers`` reads it.

Nothing is fetched, and no code that lies there runs: ``trust_remote_code`` is off, and weights are
safetensors or a pickle of plain data.
"""

import importlib
import os
import re
from collections.abc import Iterator
from functools import cached_property
from glob import glob
from types import ModuleType
from typing import Any

from torch import Tensor

from ..errors import UserError
from ..fairseq_patches.checkpoints import read_checkpoint

#: ``model_type`` → which of our kinds it is
KINDS = {"bert": "bert", "bart": "bart", "t5": "t5", "mt5": "t5"}
CONFIG = "config.json"
#: files of weights; the first of them that are there are read
WEIGHTS = (
    *("model.safetensors", "model-*-of-*.safetensors"),
    *("pytorch_model.bin", "pytorch_model-*-of-*.bin"),
)
# what larger models put before the names of the one inside
_INSIDE = re.compile(r"^(bert|model|transformer)\.")


def optional_library(name: str, purpose: str) -> ModuleType:
    """A library that only pre-trained models need; raises :class:`UserError` without it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserError(
            f"{purpose} needs the library {name}: pip install 'lev_plugins[pretrained]'"
        ) from error


class Directory:
    """A folder with a pre-trained model. What it lacks or cannot be read raises UserError."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not os.path.isfile(os.path.join(path, CONFIG)):
            lacks = f"no {CONFIG} in it" if os.path.isdir(path) else "no such folder"
            raise UserError(
                f"{path}: {lacks}; a pre-trained model is a local folder with {CONFIG}, "
                "model.safetensors and the tokenizer's files (nothing is downloaded)"
            )

    @cached_property
    def config(self) -> Any:
        """The configuration, with the library's defaults for what it does not say."""
        return self._read("AutoConfig", "configuration")

    @cached_property
    def kind(self) -> str:
        """bert, bart or t5."""
        found = self.config.model_type
        if found not in KINDS:
            raise UserError(f"{self.path}: model_type is {found!r}; known are {', '.join(KINDS)}")
        return KINDS[found]

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer."""
        found = self._read("AutoTokenizer", "tokenizer")
        files = set(found.vocab_files_names.values())
        if files and not files & set(os.listdir(self.path)):  # the library made an empty one
            raise UserError(f"{self.path}: its tokenizer lacks {' and '.join(sorted(files))}")
        return found

    def _read(self, reader: str, what: str) -> Any:
        library = optional_library("transformers", f"{self.path}: reading a pre-trained model")
        try:
            return getattr(library, reader).from_pretrained(
                self.path, local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # the library has no class of its own for a damaged file
            said = f"transformers cannot read its {what} ({error!s:.200})"
            raise UserError(f"{self.path}: {said}") from error

    def weights(self) -> dict[str, Tensor]:
        """The tensors, by the names that they have in their own model today."""
        for pattern in WEIGHTS:
            if files := sorted(glob(pattern, root_dir=self.path)):
                return dict(one for file in files for one in _tensors(f"{self.path}/{file}"))
        raise UserError(f"{self.path}: no weights in it: {WEIGHTS[0]} or {WEIGHTS[2]}")


def _tensors(path: str) -> Iterator[tuple[str, Tensor]]:
    if path.endswith(".bin"):
        stored: Any = read_checkpoint(path)
    else:
        library = optional_library("safetensors.torch", f"{path}: reading it")
        try:
            stored = library.load_file(path)
        except Exception as error:  # the library's own class is no more special
            said = f"damaged or cut short ({error!s:.200}); copy it again"
            raise UserError(f"{path}: {said}") from error
    for name, tensor in stored.items():
        plain = _INSIDE.sub("", name)  # and as the oldest BERTs have it
        plain = plain.replace("LayerNorm.gamma", "LayerNorm.weight")
        yield plain.replace("LayerNorm.beta", "LayerNorm.bias"), tensor
