"""Members of a family that differ: output tables of their own, encoders alone, typed symbols."""

import json
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import tokenizers
import torch
from checkpoints import DIM, T5_1, Tensors
from fairseq.data import Dictionary

from lev_plugins.errors import UserError
from lev_plugins.nn.backbone import Backbone
from lev_plugins.pretrained import build_backbone, describe_backbone, load_backbone
from lev_plugins.pretrained.bpe import open_tokenizer

OUTPUTS = {"bert": "cls.predictions.decoder.weight", "bart": "lm_head.weight"}


def made(folder: Path, kind: str) -> Tensors:
    """Tensors of a model that predicts tokens, with an output table of its own."""
    found = checkpoints.bart_tensors() if kind == "bart" else checkpoints.bert_tensors(head=True)
    rows = len(checkpoints.BART_TOKENS if kind == "bart" else checkpoints.BERT_TOKENS)
    found[OUTPUTS[kind]] = torch.randn(rows, DIM)
    config = checkpoints.BART_CONFIG if kind == "bart" else checkpoints.BERT_CONFIG
    checkpoints.write(folder, {**config, "tie_word_embeddings": False}, found)
    return found


def loaded(folder: Path) -> tuple[Backbone, Dictionary, torch.Tensor]:
    vocabulary = checkpoints.vocabulary_of(folder)
    symbols = checkpoints.dictionary(vocabulary, shuffled=True)
    backbone = checkpoints.load(folder, symbols, symbols)
    return backbone, symbols, vocabulary.rows_of(symbols)


def output_table(backbone: Backbone, kind: str) -> Any:
    return (backbone.output.logits if kind == "bert" else backbone.output).table


@pytest.mark.parametrize("kind", OUTPUTS)
def test_an_output_with_a_table_of_its_own_keeps_it(kind: str, tmp_path: Path) -> None:
    tensors = made(tmp_path / kind, kind)
    backbone, symbols, rows = loaded(tmp_path / kind)
    found = output_table(backbone, kind)
    assert found is not backbone.target.table
    assert torch.equal(found.weight, tensors[OUTPUTS[kind]][rows])
    # a checkpoint is filled into the same modules
    again = build_backbone(
        describe_backbone(str(tmp_path / kind)), symbols, symbols, **checkpoints.NO_DROPOUT
    )
    assert output_table(again, kind) is not again.target.table


@pytest.mark.parametrize("kind", OUTPUTS)
def test_descriptions_of_0_5_0_say_nothing_of_tables_and_share_them(kind, tmp_path):
    folder = (
        checkpoints.bart(tmp_path / "x") if kind == "bart" else checkpoints.bert(tmp_path / "x")
    )
    found = json.loads(describe_backbone(str(folder)))
    assert found["plan"].pop("tied") is True
    found["plan"].pop("shared", None)
    _, symbols, _ = loaded(folder)
    again = build_backbone(json.dumps(found), symbols, symbols, **checkpoints.NO_DROPOUT)
    assert again.output.table is again.target.table


def test_the_sides_of_a_bart_may_have_tables_of_their_own(tmp_path: Path) -> None:
    tensors = checkpoints.bart_tensors()
    for side in ("encoder", "decoder"):
        tensors[f"model.{side}.embed_tokens.weight"] = torch.randn(
            len(checkpoints.BART_TOKENS), DIM
        )
    checkpoints.write(tmp_path / "bart", checkpoints.BART_CONFIG, tensors)
    backbone, _, rows = loaded(tmp_path / "bart")
    for side, embedding in (("encoder", backbone.source), ("decoder", backbone.target)):
        expected = tensors[f"model.{side}.embed_tokens.weight"][rows]
        assert torch.equal(embedding.table.weight, expected)


def test_a_t5_whose_encoder_reads_another_table_is_refused(tmp_path: Path) -> None:
    tensors = checkpoints.t5_tensors(gated=True, tied=False)
    tensors["encoder.embed_tokens.weight"] = tensors["shared.weight"] + 1
    folder = checkpoints.write(tmp_path / "t5", T5_1, tensors)
    with pytest.raises(UserError, match="encoder.embed_tokens.weight is another table than shared"):
        loaded(folder)


@pytest.mark.parametrize(
    ("changes", "scaled"),
    [
        ({"tie_word_embeddings": True}, True),
        ({"tie_word_embeddings": True, "transformers_version": "4.57.1"}, True),
        # which says so of every mT5, and never shrinks
        ({"tie_word_embeddings": True, "transformers_version": "5.23.0"}, False),
        ({"tie_word_embeddings": False}, False),
        ({}, False),
    ],
)
def test_a_tied_mt5_shrinks_its_states_as_what_wrote_it_did(changes, scaled, tmp_path):
    config = {name: value for name, value in T5_1.items() if name != "tie_word_embeddings"}
    config.update(model_type="mt5", **changes)
    tensors = checkpoints.t5_tensors(gated=True, tied=True)
    backbone, _, _ = loaded(checkpoints.write(tmp_path / "mt5", config, tensors))
    assert backbone.output.scale == (DIM**-0.5 if scaled else 1.0)


def test_an_mt5_with_an_output_of_its_own_never_shrinks(tmp_path: Path) -> None:
    config = {**T5_1, "model_type": "mt5", "tie_word_embeddings": True}
    tensors = checkpoints.t5_tensors(gated=True, tied=False)
    backbone, _, _ = loaded(checkpoints.write(tmp_path / "mt5", config, tensors))
    assert backbone.output.scale == 1.0


def test_a_backbone_needs_more_than_an_encoder(tmp_path: Path) -> None:
    tensors = checkpoints.t5_tensors(gated=True, tied=True)
    encoder = {name: one for name, one in tensors.items() if not name.startswith("decoder")}
    folder = checkpoints.write(tmp_path / "t5", T5_1, encoder)
    with pytest.raises(UserError, match=r"the encoder of a T5 alone, decoder.block.0 is missing"):
        load_backbone(str(folder), Dictionary(), Dictionary(), **checkpoints.NO_DROPOUT)


@pytest.mark.parametrize("name", ["gelu_new", "silu", "swish", "gated-gelu_new", "gated-silu"])
def test_t5s_with_any_known_activation_load(name: str, tmp_path: Path) -> None:
    tensors = checkpoints.t5_tensors(gated=name.startswith("gated"), tied=True)
    config = {**T5_1, "feed_forward_proj": name, "tie_word_embeddings": True}
    backbone, _, _ = loaded(checkpoints.write(tmp_path / "t5", config, tensors))
    assert all(layer.block.gated == name.startswith("gated") for layer in backbone.blocks)


LETTERS = [*"the</s>unkpadxtri_0", "▁"]


@pytest.fixture(scope="module")
def unigram(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A T5's tokenizer in ``tokenizer.json``, whose special tokens are in its vocabulary."""
    special = ["<pad>", "</s>", "<unk>"]
    pieces = [*special, *dict.fromkeys(LETTERS), "▁the", "<extra_id_0>"]
    scores = [(piece, -float(piece not in special)) for piece in pieces]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(scores, unk_id=2))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Metaspace()
    made.add_special_tokens([*special, "<extra_id_0>"])
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    folder = tmp_path_factory.mktemp("unigram")
    (folder / "config.json").write_text(json.dumps({"model_type": "t5"}))
    made.save(str(folder / "tokenizer.json"))
    return open_tokenizer(str(folder))


@pytest.mark.parametrize("typed", ["</s>", "<pad>", "<unk>", "<extra_id_0>"])
def test_a_typed_symbol_is_text(unigram: Any, typed: str) -> None:
    line = f"the {typed} the"
    cut = unigram.encode(line)
    assert typed not in cut.split() and cut.replace(" ", "") == "▁the▁" + typed + "▁the"
    assert unigram.decode(cut) == line
    # as a symbol of a hypothesis it is one still
    assert unigram.ids(line)[-1] == unigram.vocabulary.rows["▁the"]
    assert unigram.decode(f"▁the {unigram.vocabulary.symbols[typed]}") == f"the{typed}"
