"""Threshold, weights and calibration chosen on a development set, and settings beside a model."""

import json
import random
from dataclasses import replace

import pytest
from fake_backend import Scripted, ranker_of, ranking
from refusals import refuses
from tables import cases
from test_ranking import in_context

from lev_correct import Correction, Edit, settings
from lev_correct.judge.judge import calibrated
from lev_correct.propose.ranking import FEATURES, WEIGHTS
from lev_correct.tuning import Goal, curve, temperature, tune
from lev_plugins.metrics import CorrectionCounts as Counts


@pytest.mark.parametrize("warmth", [0.5, 2.5])
def test_the_temperature_that_spoilt_probabilities_is_found(warmth):
    rng = random.Random(1)
    chances = [rng.random() for _ in range(4000)]
    outcomes = [(calibrated(p, 1 / warmth), rng.random() < p) for p in chances]
    assert temperature(outcomes) == pytest.approx(warmth, rel=0.1)
    assert temperature([(0.3, True), (0.9, True)]) == temperature([]) == 1.0


@pytest.mark.parametrize(
    "source, edit, wanted, expected", cases("lev_correct/cases.tsv", "tuning: counted")
)
def test_words_are_counted_and_those_that_are_joined_lost_or_added_are_wrong(
    source, edit, wanted, expected
):
    counts = dict(curve([Correction(source, "", (Edit(*edit, 0.8),))], [wanted]))
    assert counts[0.0] == counts[0.8] == Counts(*expected)
    assert counts[1.0] == Counts(*expected[:2])


def test_goals_have_their_value():
    counts = Counts(words=5, right_before=2, corrected=2, miscorrected=1)
    goals = {"accuracy": 60, "changed:50": 200 / 3, "changed:10": 0.2 - 1, "changed": 0.02 - 1}
    values = {goal: Goal.parse(goal).value(counts) for goal in goals}
    assert values == pytest.approx(goals)
    with refuses("goal=changed:1x"):
        Goal.parse("changed:1x")


# choosing ---------------------------------------------------------------------------------------


def named(corrector):
    return ranker_of(corrector).named_weights()


def scripted(**more):
    model = Scripted({"zat": ["cat"], "zog": ["dog"]}, {"cat": -1.0, "dog": -3.0, "the": -0.5})
    return ranking(model, **more)


@pytest.mark.plugin
def test_the_threshold_keeps_right_words_and_loses_as_few_corrections_as_it_can():
    corrector = scripted(weights={"model": 1.0})
    noisy, clean = ["teh zat"] * 9 + ["zog"], ["the cat"] * 9 + ["zog"]
    free, _ = tune(corrector, noisy, clean, Goal(None), weights_too=True)
    assert free.corrected == 18 and corrector.settings.longest == 1
    counts, _ = tune(corrector, noisy, clean, Goal(0))
    assert counts.miscorrected == 0 and counts.corrected == 18
    assert [correction.text for correction in corrector.correct(noisy)] == clean
    assert set(named(corrector)) == set(FEATURES) - {"lookup"}, "there was no table"


@pytest.mark.plugin
def test_a_ranking_that_is_judged_fits_what_is_of_the_language_and_expects_errors(tmp_path):
    (tmp_path / "known").write_text("zog\t3\n")
    corrector = ranking(Scripted(likes={"the": -1.0, "cat": -1.0}), weights=WEIGHTS)
    corrector.settings = replace(corrector.settings, known=str(tmp_path / "known"))
    noisy, clean = ["teh cat", "zog", "the kat", "yyyy"], ["the cat", "zog", "the cat", "yyyy"]
    tune(corrector, noisy * 5, clean * 5, Goal(None))
    tuned = named(corrector)
    changed = {name for name in tuned if abs(tuned[name] - WEIGHTS[name]) > 1e-6}
    assert changed == {"unchanged", "length"} and corrector.settings.temperature == 1.0


def test_fitting_finds_that_neighbours_matter():
    noisy, clean = ["the cax sat", "\ufeff cax drives"], ["the cat sat", "\ufeff car drives"]
    corrector = in_context(0.0)
    counts, _ = tune(corrector, noisy * 3, clean * 3, Goal(None), weights_too=True)
    assert counts.corrected == 6 and named(corrector)["bigrams"] > 0.5


def test_lines_with_other_numbers_of_words_are_left_out_and_named():
    def tuned(more, other):
        lines = [*more, *["teh zat"] * 9, *more], [*other, *["the cat"] * 9, *other]
        corrector = scripted()
        return *tune(corrector, *lines, Goal(None)), corrector.settings.min_confidence

    counts, none, least = tuned([], [])
    assert not none and tuned(["a lot"], ["alot"]) == (counts, [1, 11], least)


@pytest.mark.parametrize("noisy, clean, message", cases("lev_correct/cases.tsv", "tuning: refused"))
def test_texts_that_choose_no_threshold_are_refused(noisy, clean, message):
    with refuses(message):
        tune(scripted(), noisy, clean, Goal())


# settings ---------------------------------------------------------------------------------------


def stored(folder, **more):
    """Settings in a folder of checkpoints; returns their path."""
    path = folder / "corrector.json"
    path.write_text(json.dumps({"min_confidence": 0.7, **more}))
    return path


@pytest.mark.parametrize("tuned, lists, unit", cases("lev_correct/cases.tsv", "tuning: units"))
def test_what_is_given_comes_before_what_was_tuned(tmp_path, tuned, lists, unit):
    file = stored(tmp_path, unit=tuned, **dict.fromkeys(lists, "corrector.list"))
    options = {"lookup": "pairs", "beam": 4, "lexicon": None}
    for place in (tmp_path, tmp_path / "any.pt"):
        use, path = settings.chosen(str(place), None, options)
        assert path == str(file) and (use.unit, use.lookup, use.beam) == (unit, "pairs", 4)
        assert use.min_confidence == 0.7
    for place, named in ((tmp_path, "none"), (tmp_path.parent, None)):
        assert settings.chosen(str(place), named, {}) == (settings.Settings(), None)


BROKEN = """
{
[]
{"luck": 1}
{"lexicon": 3}
{"min_confidence": "0.9"}
{"temperature": 0}
{"window": "3"}
{"beam": -1}
"""


@pytest.mark.parametrize("text", ["\udcff", *BROKEN.strip().splitlines()])
def test_a_broken_settings_file_is_named(tmp_path, text):
    path = tmp_path / "corrector.json"
    path.write_text(text, "utf-8", "surrogateescape")
    with refuses(path, "--settings none"):
        settings.read(str(path))


def test_settings_name_no_file_elsewhere_and_what_is_gone_is_named(tmp_path):
    read_settings = settings.read(str(stored(tmp_path, lexicon="/etc/passwd")))
    assert read_settings.lexicon == str(tmp_path / "passwd")
    with refuses(read_settings.lexicon):
        read_settings.vocabulary()
