"""Candidates of a model and of lists, ranked: words one by one in their context, and lines."""

import json
import math

import pytest
from fake_backend import LEXICON, WEIGHTS, Scripted, ranker_of, ranking
from refusals import refuses
from tables import rows, table

from lev_correct import Corrector
from lev_correct.propose.loading import LISTED, ranked
from lev_correct.propose.ranking import FEATURES, OF_WORDS
from lev_correct.propose.ranking import WEIGHTS as USUAL
from lev_correct.propose.rescoring import LINE_WEIGHTS
from lev_correct.settings import Settings, chosen
from lev_correct.text.units import NO_CONTEXT, ModelUnit, with_case
from lev_correct.words.lexicon import Lexicon, confusions
from lev_correct.words.ngrams import Bigrams


def texts(corrector, *lines, **more):
    return [correction.text for correction in corrector.correct(lines, **more)]


def features(ranker, unit, text):
    """Of one text that a unit may become."""
    (candidates,) = ranker.candidates([(unit, ())], 8)
    return dict(
        zip(FEATURES, candidates.features[candidates.texts.index(text)].tolist(), strict=True)
    )


# words one by one -------------------------------------------------------------------------------


NAMES = Lexicon({"the": 100.0, "Hund": 9.0, "London": 20.0, "Mark": 2.0, "mark": 3.0, "USA": 5.0})
SHOUTED = Lexicon({"THE": 9.0, "CAT": 5.0})  # says nothing about capitals


LEXICONS = {"usual": LEXICON, "names": NAMES, "shouted": SHOUTED}
#: lexicon | line | what it becomes, if it does not stay
LINES_OF_WORDS = """
usual | The cat's CATS, to 3cst www.cst.de the cat 's B tehé tEh cAt |
usual | teh Teh (recieve) RECIEVE | the The (receive) RECEIVE
usual | TEH CTA |
usual | HTE CATTS | THE CATTS
usual | teh's Recieve’s RECIEVE'D cat’s teh'x | the's Receive’s RECEIVE'D cat’s teh'x
usual | Reeeeeeceive | Receive
names | London LONDON London's Mark mark Usa |
names | Lonodn lonodn Hudn LONNDON | London London Hund LONDON
names | Teh marrk | The mark
shouted | the cat |
shouted | teh Cat | the Cat
""".replace("\\\n", "")


@pytest.mark.parametrize("lexicon, line, right", rows(LINES_OF_WORDS))
def test_words_of_the_lexicon_stay_unread_and_others_become_near_ones_with_their_capitals(
    lexicon, line, right
):
    liked = ["hund", "the", "london", "mark", "receive"]
    model = Scripted(
        {"cat": ["cats"], "receivecatreceiv": ["receive"]},
        dict.fromkeys(liked, 0.0) | {"cats": -9.0},
    )
    corrector = ranking(model, LEXICONS[lexicon], pairs=[("hte", "the")])
    (correction,) = corrector.correct([line])
    assert correction.text == (right or line)
    assert all(0.4 < edit.probability <= 1 for edit in correction.edits)
    assert bool(model.asked) == bool(right)
    assert with_case("to", "T") == "To"


@pytest.mark.parametrize("words, wanted", table("lev_correct/cases.tsv", "ranking: features of"))
def test_features_compare_a_candidate_with_the_word(words, wanted):
    """A capital is an edit where the lexicon has it, and none where the model writes it."""
    model = Scripted({"extordonary": ["extraordinary"], "catts": ["Cats"]}, {"cats": -2.0})
    lexicon = NAMES if "London" in words else LEXICON
    ranker = ranker_of(ranking(model, lexicon, [("hte", "the")]))
    measured, wanted = features(ranker, *words.split()), wanted.split()
    expected = dict(zip(wanted[::2], map(float, wanted[1::2])))
    assert {name: measured[name] for name in expected} == pytest.approx(expected, rel=1e-5)


def test_a_judge_hears_the_likeliest_change_of_a_word_that_would_rather_stay():
    corrector = ranking(weights={"unchanged": 99.0})
    words = [ModelUnit(0, 0, "hte"), ModelUnit(0, 0, "cat")]
    assert corrector.backend.write(words, 8) == [{}, {}]
    change, of_known = corrector.backend.write(words, 8, doubts=True)
    ((edit, chance),) = change.items()
    assert edit.words == ("the",) and 0 < chance < 0.5 and not of_known


def test_a_word_of_the_files_is_a_candidate_and_counts_as_known():
    ranker = ranking(Scripted({"dessugar": ["message"]}, {"message": -1.0})).backend
    word = ModelUnit(0, 0, "Dessugar")
    without, of_files = (
        ranker.write([word._replace(often=often)], 8, doubts=True) for often in [(), ("desugar",)]
    )
    assert [edit.words for (answer,) in (without, of_files) for edit in answer] == [
        ("Message",),
        ("Desugar",),
    ]
    assert ranker.write([word], 8, doubts=True) == without, "words of other files count not"


def test_what_runs_away_is_no_candidate_unless_it_is_listed():
    likes = {"appropriatiatopell": 0, "appropriate": -0.1, "approximately": 1, "i-b-m": 1}
    model = Scripted({"approrait": ["appropriatiatopell", "appropriate"]}, likes)
    pairs = [("approxly", "approximately"), ("cats", "a lot of them"), ("cats", "to")]
    pairs.append(("ibm", "I-B-M"))  # the model writes small letters alone
    corrector = ranking(model, pairs=pairs, longest=2, weights={"model": 1.0})
    wanted = ["appropriate", "approximately", "I-B-M"]
    assert texts(corrector, "approrait", "approxly", "ibm") == wanted
    model.likes = {"a lot of them": -0.1}  # of a word that the lexicon has
    assert texts(corrector, "cats") == ["a lot of them"]


# words in their context -------------------------------------------------------------------------


def in_context(weight, **more):
    """A corrector for which *cat* and *car* are equally good corrections of *cax*."""
    lexicon = Lexicon({"the": 9.0, "cat": 5.0, "car": 5.0, "sat": 5.0, "drives": 5.0})
    pairs = [("the", "cat"), ("cat", "sat"), ("the", "car"), ("car", "drives")]
    counts = Bigrams(dict.fromkeys(pairs, 9.0) | {("a", "zoo"): 1.0})
    return ranking(lexicon=lexicon, bigrams=counts, weights=WEIGHTS | {"bigrams": weight}, **more)


def test_the_words_beside_it_decide_what_a_misspelling_becomes():
    lines = ["the cax sat", "the cax drives", "The Cax DRIVES!"]
    wanted = ["the cat sat", "the car drives", "The Car DRIVES!"]
    corrector = in_context(3.0)
    assert texts(corrector, *lines) == texts(corrector, *lines, batch_size=1) == wanted
    edit, other = (corrector.correct([f"the cax{mark}sat"])[0].edits[0] for mark in (" ", ", "))
    assert edit.probability > other.probability + 0.05


def test_a_neighbour_that_fits_no_candidate_does_not_speak_for_the_unknown_word():
    ranker = ranker_of(in_context(3.0))
    (cax,) = ranker.candidates([("cax", ())], 1)
    alone, beside = (ranker.probabilities(cax, "cax", words) for words in (NO_CONTEXT, ("cat", "")))
    assert beside[0] <= alone[0]


COUNTS = dict.fromkeys("then than more that and he went".split(), 5e6) | {"zoo": 1e3, "thet": 1.0}
PAIRS = {"more than": 8e5, "more then": 9e2, "than that": 2e5, "then he": 1e5, "and then": 9e5,
         "he went": 9e5, "and than": 1e3}  # fmt: skip


def confused(sets=(("then", "than"),), pairs=(), **weights):
    """A corrector with the usual weights, whose model is asked about nothing."""
    bigrams = Bigrams({tuple(pair.split()): count for pair, count in PAIRS.items()})
    more = {"bigrams": bigrams, "confusions": confusions(sets)}
    return ranking(lexicon=Lexicon(COUNTS), pairs=pairs, weights={**USUAL, **weights}, **more)


@pytest.mark.parametrize("line, right", table("lev_correct/cases.tsv", "ranking: confused"))
def test_a_word_becomes_another_where_both_neighbours_speak_for_it(line, right):
    corrector = confused()
    assert texts(corrector, line) == [right or line] and ranker_of(corrector).model.asked == []


def test_what_is_listed_as_wrong_is_a_misspelling_and_what_is_in_no_list_is_left_out():
    sets = [("then", "than"), ("that", "thet"), ("he", "she")]  # no pair has thet, no lexicon she
    assert ranker_of(confused(sets)).confused == {"then": ("than",), "than": ("then",)}
    assert ranker_of(confused(pairs=[("then", "that")])).confused.keys() == {"than"}


# lines and windows ------------------------------------------------------------------------------

LINES = Lexicon({"the": 100.0, "cat": 20.0, "sat": 5.0, "on": 70.0, "Mat": 3.0, "cafe\u0301": 2.0})


def lines(words=None, likes=None, lexicon=LINES, pairs=(), weights=LINE_WEIGHTS):
    return ranking(Scripted(words, likes), lexicon, pairs, "line", weights)


def test_candidates_are_the_unit_hypotheses_their_single_edits_listed_words_and_near_ones():
    script = {"teh kat xat": ["the cat xat"]}
    ranker = ranker_of(lines(script, pairs=[("xat", "sat")]))
    asked = [(unit, ()) for unit in ("teh kat xat", "Ob mat", "(caat),")]
    full, near, marks = (row.texts for row in ranker.candidates(asked, 9))
    assert {"the cat xat", "the kat xat", "teh cat xat", "teh kat sat"} <= {*full}
    assert full[0] == "teh kat xat" and "On mat" in near and "(cat)," in marks


def test_punctuation_and_a_capital_make_no_unknown_word():
    words = "cat, 12 (Cat). caf MAT".split()
    (row,) = ranker_of(lines()).candidates([(" ".join(words), ())], 9)
    others = [text.split() for text in row.texts[1:]]
    assert others and all(other[:3] + other[4:] == words[:3] + words[4:] for other in others)


def test_a_table_is_followed_with_punctuation_and_capitals_around_its_words():
    pairs = [("teh", "the"), ("alot", "a lot"), ("i.e", "that is"), ("--", "—"), ("LIM", "lim")]
    corrector = lines(lexicon=None, pairs=pairs, weights={"model": 1.0, "lookup": 30.0})
    words = "teh (teh), Teh <TEH> alot. i.e -- tehs".split()
    wanted = "the|(the),|The|<THE>|a lot.|that is|—|tehs".split("|")
    corrected = texts(corrector, *(f"cat {word} sat" for word in words))
    assert corrected == [f"cat {word} sat" for word in wanted]


def test_an_edit_has_the_probability_of_all_candidates_that_make_it():
    likes = {"teh kat": -3.0, "the cat": -1.0, "the kat": -2.0}  # others: -5
    script = {"teh kat": ["the cat", "the kat"]}
    corrector = lines(script, likes, lexicon=None, weights={"model": 1.0})
    line, stays = corrector.correct(["teh kat", "teh żżż"])
    total = sum(math.exp(score) for score in (-3, -1, -2, -5))
    wanted = [(math.exp(-1) + math.exp(other)) / total for other in (-2, -5)]
    assert [edit.probability for edit in line.edits] == pytest.approx(wanted)
    assert not stays.edits  # what the model cannot spell


# which ranking, with which weights --------------------------------------------------------------


@pytest.mark.parametrize("line, text, words", table("lev_correct/cases.tsv", "ranking: measured"))
def test_a_line_is_measured_by_all_of_its_words_without_the_marks_around_them(line, text, words):
    ranker = ranker_of(lines({line: [text]}, lexicon=Lexicon({"sat": 2.0, "dog": 5.0})))
    words = words.split()
    pairs = [("xat dgo", "sat")] if len(words) == 3 else [*zip(words[::2], words[1::2])]
    sums = sum(ranker.vocabulary.features(*pair) for pair in pairs)
    measured = features(ranker, line, text)
    assert [measured[name] for name in FEATURES[OF_WORDS]] == pytest.approx(sums)


@pytest.mark.parametrize("unit", ["letters", "line"])
@pytest.mark.parametrize("tuned_for", ["letters", "line"])
def test_weights_are_those_of_the_unit(tmp_path, unit, tuned_for):
    (tmp_path / "pairs").write_text("kat\tcat\n")
    stored = {"unit": tuned_for, "lookup": "pairs", "weights": {"model": 3.0, "lookup": 1.5}}
    (tmp_path / "corrector.json").write_text(json.dumps(stored))
    use, _ = chosen(str(tmp_path), None, {"unit": unit, "weights": {"edits": -2.0}})
    wanted = {"letters": USUAL, "line": LINE_WEIGHTS}[unit] | {"lookup": LISTED, "edits": -2.0}
    wanted |= {"model": 3.0, "lookup": 1.5} if tuned_for == unit else {}
    assert ranker_of(Corrector(ranked(Scripted(), use), unit)).named_weights() == wanted


@pytest.mark.parametrize("unit", ["letters", "line"])
def test_an_untuned_table_is_followed(tmp_path, unit):
    (tmp_path / "pairs").write_text("Fido\tFelix\nhund\tHund\nkat\tcat\ngovt\tgovernment\n")
    model = Scripted(likes={"Felix": -30.0, "Felix hund kat": -30.0})
    use = Settings(unit, lookup=str(tmp_path / "pairs"))
    corrector = Corrector(ranked(model, use), unit)
    assert texts(corrector, "Fido hund kat", "govt") == ["Felix Hund cat", "government"]


@pytest.mark.parametrize(
    "unit, files, weights, message", table("lev_correct/cases.tsv", "ranking: refused")
)
def test_lists_that_cannot_be_used_are_refused(tmp_path, unit, files, weights, message):
    path = tmp_path / "x"
    path.write_text("the 3\n")
    lists = dict.fromkeys(files.split(), str(path))
    with refuses(message):
        ranked(Scripted(), Settings(unit, weights=dict.fromkeys(weights.split(), 1.0), **lists))
