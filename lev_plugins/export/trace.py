"""Graphs that torch traces from a model's own layers.

Tensors that are large lie in a file that several graphs share (:class:`.weights.WeightFile`).
"""

import copy
import math
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from ..nn.kernels import set_kernels
from .int8 import MICROSOFT, Quantizer
from .kernels import OPSET, TracedKernels
from .weights import WeightFile, in_half_precision

SMALLEST_SHARED = 1024  #: bytes; what is smaller stands in the graph
#: the names of sizes that differ from run to run, and those of an example, each another
SIZES: dict[Any, int] = {"batch": 2, "source": 5, "length": 7, "written": 3, "positions": 4}
SIZES |= {"prefixes": 3, "rows": 4, "past": 11, "block": 6, "keys": 17}
Dimensions = Sequence[str | int]
#: an example, and its dimensions, those of any size by their names
Value = tuple[Tensor, Dimensions]


def traceable(model: Any) -> Any:
    """Returns a copy of a model as :func:`trace` wants it; nothing changes the model itself."""
    copied = copy.deepcopy(model).cpu().float().eval()
    set_kernels(copied, TracedKernels())  # last: a move gives layers the kernels of their device
    return copied


class Named(nn.Module):
    """Gives a module its inputs by their names, which torch's exporter gives by their order."""

    def __init__(self, module: nn.Module, names: Iterable[str]) -> None:
        super().__init__()
        self.module, self.names = module, list(names)

    def forward(self, *values: Tensor) -> Any:
        """Returns what the module returns."""
        return self.module(**dict(zip(self.names, values)))


def trace(
    module: nn.Module,
    inputs: Mapping[str, Value],
    outputs: Iterable[str],
    path: Path,
    weights: WeightFile,
    int8: bool = False,
) -> dict[str, Any]:
    """Writes the graph of a module; returns its name, as a folder's description has it.

    Args:
        module: computes with a :func:`traceable` model.
        inputs: of each argument. Examples have padding: what makes no difference to them is not
            traced.
        outputs: names of what it returns.
        int8: products with many weights have 8 bits.
    """
    examples = tuple(example for example, _ in inputs.values())
    axes = {
        name: {axis: dim for axis, dim in enumerate(dims) if isinstance(dim, str)}
        for name, (_, dims) in inputs.items()
    }
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch, warnings.catch_warnings():
        # of torch.jit: a width that is read as a number; of torch.onnx: that it is the old exporter
        for known in (torch.jit.TracerWarning, DeprecationWarning):
            warnings.simplefilter("ignore", known)
        torch.onnx.export(
            Named(module, inputs).eval(),  # else the exporter puts the model back into training
            examples,
            f"{scratch}/{path.name}",
            input_names=[*inputs],
            output_names=[*outputs],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
        model = onnx.load(f"{scratch}/{path.name}")
    _remove_needless(model.graph)
    quantizer = Quantizer(model.graph, constants(model.graph), weights)
    if int8:
        quantizer.run()
    if MICROSOFT not in [used.domain for used in model.opset_import]:
        model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    _remove_needless(model.graph)
    _share_weights(model.graph, weights)
    model.graph.initializer.extend(quantizer.tensors.values())
    path.write_bytes(model.SerializeToString())
    return {"file": path.name}


def sizes(dims: Iterable[Any]) -> list[int]:
    """Returns an example's size of each dimension."""
    return [SIZES.get(dim, dim) for dim in dims]


def floats(*dims: str | int) -> Value:
    """Returns an example of random numbers."""
    return torch.randn(sizes(dims)), dims


def numbers(*dims: str | int) -> Value:
    """Returns an example of the numbers from 0 on."""
    shape = sizes(dims)
    return torch.arange(math.prod(shape)).view(shape), dims


def masks(*dims: str | int) -> Value:
    """Returns an example of a mask with 0 at the end of its last row."""
    example = torch.ones(sizes(dims), dtype=torch.int32)
    example[-1, ..., -1] = 0
    return example, dims


def constants(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Returns the tensors of a graph that never change, by name."""
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return found


def _remove_needless(graph: onnx.GraphProto) -> None:
    """Removes nodes that change nothing, which torch writes for equal tensors too, and what nothing
    reads, which onnxruntime would run."""
    read = {value.name for value in graph.output}
    same: dict[str, str] = {}
    for node in graph.node:
        node.input[:] = [same.get(name, name) for name in node.input]
        if node.op_type == "Identity" and node.output[0] not in read:
            same[node.output[0]] = node.input[0]
    nodes = []
    for node in reversed(graph.node):
        if read & {*node.output}:
            nodes.append(node)
            read |= {*node.input}
    tensors = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(reversed(nodes))
    graph.initializer.extend(tensors)


def _share_weights(graph: onnx.GraphProto, weights: WeightFile) -> None:
    """Moves large tensors into the file of weights, in half precision where that is exact."""
    large = {
        name: np.ascontiguousarray(array)
        for name, array in constants(graph).items()
        if array.nbytes >= SMALLEST_SHARED
    }
    nodes = [node for node in graph.node if node.output[0] not in large]
    tensors = [tensor for tensor in graph.initializer if tensor.name not in large]
    for name, array in large.items():
        content = in_half_precision(array)
        if content is array:
            tensors.append(weights.tensor(array, name))
        else:  # onnxruntime widens it once, when it reads the graph
            tensors.append(weights.tensor(content, f"{name}_half"))
            widened = helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT)
            nodes.insert(0, widened)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(tensors)
