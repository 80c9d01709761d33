"""How sure an edit has to be, by what a text and lists of words tell."""

import lzma
from dataclasses import replace

import pytest
from fake_backend import Scripted, ranking
from py3langid.langid import LanguageIdentifier
from refusals import refuses
from tables import rows, table

from lev_correct.judge.features import ENGLISH, Weights
from lev_correct.judge.judge import Evidence, Run
from lev_correct.judge.languages import Languages
from lev_correct.text.units import spans
from lev_correct.words.lexicon import KnownWords, Lexicon

KNOWN = KnownWords(b"etcd\t6\nfunctor\t3\nrunkel\t9\nrustc\t8\n\xc3\xa9tale\t5\n")
WEIGHTS = Weights.read(ENGLISH)
LEXICON = "a an and are by cat cats dog is of on said sat that the then this word".split()
PAIRS = [(f"teh{letter}", "the") for letter in "abcdefghij"]


class English(Languages):
    """Knows one language."""

    def __init__(self, foreign=()):
        super().__init__()
        self.asked, self._foreign = [], foreign

    def _is_own(self, text):
        self.asked.append(text)
        return not any(text.startswith(beginning) for beginning in self._foreign)


def backend(**more):
    lexicon = Lexicon(dict.fromkeys(LEXICON, 9.0))
    return ranking(
        lexicon=lexicon,
        pairs=[*PAIRS, ("htea", "the"), ("htea", "then"), ("runkel", "cat")],
        **more,
    ).backend


def evidence(*lines, run=None, path=None, foreign=()):
    """Of a text of these lines."""
    text = Evidence(run or Run(backend(), KNOWN, WEIGHTS, English(foreign)), path)
    read(text, lines)
    return text


def read(text, lines):
    """Where the lines of a text are in another language."""
    places = [[*spans(line, "letters")] for line in lines]
    text.lines_read += len(lines)
    return text.foreign_parts(lines, places)


CAREFUL = [f"the {'x' * n} cat sat" for n in range(3, 40)]
CARELESS = [f"the {wrong} cat sat" for wrong, _ in PAIRS]


def test_words_are_found_in_a_list_by_their_bytes_and_others_are_not(tmp_path):
    words = {"a": 1, "ab": 2, "abc": 3, "b": 9, "zoo": 4, "étale": 5, "İ": 6}
    text = "\n".join(f"{word}\t{level}" for word, level in words.items())
    (tmp_path / "known").write_bytes(lzma.compress(text.encode()))
    level = KnownWords.read(str(tmp_path / "known")).level
    assert {word: level(word) for word in words} == words
    assert not any(map(level, ("", "aa", "c", "zooo", "\t", "\udc80", "ab\t2")))


@pytest.mark.parametrize("text", ["", "word", "word 3", "word\t12", "\t3"])
def test_a_list_of_another_form_is_refused(tmp_path, text):
    (tmp_path / "known").write_text(text)
    with refuses("known, line 1"):
        KnownWords.read(str(tmp_path / "known"))


LINE = "the cat sat on that mat and said that this dog is by the {} cat"


def chance(text, word, after, model=0.999, line=LINE, **more):
    """The probability that a text gives an edit in a line of its own."""
    line = line.format(word)
    judge = text.line(line, [*spans(line, "letters")])
    return judge.probability(line.index(word), word, after, model, **more)


def test_weights_of_another_version_are_one_error():
    with refuses("another version"):
        Weights({"word": {"gone": (1.0, 0.0)}}).judged("word", {"certain": 1.0})


def test_a_name_stays_but_not_in_small_letters():
    run = Run(backend(), KnownWords(b"alon\t7\nsvn\t7\n"), WEIGHTS, English())
    text, code = Evidence(run), Evidence(run, "x.py")
    assert text.leaves_alone("Alon") and not text.leaves_alone("alon")
    assert text.leaves_alone("svn") and code.leaves_alone("alon")  # tools


def test_what_returns_in_the_files_of_a_run_is_a_term_be_it_in_code():
    text = evidence()
    before = chance(text, "runkle", "rumple")
    read(Evidence(text.run), ["a runkle is", "the runkle sat"])
    assert chance(text, "runkle", "rumple") == before, "a request's own lines tell nothing"
    text.survey(["getRunkle(x)"])
    assert not text.leaves_alone("runkle")
    Evidence(text.run).survey(["# the Runkle sat"])
    assert chance(text, "runkle", "rumple") < before
    terms = ("runkle", "Runkle", "runkles", "rustc")
    assert all(map(text.leaves_alone, terms)) and not text.leaves_alone("rumple")
    text.survey(["txtIn(x)", "a TXT file"])
    assert text.leaves_alone("In txt"), "a term may have three letters"
    text.survey(["cat", "cat"])
    assert not text.leaves_alone("cats"), "what the lists have tells nothing"


def test_a_short_word_and_one_that_is_written_for_another_stay_in_source():
    run = Run(backend(), KNOWN, WEIGHTS, English())
    run.words.is_confused = {"then"}.__contains__
    code, prose = Evidence(run, "x.py"), Evidence(run, "x.md")
    assert all(map(code.leaves_alone, ("then", "hte", "zp")))
    assert not any(map(prose.leaves_alone, ("then", "hte", "zp")))
    run.words.misspelt = {"hte": ("the",)}.get
    assert not code.leaves_alone("hte")


#: a word that returns, beside which word that is met ten times | whether it is a term
BESIDE = rows("""
acceptible | acceptable | no
acceptablle | acceptable | no
aacceptable | acceptable | yes
desguaring | desugaring | no
acceptably | acceptable | yes
accptble | acceptable | yes
acceptible | acceptance | yes
sayd | said | yes
""")


@pytest.mark.parametrize("word, other, is_term", BESIDE)
def test_a_word_that_returns_beside_its_correction_is_a_slip_and_no_term(word, other, is_term):
    lexicon = Lexicon(dict.fromkeys([*LEXICON, "acceptable", "acceptance"], 9.0))
    text = evidence(run=Run(ranking(lexicon=lexicon).backend, KNOWN, WEIGHTS, English()))
    text.survey([f"{word} {number}" for number in "ab"])
    assert text.leaves_alone(word)
    text.survey([f"{other} {number}" for number in range(9)])
    assert text.leaves_alone(word), "four and a half times as often"
    before = chance(text, word, other)
    text.survey([other])
    assert text.leaves_alone(word) == (is_term == "yes")
    assert text.met_oftener(word) == (() if is_term == "yes" else (other,))
    assert (chance(text, word, other) > before) == (is_term == "no")


@pytest.mark.parametrize("line", ["runkle", "a runkle", "the cat sat on a runkle cats receive it"])
def test_a_sentence_that_stands_twice_counts_once(line):
    text, other = evidence(), evidence()
    text.survey([line, f"> {line}\r", line.title(), f"{line}. The cat sat."])
    assert not text.leaves_alone("runkle")
    other.survey([line, f"> {line}\r", "runkle()"])
    assert other.leaves_alone("runkle") == (line != "runkle")


def test_listed_misspellings_tell_that_a_text_has_errors():
    careful, careless = evidence(*CAREFUL), evidence(*CARELESS)
    few = evidence(*CARELESS[:3])
    assert careful.errors == 0 < few.errors < careless.errors == 1, "by how many and which share"
    assert evidence(*CARELESS, *CAREFUL * 30).errors == pytest.approx(10 / 4480 / 0.005)
    assert chance(careless, "runkle", "rumple") > chance(careful, "runkle", "rumple")


@pytest.mark.parametrize("before, after, kind", table("lev_correct/cases.tsv", "evidence: kinds"))
def test_an_edit_has_the_kind_that_its_texts_tell(before, after, kind):
    line = f"that {before}"
    judge = evidence().line(line, [*spans(line, "letters")])
    assert judge.kind_of(before, after) == kind


def test_lines_and_quotations_in_another_language_are_found_and_count_for_nothing():
    lines = ["the habe nicht cat", 'the cat said "je ne sais quoi" and sat', "the cat sat"]
    run = Run(backend(), KNOWN, WEIGHTS, English(("the habe", "je", "habe")))
    text = Evidence(run)
    assert read(text, lines) == [[(0, 18)], [(14, 29)], []]
    assert lines[2] not in run.languages.asked, "an English line costs nothing"
    assert not text.foreign


def test_in_a_text_in_another_language_lists_alone_are_followed():
    lines = ["habe nicht die cat", "habe das nicht", "habe nicht das"]
    text = evidence(*lines, foreign=("habe",))
    assert text.foreign
    assert chance(text, "runkle", "rumple") == 0.0 < chance(text, "teha", "the")


def test_a_text_has_its_own_language_also_by_what_was_kept_of_the_model(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for own, is_own in (("de", True), ("en", False), ("xx", True)):
        assert Languages(own).is_own("Ich habe das nicht gewusst") == is_own
        monkeypatch.setattr(LanguageIdentifier, "from_model_file", None)  # is read once


def test_a_corrector_with_a_list_of_known_words_is_careful(tmp_path):
    (tmp_path / "known").write_bytes(b"rustic\t1\nthx\t8\n")
    model = Scripted(likes={"the": 9.0, "cat": 9.0})
    corrector = ranking(model, pairs=[("teha", "the")], weights={"model": 1.0})
    known = str(tmp_path / "known")
    corrector.settings = replace(corrector.settings, known=known, protect_code=True)
    lines = ["the thx cat", "teha cat"]
    assert [line.text for line in corrector.correct(lines)] == ["the thx cat", "the cat"]
    eager = ranking(model, pairs=[("teha", "the")], weights={"model": 1.0})
    assert eager.correct(lines)[0].text == "the the cat"


@pytest.mark.parametrize("wrong, text, reason", [
    ("htea", "the htea cat", "unsure"),  # listed for another word first
    ("teha", "the then cat", None),
    ("tehz", "the tehz cat", "confidence"),  # in no list
])  # fmt: skip
def test_a_misspelling_whose_word_is_not_sure_is_a_question_and_stays(
    tmp_path, wrong, text, reason
):
    (tmp_path / "known").write_bytes(b"rustic\t1\n")
    lexicon = Lexicon({"the": 9.0, "then": 9.0, "cat": 9.0})
    pairs = [("htea", "the"), ("htea", "then"), ("teha", "then")]
    likes = {"then": 1.0}
    corrector = ranking(Scripted(likes=likes), lexicon=lexicon, pairs=pairs, weights={"model": 1.0})
    corrector.settings = replace(corrector.settings, known=str(tmp_path / "known"))
    (correction,) = corrector.correct([f"the {wrong} cat"], min_confidence=0.9)
    assert correction.text == text
    assert [edit.reason for edit in correction.edits] == [reason]


def test_a_word_is_judged_by_weights_of_few_errors_the_less_of_them_its_text_has():
    kinds = {"word": {"bias": (2.0, 0.0)}, "few": {"bias": (-2.0, 0.0), "slips": (1.0, 0.0)}}
    weights = Weights(kinds)
    of = {share: {"errors in the text": share, "slips": 1.0} for share in (0.0, 0.5, 1.0)}
    assert [weights.judged("word", features)[0] for features in of.values()] == [-1.0, 0.5, 2.0]
    assert Weights({"word": kinds["word"]}).judged("word", of[0.0])[0] == 2.0


def test_a_text_of_one_line_has_more_errors_than_one_of_two_whichever_door_it_comes_by():
    texts = evidence(LINE), evidence(LINE, path="a.txt"), evidence(LINE, LINE)
    typed, of_file, one_of_two = (chance(text, "runkle", "rumple") for text in texts)
    assert typed == of_file > one_of_two


def test_edits_are_measured_and_not_judged_where_a_fit_asks():
    text = evidence()
    text.run.measured = []
    assert chance(text, "runkle", "rumple", 0.9) == 0.9
    (measured,) = text.run.measured
    assert (measured.before, measured.after, measured.kind) == ("runkle", "rumple", "word")
    assert measured.line[measured.start :].startswith("runkle") and measured.features["certain"] > 0
