"""ONNX graphs that run on a CPU."""

import functools
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .errors import UserError, require_number
from .onnx_runtime import onnxruntime

Arrays = Mapping[str, np.ndarray]
_ERRORS_ALONE = 3  #: of onnxruntime's levels of logging
#: of onnxruntime's, what makes a graph slower on a CPU: the sum and its norm take a third of the
#: time of both in one
_SLOWER = ["SkipLayerNormFusion"]


class Int8Weight(NamedTuple):
    """A matrix of 8 bits in a graph (inputs × outputs), and a scale for each output.

    weight, scales: their names. weight_offset, scales_offset: where they begin in the file of
    weights, in bytes.
    """

    weight: str
    scales: str
    weight_offset: int
    scales_offset: int
    shape: tuple[int, int]

    def in_seven_bits(self, path: Path) -> dict[str, np.ndarray]:
        """Both by their names, the largest weight of an output being 63 instead of 127."""
        rows, columns = self.shape
        weights = np.fromfile(path, np.int8, rows * columns, offset=self.weight_offset)
        scales = np.fromfile(path, np.float32, columns, offset=self.scales_offset)
        halved = weights.reshape(self.shape) * np.float32(63 / 127)
        halved = np.rint(halved).astype(np.int8)
        return {self.weight: halved, self.scales: scales * np.float32(127 / 63)}


@functools.cache
def overflows() -> bool:
    """Returns whether products of 8 bits are cut off here when both factors are large.

    x86-64 CPUs without VNNI add pairs of products in 16 bits.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    described = Path("/proc/cpuinfo")
    content = described.read_text(errors="replace") if described.is_file() else ""
    return not re.search(r"\b(avx512_vnni|avx_vnni|amx_int8)\b", content)


class Session:
    """A graph with its weights; several threads may run it at once.

    Args:
        path: of the graph.
        threads: that a run computes with, by default as many as there are cores.
        weights_path: of the file of weights. int8: those that have 8 bits; one less where that
            would be too many (:func:`overflows`).

    Raises:
        UserError: onnxruntime cannot read the file.
    """

    def __init__(
        self,
        path: Path,
        threads: int | None,
        weights_path: Path,
        int8: Sequence[Int8Weight] = (),
    ) -> None:
        options = onnxruntime.SessionOptions()
        self.replaced: list[onnxruntime.OrtValue] = []  # onnxruntime only borrows them
        smaller: dict[str, np.ndarray] = {}  # by name: layers may share their weights
        for weight in int8 if overflows() else ():
            smaller |= weight.in_seven_bits(weights_path)
        for name, values in smaller.items():
            replacement = onnxruntime.OrtValue.ortvalue_from_numpy(values)
            self.replaced.append(replacement)
            options.add_initializer(name, replacement)
        options.log_severity_level = _ERRORS_ALONE
        if threads is not None:
            options.intra_op_num_threads = require_number("threads=", threads, 0, 1 << 15, int)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self.session = onnxruntime.InferenceSession(
                str(path),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=_SLOWER,
            )
        except Exception as error:  # onnxruntime has an exception of its own for every failure
            reason = str(error).strip().partition("\n")[0]
            raise UserError(f"{path}: onnxruntime cannot read it ({reason:.200})") from None
        self.inputs = frozenset(value.name for value in self.session.get_inputs())
        self.outputs = [value.name for value in self.session.get_outputs()]

    def __call__(self, outputs: Sequence[str], inputs: Arrays) -> list[np.ndarray]:
        """The named outputs of a run; ``inputs`` may hold more than the graph takes."""
        feed = {name: inputs[name] for name in self.inputs}
        arrays: list[np.ndarray] = self.session.run(list(outputs), feed)
        return arrays
