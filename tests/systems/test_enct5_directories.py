"""``--t5-dir`` and ``--bert-dir``: every weight in its place, checkpoints without the folder."""

import dataclasses
import functools
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import checkpoints
import enct5_models
import pytest
import torch
from checkpoints import BERT_TOKENS, T5_0, T5_1, T5_TOKENS
from closeness import assert_near
from refusals import refuses
from safetensors.torch import load_file
from tables import cases

from lev_plugins.fairseq_patches.checkpoint_files import loading_checkpoint
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model
from lev_plugins.systems.enct5.model import EncoderDirectory
from lev_plugins.systems.enct5.problem_types import ProblemType

#: of the BERT, in EncT5's order
PIECES = ["<pad>", "</s>", "<unk>", "<s>", "[unused0]", "[MASK]", *BERT_TOKENS[6:]]
TEXT = torch.tensor([3, 4, 0, 8, 2, 11, 5, 7, 3, 9, 1])
TAGGING, MULTILABEL = ProblemType.TAGGING, ProblemType.MULTILABEL


def t5(folder: Path, new: bool = True) -> Path:
    """A tiny T5; its epsilon can be seen beside what it is added to."""
    config = {**(T5_1 if new else T5_0), "layer_norm_epsilon": 1e-3}
    return checkpoints.write(folder, config, checkpoints.t5_tensors(gated=new, tied=not new))


#: a BERT's head for masked words is left out
MAKERS = {"t5_dir": t5, "bert_dir": functools.partial(checkpoints.bert, head=True)}


@pytest.fixture
def folder(tmp_path):
    return t5(tmp_path / "t5")


@pytest.fixture
def bert(tmp_path):
    return checkpoints.bert(tmp_path / "bert")


def a_task(option: str) -> Namespace:
    """All of a task that a model looks at."""
    return enct5_models.task(TAGGING, pieces=T5_TOKENS if option == "t5_dir" else PIECES)


def settled(option: str, folder: Path | None, **values: Any) -> EncT5Config:
    """The settings of a training, as they reach a checkpoint."""
    cfg = EncT5Config(**{option: folder and str(folder), "dropout": 0.0, **values})
    EncT5Model.resolve_config(cfg)
    return cfg


def build(folder: Path | None, option: str = "t5_dir", **values: Any) -> EncT5Model:
    return EncT5Model.build_model(settled(option, folder, **values), a_task(option)).eval()


def test_an_encoder_alone_is_enough(folder, tmp_path):
    """With the head of a classifier."""
    tensors = {"classifier.weight": torch.randn(2, 8)}
    for name, tensor in load_file(str(folder / "model.safetensors")).items():
        if name.startswith(("encoder", "shared")):
            tensors[f"transformer.{name}"] = tensor
    config = {**T5_1, "layer_norm_epsilon": 1e-3, "is_encoder_decoder": False}
    alone = checkpoints.write(tmp_path / "encoder", config, tensors)
    real = torch.ones(1, len(TEXT)).bool()
    states = [model.encoder(model.embed(TEXT[None]), real) for model in map(build, (alone, folder))]
    assert torch.equal(*states)
    with refuses(alone, "decoder.block.0"):
        build(alone, decoder_init="t5")


def test_the_folders_sizes_win_over_those_of_options(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    cfg = settled("t5_dir", Path("t5"), encoder_layers=6, decoder_layers=2, dropout=0.1)
    assert cfg.t5_dir == str(folder)  # from wherever the checkpoint is read
    model = EncT5Model.build_model(cfg, a_task("t5_dir"))
    assert len(model.encoder.blocks) == 2 == len(model.decoder.blocks)
    assert model.decoder.norm.eps == 1e-3 and model.decoder.norm.dropout == 0.1


@pytest.mark.parametrize(
    "option, values",
    [("t5_dir", {"decoder_init": "t5"}), ("bert_dir", {})],
)
def test_a_checkpoint_needs_the_folder_no_more(tmp_path, option, values):
    folder = MAKERS[option](tmp_path / "model")
    cfg, rows = settled(option, folder, **values), [[enct5_models.example(TAGGING, 5)]]

    def built() -> EncT5Model:
        return EncT5Model.build_model(dataclasses.replace(cfg), a_task(option)).eval()

    model = built()
    shutil.rmtree(folder)
    with loading_checkpoint(["last.pt"]):
        again = built()
    again.load_state_dict(model.state_dict())
    assert torch.equal(*(enct5_models.answers(both, rows, TAGGING) for both in (model, again)))


@pytest.mark.parametrize(
    "texts_or_words, most, expected, word_ids", cases("systems/cases.tsv", "pieces")
)
def test_the_cls_token_comes_first_in_no_word_and_special_tokens_in_a_text_are_text(
    bert, texts_or_words, most, expected, word_ids
):
    tokenizer = EncoderDirectory(str(bert), "bert_dir").tokenizer()
    assert tokenizer.pieces == PIECES
    encode = tokenizer.encode_words if word_ids else tokenizer.encode_texts
    encoding = encode(texts_or_words, most)
    assert [PIECES[piece] for piece in encoding.pieces] == expected.split()
    assert encoding.word_ids == word_ids


def test_options_that_contradict_each_other_the_data_or_a_folder_are_refused(
    bert, folder, tmp_path
):
    other = checkpoints.t5(tmp_path / "other")
    checkpoints.unigram(other, T5_TOKENS[:3] + ["more"] + T5_TOKENS[3:])
    odd = {**checkpoints.bert_tensors(), "adapter": torch.ones(1)}
    checkpoints.write(tmp_path / "odd", checkpoints.BERT_CONFIG, odd)
    for option, place, values, message in (
        ("bert_dir", bert, {"t5_dir": "t5"}, "--t5-dir and --bert-dir"),
        ("bert_dir", bert, {"decoder_init": "t5"}, "--decoder-init t5"),
        ("t5_dir", None, {"decoder_init": "t5", "backbone_plan": "{}"}, "--decoder-init t5"),
        ("t5_dir", folder, {"decoder_init": "t5", "decoder_layers": 3}, "decoder.block.2"),
        ("t5_dir", tmp_path / "gone", {}, "gone"),
        ("t5_dir", bert, {}, "--t5-dir"),
        ("bert_dir", folder, {}, "--bert-dir"),
        ("t5_dir", other, {}, "symbol 3 is 'the' there and 'more' here"),
        ("bert_dir", tmp_path / "odd", {}, "adapter"),
    ):
        with refuses(message):
            build(place, option, **values)


@torch.no_grad()
@pytest.mark.parametrize("layers, kind", [(1, TAGGING), (2, TAGGING), (2, MULTILABEL)])
def test_encoder_and_decoder_do_as_in_transformers(transformers, tmp_path, layers, kind):
    """The decoder has the first of their blocks."""
    folder = t5(tmp_path / "t5", new=layers == 2)
    theirs = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    theirs.decoder.block = theirs.decoder.block[:layers]
    cfg = settled("t5_dir", folder, decoder_init="t5", decoder_layers=layers)
    ours = EncT5Model.build_model(cfg, enct5_models.task(kind, 7, T5_TOKENS)).eval()
    assert torch.equal(ours.embed.table.weight, theirs.shared.weight[: len(T5_TOKENS)])
    states = theirs.encoder(input_ids=TEXT[None]).last_hidden_state
    real = torch.ones(1, len(TEXT)).bool()
    assert_near(ours.encoder(ours.embed(TEXT[None]), real), states)
    chosen = torch.arange(7)[None] * (kind is MULTILABEL)
    expected = theirs.decoder(
        inputs_embeds=ours.decoder.table(chosen),
        attention_mask=torch.zeros(1, 1, 7, 7),  # added to the scores: all see all
        encoder_hidden_states=states,
        use_cache=False,
    ).last_hidden_state[0]
    sees = real.expand(1, 7, len(TEXT))
    assert_near(ours.decoder(chosen, torch.ones_like(chosen), states, sees), expected)
