"""How many of a text's unknown words are errors, and what that says of each of them."""

from dataclasses import replace

import pytest
from fake_backend import Scripted, ranker_of, ranking

from lev_correct.judge.judge import kind_of
from lev_correct.judge.prior import LOWEST, TextPrior
from lev_correct.propose.ranking import FEATURES, WEIGHTS
from lev_correct.tuning import Goal, tune

LIKES = {"the": -1.0, "cat": -1.0}


def prior(doubts, stays=()):
    """Of a text that has read these words, of which the model says so."""
    text = TextPrior(doubts.__contains__, doubts.__getitem__, stays)
    text.count([*doubts])
    for word, doubt in doubts.items():
        if doubt > 0.5:
            text.learn(word, word, doubt / 2)
    return text


def words(number, doubt, name="x"):
    return {f"{name}{n}": doubt for n in range(number)}


def errors_and_right():
    return [prior({"htea": 0.97, **words(200, doubt)}) for doubt in (0.9999, 0.1)]


def test_the_share_of_errors_is_that_of_the_words_of_which_the_model_is_sure():
    many = prior({**words(90, 0.9999), **words(10, 0.2, "y")})
    assert many.share == pytest.approx(0.87, abs=0.03)
    few = prior({**words(10, 0.9999), **words(90, 0.2, "y")})
    assert few.share == LOWEST < many.share


def test_a_word_that_stays_tells_nothing():
    errors = words(30, 0.9999)
    assert prior({**errors, "Kea": 0.0}, {"Kea"}).share == prior(errors).share
    assert prior({**errors, "Kea": 0.0}).share < prior(errors).share


@pytest.mark.parametrize("edit", ["alarge>a large", "abou t>about", "taht>that"])
def test_spaces_and_slips_are_put_right_in_a_list_of_errors_and_not_in_right_text(edit):
    errors, right = (
        text.probability(0, *edit.split(">"), 0.97, kind_of(*edit.split(">")))
        for text in errors_and_right()
    )
    assert errors > 0.9 > right


def test_an_edit_is_made_in_a_list_of_errors_and_not_in_right_text():
    texts = errors_and_right()
    errors, right = (text.probability(0, "htea", "", 0.9) for text in texts)
    assert errors > 0.88 and right == pytest.approx(0.9 * 0.31, abs=0.02)
    assert texts[0].probability(0, "known", "", 0.9) == pytest.approx(0.9), "of unknown words alone"
    texts[0].met["htea"] = 3
    assert texts[0].probability(0, "htea", "", 0.9) < 0.75


def adapting():
    """A corrector that judges by the text."""
    corrector = ranking(Scripted(likes=LIKES), weights={"model": 1.0, "lexicon": 1.0})
    corrector.settings = replace(corrector.settings, adapts=True, protect_code=True)
    return corrector


def corrected(corrector, lines):
    """The last line, of a text of one document."""
    return corrector.correct(lines, document=corrector.document())[-1].edits[0].probability


def test_a_corrector_adapts_to_each_text():
    corrector = adapting()
    errors = [f"{word[:n]}{letter}{word[n:]}" for word in LIKES for n in (1, 2) for letter in "qxz"]
    terms = [letter * 9 for letter in "abcdefghijklmnopqrstuv"]
    among_errors, among_terms = (corrected(corrector, [*lines, "teh"]) for lines in (errors, terms))
    assert among_errors > among_terms
    corrector.eager = True
    assert corrected(corrector, [*terms, "teh"]) > among_terms


def test_a_word_that_opens_a_sentence_is_held_back_no_more_than_a_capital_would():
    corrector = adapting()
    corrector.eager, weights = True, ranker_of(corrector).weights
    small, *chances = [corrector.correct(["a teh cat"])[0].edits[0].probability]
    for weights[FEATURES.index("capital")] in (0.0, 0.5, 4.5):
        chances.append(corrector.correct(["Teh cat"])[0].edits[0].probability)
    assert small == pytest.approx(chances[0]) and chances[0] > chances[1] > chances[2]


@pytest.mark.plugin
def test_tuning_for_texts_fits_what_is_of_the_language_and_expects_errors():
    weights = {**WEIGHTS, "lookup": 0.0}
    corrector = ranking(Scripted(likes=LIKES), weights=weights)
    noisy, clean = ["teh cat", "zog", "the kat", "yyyy"], ["the cat", "zog", "the cat", "yyyy"]
    counts, _ = tune(corrector, noisy * 5, clean * 5, Goal(None), adapts=True)
    use, tuned = corrector.settings, ranker_of(corrector).named_weights()
    assert use.adapts and use.protect_code and use.temperature == 1.0 and counts.corrected == 10
    changed = {name for name in weights if abs(tuned.get(name, 0.0) - weights[name]) > 1e-6}
    assert changed == {"unchanged", "length"}
