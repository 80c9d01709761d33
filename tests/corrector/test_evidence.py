"""How sure an edit has to be, by what a text and lists of words tell."""

import lzma
import math
from dataclasses import replace

import pytest
from fake_backend import Scripted, ranking
from refusals import refuses

from lev_plugins.corrector import evidence as bars
from lev_plugins.corrector.evidence import Evidence, Run
from lev_plugins.corrector.known_words import KnownWords
from lev_plugins.corrector.languages import LANGUAGES, Languages, Word
from lev_plugins.corrector.lexicon import Lexicon, Lookup
from lev_plugins.corrector.units import spans

KNOWN = KnownWords(b"etcd\t6\nfunctor\t3\nrunkel\t9\nrustc\t8\n\xc3\xa9tale\t5\n")
LEXICON = "a an and are by cat cats dog is of on said sat that the then this word".split()
PAIRS = [(f"teh{letter}", "the") for letter in "abcdefghij"]


class English(Languages):
    """Knows one language."""

    def __init__(self, foreign=()):
        super().__init__()
        self.asked, self._foreign = [], foreign

    def _is_english(self, text, share):
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
    text = Evidence(run or Run(backend(), KNOWN, English(foreign)), path)
    read(text, lines)
    return text


def read(text, lines):
    """Where the lines of a text are in another language."""
    return text.read(lines, [False] * len(lines), [[*spans(line, "letters")] for line in lines])


CAREFUL = [f"the {'x' * n} cat sat" for n in range(3, 40)]
CARELESS = [f"the {wrong} cat sat" for wrong, _ in PAIRS]


def test_words_are_found_in_a_list_by_their_bytes_and_others_are_not(tmp_path):
    words = {"a": 1, "ab": 2, "abc": 3, "b": 9, "zoo": 4, "étale": 5, "İ": 6}
    text = b"".join(sorted(f"{word}\t{level}\n".encode() for word, level in words.items()))
    (tmp_path / "known").write_bytes(lzma.compress(text))
    known = KnownWords.read(str(tmp_path / "known"))
    assert {word: known.level(word) for word in words} == words
    others = ("", "aa", "c", "zo", "zooo", "\t", "\udc80", "ab\t2")
    assert [known.level(word) for word in others] == [0] * len(others)
    assert KnownWords(b"").level("a") == 0


@pytest.mark.parametrize("text", ["", "word", "word 3", "word\t12", "\t3"])
def test_a_list_of_another_form_is_refused(tmp_path, text):
    (tmp_path / "known").write_text(text)
    with refuses("known, line 1"):
        KnownWords.read(str(tmp_path / "known"))


def test_the_share_of_sure_errors_says_how_severely_unknown_words_are_judged():
    careful, careless = evidence(*CAREFUL), evidence(*CARELESS)
    assert careful.severity == 1 and careless.severity == 0
    assert careless.probability("xyz", 0.4) == pytest.approx(0.4)
    odds = 0.999 / 0.001 * math.exp(-bars.BAR)
    assert careful.probability("xyz", 0.999) == pytest.approx(odds / (1 + odds))
    between = evidence(*CAREFUL[:12], *CARELESS[:2]).severity
    assert 0 < between < 1
    assert 0 < evidence("the cat sat").severity, "a short text tells little"


def test_a_known_misspelling_is_judged_by_the_model_alone_however_often_it_stands():
    text = evidence(*CAREFUL, *["the teha cat"] * 9)
    assert text.probability("Teha", 0.3) == pytest.approx(0.3)
    several = text.probability("htea", 0.3)  # of which two corrections are listed
    assert 0.1 < several < 0.3


def test_a_word_that_is_known_to_exist_needs_more_and_is_not_even_asked_for():
    text = evidence(*CAREFUL)
    chances = [text.probability(word, 0.99) for word in ("xyzzq", "functor", "rustc")]
    assert chances == sorted(chances, reverse=True) and len({*chances}) == 3
    assert [text.leaves_alone(word) for word in ("xyzzq", "functor", "Etcd", "rustc's")] == [
        False, False, True, True]  # fmt: skip
    assert not evidence(*CARELESS).leaves_alone("etcd")


def test_what_stands_three_times_alike_in_texts_of_a_run_is_a_term():
    first = evidence("a runkle is", *CAREFUL)
    second = evidence("the Runkle sat", "the runkle sat", run=first.run)
    assert not first.leaves_alone("runkle")
    evidence("this runkle", run=first.run)
    assert second.leaves_alone("runkle") and not second.leaves_alone("Runkle")
    assert first.probability("runkle", 0.999) < first.probability("xyz", 0.999)


def test_words_made_of_others_and_names_stay_rather_than_what_is_like_nothing():
    text = evidence(*CAREFUL)
    unlike = text.probability("xyzzq", 0.99)
    assert max(text.probability(word, 0.99) for word in ("functoring", "unfunctor")) < unlike
    assert text.probability("Runkel", 0.9) < 0.1 < text.probability("runkel", 0.9)


def test_spaces_and_apostrophes_are_judged_by_what_changes():
    careful, careless = evidence(*CAREFUL), evidence(*CARELESS)
    cases = [("is is", "is"), ("isit", "is it"), ("t he", "the"), ("dont", "don't")]
    chances = [careful.respaced(before, after, 0.9) for before, after in cases]
    assert chances == sorted(chances, reverse=True) and len({*chances}) == 4
    assert careful.respaced("rustc", "rust c", 0.9) < chances[1], "a word that exists"
    assert [careless.respaced(*case, 0.9) for case in cases] == pytest.approx([0.9] * 4)


def test_a_slip_in_a_name_is_less_sure_where_a_list_knows_the_word_and_in_a_careful_text():
    careful, careless = evidence(*CAREFUL), evidence(*CARELESS)
    assert careless.respaced("Frenc", "French", 0.9) == pytest.approx(0.9)
    assert careless.respaced("Rustc", "Rusts", 0.9) < 0.1
    assert careful.respaced("Frenc", "French", 0.9) < 0.1


def test_files_that_are_no_prose_need_more():
    prose, code = (evidence(*CAREFUL, path=path) for path in ("a/READ.md", "a/x.py"))
    symbols = evidence(*CAREFUL, *["x=1 --teh foo_bar 12"] * 60, path="x.txt")
    assert prose.probability("xyz", 0.99) > code.probability("xyz", 0.99)
    assert prose.probability("xyz", 0.99) > symbols.probability("xyz", 0.99)


def test_edits_that_are_sure_beyond_doubt_count_as_errors():
    text = evidence(*CAREFUL, "the runkle functor sat", "the Xxxx cat")
    before = text.errors
    text.learn("functor", 0.999)  # which a list has
    text.learn("xxx", 0.5)
    text.learn("yyy", 0.999)  # which does not stand there
    text.learn("Xxxx", 0.999)  # perhaps a name
    assert text.errors == before and text.severity == 1
    for n in range(3, 20):
        text.learn("x" * n, 0.999)
    assert text.severity < 0.5


def test_lines_and_quotations_in_another_language_are_found_and_count_for_nothing():
    lines = ["the habe nicht cat", 'the cat said "je ne sais quoi" and sat', "the cat sat"]
    run = Run(backend(), KNOWN, English(("the habe", "je")))
    text = Evidence(run)
    quoted = lines[1].index("je"), lines[1].index('" and')
    assert read(text, lines) == [[(0, len(lines[0]))], [quoted], []]
    assert not run.met
    assert lines[2] not in run.languages.asked, "an English line costs nothing"
    assert not text.foreign
    read(text, ["habe nicht die cat", "habe das nicht", "habe"])
    text.run.languages._foreign = ("habe",)
    assert read(text, ["habe das nicht the", "habe"] * 9)[1] == [(0, 4)]
    assert text.foreign, "then a single word is foreign, too"


def test_each_run_of_strange_words_is_asked_about_alone():
    line = "the cat je ne sais the cat sat on habe das nicht"
    words = [
        Word(start, end, line[start:end] not in LEXICON) for start, end in spans(line, "letters")
    ]
    languages = English(("je ne", "habe das"))
    assert languages.foreign(line, words) == [(8, 18), (34, 48)]


def test_an_installed_library_tells_languages():
    languages = Languages()
    texts = {"Ich habe das nicht gewusst": False, "I dont beleive you hav seen it": True,
             "je ne sais pas quoi faire": False, "the goverment recieved it": True}  # fmt: skip
    assert {text: languages.is_english(text, 0.5) for text in texts} == texts
    assert "en" in LANGUAGES
    line = "Ich habe das nicht gewusst"
    words = [Word(0, 3, True), Word(4, 8, True), Word(9, 12, False)]
    assert languages.foreign(line, words) == [(0, len(line))]


def test_a_corrector_with_a_list_is_careful_unless_it_is_eager(tmp_path):
    (tmp_path / "known").write_bytes(b"rustic\t1\nthx\t8\n")
    likes = {"the": 9.0, "cat": 9.0}
    corrector = ranking(Scripted(likes=likes), pairs=[("teha", "the")], weights={"model": 1.0})
    corrector.settings = replace(
        corrector.settings, known=str(tmp_path / "known"), protect_code=True
    )
    lines = ["the thx cat", *(f"the {'x' * n} cat" for n in range(12, 40)), "teha cat"]
    careful = corrector.correct(lines)
    assert careful[0].text == "the thx cat" and careful[-1].text == "the cat"
    corrector.eager = True
    assert corrector.correct(lines)[0].text == "the the cat"


def test_corrections_of_ambiguous_misspellings_are_candidates_but_for_words_of_the_lexicon(
    tmp_path,
):
    (tmp_path / "list").write_text(
        "ther->there, their,\nthen->than, them,\nclas->class, a remark\n"
    )
    table = Lookup.read(str(tmp_path / "list")).in_small_letters({"then": 1.0})
    assert table.corrections == {"ther": ("there", "their")}


def test_parts_of_a_word_with_hyphens_that_lists_have_stay():
    lexicon = Lexicon({"coordinator": 5.0, "the": 9.0, "de": 1.0, "co": 1.0, "fact": 3.0})
    corrector = ranking(Scripted(likes={"fact": 9.0}), lexicon=lexicon)
    assert corrector.correct(["the co-ordinator, facto"])[0].text == "the co-ordinator, fact"
