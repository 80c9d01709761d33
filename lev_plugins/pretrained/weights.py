"""From a folder's tensors to our parameters, with every one accounted for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import few

from .directory import Directory

#: beginnings of the names of heads of fine-tuned models, for classes and for answers to questions
FINE_TUNED_HEADS = ("classifier.", "classification_head.", "qa_outputs.")

#: path of a layer of a block of ours → the folder's layers that it does the work of side by side
Layers = Mapping[str, Sequence[str]]


class WeightLoader:
    """A folder's weights, and which of them were used. All methods raise :class:`UserError` for a
    tensor that is missing or has another shape than the parameter."""

    def __init__(self, directory: Directory) -> None:
        self.path = directory.path
        self.tensors = directory.weights()
        self.used: set[str] = set()

    def read(self, name: str) -> Tensor:
        """Returns a tensor in single precision, used from now on."""
        if name not in self.tensors:
            raise UserError(f"{self.path}: tensor {name} is missing from its weights")
        self.used.add(name)
        return self.tensors[name].float()

    def is_copy(self, name: str, table: str) -> bool:
        """Returns whether a tensor that may be missing holds the same as one that is there."""
        return name not in self.tensors or torch.equal(self.tensors[name], self.read(table))

    def check_shape(self, value: Tensor, shape: Sequence[int], name: str) -> None:
        """Refuses what was made of the tensor ``name`` in another shape."""
        if tuple(value.shape) != tuple(shape):
            raise UserError(
                f"{self.path}: {name} has the shape {tuple(value.shape)}; config.json says "
                f"{tuple(shape)}"
            )

    def assign(self, parameter: Tensor, value: Tensor, name: str) -> None:
        """Fills a parameter, or a part of it, with a value that was made of the tensor ``name``."""
        self.check_shape(value, parameter.shape, name)
        parameter.detach().copy_(value)

    def copy_rows(self, parameter: Tensor, name: str, rows: Tensor) -> None:
        """Fills a parameter with rows of a tensor: those of the symbols of a dictionary."""
        value = self.read(name).squeeze(0)  # BART's bias is 1 × V
        if rows.max() >= len(value):
            raise UserError(
                f"{self.path}: {name} has {len(value)} rows, but its tokenizer has more tokens"
            )
        self.assign(parameter, value[rows], name)

    def copy_positions(self, positions: Any, table: Tensor, name: str) -> None:
        """Fills :class:`.Positions`; fairseq's first one follows those of the padding."""
        padding = table.new_zeros(positions.pad + 1, table.size(1))
        self.assign(positions.weight, torch.cat([padding, table]), name)

    def copy_layer(self, layer: Any, *names: str) -> None:
        """Fills the weight and the bias of a layer with those of layers, one below the other."""
        for part, parameter in layer.named_parameters():
            for piece, name in zip(parameter.detach().chunk(len(names)), names):
                full_name = f"{name}.{part}"
                self.assign(piece, self.read(full_name), full_name)

    def copy_layers(self, block: nn.Module, prefix: str, layers: Layers) -> None:
        """Fills layers of a block from those of the folder's block ``prefix``."""
        for path, names in layers.items():
            layer = block.get_submodule(path)
            self.copy_layer(layer, *(f"{prefix}.{name}" for name in names))

    def check_unused(self, ignored: Iterable[str]) -> list[str]:
        """Returns the names of tensors that were not used; one that was forgotten raises UserError.

        Args:
            ignored: beginnings of names that are left out knowingly, as are copies of what was
                used, and the head of a fine-tuned model.
        """
        unused = [name for name in self.tensors if name not in self.used]
        known = (*FINE_TUNED_HEADS, *ignored)
        used = [self.tensors[name] for name in self.used]
        forgotten = []
        for name in unused:
            is_copy = any(torch.equal(self.tensors[name], tensor) for tensor in used)
            if not name.startswith(known) and not is_copy:
                forgotten.append(name)
        if forgotten:
            message = "its weights have tensors without a place in such a model"
            raise UserError(f"{self.path}: {message}: {few(forgotten, 3)}")
        return unused
