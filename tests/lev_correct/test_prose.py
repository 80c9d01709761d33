"""Code, terms and other languages are no prose: a corrector leaves them alone."""

import re
import time

import pytest
from fake_backend import Scripted, document, ranking

from lev_correct.text.protection import PROTECTED, CodeProtection, mark
from lev_correct.text.units import KINDS, spans

#: What is code stands between ‹ and ›.
LINES = """\
Use ‹--destdir› or ‹-o›, not a well-known word -- or ‹--level=3›
The ‹`cofig`› and ‹``a`b``› of ‹getattr(x)›, ‹os.path› and ‹__init__›.
‹%(asctime)s› ‹%5d› in ‹{x}› or ‹${HOME}›, of error(s) and so many %.
See ‹https://a.example/teh?x=1› or ‹www.teh.example›, write to ‹teh@mail.example›.
In ‹/usr/lib/teh›, ‹./teh/a› and ‹C:\\teh\\x›, and/or his/her.
‹camelCase›, ‹iPhone›, ‹utf8›, ‹snake_case›, ‹NATO› and ‹URLs›, but Teh goverment's.
The old word "teh" or 'thier' stands in the quotes.
‹[teh]› and [teh cat], [teh]‹[a-b]› [teh]‹(x)› in ‹<code>teh</code>› of a text.
‹[teh cat]:› other
THE OLD WORD STANDS IN CAPITALS, ‹B2› TOO.
‹:ref:›‹`x`› and ‹<b>›teh‹</b>› with ‹name=value›, ‹$HOME› and ‹@teh›.
"""


@pytest.mark.parametrize("marked", LINES.splitlines())
def test_code_in_a_line_is_found_and_prose_is_not(marked):
    line = re.sub("[‹›]", "", marked)
    stays = bytearray(len(line))
    mark(stays, CodeProtection().spans(line), PROTECTED)
    prose = "".join(" " if why else char for char, why in zip(line, stays, strict=True))
    assert re.findall(r"\w", prose) == re.findall(r"\w", re.sub("‹[^›]*›", " ", marked))


RUNS = "a a\u3000 \u0301 \U0001f469\u200d é . ..a a. a+ %0 ` ``a` <a :a /a [a *a a/b 'a [a]( ~~*"


@pytest.mark.parametrize("run", RUNS.split(" "))
def test_a_long_line_is_read_in_time_that_grows_with_its_length(run):
    line = (run * (50_000 // len(run) + 1))[:50_000]
    before = time.process_time()
    CodeProtection().spans(line)
    for kind in KINDS:
        list(spans(line, kind, 3))
    assert time.process_time() - before < 2  # the square of it would take minutes


def test_lines_of_code_are_those_between_fences_indented_or_behind_a_prompt():
    """They begin with a +."""
    text = """\
 teh
+```python
+teh
+
+    teh
+~~~
+```
 teh
     teh, still the paragraph

+    teh
+    teh

 teh
 ~~~
 teh
+>>> teh
 > - teh
+>   ```
+>   teh
+>   ```
"""
    lines = text.splitlines()
    code, _ = document().read([line[1:] for line in lines])
    assert code == [line.startswith("+") for line in lines]


#: a path, a text, and what it becomes; a byte order mark hides no fence, no half of a word is read
DOCUMENTS = [
    (
        None,
        "\ufeff```/teh/```/teh/teh teh\u2010\r/# teh teh/teh, teh-/ teh -/teh",
        "\ufeff```/teh/```/the/the teh\u2010\r/# teh the/the, teh-/ teh -/the",
    ),
    (
        "a/b.MD",
        "- teh//    *teh* cat//[teh]: teh 'Teh'/a `teh/teh` [teh] t*eh* teh\r",
        "- the//    *the* cat//[teh]: teh 'The'/a `teh/teh` [teh] t*eh* the\r",
    ),
]


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("path, before, after", DOCUMENTS)
def test_a_document_is_corrected_some_lines_at_a_time(path, before, after, size):
    lines, changed = before.split("/"), []
    corrector, text = ranking(Scripted(likes={"the": 0.0})), document(path=path, text=lines)
    for start in range(0, len(lines), size):
        changed += corrector.correct(lines[start : start + size], document=text)
    assert [correction.text for correction in changed] == after.split("/")


def test_texts_of_a_run_are_asked_for_together():
    model = Scripted(likes={"the": 0.0})
    texts = [(["teh a"], document(), ()), (["a teh", "teh"], document(), ())]
    done = ranking(model).correct_documents(texts)
    assert [line.text for lines in done for line in lines] == ["the a", "a the", "the"]
    assert model.asked.count("teh") == 1
