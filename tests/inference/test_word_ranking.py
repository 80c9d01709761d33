"""Candidates of a lexicon and of a model, ranked; scores; tuning; settings beside a model."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
import torch
from editors import edit_corrector, writing_corrector
from refusals import refuses

from lev_plugins import UserError
from lev_plugins.inference.correction import Corrector, settings, unit_ranking, word_ranking
from lev_plugins.inference.correction.candidates import score_texts, scorer_of
from lev_plugins.inference.correction.lexicon import Lexicon, Lookup
from lev_plugins.inference.correction.rankings import LISTED, ranked
from lev_plugins.inference.correction.tuning import Choice, Counts, Goal, count, tune
from lev_plugins.inference.correction.word_ranking import (
    DEFAULTS,
    Resources,
    WordRanker,
    WordRankingBackend,
    consonants,
    with_case,
    without_emphasis,
)

WEIGHTS = {"model": 0.7, "lexicon": 4.0, "frequency": 0.15, "unchanged": 2.0, "capital": 3.0,
           "lookup": 4.0, "misspelt": 0.3}  # fmt: skip
LEXICON = Lexicon({"the": 100.0, "cat": 20.0, "cats": 5.0, "receive": 9.0, "to": 70.0})


class Scripted:
    """A scorer that writes ``words``, and likes every text alike but for those in ``likes``."""

    limit, knows_spaces = 40, False

    def __init__(self, words=None, likes=None):
        self.words, self.likes, self.asked = words or {}, likes or {}, []

    def tokens(self, text):
        return tuple(text)

    def text(self, tokens):
        return "".join(tokens)

    def knows(self, tokens):
        return "".join(tokens).isascii()

    def nbest(self, units, batch_size):
        self.asked += ["".join(unit) for unit in units]
        words = (self.words.get("".join(unit), []) for unit in units)
        return [dict.fromkeys(map(tuple, some)) for some in words]

    def score(self, pairs, batch_size):
        return [self.likes.get("".join(text), -5.0) for _, text in pairs]


def corrector(model, monkeypatch, lexicon=LEXICON, pairs=(), **more):
    monkeypatch.setattr(word_ranking, "scorer_of", lambda backend, words: backend)
    lookup = Lookup(pairs) if pairs else None
    return Corrector(
        WordRankingBackend(WordRanker(model, Resources(lexicon, lookup, **more), WEIGHTS)),
        "letters",
    )


# scores -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [edit_corrector, writing_corrector], ids=["edits", "writes"])
def test_a_score_does_not_depend_on_the_batch_and_texts_share_one_probability(make):
    backend = make().backend
    scorer = scorer_of(backend)
    pairs = [(tuple(a), tuple(b)) for a in ("abc", "d", "fade") for b in ("abc", "a", "bead", "ad")]
    together = scorer.score(pairs, 99)
    alone = [scorer.score([pair], 1)[0] for pair in pairs]
    assert together == pytest.approx(alone, rel=1e-4)
    assert all(score < 0 for score in together)
    assert len({round(score, 5) for score in together}) == len(pairs)


def test_a_left_to_right_score_is_that_of_beam_search():
    backend = writing_corrector().backend
    unit = tuple("abc")
    (hypotheses,) = backend.search([unit])
    scorer = scorer_of(backend)
    for hypothesis in hypotheses:
        text = scorer._text(hypothesis)
        if text:
            wanted = float(hypothesis["positional_scores"].sum())
            assert scorer.score([(unit, text)], 1) == pytest.approx([wanted], rel=1e-4)


@pytest.mark.parametrize("make", [edit_corrector, writing_corrector], ids=["edits", "writes"])
def test_texts_that_a_search_has_scored_keep_their_score_and_others_are_asked_about(make):
    backend = make().backend
    scorer, units = scorer_of(backend), [tuple("abc"), tuple("fade")]
    written = scorer.nbest(units, 2)
    texts = [[*map("".join, some), "bead", "abc"] for some in written]
    asked = []
    score = scorer.score
    scorer.score = lambda pairs, size: asked.extend(pairs) or score(pairs, size)
    found = score_texts(backend, scorer, units, texts, written, 4)
    for unit, some, scores, known in zip(units, texts, found, written, strict=True):
        expected = [score([(unit, tuple(text))], 1)[0] for text in some]
        assert scores == pytest.approx(expected, rel=1e-4)
        told = {tokens for tokens, value in known.items() if value is not None}
        assert {tokens for one, tokens in asked if one == unit} == {*map(tuple, some)} - told
        assert bool(told) == (make is writing_corrector)


def test_an_edit_score_is_the_sum_over_one_iteration():
    backend = edit_corrector().backend
    model, task = backend.policy, backend.task
    numbers = {letter: task.tgt_dict.index(letter) for letter in "abd"}
    memory = model.encode(torch.tensor([[0, numbers["a"], numbers["b"], 2]]))
    with torch.no_grad():
        draft = torch.tensor([[0, numbers["a"], numbers["b"], 2]])
        goes = model.deletion_logits(draft, memory).log_softmax(-1)[0]
        stands = torch.tensor([[0, numbers["a"], 2]])
        sizes = model.placeholder_logits(stands, memory).log_softmax(-1)[0]
        opened = torch.tensor([[0, numbers["a"], task.placeholder, 2]])
        written = model.token_logits(opened, memory, opened == task.placeholder).log_softmax(-1)
    wanted = goes[1, 0] + goes[2, 1] + sizes[0, 0] + sizes[1, 1] + written[0, numbers["d"]]
    found = scorer_of(backend).score([(("a", "b"), ("a", "d"))], 1)
    assert found == pytest.approx([float(wanted)], rel=1e-4)


def test_what_a_model_cannot_spell_is_known():
    for make in (edit_corrector, writing_corrector):
        scorer = scorer_of(make().backend)
        assert scorer.knows(("a", "b")) and not scorer.knows(("a", "é"))


def test_a_model_of_drafts_that_writes_from_left_to_right_is_refused():
    backend = writing_corrector("translation_concat").backend
    with pytest.raises(UserError, match="--lexicon and --lookup need a model of task"):
        scorer_of(backend)


# ranking ----------------------------------------------------------------------------------------


def test_words_of_the_lexicon_stay_and_the_model_is_not_asked(monkeypatch):
    model = Scripted({"cat": ["cats"]}, {"cats": 0.0})
    line = "The cat's CATS, to 3cst www.cst.de the cat 's B"
    (found,) = corrector(model, monkeypatch).correct([line])
    assert found.text == line and model.asked == []


@pytest.mark.parametrize(
    ("word", "right"),
    [("teh", "the"), ("Teh", "The"), ("RECIEVE", "RECEIVE"), ("(recieve)", "(receive)")],
)
def test_a_misspelling_becomes_a_near_word_with_its_capitals(monkeypatch, word, right):
    (found,) = corrector(Scripted(likes={"the": 0.0, "receive": 0.0}), monkeypatch).correct([word])
    assert found.text == right
    assert all(0.5 < edit.probability <= 1 for edit in found.edits)


def test_a_short_word_all_in_capitals_stays_unless_it_is_listed(monkeypatch):
    model = Scripted(likes={"the": 0.0, "cats": 0.0})
    made = corrector(model, monkeypatch, pairs=[("hte", "the")])
    found = [one.text for one in made.correct(["TEH CTA", "HTE", "CATTS"])]
    assert found == ["TEH CTA", "THE", "CATTS"]


def test_a_letter_repeated_for_emphasis_counts_as_two(monkeypatch):
    """*toooooo* is five edits away from *to*, and more than the three letters of *too*."""
    words = {"soooo": "soo", "too": "too", "aaabbbb": "aabb"}
    assert {word: without_emphasis(word) for word in words} == words
    model = Scripted(likes={"to": 0.0})
    (found,) = corrector(model, monkeypatch).correct(["Toooooo"])
    assert found.text == "To" and model.asked == ["too"]


def test_a_short_word_that_is_not_listed_is_taken_for_an_abbreviation(monkeypatch):
    """The feature ``short``: at most three letters, and only of the word itself."""
    ranker = corrector(Scripted(), monkeypatch, pairs=[("hte", "the")]).backend.ranker
    short = word_ranking.FEATURES.index("short")
    for word, flag in [("km", 1.0), ("tha", 1.0), ("hte", 0.0), ("catt", 0.0)]:
        (found,) = ranker.candidates([word], 1)
        assert found.features[0, short] == flag and not found.features[1:, short].any()
    alone = ranker.candidates(["tha"], 1)[0]
    before = ranker.probabilities(alone, False)[0]
    ranker.set_weights({**WEIGHTS, "short": 3.0})
    after = ranker.probabilities(alone, False)[0]
    odds = after / (1 - after) * (1 - before) / before
    assert odds == pytest.approx(math.exp(3.0), rel=1e-9)


@pytest.mark.parametrize(
    ("unit", "lexicon"),
    [("letters", None), ("line", None), ("line", "words"), ("letters", "words")],
)
def test_what_a_table_lists_is_done_where_nothing_was_tuned(monkeypatch, tmp_path, unit, lexicon):
    monkeypatch.setattr(word_ranking, "scorer_of", lambda backend, words: backend)
    monkeypatch.setattr(unit_ranking, "scorer_of", lambda backend: backend)
    (tmp_path / "words").write_text("cat 3\n")
    (tmp_path / "pairs").write_text("Fido\tFelix\nhund\tHund\nkat\tcat\ngovt\tgovernment\n")
    model = Scripted(likes={"Felix": -30.0, "Felix hund kat": -30.0})
    model.knows_spaces = True
    files = {"lexicon": lexicon and str(tmp_path / lexicon), "lookup": str(tmp_path / "pairs")}
    use = settings.Settings(**files)
    found = Corrector(ranked(model, use, unit, {}), unit).correct(["Fido hund kat", "govt"])
    assert [one.text for one in found] == ["Felix Hund cat", "government"]
    other = ranked(model, use, unit, {"lookup": -40.0})
    assert Corrector(other, unit).correct(["Fido hund"])[0].text == "Fido hund"


@pytest.mark.parametrize(
    ("unit", "said"),
    [("letters", "3 of 4 .*'0f'.* --unit word"), ("word", "1 of 4 .*'in to'.* single words"),
     ("line", "1 of 4 .*'in to'.* single words")],
)  # fmt: skip
def test_listed_misspellings_that_no_unit_can_be_are_named(
    monkeypatch, tmp_path, caplog, unit, said
):
    monkeypatch.setattr(word_ranking, "scorer_of", lambda backend, words: backend)
    monkeypatch.setattr(unit_ranking, "scorer_of", lambda backend: backend)
    (tmp_path / "pairs").write_text("0f\tof\nin to\tinto\nteh\tthe\na-b\tab\n")
    model = Scripted()
    model.knows_spaces = True
    ranked(model, settings.Settings(lookup=str(tmp_path / "pairs")), unit, {})
    assert len(caplog.messages) == 1 and re.search(said, caplog.messages[0])


def test_what_is_listed_with_a_capital_leaves_the_small_word_of_the_lexicon_alone(monkeypatch):
    made = corrector(Scripted(), monkeypatch, pairs=[("Cats", "Katz"), ("Xat", "Katz")])
    made.backend.ranker.set_weights({"lookup": 30.0})
    assert made.correct(["cats Cats Xat"])[0].text == "cats Cats Katz"


NAMES = Lexicon({"the": 100.0, "Hund": 9.0, "London": 20.0, "Mark": 2.0, "mark": 3.0, "USA": 5.0})


@pytest.mark.parametrize(
    ("line", "right"),
    [("London LONDON London's Mark mark", None), ("Lonodn", "London"), ("lonodn", "London"),
     ("Hudn LONNDON", "Hund LONDON"), ("Teh", "The"), ("Usa", None), ("marrk", "mark")],
)  # fmt: skip
def test_words_that_a_lexicon_has_with_capitals_stay_and_are_written_so(monkeypatch, line, right):
    """As in spelling dictionaries, /usr/share/dict/words and lists of names."""
    model = Scripted(likes={"hund": 0.0, "the": 0.0, "london": 0.0, "mark": 0.0})
    (found,) = corrector(model, monkeypatch, NAMES).correct([line])
    assert found.text == (right or line)
    assert bool(model.asked) == bool(right)


def test_a_small_word_may_get_the_capital_that_the_lexicon_has(monkeypatch):
    """Its capital is one edit, so the model's and the lexicon's weights decide."""
    model = Scripted({"catts": ["Cats"]})
    made = corrector(model, monkeypatch, NAMES)
    made.correct(["london"])
    assert model.asked == ["london"]
    ranker = made.backend.ranker
    (found,) = ranker.candidates(["london"], 8)
    assert found.texts[:2] == ("london", "London")
    known, edits = (word_ranking.FEATURES.index(name) for name in ("lexicon", "edits"))
    assert found.features[:2, known].tolist() == [0.0, 1.0]
    assert found.features[:2, edits].tolist() == [0.0, pytest.approx(1 / 6)]
    # a capital that the model alone writes is none of the lexicon's
    (found,) = corrector(model, monkeypatch).backend.ranker.candidates(["catts"], 8)
    written = found.texts.index("Cats")
    assert found.features[written, [known, edits]].tolist() == [0.0, pytest.approx(2 / 5)]


def test_a_lexicon_in_capitals_alone_says_nothing_about_them(monkeypatch):
    made = corrector(Scripted(likes={"the": 0.0}), monkeypatch, Lexicon({"THE": 9.0, "CAT": 5.0}))
    assert [one.text for one in made.correct(["the cat", "teh Cat"])] == ["the cat", "the Cat"]


def test_capitals_inside_and_letters_that_the_model_lacks_stay(monkeypatch):
    (found,) = corrector(Scripted(), monkeypatch).correct(["tEh tehé cAt"])
    assert found.text == "tEh tehé cAt"


def test_a_listed_misspelling_is_corrected_though_it_is_a_word_and_the_right_one_is_far(
    monkeypatch,
):
    made = corrector(Scripted(), monkeypatch, pairs=[("cats", "a lot"), ("cats", "to")])
    model = made.backend.ranker.scorer
    model.likes = {"a lot": -0.1}
    made.backend.ranker.set_weights({**WEIGHTS, "lexicon": 0.0})
    (found,) = made.correct(["cats"])
    assert found.text == "a lot" and len(found.edits) >= 1


def test_a_text_that_runs_away_is_no_candidate(monkeypatch):
    words = {"approrait": ["appropriatiatopellcrrcrrrcnlprpp", "appropriate"]}
    likes = {"appropriatiatopellcrrcrrrcnlprpp": 0.0, "appropriate": -0.1}
    made = corrector(Scripted(words, likes), monkeypatch, longest=2)
    made.backend.ranker.set_weights({"model": 1.0})
    assert made.correct(["approrait"])[0].text == "appropriate"


def test_probabilities_of_all_candidates_add_up_to_one_and_a_capital_favours_the_word(monkeypatch):
    ranker = corrector(Scripted(), monkeypatch).backend.ranker
    (found,) = ranker.candidates(["teh"], 8)
    small, capital = (ranker.probabilities(found, one) for one in (False, True))
    assert found.texts[0] == "teh" and small.sum() == pytest.approx(1)
    assert capital[0] > small[0]


def test_a_word_that_was_met_is_not_ranked_again(monkeypatch):
    model = Scripted()
    made = corrector(model, monkeypatch)
    assert made.correct(["teh teh"])[0].text == made.correct(["teh", "teh"])[0].text + " the"
    assert model.asked == ["teh"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("extordonary", "extraordinary"), ("galvenise", "galvanise"), ("tute", "Tüte".lower()),
     ("acomodate", "accommodate"), ("bannana", "banana")],
)  # fmt: skip
def test_words_that_sound_alike_have_the_same_consonants(one, other):
    assert consonants(one) == consonants(other) != consonants(one + "x")


@pytest.mark.parametrize("scale", [0.0, 1e3, 1e6])
def test_a_lexicon_needs_no_counts_and_their_size_does_not_matter(monkeypatch, scale):
    def found(scale):
        counts = {word: scale * count for word, count in LEXICON.counts.items()}
        ranker = corrector(Scripted(), monkeypatch, Lexicon(counts)).backend.ranker
        (one,) = ranker.candidates(["recieve"], 8)
        return dict(zip(one.texts, one.features[:, word_ranking.FEATURES.index("frequency")]))

    mean = np.log(list(LEXICON.counts.values())).mean()
    wanted = math.log(LEXICON.counts["receive"]) - mean if scale else 0.0
    assert found(scale) == {"recieve": 0.0, "receive": pytest.approx(wanted, abs=1e-3)}


def test_features_compare_a_candidate_with_the_word(monkeypatch):
    model = Scripted({"extordonary": ["extraordinary"]}, {"cats": -2.0})
    ranker = corrector(model, monkeypatch).backend.ranker

    def of(word, text):
        (found,) = ranker.candidates([word], 8)
        values = found.features[found.texts.index(text)].tolist()
        return dict(zip(word_ranking.FEATURES, values, strict=True))

    far = of("extordonary", "extraordinary")
    assert (far["edits"], far["growth"], far["consonants"]) == (pytest.approx(3 / 11), 2.0, 0.0)
    assert (far["first"], far["last"], far["unchanged"]) == (0.0, 0.0, 0.0)
    near = of("catz", "cats")
    assert (near["edits"], near["growth"], near["consonants"]) == (0.25, 0.0, 1.0)
    assert (near["first"], near["last"], near["model"]) == (0.0, 1.0, -2.0)
    same = of("catz", "catz")
    assert {same[name] for name in ("edits", "growth", "consonants", "first", "last")} == {0.0}
    assert same["unchanged"] == 1.0 and same["lexicon"] == 0.0


@pytest.mark.parametrize(
    ("lexicon", "pairs"),
    [
        (LEXICON, [("catz", "cats"), ("teh", "the"), ("Toe", "Toe")]),
        (NAMES, [("Hudn", "Hund"), ("lonodn", "London"), ("london", "london")]),
    ],
    ids=["small letters", "capitals"],
)
def test_fitted_weights_make_the_right_words_most_probable(monkeypatch, lexicon, pairs):
    backend = corrector(Scripted(likes={"cats": -1.0}), monkeypatch, lexicon).backend
    examples = [(*pair, ("", "")) for pair in pairs]

    def chances():
        found = backend.ranker.candidates([one.lower() for one, _ in pairs], 8)
        return [
            backend.ranker.probabilities(one, False)[
                one.texts.index(right if right in one.texts else right.lower())
            ]
            for one, (_, right) in zip(found, pairs, strict=True)
        ]

    before = np.log(chances()).sum()
    backend.fit(examples)
    assert np.log(chances()).sum() > before + 0.1 and min(chances()) > 0.5
    assert backend.ranker.weights[word_ranking.CAPITAL] == WEIGHTS["capital"]


def test_a_weight_that_there_is_not_is_refused(monkeypatch):
    monkeypatch.setattr(word_ranking, "scorer_of", lambda backend, words: backend)
    with pytest.raises(UserError, match="there is no weight 'luck'"):
        WordRanker(Scripted(), Resources(LEXICON), {"luck": 1.0})


def test_units_of_several_words_are_refused(monkeypatch):
    backend = corrector(Scripted(), monkeypatch).backend
    with pytest.raises(UserError, match="--unit line: words are ranked one by one"):
        Corrector(backend, "line")


@pytest.mark.parametrize(
    ("text", "word", "written"),
    [("the", "teh", "the"), ("the", "Teh", "The"), ("the", "TEH", "THE"), ("to", "T", "To"),
     ("a lot", "Alot", "A lot")],
)  # fmt: skip
def test_a_correction_has_the_capitals_of_the_word(text, word, written):
    assert with_case(text, word) == written


def test_an_edit_that_adds_too_much_is_not_made(monkeypatch):
    made = corrector(Scripted({"teh": ["tehtehteh"]}, {"tehtehteh": 9.0}), monkeypatch, longest=99)
    made.longest = 3
    (found,) = made.correct(["teh"])
    assert found.text == "teh" and {edit.reason for edit in found.edits} == {"length"}


# tuning -----------------------------------------------------------------------------------------


def test_words_are_counted():
    found = count(["a b c d e"], ["a x C y E"], ["a b C D E"])
    assert found == Counts(right=2, changed=1, wrong=3, corrected=2, miscorrected=1)
    assert found.accuracy == 3 / 5 and found.f_half == pytest.approx(1.25 * 2 / (0.75 + 4))
    assert count(["a b"], ["ab"], ["a c"]) == Counts(1, 1, 1, 0, 1)


def test_the_threshold_keeps_right_words_and_loses_as_few_corrections_as_it_can(monkeypatch):
    model = Scripted({"zat": ["cat"], "zog": ["dog"]}, {"cat": -1.0, "dog": -3.0, "the": -0.5})
    made = corrector(model, monkeypatch)
    noisy, clean = ["teh zat"] * 9 + ["zog"], ["the cat"] * 9 + ["zog"]
    made.backend.ranker.set_weights({"model": 1.0})
    free = tune(made, noisy, clean, Goal("accuracy"), weights_too=True)
    assert free.counts.corrected == 18 and free.longest == 1
    choice = tune(made, noisy, clean, Goal("changed", 0))
    assert choice.counts.changed == 0 and choice.counts.corrected == 18
    done = made.correct(noisy, min_confidence=choice.min_confidence)
    assert [one.text for one in done] == clean
    assert set(choice.weights) == set(DEFAULTS)


def test_lines_with_other_numbers_of_words_are_left_out_and_named(monkeypatch):
    noisy, clean = ["teh zat"] * 9, ["the cat"] * 9

    def tuned(more: list[str], other: list[str]) -> Choice:
        model = Scripted({"zat": ["cat"]}, {"cat": -1.0, "the": -0.5})
        lines = [*more, *noisy, *more], [*other, *clean, *other]
        return tune(corrector(model, monkeypatch), *lines, Goal("accuracy"))

    whole, mixed = tuned([], []), tuned(["a lot"], ["alot"])
    assert (whole.left_out, mixed.left_out) == ([], [1, 11])
    assert (mixed.counts, mixed.min_confidence) == (whole.counts, whole.min_confidence)


@pytest.mark.parametrize("text", ["changed:x", "luck", "changed:101", "f0.5:-1"])
def test_a_goal_that_there_is_not_is_refused(text):
    with pytest.raises(UserError, match=f"--goal {text}: give changed:N"):
        Goal.parse(text)


@pytest.mark.parametrize(
    ("noisy", "clean", "said"),
    [([], [], "0 noisy and 0 clean"), (["a"], ["a", "b"], "1 noisy and 2 clean"),
     (["a", "b"], ["a b", ""], "no line has as many noisy as clean words")],
)  # fmt: skip
def test_lines_that_do_not_belong_together_are_refused(monkeypatch, noisy, clean, said):
    with pytest.raises(UserError, match=said):
        tune(corrector(Scripted(), monkeypatch), noisy, clean, Goal())


# settings ---------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path):
    """Settings beside a checkpoint; returns the folder."""
    (tmp_path / "words").write_text("the 3\n")
    (tmp_path / "model").mkdir()
    made = settings.Settings("letters", None, 0.7, str(tmp_path / "words"), longest=2, tuned="so")
    path = settings.write(made, str(tmp_path / "model" / "checkpoint_best.pt"))
    assert path == settings.beside(str(tmp_path / "model" / "checkpoint_best.pt"))
    return tmp_path / "model"


def test_settings_come_back_with_a_lexicon_of_their_own(stored):
    (stored.parent / "words").unlink()
    found = settings.read(str(stored / settings.NAME))
    assert found.lexicon == str(stored / settings.LEXICON) and found.lookup is None
    assert (found.unit, found.min_confidence) == ("letters", 0.7)
    assert (found.longest, found.tuned) == (2, "so")
    assert "the" in found.resources().lexicon and found.resources().longest == 2
    again = dataclasses.replace(found, min_confidence=0.8)
    settings.write(again, str(stored / "checkpoint_best.pt"))
    assert settings.read(str(stored / settings.NAME)) == again


@pytest.mark.parametrize(("tuned", "unit"), [("word", "letters"), ("line", "line")])
def test_a_list_is_followed_beside_settings_that_were_tuned_without_one(
    stored, tmp_path, tuned, unit, monkeypatch
):
    monkeypatch.setattr(word_ranking, "scorer_of", lambda backend, words: backend)
    monkeypatch.setattr(unit_ranking, "scorer_of", lambda backend: backend)
    settings.write(settings.Settings(tuned, min_confidence=0.7, tuned="so"), str(stored / "x.pt"))
    (tmp_path / "pairs").write_text("teh\tthe\n")
    use, _ = settings.chosen(str(stored), None, {"lookup": str(tmp_path / "pairs")})
    assert (use.unit, use.min_confidence) == (unit, 0.7)
    assert use.tuned == "so; without the lists that are given now"
    model = Scripted(likes={"the": -30.0})
    model.knows_spaces = True
    assert Corrector(ranked(model, use, use.unit, {}), unit).correct(["teh"])[0].text == "the"


@pytest.mark.parametrize(
    ("before", "unit", "lookup"),
    [("lexicon", "letters", LISTED), ("lookup", "letters", 2.0), ("lexicon", None, LISTED)],
)
def test_a_table_that_was_not_tuned_with_is_followed_and_a_unit_is_found(
    stored, tmp_path, monkeypatch, before, unit, lookup
):
    monkeypatch.setattr(word_ranking, "scorer_of", lambda backend, words: backend)
    (tmp_path / "words").write_text("teh\tthe\n" if before == "lookup" else "the\n")
    (tmp_path / "pairs").write_text("teh\tthe\n")
    weights = {**word_ranking.DEFAULTS, "lookup": 2.0}
    tuned = settings.Settings(
        unit, weights=weights, tuned="so", **{before: str(tmp_path / "words")}
    )
    file = settings.write(tuned, str(tmp_path / "x.pt"))
    use, _ = settings.chosen(str(tmp_path), file, {"lookup": str(tmp_path / "pairs")})
    ranker = ranked(Scripted(), use, use.unit, {}).ranker
    assert use.unit == "letters" and ranker.weights[word_ranking.FEATURES.index("lookup")] == lookup


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-9], "is no settings file"),
        (lambda text: text.replace("longest", "luck"), "is no settings file"),
        (lambda text: text.replace("0.7,", '"much",', 1), "is no settings file"),
        (lambda text: text.replace('"model":', '"luck":'), "there are no weights but"),
        (lambda text: text.replace("corrector.lexicon", "../words", 1), "is not beside it"),
        (lambda text: "[]", "is no settings file"),
    ],
)
def test_a_broken_settings_file_is_told_in_one_line(stored, change, message):
    path = stored / settings.NAME
    path.write_text(change(path.read_text()))
    with refuses("--settings none", match=message):
        settings.read(str(path))


def test_a_lexicon_that_was_changed_is_refused(stored):
    (stored / settings.LEXICON).write_text("teh 3\n")
    with pytest.raises(UserError, match="is not the file that .* tuned with; .* --settings none"):
        settings.read(str(stored / settings.NAME))


def test_settings_are_json_that_people_can_read(stored):
    found = json.loads((stored / settings.NAME).read_text())
    assert found["weights"] == dict(DEFAULTS) and len(found["files"]["lexicon"]) == 64


def test_features_are_finite(monkeypatch):
    ranker = corrector(Scripted(), monkeypatch, pairs=[("teh", "the")]).backend.ranker
    (found,) = ranker.candidates(["teh"], 8)
    assert found.features.shape == (len(found.texts), len(DEFAULTS))
    assert np.isfinite(found.features).all() and math.isclose(found.features[0, 3], 1)


def test_a_folder_of_checkpoints_has_the_settings_that_lie_in_it(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    path = settings.write(settings.Settings(unit="word"), str(folder))
    assert path == str(folder / settings.NAME)
    assert settings.beside(str(folder)) == settings.beside(str(folder / "any.pt")) == path
    assert settings.beside(str(tmp_path)) is None
