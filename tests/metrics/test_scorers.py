"""The scorers of ``--scoring``: ours, and fairseq's beside them."""

from typing import Any

import pytest
from fairseq import options
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.scoring import SCORER_REGISTRY, build_scorer
from sacrebleu.metrics import TER

import lev_plugins
from lev_plugins.metrics.corpus import add_up, make_metric
from lev_plugins.metrics.scorers import NoOptions, RougeConfig, TerConfig

REFERENCES = ["The cat sat on the mat .", "A dog barks", "Yes"]
OUTPUTS = ["on the mat the cat sat .", "A dog barked", "Yes"]


def command_line_scorer(*flags: str) -> Any:
    """The scorer that ``fairseq-generate`` builds for these flags."""
    assert lev_plugins.metrics
    parser = options.get_generation_parser()
    args = options.parse_args_and_arch(parser, ["somewhere", *flags])
    return build_scorer(convert_namespace_to_omegaconf(args).scoring, Dictionary())


def filled(scorer: Any) -> Any:
    """The scorer after three sentences."""
    for ref, out in zip(REFERENCES, OUTPUTS, strict=True):
        scorer.add_string(ref, out)
    return scorer


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        ([], {}),
        (["--ter-normalized"], {"normalized": True}),
        (["--ter-no-punct"], {"no_punct": True}),
        (["--ter-asian-support", "--ter-normalized"], {"asian_support": True, "normalized": True}),
        (["--ter-case-sensitive"], {"case_sensitive": True}),
    ],
)
def test_ter_is_what_sacrebleu_gives_with_the_same_settings(flags, settings):
    scorer = filled(command_line_scorer("--scoring", "ter", *flags))
    metric = TER(**settings)
    expected = metric.corpus_score(OUTPUTS, [REFERENCES]).score
    assert scorer.score() == pytest.approx(expected)
    assert 0 < expected < 100
    assert scorer.result_string() == f"TER = {expected:.2f} {metric.get_signature()}"


def test_a_moved_phrase_is_one_edit_and_case_counts_only_when_asked():
    for flags, edits in (([], 1), (["--ter-case-sensitive"], 2)):
        scorer = command_line_scorer("--scoring", "ter", *flags)
        scorer.add_string(REFERENCES[0], OUTPUTS[0])
        assert scorer.score() == pytest.approx(100 * edits / 7)


@pytest.mark.parametrize(("ref", "out", "score"), [("", "", 0), ("", "a", 100), ("a", "", 100)])
def test_ter_of_empty_sentences_is_defined(ref, out, score):
    scorer = build_scorer("ter", Dictionary())
    scorer.add_string(ref, out)
    assert scorer.score() == score


@pytest.mark.parametrize(
    ("flags", "name", "shown"),
    [
        ([], "rouge2", "ROUGE-2"),
        (["--rouge-type", "rouge1"], "rouge1", "ROUGE-1"),
        (["--rouge-type", "rougeL"], "rougeL", "ROUGE-L"),
    ],
)
def test_rouge_is_the_mean_of_the_sentences(flags, name, shown):
    scorer = filled(command_line_scorer("--scoring", "rouge", *flags))
    metric = make_metric(name)
    pairs = zip(OUTPUTS, REFERENCES, strict=True)
    scores = [metric.score(metric.statistics(*pair)) for pair in pairs]
    assert scorer.score() == pytest.approx(sum(scores) / 3, abs=1e-5)
    assert 0 < scorer.score() < 100
    assert scorer.result_string() == f"{shown} = {scorer.score():.2f} {metric.signature()}"


def test_rouge_has_three_types():
    with pytest.raises(SystemExit):
        command_line_scorer("--scoring", "rouge", "--rouge-type", "rouge3")


def test_no_sentences_give_a_score_too():
    assert build_scorer("rouge", Dictionary()).score() == 0
    assert build_scorer("rouge", Dictionary()).result_string().startswith("ROUGE-2 = 0.00 nrefs:1")
    assert build_scorer("ter", Dictionary()).score() == 0
    assert build_scorer("ter", Dictionary()).result_string().startswith("TER = 0.00 nrefs:1")
    assert build_scorer("accuracy", Dictionary()).score() == 0
    assert build_scorer("accuracy", Dictionary()).result_string() == "accuracy = 0.00 (0/0)"


def test_accuracy_is_the_share_of_sentences_that_equal_their_reference():
    scorer = filled(command_line_scorer("--scoring", "accuracy"))
    assert scorer.score() == pytest.approx(100 / 3)
    assert scorer.result_string() == "accuracy = 33.33 (1/3)"


@pytest.mark.parametrize(
    ("ref", "out", "right"),
    [("a b", "a b", True), ("a b", "a b ", True), ("a b", "a  b", False), ("a", "A", False)],
)
def test_accuracy_forgives_spaces_at_the_ends_and_nothing_else(ref, out, right):
    scorer = build_scorer("accuracy", Dictionary())
    scorer.add_string(ref, out)
    assert scorer.score() == 100 * right


def test_our_flags_are_taken_by_nothing_else():
    taken = {
        flag
        for action in options.get_generation_parser()._actions
        for flag in action.option_strings
    }
    for config in (TerConfig, RougeConfig):
        ours = {f"--{name.replace('_', '-')}" for name in config.__dataclass_fields__} - {"---name"}
        assert not ours & taken
    ours = ("ter", "rouge")
    others = [registered for name, registered in SCORER_REGISTRY.items() if name not in ours]
    assert others
    assert not any(
        name.startswith(("ter_", "rouge_"))
        for scorer in others
        for name in getattr(scorer, "__dataclass", NoOptions).__dataclass_fields__
    )


@pytest.mark.parametrize(
    ("flags", "name", "shown"),
    [
        (["cer"], "cer", "CER"),
        (["word_error_rate"], "wer", "WER"),
        (["word_accuracy"], "word_accuracy", "word accuracy"),
        (["wrr"], "wrr", "WRR"),
    ],
)
def test_scorers_of_words_and_characters_give_their_metrics(flags, name, shown):
    scorer = filled(command_line_scorer("--scoring", *flags))
    metric = make_metric(name)
    pairs = zip(OUTPUTS, REFERENCES, strict=True)
    expected = metric.score(add_up(metric, (metric.statistics(*pair) for pair in pairs)))
    assert scorer.score() == expected and 0 < expected < 100
    assert scorer.result_string() == f"{shown} = {expected:.2f} {metric.signature()}"
    empty = type(scorer)(scorer.cfg)
    assert empty.score() == 0 and empty.result_string().startswith(f"{shown} = 0.00 nrefs:1")


def test_word_errors_are_those_of_fairseqs_own_scorer():
    ours, theirs = (
        filled(command_line_scorer("--scoring", name)) for name in ("word_error_rate", "wer")
    )
    assert ours.score() == theirs.score() > 0


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


@pytest.mark.parametrize("name", ["sacrebleu", "wer"])
def test_fairseqs_scorers_still_count(name):
    scorer = filled(command_line_scorer("--scoring", name))
    assert 0 < scorer.score() < 100
    assert f"{scorer.score():.2f}"[:-1] in scorer.result_string()
