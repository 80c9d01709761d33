"""From a checkpoint's tensors to a backbone's parameters, with every one of both accounted for."""

import logging
import re
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ..errors import UserError
from ..nn.backbone import Backbone
from ..nn.positions import Positions
from .directory import Weights, few
from .parts import HEADS

_SHOWN = 3
logger = logging.getLogger(__name__)


class Filling:
    """Puts tensors into parameters and remembers which.

    ``left``: patterns of names that are left out knowingly, for the whole name.
    """

    def __init__(self, weights: Weights, left: Iterable[str]) -> None:
        self.weights = weights
        self.left = [re.compile(pattern) for pattern in left]
        self._used: set[str] = set()
        self._filled: dict[int, Tensor] = {}

    def read(self, *names: str) -> Tensor:
        """Tensors one below the other, single precision."""
        self._used.update(names)
        parts = [self.weights.tensor(name) for name in names]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def put(self, parameter: Tensor | None, *names: str) -> None:
        """Fills a parameter with tensors, one below the other.

        Raises:
            UserError: one is missing or they are of another shape.
        """
        assert parameter is not None
        if any(len(self.weights.shape(name)) != parameter.dim() for name in names):
            raise self._wrong_shape(parameter, names)
        try:
            value = self.read(*names)
        except RuntimeError as error:
            raise self._wrong_shape(parameter, names) from error
        self.place(parameter, value, names)

    def place(self, parameter: Tensor | None, value: Tensor, names: Iterable[str]) -> None:
        """Fills a parameter with what was made of the tensors ``names``."""
        assert parameter is not None
        if value.shape != parameter.shape:
            raise self._wrong_shape(parameter, names)
        with torch.no_grad():
            parameter.copy_(value)
        self._filled[id(parameter)] = parameter

    def linear(self, layer: nn.Linear, *names: str) -> None:
        """A layer that does what the layers ``names`` do side by side."""
        self.put(layer.weight, *(f"{name}.weight" for name in names))
        if layer.bias is not None:
            self.put(layer.bias, *(f"{name}.bias" for name in names))

    def norm(self, norm: nn.Module | None, name: str) -> None:
        """A layer norm, with or without a bias."""
        assert norm is not None
        for part, parameter in norm.named_parameters(recurse=False):
            self.put(parameter, f"{name}.{part}")

    def table(self, table: nn.Embedding, name: str, rows: Tensor) -> None:
        """Rows of an embedding, in the order of a dictionary.

        Args:
            rows: row of the checkpoint for every symbol, −1 for those that it does not know; these
                are sampled with the spread of the others.
        """
        self.place(table.weight, chosen_rows(self.read(name), rows), [name])

    def places(self, positions: nn.Module | None, places: Tensor, name: str) -> None:
        """Learned positions, from the first real token on."""
        assert isinstance(positions, Positions)
        before = places.new_zeros(positions.pad + 1, places.size(1))
        self.place(positions.weight, torch.cat([before, places]), [name])

    def finish(self, filled: nn.Module, new: Iterable[nn.Module] = ()) -> list[str]:
        """That nothing was forgotten; returns the names of the tensors that were left out.

        Args:
            filled: what should have got its parameters.
            new: modules in it that the checkpoint knows nothing of.

        Raises:
            UserError: the checkpoint holds tensors that belong to another kind of model.
        """
        rest = [name for name in self.weights if name not in self._used]
        heads = [name for name in rest if re.fullmatch(HEADS, name)]
        if heads:
            said = "%s: the head it was fine-tuned with is left out: %s"
            logger.info(said, self.weights.file, few(heads, _SHOWN))
        known = [name for name in rest if any(one.fullmatch(name) for one in self.left)]
        unknown = [name for name in rest if name not in {*heads, *known}]
        if unknown:
            raise UserError(
                f"{self.weights.file}: holds tensors that have no place in such a model: "
                f"{few(unknown, _SHOWN)}"
            )
        fresh = {id(one) for module in new for one in module.parameters()}
        forgotten = [
            name
            for name, parameter in filled.named_parameters()
            if id(parameter) not in self._filled and id(parameter) not in fresh
        ]
        assert not forgotten, forgotten
        return rest

    def _wrong_shape(self, parameter: Tensor, names: Iterable[str]) -> UserError:
        found = ", ".join(f"{name} {self.weights.shape(name)}" for name in names)
        return UserError(
            f"{self.weights.file}: of another shape than config.json says: {found}; "
            f"{tuple(parameter.shape)} was expected"
        )


def chosen_rows(table: Tensor, rows: Tensor) -> Tensor:
    """Rows of a table, those at −1 sampled; a vector counts as a table of one column."""
    value = table[rows.clamp(min=0)]
    fresh = rows < 0
    if bool(fresh.any()):
        value[fresh] = torch.randn_like(value[fresh]) * table.std() + table.mean()
    return value


def whole(backbone: Backbone) -> nn.ModuleDict:
    """A backbone as one module."""
    parts = {
        "source": backbone.source,
        "encoder": backbone.encoder,
        "target": backbone.target,
        "blocks": nn.ModuleList(backbone.blocks),
        "norm": backbone.norm,
        "output": backbone.output,
        "bias": backbone.bias,
    }
    return nn.ModuleDict({name: part for name, part in parts.items() if part is not None})
