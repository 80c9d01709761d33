"""``correct --output-dir`` with a scripted model: files and folders in, a folder out."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from test_correct import Terminal, Words, run  # noqa: F401

from lev_plugins import UserError
from lev_plugins.inference.correction import Correction, Edit
from lev_plugins.reports.correction_journal import NAME as JOURNAL
from lev_plugins.reports.correction_page import FileEdits, render_html
from lev_plugins.reports.correction_report import INTERVAL, PATIENCE, Progress


@pytest.fixture
def runs(run, monkeypatch):  # noqa: F811
    """Run the command on files that are there; nothing may go to standard output."""

    def on_files(flags):
        assert run(b"", flags, {"teh": "the"}) == b""
        return run.model

    return on_files


WRITE = Words.write


def fail_at_bad(monkeypatch):
    """The model runs out of memory where a unit holds ``bad``."""

    def fail(self, units, batch_size):
        if any("bad" in unit for unit in units):
            raise UserError("no memory")
        return WRITE(self, units, batch_size)

    monkeypatch.setattr(Words, "write", fail)


def put(**files):
    for name, raw in files.items():
        path = Path(name.replace("__", "/") + ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


def json_lines(raw):
    return [json.loads(line) for line in raw.splitlines()]


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def test_files_and_folders_keep_names_bytes_and_line_ends(runs, capsys):
    texts = {
        "one": b"\xef\xbb\xbfteh  cat\r\n\r\n \xe2\x80\xa8teh",
        "in__a": b"teh\n\n",
        "in__sub__b": b"",
    }
    put(**texts)
    before = tree(".")
    runs("in one.txt --output-dir out")
    names = {"one.txt": "one", "a.txt": "in__a", "sub/b.txt": "in__sub__b"}
    expected = {name: texts[key].replace(b"teh", b"the") for name, key in names.items()}
    assert tree("out") == expected
    assert before.items() <= tree(".").items()
    assert capsys.readouterr().err == (
        "3 files corrected: 5 lines, 6 of 6 edits made; 0 skipped, finished before; 0 left out\n"
    )


def test_what_is_finished_is_skipped_and_told_where_its_source_is_newer(runs, capsys):
    put(in__a=b"teh\n", in__b=b"teh\n", out__a=b"mine\n")
    os.utime("out/a.txt", (1, 1))
    assert len(runs("in --output-dir out").calls) == 1
    assert tree("out") == {"a.txt": b"mine\n", "b.txt": b"the\n"}
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("skipped: out/a.txt is older than in/a.txt; remove it")
    assert told[1].endswith("1 skipped, finished before; 0 left out")
    assert runs("in --output-dir out").calls == []
    assert "0 files corrected; 2 skipped" in capsys.readouterr().err


def test_a_run_that_fails_keeps_what_is_finished_and_nothing_half_written(runs, monkeypatch):
    put(in__a=b"teh\n", in__b=b"x\nteh\nbad\n")
    fail_at_bad(monkeypatch)
    with pytest.raises(UserError, match="no memory"):
        runs("in --output-dir out --buffer 1")
    assert tree("out") == {"a.txt": b"the\n"}


def test_one_file_that_is_not_utf_8_stops_all_or_is_left_out(runs, capsys):
    put(in__a=b"teh\n", in__b=b"ok\nd\xe9j\xe0\n", in__c="é".encode("utf-16"))
    message = (
        r"^in/b.txt: line 2, byte offset 4: 0xe9 is not valid UTF-8 \(and 1 more files\); .*skip"
    )
    with pytest.raises(UserError, match=message):
        runs("in --output-dir out")
    assert not Path("out").exists()
    runs("in --output-dir out --skip-invalid")
    assert tree("out") == {"a.txt": b"the\n"}
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("left out: in/b.txt: line 2") and told[1].startswith(
        "left out: in/c.txt: line 1"
    )
    assert told[2].endswith("; 2 left out")


def test_of_a_folder_no_hidden_file_no_binary_and_no_output_is_read(runs, capsys):
    put(a=b"teh\n", image=b"\x89PNG\0", out__old=b"teh\n", **{".git__x": b"teh\n"})
    os.mkfifo("pipe")
    os.symlink("gone", "link")
    runs(". --output-dir out")
    assert tree("out") == {"a.txt": b"the\n", "old.txt": b"teh\n"}
    told = capsys.readouterr().err
    assert all(f"left out: ./{name} is no text" in told for name in ("image.txt", "pipe", "link"))


REPORTS = "--edits e.jsonl --csv e.csv --html e.html"


def reports():
    return {name: raw for name, raw in tree(".").items() if name.startswith("e.")}


def test_a_resumed_run_reports_the_files_that_were_finished_before(runs, monkeypatch):
    put(in__a=b"\xef\xbb\xbfteh \xe2\x80\xa8\r\n\nx teh teh\n", in__b=b"no\n", in__c=b"teh ab\nbad")
    flags = f"in --output-dir out --protect ab --buffer 1 {REPORTS}"
    runs(flags)
    whole, texts = reports(), tree("out")
    assert len(whole) == 3 and len(json_lines(whole["e.jsonl"])) == 8
    shutil.rmtree("out")
    for name in whole:
        Path(name).unlink()
    fail_at_bad(monkeypatch)
    with pytest.raises(UserError, match="no memory"):
        runs(flags)
    assert reports() == {}
    with open(f"out/{JOURNAL}", "a") as file:
        file.write('{"file": "b.txt", "sha')  # killed while it wrote
    monkeypatch.setattr(Words, "write", WRITE)
    assert len(runs(flags).calls) == 2
    assert reports() == whole and tree("out").keys() == texts.keys()
    Path("e.csv").unlink()
    assert runs(flags).calls == []  # all are finished: reports alone are written
    assert reports() == whole


def test_finished_files_of_which_nothing_is_known_are_told(runs):
    put(in__a=b"teh\n", in__b=b"teh\n", in__c=b"teh\n")
    Path("e.csv").write_text("mine")
    put(out__a=b"the\n")
    with pytest.raises(UserError, match=r"^--csv e.csv is there, and 1 files that were finished"):
        runs(f"in --output-dir out {REPORTS}")
    assert Path("e.csv").read_text() == "mine"
    runs("in --output-dir out --html new.html")
    assert "in/a.txt</td><td colspan" in Path("new.html").read_text()
    put(in__b=b"teh teh\n")  # is not what was corrected
    runs("in --output-dir out --html newer.html")
    page = Path("newer.html").read_text()
    assert page.count("</td><td colspan") == 2 and "in/c.txt</a>" in page


@pytest.mark.parametrize("flag", ["edits", "csv", "html"])
def test_a_report_may_go_to_standard_output(run, flag):  # noqa: F811
    put(in__a=b"teh\n")
    printed = run(b"", f"in --output-dir out --{flag} -", {"teh": "the"})
    assert b"in/a.txt" in printed and not Path("-").exists() and tree("out")["a.txt"] == b"the\n"


@pytest.mark.parametrize(
    "flags, message",
    [
        ("--csv -", "^--csv -: standard output gets the corrected text; name a file, or"),
        ("--output-dir out --csv - --html -", "^--csv - and --html -: standard output takes one"),
    ],
)
def test_standard_output_is_given_to_one(runs, flags, message):
    put(a=b"teh\n")
    with pytest.raises(UserError, match=message):
        runs(f"a.txt {flags}")
    assert tree(".").keys() == {"a.txt"}


def test_the_page_has_the_lines_that_changed_file_by_file(runs):
    put(in__a=b"\xef\xbb\xbfno\n\nteh <b>\tcat\r\n" + b"no\n", in__b=b"no\n", in__c=b"teh\nx ab\n")
    runs("in --output-dir out --html e.html --protect ab")
    page = Path("e.html").read_text()
    edit = '<del>teh</del><ins class="s0">the</ins><sub>0.25</sub>'
    assert page.count(edit) == 2 and page.count("<article") == 2
    assert f"{edit} &lt;b&gt;    cat</p>" in page
    for text in (
        '<a href="#file-0">in/a.txt</a></td><td>4</td><td>1</td><td>1</td><td>0</td><td>0.25<',
        ">in/b.txt</td><td>1</td><td>0</td><td>0</td><td>0</td><td>–<",
        '<h2 class="file" id="file-0"><bdi>in/a.txt</bdi><a href="#file-2">next</a>',
        '<h2 class="file" id="file-2"><bdi>in/c.txt</bdi><a href="#file-0">previous</a>',
        "</span>line 3</h2>",
    ):
        assert text in page
    assert not re.search(r"https?:|url\(|@import|<(script|link|img|iframe)", page)


@pytest.mark.parametrize("lines, count", [("changed", 1), ("edits", 2), ("all", 4)])
def test_the_page_may_have_edits_not_applied_and_all_lines(runs, lines, count):
    put(a=b"teh\nno\nteh x\n\n")
    runs(f"a.txt --output-dir out --protect teh.x --html e.html --html-lines {lines}")
    page = Path("e.html").read_text()
    assert page.count("<article") == count
    refused = "<del>teh</del><ins>the</ins><sub>0.25</sub> (protected)"
    assert page.count(refused) == (lines != "changed")


def test_a_page_can_be_read_least_probable_first():
    def line(number, *probabilities):
        edits = [Edit(2 * place, "a", "b", one) for place, one in enumerate(probabilities)]
        return number, Correction("a a a", "", tuple(edits)), edits

    files = [FileEdits("x", shown=[line(1, 0.9), line(2, 0.8, 0.3), line(3)])]
    page = render_html([*files, FileEdits("y", shown=[line(1, 0.5)])], "title")
    assert re.findall(r"--rank: (\d)", page) == ["2", "0", "3", "1"]
    assert re.findall(r'class="(s\d)">b<', page) == ["s3", "s2", "s0", "s1"]


def test_of_a_long_line_the_page_shows_what_stands_beside_the_edits():
    source = "x" * 9_000 + " a " + "y " * 450 + "a " + "z" * 9_000
    places = [source.index(" a ") + 1, source.rindex(" a ") + 1]
    edits = [Edit(place, "a", "b", 1.0) for place in places]
    shown = (1, Correction(source, "", tuple(edits)), edits)
    page = render_html([FileEdits("x", shown=[shown])], "title")
    assert re.findall(r"\[([\d,]+) characters", page) == ["8,841", "585", "8,841"]
    assert "x" * 159 + " <del>a" in page and "</sub> " + "z" * 159 + " <span" in page


@pytest.mark.parametrize(
    "flags, message",
    [
        ("a b --output-dir out", r"^a/x.txt and b/x.txt would both be written to out/x.txt"),
        ("a --output-dir a", r"^--output-dir a would write over a/x.txt"),
        ("a --output-dir to_a", r"^--output-dir to_a would write over a/x.txt"),
        ("a --output-dir as_folder", r"^as_folder/x.txt: is a folder"),
        ("empty --output-dir out", r"^no text files in empty"),
    ],
)
def test_a_target_that_cannot_be_is_told_before_anything_is_written(runs, flags, message):
    put(a__x=b"teh\n", b__x=b"teh\n")
    for folder in ("empty", "as_folder/x.txt"):
        Path(folder).mkdir(parents=True)
    os.symlink("a", "to_a")
    before = tree(".")
    with pytest.raises(UserError, match=message):
        runs(flags)
    assert tree(".") == before


def test_the_same_file_given_twice_is_corrected_once(runs, capsys):
    put(a__x=b"teh\n")
    runs("a a/x.txt --output-dir out")
    assert capsys.readouterr().err.startswith("1 files corrected")


def test_progress_is_shown_when_it_takes_long_with_the_time_left():
    now = [0.0]
    progress = Progress(1000, lambda: now[0])
    shown = []
    for now[0], progress.done in ((1, 10), (PATIENCE, 100), (PATIENCE + 1, 110), (100, 500)):
        shown.append(progress.line(terminal=False))
    assert shown == [None, " 10%, 0:00:45 left", None, " 50%, 0:01:40 left"]
    assert 100 - PATIENCE >= INTERVAL


def test_a_terminal_sees_one_line_that_changes(runs, monkeypatch):
    put(in__a=b"teh\n" * 4)
    monkeypatch.setattr("lev_plugins.reports.correction_report.PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    runs("in --output-dir out --buffer 2")
    _, first, second = sys.stderr.getvalue().splitlines()
    assert " left; 2 lines, 4 of 4 edits made" in first
    assert second.startswith("1 files corrected: 4 lines")
