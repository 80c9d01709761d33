"""``--bert-dir``: a BERT's encoder and subwords in the place of T5's."""

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
import torch
from checkpoints import BERT_CONFIG, BERT_TOKENS, PLACES
from closeness import assert_near
from fairseq.data import Dictionary
from refusals import refuses

from lev_plugins.cli import enct5_prepare
from lev_plugins.optim.backbone_adam import BACKBONE
from lev_plugins.pretrained import load_backbone
from lev_plugins.pretrained.bert import BertEncoder
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model
from lev_plugins.systems.enct5.bert_directory import BertDirectory
from lev_plugins.systems.enct5.dataset import Example, read_column
from lev_plugins.systems.enct5.metadata import Metadata
from lev_plugins.systems.enct5.preparation.writing import bert_cutter
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.enct5.tokenizer import Tokenizer, WordpieceTokenizer

PIECES = ["<pad>", "</s>", "<unk>", "<s>", "[unused0]", "[MASK]", *BERT_TOKENS[6:]]
NO_SPAN = torch.zeros(0, dtype=torch.long)
TAGGING, LABELS = ProblemType.TAGGING, ProblemType.MULTILABEL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return checkpoints.bert(tmp_path / "bert")


def cutter(folder: Path) -> Tokenizer:
    return bert_cutter(str(folder), PLACES)


def a_task(kind: ProblemType, pieces: Any = PIECES, longest: int = PLACES) -> Namespace:
    """All of a task that a model looks at."""
    made = enct5_models.task(kind, pieces=pieces)
    made.metadata = Namespace(max_length=longest, wordpiece=None)
    return made


def settings(folder: Path | None, **values: Any) -> EncT5Config:
    """Those of a training, as they reach a checkpoint."""
    cfg = EncT5Config(bert_dir=folder and str(folder), dropout=0.0, **values)
    EncT5Model.settle(cfg)
    return cfg


def build(folder: Path, kind: ProblemType, **values: Any) -> EncT5Model:
    return EncT5Model.build_model(settings(folder, **values), a_task(kind)).eval()


def example(kind: ProblemType, *words: int) -> Example:
    """A text of so many subwords each word, between ``<s>`` and ``</s>``; which ones is random."""
    inside = torch.randint(4, len(PIECES), (sum(words),))
    pieces = torch.cat([torch.tensor([3]), inside, torch.tensor([1])])
    if kind is not TAGGING:
        return Example(pieces, NO_SPAN, torch.tensor([1]))
    spans = torch.arange(1, len(words) + 1).repeat_interleave(torch.tensor(words))
    none = torch.zeros(1, dtype=torch.long)
    return Example(pieces, torch.cat([none, spans, none]), torch.zeros(len(words)).long())


# text to subwords ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts, most, expected",
    [
        (["The cat sat!"], 9, "<s> the cat sat <unk> </s>"),
        (["unhappy mats"], 9, "<s> un ##happy mat ##s </s>"),
        (["[CLS] cat </s>"], 13, "<s> <unk> <unk> <unk> cat <unk> <unk> <unk> <unk> </s>"),
        (["\ud83d"], 9, "<s> <unk> </s>"),
        (["the cat sat on the mat"], 5, "<s> the cat sat </s>"),
        (["the cat", "a mat"], 9, "<s> the cat </s> a mat </s>"),
        (["the cat sat on", "a mat"], 7, "<s> the cat </s> a mat </s>"),
        ([""], 3, "<s> </s>"),
    ],
)
def test_a_text_begins_with_the_cls_token_and_special_tokens_in_it_are_text(
    folder, texts, most, expected
):
    found = cutter(folder).texts(texts, most)
    assert [PIECES[piece] for piece in found.pieces] == expected.split()


def test_the_first_symbol_belongs_to_no_word(folder):
    found = cutter(folder).words(["unhappy", "", "cats"], 9)
    symbols = [PIECES[piece] for piece in found.pieces]
    assert symbols == "<s> un ##happy <unk> cat ##s </s>".split()
    assert found.spans == [0, 1, 1, 2, 3, 3, 0]
    short = cutter(folder).words(["unhappy", "cats"], 3)
    assert (short.spans, short.reached, short.cut_off) == ([0, 1, 0], 1, True)


def test_the_datas_description_brings_the_tokenizer_back(folder):
    made = cutter(folder)
    kept = Metadata("classification", ["A", "B"], made.pieces, wordpiece=made.wordpiece)
    shutil.rmtree(folder)
    values = json.loads(json.dumps(dataclasses.asdict(kept)))
    again = Metadata.of(values, "here").tokenizer()
    assert isinstance(again, WordpieceTokenizer) and again.pieces == made.pieces == PIECES
    assert again.texts(["[SEP] unhappy cats"], 9) == made.texts(["[SEP] unhappy cats"], 9)


def test_a_tokenizer_without_a_symbol_for_unknown_words_is_refused(folder):
    made = cutter(folder)
    values = json.loads(made.wordpiece or "")
    values["tokenizer"]["model"]["unk_token"] = "none"
    with refuses("here: its WordPiece tokenizer is damaged", "UNK"):
        WordpieceTokenizer(json.dumps(values), made.pieces, "here")


def test_without_the_library_the_way_out_is_told(folder, monkeypatch):
    made = cutter(folder)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with refuses("here: reading its WordPiece needs", "pip install 'lev_plugins[pretrained]'"):
        WordpieceTokenizer(made.wordpiece or "", made.pieces, "here")


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"wordpiece": "{"}, "here: its WordPiece tokenizer is damaged"),
        ({"wordpiece": '{"rows": [], "tokenizer": {}}'}, "its WordPiece tokenizer is damaged"),
        ({"pieces": PIECES[:-1]}, "here: the vocabulary is not that of its WordPiece tokenizer"),
        ({"pieces": [*PIECES[:3], "a", *PIECES[4:]]}, "and not with '<pad> </s> <unk> <s>'"),
    ],
)
def test_a_damaged_tokenizer_is_told_in_one_line(folder, changes, said):
    made = cutter(folder)
    values = dataclasses.asdict(
        Metadata("classification", ["A", "B"], made.pieces, wordpiece=made.wordpiece)
    )
    with refuses("here: ", said):
        Metadata.of({**values, **changes}, "here").tokenizer("here")


# the model -----------------------------------------------------------------------------------


def test_every_weight_is_the_berts_and_only_new_ones_learn_at_the_full_rate(folder):
    """The oracle is gated-Trans's encoder from the same folder, which is tested by itself."""
    model = build(folder, LABELS)
    dictionary = Dictionary()
    for symbol in PIECES[4:]:
        dictionary.add_symbol(symbol)
    backbone = load_backbone(str(folder), dictionary, dictionary, **checkpoints.NO_DROPOUT)
    texts = [example(LABELS, length) for length in (5, 3)]
    found = model.encoder.eval()
    for one in texts:
        symbols = [PIECES[piece] for piece in one.pieces]
        tokens = torch.tensor([[dictionary.index(symbol) for symbol in symbols]])
        real = torch.ones(1, len(symbols)).bool()
        backbone.encoder.eval(), backbone.source.eval()
        expected = backbone.encoder(backbone.source(tokens), real)
        assert_near(found(model.embed(one.pieces[None]), real), expected)
    groups = {
        name.partition(".")[0]: getattr(parameter, "param_group", None)
        for name, parameter in model.named_parameters()
    }
    assert groups == {"embed": BACKBONE, "encoder": BACKBONE, "decoder": None, "head": None}


@pytest.mark.parametrize("kind", [TAGGING, LABELS, ProblemType.CLASSIFICATION])
def test_packed_and_padded_rows_have_the_logits_of_each_text_alone(folder, kind):
    model = build(folder, kind, decoder_layers=2)
    texts = [example(kind, *words) for words in ((2, 1, 4), (1,), (3, 1), (2, 2, 2))]
    with torch.no_grad():
        alone = torch.cat([enct5_models.answers(model, [[one]], kind) for one in texts])
        rows = [texts[:3], texts[3:]]
        assert sum(len(one.pieces) for one in rows[0]) > PLACES, "places begin afresh"
        assert_near(enct5_models.answers(model, rows, kind), alone)


def test_a_checkpoint_needs_the_folder_no_more(folder, caplog):
    cfg = settings(folder)
    model = EncT5Model.build_model(dataclasses.replace(cfg), a_task(TAGGING)).eval()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    rows = [[example(TAGGING, 2, 1)]]
    expected = enct5_models.answers(model, rows, TAGGING)
    shutil.rmtree(folder)
    for bert_dir in (str(folder), None):
        kept = dataclasses.replace(cfg, bert_dir=bert_dir)
        again = EncT5Model.build_model(kept, a_task(TAGGING))
        again.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
        assert isinstance(again.encoder, BertEncoder)
        assert torch.equal(enct5_models.answers(again.eval(), rows, TAGGING), expected)
    assert f"only a checkpoint's weights are used: {folder}: no such folder" in caplog.text


def test_dropout_falls_on_the_berts_states_in_training_alone(folder):
    cfg = settings(folder)
    cfg.dropout = 0.5
    model = EncT5Model.build_model(cfg, a_task(TAGGING))
    text, real = model.embed(example(TAGGING, 4).pieces[None]), torch.ones(1, 6).bool()
    assert torch.equal(model.embed(torch.tensor([[3, 5]])), model.embed.table.weight[[3, 5]][None])
    assert not torch.equal(model.encoder(text, real), model.encoder(text, real))
    model.eval()
    assert torch.equal(model.encoder(text, real), model.encoder(text, real))


# what is refused -----------------------------------------------------------------------------


def test_options_that_contradict_each_other_are_refused(folder):
    with refuses("--t5-dir and --bert-dir: a model has one encoder"):
        settings(folder, t5_dir="t5")
    with refuses("--decoder-init t5 needs the T5: give --t5-dir DIR"):
        settings(folder, decoder_init="t5")
    with refuses(f"texts of up to {PLACES + 1} subwords", f"with --max-length {PLACES}"):
        EncT5Model.build_model(settings(folder), a_task(TAGGING, longest=PLACES + 1))
    with refuses(f"--max-length {PLACES + 1}: {folder} has {PLACES} positions"):
        bert_cutter(str(folder), PLACES + 1)
    swapped = [*PIECES[:-2], PIECES[-1], PIECES[-2]]
    with refuses("prepared with another vocabulary (subword 13", "--bert-dir of the same folder"):
        EncT5Model.build_model(settings(folder), a_task(TAGGING, swapped))


def test_a_training_from_scratch_on_a_berts_subwords_says_so(folder, caplog):
    task = a_task(TAGGING)
    task.metadata.wordpiece, said = "{}", "--bert-dir to start from the BERT"
    for trains, bert, told in ((True, None, True), (False, None, False), (True, folder, False)):
        task.trains = trains
        caplog.clear()
        with caplog.at_level("INFO"):
            EncT5Model.build_model(settings(bert), task)
        assert (said in caplog.text) is told


def test_a_training_from_a_bert_is_resumed_with_it(folder):
    stored = settings(folder)
    with refuses(f"last.pt: was trained with --bert-dir {folder}: give this option to resume it"):
        EncT5Model.check_resumed(settings(None), stored, "last.pt")
    EncT5Model.check_resumed(settings(folder), stored, "last.pt")
    EncT5Model.check_resumed(settings(folder), settings(None), "last.pt")


def test_prepared_texts_begin_with_a_symbol_of_no_word(folder, tmp_path):
    text = tmp_path / "text.tsv"
    text.write_text("A B\tthe cats\nB\tmat\n")
    flags = ["--kind", "tagging", "--train", str(text), "--bert-dir", str(folder)]
    enct5_prepare.main([*flags, "--destdir", str(tmp_path / "data")])
    spans = read_column(str(tmp_path / "data" / "train.spans"))
    assert [one.tolist() for one in spans] == [[0, 1, 2, 2, 0], [0, 1, 0]]


def test_a_folder_of_another_model_is_refused(tmp_path):
    folder = checkpoints.t5(tmp_path / "t5")
    with refuses("model_type is 't5'; --bert-dir takes bert"):
        BertDirectory(str(folder))
    cfg = settings(checkpoints.bert(tmp_path / "bert"))
    cfg.encoder_embed_dim = 16
    with refuses("--bert-plan: a BERT of width 8, and --encoder-embed-dim 16", "--bert-dir"):
        EncT5Model.build_model(cfg, a_task(TAGGING))
    cfg.bert_plan = '{"kind": "bart"}'
    with refuses("not the description of a backbone"):
        EncT5Model.build_model(cfg, a_task(TAGGING))


def test_a_berts_head_for_masked_words_is_left_out(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert", prefix="bert.", head=True)
    assert isinstance(build(folder, TAGGING).encoder, BertEncoder)
    folder = checkpoints.write(
        tmp_path / "odd", BERT_CONFIG, {**checkpoints.bert_tensors(), "adapter": torch.ones(1)}
    )
    with refuses("holds tensors that have no place in such a model: adapter"):
        build(folder, TAGGING)
