"""Threshold, weights and calibration chosen on a development set, and settings beside a model."""

import dataclasses
import json
import random
from pathlib import Path

import numpy as np
import pytest
from fake_backend import LEXICON, Scripted, ranker_of, ranking
from refusals import refuses
from test_ranking import confused, in_context

from lev_plugins.cli import correct
from lev_plugins.inference.correction import Correction, Corrector, Edit, settings
from lev_plugins.inference.correction.fitting import calibrated, temperature
from lev_plugins.inference.correction.loading import ranked
from lev_plugins.inference.correction.ranking import FEATURES, defaults
from lev_plugins.inference.correction.tuning import Counts, Goal, curve, tune


@pytest.mark.parametrize("warmth", [0.5, 1.0, 2.5])
def test_the_temperature_that_spoilt_probabilities_is_found(warmth):
    rng = random.Random(1)
    chances = [rng.random() for _ in range(4000)]
    found = [(calibrated(p, 1 / warmth), rng.random() < p) for p in chances]
    assert temperature(found) == pytest.approx(warmth, rel=0.1)
    assert temperature([(0.3, True), (0.9, True)]) == temperature([]) == 1.0


def test_a_temperature_keeps_the_order_and_what_is_certain():
    assert [calibrated(p, 3.0) for p in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]
    assert 0 < calibrated(1e-300, 0.05) < calibrated(1e-9, 0.05) < calibrated(0.4, 0.05) < 0.4
    assert calibrated(1 - 1e-16, 0.05) <= 1


def test_words_are_counted_at_each_threshold_and_goals_have_their_value():
    def corrected(source, *edits):
        return Correction(source, "", tuple(Edit(*edit) for edit in edits))

    done = [corrected("a b c d e", (2, "b", "x", 0.9), (4, "c", "C", 0.8), (6, "d", "y", 0.3))]
    found = dict(curve(done, ["a b C D E"]))
    assert found[0.0] == Counts(right=2, changed=1, wrong=3, corrected=1, miscorrected=1)
    assert found[0.9] == Counts(2, 1, 3, 0, 0) and found[1.0] == Counts(2, 0, 3, 0, 0)
    found = Counts(right=2, changed=1, wrong=3, corrected=2, miscorrected=1)
    values = {goal: Goal.parse(goal).value(found) for goal in ("accuracy", "changed:50")}
    assert values == {"accuracy": 3 / 5, "changed:50": 2 / 3}
    assert Goal.parse("changed:10").value(found) == pytest.approx(0.2 - 1)
    assert Goal.parse("changed:100") == Goal("changed", 100.0)
    for text in ("changed:x", "luck", "changed:101", "f0.5"):
        with refuses(f"goal={text}"):
            Goal.parse(text)


@pytest.mark.parametrize(
    ("source", "edit", "wanted", "expected"),
    [
        ("a b", (0, "a b", "ab", 1.0), "a c", Counts(1, 1, 1, 0, 1)),  # fewer words
        ("a b", (1, " b", "", 1.0), "a b", Counts(2, 1, 0, 0, 0)),
        ("a b", (1, "", " x", 1.0), "a b", Counts(2, 1, 0, 0, 0)),  # one too many
    ],
)
def test_words_that_are_joined_lost_or_added_are_wrong(source, edit, wanted, expected):
    assert dict(curve([Correction(source, "", (Edit(*edit),))], [wanted]))[0.0] == expected


# choosing ---------------------------------------------------------------------------------------


def named(corrector):
    return ranker_of(corrector).named_weights()


def scripted(**more):
    model = Scripted({"zat": ["cat"], "zog": ["dog"]}, {"cat": -1.0, "dog": -3.0, "the": -0.5})
    return ranking(model, **more)


def test_the_threshold_keeps_right_words_and_loses_as_few_corrections_as_it_can():
    made = scripted(weights={"model": 1.0})
    noisy, clean = ["teh zat"] * 9 + ["zog"], ["the cat"] * 9 + ["zog"]
    free, _ = tune(made, noisy, clean, Goal("accuracy"), weights_too=True)
    assert free.corrected == 18 and made.longest == 1
    counts, _ = tune(made, noisy, clean, Goal("changed", 0))
    assert counts.changed == 0 and counts.corrected == 18
    assert [one.text for one in made.correct(noisy)] == clean
    assert set(named(made)) == set(FEATURES) - {"lookup"}, "there was no table"


def test_the_weight_of_the_unchanged_word_decides_what_no_threshold_can():
    # Two corrections share the probability of the wrong word, the unknown right word has one.
    model = Scripted({"zat": ["cat", "cats"], "zog": ["cats"]}, {"cat": -0.9, "cats": -1.2})
    made = ranking(model, weights={"model": 1.0, "unchanged": 1.0})
    wrong, right = (one.edits[0].probability for one in made.correct(["zat", "zog"]))
    assert wrong < right
    counts, _ = tune(made, ["zat zog"], ["cat zog"], Goal("changed", 0))
    assert (counts.corrected, counts.changed) == (1, 0)
    assert named(made)["unchanged"] == 4.0 and named(made)["model"] == 1.0
    # of wrong words alone the corrections are wanted that the weight holds back
    made.backend.weights[FEATURES.index("unchanged")] = 6.0
    counts, _ = tune(made, ["zat"], ["cat"], Goal("accuracy"))
    assert counts.corrected == 1 and named(made)["unchanged"] == 3.0


def test_fitting_finds_that_neighbours_matter_and_keeps_what_words_do_not_show():
    noisy, clean = (
        ["the cax sat", "\ufeff cax drives"] * 3,
        ["the cat sat", "\ufeff car drives"] * 3,
    )
    made = in_context(0.0)
    counts, _ = tune(made, noisy, clean, Goal("accuracy"), weights_too=True)
    assert counts.corrected == 6 and named(made)["bigrams"] > 0.5
    assert np.isfinite(list(named(made).values())).all()
    noisy, clean = ["more then that", "thn", "mor"], ["more then that", "then", "more"]
    made = confused()
    tune(made, noisy, clean, Goal("accuracy"), weights_too=True)
    usual = defaults(by_word=True)
    for name in ("confused", "likelier", "capital", "short"):
        assert named(made)[name] == usual[name]


def test_the_weights_of_windows_are_fitted_where_that_is_asked_for():
    model = Scripted({"teh kat": ["the cat"], "sat": ["cat"]}, {"teh kat": -0.1})
    made = ranking(model, unit="line", weights={"model": 1.0})
    made = Corrector(made.backend, "window", 2)
    noisy, clean = ["teh kat sat", "sat"], ["the cat sat", "sat"]
    tune(made, noisy, clean, Goal("accuracy"))
    assert {name for name, one in named(made).items() if one} <= {"model", "unchanged"}
    counts, _ = tune(made, noisy, clean, Goal("accuracy"), weights_too=True)
    assert counts.accuracy == 1 and named(made)["edits"]


def test_lines_with_other_numbers_of_words_are_left_out_and_named():
    def tuned(more, other):
        lines = [*more, *["teh zat"] * 9, *more], [*other, *["the cat"] * 9, *other]
        made = scripted()
        return *tune(made, *lines, Goal("accuracy")), made.min_confidence

    counts, none, least = tuned([], [])
    assert not none and tuned(["a lot"], ["alot"]) == (counts, [1, 11], least)


# the command ------------------------------------------------------------------------------------


@pytest.fixture
def tuned(monkeypatch, tmp_path, capsys):
    """``correct --tune`` with a scripted model; returns what it printed."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "checkpoint_best.pt").write_text("")
    (tmp_path / "words").write_text("".join(f"{word} 3\n" for word in LEXICON.words))
    (tmp_path / "noisy").write_text("teh zat\nzog\n" * 9)
    (tmp_path / "clean").write_text("the cat\nzog\n" * 9)
    monkeypatch.setattr(correct, "load_corrector", lambda args: scripted())
    monkeypatch.chdir(tmp_path)

    def run(*flags):
        files = ["--lexicon", "words", "--tune", "noisy", "clean", *flags]
        assert correct.main(["--path", "model/checkpoint_best.pt", *files]) == 0
        return capsys.readouterr().out

    return run


def test_tune_says_and_keeps_calibration_and_protected_words(tuned):
    said = tuned("--goal", "changed:100")
    found = settings.read("model/corrector.json")
    assert found.temperature != 1 and f"a temperature of {found.temperature:.3g}" in said
    assert "18 of 18 wrong ones corrected" in said
    Path("names").write_text("zat\n")
    assert "9 of 18 wrong ones corrected" in tuned(
        "--goal", "changed:100", "--protect-words", "names"
    )
    kept = settings.read("model/corrector.json")
    assert kept.protection().spans("a zat zats") == {(2, 5)}


@pytest.mark.parametrize(
    ("noisy", "clean", "goal", "said"),
    [
        ("zog zog\n", "zog zog\n", "changed", "none of 2 words is wrong"),
        ("teh zat\n", "zog zog\n", "changed", "--goal changed"),
        ("a b\nc\n", "ab\nc d\n", "accuracy", "no line"),
        ("a\n", "a\nb\n", "accuracy", "1 noisy and 2 clean"),
        ("", "", "accuracy", "0 noisy and 0 clean"),
    ],
)
def test_what_cannot_choose_a_threshold_is_refused_and_settings_stay(
    tuned, noisy, clean, goal, said
):
    tuned("--goal", "changed:0")
    before = Path("model/corrector.json").read_bytes()
    Path("noisy").write_text(noisy)
    Path("clean").write_text(clean)
    with refuses("tuning: ", said):
        tuned("--goal", goal)
    assert Path("model/corrector.json").read_bytes() == before


def test_the_verdict_compares_with_no_edits(tuned):
    said = tuned("--goal", "changed:0")
    assert "verdict: 18 words more are right" in said and "66.7%" in said
    Path("noisy").write_text("zog zzz\n")
    Path("clean").write_text("zog yyy\n")
    assert "verdict: no better than the no-edit baseline yet" in tuned("--goal", "changed:0")
    Path("noisy").write_text("teh zat\n")
    Path("clean").write_text("the cat\n")
    assert "of 2 wrong ones corrected, 0 of 0 right ones changed" in tuned("--goal", "accuracy")


# settings ---------------------------------------------------------------------------------------

FILES = {"lexicon": "more 9\nthen 5\nthan 6\n", "lookup": "teh\tthe\n", "bigrams": "more than 9\n",
         "confusions": "then than\n", "protect_words": "thn\n"}  # fmt: skip


@pytest.fixture
def stored(tmp_path):
    """Settings beside a checkpoint; returns their path."""
    (tmp_path / "lists").mkdir()
    (tmp_path / "model").mkdir()
    named = {name: str(tmp_path / "lists" / name) for name in FILES}
    for name, text in FILES.items():
        Path(named[name]).write_text(text)
    more = {"min_confidence": 0.7, "longest": 2, "tuned": "so", "weights": {"model": 1.5}}
    made = settings.Settings("letters", **named, **more)
    path = settings.write(made, str(tmp_path / "model" / "checkpoint_best.pt"))
    for name in FILES:
        Path(named[name]).unlink()
    return Path(path)


def test_settings_come_back_with_lists_of_their_own(stored):
    folder = stored.parent
    for place in (folder, folder / "any.pt"):
        assert settings.beside(str(place)) == str(stored)
    assert settings.beside(str(folder.parent)) is None
    found = settings.read(str(stored))
    known = found.resources()
    assert found.lexicon == str(folder / "corrector.lexicon") and "then" in known.lexicon
    assert known.lookup.corrections == {"teh": ("the",)} and known.longest == 2
    assert known.bigrams.counts == {"more": {"than": 9.0}}
    assert known.confusions.others == {"then": ("than",), "than": ("then",)}
    assert found.protection().spans("a thn") == {(2, 5)}
    usual = defaults(by_word=True) | {"model": 1.5, "lookup": 30.0}
    assert ranked(Scripted(), found, "letters", {}).named_weights() == usual
    again = dataclasses.replace(found, min_confidence=0.8)
    settings.write(again, str(folder))
    assert settings.read(str(stored)) == again
    assert json.loads(stored.read_text())["weights"] == {"model": 1.5}


@pytest.mark.parametrize(
    ("tuned", "lists", "unit"),
    [("word", (), "letters"), ("line", (), "line"), (None, (), "letters"),
     (None, ("lexicon",), "letters"), ("word", ("lexicon",), "word"),
     ("letters", ("lookup",), "letters")],
)  # fmt: skip
def test_what_is_given_comes_before_what_was_tuned(stored, tuned, lists, unit):
    found = settings.read(str(stored))
    unused = dict.fromkeys({*FILES} - {*lists})
    file = settings.write(dataclasses.replace(found, unit=tuned, **unused), str(stored.parent))
    given = {"lookup": "pairs", "beam": 4, "lexicon": None}
    use, path = settings.chosen(str(stored.parent), None, given)
    assert path == file and (use.unit, use.lookup, use.beam) == (unit, "pairs", 4)
    assert (use.min_confidence, use.tuned) == (0.7, "so")
    assert settings.chosen(str(stored.parent), "none", {}) == (settings.Settings(), None)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-9],
        lambda text: text.replace("longest", "luck"),
        lambda text: text.replace("0.7,", '"much",', 1),
        lambda text: text.replace('"model": 1.5', '"model": "x"'),
        lambda text: text.replace('"temperature": 1.0', '"temperature": 0'),
        lambda text: "[]",
        lambda text: text.replace('"corrector.lexicon"', "3"),
    ],
)
def test_a_broken_settings_file_is_told_in_one_line(stored, change):
    stored.write_text(change(stored.read_text()))
    with refuses(stored, "--settings none"):
        settings.read(str(stored))


def test_settings_name_no_file_elsewhere_and_what_is_gone_is_named(stored):
    stored.write_text(stored.read_text().replace("corrector.lexicon", "/etc/passwd"))
    found = settings.read(str(stored))
    assert found.lexicon == str(stored.parent / "passwd")
    with refuses(found.lexicon):
        found.resources()
