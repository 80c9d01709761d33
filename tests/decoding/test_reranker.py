"""An autoregressive model of fairseq as a judge of finished sentences."""

from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from closeness import near
from fairseq.data import Dictionary
from fairseq.models.lstm import LSTMModel
from fairseq.models.lstm import base_architecture as lstm_architecture
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_scorer import SequenceScorer
from fake_policy import FakePolicy
from refusals import refuses
from torch import Tensor, nn

from lev_plugins.nn.arrays import TORCH
from lev_plugins.systems.levenshtein import reranker as candidates
from lev_plugins.systems.levenshtein.reranker import Reranker
from lev_plugins.systems.transformer_concat.config import TransformerConcatConfig
from lev_plugins.systems.transformer_concat.model import TransformerConcatModel

# said by fairseq, of masks of different types
pytestmark = [
    pytest.mark.device,
    pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning"),
]

WITHOUT = tiny.dictionary("abcd")  # what a translation model was trained with
TASK = tiny.task(letters="abcd")
SYMBOLS, PLH = TASK.target_dictionary, TASK.placeholder
TRANSFORMER = {name: size for name, size in tiny.SIZES.items() if name != "max_insertions"}
TRANSFORMER |= {"max_source_positions": 30, "max_target_positions": 20}
LSTM = {"encoder_embed_dim": 8, "encoder_hidden_size": 12, "decoder_embed_dim": 8}
LSTM |= {"decoder_hidden_size": 12, "decoder_out_embed_dim": 8, "criterion": "cross_entropy"}
SOURCES = ["abc", "dcbadcba", "", "bb", "cda"]
CANDIDATES = [
    ["abc", "cba", "a", "abc"],
    ["", "cacacacaca", "d_"],
    ["b"],
    [],
    ["bcd", "bcda", "", "b", "cb", "bcd"],
]


def sentence(letters: str) -> Tensor:
    return tiny.sentence(letters, SYMBOLS)


def decode(models: list[Any], sample: Any, **flags: Any) -> list[list]:
    flags = {"iter_decode_max_iter": 3, "max_len_b": 9, **flags}
    return TASK.build_generator([], Namespace(**flags)).generate(models, sample)


def stock(kind: Any, architecture: Any, options: dict[str, Any], symbols: Dictionary) -> nn.Module:
    args = Namespace(**options)
    architecture(args)
    torch.manual_seed(1)
    of = SimpleNamespace(source_dictionary=symbols, target_dictionary=symbols)
    return tiny.sharpen(kind.build_model(args, of), 1.5 if kind is TransformerModel else 3.0)


def transformer(symbols: Dictionary = WITHOUT, **options: Any) -> nn.Module:
    return stock(TransformerModel, base_architecture, {**TRANSFORMER, **options}, symbols)


MODELS = {
    "transformer": transformer,
    "lstm": lambda: stock(LSTMModel, lstm_architecture, LSTM, WITHOUT),
}


def score(reranker: Reranker, **layout: Any) -> list[list[float]]:
    tokens = tiny.stack(list(map(sentence, SOURCES)), SYMBOLS.pad(), **layout)
    return reranker.score(tokens, None, [list(map(sentence, row)) for row in CANDIDATES])


def scored_by_fairseq(model: nn.Module) -> list[float]:
    """All pairs, each scored by itself by fairseq's own scorer."""
    scores = []
    for source, answers in zip(map(sentence, SOURCES), CANDIDATES, strict=True):
        read = {"src_tokens": source[None, 1:], "src_lengths": torch.tensor([len(source) - 1])}
        for target in (sentence(answer)[None, 1:] for answer in answers):
            sample = {"net_input": {**read, "prev_output_tokens": target.roll(1)}, "target": target}
            ((hypothesis,),) = SequenceScorer(WITHOUT).generate([model], sample)
            scores.append(float(hypothesis["score"]))
    return scores


def together(rows: list[list[float]]) -> list[float]:
    assert list(map(len, rows)) == list(map(len, CANDIDATES))
    return [item for row in rows for item in row]


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_scores_are_those_of_fairseqs_own_scorer_whatever_the_batch(build, monkeypatch):
    model = build()
    scores = scored_by_fairseq(model)
    lengths = [len(answer) + 1 for row in CANDIDATES for answer in row]
    for max_tokens, penalty in ((candidates.MAX_TOKENS, 1.0), (1, 0.0), (30, 1.5)):
        monkeypatch.setattr(candidates, "MAX_TOKENS", max_tokens)
        judge = Reranker(model, SYMBOLS, PLH, length_penalty=penalty)
        expected = [mean * n ** (1 - penalty) for mean, n in zip(scores, lengths, strict=True)]
        assert together(score(judge, left=True, extra=2)) == near(expected)
    assert len(set(scores)) == 12, "two are there twice"


@pytest.mark.parametrize("draft", [None, "", "bd"])
def test_the_baseline_for_post_editing_reads_the_draft_after_the_source(draft):
    cfg = TransformerConcatConfig(**TRANSFORMER)
    of = SimpleNamespace(source_dictionary=WITHOUT, target_dictionary=WITHOUT)
    judge = Reranker(tiny.sharpen(TransformerConcatModel.build_model(cfg, of), 1.5), SYMBOLS, PLH)
    # with a word that fairseq has added to the dictionary, which the model does not know
    answers = [[sentence("dc"), sentence("c").masked_fill_(sentence("c").gt(3), len(SYMBOLS))]]
    rows = None if draft is None else sentence(draft)[None]
    scores = judge.score(sentence("abc")[None], rows, answers)
    judge.model.joins_draft = False
    both = torch.cat([sentence("abc"), sentence(draft or "")])[None]
    read = [[sentence("dc"), sentence("_")]]
    assert scores[0] == near(judge.score(both, None, read)[0])


def test_what_cannot_rank_is_refused():
    grown = tiny.dictionary("abcd")  # as fairseq-generate adds words to it with --post-process
    for word in ("<plh>", "Hogwarts", "ab"):
        grown.add_symbol(word)
    for own, asked in ((WITHOUT, grown), (SYMBOLS, SYMBOLS)):
        Reranker(transformer(own), asked, PLH)
    for other in ("abc", "bacd", "abcde"):
        with refuses("different target dictionary"):
            Reranker(transformer(tiny.dictionary(other)), SYMBOLS, PLH)
    for model in (tiny.model(tiny.task()), nn.Linear(1, 1)):
        with refuses(f"{type(model).__name__} cannot rank"):
            Reranker(model, SYMBOLS, PLH)
    with refuses("object", "--iter-decode-with-external-reranker"):
        decode([object(), FakePolicy(TORCH)], tiny.batch(TASK, tiny.triples(2)))


def test_the_last_model_ranks_the_candidates():
    """The same candidates as without it, in the order of its scores."""
    policy, model, sample = FakePolicy(TORCH), transformer(), tiny.batch(TASK, tiny.triples(10))
    how = {"iter_decode_with_beam": 4, "nbest": 4}
    own = decode([policy], sample, **how)
    how |= {"iter_decode_with_external_reranker": True, "lenpen": 1.2}
    ranked = decode([policy, model], sample, **how)
    judge = Reranker(model, SYMBOLS, PLH, length_penalty=1.2)
    sides, changed = (sample["net_input"]["src_tokens"], sample["draft"]), 0
    scored = judge.score(*sides, [[best["tokens"] for best in group] for group in own])
    for group, before, scores in zip(ranked, own, scored, strict=True):
        order = sorted(range(len(before)), key=lambda i: -scores[i])
        for hypothesis, place in zip(group, order, strict=True):
            assert torch.equal(hypothesis["tokens"], before[place]["tokens"])
            assert hypothesis["score"] == near(scores[place])
        changed += order != sorted(order)
    assert changed
