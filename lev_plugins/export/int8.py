"""Products of a traced graph in 8 bits.

Weights have a scale for each output, what comes in one for each row, at each run: a row's result
depends on no other row. After a norm without gain and bias (:func:`fold`) all rows have one scale.
"""

from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import nn

from .weights import WeightFile, rows_in_int8

MICROSOFT = "com.microsoft"
#: weights of a layer: of fewer a product takes less time than what rounds its rows (128 × 128, 27
#: rows: 21 µs in single precision, 28 in 8 bits), be it by a scale of their own or a fixed one
LEAST_QUANTIZED, LEAST_FIXED = 1 + (1 << 14), 1 << 12
#: what 127 stands for after a norm, in standard deviations; and the widest rows that are rounded so
REACH, WIDEST = 8.0, 256
#: rows as unsigned bytes: the byte of 0, and the least number that 255 may stand for
SYMMETRIC = 128, 1e-12
#: those of activation functions, by operator: 0 and −0.17 are the lowest that they give
RANGES = {"Relu": (0, 1e-12), "Gelu": (64, 0.51)}


@torch.no_grad()
def fold(norm: Any, layer: Any) -> nn.LayerNorm:
    """Moves gain and bias of a norm into the layer after it; returns the norm without them."""
    layer.bias += layer.weight @ norm.bias
    layer.weight *= norm.weight
    return nn.LayerNorm(norm.normalized_shape, norm.eps, elementwise_affine=False)


class Rows(NamedTuple):
    """Values of a graph: rows in unsigned bytes, what 255 stands for in each, the byte of 0.

    step: between two bytes, as a share of ``largest``.
    """

    values: str
    largest: str
    zero: str
    step: np.float32


class Quantizer:
    """Rewrites a graph; ``constants``: its tensors by name.

    tensors: those of 8 bits and their scales, by name.
    """

    def __init__(
        self, graph: onnx.GraphProto, constants: dict[str, np.ndarray], weights: WeightFile
    ) -> None:
        self.graph, self.constants, self.weights = graph, constants, weights
        self.made_by = {name: node for node in graph.node for name in node.output}
        self.given = {value.name for value in graph.output}
        self.read_by: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self.read_by.setdefault(name, []).append(node)
        self.nodes: list[onnx.NodeProto] = []
        self.joined: list[onnx.NodeProto] = []  #: those that a product does too
        self.rows: dict[str, Rows] = {}
        self.tensors: dict[str, onnx.TensorProto] = {}

    def run(self) -> None:
        """Replaces the products with constants of many numbers."""
        for node in self.graph.node:
            is_product = node.op_type in ("MatMul", "Gemm")
            if node not in self.joined and not (is_product and self._replace(node)):
                self.nodes.append(node)
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)

    def _replace(self, node: onnx.NodeProto) -> bool:
        x, name, *biases = node.input
        weight = self.constants.get(name)
        is_fixed = self._is_unit(x)
        least = LEAST_FIXED if is_fixed else LEAST_QUANTIZED
        if weight is None or weight.ndim != 2 or weight.size < least:
            return False
        if node.op_type == "MatMul" and node.output[0] in self.given:
            return False  # decisions hang on it
        if x not in self.rows:
            self.rows[x] = self._rounded(x, is_fixed)
        rows = self.rows[x]
        is_transposed = any(each.name == "transB" and each.i for each in node.attribute)
        factor, scales = self._weight(name, weight if is_transposed else weight.T, rows.step)
        factors = rows.values, factor, rows.largest, scales, rows.zero
        (output,) = node.output
        if biases:  # as one of that node's it would be multiplied by the rows' scales
            self._add("Add", self._product(*factors), *biases, output=output)
        elif is_fixed and (bias := self._bias_after(output)):
            after, vector = bias
            self._product(*factors, "", vector, output=after.output[0])
            self.joined.append(after)
        else:
            self._product(*factors, output=output)
        return True

    def _weight(self, name: str, rows: np.ndarray, step: np.float32) -> tuple[str, str]:
        """Returns a weight in 8 bits, given as outputs × inputs, and the outputs' scales."""
        rounded, steps = rows_in_int8(rows)
        # of each product its own, though equal ones are stored once: where onnxruntime turns bytes
        # into unsigned ones it does so for each, by name
        number = len(self.tensors)
        weight, scales = f"{name}_weight_{number}", f"{name}_scales_{number}"
        self.tensors[weight] = self.weights.tensor(np.ascontiguousarray(rounded.T), weight)
        self.tensors[scales] = self.weights.tensor(steps * step, scales)
        return weight, scales

    def _bias_after(self, product: str) -> tuple[onnx.NodeProto, str] | None:
        """Returns the node that adds a constant to a product, and the constant, if all read it."""
        (reader, *others) = self.read_by.get(product, [None])
        if others or reader is None or reader.op_type != "Add":
            return None
        added = [name for name in reader.input if name in self.constants]
        return (reader, added[0]) if added else None

    def _is_unit(self, x: str) -> bool:
        """Returns whether a value comes of a norm without a gain, for which torch writes a node of
        ones; a gain is a tensor."""
        norm = self.made_by.get(x)
        if norm is None or norm.op_type != "LayerNormalization":
            return False
        return norm.input[1] in self.made_by

    def _rounded(self, x: str, is_fixed: bool) -> Rows:
        """Rounds each row by its own largest number, whatever else is in the batch; after a norm
        that is the same for all."""
        operator = self.made_by[x].op_type if x in self.made_by else ""
        zero, least = RANGES.get(operator, SYMMETRIC)
        step = np.float32(1 / (255 - zero))
        point = self._constant(np.array(zero, np.uint8))
        if is_fixed:
            step = np.float32(REACH * step)
            values = self._add("QuantizeLinear", x, self._constant(step), point)
            return Rows(values, self._constant(np.float32(1)), point, step)
        if operator == "Relu":
            (x,) = self.made_by[x].input  # rounding cuts what is below the byte of 0
        sizes = self._add("Abs", x) if zero else x
        largest = self._add("ReduceMax", sizes, self._constant(np.array([-1])))
        largest = self._add("Clip", largest, self._constant(np.float32(least)))
        share = self._add("Div", x, largest)
        values = self._add("QuantizeLinear", share, self._constant(step), point)
        return Rows(values, largest, point, step)

    def _constant(self, value: Any) -> str:
        name = f"int8_{value}_{value.dtype}"
        self.tensors[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def _product(self, *factors: str, output: str = "") -> str:
        return self._add("MatMulIntegerToFloat", *factors, output=output, domain=MICROSOFT)

    def _add(self, operator: str, *inputs: str, output: str = "", domain: str = "") -> str:
        """Adds a node; returns its output."""
        output = output or f"int8_{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [*inputs], [output], domain=domain))
        return output
