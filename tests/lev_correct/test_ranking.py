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


def test_features_compare_a_candidate_with_the_word():
    model = Scripted({"extordonary": ["extraordinary"], "catts": ["Cats"]}, {"cats": -2.0})
    ranker = ranker_of(ranking(model, pairs=[("hte", "the")]))
    far = features(ranker, "extordonary", "extraordinary")
    assert (far["edits"], far["growth"], far["consonants"]) == (pytest.approx(3 / 11), 2.0, 0.0)
    assert (far["first"], far["last"], far["unchanged"]) == (0.0, 0.0, 0.0)
    near = features(ranker, "catz", "cats")
    assert (near["edits"], near["growth"], near["consonants"]) == (0.25, 0.0, 1.0)
    assert (near["first"], near["last"], near["model"]) == (0.0, 1.0, -2.0)
    same = features(ranker, "catz", "catz")
    assert {same[name] for name in ("edits", "growth", "consonants", "first", "last")} == {0.0}
    assert (same["unchanged"], same["lexicon"], same["length"]) == (1.0, 0.0, -2.0)
    assert near["length"] == near["shape"] == 0.0 != same["shape"]
    for word, short in [("km", 1.0), ("tha", 1.0), ("hte", 0.0), ("catt", 0.0)]:
        assert features(ranker, word, word)["short"] == short
    listed, other = features(ranker, "hte", "the"), features(ranker, "tha", "the")
    assert (listed["lookup"], other["lookup"]) == (1.0, 0.0)
    assert listed["misspelt"] == other["misspelt"] == math.log(2) and near["misspelt"] == 0.0
    counts = [math.log1p(count) for count in LEXICON.counts.values()]
    assert listed["frequency"] == pytest.approx(math.log1p(100) - sum(counts) / len(counts))
    assert same["frequency"] == 0.0
    # a capital is an edit where the lexicon has it, and none of its own where the model writes it
    ours, theirs = (
        features(ranker_of(ranking(lexicon=NAMES)), "london", "London"),
        features(ranker, "catts", "Cats"),
    )
    assert (ours["lexicon"], ours["edits"]) == (1.0, pytest.approx(1 / 6))
    assert (theirs["lexicon"], theirs["edits"]) == (0.0, pytest.approx(2 / 5))


def test_probabilities_add_up_to_one_and_a_capital_favours_the_word():
    ranker = ranker_of(ranking())
    (candidates,) = ranker.candidates(["teh"], 8)
    small, capital = (ranker.probabilities(candidates, word) for word in ("teh", "Teh"))
    assert (
        candidates.texts[0] == "teh" and small.sum() == pytest.approx(1) and capital[0] > small[0]
    )
    odds = capital[0] / (1 - capital[0]) * (1 - small[0]) / small[0]
    assert odds == pytest.approx(math.exp(WEIGHTS["capital"]), rel=1e-9)


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


def test_neighbours_are_units_with_nothing_but_whitespace_between():
    line = "The  cat, sat (down) Now 3 x"
    places = list(spans(line, "letters"))
    contexts = {line[a:b]: context(line, places, n) for n, (a, b) in enumerate(places)}
    alone = dict.fromkeys(("sat", "down", "Now", "x"), NO_CONTEXT)
    assert contexts == {"The": ("", "cat"), "cat": ("the", ""), **alone}


def test_the_words_beside_it_decide_what_a_misspelling_becomes():
    lines = ["the cax sat", "the cax drives", "The Cax DRIVES!"]
    wanted = ["the cat sat", "the car drives", "The Car DRIVES!"]
    corrector = in_context(3.0)
    assert texts(corrector, *lines) == texts(corrector, *lines, batch_size=1) == wanted
    assert [texts(corrector, line)[0] for line in lines] == wanted  # whatever else is read
    edit, other = (corrector.correct([f"the cax{mark}sat"])[0].edits[0] for mark in (" ", ", "))
    assert edit.probability > other.probability + 0.05
    alike = {correction.edits[0].probability for correction in in_context(0.0).correct(lines[:2])}
    assert len(alike) == 1


def test_a_neighbour_that_fits_no_candidate_does_not_speak_for_the_unknown_word():
    ranker = ranker_of(in_context(3.0))
    (candidates,) = ranker.candidates(["cax"], 1)
    alone, beside = (
        ranker.probabilities(candidates, "cax", context) for context in (NO_CONTEXT, ("cat", ""))
    )
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


def test_its_probability_is_bayes_rule_with_equal_slips():
    (edit,) = confused().correct(["more then that"])[0].edits
    bigrams = Bigrams(PAIRS)
    odds = defaults(True)["confused"] + math.log((1 + COUNTS["than"]) / (1 + COUNTS["then"]))
    odds += bigrams.score("than", "more", "that") - bigrams.score("then", "more", "that")
    assert edit.probability == pytest.approx(1 / (1 + math.exp(-odds)), rel=1e-9)
    frequent = confused([("went", "and", "that")], confused=-0.1)
    assert texts(frequent, "zoo went zoo") == ["zoo went zoo"]  # is no reason by itself


def test_what_is_listed_as_wrong_is_a_misspelling_and_what_is_in_no_list_is_left_out():
    sets = [("then", "than"), ("that", "thet"), ("he", "she")]
    sets_found = ranker_of(confused(sets)).confused
    assert sets_found == {"then": ("than",), "than": ("then",)}  # no pair has thet, no lexicon she
    assert ranker_of(confused(pairs=[("then", "that")])).confused.keys() == {"than"}


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
    full, near, marks, most = (candidates_.texts for candidates_ in ranker.candidates(units, 9))
    assert full[0] == "teh kat xat"
    assert {"the cat xat", "the kat xat", "teh cat xat", "teh kat sat"} <= {*full}
    assert {"On THB mat", "Ob THE mat", "Ob THB Mat"} <= {*near}
    assert near.index("On THB mat") < near.index("on THB mat")  # nearer
    assert "(cat)," in marks and most[0] == "aa bb" and len(most) == 32
    longer = ["aaxx bbxx", "aaxxx bbxx"]  # by so much for each word
    assert {*longer} & {*ranker.vocabulary.texts("aa bb", longer, ([], []), 2, bool)} == {
        "aaxx bbxx"
    }


def test_features_are_summed_over_the_words():
    ranker = ranker_of(lines({"Teh kat": ["the cat"]}, {"the cat": -2.5}, pairs=[("kat", "cat")]))
    words = [("Teh", "the"), ("kat", "cat")]
    for text, parts in (("the cat", words), ("Teh kat", [(word, word) for word, _ in words])):
        features_ = features(ranker, "Teh kat", text)
        each = [ranker.vocabulary.features(*part) for part in parts]
        assert list(features_.values())[1:15] == pytest.approx(sum(each).tolist())
    changed = features(ranker, "Teh kat", "the cat")
    assert (changed["model"], changed["lexicon"], changed["unchanged"]) == (-2.5, 2.0, 0.0)
    assert (changed["capital"], changed["lookup"], features_["capital"]) == (0.0, 1.0, 1.0)
    assert changed["edits"] == pytest.approx(2 / 3 + 1 / 3)
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
    likes = {"teh kat": -3.0, "the cat": -1.0, "the kat": -2.0}
    script = {"teh kat": ["the cat", "the kat"]}
    corrector = lines(script, likes, lexicon=None, weights={"model": 1.0})
    (line,) = corrector.correct(["teh kat"])
    (candidates,) = ranker_of(corrector).candidates(["teh kat"], 9)
    chances = dict(
        zip(candidates.texts, ranker_of(corrector).probabilities(candidates, ""), strict=True)
    )
    assert line.text == "the cat"
    assert [edit.probability for edit in line.edits] == pytest.approx(
        [chances["the cat"] + chances["the kat"], chances["the cat"] + chances["teh cat"]]
    )
    assert texts(corrector, "teh żżż", "") == ["teh żżż", ""]  # what the model cannot spell stays


# fitting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lexicon", "pairs"),
    [
        (LEXICON, [("catz", "cats"), ("teh", "the"), ("Toe", "Toe")]),
        (NAMES, [("Hudn", "Hund"), ("lonodn", "London"), ("Londen", "London")]),
    ],
    ids=["small letters", "capitals"],
)
@pytest.mark.plugin
def test_fitting_makes_the_right_words_win(lexicon, pairs):
    corrector = ranking(
        Scripted(likes={"cats": -1.0}), lexicon, weights={"model": 1.0, "capital": 3.0}
    )
    ranker, (noisy, clean) = ranker_of(corrector), map(list, zip(*pairs))
    assert texts(corrector, *noisy) != clean
    ranker.fit([(*pair, NO_CONTEXT) for pair in pairs])
    assert texts(corrector, *noisy) == clean and ranker.named_weights()["capital"] == 3.0
    # what was meant is no candidate of a word, and says nothing of the others
    kept = ranker.weights.copy()
    ranker.fit([("catz", "zoo", NO_CONTEXT), ("cat", "dog", NO_CONTEXT)])
    assert (ranker.weights == kept).all()


@pytest.mark.plugin
def test_fitting_makes_the_best_lines_win():
    noisy, clean = ["teh", "kat", "sat", "onn", "Mat"], ["the", "cat", "sat", "on", "Mat"]
    likes = {"teh": -1.0, "kat": -1.0, "the": -4.0, "cat": -4.0, "on": -4.0, "onn": -0.5}
    ranker = ranker_of(lines({"sat": ["cat"]}, likes, weights={"model": 1.0, "unchanged": 0.3}))
    kept = ranker.weights.copy()
    ranker.fit([("cat", "cat", NO_CONTEXT)])
    assert (ranker.weights == kept).all()
    ranker.fit([*zip(noisy, clean, [NO_CONTEXT] * 5, strict=True), ("żżż", "zzz", NO_CONTEXT)])
    candidates = ranker.candidates(noisy, 9)
    assert [
        candidates_.texts[ranker.probabilities(candidates_, "").argmax()]
        for candidates_ in candidates
    ] == clean
    assert ranker.named_weights()["lexicon"] > 0.5


# which ranking, with which weights --------------------------------------------------------------


@pytest.mark.parametrize("unit", ["letters", "line"])
@pytest.mark.parametrize("tuned_for", ["letters", "line", None])
def test_weights_are_those_of_the_unit_and_an_untuned_table_is_followed(tmp_path, unit, tuned_for):
    (tmp_path / "pairs").write_text("Fido\tFelix\nhund\tHund\nkat\tcat\ngovt\tgovernment\n")
    tuned = {"model": 3.0, "lookup": 1.5} if tuned_for else {}
    use = Settings(tuned_for, lookup=str(tmp_path / "pairs"), weights=tuned)
    ranker = ranker_of(Corrector(ranked(Scripted(), use, unit, {"edits": -2.0}), unit))
    wanted = defaults(unit == "letters") | {"lookup": LISTED, "edits": -2.0}
    assert ranker.named_weights() == wanted | (tuned if tuned_for == unit else {})
    if not tuned_for:
        model = Scripted(likes={"Felix": -30.0, "Felix hund kat": -30.0})
        corrector = Corrector(ranked(model, use, unit, {}), unit)
        assert texts(corrector, "Fido hund kat", "govt") == ["Felix Hund cat", "government"]
        other = Corrector(ranked(model, use, unit, {"lookup": -40.0}), unit)
        assert texts(other, "Fido hund") == ["Fido hund"]


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
