"""From folders to backbones: every tensor in its place, and no code of a folder runs.

What they compute: test_parity.py.
"""

import json
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoints
import damage
import pytest
import torch
from checkpoints import LAYERS, NO_DROPOUT, T5_1, Model, Tensors, vocabulary_of
from fairseq.data import Dictionary
from refusals import refuses
from safetensors.torch import load_file, save_file

from lev_plugins.nn.backbone import Backbone
from lev_plugins.pretrained import Pretrained, build_backbone

WEIGHTS, PICKLE = "model.safetensors", "pytorch_model.bin"


@pytest.fixture(params=checkpoints.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(kind: str, tmp_path: Path) -> Path:
    return checkpoints.KINDS[kind](tmp_path / kind)


def loaded(folder: Path, tie: bool = False) -> tuple[Backbone, Dictionary]:
    symbols = checkpoints.dictionary(vocabulary_of(folder))
    return checkpoints.load(folder, symbols, symbols, tie), symbols


def inspect(folder: Path) -> None:
    """All that lev-backbone looks at."""
    found = Pretrained(str(folder))
    both = found.vocabulary.dictionary()
    found.backbone(both, both)


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


# BERTs and their decoders --------------------------------------------------------------------


def test_a_bert_is_the_same_under_the_names_of_a_larger_or_older_model(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert", prefix="bert.")
    expected, symbols = loaded(folder)

    def age(tensors: Tensors) -> None:
        for name in [*tensors]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma")
            old = old.replace("LayerNorm.bias", "LayerNorm.beta").removeprefix("bert.")
            tensors[old] = tensors.pop(name)

    rewritten(folder, age)
    tokens = checkpoints.sentences(symbols, 6, 3)
    states = [Model(one, symbols, symbols).encode(tokens) for one in (expected, loaded(folder)[0])]
    assert torch.equal(*states)


def test_a_tied_bert_is_one_encoder_with_a_new_cross_attention(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert")
    backbone, _ = loaded(folder, tie=True)
    for reading, writing in zip(backbone.encoder.stack.blocks, backbone.blocks):
        assert writing.block is reading
    assert backbone.source.table is backbone.target.table
    assert len(backbone.new) == 2 * LAYERS
    # sides with dictionaries of their own share all but the table
    source, target = (checkpoints.dictionary(vocabulary_of(folder), shuffled=True) for _ in "ab")
    backbone = checkpoints.load(folder, source, target, tie=True)
    assert backbone.source.positions is backbone.target.positions
    assert backbone.source.norm is backbone.target.norm
    assert backbone.source.table is not backbone.target.table


def test_an_untied_bert_starts_from_the_same_weights(tmp_path):
    backbone, _ = loaded(checkpoints.bert(tmp_path / "bert"))
    reading, writing = backbone.encoder.stack.blocks[1], backbone.blocks[1].block
    for one, other in zip(reading.parameters(), writing.parameters(), strict=True):
        assert one is not other and torch.equal(one, other)
    assert backbone.output.table is backbone.target.table is not backbone.source.table


def test_the_mask_is_a_row_of_the_source(folder, kind):
    backbone, symbols = loaded(folder)
    symbol = {"bert": "[MASK]", "bart": "<mask>", "t5": "<extra_id_0>"}[kind]
    assert backbone.mask == symbols.index(symbol) > 3
    assert backbone.max_source == (None if kind == "t5" else checkpoints.PLACES)


def test_a_dictionary_with_some_of_the_symbols_takes_their_rows(folder):
    whole, symbols = loaded(folder)
    few = Dictionary()
    for symbol in ("sat", "cat"):
        few.add_symbol(symbol)
    table, of = (checkpoints.load(folder, few, few), whole)
    rows = [symbols.index("sat"), symbols.index("cat")]
    assert torch.equal(table.source.table.weight[4:], of.source.table.weight[rows])
    assert table.mask is None
    few.add_symbol("dog")
    with refuses(folder, "'dog'", "lev-backbone"):
        checkpoints.load(folder, few, few)


def test_a_description_is_enough_to_fill_the_model_from_a_checkpoint(folder):
    backbone, symbols = loaded(folder)
    description = Pretrained(str(folder)).description()
    shutil.rmtree(folder)
    again = build_backbone(description, symbols, symbols, **NO_DROPOUT)
    assert again.mask == backbone.mask and len(again.new) == len(backbone.new)
    ours, theirs = (Model(one, symbols, symbols) for one in (backbone, again))
    for one, other in ((again.encoder, backbone.encoder), (again.source, backbone.source)):
        one.load_state_dict(other.state_dict())
    theirs.decoder.load_state_dict(ours.decoder.state_dict())
    tokens = checkpoints.sentences(symbols, 4, 2)
    before = checkpoints.prefixes(tokens, symbols.eos())
    for found, expected in zip(theirs.decode(tokens, before), ours.decode(tokens, before)):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("parts", [1, 2])
def test_weights_may_be_pickles_whole_or_in_parts(folder, parts):
    """Other forms: test_parity.py."""
    expected, symbols = loaded(folder)
    tensors = load_file(str(folder / WEIGHTS))
    (folder / WEIGHTS).unlink()
    for part in range(parts):
        name = PICKLE if parts == 1 else f"pytorch_model-0000{part + 1}-of-00002.bin"
        torch.save({key: tensors[key] for key in sorted(tensors)[part::parts]}, folder / name)
    tokens = checkpoints.sentences(symbols, 4, 2)
    states = [Model(one, symbols, symbols).encode(tokens) for one in (expected, loaded(folder)[0])]
    assert torch.equal(*states)


def without(*names: str) -> Callable[[Path], object]:
    return lambda folder: [(folder / name).unlink(missing_ok=True) for name in names]


def with_tensor(**tensors: torch.Tensor) -> Callable[[Path], object]:
    return lambda folder: rewritten(folder, lambda found: found.update(tensors))


def setting(**changes: Any) -> Callable[[Path], object]:
    return lambda folder: changed(folder, **changes)


WIDTH = {"bert": "hidden_size", "bart": "d_model", "t5": "d_model"}
DEPTH = {"bert": "num_hidden_layers", "bart": "decoder_layers", "t5": "num_layers"}
TOKENIZERS = ("vocab.txt", "vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json")
#: what is wrong with a folder, and what the line says besides its name
FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no weights": (without(WEIGHTS), "model.safetensors or pytorch_model.bin"),
    "no configuration": (without("config.json"), "config.json"),
    "no tokenizer": (without(*TOKENIZERS), "tokenizer.json"),
    "another model": (setting(model_type="roberta"), "known are bert, bart, t5, mt5"),
    "no model": (setting(model_type="a\nb"), "configuration"),
    "another tensor": (with_tensor(**{"adapter.weight": torch.ones(2)}), "adapter.weight"),
    "a list": (lambda f: (f / "config.json").write_text("[1]"), "configuration"),
    "no text": (lambda f: (f / "config.json").write_bytes(b"\xff"), "configuration"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_a_folder_is_told(folder, fault):
    spoil, said = FAULTS[fault]
    spoil(folder)
    with refuses(folder, said):
        inspect(folder)


def test_sizes_that_the_weights_have_not_are_told(folder, kind):
    for name, value in ((WIDTH[kind], 16), (DEPTH[kind], 1), (DEPTH[kind], 3)):
        before = (folder / "config.json").read_bytes()
        changed(folder, **{name: value})
        with refuses(folder):
            inspect(folder)
        (folder / "config.json").write_bytes(before)
    changed(folder, hidden_act="mish", activation_function="mish", feed_forward_proj="mish")
    with refuses(folder, "'mish'"):
        inspect(folder)


def test_a_folder_that_is_none_and_other_options_are_refused(tmp_path):
    with refuses("nowhere: no such folder", "nothing is downloaded"):
        inspect(tmp_path / "nowhere")
    for kind in ("bart", "t5"):
        symbols = Dictionary()
        with refuses(f"--tie-backbone: {kind}"):
            checkpoints.load(checkpoints.KINDS[kind](tmp_path / kind), symbols, symbols, tie=True)


def test_of_every_tensor_it_is_told_that_it_is_missing_or_of_another_shape(folder):
    path = str(folder / WEIGHTS)
    whole = load_file(path)
    for name, value in whole.items():
        if "pooler" in name or ".1." in name:  # a second block is as the first
            continue
        if name != "final_logits_bias":
            save_file({**whole, name: torch.cat([value, value], -1)}, path)
            with refuses(folder):
                inspect(folder)
        if name not in ("final_logits_bias", "lm_head.weight"):
            save_file({other: value for other, value in whole.items() if other != name}, path)
            with refuses(folder, name.removeprefix("model."), "missing"):
                inspect(folder)
    name = next(name for name in whole if name.endswith("fc2.weight") or "dense" in name.lower())
    save_file({**whole, name: whole[name].to(torch.int8)}, path)
    with refuses(folder, name.removeprefix("model."), "torch.int8"):
        inspect(folder)


def test_models_of_other_kinds_are_refused(tmp_path):
    for kind, table in (("t5", "shared.weight"), ("bart", "model.shared.weight")):
        folder = checkpoints.KINDS[kind](tmp_path / kind)
        side = table.replace("shared", "decoder.embed_tokens")
        rewritten(folder, lambda t, table=table, side=side: t.update({side: t[table] + 1}))
        with refuses(folder, "decoder.embed_tokens.weight"):
            loaded(folder)
        rewritten(folder, lambda t, table=table, side=side: t.update({side: t[table].clone()}))
        loaded(folder)  # a copy
    changed(checkpoints.bart(tmp_path / "bart"), decoder_ffn_dim=4, encoder_ffn_dim=4)
    with refuses(tmp_path / "bart", "shape"):
        loaded(tmp_path / "bart")
    tensors = checkpoints.t5_tensors(gated=True, tied=False)
    encoder = {name: one for name, one in tensors.items() if name[:3] in ("enc", "sha")}
    checkpoints.write(tmp_path / "t5", T5_1, encoder)
    with refuses(tmp_path / "t5", "decoder.final_layer_norm.weight"):
        loaded(tmp_path / "t5")


@pytest.mark.parametrize("named", ["evil.Evil", "elsewhere/repository--evil.Evil"])
def test_code_that_lies_in_a_folder_does_not_run_and_nothing_is_fetched(
    folder, named, capsys, monkeypatch
):
    def refuse(*given: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("builtins.input", lambda *given: "y")  # asked whether to trust it
    (folder / "evil.py").write_text("print('code of a folder has run')\nclass Evil: ...\n")
    classes = ["AutoConfig", "AutoModel", "AutoTokenizer"]
    known = json.loads((folder / "config.json").read_text())["model_type"]
    for kind in (known, "evil"):
        changed(folder, model_type=kind, auto_map=dict.fromkeys(classes, named))
        told = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": [named, named]}}
        (folder / "tokenizer_config.json").write_text(json.dumps(told))
        damage.outcome(lambda: inspect(folder), folder)
    assert "has run" not in capsys.readouterr().out
    assert "evil" not in sys.modules


@pytest.mark.parametrize("library", ["safetensors.torch", "transformers"])
def test_a_missing_library_is_named_with_the_way_to_get_it(folder, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with refuses(folder, f"{library}: pip install 'lev_plugins[pretrained]'"):
        inspect(folder)
