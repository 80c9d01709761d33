"""A misspelling that a line mentions stays; one that it uses is corrected."""

import re
import unicodedata

import pytest
from fake_backend import FakeBackend, replaced
from tables import rows

from lev_correct import Corrector
from lev_correct.settings import Settings
from lev_correct.text.protection import mentioned
from lev_correct.text.units import composed

#: Lines in which *recieve* is mentioned.
MENTIONS = """
- Fix typo: recieve -> receive
They recieve [sic] it.
Renamed option recieve to receive; the old name recieve still works.
The word recieve is often misspelled; write receive.
s/recieve/receive/
"recieve" instead of "receive"
Fixed spelling of 'recieve' (now 'receive')
recieve (should be receive)
recieve => receive
change 'recieve' to 'receive'
correct the "recieve" typo
the misspelling "recieve"
misspelled as recieve
an option named recieve
| recieve | receive |
recieve->receive
"""
#: Lines that use it.
USES = """
He recieve the letter and did not receive the parcel.
They said that they "recieve it every day".
You recieve a letter, then you write one.
The option is used when you recieve a letter.
We changed how people recieve letters.
Fix a typo in recieve handlers.
They were called recieve, receive or both.
"""


@pytest.mark.parametrize(
    "line, stays",
    [(row[0], stays) for table, stays in ((MENTIONS, 1), (USES, 0)) for row in rows(table, "\0")],
)
def test_a_misspelling_stays_where_it_is_mentioned(line, stays):
    places = [match.span() for match in re.finditer("recieve", line)]
    changes = [(*place, "receive", 0.9) for place in places]
    assert mentioned(line, changes, lambda word: ["receive"]) == places * stays


@pytest.mark.parametrize("line", ["le café était", "naïve façade ﬁne", "soft\u00adhyphen"])
def test_a_line_is_read_by_composed_letters_which_know_where_they_stand(line):
    written = unicodedata.normalize("NFD", line)
    text, origins = composed(written)
    assert text == unicodedata.normalize("NFKC", line.replace("\u00ad", ""))
    assert len(origins) == len(text) + 1 and origins[-1] == len(written)
    parts = [written[start:end] for start, end in zip(origins, origins[1:])]
    assert "".join(parts) == written


def test_an_edit_of_a_mentioned_word_says_so():
    settings = Settings(protect_code=True)
    corrector = Corrector(FakeBackend(replaced("teh", "the")), "letters", settings=settings)
    used, mentioned = corrector.correct(["It is teh end.", 'The word "teh" is a typo of it.'])
    assert [edit.reason for edit in used.edits] == [None]
    assert [edit.reason for edit in mentioned.edits] == ["mentioned"]
