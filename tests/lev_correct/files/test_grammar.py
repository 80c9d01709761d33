"""Of a file prose is read, by the grammar of its kind; code, keys and names stay."""

import json
import time
from itertools import product
from pathlib import Path

import pytest
from fake_backend import FakeBackend, document, replaced
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from lev_correct import Corrector
from lev_correct.files.file_kinds import PROSE, kind_of
from lev_correct.files.formats import FORMATS, masked
from lev_correct.files.grammar import is_sentence
from lev_correct.files.grammar import read_grammar as read_kind
from lev_correct.files.scanner import SCANNED, scanned
from lev_correct.lines import Change, Line
from lev_correct.repository.kinds import left_alone
from lev_correct.settings import Settings
from lev_correct.text.units import spans

#: What is prose says *teh*, what is code *hte*.
TEXTS = {
    "a.py": 'class hte:\n    """Teh ``hte`` it.\n\n    Teh::\n\n        hte\n    """\n\n'
    "    def hte(self):\n        # teh step, not hte\n        # hte = hte[0];\n"
    '        hte = r"hte+ hte", b"so the hte is", "REL HTE ACK", "hte"\n'
    '        return f"so the teh {hte} is %hte teh\\n"\n',
    "a.c": "size_t hte;\n/* Teh size,\n * teh. */\n"
    'x("so the teh\\n", "hte hte"); // teh\n#include <hte>\n',
    "a.go": "hte := 1 // teh\n// Teh:\n//\n// ```\n// hte\n// ```\n",
    "a.js": "const hte = require(hte) /* teh */;\n"
    "\n    let x = 'Unknown teh of it', y = `a ${hte\n  ? hte : {hte}} is teh`\n",
    "b.ts": "s.split(/'/g, hte / 2) // teh\nreturn /[\"/]'hte/.test(`${`hte`}`) // teh\n",
    "a.cpp": '#if 0\n// the hte\n#endif\n#define hte "the hte is" /* teh */ \\\n  the_hte = \'"\'\n'
    'x(R"a(hte")a" + hte, L"so the teh is", \'"\'); // Teh \\\n teh\n',
    "a.java": 'x = """\n  so the "teh" is\n  """; char hte = \'"\'; /* teh */\n',
    "a.sh.in": "hte=1 # teh\n",
    "a.y": "hte: A {\n  $$.hte = 1;\n  /* teh */ }\n;\n",
    "a.json": '{"hte is the hte": "so the teh is", "x": "hte"}',
    "a.yaml": "hte: so the teh is # teh\nhte: hte\n",
    "a.toml": 'hte = "so the teh is" # teh\n[hte]\n',
    "a.ini": "; teh\n[hte]\nhte = so the teh is\n",
    "doc.py": 'def hte():\n    """Teh.\n\n    Args:\n        hte (int): teh\n        hte: teh\n\n'
    "    hte : int\n        Teh\n\n    >>> hte\n    hte\n\n    @type hte: hte\n    '''\n",
    "doc.js": "/**\n * Teh [teh] {@link hte} std::hte.\n * @param {hte} [hte=1] - teh\n"
    " * @see hte\n"
    " * @returns {hte} teh\n * @example\n * hte\n */\n// Teh: teh::\n//\n//    teh\n",
    "a.h": "/*! \\param hte teh\n * \\code\n * hte\n * \\endcode\n * @hte: teh\n */\n"
    "int x; ///< Teh\n",
    "a.html": "<!DOCTYPE hte [<!ENTITY hte 'hte'>]><p class=hte>teh <b>h</b>te <code>hte</code>"
    "<!-- teh --></p><script>var hte</script><img src='hte' alt='teh teh'><hte>hte</hte>"
    "<li>teh</li><name>teh teh</name><![CDATA[hte]]>teh&nbsp;teh &lt;hte&gt; &ldquo;teh&rdquo;",
    "a.rst": "Teh\n===\n\n.. note:: Teh\n\n   Teh ``hte`` :hte:`hte` and `teh <hte>`_ and\n"
    "   :hte:`teh <hte>`.\n\n.. toctree::\n   :hte: hte\n\n   hte\n\nTeh::\n\n    hte\n\n"
    ".. _hte: hte"
    "\n\n.. function:: hte(hte)\n              hte()\n   :hte: hte\n\n   Teh [hte]_.\n\n"
    ".. figure:: hte\n   :alt: teh\n   :hte: hte\n\n:param hte: teh\n:type hte: hte\n"
    ":Author: hte\n\n"
    ">>> hte\nhte\n\n.. |hte| replace:: teh\n",
    "a.tex": "\\section{Teh} \\label{hte}\\emph{teh} \\hte $hte$ % teh\n"
    "\\begin{verbatim}\nhte\n\\end{verbatim}\n\\cite[hte]{hte}\n"
    "\\( hte \\) teh \\[ hte \\] teh~teh\n"
    "\\hte[hte]{hte {hte}} teh \\href{hte}{teh} \\texttt{hte} {\\tt hte} \\verb|hte hte| teh\n"
    "\\begin{hte}[hte]\nhte\n\\end{hte}\n\\begin{itemize}[hte]\n\\item Teh\n\\end{itemize}\n"
    "\\newcommand{\\hte}[1]\n  {hte}\n\\begin{tabular}{hte}Teh & teh \\\\ teh\\end{tabular}\n"
    "\\hte{the cat sat so on teh mat} \\multicolumn{2}{hte}{teh} teh\\footnote{Teh}\n",
    "hte.1": ".TH hte 1\n.SH NAME\nhte \\- teh\n.SH SYNOPSIS\n.B hte\nhte\n.SH THE TEH ONE\n"
    "\\fBhte\\fR and \\fBh\\fRte teh \\f(CWhte hte\\fR teh\\ teh\n.Fl hte\n.B hte\n.IR hte (1)\n"
    ".B so the teh cat sat\n.TP\nhte\nteh\n.nf\nhte\n.fi\n.Bd -offset hte -literal\nhte\n.Ed\n",
    "fr.po": '# teh\n#: hte.c\nmsgctxt "hte"\nmsgid "so\\nteh teh"\nmsgstr "hte"\n',
    "en.po": 'msgid ""\nmsgstr ""\n"Language: en\\n"\n\nmsgid "teh"\nmsgstr "teh"\n',
    "a.adoc": ":hte: hte\n\n----\nhte\n----\n\nteh link:hte[teh] <<hte,teh>> image:hte[hte] +hte+\n"
    ".Teh\nhte:: teh\n|Teh |teh\n",
    "COMMIT_EDITMSG": "fix(hte): teh cat\n\nTeh `hte` is:\n\n    hte hte\n\n- teh\n    teh\n"
    "```\nhte\n\n```\n"
    "Fixes: hte hte\nSigned-off-by: Hte\n  hte\n(cherry picked from commit hte)\n# hte\n"
    "# ------------------------ >8 ------------------------\n# hte\ndiff\n+hte\n",
    "MERGE_MSG": "Merge branch 'hte' into hte\n\n;teh\n\n; hte\n;\n;\thte\n"
    "; ------------------------ >8 ------------------------\n+hte\n",
    "SQUASH_MSG": "fixup! hte hte\n\n@ teh\n\n@ hte\n@ hte\n@\n\n",
    "a.org": "* teh\n#+begin_src hte\nhte\n#+end_src\n"
    "teh =hte= [[hte][teh]] [[hte]] [fn:hte] \\(hte\\)\n",
    "a.ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "source": ["teh `hte`\n", "\n", '    hte"\n']},
                {"cell_type": "code", "source": 'hte = "\\n" # teh\nhte', "outputs": ["hte"]},
            ]
        },
        indent=1,
    ),
    "a.csv": "2,teh,teh\n| teh | teh|teh |\n",
    "a.txt": "so\n\n    teh teh\n",
    "words.py": "# teh rows and x = 1\n# hte and x = 1\n",
}


def read_grammar(name, lines, knows):
    """Reads a text by the grammar of its kind; None of prose."""
    kind = kind_of(name, lines)
    return None if kind == PROSE else read_kind(name, kind, lines, knows)


def table(name):
    """The rows of a table in a file, whose cells have tabs between them."""
    return rows((Path(__file__).parent / name).read_text("utf-8"), "\t")


#: name, kind, text of a file
KINDS = table("file_kinds.tsv")


@pytest.mark.parametrize("name, text", [*TEXTS.items(), *((row[0], row[2]) for row in KINDS)])
def test_prose_is_read_and_code_is_not(name, text):
    lines = text.split("\n")
    read = read_grammar(f"in/{name}", lines, lambda word: word != "hte")
    assert (read is None) == (kind_of(name, lines) == PROSE)
    shown, code = (read.shown, read.code) if read else (lines, [False] * len(lines))
    for line, read_line, is_code in zip(lines, shown, code, strict=True):
        places = [] if is_code else spans(read_line, "letters")
        words = [read_line[start:end].lower() for start, end in places]
        assert (words.count("teh"), "hte" in words) == (line.lower().count("teh"), False), line


@pytest.mark.parametrize("name, kind, text", KINDS)
def test_a_file_is_of_the_kind_that_its_name_and_text_tell(name, kind, text):
    assert kind_of(name, text.split("\n")) == kind


@pytest.mark.parametrize("name, text, words", table("escapes.tsv"))
def test_an_escape_parts_words_or_makes_a_word_code(name, text, words):
    lines = text.split("\n")
    _, shown = document(path=name, text=lines).read(lines)
    assert [*map(len, shown)] == [*map(len, lines)]
    read = [line[start:end] for line in shown for start, end in spans(line, "letters")]
    assert " ".join(read) == words


def test_no_letter_is_put_in_after_an_escape_that_has_it():
    """*\\temperature* is a space and *emperature*."""
    (line,) = corrections("a.py", r'x = "It is \temperature"', "emperature", "temperature")
    assert [edit.reason for edit in line.edits] == ["reported"]


def corrections(name, text, old="teh", new="the"):
    """Returns the corrections of a file by a model that writes one word for another."""
    settings = Settings(protect_code=True)
    corrector = Corrector(FakeBackend(replaced(old, new)), "letters", settings=settings)
    lines = text.split("\n")
    return corrector.correct(lines, document=document(lambda word: word == old, name, lines))


@pytest.mark.parametrize("name, text, is_written", table("keys.tsv"))
def test_an_edit_of_a_key_is_reported_and_not_made(name, text, is_written):
    assert outcome(corrections(name, text)) == is_written


@pytest.mark.parametrize("name, text, is_written", table("apostrophes.tsv"))
def test_an_apostrophe_is_written_where_it_ends_no_string_else_reported(name, text, is_written):
    assert outcome(corrections(name, text, "dont", "don't")) == is_written


def outcome(lines):
    """Returns whether all edits of a file are written (1), or all reported (0)."""
    outcomes = {(edit.applied, edit.reason) for line in lines for edit in line.edits}
    return {(True, None): "1", (False, "reported"): "0"}[outcomes.pop()] if outcomes else "none"


@pytest.mark.parametrize(
    "after", ["a\\b", "a{b", "a%b", "a*/b", "a\nb", "'ab", "a--b", 'a"b', "a_b"]
)
@pytest.mark.parametrize("name", ["a.py", "a.c", "a.md", "a.po"])
def test_no_edit_brings_what_code_may_be(name, after):
    text, line = document(path=name, text=["# ab so"]), "# ab so"
    read = Line(line, line, range(8), line, 0, (), [], False)
    assert not text.fits(read, Change(2, 4, after))
    assert text.fits(read, Change(2, 4, "so"))


SENTENCES = """
an error occured
Invalid adress
Unreconized command: %s
unable to read %s: file is missing
"""
NONE = """
REL CTRL ACK
btn btn-primary large
SELECT name FROM users WHERE it is
select name from users
a/b c/d is
name
"""


def test_a_string_is_a_sentence_or_none():
    assert all(map(is_sentence, SENTENCES.strip().splitlines()))
    assert not any(map(is_sentence, NONE.strip().splitlines()))


#: A file and a string that is read where a call says it to people, and ones that are not.
SAID = r"""
a.py | logger.info("account teh")
a.py | raise ValueError("teh %s" % x)
a.py | p.add_argument("--x", type=int, help="teh things")
a.js | throw new Error('teh of ' + x)
a.js | program.option('-x, --xx', 'teh things')
a.go | return errors.New("teh failed")
a.go | flag.String("x", "", "teh things")
a.rs | panic!("teh {}", x);
b.pl | use strict; warn("teh $x");
a.rb | raise ArgumentError, "teh things"
a.c | fprintf(stderr, "teh %s", x);
a.c | x = _("teh things");
a.java | throw new IllegalStateException("teh failed");
a.sh | echo "teh things"
a.json | {"description": "teh things"}
"""
NOT_SAID = r"""
a.py | x = d["teh things"]
a.py | print("teh")
a.py | print("%s %d" % x)
a.py | logger.info("/teh/%s")
a.py | execute("select teh from %s")
a.py | print("teh=%s" % x)
a.c | fopen("teh", "rb");
a.js | el.className = 'teh btn';
a.js | console.log("teh:%s");
"""


@pytest.mark.parametrize("cells, count", [*product(rows(SAID), [1]), *product(rows(NOT_SAID), [0])])
def test_two_words_that_a_call_says_are_a_sentence(cells, count):
    name, text = cells
    read = read_grammar(name, [text], lambda word: True)
    words = [read.shown[0][start:end] for start, end in spans(read.shown[0], "letters")]
    assert words.count("teh") == count


#: file | its text | kind
LEFT_ALONE = r"""
AUTHORS | | files of names
doc/Credits.md | | files of names
.mailmap | | files of names
yarn.lock | | lock files
a.min.js | | minified files
a.go | // Code generated by x. DO NOT EDIT.\n | generated files
a.txt | WORDSteh x\n |
authors.py | |
"""


@pytest.mark.parametrize("name, text, kind", rows(LEFT_ALONE))
def test_files_of_names_and_of_programs_are_left_alone(name, text, kind):
    text = text.replace("WORDS", "teh\n" * 40)
    assert left_alone(name, text) == kind


def test_a_list_of_words_is_one_and_read_where_it_is_named():
    text = "teh\n" * 40
    assert left_alone("words", text) == "word lists"
    assert read_grammar("words", text.split("\n"), bool) is None


SIGNS = "ab \n*_~`[]()<>!|-#:\"&/=\\\t\r\0\1\ufeff\ud800{}%.'"


@given(st.text(SIGNS, max_size=40), st.sampled_from([*TEXTS, "a.md"]))
def test_every_line_is_shown_as_long_as_it_is(text, name):
    lines = text.split("\n")
    read = read_grammar(name, lines, bool)
    shown = read.shown if read else lines
    assert [*map(len, shown)] == [*map(len, lines)]


RUNS = "<code>|__a |[a](|``a|1:|:a:`b|$a|\\[|{{|<?|=a|.. a::\n|\\begin{a}|a_a|\\fBa|<!--|---\n"
RUNS += "|\\a{|;\n"


@pytest.mark.parametrize("run", RUNS.split("|"))
def test_a_long_text_is_read_in_time_that_grows_with_its_length(run):
    before = time.process_time()
    for name in FORMATS:
        masked(run * (20_000 // len(run)) + "x", name)
    assert time.process_time() - before < 3  # the square of it would take minutes


# of unknown kinds a comment has 9,999 characters at most
@pytest.mark.parametrize("language", sorted(SCANNED - {"unknown"}))
@pytest.mark.parametrize("beginning", ["/* ", "#if 0\n", 'R"(', "/[", "`${", '"', "'''"])
def test_what_begins_often_and_never_ends_takes_no_square_of_its_length(beginning, language):
    """60 kB took 20 CPU seconds."""
    before = time.process_time()
    for _ in scanned(beginning * 20_000, language):
        pass
    assert time.process_time() - before < 3
