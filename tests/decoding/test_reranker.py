"""An autoregressive model of fairseq as a judge of finished sentences."""

import math
import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from closeness import near
from fairseq.data import Dictionary, LanguagePairDataset
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.models.lstm import LSTMModel
from fairseq.models.lstm import base_architecture as lstm_architecture
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor, nn

from lev_plugins.errors import UserError
from lev_plugins.systems.levenshtein.decoding.reranker import Reranker
from lev_plugins.systems.transformer_concat.config import TransformerConcatConfig
from lev_plugins.systems.transformer_concat.dataset import join_draft
from lev_plugins.systems.transformer_concat.model import TransformerConcatModel

# said by fairseq, of masks of different types
pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")

WITHOUT = tiny.dictionary()  # what a translation model was trained with
SYMBOLS = tiny.dictionary()
PLH = SYMBOLS.add_symbol("<plh>")
TRANSFORMER = {
    "encoder_embed_dim": 16,
    "encoder_ffn_embed_dim": 24,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_layers": 2,
    "decoder_attention_heads": 2,
    "max_source_positions": 30,
    "max_target_positions": 20,
}
LSTM = {"encoder_embed_dim": 8, "encoder_hidden_size": 12, "decoder_embed_dim": 8}
LSTM |= {"decoder_hidden_size": 12, "decoder_out_embed_dim": 8, "criterion": "cross_entropy"}
SOURCES = ["abc", "hgfedcba", "", "bb", "efg"]
CANDIDATES = [
    ["abc", "cba", "a", "abc"],
    ["", "gagagagaga", "h_"],
    ["b"],
    [],
    ["efg", "efgh", "", "e", "fe", "efg"],
]


def stock_task(symbols: Dictionary) -> Any:
    return SimpleNamespace(source_dictionary=symbols, target_dictionary=symbols)


def transformer(symbols: Dictionary = WITHOUT, **options: Any) -> nn.Module:
    args = Namespace(**{**TRANSFORMER, **options})
    base_architecture(args)
    torch.manual_seed(1)
    return tiny.sharpen(TransformerModel.build_model(args, stock_task(symbols)), 1.5)


def lstm() -> nn.Module:
    args = Namespace(**LSTM)
    lstm_architecture(args)
    torch.manual_seed(1)
    return tiny.sharpen(LSTMModel.build_model(args, stock_task(WITHOUT)), 3.0)


MODELS = {
    "sinusoids": transformer,
    "learned positions": lambda: transformer(encoder_learned_pos=True, decoder_learned_pos=True),
    "one table": lambda: transformer(share_all_embeddings=True),
    "adaptive softmax": lambda: transformer(adaptive_softmax_cutoff="5,8"),
    "lstm": lstm,
}


def score(reranker: Reranker, left: bool = False, extra: int = 0) -> list[list[float]]:
    sources = [tiny.sentence(source, SYMBOLS) for source in SOURCES]
    tokens = tiny.stack(sources, SYMBOLS.pad(), left, extra)
    return reranker.score(tokens, None, [[sentence(one) for one in row] for row in CANDIDATES])


def sentence(letters: str) -> Tensor:
    return tiny.sentence(letters, SYMBOLS)


def scored_by_fairseq(model: nn.Module, left_pad_source: bool) -> list[list[float]]:
    """All pairs in one batch of fairseq's translation data, scored by fairseq's own scorer."""
    pairs = [(s, c) for s, row in zip(SOURCES, CANDIDATES, strict=True) for c in row]
    source, target = ([tiny.sentence(pair[side], WITHOUT)[1:] for pair in pairs] for side in (0, 1))
    data = LanguagePairDataset(
        source,
        [len(one) for one in source],
        WITHOUT,
        target,
        [len(one) for one in target],
        WITHOUT,
        left_pad_source=left_pad_source,
    )
    batch = data.collater([data[i] for i in range(len(pairs))])
    found = SequenceScorer(WITHOUT).generate([model], batch)
    scores = dict(zip(batch["id"].tolist(), found, strict=True))
    in_order = iter([float(scores[i][0]["score"]) for i in range(len(pairs))])
    return [[next(in_order) for _ in row] for row in CANDIDATES]


def assert_close(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> None:
    assert [len(row) for row in first] == [len(row) for row in second]
    for one, other in zip(first, second, strict=True):
        assert one == near(other)


# the scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_scores_are_those_of_fairseqs_own_scorer(build: Callable[[], nn.Module]):
    model = build()
    scores = score(Reranker(model, SYMBOLS))
    assert_close(scores, scored_by_fairseq(model, True))
    assert len({round(one, 3) for row in scores for one in row}) == 12, "two are there twice"
    assert all(-20 < one < 0 for row in scores for one in row)


def test_the_types_of_fairseqs_masks_are_no_matter_for_users():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(Reranker(transformer(), SYMBOLS))
        with pytest.raises(UserWarning, match="another"):
            warnings.warn("another", UserWarning, stacklevel=1)
        before = list(warnings.filters)
        Reranker(transformer(), SYMBOLS)
        assert warnings.filters == before, "changed filters show what was shown once more"


def test_a_length_penalty_divides_by_a_power_of_the_length_as_in_beam_search():
    model = transformer()
    means, lengths = score(Reranker(model, SYMBOLS)), [[len(c) + 1 for c in r] for r in CANDIDATES]
    for penalty in (0.0, 1.5):
        wanted = [
            [mean * n ** (1 - penalty) for mean, n in zip(row, sizes, strict=True)]
            for row, sizes in zip(means, lengths, strict=True)
        ]
        assert_close(score(Reranker(model, SYMBOLS, length_penalty=penalty)), wanted)


def test_sources_can_be_padded_on_the_right():
    model = transformer()
    scores = score(Reranker(model, SYMBOLS, left_pad_source=False))
    assert_close(scores, scored_by_fairseq(model, False))


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_neither_batches_nor_padding_change_a_score(build: Callable[[], nn.Module]):
    model = build()
    scores = score(Reranker(model, SYMBOLS))
    for max_tokens in (1, 12, 30):
        assert_close(score(Reranker(model, SYMBOLS, max_tokens=max_tokens)), scores)
    assert_close(score(Reranker(model, SYMBOLS), left=True, extra=2), scores)


@torch.no_grad()
def test_a_score_is_the_mean_over_the_tokens_and_the_end():
    model = transformer().eval()
    source = tiny.sentence("hg", WITHOUT)[1:].unsqueeze(0)
    total, before = 0.0, [WITHOUT.eos()]
    for token in tiny.sentence("abb", WITHOUT)[1:].tolist():
        out = model(source, torch.tensor([3]), torch.tensor([before]))[0]
        total += float(out[0, -1].log_softmax(-1)[token])
        before.append(token)
    ((found,),) = Reranker(model, SYMBOLS).score(
        tiny.sentence("hg", SYMBOLS).unsqueeze(0), None, [[sentence("abb")]]
    )
    assert found == near(total / 4)


def test_a_model_in_training_is_put_into_evaluation_mode():
    model = transformer(dropout=0.5).train()
    first, second = (score(Reranker(model, SYMBOLS)) for _ in range(2))
    assert first == second and not model.training
    assert not any(parameter.grad is not None for parameter in model.parameters())


def test_nothing_to_score_is_no_score():
    reranker = Reranker(transformer(), SYMBOLS)
    assert reranker.score(torch.zeros(0, 3).long(), None, []) == []
    assert reranker.score(tiny.sentence("a", SYMBOLS).unsqueeze(0), None, [[]]) == [[]]


# what the model is given ----------------------------------------------------------------------


class Listening(FairseqEncoderDecoderModel):
    """Notes what it reads; every symbol is as likely as any other."""

    def __init__(self, joins_draft: bool = False) -> None:
        nn.Module.__init__(self)
        self.weight = nn.Parameter(torch.zeros(1))
        self.encoder = self.decoder = None
        self.heard: list[tuple[Tensor, list[int], Tensor]] = []
        if joins_draft:
            self.joins_draft = True

    def max_positions(self) -> None:
        return None

    def forward(self, src_tokens, src_lengths, prev_output_tokens):
        self.heard.append((src_tokens, src_lengths.tolist(), prev_output_tokens))
        return torch.zeros(*prev_output_tokens.shape, len(SYMBOLS))

    def get_normalized_probs(self, net_output, log_probs, sample=None):
        assert log_probs and sample["target"].shape == net_output.shape[:2]
        return net_output.log_softmax(-1)


def raw(letters: str) -> list[int]:
    """``~`` is </s>, ``.`` is padding."""
    special = {"~": SYMBOLS.eos(), ".": SYMBOLS.pad()}
    return [special.get(one, SYMBOLS.index(one)) for one in letters]


def test_a_stock_model_reads_the_source_as_it_was_trained():
    model = Listening()
    score(Reranker(model, SYMBOLS))
    ((sources, lengths, previous),) = model.heard
    rows = ["hgfedcba~"] * 3 + [".....efg~"] * 5 + [".....abc~"] * 3 + ["........~"]
    assert sorted(sources.tolist()) == sorted(map(raw, rows))
    assert lengths == [9] * 3 + [4] * 8 + [1], "the longest first, as an LSTM has to have them"
    assert raw("~gagagagaga") in previous.tolist() and raw("~..........") in previous.tolist()
    assert len(previous) == 12, "what is there twice is scored once"


@pytest.mark.parametrize("drafted", [True, False])
def test_a_model_that_joins_drafts_reads_both(drafted):
    model = Listening(joins_draft=True)
    pad = SYMBOLS.pad()
    sources = tiny.stack([sentence("ab"), sentence("")], pad, left=True)
    drafts = tiny.stack([sentence("c"), sentence("def")], pad)
    Reranker(model, SYMBOLS, left_pad_source=False).score(
        sources, drafts if drafted else None, [[sentence("a")], [sentence("b")]]
    )
    ((heard, lengths, _),) = model.heard
    expected = ["ab~c~", "~def~"] if drafted else ["ab~~", "~~.."]
    assert heard.tolist() == [raw(one) for one in expected]
    assert lengths == [len(one.rstrip(".")) for one in expected]


@torch.no_grad()
def test_the_baseline_for_post_editing_scores_what_it_joins_itself():
    cfg = TransformerConcatConfig(**TRANSFORMER, decoder_embed_dim=16, dropout=0.0)
    model = TransformerConcatModel.build_model(cfg, stock_task(WITHOUT))
    tiny.sharpen(model, 1.5).eval()
    source, draft = sentence("abc").unsqueeze(0), sentence("cbadef").unsqueeze(0)
    ((found, other),) = Reranker(model, SYMBOLS).score(
        source, draft, [[sentence("hg"), sentence("abcdef")]]
    )
    tokens = join_draft(source, draft, WITHOUT.pad(), WITHOUT.bos())
    previous = torch.tensor([[WITHOUT.eos(), *sentence("hg")[1:-1].tolist()]])
    out = model(tokens, torch.tensor([tokens.size(1)]), previous)[0]
    expected = out.log_softmax(-1)[0].gather(1, sentence("hg")[1:].unsqueeze(1)).mean()
    assert found == near(float(expected)) and found != other
    ((without,),) = Reranker(model, SYMBOLS).score(source, None, [[sentence("hg")]])
    assert without != pytest.approx(found, abs=1e-3), "the draft is read"


def test_only_a_model_that_joins_drafts_is_told_about_them():
    model = Listening()
    drafts = tiny.stack([sentence("ccc")], SYMBOLS.pad())
    Reranker(model, SYMBOLS).score(sentence("ab").unsqueeze(0), drafts, [[sentence("a")]])
    assert model.heard[0][0].tolist() == [raw("ab~")]


def test_words_beyond_the_dictionary_are_unknown():
    model = Listening(joins_draft=True)
    beyond = torch.tensor([SYMBOLS.bos(), len(SYMBOLS), len(SYMBOLS) + 7, SYMBOLS.eos()])
    Reranker(model, SYMBOLS).score(
        sentence("a").unsqueeze(0), beyond.unsqueeze(0), [[beyond, sentence("a")]]
    )
    unk = SYMBOLS.unk()
    assert model.heard[0][0][0].tolist() == [*raw("a~"), unk, unk, SYMBOLS.eos()]
    assert model.heard[0][2][0].tolist() == [SYMBOLS.eos(), unk, unk]


def test_every_symbol_is_as_likely_as_any_other():
    (row,) = Reranker(Listening(), SYMBOLS).score(
        sentence("a").unsqueeze(0), None, [[sentence(""), sentence("abc")]]
    )
    assert row == pytest.approx([-math.log(len(SYMBOLS))] * 2)


# models that do not fit -----------------------------------------------------------------------


def test_the_dictionary_may_lack_the_placeholder_alone():
    Reranker(transformer(WITHOUT), SYMBOLS)
    Reranker(transformer(SYMBOLS), SYMBOLS)
    for other in ("abcdefg", "bacdefgh", "abcdefghi"):
        with pytest.raises(UserError, match="another target dictionary"):
            Reranker(transformer(tiny.dictionary(other)), SYMBOLS)


def test_an_edit_model_cannot_rank():
    with pytest.raises(UserError, match="LevenshteinEditorModel cannot rank"):
        Reranker(tiny.model(tiny.task()), SYMBOLS)
    with pytest.raises(UserError, match="Linear cannot rank"):
        Reranker(nn.Linear(1, 1), SYMBOLS)


def test_words_that_fairseq_has_joined_are_no_part_of_the_dictionary():
    # as fairseq-generate adds them with --post-process
    grown = tiny.dictionary()
    grown.add_symbol("<plh>")
    symbols = list(grown.symbols)
    for word in ("Hogwarts", "ab"):
        grown.add_symbol(word)
    expected = score(Reranker(transformer(), SYMBOLS))
    assert score(Reranker(transformer(), grown, symbols=symbols)) == expected
    with pytest.raises(UserError, match="another target dictionary"):
        Reranker(transformer(), grown)
