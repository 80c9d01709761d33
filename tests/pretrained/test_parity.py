"""The same states, logits and subwords as ``transformers``, from folders that it wrote.

The extra ``test`` installs it; where it is missing these tests are skipped.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import torch
from checkpoints import BART_TOKENS, BERT_TOKENS, DIM, Model, randomised
from closeness import assert_near
from torch import Tensor

from lev_plugins.systems.enct5.model import BertEncoder, EncoderDirectory

pytestmark = pytest.mark.kernels


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
        source, target = (checkpoints.dictionary(vocabulary, shuffled=True) for _ in "ab")
        target = source if tie else target
        self.ours = Model(checkpoints.load(folder, source, target, tie), source, target)
        self.tokens = checkpoints.sentences(source, 5, 7, 2)
        after = checkpoints.sentences(target, 6, 3, 4)
        self.before = checkpoints.prefixes(after, target.eos())
        self.real, self.written = (side.ne(source.pad()) for side in (self.tokens, self.before))
        self.rows = vocabulary.rows_of(target.symbols)
        #: the sentences as rows of the checkpoint
        self.source = vocabulary.rows_of(source.symbols)[self.tokens]

    def prefixes(self, start: int) -> Tensor:
        """Those of the decoder as rows of the checkpoint."""
        before = self.rows[self.before]
        before[:, 0] = start
        return before

    @torch.no_grad()
    def check(self, encoded: Tensor, logits: Tensor) -> None:
        assert_near(self.ours.encode(self.tokens)[self.real], encoded[self.real])
        expected = logits[self.written][:, self.rows]
        for predict in (self.ours.decode, self.ours.step_by_step):
            assert_near(predict(self.tokens, self.before)[self.written], expected)


SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Hello, wörld! It's 3.5 % (or so)…",
    "  two  spaces,\ttabs and 北京 🙂 unbelievably",
    "He did not know, and nobody told him, that it wasn't so.",
]


def cut_alike(ours: Any, theirs: Any, texts: Sequence[str] = SENTENCES) -> None:
    vocabulary = ours.vocabulary
    for text in texts:
        rows = theirs(text, add_special_tokens=False).input_ids
        cut = ours.encode(text)
        assert [vocabulary.rows[vocabulary.tokens[symbol]] for symbol in cut.split()] == rows
        assert ours.decode(cut) == theirs.decode(rows)


@torch.no_grad()
def run_seq2seq(model: Any, compared: Compared, kind: str) -> None:
    out = model(
        input_ids=compared.source,
        attention_mask=compared.real.long(),
        decoder_input_ids=compared.prefixes(STARTS[kind]),
        decoder_attention_mask=compared.written.long(),
    )
    compared.check(out.encoder_last_hidden_state, out.logits)


def settings(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**config, **changes}.items() if name != "model_type"}


def bert_config(transformers: Any, **changes: Any) -> Any:
    config = settings(checkpoints.BERT_CONFIG, attn_implementation="eager", **changes)
    return transformers.BertConfig(**config)


@pytest.mark.parametrize("form", ["whole", "shards", "bfloat16"])
def test_bart(transformers, tmp_path, form):
    changes = {"scale_embedding": form == "shards", "dropout": 0.0}
    config = transformers.BartConfig(**settings(checkpoints.BART_CONFIG, **changes))
    model = randomised(transformers.BartForConditionalGeneration(config))
    run_seq2seq(model, Compared(save(model, tmp_path / "bart", "bart", form)), "bart")


#: name → class, settings, and whether the output gets a table of its own, as in the files of 1.1
T5S = {
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


@torch.no_grad()
def test_a_berts_encoder_reads_each_text_of_a_row_as_if_it_stood_alone(transformers, tmp_path):
    """What EncT5 starts from."""
    model = randomised(transformers.BertModel(bert_config(transformers)))
    directory = EncoderDirectory(str(save(model, tmp_path / "bert", "bert")), "bert_dir")
    rows = directory.rows
    table, encoder = torch.nn.Embedding(len(rows), DIM), BertEncoder(directory.config, 0.0).eval()
    directory.load_into(table, encoder, None)
    tokens = torch.randint(3, len(rows), (1, 7 + 5 + 2))
    segments = torch.tensor([[1] * 7 + [2] * 5 + [0] * 2])
    mask = (segments.unsqueeze(2) == segments.unsqueeze(1)).unsqueeze(1)
    encoded = encoder(table(tokens), segments.ne(0), mask)
    for segment in (1, 2):
        own = segments == segment
        expected = model(input_ids=rows[tokens[own]][None]).last_hidden_state
        assert_near(encoded[own], expected[0])


@torch.no_grad()
@pytest.mark.parametrize(
    "tie, tied, form",
    [
        (False, True, "whole"),
        (True, False, "whole"),
        (True, True, "shards"),
        (False, False, "bfloat16"),
    ],
)
def test_bert(transformers, tmp_path, tie, tied, form):
    """``tied``: the output's table is the embeddings'; ``tie``: encoder and decoder are one."""
    config = bert_config(transformers, tie_word_embeddings=tied)
    model = randomised(transformers.BertForMaskedLM(config))
    compared = Compared(save(model, tmp_path / "bert", "bert", form), tie)
    writes = {"is_decoder": True, "add_cross_attention": True}
    config = bert_config(transformers, tie_word_embeddings=tied, **writes)
    decoder = transformers.BertLMHeadModel(config).eval()
    tensors = dict(model.state_dict())
    for number, block in enumerate(compared.ours.backbone.blocks):
        tensors.update(cross_attention(block, f"bert.encoder.layer.{number}.crossattention"))
    assert not decoder.load_state_dict(tensors, strict=False).missing_keys
    read = compared.real.long()
    encoded = model.bert(compared.source, attention_mask=read).last_hidden_state
    out = decoder(
        compared.prefixes(STARTS["bert"]),
        attention_mask=compared.written.long(),
        encoder_hidden_states=encoded,
        encoder_attention_mask=read,
    )
    compared.check(encoded, out.logits)


def cross_attention(block: Any, name: str) -> dict[str, Tensor]:
    """A decoder block's, which no BERT has, under the library's names."""
    cross = block.cross_attention
    key, value = zip(cross.inputs.weight.chunk(2), cross.inputs.bias.chunk(2))
    parts = {
        "self.key": key,
        "self.value": value,
        "self.query": cross.query.parameters(),
        "output.dense": cross.output.parameters(),
        "output.LayerNorm": block.cross_norm.parameters(),
    }
    tensors = {}
    for theirs, ours in parts.items():
        weight, bias = ours
        tensors |= {f"{name}.{theirs}.weight": weight, f"{name}.{theirs}.bias": bias}
    return tensors
