"""A folder that ``lev-export`` has written, and the sessions that run its graphs on a CPU.

It holds a description, ONNX graphs, their weights and the dictionaries.
"""

import functools
import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import UserError, require_number

Arrays = Mapping[str, np.ndarray]
_FATAL_ALONE = 4  #: of onnxruntime's levels of logging: an error is raised as well
#: onnxruntime's optimisers that make a graph slower on a CPU: 30 rows of 512 take 460 µs in one
#: kernel for a sum and its norm, 21 µs in two (onnxruntime 1.32, one thread, AVX-512)
_SLOWER = ["SkipLayerNormFusion"]


@functools.cache
def onnx_runtime() -> Any:
    """Imports ONNX Runtime, which otherwise reports to its maker; nothing else may import it."""
    # read at the import: without it a device's number and a queue of events lie in the cache
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # where somebody else has imported it before
    return onnxruntime


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

    Raises:
        UserError: onnxruntime cannot read the file.
    """

    def __init__(self, path: Path, threads: int | None) -> None:
        onnxruntime = onnx_runtime()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _FATAL_ALONE
        options.enable_mem_pattern = False  # shapes differ from run to run: 12 % of a search
        if threads is not None:
            options.intra_op_num_threads = require_number("threads=", threads, 0, 1 << 15, int)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if overflows():  # with VNNI it would cost a tenth of a batch of 32 sentences
            options.add_session_config_entry("session.x64quantprecision", "1")
        try:
            self.session = onnxruntime.InferenceSession(
                str(path),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=_SLOWER,
            )
        except Exception as error:  # onnxruntime has an exception of its own for every failure
            reason = str(error).strip().partition("\n")[0]
            fault = f"onnxruntime cannot read it ({reason:.200}); {EXPORT_AGAIN}"
            raise UserError(f"{path}: {fault}") from None
        self.path = path
        self.inputs = frozenset(value.name for value in self.session.get_inputs())
        self.outputs = [value.name for value in self.session.get_outputs()]

    def __call__(self, outputs: Sequence[str], inputs: Arrays) -> list[np.ndarray]:
        """Runs the graph for the named outputs; ``inputs`` may hold more than it takes."""
        feed = {name: inputs[name] for name in self.inputs}
        arrays: list[np.ndarray] = self.session.run(list(outputs), feed)
        # weights that are no numbers show in whatever is computed last; 0.1 % of a pass
        if np.isnan(np.vdot(arrays[0], arrays[0])):
            raise UserError(f"{self.path} has weights of NaN or infinity; {EXPORT_AGAIN}")
        return arrays


FORMAT = 1  #: of the folders that this version writes and reads
DESCRIPTION = "runtime.json"
DICTIONARIES = "dictionaries.json"
WEIGHTS = "weights.bin"
SUBWORDS = "subwords.model"  #: a SentencePiece model
EXPORT_AGAIN = "export the model again with lev-export"


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_export(path: str | os.PathLike[str]) -> bool:
    """Returns whether a folder looks as if ``lev-export`` had written it."""
    return Path(path, DESCRIPTION).is_file()


class Folder:
    """The files of an exported model, every one of them as it was written.

    Attributes:
        model: the kind of model, as fairseq names it.
        description: what ``runtime.json`` holds.

    Raises:
        UserError: no such folder, none of this version, or a file that is missing, cut short or
            another one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.description = self._read_description()
        for name, expected in self.description["files"].items():
            file = self.path / name
            if Path(name).name != name:
                raise UserError(
                    f"{self.path / DESCRIPTION} names a file elsewhere, {name}; {EXPORT_AGAIN}"
                )
            if not file.is_file():
                raise UserError(f"{file} is missing; {EXPORT_AGAIN}")
            if digest(file) != expected["sha256"]:
                raise UserError(
                    f"{file} is not the file that was exported; copy it again, or {EXPORT_AGAIN}"
                )
        self.model: str = self.description["model"]

    def _read_description(self) -> dict[str, Any]:
        place = self.path / DESCRIPTION
        if not place.is_file():
            fault = f"{self.path} holds no exported model ({DESCRIPTION} is missing)"
            raise UserError(f"{fault}; make one with lev-export")
        try:
            content = json.loads(place.read_bytes())
            version, files, model = (content.get(name) for name in ("format", "files", "model"))
        except (OSError, ValueError, AttributeError) as error:
            raise UserError(f"{place} cannot be read ({error}); {EXPORT_AGAIN}") from None
        if version != FORMAT:
            raise UserError(
                f"{self.path} has format {version!r:.20}, and this version of lev_runtime reads "
                f"{FORMAT}; {EXPORT_AGAIN}, of the version that is installed here"
            )
        if not isinstance(files, Mapping) or not isinstance(model, str):
            raise UserError(f"{place} lacks the names of its files; {EXPORT_AGAIN}")
        return dict(content)

    @classmethod
    def holding(
        cls, models: Sequence[str], path: "str | os.PathLike[str] | Folder", reader: str
    ) -> "Folder":
        """Returns a folder, opened if it is a path, that holds one of these models.

        Raises:
            UserError: another model than ``reader``, the name of a class, reads.
        """
        folder = path if isinstance(path, Folder) else cls(path)
        if folder.model not in models:
            known = " or ".join(models)
            raise UserError(f"{folder.path} holds a {folder.model}, and {reader} reads a {known}")
        return folder

    def json(self, name: str) -> Any:
        """Reads a JSON file of the folder."""
        return json.loads((self.path / name).read_text("utf-8"))

    def session(self, graph: Mapping[str, Any], threads: int | None) -> Session:
        """Loads a graph of the folder; ``graph``: its entry in the description."""
        return Session(self.path / graph["file"], threads)

    def table(self, described: Mapping[str, Any]) -> np.ndarray:
        """Reads a table that is looked up outside of graphs, single precision."""
        shape, place, path = tuple(described["shape"]), described["offset"], self.path / WEIGHTS
        if "scales_offset" in described:
            scales = np.memmap(path, np.float32, "r", described["scales_offset"], (shape[0], 1))
            values = np.memmap(path, np.int8, "r", place, shape) * scales
        else:
            values = np.memmap(path, described["type"], "r", place, shape)
        if not np.isfinite(values).all():
            raise UserError(f"{path} has weights of NaN or infinity; {EXPORT_AGAIN}")
        return np.asarray(values).astype(np.float32, copy=False)
