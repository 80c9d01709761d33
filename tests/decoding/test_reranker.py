"""An autoregressive model of fairseq as a judge of finished sentences."""

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
from fake_policy import RandomPolicy
from refusals import refuses
from torch import Tensor, nn

from lev_plugins.systems.levenshtein.decoding import (
    RefinementGenerator,
    RefinementOptions,
    candidates,
)
from lev_plugins.systems.levenshtein.decoding.candidates import Reranker
from lev_plugins.systems.transformer_concat.config import TransformerConcatConfig
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


def scored_by_fairseq(model: nn.Module) -> list[list[float]]:
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
def test_scores_are_those_of_fairseqs_own_scorer_whatever_the_batch(
    build: Callable[[], nn.Module], monkeypatch
):
    model = build()
    scores, wanted = score(Reranker(model, SYMBOLS, PLH)), scored_by_fairseq(model)
    assert_close(scores, wanted)
    for max_tokens in (1, 30):
        monkeypatch.setattr(candidates, "MAX_TOKENS", max_tokens)
        assert_close(score(Reranker(model, SYMBOLS, PLH), left=True, extra=2), wanted)
    assert len({round(one, 3) for row in scores for one in row}) == 12, "two are there twice"
    assert all(-20 < one < 0 for row in scores for one in row)


def test_a_length_penalty_divides_by_a_power_of_the_length_as_in_beam_search():
    model = transformer()
    means, lengths = (
        score(Reranker(model, SYMBOLS, PLH)),
        [[len(c) + 1 for c in r] for r in CANDIDATES],
    )
    for penalty in (0.0, 1.5):
        wanted = [
            [mean * n ** (1 - penalty) for mean, n in zip(row, sizes, strict=True)]
            for row, sizes in zip(means, lengths, strict=True)
        ]
        assert_close(score(Reranker(model, SYMBOLS, PLH, length_penalty=penalty)), wanted)


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


@pytest.mark.parametrize("drafted", [True, False])
def test_a_model_that_joins_drafts_reads_both(drafted):
    model = Listening(joins_draft=True)
    pad = SYMBOLS.pad()
    sources = tiny.stack([sentence("ab"), sentence("")], pad, left=True)
    drafts = tiny.stack([sentence("c"), sentence("def")], pad) if drafted else None
    targets = [[sentence("a")], [sentence("b")]]
    Reranker(model, SYMBOLS, PLH).score(sources, drafts, targets)
    expected = ["ab~c~", "~def~"] if drafted else ["ab~~", "..~~"]
    assert model.heard[0][0].tolist() == [raw(one) for one in expected]
    plain = Listening()
    Reranker(plain, SYMBOLS, PLH).score(sources, drafts, targets)
    assert plain.heard[0][0].tolist() == [raw("ab~"), raw("..~")], "others are not told"


@torch.no_grad()
def test_the_baseline_for_post_editing_scores_what_it_joins_itself():
    cfg = TransformerConcatConfig(**TRANSFORMER, decoder_embed_dim=16, dropout=0.0)
    model = TransformerConcatModel.build_model(cfg, stock_task(WITHOUT))
    tiny.sharpen(model, 1.5).eval()
    source, draft = sentence("abc").unsqueeze(0), sentence("cbadef").unsqueeze(0)
    ((found, other),) = Reranker(model, SYMBOLS, PLH).score(
        source, draft, [[sentence("hg"), sentence("abcdef")]]
    )
    tokens = torch.cat([source[:, 1:], draft[:, 1:]], 1)
    previous = torch.tensor([[WITHOUT.eos(), *sentence("hg")[1:-1].tolist()]])
    out = model(tokens, torch.tensor([tokens.size(1)]), previous)[0]
    expected = out.log_softmax(-1)[0].gather(1, sentence("hg")[1:].unsqueeze(1)).mean()
    assert found == near(float(expected)) and found != other
    ((without,),) = Reranker(model, SYMBOLS, PLH).score(source, None, [[sentence("hg")]])
    assert without != pytest.approx(found, abs=1e-3), "the draft is read"


def test_words_beyond_the_dictionary_are_unknown():
    model = Listening(joins_draft=True)
    beyond = torch.tensor([SYMBOLS.bos(), len(SYMBOLS), len(SYMBOLS) + 7, SYMBOLS.eos()])
    Reranker(model, SYMBOLS, PLH).score(
        sentence("a").unsqueeze(0), beyond.unsqueeze(0), [[beyond, sentence("a")]]
    )
    unk = SYMBOLS.unk()
    assert model.heard[0][0][0].tolist() == [*raw("a~"), unk, unk, SYMBOLS.eos()]
    assert model.heard[0][2][0].tolist() == [SYMBOLS.eos(), unk, unk]


# models that do not fit -----------------------------------------------------------------------


def test_the_dictionary_may_lack_the_placeholder_alone():
    grown = tiny.dictionary()  # as fairseq-generate adds words to it with --post-process
    for word in ("<plh>", "Hogwarts", "ab"):
        grown.add_symbol(word)
    expected = score(Reranker(transformer(), SYMBOLS, PLH))
    assert score(Reranker(transformer(), grown, PLH)) == expected
    Reranker(transformer(SYMBOLS), SYMBOLS, PLH)
    for other in ("abcdefg", "bacdefgh", "abcdefghi"):
        with refuses("another target dictionary"):
            Reranker(transformer(tiny.dictionary(other)), SYMBOLS, PLH)
    for model in (tiny.model(tiny.task()), nn.Linear(1, 1)):
        with refuses(f"{type(model).__name__} cannot rank"):
            Reranker(model, SYMBOLS, PLH)


def test_the_last_model_ranks_the_candidates():
    """The same candidates as without it, in the order of its scores."""
    policy, model = RandomPolicy(SYMBOLS, PLH, 3), transformer()
    pairs = [(row.source, row.draft) for row in tiny.triples(10, seed=5, longest=4)]
    sources, drafts = ([sentence(text) for text in side] for side in zip(*pairs, strict=True))
    source, draft = (tiny.stack(side, SYMBOLS.pad()) for side in (sources, drafts))
    sample = {"net_input": {"src_tokens": source}, "draft": draft}
    how = {"candidates": 4, "nbest": 4, "max_iter": 3, "max_len_b": 8}
    own, ranked = (
        RefinementGenerator(SYMBOLS, PLH, RefinementOptions(**how, **more)).generate(some, sample)
        for some, more in (
            ([policy], {}),
            ([policy, model], {"external_reranker": True, "length_penalty": 1.2}),
        )
    )
    tokens = [[one["tokens"] for one in group] for group in ranked]
    judge = Reranker(model, SYMBOLS, PLH, length_penalty=1.2)
    for group, scores, before in zip(ranked, judge.score(source, draft, tokens), own, strict=True):
        assert [one["score"] for one in group] == near(scores)
        assert scores == sorted(scores, reverse=True)
        written = [sorted(one["tokens"].tolist() for one in some) for some in (group, before)]
        assert written[0] == written[1]
    assert [group[0]["tokens"].tolist() for group in own] != [row[0].tolist() for row in tokens]
