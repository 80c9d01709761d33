"""Counts of neighbouring words: what they say of two words, and how they rank candidates."""

import math

import numpy as np
import pytest
from test_word_ranking import LEXICON, Scripted, corrector

from lev_plugins import UserError
from lev_plugins.inference.correction import settings
from lev_plugins.inference.correction.bigrams import Bigrams
from lev_plugins.inference.correction.lexicon import Lexicon
from lev_plugins.inference.correction.rankings import ranked
from lev_plugins.inference.correction.tuning import Goal, tune
from lev_plugins.inference.correction.units import context, spans
from lev_plugins.inference.correction.word_ranking import BIGRAMS

PAIRS = {("the", "cat"): 40.0, ("the", "dog"): 30.0, ("a", "cat"): 10.0, ("cat", "sat"): 20.0,
         ("to", "be"): 50.0}  # fmt: skip


def bigrams_of(pairs):
    counts = {}
    for (left, right), count in pairs.items():
        counts.setdefault(left, {})[right] = count
    return Bigrams(counts)


def test_association_is_mutual_information_with_the_smallest_count_added():
    bigrams, total = bigrams_of(PAIRS), sum(PAIRS.values())
    for left, right in [("the", "cat"), ("a", "dog"), ("the", "be")]:
        first = sum(count for pair, count in PAIRS.items() if pair[0] == left)
        second = sum(count for pair, count in PAIRS.items() if pair[1] == right)
        met = PAIRS.get((left, right), 0)
        wanted = math.log((met + 10) / (first * second / total + 10))
        assert bigrams.association(left, right) == pytest.approx(wanted, rel=1e-12)
    assert bigrams.association("the", "cat") > 0 > bigrams.association("the", "be")
    assert bigrams.association("the", "zebra") == bigrams.association("zebra", "cat") == 0


def test_the_score_of_a_text_is_that_of_its_pairs():
    bigrams = bigrams_of(PAIRS)
    pairs = [("the", "cat"), ("cat", "sat")]
    assert bigrams.score("cat", "the", "sat") == sum(bigrams.association(*one) for one in pairs)
    assert bigrams.score("the cat", "", "sat") == bigrams.score("cat", "the", "sat")
    assert bigrams.score("cat", "", "") == 0


@pytest.mark.parametrize(
    "line", ["the cat", "cat 3", "the big cat 3", "the cat 0", "the cat -1", "the cat inf",
             "the cat nan", ""],
)  # fmt: skip
def test_a_line_of_another_form_is_told_with_its_number(tmp_path, line):
    (tmp_path / "pairs").write_text(f"to be 9\n{line}\n")
    with pytest.raises(UserError, match="pairs, line 2: .* is not two words and their count"):
        Bigrams.read(str(tmp_path / "pairs"))


def test_a_file_is_read_and_an_empty_one_is_refused(tmp_path):
    (tmp_path / "pairs").write_text("to be 9\nThe\tcat\t2.5\nTo be 1\n")
    assert Bigrams.read(str(tmp_path / "pairs")).counts == {"to": {"be": 10.0}, "the": {"cat": 2.5}}
    (tmp_path / "none").write_text("")
    with pytest.raises(UserError, match="none holds no pairs of words"):
        Bigrams.read(str(tmp_path / "none"))


def test_neighbours_are_units_with_nothing_but_whitespace_between():
    line = "The  cat, sat (down) Now 3 x"
    places = list(spans(line, "letters"))
    found = {line[a:b]: context(line, places, n) for n, (a, b) in enumerate(places)}
    alone = dict.fromkeys(("sat", "down", "Now", "x"), ("", ""))
    assert found == {"The": ("", "cat"), "cat": ("the", ""), **alone}


def in_context(monkeypatch, weight=3.0, **more):
    """A corrector for which *cat* and *car* are equally good corrections of *cax*."""
    lexicon = Lexicon({"the": 9.0, "cat": 5.0, "car": 5.0, "sat": 5.0, "drives": 5.0})
    pairs = ["the cat", "cat sat", "the car", "car drives"]
    counts = {(left, right): 9.0 for left, right in map(str.split, pairs)} | {("a", "zoo"): 1.0}
    made = corrector(Scripted(), monkeypatch, lexicon, bigrams=bigrams_of(counts), **more)
    made.backend.ranker.weights[BIGRAMS] = weight
    return made


def test_the_words_beside_it_decide_what_a_misspelling_becomes(monkeypatch):
    made = in_context(monkeypatch)
    lines = ["the cax sat", "the cax drives", "The Cax DRIVES!"]
    wanted = ["the cat sat", "the car drives", "The Car DRIVES!"]
    assert [one.text for one in made.correct(lines)] == wanted
    assert [made.correct([line])[0].text for line in lines] == wanted  # whatever else is read
    assert [one.text for one in made.correct(lines, batch_size=1)] == wanted
    one, other = (made.correct([f"the cax{mark}sat"])[0].edits[0] for mark in (" ", ", "))
    assert one.probability > other.probability + 0.05


def test_without_bigrams_or_their_weight_equal_words_become_equal(monkeypatch):
    lines = ["the cax sat", "the cax drives"]
    for made in (in_context(monkeypatch, 0.0), corrector(Scripted(), monkeypatch, LEXICON)):
        edits = [one.edits for one in made.correct(lines)]
        assert len({one[0].probability for one in edits}) == len({one[0].after for one in edits})
        assert len({one[0].after for one in edits}) == 1


def test_fitting_finds_that_neighbours_matter(monkeypatch):
    made = in_context(monkeypatch, 0.0)
    noisy, clean = (
        ["the cax sat", "\ufeff cax drives"] * 3,
        ["the cat sat", "\ufeff car drives"] * 3,
    )
    choice = tune(made, noisy, clean, Goal("accuracy"), weights_too=True)
    assert choice.counts.corrected == 6 and choice.weights["bigrams"] > 0.5
    assert np.isfinite(list(choice.weights.values())).all()


def test_the_settings_keep_a_copy_and_older_ones_get_the_usual_weight(monkeypatch, tmp_path):
    (tmp_path / "words").write_text("the 9\ncat 5\n")
    (tmp_path / "pairs").write_text("the cat 9\n")
    weights = {"model": 1.0}
    made = settings.Settings(lexicon=str(tmp_path / "words"), bigrams=str(tmp_path / "pairs"),
                             weights=weights)  # fmt: skip
    path = settings.write(made, str(tmp_path))
    (tmp_path / "pairs").unlink()
    found = settings.read(path)
    assert found.resources().bigrams.counts == {"the": {"cat": 9.0}}
    backend = corrector(Scripted(), monkeypatch).backend.ranker.backend
    ranker = ranked(backend, found, "letters", {}).ranker
    assert ranker.weights[BIGRAMS] == settings.DEFAULTS["bigrams"] > 0
    (tmp_path / "corrector.bigrams").write_text("the cat 8\n")
    with pytest.raises(UserError, match="corrector.bigrams is not the file that"):
        settings.read(path)


@pytest.mark.parametrize(
    ("unit", "more", "said"),
    [("line", {"lexicon": "words"}, "for words that are ranked one by one; --unit letters"),
     ("letters", {}, "there is no ranking; give --lexicon")],
)  # fmt: skip
def test_bigrams_that_could_not_be_used_are_refused(unit, more, said):
    use = settings.Settings(bigrams="pairs", **more)
    with pytest.raises(UserError, match=f"--bigrams pairs: {said}"):
        ranked(Scripted(), use, unit, {})
