"""``--t5-dir``: every weight in its place, checkpoints without it, broken folders named."""

import dataclasses
import io
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import checkpoints
import enct5_models
import pytest
import tiny
import torch
from checkpoints import T5_0, T5_1, T5_ROWS, T5_TOKENS
from closeness import assert_near
from fairseq import models, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from refusals import refuses
from safetensors.torch import load_file, save_file
from torch import Tensor

from lev_plugins.errors import UserError
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.enct5.t5_directory import T5Directory
from lev_plugins.systems.enct5.tokenizer import SubwordDictionary, Tokenizer

FORMS = {
    "1.0": (T5_0, False, True),
    "1.1": (T5_1, True, False),
    "mt5": ({**T5_1, "model_type": "mt5"}, True, False),
}
LINES = ["the cat sat on the mat", "Unhappy cats sit, and so do the mats!", "a cat is a cat"] * 4


def t5(folder: Path, form: str = "1.1", **changes: Any) -> Path:
    """A tiny T5 whose subwords are :data:`T5_TOKENS`; epsilon can be seen beside what it is added
    to.

    Args:
        form: of :data:`FORMS`.
        changes: of config.json.
    """
    config, gated, tied = FORMS[form]
    config = {**config, "layer_norm_epsilon": 1e-3, **changes}
    return checkpoints.write(folder, config, checkpoints.t5_tensors(gated, tied))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return t5(tmp_path / "t5")


def build(folder: Path | None, pieces: Any = T5_TOKENS, **values: Any) -> EncT5Model:
    cfg = EncT5Config(t5_dir=folder and str(folder), dropout=0.0, **values)
    return EncT5Model.build_model(cfg, enct5_models.task(ProblemType.TAGGING, pieces=pieces)).eval()


def refused(folder: Path | None, *parts: str, **values: Any) -> None:
    """That building ends in one line that has all of ``parts``."""
    with refuses(*parts):
        build(folder, **values)


def tensors_of(folder: Path) -> dict[str, Tensor]:
    return load_file(str(folder / "model.safetensors"))


def changed(folder: Path, **changes: Any) -> None:
    """Other settings in config.json; None takes one away."""
    path = folder / "config.json"
    found = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({name: v for name, v in found.items() if v is not None}))


def decoded(model: EncT5Model, states: Tensor, words: int) -> Tensor:
    """States of so many words that all read a whole text, L × C."""
    segments = torch.ones(1, words).long()
    sees = torch.ones(1, words, len(states)).bool()
    return model.decoder(segments - 1, segments, states[None], sees).detach()


PIECES = torch.tensor([3, 4, 0, 8, 2, 11, 5, 7, 3, 9, 1])


# weights in their places ---------------------------------------------------------------------


@pytest.mark.parametrize("init", ["scratch", "t5"])
def test_what_is_not_asked_for_is_sampled(folder, init):
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        model = build(folder, decoder_init=init)
        found.append({**dict(model.decoder.named_parameters()), "head": model.head.weight})
    marked = {n for n, one in model.named_parameters() if hasattr(one, "param_group")}
    loaded = ("embed.", "encoder.") + (("decoder.b", "decoder.n") if init == "t5" else ())
    assert marked == {n for n, _ in model.named_parameters() if n.startswith(loaded)}
    sampled = {name for name in found[0] if not torch.equal(found[0][name], found[1][name])}
    norms = {name for name in found[0] if "norm" in name}
    if init == "t5":
        assert sampled == {"table.weight", "head"}
    else:
        assert sampled == found[0].keys() - norms
        assert all(bool((found[0][name] == 1).all()) for name in norms)


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_an_encoder_alone_is_enough(tmp_path, prefix):
    """As ``T5EncoderModel`` is written, or with the head of a classifier."""
    expected = build(t5(tmp_path / "t5"))
    whole = tensors_of(tmp_path / "t5")
    tensors = {f"{prefix}{name}": one for name, one in whole.items() if name[:3] in ("enc", "sha")}
    if prefix:
        tensors["classifier.weight"] = torch.randn(2, 8)
    config = {**T5_1, "layer_norm_epsilon": 1e-3, "is_encoder_decoder": False}
    folder = checkpoints.write(tmp_path / "encoder", config, tensors)
    found = build(folder)
    states = [
        one.encoder(one.embed(PIECES[None]), torch.ones(1, 11).bool()) for one in (found, expected)
    ]
    assert torch.equal(*states)
    assert len(found.decoder.blocks) == 1, "which starts from scratch"
    with pytest.raises(UserError, match="--decoder-init t5: .*encoder has 0 decoder blocks"):
        settled(folder, decoder_init="t5")


# sizes and checkpoints -----------------------------------------------------------------------


@pytest.mark.filterwarnings(r"ignore:\s*'config' is validated against ConfigStore:UserWarning")
def test_the_folders_sizes_win_over_those_of_options_and_the_log_says_so(
    folder, monkeypatch, caplog
):
    monkeypatch.chdir(folder.parent)
    command = "data --task enct5 --criterion enct5 --arch enct5_tiny --encoder-layers 6"
    flags = [*command.split(), "--decoder-layers", "2", "--t5-dir", "t5"]
    args = options.parse_args_and_arch(options.get_training_parser(), flags)
    cfg = convert_namespace_to_omegaconf(args)
    with caplog.at_level(logging.INFO):
        EncT5Model.settle(cfg.model)
    assert cfg.model.t5_dir == str(folder)  # from wherever the checkpoint is read
    assert "encoder_layers 2, encoder_embed_dim 8, encoder_ffn_embed_dim 12" in caplog.text
    expected = T5Directory(str(folder)).sizes()
    assert expected["layer_norm_epsilon"] == 1e-3 and expected["feed_forward"] == "gated-gelu"
    assert {name: getattr(cfg.model, name) for name in expected} == expected
    task = enct5_models.task(ProblemType.TAGGING, pieces=T5_TOKENS)
    model = models.build_model(cfg.model, task)
    assert len(model.encoder.blocks) == 2 == len(model.decoder.blocks)
    assert torch.equal(model.embed.table.weight, tensors_of(folder)["shared.weight"])


def settled(folder: Path | None, **values: Any) -> EncT5Config:
    """The settings of a training, as they reach a checkpoint."""
    cfg = EncT5Config(t5_dir=folder and str(folder), dropout=0.0, **values)
    EncT5Model.settle(cfg)
    return cfg


def rebuilt(cfg: EncT5Config, state: bytes) -> EncT5Model:
    """The model of a checkpoint."""
    task = enct5_models.task(ProblemType.TAGGING, pieces=T5_TOKENS)
    model = EncT5Model.build_model(dataclasses.replace(cfg), task)
    model.load_state_dict(torch.load(io.BytesIO(state), weights_only=True), strict=True)
    return model.eval()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("init", ["scratch", "t5"])
def test_a_checkpoint_needs_the_folder_no_more(tmp_path, caplog, form, init):
    folder = t5(tmp_path / "t5", form)
    cfg = settled(folder, decoder_init=init)
    task = enct5_models.task(ProblemType.TAGGING, pieces=T5_TOKENS)
    model = EncT5Model.build_model(dataclasses.replace(cfg), task).eval()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    rows = [[enct5_models.example(ProblemType.TAGGING, 6)]]
    expected = enct5_models.answers(model, rows, ProblemType.TAGGING)

    def same() -> None:
        found = enct5_models.answers(rebuilt(cfg, file.getvalue()), rows, ProblemType.TAGGING)
        assert torch.equal(found, expected)

    same()
    assert "only a checkpoint's weights" not in caplog.text
    (folder / "model.safetensors").rename(tmp_path / "gone")
    same()
    assert f"only a checkpoint's weights are used: {folder}: no weights" in caplog.text
    shutil.rmtree(folder)
    same()
    other = {**T5_1, "num_layers": 1, "num_decoder_layers": 1}
    few = {
        name: value
        for name, value in checkpoints.t5_tensors(True, False).items()
        if ".block.1." not in name
    }
    checkpoints.write(folder, other, few)
    same()
    assert "has other sizes now; only a checkpoint's weights are used" in caplog.text
    cfg.t5_dir = None  # as who reads a checkpoint may ask for
    same()


def test_a_training_that_asks_for_a_t5_does_not_begin_without_it(folder, tmp_path):
    for values, said in (
        ({"folder": tmp_path / "nowhere"}, "nowhere: no such folder"),
        ({"folder": None, "t5_rows": 32}, "--decoder-init t5 needs the T5: give --t5-dir DIR"),
        ({"folder": folder, "decoder_layers": 3}, "--decoder-layers 3 --decoder-init t5: .* has 2"),
    ):
        with pytest.raises(UserError, match=said):
            settled(**values, decoder_init="t5")
    # from scratch there may be any number
    assert len(build(folder, decoder_layers=3).decoder.blocks) == 3


# vocabularies --------------------------------------------------------------------------------


def trained(folder: Path, size: int = 24) -> None:
    """A sentencepiece model instead of tokenizer.json."""
    (folder / "tokenizer.json").unlink()
    options = {"vocab_size": size, **checkpoints.T5_ORDER}
    tiny.sentencepiece_model(folder / "spiece.model", LINES, **options)


def widened(folder: Path, rows: int) -> None:
    """A table with so many rows."""
    tensors = tensors_of(folder)
    tensors["shared.weight"] = torch.randn(rows, 8)
    tensors["lm_head.weight"] = torch.randn(rows, 8)
    save_file(tensors, str(folder / "model.safetensors"))


def test_a_sentencepiece_model_gives_the_pieces_with_the_extra_ids_behind_them(folder):
    trained(folder)
    widened(folder, 128)  # more than there are subwords, as published ones have
    pieces = T5Directory(str(folder)).pieces()
    assert pieces[:3] == ["<pad>", "</s>", "<unk>"] and len(pieces) == 124
    assert pieces[24] == "<extra_id_99>" and pieces[-1] == "<extra_id_0>"
    dictionary = SubwordDictionary(pieces)
    model = build(folder, pieces=dictionary.symbols)
    assert model.embed.table.num_embeddings == 128
    refused(folder, str(folder), "the data were prepared with another vocabulary", "--t5-dir")
    changed(folder, model_type="mt5")  # whose extra ids are in its model, if anywhere
    assert T5Directory(str(folder)).pieces() == pieces[:24]


def test_more_pieces_than_rows_are_refused(folder):
    trained(folder)
    refused(folder, "spiece.model: 124 subwords, and", f"{T5_ROWS} rows", "different models")


@pytest.mark.parametrize(
    "tokens, said",
    [
        (
            [*T5_TOKENS[:3], "more", *T5_TOKENS[3:]],
            "the data were prepared with another vocabulary (subword 3 is 'the', not 'more'); "
            "prepare them with lev-enct5-prepare --t5-dir",
        ),
        (T5_TOKENS[:-1], "another vocabulary (14 subwords, not 13)"),
        (["</s>", "<pad>", *T5_TOKENS[2:]], "the vocabulary begins with '</s> <pad> <unk>'"),
    ],
)
def test_other_vocabularies_than_the_datas_are_refused(folder, tokens, said):
    found = checkpoints.tokenizer_json("Unigram", tokens)
    (folder / "tokenizer.json").write_text(json.dumps(found))
    refused(folder, str(folder), said)


def test_a_vocabulary_with_gaps_is_refused(folder):
    found = checkpoints.tokenizer_json("Unigram", T5_TOKENS)
    found["added_tokens"] = [{"content": "<more>", "id": len(T5_TOKENS) + 1}]
    (folder / "tokenizer.json").write_text(json.dumps(found))
    refused(folder, f"tokenizer.json: no subword is number {len(T5_TOKENS)}, or two are")
    found["added_tokens"] = [{"content": "<more>", "id": 5}]
    (folder / "tokenizer.json").write_text(json.dumps(found))
    refused(folder, "tokenizer.json: no subword is number 6, or two are; it is no T5's vocabulary")


# what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bert", "bart", "umt5", "longt5", ""])
def test_folders_of_other_models_are_refused(folder, kind):
    changed(folder, model_type=kind)
    refused(folder, str(folder), f"model_type is {kind!r}; --t5-dir takes t5 and mt5")


# the same states as transformers -------------------------------------------------------------


def randomised(transformers: Any, form: str, folder: Path) -> Any:
    """A T5 of the library, written to a folder as the library does it."""
    sizes = {**FORMS[form][0], "layer_norm_epsilon": 1e-3, "num_decoder_layers": 3}
    sizes.pop("model_type")
    name = "MT5" if form == "mt5" else "T5"
    model = getattr(transformers, f"{name}ForConditionalGeneration")(
        getattr(transformers, f"{name}Config")(**sizes)
    )
    for name, parameter in model.named_parameters():
        parameter.data.normal_(1.0 if "norm" in name else 0.0, 0.4)
    model.save_pretrained(folder)
    found = checkpoints.tokenizer_json("Unigram", T5_TOKENS)
    (folder / "tokenizer.json").write_text(json.dumps(found))
    return model.eval()


@torch.no_grad()
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_encoder_and_decoder_do_as_in_transformers(transformers, tmp_path, form, layers):
    """The decoder has the first of their blocks."""
    theirs = randomised(transformers, form, tmp_path / "t5")
    theirs.decoder.block = theirs.decoder.block[:layers]
    ours = build(tmp_path / "t5", decoder_init="t5", decoder_layers=layers)
    assert torch.equal(ours.embed.table.weight, theirs.shared.weight)
    texts = [PIECES, PIECES[3:7]]
    tokens = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    real = torch.arange(len(PIECES)) < torch.tensor([[11], [4]])
    states = theirs.encoder(input_ids=tokens, attention_mask=real.long()).last_hidden_state
    found = ours.encoder(ours.embed(tokens), real)
    assert_near(found[real], states[real])
    alone = transformers.T5EncoderModel.from_pretrained(tmp_path / "t5").eval()
    again = alone(input_ids=tokens, attention_mask=real.long()).last_hidden_state
    assert_near(found[real], again[real])
    for row, text in enumerate(texts):
        latents = ours.decoder.table.weight.expand(1, 7, 8)
        expected = theirs.decoder(
            inputs_embeds=latents,
            attention_mask=torch.zeros(1, 1, 7, 7),  # added to the scores: all see all
            encoder_hidden_states=states[row : row + 1, : len(text)],
            encoder_attention_mask=torch.ones(1, len(text)),
            use_cache=False,
        ).last_hidden_state[0]
        assert_near(decoded(ours, states[row, : len(text)], 7), expected)


def test_a_byt5_of_transformers_reads_the_same_bytes(transformers, tmp_path):
    folder = t5(tmp_path / "t5")
    (folder / "tokenizer.json").unlink()
    tokenizer = transformers.ByT5Tokenizer()
    tokenizer.save_pretrained(folder)
    widened(folder, 384)
    pieces = T5Directory(str(folder)).pieces()
    assert len(pieces) == 384
    for piece in ("<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_124>"):
        assert pieces.index(piece) == tokenizer.convert_tokens_to_ids(piece)
    for text in ("The café, 北京 🙂", " two  spaces"):
        assert Tokenizer(None, pieces).cut(text) == tokenizer(text).input_ids[:-1]
