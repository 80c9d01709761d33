"""The scorers of ``--scoring``: ours, and fairseq's beside them."""

from typing import Any

import pytest
from fairseq import options
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.scoring import build_scorer

import lev_plugins
from lev_plugins.metrics.corpus import add_up, make_metric

REFERENCES = ["The cat sat on the mat .", "A dog barks", "Yes"]
OUTPUTS = ["on the mat the cat sat .", "A dog barked", "Yes"]


def command_line_scorer(*flags: str) -> Any:
    """The scorer that ``fairseq-generate`` builds for these flags."""
    assert lev_plugins.metrics
    parser = options.get_generation_parser()
    args = options.parse_args_and_arch(parser, ["somewhere", "--scoring", *flags])
    return build_scorer(convert_namespace_to_omegaconf(args).scoring, Dictionary())


def filled(scorer: Any) -> Any:
    """The scorer after three sentences."""
    for ref, out in zip(REFERENCES, OUTPUTS, strict=True):
        scorer.add_string(ref, out)
    return scorer


@pytest.mark.parametrize(
    ("flag", "name", "shown"),
    [
        ("cer", "cer", "CER"),
        ("ter", "ter", "TER"),
        ("word_error_rate", "wer", "WER"),
        ("word_accuracy", "word_accuracy", "word accuracy"),
        ("wrr", "wrr", "WRR"),
        ("accuracy", "accuracy", "accuracy"),
    ],
)
def test_scorers_give_their_metrics(flag, name, shown):
    scorer = filled(command_line_scorer(flag))
    metric = make_metric(name)
    pairs = zip(OUTPUTS, REFERENCES, strict=True)
    expected = metric.score(add_up(metric, (metric.statistics(*pair) for pair in pairs)))
    assert scorer.score() == expected and 0 < expected < 100
    how, none = (metric.signature(), "nrefs:1") if name != "accuracy" else ("(1/3)", "(0/0)")
    assert scorer.result_string() == f"{shown} = {expected:.2f} {how}"
    empty = type(scorer)(scorer.cfg)
    assert empty.score() == 0 and empty.result_string().startswith(f"{shown} = 0.00 {none}")


@pytest.mark.parametrize("name", ["sacrebleu", "wer"])
def test_fairseqs_scorers_still_count(name):
    scorer = filled(command_line_scorer(name))
    assert 0 < scorer.score() < 100
    assert f"{scorer.score():.2f}"[:-1] in scorer.result_string()
    if name == "wer":
        assert scorer.score() == filled(command_line_scorer("word_error_rate")).score()


@pytest.mark.parametrize(
    ("references", "warned"),
    [
        (["n e w ▁ o n e", "w o r d"], True),
        (["I a m", "a"], False),
        (["new one", "word", "a b"], False),
        (["", "猫 が"], True),
        ([""], False),
    ],
)
def test_characters_that_were_not_joined_are_said(references, warned):
    scorer = build_scorer("word_accuracy", Dictionary())
    for text in references:
        scorer.add_string(text, text)
    assert ("--bpe characters" in scorer.result_string()) == warned
