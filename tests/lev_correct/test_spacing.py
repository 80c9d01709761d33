"""What is proposed of spaces, words written twice and apostrophes."""

import pytest
from tables import table

from lev_correct.lines import Change, likeliest
from lev_correct.propose.spacing import Spacing
from lev_correct.text.units import spans
from lev_correct.words.ngrams import Bigrams, LetterModel

WORDS = """
the 1e6 of 1e6 and 1e6 in 1e6 to 1e6 a 1e6 is 1e6 we 1e6 was 1e6 on 1e6 with 1e6 cat 1e4 sat 1e4
important 1e4 lot 1e4 can't 3e4 don't 9e4 cant 1e2 very 1e5 see 1e5 tool 1e4 chain 1e4 home 1e4
do 1e5 wes 1e4 son 1e3
""".split()
COUNTS = dict(zip(WORDS[::2], map(float, WORDS[1::2]), strict=True))
PAIRS = {"of the": 9e5, "in the": 5e5, "the cat": 9e3, "on the": 9e4, "very very": 9e5,
         "to see": 9e5, "is very": 9e3, "the the": 1.0, "of home": 1e3,
         "we son": 1e3}  # fmt: skip
BIGRAMS = Bigrams({tuple(pair.split()): count for pair, count in PAIRS.items()})
SPACING = Spacing(COUNTS, BIGRAMS, LetterModel(sorted(COUNTS)))


def proposals(line, spacing=SPACING):
    """What is proposed for a line: what stands there, and what comes."""
    places = [*spans(line, "letters")]
    return [(line[start:end], after) for start, end, after, _ in spacing.proposed(line, places)]


#: line | what is changed | to; a line alone: nothing is
PROPOSED = """
we sat in onthe home | onthe | on the
the im portant home | im portant | important
we see th ecat in the home | th ecat | the cat
we see thec at in the home | thec at | the cat
it is weson in the home | weson | we son
we sat in the the home | the the | the
what we see is important. we sat on on the home | on on | on
we dont see the home | dont | don't
We dont see the home | dont | don't
Dont see the home | Dont | Don't
we cant see the home | cant | can't
WE SAT ONTHE HOME | ONTHE | ON THE
it is very very important
the cant of the home
we see the toolchain in the home | toolchain | tool chain
in the Onthe home
we do n't see the home
we sat in the, the home
we sat in the  the home
we sat in the -th ecat
"""


@pytest.mark.parametrize("case", PROPOSED.strip().splitlines())
def test_what_is_proposed_in_a_line(case):
    """Not: a listed pair, a word without its verb, a name, as treebanks write, words apart, after a
    sign."""
    line, *change = case.split(" | ")
    assert proposals(line) == ([tuple(change)] if change else [])


@pytest.mark.parametrize("given, kept", table("lev_correct/cases.tsv", "spacing: likeliest"))
def test_of_changes_of_the_same_text_the_likeliest_is_kept(given, kept):
    changes = []
    for one in given.split():
        place, chance = one.split("=")
        changes.append(Change(*map(int, place.split("-")), "x", float(chance)))
    assert [f"{change.start}-{change.end}" for change in likeliest(changes)] == kept.split()


def test_another_language_has_its_own_common_words():
    counts = dict.fromkeys("der die und in zu ein ist wir war auf haus".split(), 1e6)
    pairs = {("auf", "die"): 9e5, ("und", "der"): 9e5, ("war", "auf"): 1e3}
    german = Spacing(counts, Bigrams(pairs), LetterModel(sorted(counts)))
    assert proposals("wir war aufdie und", german) == [("aufdie", "auf die")]
    assert proposals("haus haus und der der", german) == [("der der", "der")]
