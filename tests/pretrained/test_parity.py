"""The same states, logits and subwords as ``transformers``, from folders that it wrote.

The extra ``test`` installs it; where it is missing these tests are skipped.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import torch
from checkpoints import BART_TOKENS, BERT_TOKENS, Model
from closeness import assert_near
from torch import Tensor

from lev_plugins.systems.enct5.directory import EncoderDirectory
from lev_plugins.systems.enct5.network import BertEncoder

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


#: what a family's decoder starts with
STARTS = {"bert": BERT_TOKENS.index("[SEP]"), "bart": BART_TOKENS.index("</s>"), "t5": 0}


def save(model: Any, folder: Path, kind: str, form: str = "whole") -> Path:
    """What the library writes, and a tokenizer beside it."""
    if form == "bfloat16":
        model.bfloat16()
    model.save_pretrained(folder, max_shard_size="2KB" if form == "shards" else "1GB")
    model.float()  # with the numbers that were stored
    shards = list(folder.glob("model-*.safetensors"))
    assert (len(shards) > 2) == (form == "shards")
    checkpoints.tokenizer(folder, kind)
    return folder


class Compared:
    """Both models on the same sentences; the dictionary has an order of its own."""

    def __init__(self, folder: Path, tie: bool = False) -> None:
        vocabulary = checkpoints.vocabulary_of(folder)
        self.source = checkpoints.dictionary(vocabulary, shuffled=True)
        self.target = checkpoints.dictionary(vocabulary, shuffled=True)
        if tie:
            self.target = self.source
        self.rows = vocabulary.rows_of(self.source.symbols), vocabulary.rows_of(self.target.symbols)
        backbone = checkpoints.load(folder, self.source, self.target, tie)
        self.ours = Model(backbone, self.source, self.target)
        self.tokens = checkpoints.sentences(self.source, 5, 7, 2)
        after = checkpoints.sentences(self.target, 6, 3, 4)
        self.real = self.tokens.ne(self.source.pad())
        self.before = checkpoints.prefixes(after, self.target.eos())
        self.written = self.before.ne(self.target.pad())

    def theirs(self, start: int) -> tuple[Tensor, Tensor]:
        """The sentences as rows of the checkpoint."""
        before = self.rows[1][self.before]
        before[:, 0] = start
        return self.rows[0][self.tokens], before

    def check(self, encoded: Tensor, logits: Tensor) -> None:
        with torch.no_grad():
            ours = self.ours.encode(self.tokens)
            _, read = self.ours.decode(self.tokens, self.before)
            steps = self.ours.step_by_step(self.tokens, self.before)
        assert_near(ours[self.real], encoded[self.real])
        expected = logits[self.written][:, self.rows[1]]
        for predicted in (read, steps):
            assert_near(predicted[self.written], expected)


SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Hello, wörld! It's 3.5 % (or so)…",
    "  two  spaces,\ttabs and 北京 🙂 unbelievably",
    "He did not know, and nobody told him, that it wasn't so.",
]


def cut_alike(ours: Any, theirs: Any, texts: Sequence[str] = SENTENCES) -> None:
    rows_of = ours.vocabulary.rows
    for text in texts:
        rows = theirs(text, add_special_tokens=False).input_ids
        cut = ours.encode(text)
        assert [rows_of[ours.vocabulary.tokens[symbol]] for symbol in cut.split()] == rows
        assert ours.decode(cut) == theirs.decode(rows)


def run_seq2seq(model: Any, compared: Compared, kind: str) -> None:
    source, before = compared.theirs(STARTS[kind])
    with torch.no_grad():
        out = model(
            input_ids=source,
            attention_mask=compared.real.long(),
            decoder_input_ids=before,
            decoder_attention_mask=compared.written.long(),
        )
    compared.check(out.encoder_last_hidden_state, out.logits)


def settings(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**config, **changes}.items() if name != "model_type"}


FORMS = pytest.mark.parametrize("form", ["whole", "shards", "bfloat16"])


@FORMS
def test_bart(transformers, tmp_path, form):
    changes = {"scale_embedding": form == "shards", "dropout": 0.0}
    config = transformers.BartConfig(**settings(checkpoints.BART_CONFIG, **changes))
    model = randomised(transformers.BartForConditionalGeneration(config))
    run_seq2seq(model, Compared(save(model, tmp_path / "bart", "bart", form)), "bart")


#: name → class, settings, and whether the output gets a table of its own, as in the files of 1.1
T5S: dict[str, tuple[str, dict[str, Any], bool]] = {
    "1.0": ("T5", checkpoints.T5_0, False),
    "1.0, untied": ("T5", checkpoints.T5_0, True),
    "1.1": ("T5", checkpoints.T5_1, True),
    "mt5": ("MT5", checkpoints.T5_1, True),
    "mt5, tied": ("MT5", {**checkpoints.T5_1, "tie_word_embeddings": True}, False),
    "gelu_new": ("T5", {**checkpoints.T5_0, "feed_forward_proj": "gelu_new"}, False),
    "gated-silu": ("T5", {**checkpoints.T5_1, "feed_forward_proj": "gated-silu"}, True),
}


@pytest.mark.parametrize("name", T5S)
def test_t5(transformers, tmp_path, name):
    class_, config, own = T5S[name]
    config_ = getattr(transformers, f"{class_}Config")(**settings(config, num_decoder_layers=3))
    model = getattr(transformers, f"{class_}ForConditionalGeneration")(config_)
    if own:  # the library ties it whatever it is told
        model.lm_head.weight = torch.nn.Parameter(torch.empty(len(model.shared.weight), 8))
    form = {"1.0": "shards", "1.1": "bfloat16"}.get(name, "whole")
    folder = save(randomised(model), tmp_path / "t5", "t5", form)
    run_seq2seq(model, Compared(folder), "t5")


def test_a_berts_encoder_reads_each_text_of_a_row_as_if_it_stood_alone(transformers, tmp_path):
    """What EncT5 starts from."""
    config = settings(checkpoints.BERT_CONFIG, attn_implementation="eager")
    model = randomised(transformers.BertModel(transformers.BertConfig(**config)))
    directory = EncoderDirectory(str(save(model, tmp_path / "bert", "bert")), "bert_dir")
    table = torch.nn.Embedding(len(directory.pieces), checkpoints.DIM)
    encoder = BertEncoder(directory.config, 0.0).eval()
    directory.load_into(table, encoder, None)
    rows = directory.rows
    tokens = torch.randint(3, len(rows), (1, 7 + 5 + 2))
    segments = torch.tensor([[1] * 7 + [2] * 5 + [0] * 2])
    mask = (segments.unsqueeze(2) == segments.unsqueeze(1)).unsqueeze(1)
    with torch.no_grad():
        encoded = encoder(table(tokens), segments.ne(0), mask)
        for segment in (1, 2):
            own = tokens[segments == segment]
            expected = model(input_ids=rows[own][None]).last_hidden_state
            assert_near(encoded[segments == segment], expected[0])


@pytest.mark.parametrize(
    ("tie", "tied", "form"),
    [
        (False, True, "whole"),
        (True, False, "whole"),
        (True, True, "shards"),
        (False, False, "bfloat16"),
    ],
)
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
    source, before = compared.theirs(STARTS["bert"])
    with torch.no_grad():
        encoded = model.bert(source, attention_mask=compared.real.long()).last_hidden_state
        out = decoder(
            before,
            attention_mask=compared.written.long(),
            encoder_hidden_states=encoded,
            encoder_attention_mask=compared.real.long(),
        )
    compared.check(encoded, out.logits)


def cross_attention(block: Any, name: str) -> dict[str, Tensor]:
    """A decoder block's, which no BERT has, under the library's names."""
    cross, tensors = block.cross_attention, {}
    key_value = [part.chunk(2) for part in (cross.inputs.weight, cross.inputs.bias)]
    for part, name_of in enumerate(("key", "value")):
        tensors[f"{name}.self.{name_of}.weight"] = key_value[0][part].detach()
        tensors[f"{name}.self.{name_of}.bias"] = key_value[1][part].detach()
    layers = {"self.query": cross.query, "output.dense": cross.output}
    for theirs, ours in {**layers, "output.LayerNorm": block.cross_norm}.items():
        tensors[f"{name}.{theirs}.weight"] = ours.weight.detach()
        tensors[f"{name}.{theirs}.bias"] = ours.bias.detach()
    return tensors
