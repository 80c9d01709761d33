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
from lev_correct.judge.weights import Weights  # noqa: E402

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
    assert fit_judge.is_hidden(new) and spoiler.is_unlisted(new)
    assert fit_judge.Forgetful(f"{new}\t9\n".encode()).level(new) == 0


def test_of_a_line_with_a_hidden_word_its_other_words_tell_nothing_of_terms():
    line, hidden = "The goverment keeps the flumpith in a box.", (24, 32, "flumpith")
    student = fit_judge.Student.from_pretrained()
    rows = fit_judge.examples(student, "a", "term", [line], [[hidden]])
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
