"""Candidates for lines and windows, from a model, a lexicon and a look-up table, ranked."""

import math

import pytest
from editors import edit_corrector, writing_corrector
from test_word_ranking import Scripted

from lev_plugins import UserError
from lev_plugins.inference.correction import Corrector, unit_ranking, word_ranking
from lev_plugins.inference.correction.lexicon import Lexicon, Lookup
from lev_plugins.inference.correction.proposals import proposals
from lev_plugins.inference.correction.rankings import LISTED, ranked
from lev_plugins.inference.correction.settings import Settings
from lev_plugins.inference.correction.tuning import Goal, tune
from lev_plugins.inference.correction.unit_ranking import (
    FEATURES,
    Resources,
    UnitRanker,
    UnitRankingBackend,
    answer,
    fit,
)
from lev_plugins.metrics.word_edits import word_edits

LEXICON = Lexicon({"the": 100.0, "cat": 20.0, "sat": 5.0, "on": 70.0, "Mat": 3.0,
                   "cafe\u0301": 2.0})  # fmt: skip


@pytest.fixture
def ranker(monkeypatch):
    monkeypatch.setattr(unit_ranking, "scorer_of", lambda backend: backend)

    def make(words=None, likes=None, lexicon=LEXICON, pairs=(), **weights):
        known = Resources(lexicon, Lookup(pairs) if pairs else None)
        model = Scripted(words, likes)
        model.knows_spaces = True
        return UnitRanker(model, known, weights or unit_ranking.WEIGHTS)

    return make


def features(found, text):
    return dict(zip(FEATURES, found.features[found.texts.index(text)], strict=True))


def test_candidates_are_the_unit_hypotheses_single_edits_listed_words_and_near_ones(ranker):
    made = ranker({"teh kat xat": ["the cat xat"]}, pairs=[("xat", "sat")])
    (found,) = made.choices(["teh kat xat"], 9)
    assert found.texts[0] == "teh kat xat"
    assert {"the cat xat", "the kat xat", "teh cat xat", "teh kat sat"} <= {*found.texts}


def test_features_are_summed_over_the_words(ranker):
    made = ranker({"Teh kat": ["the cat"]}, {"the cat": -2.5}, pairs=[("kat", "cat")])
    (found,) = made.choices(["Teh kat"], 9)
    same, both = features(found, "Teh kat"), features(found, "the cat")
    assert same["lexicon"] == -2 and same["unchanged"] == same["lookup"] == same["edits"] == 0
    assert both["frequency"] == pytest.approx(math.log(21 / 101))
    assert both | {"frequency": 0} == {
        "model": -2.5, "lexicon": 0, "frequency": 0, "unchanged": -2, "capital": -1,
        "lookup": 1, "misspelt": pytest.approx(math.log(2)), "edits": 3,
    }  # fmt: skip


@pytest.mark.parametrize("word, known", [("cat,", 1), ("Cat.", 1), ("«12»", 1), ("MAT", 0),
                                           ("caf", 0), ("«cafe\u0301».", 1)])  # fmt: skip
def test_punctuation_and_a_capital_make_no_unknown_word(word, known, ranker):
    (found,) = ranker().choices([word], 9)
    assert found.features[0][FEATURES.index("lexicon")] == known - 1


def test_near_words_in_small_letters_get_the_capitals_of_the_word(ranker):
    (found,) = ranker().choices(["Ob THB mat"], 9)
    assert {"On THB mat", "Ob THE mat", "Ob THB Mat"} <= {*found.texts}
    assert found.texts.index("On THB mat") < found.texts.index("on THB mat")  # nearer


def test_a_word_that_the_lexicon_lacks_keeps_its_punctuation_in_what_is_near(ranker):
    (found,) = ranker().choices(["(caat),"], 9)
    assert "(cat)," in found.texts


@pytest.mark.parametrize(
    "word, written",
    [("teh", "the"), ("(teh),", "(the),"), ("Teh", "The"), ("«TEH»", "«THE»"), ("alot.", "a lot."),
     ("i.e", "that is"), ("--", "—"), ("tehs", "tehs"), ("LIM", "lim"), ("lim", "lim")],
)  # fmt: skip
def test_a_table_is_followed_with_punctuation_and_capitals_around_its_words(word, written, ranker):
    pairs = [("teh", "the"), ("alot", "a lot"), ("i.e", "that is"), ("--", "—"), ("LIM", "lim")]
    made = ranker(lexicon=None, pairs=pairs, model=1.0, lookup=30.0)
    made.readable = lambda text: True
    (line,) = Corrector(UnitRankingBackend(made), "line").correct([f"cat {word} sat"])
    assert line.text == f"cat {written} sat"


def test_a_word_that_the_lexicon_has_with_a_capital_is_not_what_the_table_lists_without(ranker):
    known = {"lexicon": LEXICON, "pairs": [("mat", "sat"), ("on", "sat")], "lookup": 30.0}
    (line,) = Corrector(UnitRankingBackend(ranker(**known)), "line").correct(["Mat mat On"])
    assert line.text == "Mat sat Sat"


@pytest.mark.parametrize(
    "unit, text",
    [("teh cat", "the cat"), ("teh kat", "the cat"), ("a b", "a x b"), ("a x b", "a b"),
     ("x a b", "a b"), ("a b x", "a b"), ("th e cat sta", "the cat sat"), ("a b", "x a b y"),
     ("thecat sta", "the cat sat"), ("x", "y z")],
)  # fmt: skip
def test_an_answer_is_rebuilt_from_its_edits_and_each_has_its_probability(unit, text, ranker):
    edits = word_edits(unit.split(), text.split())
    shares = {edit: 0.9 - 0.1 * number for number, edit in enumerate(edits)}
    backend = UnitRankingBackend(ranker())
    made = proposals(backend, unit, tuple(unit), answer(unit, text, shares))
    out = unit
    for start, end, after in sorted((one for some in made for one in some.edits), reverse=True):
        out = out[:start] + after + out[end:]
    assert out == text
    assert sorted({round(one.probability, 9) for one in made}) == sorted(
        {round(value, 9) for value in shares.values()}
    )


def test_an_edit_has_the_probability_of_all_candidates_that_make_it(ranker):
    likes = {"teh kat": -3.0, "the cat": -1.0, "the kat": -2.0}
    made = ranker({"teh kat": ["the cat", "the kat"]}, likes, lexicon=None, model=1.0)
    corrector = Corrector(UnitRankingBackend(made), "line")
    (line,) = corrector.correct(["teh kat"])
    (found,) = made.choices(["teh kat"], 9)
    chances = dict(zip(found.texts, found.probabilities(made.weights), strict=True))
    assert line.text == "the cat"
    assert [*dict.fromkeys(edit.probability for edit in line.edits)] == pytest.approx(
        [chances["the cat"] + chances["the kat"], chances["the cat"] + chances["teh cat"]]
    )


def test_what_the_model_cannot_spell_stays(ranker):
    corrector = Corrector(UnitRankingBackend(ranker({"teh": ["the"]})), "window", 1)
    assert [one.text for one in corrector.correct(["teh żżż", ""])] == ["the żżż", ""]


def test_fitting_makes_the_best_candidates_win_and_leaves_other_weights(ranker):
    noisy = ["teh", "kat", "sat", "onn", "Mat"]
    clean = ["the", "cat", "sat", "on", "Mat"]
    likes = {"teh": -1.0, "kat": -1.0, "the": -4.0, "cat": -4.0, "on": -4.0, "onn": -0.5}
    made = ranker({"sat": ["cat"]}, likes, model=1.0, unchanged=0.3)
    before = made.named_weights()
    found = fit(
        made,
        zip([*noisy, "żżż"], [*clean, "zzz"], strict=True),
        features=["model", "lexicon", "unchanged"],
    )
    assert [one.texts[one.probabilities(made.weights).argmax()] for one in found] == clean
    after = made.named_weights()
    assert after["lexicon"] > 1
    assert {name for name in FEATURES if after[name] != before[name]} == {
        "model", "lexicon", "unchanged"
    }  # fmt: skip


def test_tuning_fits_the_weights_of_windows_where_it_is_told_to(ranker):
    made = ranker({"teh kat": ["the cat"], "sat": ["cat"]}, {"teh kat": -0.1}, model=1.0)
    corrector = Corrector(UnitRankingBackend(made), "window", 2)
    noisy, clean = ["teh kat sat", "sat"], ["the cat sat", "sat"]
    kept = tune(corrector, noisy, clean, Goal("accuracy"))
    assert kept.weights == made.named_weights() == dict.fromkeys(FEATURES, 0.0) | {"model": 1.0}
    choice = tune(corrector, noisy, clean, Goal("accuracy"), weights_too=True)
    assert choice.counts.accuracy == 1 and choice.weights == made.named_weights() != kept.weights


def test_nothing_to_fit_leaves_the_weights(ranker):
    made = ranker()
    before = made.named_weights()
    fit(made, [("cat", "cat")])
    assert made.named_weights() == before


@pytest.mark.parametrize("make", [edit_corrector, writing_corrector], ids=["edits", "writes"])
def test_models_of_both_kinds_are_reranked(make):
    made = UnitRanker(make().backend, Resources(Lexicon({"abc": 1.0, "fade": 2.0})))
    outputs = Corrector(UnitRankingBackend(made), "line").correct(["abd", "fad"], batch_size=2)
    assert all(0 <= edit.probability <= 1 + 1e-9 for one in outputs for edit in one.edits)
    fit(made, [("abd", "abc"), ("fad", "fade")])
    assert [
        one.text for one in Corrector(UnitRankingBackend(made), "line").correct(["abd", "fad"])
    ] == ["abc", "fade"]


def test_a_weight_that_there_is_not_is_refused(ranker):
    with pytest.raises(UserError, match="no weight 'luck'"):
        ranker(luck=1.0)


@pytest.mark.parametrize("unit", ["letters", "line"])
@pytest.mark.parametrize("tuned_for", ["letters", "line"])
def test_weights_are_used_for_the_kind_of_unit_that_they_were_tuned_for(
    monkeypatch, tmp_path, unit, tuned_for
):
    for module in (word_ranking, unit_ranking):
        monkeypatch.setattr(module, "scorer_of", lambda backend, words=(): backend)
    (tmp_path / "pairs").write_text("teh\tthe\n")
    defaults = {"letters": word_ranking.DEFAULTS, "line": unit_ranking.WEIGHTS}
    weights = {**defaults[tuned_for], "model": 3.0}
    use = Settings(tuned_for, lookup=str(tmp_path / "pairs"), weights=weights, tuned="changed:1")
    found = ranked(Scripted(), use, unit, {}).ranker.weights
    wanted = weights if unit == tuned_for else {**defaults[unit], "lookup": LISTED}
    assert list(found) == [wanted[name] for name in defaults[unit]]
