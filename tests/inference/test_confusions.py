"""Words that are written for one another: which of them fits between its neighbours."""

import math

import pytest
from test_bigrams import bigrams_of
from test_word_ranking import Scripted, corrector

from lev_plugins import UserError
from lev_plugins.inference.correction import settings
from lev_plugins.inference.correction.confusions import Confusions
from lev_plugins.inference.correction.lexicon import Lexicon
from lev_plugins.inference.correction.rankings import ranked
from lev_plugins.inference.correction.tuning import Goal, tune
from lev_plugins.inference.correction.word_ranking import DEFAULTS, FEATURES

COUNTS = {"then": 5e6, "than": 6e6, "more": 9e6, "that": 2e7, "and": 9e7}
COUNTS |= {"he": 5e7, "went": 1e6, "zoo": 1e3}
PAIRS = {("more", "than"): 8e5, ("more", "then"): 9e2, ("than", "that"): 2e5, ("then", "he"): 1e5,
         ("and", "then"): 9e5, ("he", "went"): 9e5, ("and", "than"): 1e3}  # fmt: skip


def in_context(monkeypatch, sets=(("then", "than"),), pairs=(), **weights):
    """A corrector with the usual weights, whose model is asked about nothing."""
    model = Scripted()
    more = {"bigrams": bigrams_of(PAIRS), "confusions": Confusions(sets)}
    made = corrector(model, monkeypatch, Lexicon(COUNTS), pairs, **more)
    made.backend.ranker.set_weights({**DEFAULTS, **weights})
    return made


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("more then that", "more than that"),
        ("More THEN that", "More THAN that"),
        ("and than he went", "and then he went"),
        ("more than that and then he went", "more than that and then he went"),
        ("more then, that", "more then, that"),  # one neighbour does not speak for two
        ("more then", "more then"),
        ("then", "then"),
        ("zoo then zoo", "zoo then zoo"),  # neighbours that nothing is known of
    ],
)
def test_a_word_becomes_another_where_both_neighbours_speak_for_it(monkeypatch, line, right):
    made = in_context(monkeypatch)
    assert made.correct([line])[0].text == right
    assert made.backend.ranker.scorer.asked == []


def test_its_probability_is_bayes_rule_with_equal_slips(monkeypatch):
    (edit,) = in_context(monkeypatch).correct(["more then that"])[0].edits
    bigrams = bigrams_of(PAIRS)
    odds = DEFAULTS["confused"] + math.log((1 + COUNTS["than"]) / (1 + COUNTS["then"]))
    odds += bigrams.score("than", "more", "that") - bigrams.score("then", "more", "that")
    assert edit.probability == pytest.approx(1 / (1 + math.exp(-odds)), rel=1e-9)


def test_a_frequent_word_does_not_win_by_its_frequency(monkeypatch):
    sets = [("went", "and", "that")]
    made = in_context(monkeypatch, sets, confused=-0.1)
    assert made.correct(["zoo went zoo"])[0].text == "zoo went zoo"


def test_what_is_listed_as_wrong_is_a_misspelling_and_what_is_in_no_list_is_left_out(monkeypatch):
    confusions = Confusions([("then", "than"), ("that", "thet"), ("he", "she")])
    known = confusions.known(Lexicon({**COUNTS, "thet": 1.0}), bigrams_of(PAIRS))
    assert known == {"then": ("than",), "than": ("then",)}  # no pair has thet, no lexicon she
    made = in_context(monkeypatch, pairs=[("then", "that")])
    assert made.backend.ranker.confused.keys() == {"than"}


def test_fitting_keeps_their_weights(monkeypatch):
    made = in_context(monkeypatch)
    choice = tune(made, ["more then that", "thn", "mor"], ["more then that", "then", "more"],
                  Goal("accuracy"), weights_too=True)  # fmt: skip
    for name in ("confused", "likelier"):
        assert choice.weights[name] == DEFAULTS[name]


def test_a_file_has_a_set_on_each_line(tmp_path):
    (tmp_path / "sets").write_text("Then than\nquiet quite quit\nquite quiet\n")
    found = Confusions.read(str(tmp_path / "sets")).others
    assert found["then"] == ("than",) and found["quite"] == ("quiet", "quit")


@pytest.mark.parametrize(
    ("text", "said"),
    [("then than\nthen\n", "sets, line 2: 'then' is no set of words"),
     ("then THEN\n", "sets, line 1: 'then THEN' is no set of words"),
     ("then than\n\n", "sets, line 2: '' is no set of words"), ("", "sets holds no words")],
)  # fmt: skip
def test_another_file_is_refused_by_its_line(tmp_path, text, said):
    (tmp_path / "sets").write_text(text)
    with pytest.raises(UserError, match=said):
        Confusions.read(str(tmp_path / "sets"))


@pytest.mark.parametrize(
    ("unit", "more", "said"),
    [("line", {"lexicon": "w", "bigrams": "p"}, "--bigrams p: for words that are ranked one by"),
     ("letters", {"lexicon": "w"}, "--confusions sets: .* give --bigrams too"),
     ("letters", {"lookup": "t", "bigrams": "p"}, "--confusions sets: .* give --lexicon too"),
     ("letters", {}, "--confusions sets: there is no ranking; give --lexicon")],
)  # fmt: skip
def test_confusions_that_could_not_be_used_are_refused(unit, more, said):
    with pytest.raises(UserError, match=said):
        ranked(Scripted(), settings.Settings(confusions="sets", **more), unit, {})


def test_the_settings_keep_a_copy_and_older_ones_get_the_usual_weights(monkeypatch, tmp_path):
    files = {"lexicon": "more 9\nthen 5\nthan 6\n", "bigrams": "more than 9\n",
             "confusions": "then than\n"}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    named = {name: str(tmp_path / name) for name in files}
    path = settings.write(settings.Settings(**named, weights={"model": 1.0}), str(tmp_path))
    for name in files:
        (tmp_path / name).unlink()
    found = settings.read(path)
    assert found.resources().confusions.others == {"then": ("than",), "than": ("then",)}
    backend = corrector(Scripted(), monkeypatch).backend.ranker.backend
    weights = dict(zip(FEATURES, ranked(backend, found, "letters", {}).ranker.weights))
    assert {weights[name] - DEFAULTS[name] for name in ("confused", "likelier", "bigrams")} == {0}
