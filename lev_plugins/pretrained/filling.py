"""From a folder's tensors to our parameters, by a table of names, with every one accounted for."""

import re
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn

from ..errors import UserError
from ..io.text_files import few
from ..nn.embedding import Positions
from .directory import Directory

#: heads of fine-tuned models, for classes and for answers to questions
HEADS = r"(classifier|classification_head|qa_outputs)\.[\w.]+"
# parameters with a row for each symbol
_ROWS = re.compile(r"(source|target|output)\.(logits\.)?(table\.weight|bias)")

#: path of a module of ours, with ``#`` for the number of its block → names of the folder's layers
#: that it does the work of side by side, or what makes a tensor of theirs
Names = Mapping[str, "tuple[str, ...] | Callable[[Filling], Tensor]"]


def block_names(ours: str, theirs: str, layers: Mapping[str, tuple[str, ...]]) -> Names:
    """The layers of all blocks, whose paths begin with ``ours`` here and ``theirs`` there."""
    return {
        f"{ours}.{layer}": tuple(f"{theirs}.{name}" for name in names)
        for layer, names in layers.items()
    }


class Filling:
    """A folder's weights, and which of them were used."""

    def __init__(self, directory: Directory) -> None:
        self.where = directory.path
        self.tensors = directory.weights()
        self._used: set[str] = set()

    def read(self, name: str) -> Tensor:
        """A tensor in single precision, used from now on; raises :class:`UserError` without it."""
        if name not in self.tensors:
            raise UserError(f"{self.where}: the tensor {name} is missing in its weights")
        self._used.add(name)
        return self.tensors[name].float()

    def is_copy(self, name: str, table: str) -> bool:
        """Whether a tensor that may be missing holds the same as another, which is there."""
        return name not in self.tensors or torch.equal(self.tensors[name], self.read(table))

    def fill(
        self,
        modules: nn.Module,
        names: Names,
        rows: Mapping[str, Tensor],
        new: Iterable[nn.Module] = (),
    ) -> None:
        """Fills the parts of a :class:`.Backbone`; what is missing or misshapen raises UserError.

        Args:
            names: where their tensors are. new: modules that the folder knows nothing of.
            rows: of the folder's embeddings, for each symbol of ``source`` and ``target``.
        """
        fresh = {id(one) for module in new for one in module.parameters()}
        for path, parameter in modules.named_parameters():
            if id(parameter) in fresh:
                continue
            layer, _, part = path.rpartition(".")
            number = "".join(re.findall(r"\.(\d+)", layer))
            theirs = names[re.sub(r"\.\d+", ".#", layer)]
            if callable(theirs):
                values = [theirs(self)]
            else:
                values = [self.read(f"{name}.{part}".replace("#", number)) for name in theirs]
            if _ROWS.fullmatch(path):
                values = [values[0][rows["source" if path.startswith("source") else "target"]]]
            elif isinstance(positions := modules.get_submodule(layer), Positions):
                before = values[0].new_zeros(positions.pad + 1, values[0].size(1))
                values = [torch.cat([before, values[0]])]
            for own, value in zip(parameter.detach().chunk(len(values)), values):
                if own.shape != value.shape:
                    raise UserError(
                        f"{self.where}: {path} has the shape {tuple(own.shape)} after config.json, "
                        f"and its weights {tuple(value.shape)}"
                    )
                own.copy_(value)

    def finish(self, left: Iterable[str]) -> list[str]:
        """The names of tensors that were left out; one that was forgotten raises UserError.

        ``left``: patterns of whole names that are left out knowingly, as are copies of what was
        used, and the head of a fine-tuned model.
        """
        rest = [name for name in self.tensors if name not in self._used]
        known = re.compile("|".join([HEADS, *left]))
        used = [self.tensors[name] for name in self._used]
        rare = (name for name in rest if not known.fullmatch(name))
        new = [n for n in rare if not any(torch.equal(self.tensors[n], one) for one in used)]
        if new:
            said = "its weights have tensors without a place in such a model"
            raise UserError(f"{self.where}: {said}: {few(new, 3)}")
        return rest
