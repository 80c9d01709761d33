"""ONNX graphs, written node by node, and the file of weights that several of them share.

The graphs use operators of ONNX Runtime (domain ``com.microsoft``) where those do in one node what
takes five of ONNX's own: at batch 1 half of the time is spent between nodes.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from lev_runtime.folder import WEIGHTS

from .weights import WeightFile, in_half_precision, rows_in_int8

OPSET, IR_VERSION = 20, 9
MICROSOFT = "com.microsoft"
OF_MICROSOFT = {"MatMulIntegerToFloat", "MultiHeadAttention", "QuickGelu", "RotaryEmbedding"}
ALIGNMENT = 64  # bytes
SMALLEST_SHARED = 1024  #: bytes; what is smaller stands in the graph
#: weights of a layer: of fewer a product takes less time than what rounds its rows (128 × 128, 27
#: rows: 21 µs in single precision, 28 in 8 bits), be it by a scale of their own or a fixed one
LEAST_QUANTIZED, LEAST_FIXED = 1 + (1 << 14), 1 << 12
#: what 127 stands for after a norm, in standard deviations; and the widest rows that are rounded so
REACH, WIDEST = 8.0, 256
INT8_LARGEST = 127
#: of a table's rows in 8 bits, by its standard deviation: trained tables have 0.6 %, one with a
#: channel that lies far out 2 % and more
LARGEST_ERROR = 0.01
#: rows as unsigned bytes: the byte of 0, and the least number that 255 may stand for
SYMMETRIC = 128, 1e-12
#: those of activation functions, by operator: 0, −0.17 and −0.28 are the lowest that they give
INT8_RANGES = {"Relu": (0, 1e-12), "Gelu": (64, 0.51), "QuickGelu": (64, 0.84)}
Dimensions = Sequence[str | int]
Constant = Tensor | np.ndarray | float | Sequence[int]
#: what a node takes: a value by its name, or what never changes
Input = str | Constant
FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
BOOL = TensorProto.BOOL


class Int8Rows(NamedTuple):
    """Values of a graph: rows in unsigned bytes, what 255 stands for in each, the byte of 0.

    step: between two bytes, as a share of ``largest``.
    """

    values: str
    largest: str
    zero: str
    step: np.float32


class Graph:
    """A graph while it is written; values are known by their names.

    Args:
        weights: where large tensors go.
        int8: layers of many weights multiply in 8 bits.
        fixed: the norms after which rows are rounded by a fixed scale; after others each row by
            its own.
    """

    def __init__(
        self, weights: WeightFile, int8: bool = False, fixed: frozenset[nn.Module] = frozenset()
    ) -> None:
        self.weights = weights
        self.int8 = int8
        self.fixed = fixed
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.known: dict[tuple[Any, ...], str] = {}
        #: of each weight in 8 bits, what :class:`lev_runtime.folder.Int8Weight` says
        self.int8_weights: list[dict[str, Any]] = []
        self.int8_rows: dict[str, Int8Rows] = {}
        #: of values that a norm has left without its gain and bias, these two
        self.unit: dict[str, tuple[Tensor, Tensor]] = {}

    # values -------------------------------------------------------------------------------------

    def input(self, name: str, kind: int, dimensions: Dimensions) -> str:
        """Declares a value that is given at each run."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(dimensions)))
        return name

    def output(self, name: str, value: str, kind: int, dimensions: Dimensions) -> None:
        """Gives a value out under a name."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, list(dimensions)))

    def constant(self, values: Constant) -> str:
        """Adds a tensor that never changes; numbers alone are single precision, lists int64."""
        return self._constant(_array(values))

    def _constant(self, array: np.ndarray, shared: bool = False) -> str:
        """``shared``: in the file of weights, however small it is."""
        key = (array.shape, array.dtype.str, array.tobytes())
        if key not in self.known:
            self.known[key] = self._stored(array, shared)
        return self.known[key]

    def _stored(self, array: np.ndarray, shared: bool) -> str:
        name = f"constant_{len(self.initializers)}"
        if array.nbytes < SMALLEST_SHARED and not shared:
            self.initializers.append(numpy_helper.from_array(array, name))
            return name
        content = array if shared else in_half_precision(array)
        self.initializers.append(self._shared(content, name))
        if content is array:
            return name
        # onnxruntime widens it once, when it reads the graph
        return self.Cast(name, to=FLOAT)

    def _shared(self, array: np.ndarray, name: str) -> onnx.TensorProto:
        offset, length = self.weights.add(array)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=array.shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", WEIGHTS), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor

    def several(
        self,
        operator: str,
        inputs: Sequence[Input],
        count: int,
        **attributes: Any,
    ) -> list[str]:
        """Adds a node; returns its first ``count`` outputs. An input that is left out is ``""``."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        prefix = f"{operator}_{len(self.nodes)}"
        outputs = [f"{prefix}_{number}" for number in range(count)]
        domain = MICROSOFT if operator in OF_MICROSOFT else ""
        node = helper.make_node(operator, names, outputs, domain=domain, **attributes)
        self.nodes.append(node)
        return outputs

    def node(self, operator: str, *inputs: Input, **attributes: Any) -> str:
        """Adds a node; returns its only output."""
        (output,) = self.several(operator, inputs, 1, **attributes)
        return output

    def __getattr__(self, operator: str) -> Callable[..., str]:
        """``graph.Add(x, y)`` is :meth:`node` of that operator."""
        if not operator[:1].isupper():
            raise AttributeError(operator)
        return functools.partial(self.node, operator)

    # what models are made of --------------------------------------------------------------------

    def linear(self, x: str, weight: Tensor, bias: Tensor | None = None) -> str:
        """… × inputs → … × outputs; ``weight``: outputs × inputs."""
        least = LEAST_QUANTIZED
        if x in self.unit:
            gain, shift = self.unit[x]
            added = weight @ shift
            weight, bias = weight * gain, added if bias is None else bias + added
            least = LEAST_FIXED
        if self.int8 and weight.numel() >= least:
            return self._int8_linear(x, weight, bias)
        columns = weight.detach().float().t()
        product = self.MatMul(x, columns)
        if bias is None:
            return product
        return self.Add(product, bias)

    def _int8_linear(self, x: str, weight: Tensor, bias: Tensor | None) -> str:
        """Weights have a scale for each output, what comes in one for each row, at each run."""
        if x not in self.int8_rows:
            self.int8_rows[x] = self._in_int8(x)
        rows = self.int8_rows[x]
        rounded, steps = rows_in_int8(_array(weight.detach().float()))
        small = np.ascontiguousarray(rounded.T)
        described: dict[str, Any] = {"shape": list(small.shape)}
        for name, part in (("weight", small), ("scales", steps * rows.step)):
            described[name] = self._constant(part, shared=True)
            described[f"{name}_offset"], _ = self.weights.add(part)
        self.int8_weights.append(described)
        factors = rows.values, described["weight"], rows.largest, described["scales"], rows.zero
        if bias is None or not bias.any():
            return self.MatMulIntegerToFloat(*factors)
        if x in self.unit:
            return self.MatMulIntegerToFloat(*factors, "", bias)
        # a bias of that node's would be multiplied by the rows' scales
        return self.Add(self.MatMulIntegerToFloat(*factors), bias)

    def _in_int8(self, x: str) -> Int8Rows:
        """Rounds each row by its own largest number, whatever else is in the batch; after a norm
        that is the same for all."""
        operator, _, _ = x.partition("_")
        zero, least = INT8_RANGES.get(operator, SYMMETRIC)
        step = np.float32(1 / (255 - zero))
        point = self.constant(np.array(zero, np.uint8))
        if x in self.unit:
            step = np.float32(REACH * step)
            values = self.QuantizeLinear(x, float(step), point)
            return Int8Rows(values, self.constant(1.0), point, step)
        if operator == "Relu" and self.nodes[-1].output[0] == x:
            (x,) = self.nodes.pop().input  # rounding cuts what is below the byte of 0
        sizes = self.Abs(x) if zero else x
        largest = self.ReduceMax(sizes, [-1])
        largest = self.Clip(largest, least)
        share = self.Div(x, largest)
        values = self.QuantizeLinear(share, float(step), point)
        return Int8Rows(values, largest, point, step)

    def folds(self, norm: Any) -> bool:
        """Returns whether the gain and the bias of a norm go into the layers after it."""
        return self.int8 and norm in self.fixed and norm.weight.numel() <= WIDEST

    def output_layer(self, rows: str, table: Tensor, bias: Tensor) -> str:
        """P × C features → P × V logits; in single precision the table serves as it is stored."""
        if self.int8:
            return self._int8_linear(rows, table, bias)
        return self.Gemm(rows, table, bias, transB=1)

    def embedding(self, indices: str, table: Tensor, scale: float = 1.0) -> str:
        """Rows of a table, multiplied by a number; the table is stored as it is."""
        rows = self.Gather(table, indices)
        if scale == 1.0:
            return rows
        return self.Mul(rows, float(scale))

    def reshape(self, x: str, *shape: int) -> str:
        """0 keeps a dimension, −1 is what is left."""
        return self.Reshape(x, list(shape))

    def flat(self, x: str) -> str:
        """B × T × C → B·T × C."""
        return self.Flatten(x, axis=2)

    def split(self, x: str, count: int) -> list[str]:
        """B × T × count·C → as many B × T × C."""
        return self.several("Split", [x], count, axis=2, num_outputs=count)

    def save(self, path: Path) -> dict[str, Any]:
        """Writes the graph; returns its name, and what there is of it in 8 bits."""
        graph = helper.make_graph(
            self.nodes, path.stem, self.inputs, self.outputs, self.initializers
        )
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=domains, producer_name="lev_plugins")
        model.ir_version = IR_VERSION
        path.write_bytes(model.SerializeToString())
        return {"file": path.name, "int8": self.int8_weights}


def _array(values: Constant) -> np.ndarray:
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        if values.is_floating_point():
            values = values.float()
        return np.ascontiguousarray(values.numpy())
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values)
    kind = np.float32 if isinstance(values, float) else np.int64
    return np.array(values, dtype=kind)
