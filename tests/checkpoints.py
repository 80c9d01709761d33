"""Tiny pre-trained models, in folders as ``transformers`` has them."""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from fairseq.data import Dictionary
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer
from torch import Tensor

from lev_plugins.nn.backbone import Backbone
from lev_plugins.nn.seq2seq.model import TransformerDecoder
from lev_plugins.nn.transformer import EncoderOutput
from lev_plugins.pretrained import Pretrained, Vocabulary, read_vocabulary
from lev_plugins.pretrained.directory import Directory

try:
    import torchaudio  # noqa: F401
except ImportError:
    pass
except OSError:  # one that was built for another torch; transformers would stumble over it
    sys.modules["torchaudio"] = None  # type: ignore[assignment]

DIM, HEADS, HIDDEN, LAYERS, PLACES = 8, 2, 12, 2, 9
WORDS = ["the", "cat", "sat", "on", "a", "mat", "##s", "un", "##happy"]
BERT_TOKENS = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
BART_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", *WORDS, "<mask>"]
T5_TOKENS = ["<pad>", "</s>", "<unk>", *WORDS, "<extra_id_1>", "<extra_id_0>"]
# as real checkpoints have them
T5_ROWS = len(T5_TOKENS) + 3
NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}

Tensors = dict[str, Tensor]


def randomised(model: torch.nn.Module) -> torch.nn.Module:
    """Norms, biases and the padding's row too, so that a forgotten one shows."""
    for name, value in model.state_dict().items():
        value.normal_(float("norm" in name.lower() and name.endswith("weight")), 0.4)
    return model.eval()


def random_tensors(kind: str, config: dict[str, Any], *left_out: str) -> Tensors:
    """Of a model of the library, by its names."""
    import transformers

    model = getattr(transformers, kind)(transformers.AutoConfig.for_model(**config))
    tensors = randomised(model).state_dict()
    # apart, as they are stored, though the library has tied them
    return {
        name: value.clone()
        for name, value in tensors.items()
        if not any(part in name for part in left_out)
    }


def bert_tensors(prefix: str = "", head: bool = False) -> Tensors:
    if head:
        return random_tensors("BertForMaskedLM", BERT_CONFIG, "predictions.decoder")
    tensors = random_tensors("BertModel", BERT_CONFIG)
    return {f"{prefix}{name}": value for name, value in tensors.items()}


def t5_tensors(gated: bool, tied: bool) -> Tensors:
    tables = ["embed_tokens", *(["lm_head"] if tied else [])]
    return random_tensors("T5ForConditionalGeneration", T5_1 if gated else T5_0, *tables)


BERT_CONFIG = {
    "model_type": "bert",
    "vocab_size": len(BERT_TOKENS),
    "hidden_size": DIM,
    "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "max_position_embeddings": PLACES,
}
BART_CONFIG = {
    "model_type": "bart",
    "vocab_size": len(BART_TOKENS),
    "d_model": DIM,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": HIDDEN,
    "decoder_ffn_dim": HIDDEN,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "max_position_embeddings": PLACES,
    "scale_embedding": True,
}
T5_CONFIG = {
    "model_type": "t5",
    "vocab_size": T5_ROWS,
    "d_model": DIM,
    "d_kv": 3,
    "d_ff": HIDDEN,
    "num_heads": HEADS,
    "num_layers": LAYERS,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 6,
}
T5_0 = {**T5_CONFIG, "feed_forward_proj": "relu"}
T5_1 = {**T5_CONFIG, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}


def write(folder: Path, config: dict[str, Any], tensors: Tensors) -> Path:
    """A folder with a model and its vocabulary."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(
        {name: value.contiguous() for name, value in tensors.items()},
        str(folder / "model.safetensors"),
    )
    tokenizer(folder, config["model_type"])
    return folder


def tokenizer(folder: Path, kind: str) -> None:
    if kind in ("bert", "bart"):
        is_bert = kind == "bert"
        rows = {token: row for row, token in enumerate(BERT_TOKENS if is_bert else BART_TOKENS)}
        built = BertWordPieceTokenizer(rows) if is_bert else ByteLevelBPETokenizer(rows, [])
        built.save(str(folder / "tokenizer.json"))
    else:
        unigram(folder, T5_TOKENS)


def unigram(folder: Path, tokens: list[str]) -> None:
    """A T5's ``tokenizer.json`` with these tokens."""
    model = {"type": "Unigram", "vocab": [[token, -float(row)] for row, token in enumerate(tokens)]}
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    steps = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, spaces]}
    content = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": steps,
        "decoder": spaces,
        "model": {**model, "unk_id": 2},
    }
    (folder / "tokenizer.json").write_text(json.dumps(content))


def bert(folder: Path, **options: Any) -> Path:
    return write(folder, BERT_CONFIG, bert_tensors(**options))


def bart(folder: Path) -> Path:
    kind = "BartForConditionalGeneration"
    return write(folder, BART_CONFIG, random_tensors(kind, BART_CONFIG, "embed_tokens", "lm_head"))


def t5(folder: Path, new: bool = True) -> Path:
    return write(folder, T5_1 if new else T5_0, t5_tensors(gated=new, tied=not new))


KINDS = {"bert": bert, "bart": bart, "t5": t5}


def vocabulary_of(folder: Path) -> Vocabulary:
    return read_vocabulary(Directory(str(folder)))


def dictionary(vocabulary: Vocabulary, shuffled: bool = False) -> Dictionary:
    """A vocabulary as fairseq has it, perhaps in an order of its own."""
    symbols = list(vocabulary.ordinary())
    if shuffled:
        symbols = [symbols[i] for i in torch.randperm(len(symbols)).tolist()]
    dictionary_ = Dictionary()
    for symbol in symbols:
        dictionary_.add_symbol(symbol)
    return dictionary_


def load(folder: Path, source: Dictionary, target: Dictionary, tie: bool = False) -> Backbone:
    return Pretrained(str(folder)).backbone(source, target, tie, **NO_DROPOUT)


class Model:
    """A backbone put together: states of the encoder, logits of the decoder."""

    def __init__(self, backbone: Backbone, source: Dictionary, target: Dictionary) -> None:
        self.backbone, self.pad = backbone, source.pad()
        self.decoder = TransformerDecoder(target, backbone, 64)
        for part in (backbone.source, backbone.encoder, self.decoder):
            part.eval()

    def encode(self, tokens: Tensor) -> Tensor:
        return self.backbone.encoder(self.backbone.source(tokens), tokens.ne(self.pad))

    def encoder_out(self, tokens: Tensor) -> dict[str, list[EncoderOutput]]:
        rows = torch.arange(len(tokens))
        mask = tokens.ne(self.pad)[:, None, None]
        return {"encoder_out": [EncoderOutput(self.encode(tokens), mask, rows=rows)]}

    def decode(self, tokens: Tensor, before: Tensor) -> Tensor:
        """Logits after every prefix of ``before``."""
        return self.decoder(before, self.encoder_out(tokens))[0]

    def step_by_step(self, tokens: Tensor, before: Tensor) -> Tensor:
        """The same logits, token by token."""
        memory, state = self.encoder_out(tokens), {}
        steps = [
            self.decoder(before[:, : n + 1], memory, incremental_state=state)[0]
            for n in range(before.size(1))
        ]
        return torch.cat(steps, 1)


def sentences(symbols: Dictionary, *lengths: int) -> Tensor:
    """Random symbols, padded on the right; no special ones."""
    rows = torch.full((len(lengths), max(lengths)), symbols.pad())
    for row, length in zip(rows, lengths):
        row[:length] = torch.randint(4, len(symbols), (length,))
    return rows


def prefixes(tokens: Tensor, end: int) -> Tensor:
    """``</s>`` before each, as fairseq feeds a decoder."""
    return torch.cat([torch.full((len(tokens), 1), end), tokens[:, :-1]], 1)
