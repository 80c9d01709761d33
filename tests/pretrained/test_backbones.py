"""From folders to backbones: every tensor in its place, and no code of a folder runs.

What they compute: test_parity.py.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import tiny
import torch
from checkpoints import LAYERS, Tensors, vocabulary_of
from fairseq.data import Dictionary
from refusals import refuses
from safetensors.torch import load_file, save_file

from lev_plugins.nn.backbone import Backbone
from lev_plugins.pretrained import Pretrained

WEIGHTS = "model.safetensors"


@pytest.fixture(params=checkpoints.KINDS)
def kind(request):
    return str(request.param)


@pytest.fixture
def folder(kind, tmp_path):
    return checkpoints.KINDS[kind](tmp_path / kind)


def loaded(folder: Path, tie: bool = False) -> tuple[Backbone, Dictionary]:
    symbols = checkpoints.dictionary(vocabulary_of(folder))
    return checkpoints.load(folder, symbols, symbols, tie), symbols


def inspect(folder: Path) -> None:
    """All that lev-backbone looks at."""
    pretrained = Pretrained(str(folder))
    both = pretrained.vocabulary.dictionary()
    pretrained.backbone(both, both)


def changed(folder: Path, **changes: Any) -> None:
    """Other settings in config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def rewritten(folder: Path, change: Callable[[Tensors], object]) -> None:
    """Other tensors in model.safetensors."""
    path = str(folder / WEIGHTS)
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def test_a_bert_is_the_same_under_the_names_of_a_larger_or_older_model(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert", prefix="bert.")
    before, _ = loaded(folder)

    def age(tensors: Tensors) -> None:
        for name in [*tensors]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma")
            old = old.replace("LayerNorm.bias", "LayerNorm.beta").removeprefix("bert.")
            tensors[old] = tensors.pop(name)

    rewritten(folder, age)
    after, _ = loaded(folder)
    for part in ("source", "encoder"):
        pairs = zip(*(getattr(both, part).parameters() for both in (before, after)), strict=True)
        assert all(torch.equal(*pair) for pair in pairs)


def test_a_tied_bert_is_one_encoder_with_a_new_cross_attention(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert")
    source, target = (checkpoints.dictionary(vocabulary_of(folder), shuffled=True) for _ in "ab")
    for other in (source, target):
        backbone = checkpoints.load(folder, source, other, tie=True)
        for reading, writing in zip(backbone.encoder.stack.blocks, backbone.blocks):
            assert writing.block is reading
        assert len(backbone.new) == 2 * LAYERS
        assert (backbone.source.table is backbone.target.table) == (other is source)
    backbone, _ = loaded(folder)
    assert backbone.blocks[1].block is not backbone.encoder.stack.blocks[1]
    assert backbone.output.table is backbone.target.table is not backbone.source.table


def test_a_dictionary_takes_the_rows_of_its_symbols_and_of_the_mask(folder, kind):
    backbone, symbols = loaded(folder)
    symbol = {"bert": "[MASK]", "bart": "<mask>", "t5": "<extra_id_0>"}[kind]
    assert backbone.mask == symbols.index(symbol) > 3
    assert backbone.max_source == (None if kind == "t5" else checkpoints.PLACES)
    few = tiny.dictionary(["sat", "cat"])
    backbone_of_few = checkpoints.load(folder, few, few)
    rows = backbone.source.table.weight[[symbols.index("sat"), symbols.index("cat")]]
    assert torch.equal(backbone_of_few.source.table.weight[4:], rows)
    assert backbone_of_few.mask is None
    few.add_symbol("dog")
    with refuses(folder, "'dog'", "lev-backbone"):
        checkpoints.load(folder, few, few)


Spoil = Callable[[Path], object]


def without(name: str) -> Spoil:
    return lambda folder: (folder / name).unlink()


def setting(**changes: Any) -> Spoil:
    return lambda folder: changed(folder, **changes)


MISH = dict.fromkeys(("hidden_act", "activation_function", "feed_forward_proj"), "mish")
#: what is wrong with a folder, and what the line says besides its name
FAULTS = [
    (shutil.rmtree, "no such folder"),
    (without(WEIGHTS), "model.safetensors or pytorch_model.bin"),
    (without("config.json"), "config.json"),
    (without("tokenizer.json"), "save_pretrained"),
    (setting(model_type="roberta"), "known: bert, bart, t5, mt5"),
    (setting(model_type=["bert"]), "known: bert, bart, t5, mt5"),
    (setting(num_attention_heads=0, encoder_attention_heads=0, num_heads=0), "_heads is 0"),
    (setting(hidden_size="8", d_model="8"), "is '8'; expected"),
    (setting(hidden_size=16, d_model=16), ""),
    (setting(num_hidden_layers=3, decoder_layers=3, num_layers=3), ""),
    (setting(**MISH), "'mish'"),
    (lambda f: rewritten(f, lambda t: t.update(another=torch.ones(2))), "another"),
    (lambda f: (f / "config.json").write_bytes(b"\xff"), "configuration"),
]


def test_what_is_wrong_with_a_folder_is_told(kind, tmp_path):
    for number, (spoil, message) in enumerate(FAULTS):
        spoil(folder := checkpoints.KINDS[kind](tmp_path / str(number)))
        with refuses(folder, message):
            inspect(folder)
    if kind != "bert":
        with refuses("--tie-backbone", kind):
            loaded(checkpoints.KINDS[kind](tmp_path / kind), tie=True)


def test_of_every_tensor_it_is_told_that_it_is_missing_or_of_another_shape(folder):
    path = str(folder / WEIGHTS)
    tensors = load_file(path)
    for name, value in tensors.items():
        if "pooler" in name or ".1." in name or name == "final_logits_bias":
            continue  # a second block is as the first
        save_file({**tensors, name: torch.cat([value, value], -1)}, path)
        with refuses(folder):
            inspect(folder)
        if name != "lm_head.weight":
            save_file({other: tensors[other] for other in tensors if other != name}, path)
            with refuses(folder, name.removeprefix("model."), "missing"):
                inspect(folder)


@pytest.mark.parametrize("kind, table", [("t5", "shared.weight"), ("bart", "model.shared.weight")])
def test_another_table_is_refused_and_heads_for_classes_are_left_out(folder, table):
    side, tensors = table.replace("shared", "decoder.embed_tokens"), load_file(folder / WEIGHTS)
    save_file({**tensors, side: tensors[table] + 1}, folder / WEIGHTS)
    with refuses(folder, "decoder.embed_tokens.weight"):
        loaded(folder)
    more = {side: tensors[table].clone(), "classification_head.dense.weight": torch.ones(2)}
    save_file({**tensors, **more}, folder / WEIGHTS)
    loaded(folder)  # a copy


@pytest.mark.parametrize("library", ["safetensors.torch", "tokenizers"])
def test_a_missing_library_is_named_with_the_way_to_get_it(folder, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with refuses(folder, f"{library}: pip install '.[pretrained]'"):
        inspect(folder)
