"""Candidates of a model and of lists, ranked: words one by one in their context, and lines."""

import math

import pytest
from fake_backend import LEXICON, WEIGHTS, Scripted, ranker_of, ranking
from refusals import refuses

from lev_correct import Corrector
from lev_correct.models.loading import LISTED, ranked
from lev_correct.ranking.ranking import FEATURES, defaults
from lev_correct.ranking.vocabulary import with_case
from lev_correct.settings import Settings
from lev_correct.text.units import NO_CONTEXT, context, spans
from lev_correct.words.lexicon import Bigrams, Lexicon, confusions


def texts(corrector, *lines, **more):
    return [correction.text for correction in corrector.correct(lines, **more)]


def features(ranker, unit, text):
    """Of one text that a unit may become."""
    (candidates,) = ranker.candidates([unit], 8)
    return dict(
        zip(FEATURES, candidates.features[candidates.texts.index(text)].tolist(), strict=True)
    )


# words one by one -------------------------------------------------------------------------------


NAMES = Lexicon({"the": 100.0, "Hund": 9.0, "London": 20.0, "Mark": 2.0, "mark": 3.0, "USA": 5.0})
MEAN = sum(math.log1p(count) for count in LEXICON.counts.values()) / len(LEXICON.counts)
GLUED = f"{'tehcat' * 9} receivecatreceiv"  # no word
SHOUTED = Lexicon({"THE": 9.0, "CAT": 5.0})  # says nothing about capitals


@pytest.mark.parametrize(
    ("lexicon", "line", "right"),
    [
        (LEXICON, "The cat's CATS, to 3cst www.cst.de the cat 's B tehé tEh cAt", None),
        (LEXICON, "teh Teh (recieve) RECIEVE", "the The (receive) RECEIVE"),
        (LEXICON, "TEH CTA", None),  # short and in capitals, like NATO
        (LEXICON, "HTE CATTS", "THE CATTS"),  # but listed
        (LEXICON, "teh's Recieve’s RECIEVE'D cat’s teh'x", "the's Receive’s RECEIVE'D cat’s teh'x"),
        (LEXICON, GLUED, GLUED),
        (LEXICON, "Reeeeeeceive", "Receive"),  # five edits away, but for the emphasis
        (NAMES, "London LONDON London's Mark mark Usa", None),
        (NAMES, "Lonodn lonodn Hudn LONNDON", "London London Hund LONDON"),
        (NAMES, "Teh marrk", "The mark"),
        (SHOUTED, "the cat", None),
        (SHOUTED, "teh Cat", "the Cat"),
    ],
)
def test_words_of_the_lexicon_stay_unread_and_others_become_near_ones_with_their_capitals(
    lexicon, line, right
):
    liked = ["hund", "the", "london", "mark", "receive"]
    model = Scripted(
        {"cat": ["cats"], "receivecatreceiv": ["receive"]},
        dict.fromkeys(liked, 0.0) | {"cats": -9.0},
    )
    (correction,) = ranking(model, lexicon, pairs=[("hte", "the")]).correct([line])
    assert correction.text == (right or line)
    assert all(0.4 < edit.probability <= 1 for edit in correction.edits)
    assert bool(model.asked) == bool(right)
    assert with_case("to", "T") == "To"


BEFORE_AND_AFTER = {
    ("extordonary", "extraordinary"): {
        "edits": 3 / 11, "growth": 2, "consonants": 0, "first": 0, "last": 0, "unchanged": 0,
    },
    ("catz", "cats"): {
        "edits": 0.25, "growth": 0, "consonants": 1, "first": 0, "last": 1, "model": -2,
        "length": 0, "shape": 0, "misspelt": 0,
    },
    ("catz", "catz"): {
        "edits": 0, "growth": 0, "consonants": 0, "first": 0, "last": 0, "unchanged": 1,
        "lexicon": 0, "length": -2, "frequency": 0, "short": 0,
    },
    ("km", "km"): {"short": 1},
    ("tha", "tha"): {"short": 1},
    ("hte", "hte"): {"short": 0},
    ("hte", "the"): {"lookup": 1, "misspelt": math.log(2), "frequency": math.log1p(100) - MEAN},
    ("tha", "the"): {"lookup": 0, "misspelt": math.log(2)},
    # a capital is an edit where the lexicon has it, and none of its own where the model writes it
    ("london", "London"): {"lexicon": 1, "edits": 1 / 6},
    ("catts", "Cats"): {"lexicon": 0, "edits": 2 / 5},
}  # fmt: skip


@pytest.mark.parametrize("pair", BEFORE_AND_AFTER)
def test_features_compare_a_candidate_with_the_word(pair):
    model = Scripted({"extordonary": ["extraordinary"], "catts": ["Cats"]}, {"cats": -2.0})
    lexicon = NAMES if pair[1] == "London" else LEXICON
    wanted = BEFORE_AND_AFTER[pair]
    measured = features(ranker_of(ranking(model, lexicon, [("hte", "the")])), *pair)
    assert {name: measured[name] for name in wanted} == pytest.approx(wanted)
    assert pair != ("catz", "catz") or measured["shape"]


def test_a_capital_favours_the_word():
    ranker = ranker_of(ranking())
    (candidates,) = ranker.candidates(["teh"], 8)
    stays = [ranker.probabilities(candidates, word)[0] for word in ("teh", "Teh")]
    small, capital = (math.log(chance / (1 - chance)) for chance in stays)
    assert capital - small == pytest.approx(WEIGHTS["capital"], rel=1e-9)


@pytest.mark.parametrize("unit", ["letters", "line"])
def test_what_runs_away_is_no_candidate_unless_it_is_listed(unit):
    likes = {"appropriatiatopell": 0, "appropriate": -0.1, "approximately": 1, "i-b-m": 1}
    model = Scripted({"approrait": ["appropriatiatopell", "appropriate"]}, likes)
    pairs = [("approxly", "approximately"), ("cats", "a lot of them"), ("cats", "to")]
    pairs.append(("ibm", "I-B-M"))  # the model writes small letters alone
    corrector = ranking(model, pairs=pairs, unit=unit, longest=2, weights={"model": 1.0})
    wanted = ["appropriate", "approximately", "I-B-M" if unit == "letters" else "ibm"]
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


def test_neighbours_are_units_with_nothing_but_whitespace_and_markup_between():
    line = "The  <b>cat</b> , sat (down) Now 3 x"
    places = list(spans(line, "letters"))
    contexts = {line[a:b]: context(line, places, n) for n, (a, b) in enumerate(places)}
    alone = dict.fromkeys(("sat", "down", "Now", "x"), NO_CONTEXT)
    assert contexts == {"The": ("", "cat"), "cat": ("the", ""), **alone}


def test_the_words_beside_it_decide_what_a_misspelling_becomes():
    lines = ["the cax sat", "the cax drives", "The Cax DRIVES!"]
    wanted = ["the cat sat", "the car drives", "The Car DRIVES!"]
    corrector = in_context(3.0)
    assert texts(corrector, *lines) == texts(corrector, *lines, batch_size=1) == wanted
    edit, other = (corrector.correct([f"the cax{mark}sat"])[0].edits[0] for mark in (" ", ", "))
    assert edit.probability > other.probability + 0.05


def test_a_neighbour_that_fits_no_candidate_does_not_speak_for_the_unknown_word():
    ranker = ranker_of(in_context(3.0))
    (cax,) = ranker.candidates(["cax"], 1)
    alone, beside = (ranker.probabilities(cax, "cax", words) for words in (NO_CONTEXT, ("cat", "")))
    assert beside[0] <= alone[0]


COUNTS = {"then": 5e6, "than": 6e6, "more": 9e6, "that": 2e7, "and": 9e7}
COUNTS |= {"he": 5e7, "went": 1e6, "zoo": 1e3, "thet": 1.0}
PAIRS = {("more", "than"): 8e5, ("more", "then"): 9e2, ("than", "that"): 2e5, ("then", "he"): 1e5,
         ("and", "then"): 9e5, ("he", "went"): 9e5, ("and", "than"): 1e3}  # fmt: skip


def confused(sets=(("then", "than"),), pairs=(), **weights):
    """A corrector with the usual weights, whose model is asked about nothing."""
    more = {"bigrams": Bigrams(PAIRS), "confusions": confusions(sets)}
    return ranking(lexicon=Lexicon(COUNTS), pairs=pairs, weights=defaults(True) | weights, **more)


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("more then that", "more than that"),
        ("More THEN that", "More THAN that"),
        ("and than he went", "and then he went"),
        ("more than that and then he went", None),
        ("more then, that", None),  # one neighbour does not speak for two
        ("more then", None),
        ("zoo then zoo", None),  # neighbours that nothing is known of
    ],
)
def test_a_word_becomes_another_where_both_neighbours_speak_for_it(line, right):
    corrector = confused()
    assert texts(corrector, line) == [right or line] and ranker_of(corrector).model.asked == []


def test_what_is_listed_as_wrong_is_a_misspelling_and_what_is_in_no_list_is_left_out():
    sets = [("then", "than"), ("that", "thet"), ("he", "she")]  # no pair has thet, no lexicon she
    assert ranker_of(confused(sets)).confused == {"then": ("than",), "than": ("then",)}
    assert ranker_of(confused(pairs=[("then", "that")])).confused.keys() == {"than"}
    frequent = confused([("went", "and", "that")], confused=-0.1)
    assert texts(frequent, "zoo went zoo") == ["zoo went zoo"]  # that is no reason by itself


# lines and windows ------------------------------------------------------------------------------

LINES = Lexicon({"the": 100.0, "cat": 20.0, "sat": 5.0, "on": 70.0, "Mat": 3.0, "cafe\u0301": 2.0})


def lines(words=None, likes=None, lexicon=LINES, pairs=(), weights=None):
    weights = weights or defaults(by_word=False)
    return ranking(Scripted(words, likes), lexicon, pairs, "line", weights)


def test_candidates_are_the_unit_hypotheses_single_edits_listed_words_and_near_ones():
    many = [f"{letter}a bb" for letter in "bcdefghijklmnopqrstuvwxyzABCDEFGHIJ"]
    script = {"teh kat xat": ["the cat xat"], "aa bb": many}
    ranker = ranker_of(lines(script, pairs=[("xat", "sat")]))
    units = ["teh kat xat", "Ob THB mat", "(caat),", "aa bb"]
    full, near, marks, most = (row.texts for row in ranker.candidates(units, 9))
    assert {"the cat xat", "the kat xat", "teh cat xat", "teh kat sat"} <= {*full}
    assert {"On THB mat", "Ob THE mat", "Ob THB Mat"} <= {*near}
    assert near.index("On THB mat") < near.index("on THB mat")  # nearer
    assert "(cat)," in marks and most[0] == "aa bb" and len(most) == 32
    longer = ["aaxx bbxx", "aaxxx bbxx"]  # by so much for each word
    assert longer[0] in (few := ranker.vocabulary.texts("aa bb", longer, ([], []), 2, bool))
    assert longer[1] not in few


def test_features_are_summed_over_the_words():
    ranker = ranker_of(lines({"Teh kat": ["the cat"]}, {"the cat": -2.5}, pairs=[("kat", "cat")]))
    changed = features(ranker, "Teh kat", "the cat")
    parts = [ranker.vocabulary.features(*pair) for pair in (("Teh", "the"), ("kat", "cat"))]
    assert list(changed.values())[1:15] == pytest.approx(sum(parts).tolist())
    assert (changed["model"], changed["lexicon"], changed["lookup"]) == (-2.5, 2.0, 1.0)
    assert changed["edits"] == pytest.approx(2 / 3 + 1 / 3)
    assert features(ranker, "Teh kat", "Teh kat")["capital"] == 1.0
    assert ranker.vocabulary.features("", "on")[2] == -1.0  # a word that comes is a change


@pytest.mark.parametrize("word, known", [("cat,", 1), ("Cat.", 1), ("«12»", 1), ("MAT", 0),
                                           ("caf", 0), ("«cafe\u0301».", 1)])  # fmt: skip
def test_punctuation_and_a_capital_make_no_unknown_word(word, known):
    assert features(ranker_of(lines()), word, word)["lexicon"] == known


@pytest.mark.parametrize(
    "word, written",
    [("teh", "the"), ("(teh),", "(the),"), ("Teh", "The"), ("<TEH>", "<THE>"), ("alot.", "a lot."),
     ("i.e", "that is"), ("--", "—"), ("tehs", "tehs"), ("LIM", "lim"), ("lim", "lim")],
)  # fmt: skip
def test_a_table_is_followed_with_punctuation_and_capitals_around_its_words(word, written):
    pairs = [("teh", "the"), ("alot", "a lot"), ("i.e", "that is"), ("--", "—"), ("LIM", "lim")]
    corrector = lines(lexicon=None, pairs=pairs, weights={"model": 1.0, "lookup": 30.0})
    assert texts(corrector, f"cat {word} sat") == [f"cat {written} sat"]


def test_what_is_listed_with_a_capital_leaves_the_small_word_of_the_lexicon_alone():
    corrector = ranking(pairs=[("Cats", "Katz"), ("Xat", "Katz")], weights={"lookup": 30.0})
    assert texts(corrector, "cats Cats Xat") == ["cats Cats Katz"]
    known = lines(pairs=[("mat", "sat"), ("on", "sat")], weights={"lookup": 30.0})
    assert texts(known, "Mat mat On") == ["Mat sat Sat"]


def test_an_edit_has_the_probability_of_all_candidates_that_make_it():
    likes = {"teh kat": -3.0, "the cat": -1.0, "the kat": -2.0}  # others: -5
    script = {"teh kat": ["the cat", "the kat"]}
    corrector = lines(script, likes, lexicon=None, weights={"model": 1.0})
    line, stays = corrector.correct(["teh kat", "teh żżż"])
    total = sum(math.exp(score) for score in (-3, -1, -2, -5))
    wanted = [(math.exp(-1) + math.exp(other)) / total for other in (-2, -5)]
    assert [edit.probability for edit in line.edits] == pytest.approx(wanted)
    assert not stays.edits  # what the model cannot spell


# fitting ----------------------------------------------------------------------------------------


@pytest.mark.plugin
def test_fitting_makes_the_right_words_win():
    pairs = [("Hudn", "Hund"), ("lonodn", "London"), ("Londen", "London"), ("Mark", "Mark")]
    corrector = ranking(Scripted(), NAMES, weights={"model": 1.0, "capital": 3.0})
    ranker, (noisy, clean) = ranker_of(corrector), map(list, zip(*pairs))
    assert texts(corrector, *noisy) != clean
    ranker.fit([(*pair, NO_CONTEXT) for pair in pairs])
    assert texts(corrector, *noisy) == clean and ranker.named_weights()["capital"] == 3.0
    kept = ranker.weights
    ranker.fit([("Hudn", "zoo", NO_CONTEXT), ("mark", "dog", NO_CONTEXT)])  # no candidates
    assert ranker.weights is kept


@pytest.mark.plugin
def test_fitting_makes_the_best_lines_win():
    noisy, clean = ["teh", "kat", "sat", "onn", "Mat"], ["the", "cat", "sat", "on", "Mat"]
    likes = {"teh": -1.0, "kat": -1.0, "the": -4.0, "cat": -4.0, "on": -4.0, "onn": -0.5}
    corrector = lines({"sat": ["cat"]}, likes, weights={"model": 1.0, "unchanged": 0.3})
    ranker = ranker_of(corrector)
    ranker.fit([*zip(noisy, clean, [NO_CONTEXT] * 5, strict=True), ("żżż", "zzz", NO_CONTEXT)])
    assert texts(corrector, *noisy) == clean and ranker.named_weights()["lexicon"] > 0.5


# which ranking, with which weights --------------------------------------------------------------


@pytest.mark.parametrize("unit", ["letters", "line"])
@pytest.mark.parametrize("tuned_for", ["letters", "line"])
def test_weights_are_those_of_the_unit(tmp_path, unit, tuned_for):
    (tmp_path / "pairs").write_text("kat\tcat\n")
    use = Settings(tuned_for, lookup=str(tmp_path / "pairs"), weights={"model": 3.0, "lookup": 1.5})
    wanted = defaults(unit == "letters") | {"lookup": LISTED, "edits": -2.0}
    wanted |= use.weights if tuned_for == unit else {}
    assert ranked(Scripted(), use, unit, {"edits": -2.0}).named_weights() == wanted


@pytest.mark.parametrize("unit", ["letters", "line"])
def test_an_untuned_table_is_followed(tmp_path, unit):
    (tmp_path / "pairs").write_text("Fido\tFelix\nhund\tHund\nkat\tcat\ngovt\tgovernment\n")
    model = Scripted(likes={"Felix": -30.0, "Felix hund kat": -30.0})
    use = Settings(lookup=str(tmp_path / "pairs"))
    corrector = Corrector(ranked(model, use, unit, {}), unit)
    assert texts(corrector, "Fido hund kat", "govt") == ["Felix Hund cat", "government"]


@pytest.mark.parametrize(
    ("unit", "files", "weights", "message"),
    [
        ("line", {"bigrams": "p", "lexicon": "w"}, {}, "bigrams=p"),
        ("letters", {"bigrams": "p"}, {}, "bigrams=p"),
        ("letters", {"confusions": "c", "lexicon": "w"}, {}, "confusions=c"),
        ("letters", {"confusions": "c", "lookup": "t", "bigrams": "p"}, {}, "lexicon="),
        ("letters", {}, {"edits": 1.0}, "weights=edits"),
        ("letters", {"lexicon": "words"}, {"luck": 1.0}, "'luck'"),
    ],
)  # fmt: skip
def test_what_could_not_be_used_is_refused(tmp_path, monkeypatch, unit, files, weights, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").write_text("the 3\n")
    with refuses(message):
        ranked(Scripted(), Settings(**files), unit, weights)
    with refuses("unit=line"):
        Corrector(ranking().backend, "line")
