"""Lines in capitals, and the first words of sentences."""

import pytest
from fake_backend import Scripted, ranking
from tables import rows, table

from lev_correct.files.markup import (
    as_asked,
    opens_sentence,
)
from lev_correct.text.units import spans


def test_a_line_in_capitals_is_corrected_in_capitals():
    corrector = ranking(Scripted(likes={"the": 0.0}))
    lines = ["RECIEVE HTE CAT, HTE CAT", "the NATO HTE", "**teh** cat", "a teh/cat"]
    corrected = [correction.text for correction in corrector.correct(lines)]
    assert corrected[0] == "RECEIVE THE CAT, THE CAT"
    assert corrected[2:] == ["**the** cat", "a the/cat"]


@pytest.mark.parametrize(
    "line, asked", table("lev_correct/files/cases.tsv", "markup of lines: asked")
)
def test_capitals_of_a_line_and_of_a_sentence_are_not_asked_for(line, asked):
    assert as_asked(line, [*spans(line, "letters")]) == asked


#: line | words that begin one, a cell or a sentence
OPENERS = (
    r"""
The end. "She saw Dr. Who," he said: Go! | The She Go
1) The cat; (a) | The
<p>The <b>Old</b> cat<td>Its | The Its
\0\0 The old\x1e Cat | The Cat
"""
    + "\N{BULLET} The cat | The\n"
)


@pytest.mark.parametrize("line, openers", rows(OPENERS))
def test_the_first_words_of_sentences_are_known(line, openers):
    assert openers.split() == [
        line[a:b] for a, b in spans(line, "letters") if b - a > 1 and opens_sentence(line, a)
    ]
