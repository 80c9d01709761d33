"""The script that fits a judge: what it writes wrong it knows, and what it fits tells apart."""

import random
import sys

import pytest
from plain_files import ROOT

pytest.importorskip("sklearn")
pytest.importorskip("fairseq")
sys.path.insert(0, str(ROOT / "examples/spelling_and_ocr"))
import fit_judge  # noqa: E402

from lev_correct import Corrector  # noqa: E402
from lev_correct.judge.features import Weights  # noqa: E402
from lev_correct.words.lexicon import KnownWords  # noqa: E402

LINES = [
    "We don't know whether the government believes in their own plan.",
    "Then they came: the other (small) houses, which were empty, too.",
]


@pytest.fixture(scope="module")
def spoiler():
    pairs = [("goverment", "government"), ("beleives", "believes"), ("thier", "their")]
    return fit_judge.Spoiler(Corrector.from_pretrained(), pairs)


@pytest.mark.parametrize("seed", range(10))
def test_a_spoilt_line_is_put_right_by_what_is_known_of_it(spoiler, seed):
    spoiler.rng = random.Random(seed)
    for line in LINES:
        spoilt, wrong = spoiler.line(line, 0.8)
        assert bool(wrong) == (spoilt != line)
        for start, end, meant in reversed(wrong):
            spoilt = spoilt[:start] + meant + spoilt[end:]
        assert spoilt == line


def test_hidden_words_are_no_words_and_stand_in_the_place_of_common_ones(spoiler):
    line, [(start, end, meant)] = spoiler.term(LINES[0], spoiler.hidden)
    assert line[start:end] == meant
    (new,) = {*line.rstrip(".").split()} - {*LINES[0].rstrip(".").split()}
    new = new.lower()  # a term may stand there as a name
    assert fit_judge.is_hidden(new) and spoiler.is_unlisted(new)
    known = KnownWords(f"{new}\t9\n".encode())
    assert fit_judge.Forgetful(known).level(new) == 0 < fit_judge.Forgetful(known, 1).level(new)


def test_of_a_line_with_a_hidden_word_its_other_words_tell_nothing_of_terms():
    line, hidden = "The goverment keeps the flumpith in a box.", (24, 32, "flumpith")
    corrector = Corrector.from_pretrained()
    run = fit_judge.forgetful(corrector)
    rows = fit_judge.examples(corrector, run, "a", "term", [line], [[hidden]])
    sources = {row.text.split()[0]: row.source for row in rows}
    assert sources == {"goverment": "right of term", "flumpith": "term"}


def test_weights_tell_what_is_right_from_what_is_not():
    rng = random.Random(1)
    rows = [
        fit_judge.Example(
            *("a", "few", "word", {"certain": rng.gauss(2 * is_right, 1), "slips": rng.random()}),
            *(is_right, ""),
        )
        for is_right in [True, False] * 100
    ]
    weights = Weights(fit_judge.fitted(rows))
    by_hand = dict.fromkeys(fit_judge.BY_HAND, 0.0)
    low, high = (
        weights.judged("word", {"certain": value, "slips": 0.5, **by_hand})[0] for value in (0, 2)
    )
    assert low < 0 < high


def test_of_an_excerpt_of_a_commit_it_is_known_what_people_corrected():
    row = {"lines": ["", "It's becouse of it."], "line": 1, "words": [["becouse", "because"]]}
    assert fit_judge.corrected(row) == [[], [(5, 12, "because")]]


def test_a_text_with_more_errors_never_has_a_lower_chance():
    by_hand = dict.fromkeys(fit_judge.BY_HAND, 0.0)
    rows = [
        fit_judge.Example(
            "a", "few", "word", {"errors in the text": share, **by_hand}, is_right, ""
        )
        for share, is_right in [(0.4, False), (0.0, True), (0.1, True)] * 40
    ]
    assert fit_judge.NEVER_FALLS not in fit_judge.table(rows, {})


@pytest.mark.parametrize(
    "edit, is_of_a_stem",
    [("automations > automation", True), ("Closing > closes", True), ("formate > format", True)]
    + [("tomorow > tomorrow", False), ("redis > reds", False), ("catalogs > cats", False)],
)
def test_a_word_and_its_inflection_are_of_one_stem(edit, is_of_a_stem):
    assert bool(fit_judge.INFLECTED.fullmatch(edit)) == is_of_a_stem


def test_left_out_examples_are_judged_by_the_fit_of_others():
    rows = [
        fit_judge.Example(register, "few", "word", {"certain": 1.0}, False, "")
        for register in "abcde"
    ]
    seen = []

    def fit(others):
        seen.append({row.register for row in others})
        return {"word": {"bias": (float(len(seen)), 0.0)}}

    odds = fit_judge.left_out(rows, fit)
    for row, by in zip(rows, odds.astype(int)):
        assert row.register not in seen[by - 1]
