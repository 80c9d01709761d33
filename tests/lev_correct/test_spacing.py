"""Spaces left out, put in or moved, words written twice, apostrophes left out."""

import pytest
from tables import rows

from lev_correct.lines import Change
from lev_correct.propose.spacing import Spacing, competed
from lev_correct.text.units import spans
from lev_correct.words.ngrams import Bigrams, LetterModel

WORDS = """
the 1e6 of 1e6 and 1e6 in 1e6 to 1e6 a 1e6 is 1e6 we 1e6 was 1e6 on 1e6 with 1e6 cat 1e4 sat 1e4
important 1e4 lot 1e4 can't 3e4 don't 9e4 cant 1e2 very 1e5 see 1e5 tool 1e4 chain 1e4 toolbox 1e2
box 1e4 toolbar 1e2 bar 1e4 home 1e4 hom 4e4 london 1e4 do 1e5
""".split()
COUNTS = dict(zip(WORDS[::2], map(float, WORDS[1::2]), strict=True))
PAIRS = {"of the": 9e5, "in the": 5e5, "the cat": 9e3, "a lot": 9e4, "very very": 9e5,
         "to see": 9e5, "is very": 9e3, "the the": 1.0, "home of": 9e4}  # fmt: skip
BIGRAMS = Bigrams({tuple(pair.split()): count for pair, count in PAIRS.items()})
SPACING = Spacing(COUNTS, BIGRAMS, LetterModel(sorted(COUNTS)))


def respaced(line):
    """The changes of a line that are sure."""
    _, changes = combined(line)
    return [(line[start:end], after) for start, end, after, chance in changes if chance > 0.8]


def combined(line, *wanted, spacing=SPACING):
    """What stays of edits of words, and the changes of spaces."""
    proposed = spacing.proposed(line, [*spans(line, "letters")], wanted)
    return competed(line, wanted, proposed)


#: line | what is changed | to
CHANGED = """
we sat in onthe home | onthe | on the
Inthe home we sat | Inthe | In the
the im portant home | im portant | important
we see th ecat in the home | th ecat | the cat
we see thec at in the home | thec at | the cat
we sat in the the home | the the | the
we sat in in the home | in in | in
what we see is important. we sat on on the home | on on | on
we dont see the home | dont | don't
we cant see the home | cant | can't
we dont the home | dont | don't
WE SAT ONTHE HOME | ONTHE | ON THE
we sat wiht the cat | wiht | with
Wiht the cat we sat | Wiht | With
WE SAT WIHT THE CAT | WIHT | WITH
we sat in Lonodn | Lonodn | London
we sat wit hthe cat in the home | wit hthe | with the
wiht lonodnz | wiht | with
"""


@pytest.mark.parametrize("line, before, after", rows(CHANGED))
def test_spaces_doublings_apostrophes_and_slips_are_put_right(line, before, after):
    """The longest of the changes that are sure is made; an unknown word makes no line foreign."""
    assert respaced(line) == [(before, after)]


#: a listed pair, a word without its verb, one made of two, a name, as treebanks write, another
#: language, names of other letters, longer words
STAYS = """
it is very very important
the cant of the home
we see the toolchain in the home
in the Onthe home
we do n't see the home
we sat in the, the home
we sat in the  the home
we sat in lonodn
we sat in Lodno
we sat in Wiht
we sat in w'th
we sat in wíth
we sat in importnat
"""


@pytest.mark.parametrize("line", STAYS.strip().splitlines())
def test_what_is_written_so_on_purpose_stays(line):
    assert respaced(line) == []


def test_a_change_of_one_word_that_spaces_explain_better_is_not_made():
    kept, changes = combined("we sat in onthe home", Change(10, 15, "in", 0.9))
    assert not kept and len(changes) == 1
    kept, changes = combined("we sat in onthe home", Change(10, 15, "on the", 0.1))
    assert not changes and kept[0].probability > 0.8  # both say the same


def test_names_of_english_are_no_corrections_in_another_language():
    counts = dict.fromkeys("der die und in zu ein ist wir war auf london".split(), 1e6)
    pairs = {(first, second): 9e5 for first in counts for second in ("der", "die", "und")}
    german = Spacing(counts, Bigrams(pairs), LetterModel(sorted(counts)))
    line = "wir war in Londen und auf"
    assert combined(line, spacing=german) == ([], [])
    assert respaced("we was in Londen and in the home") == [("Londen", "London")]
