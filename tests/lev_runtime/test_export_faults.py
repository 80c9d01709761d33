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


#: family | file, table or description | what is changed
FAULTS = rows("""
levt | encoder | matrix 0 rows
levt | encoder | matrix 2 columns
levt | encoder | vector 0 lost
levt | encoder | vector -1 lost
levt | encoder | input mask 1
levt | encoder | norm -1 -3
levt | encoder | outputs key_token_0 value_token_0
levt | encoder | outputs key_token_0 key_token_1
levt | encoder | attribute Softmax axis 2
levt | encoder | lost Softmax 0
levt | encoder | matrix 3 nan
levt | decoder_deletion_placeholder | matrix 1 rows
levt | decoder_deletion_placeholder | matrix 8 columns
levt | decoder_deletion_placeholder | matrix 4 half
levt | decoder_deletion_placeholder | matrix -1 columns
levt | decoder_deletion_placeholder | vector 3 lost
levt | decoder_deletion_placeholder | input mask 1
levt | decoder_deletion_placeholder | input source_mask 1
levt | decoder_deletion_placeholder | norm -1 -4
levt | decoder_deletion_placeholder | attribute Softmax axis 1
levt | decoder_deletion_placeholder | attribute LayerNormalization epsilon 0.1
levt | decoder_deletion_placeholder | operator Relu Tanh
levt | decoder_token | input places 1
levt | decoder_token | operator ArgMax ArgMin
levt | decoder_token | operator ReduceMax ReduceMin
levt | decoder_token | operator Softmax LogSoftmax
levt | decoder_token | matrix -1 rows
levt | decoder_token | vector -1 lost
levt | decoder_token | input source_mask 1
levt | decoder_token | input key_token_0 0
levt | table | source rows
levt | table | target rows
levt | table | target last
levt | table | source_places rows
levt | table | source_places late
levt | table | target_places rows
levt | table | target_places late
levt | table | target_places nan
levt | described | graphs.scale = 2.857
levt | described | graphs.scale = 5.6
levt | described | graphs.decoders.0.heads = ["placeholder"]
levt | described | text.bpe = "characters"
levt | dictionaries.json | special.pad = 3
levt | dictionaries.json | special = {"bos": 2, "pad": 1, "eos": 0, "unk": 3}
levt | dictionaries.json | special.unk = 4
levt | dictionaries.json | placeholder = false
levt | dictionaries.json | source = 6⇄9
levt | dictionaries.json | target = ["a"]
traces | table | counts rows
traces | table | counts more
traces | table | mark sign
traces | table | mark lost
traces | encoder | outputs states pointer_keys
traces | decoder_deletion | input mask 1
traces | decoder_placeholder | matrix -1 columns
traces | decoder_placeholder | matrix -1 more
traces | decoder_token | input source_mask 1
traces | decoder_token | input places 0
traces | decoder_token | input source 5
traces | decoder_token | input pointer_keys 0
traces | decoder_token | operator Softmax Relu
traces | decoder_token | matrix -2 half
traces | described | graphs.decoders.0.file = "decoder_placeholder.onnx"
traces | described | graphs.tables.counts.offset = 0
stock | encoder | matrix 0 rows
stock | encoder | matrix 1 rows
stock | encoder | matrix -1 columns
stock | encoder | vector 1 lost
stock | encoder | operator Not Identity
stock | encoder | outputs key_cross_0 value_cross_0
stock | reader | input place 0
stock | reader | input place 5
stock | reader | input units 0
stock | reader | input parents 0
stock | reader | input source_mask 1
stock | reader | matrix 0 rows
stock | reader | matrix -1 late
stock | reader | matrix -1 half
stock | reader | vector 2 lost
stock | reader | operator LogSoftmax Softmax
stock | reader | attribute MultiHeadAttention num_heads 4
stock | reader | norm -1 -2
stock | block_reader | input place 0
stock | block_reader | input seen 1
stock | block_reader | input source_mask 1
stock | block_reader | input units 0
stock | block_reader | matrix -1 late
stock | block_reader | vector -2 lost
stock | block_reader | outputs key_past_0_next value_past_0_next
stock | block_reader | operator Relu Tanh
stock | described | graphs.heads = 1
stock | described | graphs.head_width = 4
stock | described | graphs.blocks = 2
stock | described | settings.joins_draft = true
stock | dictionaries.json | special.pad = 3
stock | dictionaries.json | special.eos = 0
stock | dictionaries.json | special.unk = 5
stock | dictionaries.json | source = 5⇄7
concat | encoder | operator Equal Less
concat | encoder | lost GatherElements 0
concat | encoder | operator CumSum Identity
concat | encoder | matrix 1 rows
concat | encoder | matrix 2 rows
concat | encoder | lost Clip 0
concat | reader | input parents 0
concat | reader | matrix 3 columns
concat | block_reader | vector 0 lost
concat | described | settings.joins_draft = false
pbd | encoder | outputs key_copied_0 value_copied_0
pbd | encoder | outputs key_copied_0 key_cross_0
pbd | encoder | operator Equal Less
pbd | reader | input place 1
pbd | reader | input source_mask 1
pbd | reader | input units 1
pbd | reader | operator Greater GreaterOrEqual
pbd | reader | operator And Or
pbd | reader | matrix 2 columns
pbd | reader | vector 4 lost
pbd | block_reader | operator Greater GreaterOrEqual
pbd | block_reader | operator And Or
pbd | block_reader | input seen 1
pbd | block_reader | matrix -1 rows
pbd | block_reader | attribute MultiHeadAttention num_heads 16
gated | encoder | outputs copied following
gated | encoder | operator Not Identity
gated | encoder | operator Sigmoid Tanh
gated | encoder | lost Where 0
gated | encoder | matrix -1 half
gated | reader | input copied 4
gated | reader | input source_mask 1
gated | reader | lost ReduceMean 0
gated | reader | vector -2 lost
gated | reader | matrix -1 rows
gated | block_reader | input copied 4
gated | block_reader | input units 0
gated | block_reader | input place 2
gated | block_reader | operator Log Neg
tagging | labeler | input mask 1
tagging | labeler | input latent_mask 1
tagging | labeler | input spans 1
tagging | labeler | input latent_spans 1
tagging | labeler | matrix 0 rows
tagging | labeler | matrix 2 rows
tagging | labeler | matrix -1 columns
tagging | labeler | vector 0 half
tagging | labeler | operator Gelu Relu
tagging | labeler | operator Abs Identity
tagging | labeler | attribute Softmax axis 2
tagging | labeler | operator And Or
tagging | labeler.json | labels = 0⇄1
tagging | labeler.json | kind = "classification"
tagging | labeler.json | pieces = "sentencepiece"
multilabel | labeler | input latents 0
multilabel | labeler | input mask 1
multilabel | labeler | matrix 5 half
multilabel | labeler | operator Greater Less
multilabel | labeler | lost Softmax 0
multilabel | labeler.json | labels = ["red"]
levt | described | settings.limits = [9, 9]
levt | described | model = "transformer"
pbd | reader | matrix 3 nan
stock | encoder | matrix 2 nan
tagging | labeler | matrix 3 nan
""")

#: what stays unseen in single precision and is put in where layers get their 8 bits
INT8_FAULTS = rows("""
wide | encoder | matrix 0 rows
wide | encoder | vector 0 lost
wide | encoder | input mask 1
wide | encoder | norm -1 -3
wide | encoder | attribute Softmax axis 2
wide | decoder_deletion_placeholder | norm -1 -4
wide | decoder_deletion_placeholder | vector 0 lost
wide | decoder_token | operator ArgMax ArgMin
wide | table | source_places rows
wide | described | graphs.scale = 5.6
wide | dictionaries.json | special.pad = 3
""")

#: settings that change no answer: a folder says what its writer meant
SETTINGS = rows("""
levt | described | settings.delete_threshold = 0.9
levt | described | settings.max_iter = 2
stock | described | settings.limit = 7
stock | described | settings.words_learnt = 3
tagging | labeler.json | threshold = 0.1
""")


@pytest.mark.parametrize("name, file, fault", FAULTS)
def test_a_fault_is_refused_with_nothing_written(name, file, fault, tmp_path):
    with refuses("nothing was written"):
        write(tmp_path / "out", name, file, fault)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name, file, fault", INT8_FAULTS)
def test_a_fault_of_8_bits_alone_is_refused_too(name, file, fault, tmp_path):
    with refuses("nothing was written"):
        write(tmp_path / "out", name, file, fault, into_int8=True)


@pytest.mark.parametrize("name, file, fault", SETTINGS)
def test_settings_are_what_they_were_set_to(name, file, fault, tmp_path):
    write(tmp_path / "out", name, file, fault)
    Folder(tmp_path / "out")
