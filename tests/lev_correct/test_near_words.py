"""Words within two edits of another, against a comparison with every word."""

from hypothesis import example, given
from hypothesis import strategies as st

from lev_correct.words.lexicon import DISTANCE, NearWords, distance

WORD = st.text("abcAá", min_size=1, max_size=10)  # a, A and á share a bit


@example({"Zcc"}, "Zbb")  # four bits apart
@given(st.sets(WORD, min_size=1, max_size=30), WORD)
def test_every_word_that_is_near_is_found_and_no_other(words, word):
    near = {other: edits for other in words if (edits := distance(word, other)) <= DISTANCE}
    assert dict(NearWords(sorted(words)).find(word)) == near
