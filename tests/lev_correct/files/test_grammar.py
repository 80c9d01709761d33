"""Of a file prose is read, by the grammar of its kind; code, keys and names stay."""

import time

import pytest
from fake_backend import FakeBackend, document, replaced
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from lev_correct import Corrector
from lev_correct.files.file_kinds import PROSE, kind_of
from lev_correct.files.formats import FORMATS, masked
from lev_correct.files.grammar import read_grammar as read_kind
from lev_correct.files.scanner import SCANNED, scanned
from lev_correct.lines import Change, Line
from lev_correct.repository.kinds import left_alone
from lev_correct.settings import Settings
from lev_correct.text.units import spans


def read_grammar(name, lines, knows):
    """Reads a text by the grammar of its kind; None of prose."""
    kind = kind_of(name, lines)
    return None if kind == PROSE else read_kind(name, kind, lines, knows)


#: what is prose says *teh*, what is code *hte*
TEXTS = table("lev_correct/files/texts.tsv")
KINDS = table("lev_correct/files/file_kinds.tsv")


@pytest.mark.parametrize("name, text", [*TEXTS, *(row[::2] for row in KINDS)])
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


@pytest.mark.parametrize("name, text, words", table("lev_correct/files/escapes.tsv"))
def test_an_escape_parts_words_or_makes_a_word_code(name, text, words):
    lines = text.split("\n")
    _, shown = document(path=name, text=lines).read(lines)
    assert [*map(len, shown)] == [*map(len, lines)]
    read = [line[start:end] for line in shown for start, end in spans(line, "letters")]
    assert " ".join(read) == words


@pytest.mark.parametrize("name, text, is_written, old, new", table("lev_correct/files/written.tsv"))
def test_an_edit_is_written_or_reported(name, text, is_written, old, new):
    """It changes no key, ends no string, and puts no letter in after an escape that has it:
    *\\temperature* is a space and *emperature*."""
    settings = Settings(protect_code=True)
    corrector = Corrector(FakeBackend(replaced(old, new)), "letters", settings=settings)
    lines = text.split("\n")
    corrected = corrector.correct(lines, document=document(lambda word: word == old, name, lines))
    outcomes = {(edit.applied, edit.reason) for line in corrected for edit in line.edits} or {None}
    assert outcomes == {{"1": (True, None), "0": (False, "reported")}.get(is_written)}


@pytest.mark.parametrize(
    "after", ["a\\b", "a{b", "a%b", "a*/b", "a\nb", "'ab", "a--b", 'a"b', "a_b"]
)
@pytest.mark.parametrize("name", ["a.py", "a.c", "a.md", "a.po"])
def test_no_edit_brings_what_code_may_be(name, after):
    text, line = document(path=name, text=["# ab so"]), "# ab so"
    read = Line(line, line, range(8), line, 0, (), [], False)
    assert not text.fits(read, Change(2, 4, after))
    assert text.fits(read, Change(2, 4, "so"))


@pytest.mark.parametrize(
    "name, text, kind", table("lev_correct/files/cases.tsv", "grammar: left alone")
)
def test_files_of_names_and_of_programs_are_left_alone(name, text, kind):
    text = text.replace("WORDS", "teh\n" * 40)
    assert left_alone(name, text) == kind


SIGNS = "ab \n*_~`[]()<>!|-#:\"&/=\\\t\r\0\1\ufeff\ud800{}%.'"


@given(st.text(SIGNS, max_size=40), st.sampled_from([*dict(TEXTS), "a.md"]))
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
@pytest.mark.parametrize("beginning", ["/* ", "#if 0\n", 'R"(', "/[", "`${", '"', "'''", "<<A\n"])
def test_what_begins_often_and_never_ends_takes_no_square_of_its_length(beginning, language):
    """60 kB took 20 CPU seconds."""
    before = time.process_time()
    for _ in scanned(beginning * 20_000, language):
        pass
    assert time.process_time() - before < 3
