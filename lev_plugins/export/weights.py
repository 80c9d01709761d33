"""The file of weights that the graphs of a folder share, and rows of a matrix in 8 bits."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper
from torch import Tensor

from lev_runtime.folder import WEIGHTS

ALIGNMENT = 64  #: bytes
INT8_LARGEST = 127
#: of a table's rows in 8 bits, by its standard deviation: trained tables have 0.6 %, one with a
#: channel that lies far out 2 % and more
LARGEST_ERROR = 0.01


class WeightFile:
    """A file of tensors that graphs refer to; equal ones are stored once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / WEIGHTS
        self.path.touch()
        self.places: dict[bytes, tuple[int, int]] = {}

    def add(self, values: np.ndarray) -> tuple[int, int]:
        """Returns offset and length of the bytes of an array, which are written if they are new."""
        content = values.tobytes()
        digest = hashlib.sha256(content).digest()
        if digest not in self.places:
            offset = self.path.stat().st_size
            padding = -offset % ALIGNMENT
            with self.path.open("ab") as file:
                file.write(bytes(padding) + content)
            self.places[digest] = offset + padding, len(content)
        return self.places[digest]

    def tensor(self, values: np.ndarray, name: str) -> TensorProto:
        """Adds an array; returns a tensor of a graph that refers to it."""
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=values.shape)
        tensor.data_location = TensorProto.EXTERNAL
        offset, length = self.add(values)
        for key, value in (("location", WEIGHTS), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor

    def describe(self, table: Tensor, int8: bool = False) -> dict[str, Any]:
        """Adds a table that is read outside of graphs; returns where it is.

        int8: rows have 8 bits and a scale each, a quarter of a small model's bytes; a table that
        this changes too much has 16.
        """
        values = table.detach().cpu().float().numpy()
        described: dict[str, Any] = {"shape": list(values.shape)}
        if int8:
            rounded, scales = rows_in_int8(values)
            error = np.std(rounded * scales[:, None] - values) / np.std(values)
            if error <= LARGEST_ERROR:
                described["offset"], _ = self.add(rounded)
                described["scales_offset"], _ = self.add(scales)
                # a runtime before 1.0, which would not look for scales, refuses this type
                return described | {"type": "int8 rows"}
            values = values.astype(np.float16)
        values = in_half_precision(values)
        described["offset"], _ = self.add(values)
        return described | {"type": str(values.dtype)}


def rows_in_int8(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rounds rows, R × C, to 8 bits; returns them and a scale for each, R."""
    largest = np.abs(values).max(1)
    scales = np.maximum(largest / INT8_LARGEST, 1e-12).astype(np.float32)
    return np.rint(values / scales[:, None]).astype(np.int8), scales


def in_half_precision(array: np.ndarray) -> np.ndarray:
    """Returns an array of single precision in half the bytes where that changes no number."""
    if array.dtype != np.float32:
        return array
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(half, array) else array
