"""Words within markup, in capitals and in quotes are read; code and targets of links are not."""

import pytest
from fake_backend import Scripted, ranking
from tables import rows

from lev_correct.text.markup import (
    as_asked,
    is_prose,
    opens_sentence,
    without_markup,
)
from lev_correct.text.units import spans

#: line | words that are read
MARKUP = """
a **teh** *cat* ~~sat~~ | a teh cat sat
**teh cat**, *sat | teh cat
<b>teh</b> <i class='x'>cat</i><br/> | teh cat
<!-- teh cat --> | teh cat
[teh cat](https://a.example/teh) ![teh](teh.png) | teh cat teh
[teh cat][teh-label] | teh cat
<b>T</b>eh <b>P</b>(rocess) **P**(rocess) **teh** (cat) | teh cat
**[teh](a/b)** | teh
teh/other, and/or. | teh other and or
teh&nbsp;cat &ldquo;sat&rdquo; on&#8212;it cat&rsquo;s | teh cat sat on it cat
caf&eacute; don&rsquo;t AT&amp;T &lt;teh&gt; &#10;cat | cat
a/b/teh src/teh.py /teh lib/teh_x *args **kwargs a*b*c 2<3 x<y |
__teh__ _teh_ teh_x |
"""


@pytest.mark.parametrize("line, read", rows(MARKUP))
def test_words_are_read_within_markup_and_not_in_code(line, read):
    assert [line[start:end] for start, end in spans(line, "letters")] == read.split()
    assert len(without_markup(line)) == len(line)


def test_a_line_in_capitals_is_corrected_in_capitals():
    corrector = ranking(Scripted(likes={"the": 0.0}))
    lines = ["RECIEVE HTE CAT, HTE CAT", "the NATO HTE", "**teh** cat", "a teh/cat"]
    corrected = [correction.text for correction in corrector.correct(lines)]
    assert corrected[0] == "RECEIVE THE CAT, THE CAT"
    assert corrected[2:] == ["**the** cat", "a the/cat"]


#: line | as the model is asked
ASKED = """
THE OLD CAT | the old cat
NATO and EU | NATO and EU
A NATO | A NATO
THE <b>OLD</b> CAT | the <b>old</b> cat
<p>The <i>Old</i> cat. <b>Teh</b> | <p>the <i>Old</i> cat. <b>teh</b>
The Old cat. A McCat. Teh | the Old cat. A McCat. teh
"""


@pytest.mark.parametrize("line, asked", rows(ASKED))
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


def test_prose_is_told_from_code():
    assert is_prose('It was "healthy" and large.')
    assert not is_prose('"name": "value", "other": 3')
