"""From folders to backbones: every tensor in its place, and every broken folder named."""

import json
import pickle
import re
import struct
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import torch
from checkpoints import DIM, LAYERS, NO_DROPOUT, Model, Tensors, vocabulary_of
from fairseq.data import Dictionary
from refusals import refuses
from safetensors.torch import load_file, save_file

from lev_plugins.errors import UserError
from lev_plugins.nn.backbone import Backbone
from lev_plugins.pretrained import build_backbone, describe_backbone, inspect, load_backbone


@pytest.fixture(params=checkpoints.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(kind: str, tmp_path: Path) -> Path:
    return checkpoints.KINDS[kind](tmp_path / kind)


def loaded(folder: Path, tie: bool = False) -> tuple[Backbone, Dictionary]:
    symbols = checkpoints.dictionary(vocabulary_of(folder))
    return checkpoints.load(folder, symbols, symbols, tie), symbols


def refused(folder: Path, *parts: str) -> None:
    """That loading ends in one line that has all of ``parts``."""
    symbols = Dictionary()
    with refuses(*parts):
        load_backbone(str(folder), symbols, symbols, **NO_DROPOUT)


def changed(folder: Path, **changes: Any) -> None:
    """Other settings in config.json; None takes one away."""
    path = folder / "config.json"
    found = {**json.loads(path.read_text()), **changes}
    kept = {name: value for name, value in found.items() if value is not None}
    path.write_text(json.dumps(kept))


def rewritten(folder: Path, change: Any) -> None:
    """Other tensors in model.safetensors."""
    path = str(folder / "model.safetensors")
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


# what they compute: test_parity.py ------------------------------------------------------------


@torch.no_grad()
def test_a_bert_without_the_prefix_of_a_larger_model_is_the_same(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert", prefix="bert.")
    expected, symbols = loaded(folder)
    rewritten(
        folder,
        lambda tensors: [
            tensors.update({name.removeprefix("bert."): tensors.pop(name)}) for name in [*tensors]
        ],
    )
    tokens = checkpoints.sentences(symbols, 6, 3)
    states = [Model(one, symbols, symbols).encode(tokens) for one in (expected, loaded(folder)[0])]
    assert torch.equal(*states)


# decoders from BERT --------------------------------------------------------------------------


def test_a_tied_bert_is_one_encoder_with_a_new_cross_attention(tmp_path):
    backbone, _ = loaded(checkpoints.bert(tmp_path / "bert"), tie=True)
    for reading, writing in zip(backbone.encoder.stack.blocks, backbone.blocks):
        assert writing.block is reading
    assert backbone.source is backbone.target
    assert len(backbone.new) == 2 * LAYERS
    assert {id(part) for part in backbone.new} == {
        id(part) for block in backbone.blocks for part in (block.cross_attention, block.cross_norm)
    }


def test_an_untied_bert_starts_from_the_same_weights(tmp_path):
    backbone, _ = loaded(checkpoints.bert(tmp_path / "bert"))
    reading, writing = backbone.encoder.stack.blocks[1], backbone.blocks[1].block
    assert reading is not writing
    assert reading.fc1.weight is not writing.fc1.weight
    for one, other in zip(reading.parameters(), writing.parameters()):
        assert torch.equal(one, other)
    assert backbone.output.table is backbone.target.table is not backbone.source.table


def test_tied_sides_with_dictionaries_of_their_own_share_all_but_the_table(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert")
    source, target = (checkpoints.dictionary(vocabulary_of(folder), shuffled=True) for _ in "ab")
    backbone = checkpoints.load(folder, source, target, tie=True)
    assert backbone.source.positions is backbone.target.positions
    assert backbone.source.table is not backbone.target.table


def test_the_oldest_names_of_norms_are_understood(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert")
    expected, _ = loaded(folder)

    def age(tensors: Tensors) -> None:
        for name in [name for name in tensors if "LayerNorm" in name]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma")
            tensors["bert." + old.replace("LayerNorm.bias", "LayerNorm.beta")] = tensors.pop(name)

    rewritten(folder, age)
    found, _ = loaded(folder)
    assert torch.equal(found.source.norm.weight, expected.source.norm.weight)
    assert torch.equal(
        found.blocks[1].block.feed_norm.bias, expected.blocks[1].block.feed_norm.bias
    )


# dictionaries, files and precisions ----------------------------------------------------------


def test_the_mask_is_a_row_of_the_source(folder, kind):
    backbone, symbols = loaded(folder)
    symbol = {"bert": "[MASK]", "bart": "<mask>", "t5": "<extra_id_0>"}[kind]
    assert backbone.mask == symbols.index(symbol) > 3
    assert backbone.max_source == (None if kind == "t5" else checkpoints.PLACES)


def test_a_dictionary_with_some_of_the_symbols_takes_their_rows(folder):
    whole, symbols = loaded(folder)
    few = Dictionary()
    for symbol in ("sat", "cat", "madeupword0000"):
        few.add_symbol(symbol)
    backbone = checkpoints.load(folder, few, few)
    table, of = backbone.source.table.weight, whole.source.table.weight
    assert torch.equal(table[4:6], of[[symbols.index("sat"), symbols.index("cat")]])
    assert bool(table.isfinite().all()) and float(table[6].detach().abs().sum()) > 0
    assert backbone.mask is None


def test_symbols_that_the_model_does_not_know_are_named(folder):
    symbols = Dictionary()
    for symbol in ("cat", "dog", "cow"):
        symbols.add_symbol(symbol)
    with pytest.raises(UserError, match="does not know: 'dog' 'cow'; make one with"):
        checkpoints.load(folder, symbols, symbols)


def test_a_description_is_enough_to_fill_the_model_from_a_checkpoint(folder, kind):
    backbone, symbols = loaded(folder)
    description = describe_backbone(str(folder))
    (folder / "config.json").unlink()
    again = build_backbone(description, symbols, symbols, **NO_DROPOUT)
    ours, theirs = (Model(one, symbols, symbols) for one in (backbone, again))
    tokens = checkpoints.sentences(symbols, 4, 2)
    before = checkpoints.prefixes(tokens, symbols.eos())
    assert again.mask == backbone.mask and len(again.new) == len(backbone.new)
    assert not torch.allclose(ours.decode(tokens, before)[1], theirs.decode(tokens, before)[1])
    for one, other in ((again.encoder, backbone.encoder), (again.source, backbone.source)):
        one.load_state_dict(other.state_dict())
    theirs.decoder.load_state_dict(ours.decoder.state_dict())
    torch.testing.assert_close(
        theirs.decode(tokens, before), ours.decode(tokens, before), rtol=0, atol=0
    )


@pytest.mark.parametrize(
    "change",
    [{"dim": "8"}, {"layers": 10**9}, {"eps": -1.0}, {"head": 1}, {"activation": "no"}, {"x": 1}],
    ids=lambda change: next(iter(change)),
)
def test_a_description_that_is_none_is_refused(tmp_path, change):
    description = describe_backbone(str(checkpoints.bert(tmp_path / "bert")))
    found = json.loads(description)
    found["plan"].update(change)
    symbols = Dictionary()
    for wrong in (json.dumps(found), "x", "[]", "{}"):
        with pytest.raises(UserError, match="not the description of a backbone"):
            build_backbone(wrong, symbols, symbols, **NO_DROPOUT)


def shards(tensors: Tensors, folder: Path, ending: str, store: Any) -> None:
    """The tensors in two files with an index."""
    stem = ending.split(".")[0]
    names = sorted(tensors)
    places = {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = f"{stem}-0000{number}-of-00002.{ending.split('.')[1]}"
        store({name: tensors[name] for name in part}, folder / file)
        places.update(dict.fromkeys(part, file))
    index = {"metadata": {}, "weight_map": places}
    (folder / f"{ending}.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("form", ["pickle", "safetensors shards", "pickle shards", "half"])
def test_weights_come_in_several_forms(folder, form):
    expected, _ = loaded(folder)
    path = folder / "model.safetensors"
    tensors = load_file(str(path))
    path.unlink()
    if form == "pickle":
        torch.save(tensors, folder / "pytorch_model.bin")
    elif form == "pickle shards":
        shards(tensors, folder, "pytorch_model.bin", torch.save)
    elif form == "safetensors shards":
        shards(tensors, folder, "model.safetensors", lambda found, to: save_file(found, str(to)))
    else:
        save_file({name: value.bfloat16() for name, value in tensors.items()}, str(path))
    found, _ = loaded(folder)
    close = {"rtol": 1e-2, "atol": 1e-2} if form == "half" else {"rtol": 0, "atol": 0}
    table = found.source.table.weight
    assert table.dtype == torch.float32
    torch.testing.assert_close(table, expected.source.table.weight, **close)
    theirs = expected.blocks[1].block.fc2.weight
    torch.testing.assert_close(found.blocks[1].block.fc2.weight, theirs, **close)


def test_an_inspection_counts_and_names_what_is_left(tmp_path):
    found = inspect(str(checkpoints.bert(tmp_path / "bert")))
    assert found.kind == "bert" and found.sizes["layers"] == LAYERS
    assert sorted(found.left) == ["pooler.dense.bias", "pooler.dense.weight"]
    cross = 4 * (DIM * DIM + DIM) + 2 * DIM
    assert found.new == LAYERS * cross
    assert len(found.dictionary) == len(checkpoints.BERT_TOKENS)


# what is refused -----------------------------------------------------------------------------


def test_folders_without_their_parts_are_named(folder):
    refused(folder / "nowhere", "nowhere: no such folder", "nothing is downloaded")
    for name, said in (
        ("model.safetensors", "no weights in it: model.safetensors or pytorch_model.bin"),
        ("config.json", "no config.json in it"),
    ):
        (folder / name).unlink()
        refused(folder, str(folder), said)


def test_a_folder_without_a_tokenizer_is_named(folder):
    for name in ("vocab.txt", "vocab.json", "tokenizer.json"):
        (folder / name).unlink(missing_ok=True)
    refused(folder, str(folder), "no vocabulary in it: tokenizer.json or")


def test_kinds_of_models_that_are_not_known_are_named(folder):
    changed(folder, model_type="roberta")
    refused(folder, "config.json: model_type is 'roberta'; known are bert, bart, t5 and mt5")
    changed(folder, model_type=["bert"])
    refused(folder, "config.json: model_type is ['bert'], not a text")


WIDTH = {"bert": "hidden_size", "bart": "d_model", "t5": "d_model"}
DEPTH = {"bert": "num_hidden_layers", "bart": "decoder_layers", "t5": "num_layers"}


@pytest.mark.parametrize("value", [10**12, 0, -1, "8", 8.5, True, None])
def test_sizes_that_are_none_are_refused_before_anything_is_made(folder, kind, value):
    changed(folder, **{WIDTH[kind]: value})
    refused(folder, "config.json", WIDTH[kind])


@pytest.mark.parametrize("value", [1, 3, 2**24])
def test_depths_that_the_file_has_not_are_refused(folder, kind, value):
    changed(folder, **{DEPTH[kind]: value})
    refused(folder, "model.safetensors: has the blocks of 2 layers", f"{DEPTH[kind]} {value}")


def test_widths_that_the_tensors_have_not_are_refused(folder, kind):
    changed(folder, **{WIDTH[kind]: 16})
    refused(folder, "model.safetensors", "(", "8)", "16)", "after config.json")


@pytest.mark.parametrize(
    "kind, changes, said",
    [
        ("bert", {"num_attention_heads": 3}, "num_attention_heads 3 does not divide"),
        ("bert", {"position_embedding_type": "relative_key"}, "known are absolute"),
        ("bert", {"hidden_act": "mish"}, "hidden_act is 'mish'; known are relu"),
        ("bert", {"is_decoder": True}, "an encoder is wanted"),
        ("bert", {"layer_norm_eps": "x"}, "layer_norm_eps is 'x'"),
        ("bart", {"encoder_attention_heads": 5}, "encoder_attention_heads 5 does not divide"),
        ("bart", {"max_position_embeddings": 7}, "(9, 8) after config.json"),
        ("t5", {"feed_forward_proj": "gated-tanh"}, "feed_forward_proj is 'gated-tanh'"),
        ("t5", {"relative_attention_num_buckets": 7}, "do not go together"),
        ("t5", {"d_kv": 4}, "(6, 8) and should be (8, 8)"),
        ("t5", {"num_heads": 3, "d_kv": 2}, "relative_attention_bias.weight is (8, 2)"),
    ],
)
def test_settings_that_cannot_be_are_named(kind, tmp_path, changes, said):
    folder = checkpoints.KINDS[kind](tmp_path / kind)
    changed(folder, **changes)
    refused(folder, said)


def test_every_missing_tensor_is_named(folder):
    path = str(folder / "model.safetensors")
    whole = load_file(path)
    for name in whole:
        if "pooler" in name or name in ("final_logits_bias", "lm_head.weight"):
            continue
        save_file({other: value for other, value in whole.items() if other != name}, path)
        refused(folder, "model.safetensors", name.removeprefix("model."), "missing")


def test_every_tensor_of_another_shape_is_named(folder):
    path = str(folder / "model.safetensors")
    whole = load_file(path)
    for name, value in whole.items():
        if "pooler" in name:
            continue
        wrong = {**whole, name: torch.cat([value, value], -1)}
        save_file(wrong, path)
        refused(folder, "model.safetensors", name.removeprefix("model."))
    name = next(name for name in whole if name.endswith("weight"))
    save_file({**whole, name: whole[name].flatten()[0].clone()}, path)
    refused(folder, "model.safetensors", name.removeprefix("model."))


def test_tensors_of_another_model_are_named(folder):
    rewritten(folder, lambda tensors: tensors.update({"adapter.weight": torch.ones(2)}))
    refused(folder, "no place in such a model: adapter.weight")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(folder, value):
    def spoil(tensors: Tensors) -> None:
        next(tensors[name] for name in tensors if "1" in name).view(-1)[0] = value

    rewritten(folder, spoil)
    refused(folder, "model.safetensors", "not finite")


def test_whole_numbers_are_no_weights(folder, kind):
    name = {"bert": "embeddings.LayerNorm.bias", "bart": "final_logits_bias"}.get(
        kind, "encoder.final_layer_norm.weight"
    )

    def quantise(tensors: Tensors) -> None:
        tensors[name] = tensors[name].to(torch.int8)

    rewritten(folder, quantise)
    refused(folder, name, "holds torch.int8, not floating point")


def test_files_that_were_cut_short_are_named(folder):
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    for length in (0, 4, 8, 100, header - 1, header, header + 10, len(whole) - 1):
        path.write_bytes(whole[:length])
        refused(folder, "model.safetensors: damaged or cut short", "copy it again")


class Evil:
    def __reduce__(self) -> Any:
        return (print, ("code from a checkpoint has run",))


@pytest.mark.parametrize("content", ["code", "cut", "text", "list", "object"])
def test_pickles_that_cannot_be_trusted_are_refused(folder, content, capsys):
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    if content == "code":
        torch.save({"a": Evil()}, path)
    elif content == "cut":
        torch.save({"a": torch.ones(1000)}, path)
        path.write_bytes(path.read_bytes()[:-900])
    elif content == "object":
        path.write_bytes(pickle.dumps(Evil()))
    elif content == "list":
        torch.save([torch.ones(2)], path)
    else:
        path.write_text("<html>not found</html>")
    refused(folder, "pytorch_model.bin")
    assert "has run" not in capsys.readouterr().out


@pytest.mark.parametrize("place", ["../model.safetensors", "/etc/passwd", "gone", 7, ""])
def test_an_index_that_leads_elsewhere_is_refused(folder, place):
    (folder / "model.safetensors").rename(folder.parent / "model.safetensors")
    index = {"weight_map": {"shared.weight": place}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, "model.safetensors.index.json", repr(place), "not there")


def test_an_index_without_a_map_or_with_a_false_one_is_refused(folder):
    index, shard = folder / "model.safetensors.index.json", folder / "a.safetensors"
    (folder / "model.safetensors").rename(shard)
    index.write_text("{}")
    refused(folder, "model.safetensors.index.json: no weight_map in it")
    index.write_text(json.dumps({"weight_map": {"nothing": "a.safetensors"}}))
    refused(folder, "a.safetensors: lacks nothing")


def test_a_tokenizer_of_another_model_is_refused(folder, kind):
    tokens = {f"word{i}": i for i in range(200)}
    if kind == "t5":
        tokens = dict.fromkeys(checkpoints.T5_TOKENS, 99)
    found = checkpoints.tokenizer_json("BPE", [])
    found["model"]["vocab"] = tokens
    (folder / "tokenizer.json").write_text(json.dumps(found))
    refused(folder, "tokenizer.json", "99" if kind == "t5" else "special token")


def test_tying_is_for_bert(folder, kind):
    symbols = checkpoints.dictionary(vocabulary_of(folder))
    if kind == "bert":
        checkpoints.load(folder, symbols, symbols, tie=True)
        return
    with pytest.raises(UserError, match=f"--tie-backbone: {kind} has a decoder of its own"):
        checkpoints.load(folder, symbols, symbols, tie=True)


def test_a_missing_library_is_named_with_the_way_to_get_it(folder, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "safetensors", None)
    refused(folder, "model.safetensors", "safetensors: pip install 'lev_plugins[pretrained]'")


def test_messages_hold_no_line_breaks(folder):
    changed(folder, model_type="a\nb")
    with pytest.raises(UserError) as caught:
        loaded(folder)
    assert re.search(r"a\\nb", str(caught.value))
