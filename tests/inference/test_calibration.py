"""Probabilities that come true as often as they say."""

import json
import random
from pathlib import Path

import pytest
from refusals import refuses
from test_word_ranking import LEXICON, Scripted, corrector

from lev_plugins import UserError
from lev_plugins.cli import correct
from lev_plugins.inference.correction import Correction, Edit, settings
from lev_plugins.inference.correction.calibration import calibrated, temperature
from lev_plugins.inference.correction.tuning import Goal, outcomes, tune


def overconfident(warmth):
    """Edits that are right as often as they say once their log-odds are divided."""
    rng = random.Random(1)
    chances = [rng.random() for _ in range(4000)]
    return [(calibrated(p, 1 / warmth), rng.random() < p) for p in chances]


@pytest.mark.parametrize("warmth", [0.5, 1.0, 2.5])
def test_the_temperature_that_spoilt_probabilities_is_found(warmth):
    assert temperature(overconfident(warmth)) == pytest.approx(warmth, rel=0.1)


def test_a_temperature_keeps_the_order_and_what_is_certain():
    assert [calibrated(p, 3.0) for p in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]
    assert 0 < calibrated(1e-300, 0.05) < calibrated(1e-9, 0.05) < calibrated(0.4, 0.05) < 0.4
    assert calibrated(1 - 1e-16, 0.05) <= 1


def test_where_all_are_right_or_all_wrong_nothing_is_learned():
    assert temperature([(0.3, True), (0.9, True)]) == temperature([]) == 1.0


def test_an_edit_is_right_where_its_word_is():
    edits = (Edit(0, "teh", "the", 0.9), Edit(6, "t", "r", 0.4), Edit(6, "t", "x", 0.1, False))
    done = [
        Correction("teh cat", "the car", edits),
        Correction("a b", "ab", (Edit(1, " ", "", 1.0),)),
    ]
    assert outcomes(done, ["the cat", "a b"]) == [(0.9, True), (0.4, False), (1.0, False)]
    assert outcomes(done[1:], ["ab"]) == [(1.0, True)]


def test_the_weight_of_the_unchanged_word_decides_what_no_threshold_can(monkeypatch):
    # Two corrections share the probability of the wrong word, the unknown right word has one.
    model = Scripted({"zat": ["cat", "cats"], "zog": ["cats"]}, {"cat": -0.9, "cats": -1.2})
    made = corrector(model, monkeypatch)
    made.backend.ranker.set_weights({"model": 1.0, "unchanged": 1.0})
    wrong, right = (one.edits[0].probability for one in made.correct(["zat", "zog"]))
    assert wrong < right
    choice = tune(made, ["zat zog"], ["cat zog"], Goal("changed", 0))
    assert (choice.counts.corrected, choice.counts.changed) == (1, 0)
    assert choice.weights["unchanged"] == 4.0 and choice.weights["model"] == 1.0


@pytest.fixture
def tuned(monkeypatch, tmp_path, capsys):
    """``correct --tune`` with a scripted model; returns what it printed."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "checkpoint_best.pt").write_text("")
    (tmp_path / "words").write_text("".join(f"{word} 3\n" for word in LEXICON.words))
    (tmp_path / "noisy").write_text("teh zat\nzog\n" * 9)
    (tmp_path / "clean").write_text("the cat\nzog\n" * 9)
    model = Scripted({"zat": ["cat"], "zog": ["dog"]}, {"cat": -1.0, "dog": -3.0, "the": -0.5})
    monkeypatch.setattr(correct, "load_corrector", lambda args: corrector(model, monkeypatch))
    monkeypatch.chdir(tmp_path)

    def run(*flags):
        files = ["--lexicon", "words", "--tune", "noisy", "clean", *flags]
        assert correct.main(["--path", "model/checkpoint_best.pt", *files]) == 0
        return capsys.readouterr().out

    return run


def test_tune_says_and_keeps_the_calibration(tuned):
    said = tuned()
    found = settings.read("model/corrector.json")
    assert found.temperature != 1 and f"a temperature of {found.temperature:.3g}" in said


def test_the_threshold_is_chosen_with_the_protected_words_and_they_are_kept(tuned):
    assert "18 of 18 wrong ones corrected" in tuned("--goal", "changed:100")
    Path("names").write_text("zat\n")
    said = tuned("--goal", "changed:100", "--protect-words", "names")
    assert "9 of 18 wrong ones corrected" in said
    kept = settings.read("model/corrector.json")
    assert kept.protection().spans("a zat zats") == {(2, 5)}


@pytest.mark.parametrize(
    "noisy, said",
    [
        ("zog zog\n", "none of 2 words is wrong; give text with errors"),
        ("teh zat\n", "all 2 words are wrong, so --goal changed cannot be judged; add lines"),
    ],
)
def test_what_cannot_choose_a_threshold_is_refused_and_settings_stay(tuned, noisy, said):
    tuned("--goal", "changed:0")
    before = Path("model/corrector.json").read_bytes()
    Path("noisy").write_text(noisy)
    Path("clean").write_text("zog zog\n")
    with refuses(said):
        tuned()
    assert Path("model/corrector.json").read_bytes() == before


def test_text_without_right_words_can_be_tuned_for_what_counts_corrections(tuned):
    Path("noisy").write_text("teh zat\n")
    Path("clean").write_text("the cat\n")
    assert "of 2 wrong ones corrected, 0 of 0 right ones changed" in tuned("--goal", "f0.5")


def test_settings_without_a_temperature_are_read_as_before(tuned):
    tuned()
    path = Path("model/corrector.json")
    stored = json.loads(path.read_text())
    del stored["temperature"]
    path.write_text(json.dumps(stored))
    assert settings.read(str(path)).temperature == 1.0
    path.write_text(json.dumps({**stored, "temperature": 0}))
    with pytest.raises(UserError, match="a temperature of 0"):
        settings.read(str(path))


def test_the_verdict_names_the_no_edit_baseline_where_nothing_is_gained(tuned):
    said = tuned("--goal", "changed:0")
    assert "verdict: 18 words more are right than without edits (18 corrected, 0 right" in said
    assert "of whose words 66.7% are wrong; fewer wrong words want a higher --min-conf" in said
    Path("noisy").write_text("zog zzz\n")
    Path("clean").write_text("zog yyy\n")
    said = tuned("--goal", "changed:0")
    wanted = "verdict: no better than the no-edit baseline yet (0 words corrected, 0 right ones"
    assert wanted in said and "train longer, about twice" in said
