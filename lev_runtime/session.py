"""ONNX graphs that run on a CPU."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime

from .errors import UserError

Arrays = Mapping[str, np.ndarray]
_ERRORS_ALONE = 3  #: of onnxruntime's levels of logging


class Session:
    """A graph with its weights; several threads may run it at once.

    Args:
        path: of the graph.
        threads: that a run computes with, by default as many as there are cores.

    Raises:
        UserError: onnxruntime cannot read the file.
    """

    def __init__(self, path: Path, threads: int | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS_ALONE
        options.intra_op_num_threads = threads or 0
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self.session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has an exception of its own for every failure
            reason = str(error).strip().partition("\n")[0]
            raise UserError(f"{path}: onnxruntime cannot read it ({reason:.200})") from error
        self.inputs = frozenset(value.name for value in self.session.get_inputs())
        self.outputs = [value.name for value in self.session.get_outputs()]

    def __call__(self, outputs: Sequence[str], inputs: Arrays) -> list[np.ndarray]:
        """The named outputs of a run; ``inputs`` may hold more than the graph takes."""
        given = {name: inputs[name] for name in self.inputs}
        found: list[np.ndarray] = self.session.run(list(outputs), given)
        return found
