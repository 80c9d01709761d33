"""Faults put into exported folders are refused, however the folder's graphs were written."""

import copy
import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import editors
import numpy as np
import onnx
import pytest
import saved
import tiny
import torch
from exported import with_biases
from fairseq import tasks
from onnx import helper, numpy_helper
from refusals import refuses
from tables import rows

from lev_plugins import LevenshteinEditor
from lev_plugins.export.folder import (
    Writer,
    editor_writer,
    generator_writer,
    labeler_writer,
    write_folder,
)
from lev_plugins.inference.generation import GeneratingParts
from lev_plugins.inference.text_processing import TextProcessing
from lev_runtime.folder import WEIGHTS, Folder

WIDE = {"encoder_embed_dim": 128, "encoder_ffn_embed_dim": 160}
WIDE |= {"decoder_embed_dim": 128, "decoder_ffn_embed_dim": 160}


def levt(**options: Any) -> Writer:
    task = tiny.task(joined=True)
    model = with_biases(tiny.model(task, 3, share_all_embeddings=True, **options))
    if model.deleted is not None:
        torch.nn.init.normal_(model.deleted.count.weight)
    return editor_writer(LevenshteinEditor([model], task))


def generator(kind: str) -> Writer:
    cfg = copy.deepcopy(saved.parsed(Path("nowhere/bin"), kind))
    task = tasks.TASK_REGISTRY[cfg.task._name](cfg.task, tiny.dictionary(), tiny.dictionary())
    model = saved.untrained(cfg, task)
    return generator_writer(GeneratingParts(model, task, cfg, TextProcessing(), True), {})


def labeler(kind: str) -> Writer:
    with patch.dict(editors.ENCT5, decoder_layers=2):
        model = editors.enct5(kind)
    with_biases(model.model)
    return labeler_writer(model)


FAMILIES: dict[str, Callable[[], Writer]] = {
    "levt": lambda: levt(source_copy="uniform", encoder_learned_pos=True, decoder_learned_pos=True),
    "traces": lambda: levt(deletion_trace=True, source_pointer=True, early_exit="2,1,2"),
    "wide": lambda: levt(**WIDE),
    **{kind: lambda kind=kind: generator(kind) for kind in ("stock", "concat", "pbd", "gated")},
    **{kind: lambda kind=kind: labeler(kind) for kind in ("tagging", "multilabel")},
}
family = cache(lambda name: FAMILIES[name]())


# faults -----------------------------------------------------------------------------------------


def renamed(graph: onnx.GraphProto, names: dict[str, str]) -> None:
    """Lets nodes read other values."""
    for node in graph.node:
        node.input[:] = [names.get(each, each) for each in node.input]


def matrix(graph: onnx.GraphProto, number: str, how: str, dims: int = 2) -> None:
    """Changes a weight."""
    large = [t for t in graph.initializer if len(t.dims) == dims and t.dims[0] > 2]
    chosen = [tensor for tensor in large if tensor.data_type in (1, 10)][int(number)]
    values = np.ascontiguousarray(CHANGES[how](numpy_helper.to_array(chosen)))
    chosen.CopyFrom(numpy_helper.from_array(values, chosen.name))


def constant_input(graph: onnx.GraphProto, name: str, value: str) -> None:
    """Makes an input's values one number, in its shape: as if a trace had baked it."""
    (given,) = [each for each in graph.input if each.name == name]
    kind = given.type.tensor_type.elem_type
    renamed(graph, {name: "always"})
    graph.initializer.append(helper.make_tensor("value", kind, [], [int(value)]))
    nothing = helper.make_node("Sub", [name, name], ["nothing"])
    if kind == onnx.TensorProto.FLOAT:  # −∞ − −∞ is no number
        nothing = helper.make_node("Clip", [name, "value", "value"], ["nothing"])
    graph.node.insert(0, nothing)
    graph.node.insert(1, helper.make_node("Add", ["nothing", "value"], ["always"]))


def operator(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Makes the last node of a kind one of another."""
    [node for node in graph.node if node.op_type == old][-1].op_type = new


def attribute(graph: onnx.GraphProto, of: str, name: str, value: str) -> None:
    """Sets an attribute of all nodes of a kind."""
    number = helper.make_attribute(name, float(value) if "." in value else int(value))
    for node in [node for node in graph.node if node.op_type == of]:
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, number])


def norm(graph: onnx.GraphProto, later: str, earlier: str) -> None:
    """Lets an earlier norm's values be read in place of a later one's: a block is left out."""
    norms = [node.output[0] for node in graph.node if "LayerNorm" in node.op_type]
    renamed(graph, {norms[int(later)]: norms[int(earlier)]})


def lost(graph: onnx.GraphProto, of: str, number: str) -> None:
    """Lets a node give what it gets."""
    chosen = [node for node in graph.node if node.op_type == of][int(number)]
    del chosen.input[1:], chosen.attribute[:]
    chosen.op_type, chosen.domain = "Identity", ""


def outputs(graph: onnx.GraphProto, first: str, second: str) -> None:
    """Exchanges two outputs."""
    names = {first: second, second: first}
    for node in graph.node:
        node.output[:] = [names.get(each, each) for each in node.output]


IN_GRAPHS: dict[str, Callable[..., None]] = {
    "matrix": matrix,
    "vector": partial(matrix, dims=1),
    "input": constant_input,
    "operator": operator,
    "attribute": attribute,
    "norm": norm,
    "lost": lost,
    "outputs": outputs,
}
CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": lambda values: np.roll(values, 1, 0),
    "columns": lambda values: np.roll(values, 1, 1),
    "half": lambda values: values / 2,
    "lost": np.zeros_like,
    "sign": lambda values: -values,
    "more": lambda values: values + 1,
    "last": lambda values: np.concatenate([values[:-1], values[-1:] + 1]),
    "late": lambda values: np.concatenate([values[:28], values[28:][::-1]]),
    "nan": lambda values: values * np.nan,
}


def in_table(folder: Path, described: dict[str, Any], name: str, how: str) -> None:
    """Writes other values into a table that is looked up outside of the graphs."""
    table = described["graphs"]["tables"][name]
    kind = np.dtype(table["type"])
    values = np.memmap(folder / WEIGHTS, kind, "r+", table["offset"], tuple(table["shape"]))
    values[:] = CHANGES[how](np.array(values))
    values.flush()


def in_settings(content: Any, path: str, value: str) -> None:
    """Sets a number, or exchanges two entries of a list."""
    *parents, name = path.split(".")
    for parent in parents:
        content = content[int(parent) if isinstance(content, list) else parent]
    if "⇄" in value:
        first, second = map(int, value.split("⇄"))
        listed = content[name]
        listed[first], listed[second] = listed[second], listed[first]
    else:
        content[name] = json.loads(value)


def damage(folder: Path, described: dict[str, Any], file: str, fault: str) -> None:
    """Puts a fault into a folder that was just written."""
    path = folder / file
    if file == "table":
        in_table(folder, described, *fault.split())
    elif file == "described":
        in_settings(described, *fault.split(" = "))
    elif file.endswith(".json"):
        in_settings(content := json.loads(path.read_text()), *fault.split(" = "))
        path.write_text(json.dumps(content))
    else:
        model = onnx.load(path := folder / f"{file}.onnx")
        kind, *words = fault.split()
        IN_GRAPHS[kind](model.graph, *words)
        onnx.save(model, path)


def write(out: Path, name: str, file: str, fault: str, into_int8: bool = False) -> None:
    """Writes a folder of a model into which a fault was put."""
    writer = family(name)

    def write_damaged(folder: Path, int8: bool) -> dict[str, Any]:
        described = writer.write(folder, int8)
        if int8 == into_int8:
            damage(folder, described, file, fault)
        return described

    write_folder(out, writer._replace(write=write_damaged), into_int8)


#: where it is put in (in single precision, where layers get their 8 bits, which it then is unseen
#: before, or in settings, which change no answer) | family | file, table or description | fault
FAULTS = rows((Path(__file__).parent / "export_faults.txt").read_text("utf-8"))


#: faults that are refused, and those in settings that change no answer
REFUSED = [row for row in FAULTS if row[0] != "set"]
SET = [fault for where, *fault in FAULTS if where == "set"]


@pytest.mark.parametrize("precision, name, file, fault", REFUSED)
def test_a_fault_is_refused_with_nothing_written(precision, name, file, fault, tmp_path):
    with refuses("nothing was written"):
        write(tmp_path / "out", name, file, fault, precision == "int8")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name, file, fault", SET)
def test_settings_are_read_as_they_were_set(name, file, fault, tmp_path):
    write(tmp_path / "out", name, file, fault)
    content = Folder(tmp_path / "out").description
    if file != "described":
        content = json.loads((tmp_path / "out" / file).read_text("utf-8"))
    expected = copy.deepcopy(content)
    in_settings(expected, *fault.split(" = "))
    assert content == expected
