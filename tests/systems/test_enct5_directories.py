"""``--t5-dir`` and ``--bert-dir``: every weight in its place, checkpoints without the folder."""

import dataclasses
import io
import json
import shutil
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import checkpoints
import enct5_models
import pytest
import sentencepiece
import torch
from checkpoints import BERT_TOKENS, T5_0, T5_1, T5_TOKENS
from closeness import assert_near
from fairseq import models, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from refusals import refuses
from safetensors.torch import load_file
from torch import Tensor

from lev_plugins.fairseq_patches.trust import settings_of
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model
from lev_plugins.systems.enct5.dataset import Example
from lev_plugins.systems.enct5.directory import EncoderDirectory
from lev_plugins.systems.enct5.metadata import Metadata
from lev_plugins.systems.enct5.network import BertEncoder
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.enct5.tokenizer import FolderTokenizer

FORMS = {
    "1.0": (T5_0, False, True),
    "1.1": (T5_1, True, False),
    "mt5": ({**T5_1, "model_type": "mt5"}, True, False),
}
#: of the BERT, in EncT5's order
PIECES = ["<pad>", "</s>", "<unk>", "<s>", "[unused0]", "[MASK]", *BERT_TOKENS[6:]]
TEXT = torch.tensor([3, 4, 0, 8, 2, 11, 5, 7, 3, 9, 1])
TAGGING = ProblemType.TAGGING


def t5(folder: Path, form: str = "1.1", **changes: Any) -> Path:
    """A tiny T5; its epsilon can be seen beside what it is added to."""
    config, gated, tied = FORMS[form]
    config = {**config, "layer_norm_epsilon": 1e-3, **changes}
    return checkpoints.write(folder, config, checkpoints.t5_tensors(gated, tied))


MAKERS = {"t5_dir": t5, "bert_dir": checkpoints.bert}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return t5(tmp_path / "t5")


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return checkpoints.bert(tmp_path / "bert")


def a_task(kind: ProblemType, option: str) -> Namespace:
    """All of a task that a model looks at."""
    return enct5_models.task(kind, pieces=T5_TOKENS if option == "t5_dir" else PIECES)


def settled(option: str, folder: Path | None, **values: Any) -> EncT5Config:
    """The settings of a training, as they reach a checkpoint."""
    cfg = EncT5Config(**{option: folder and str(folder), "dropout": 0.0, **values})
    EncT5Model.settle(cfg)
    return cfg


def build(
    folder: Path, option: str = "t5_dir", kind: ProblemType = TAGGING, **values: Any
) -> EncT5Model:
    cfg = settled(option, folder, **values)
    return EncT5Model.build_model(cfg, a_task(kind, option)).eval()


def example(*words: int) -> Example:
    """A text of so many subwords each word, between ``<s>`` and ``</s>``; which ones is random."""
    inside = torch.randint(4, len(T5_TOKENS), (sum(words),))
    pieces = torch.cat([torch.tensor([3]), inside, torch.tensor([1])])
    none = torch.zeros(1, dtype=torch.long)
    spans = torch.arange(1, len(words) + 1).repeat_interleave(torch.tensor(words))
    return Example(pieces, torch.cat([none, spans, none]), torch.zeros(len(words)).long())


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
    assert sampled == ({"table.weight", "head"} if init == "t5" else found[0].keys() - norms)
    if init == "scratch":
        assert all(bool((found[0][name] == 1).all()) for name in norms)


def test_dropout_falls_on_the_berts_states_in_training_alone(bert):
    cfg = settled("bert_dir", bert)
    cfg.dropout = 0.5
    model = EncT5Model.build_model(cfg, a_task(TAGGING, "bert_dir"))
    text, real = model.embed(example(4).pieces[None]), torch.ones(1, 6).bool()
    assert torch.equal(model.embed(torch.tensor([[3, 5]])), model.embed.table.weight[[3, 5]][None])
    assert not torch.equal(model.encoder(text, real), model.encoder(text, real))
    model.eval()
    assert torch.equal(model.encoder(text, real), model.encoder(text, real))


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_an_encoder_alone_is_enough(tmp_path, prefix):
    """As ``T5EncoderModel`` is written, or with the head of a classifier."""
    expected = build(t5(tmp_path / "t5"))
    whole = load_file(str(tmp_path / "t5" / "model.safetensors"))
    tensors = {f"{prefix}{name}": one for name, one in whole.items() if name[:3] in ("enc", "sha")}
    if prefix:
        tensors["classifier.weight"] = torch.randn(2, 8)
    config = {**T5_1, "layer_norm_epsilon": 1e-3, "is_encoder_decoder": False}
    folder = checkpoints.write(tmp_path / "encoder", config, tensors)
    found = build(folder)
    states = [
        one.encoder(one.embed(TEXT[None]), torch.ones(1, 11).bool()) for one in (found, expected)
    ]
    assert torch.equal(*states)
    with refuses(folder, "decoder.block.0"):
        build(folder, decoder_init="t5")


@pytest.mark.filterwarnings(r"ignore:\s*'config' is validated against ConfigStore:UserWarning")
def test_the_folders_sizes_win_over_those_of_options(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    command = "data --task enct5 --criterion enct5 --arch enct5_tiny --encoder-layers 6"
    flags = [*command.split(), "--decoder-layers", "2", "--t5-dir", "t5"]
    args = options.parse_args_and_arch(options.get_training_parser(), flags)
    cfg = convert_namespace_to_omegaconf(args)
    EncT5Model.settle(cfg.model)
    assert cfg.model.t5_dir == str(folder)  # from wherever the checkpoint is read
    model = models.build_model(cfg.model, a_task(TAGGING, "t5_dir"))
    assert len(model.encoder.blocks) == 2 == len(model.decoder.blocks)
    assert model.decoder.norm.eps == 1e-3 and model.decoder.norm.dropout == 0.1


@pytest.mark.parametrize(
    ("option", "values"),
    [("t5_dir", {}), ("t5_dir", {"decoder_init": "t5"}), ("bert_dir", {})],
)
def test_a_checkpoint_needs_the_folder_no_more(tmp_path, option, values):
    folder = MAKERS[option](tmp_path / "model")
    cfg = settled(option, folder, **values)
    task = a_task(TAGGING, option)
    model = EncT5Model.build_model(dataclasses.replace(cfg), task).eval()
    state = io.BytesIO()
    torch.save(model.state_dict(), state)
    rows = [[example(2, 1)]]
    expected = enct5_models.answers(model, rows, TAGGING)

    def same(cfg: EncT5Config) -> None:
        again = EncT5Model.build_model(dataclasses.replace(cfg), task)
        again.load_state_dict(torch.load(io.BytesIO(state.getvalue()), weights_only=True))
        assert torch.equal(enct5_models.answers(again.eval(), rows, TAGGING), expected)

    same(cfg)
    shutil.rmtree(folder)
    with settings_of(["last.pt"]):
        same(cfg)


def test_a_t5_has_its_pieces_with_the_extra_ids_behind_them(tmp_path):
    folder = checkpoints.pieced_t5(tmp_path / "t5")
    directory = EncoderDirectory(str(folder), "t5_dir")
    pieces = directory.pieces
    assert pieces[:3] == ["<pad>", "</s>", "<unk>"] and len(pieces) == 124
    assert pieces[24] == "<extra_id_99>" and pieces[-1] == "<extra_id_0>"
    cfg = settled("t5_dir", folder)
    model = EncT5Model.build_model(cfg, enct5_models.task(TAGGING, pieces=pieces))
    whole = load_file(str(folder / "model.safetensors"))["shared.weight"]  # has rows to spare
    assert torch.equal(model.embed.table.weight, whole[:124])
    with refuses(folder, "prepared with another vocabulary", "--t5-dir"):
        build(folder)
    plain = sentencepiece.SentencePieceProcessor(str(folder / "spiece.model"))
    cutter = directory.tokenizer()
    for text in ("the cat sat", "", "mats!", "\ud83d", "x</s> <extra_id_0>"):
        written = text.encode("utf-8", "replace").decode()
        assert cutter.cut(text) == plain.encode(written)
    assert cutter.texts(["the"], 9).pieces == [*plain.encode("the"), 1]


@pytest.mark.parametrize(
    ("texts", "most", "expected"),
    [
        (["The cat sat!"], 9, "<s> the cat sat <unk> </s>"),
        (["[CLS] cat </s>"], 13, "<s> <unk> <unk> <unk> cat <unk> <unk> <unk> <unk> </s>"),
        (["\ud83d"], 9, "<s> <unk> </s>"),
        (["the cat sat on the mat"], 5, "<s> the cat sat </s>"),
        (["the cat sat on", "a mat"], 7, "<s> the cat </s> a mat </s>"),
        ([""], 3, "<s> </s>"),
    ],
)
def test_a_text_begins_with_the_cls_token_and_special_tokens_in_it_are_text(
    bert, texts, most, expected
):
    found = EncoderDirectory(str(bert), "bert_dir").tokenizer().texts(texts, most)
    assert [PIECES[piece] for piece in found.pieces] == expected.split()


def test_the_first_symbol_belongs_to_no_word(bert):
    cutter = EncoderDirectory(str(bert), "bert_dir").tokenizer()
    found = cutter.words(["unhappy", "", "cats"], 9)
    symbols = [PIECES[piece] for piece in found.pieces]
    assert symbols == "<s> un ##happy <unk> cat ##s </s>".split()
    assert found.spans == [0, 1, 1, 2, 3, 3, 0]
    short = cutter.words(["unhappy", "cats"], 3)
    assert (short.spans, short.reached, short.cut_off) == ([0, 1, 0], 1, True)


def test_the_datas_description_brings_the_tokenizer_back(bert, monkeypatch):
    made = EncoderDirectory(str(bert), "bert_dir").tokenizer()
    kept = Metadata("classification", ["A", "B"], made.pieces, wordpiece=made.wordpiece)
    shutil.rmtree(bert)
    values = json.loads(json.dumps(dataclasses.asdict(kept)))
    again = Metadata.of({"description": values}, "here").tokenizer("here")
    assert isinstance(again, FolderTokenizer) and again.pieces == made.pieces == PIECES
    assert again.texts(["[SEP] unhappy cats"], 9) == made.texts(["[SEP] unhappy cats"], 9)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with refuses("here: ", "pip install 'lev_plugins[pretrained]'"):
        kept.tokenizer("here")


def test_options_that_contradict_each_other_or_a_folder_are_refused(bert, folder, tmp_path):
    for option, place, values, said in (
        ("bert_dir", bert, {"t5_dir": "t5"}, "--t5-dir and --bert-dir"),
        ("bert_dir", bert, {"decoder_init": "t5"}, "--decoder-init t5"),
        ("t5_dir", None, {"decoder_init": "t5", "backbone_plan": "{}"}, "--decoder-init t5"),
        ("t5_dir", folder, {"decoder_init": "t5", "decoder_layers": 3}, "decoder.block.2"),
        ("t5_dir", tmp_path / "gone", {}, "gone: no such folder"),
        ("t5_dir", bert, {}, "--t5-dir"),
        ("bert_dir", folder, {}, "--bert-dir"),
    ):
        with refuses(said):
            build(place, option, **values)


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ([*T5_TOKENS[:3], "more", *T5_TOKENS[3:]], "subword 3 is 'the', not 'more'"),
        ([*T5_TOKENS, *map(str, range(9))], "another vocabulary"),
    ],
)
def test_other_vocabularies_than_the_datas_are_refused(folder, tokens, said):
    checkpoints.unigram(folder, tokens)
    with refuses(folder, said):
        build(folder)


def test_a_berts_head_for_masked_words_is_left_out_but_nothing_else(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert", prefix="bert.", head=True)
    assert isinstance(build(folder, "bert_dir").encoder, BertEncoder)
    assert EncoderDirectory(str(folder), "bert_dir").plan.head
    odd = {**checkpoints.bert_tensors(), "adapter": torch.ones(1)}
    folder = checkpoints.write(tmp_path / "odd", checkpoints.BERT_CONFIG, odd)
    with refuses(folder, "adapter"):
        build(folder, "bert_dir")


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
    checkpoints.tokenizer(folder, "t5")
    return model.eval()


def decoded(model: EncT5Model, states: Tensor, words: int) -> Tensor:
    """States of so many words that all read a whole text, L × C."""
    segments = torch.ones(1, words).long()
    sees = torch.ones(1, words, len(states)).bool()
    return model.decoder(segments - 1, segments, states[None], sees).detach()


@torch.no_grad()
@pytest.mark.parametrize(("form", "layers"), [("1.0", 3), ("1.1", 1), ("mt5", 3)])
def test_encoder_and_decoder_do_as_in_transformers(transformers, tmp_path, form, layers):
    """The decoder has the first of their blocks."""
    theirs = randomised(transformers, form, tmp_path / "t5")
    theirs.decoder.block = theirs.decoder.block[:layers]
    ours = build(tmp_path / "t5", decoder_init="t5", decoder_layers=layers)
    assert torch.equal(ours.embed.table.weight, theirs.shared.weight[: len(T5_TOKENS)])
    texts = [TEXT, TEXT[3:7]]
    tokens = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    real = torch.arange(len(TEXT)) < torch.tensor([[11], [4]])
    states = theirs.encoder(input_ids=tokens, attention_mask=real.long()).last_hidden_state
    found = ours.encoder(ours.embed(tokens), real)
    assert_near(found[real], states[real])
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
