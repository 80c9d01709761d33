"""``correct --output-dir`` with a scripted model: files and folders in, a folder out."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from test_correct import Terminal, Words, run, tree  # noqa: F401

from lev_plugins import UserError
from lev_plugins.inference.correction import Correction, Edit
from lev_plugins.reports.correction_page import render_html


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

    def fail(self, units, batch_size, contexts=()):
        if any("bad" in unit.split() for unit in units):
            raise UserError("no memory")
        return WRITE(self, units, batch_size)

    monkeypatch.setattr(Words, "write", fail)


def put(**files):
    for name, raw in files.items():
        path = Path(name.replace("__", "/") + ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


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
        "3 files corrected: 5 lines, 3 of 3 edits made; 0 skipped, there already\n"
    )


def test_what_is_there_is_skipped(runs, capsys):
    put(in__a=b"teh\n", in__b=b"teh \xe9\n", out__a=b"mine\n")
    assert len(runs("in --output-dir out").calls) == 1
    assert tree("out") == {"a.txt": b"mine\n", "b.txt": b"the \xe9\n"}
    assert "1 skipped, there already" in capsys.readouterr().err
    assert runs("in --output-dir out").calls == []
    assert "0 files corrected; 2 skipped" in capsys.readouterr().err


def test_of_a_folder_no_hidden_file_no_binary_and_no_output_is_read(runs):
    put(a=b"teh\n", image=b"\x89PNG\0", out__old=b"teh\n", **{".git__x": b"teh\n"})
    os.mkfifo("pipe")
    os.symlink("gone", "link")
    runs(". --output-dir out")
    assert tree("out") == {"a.txt": b"the\n", "old.txt": b"teh\n"}


def test_reports_have_the_files_of_their_run(runs, run, monkeypatch):  # noqa: F811
    put(in__a=b"teh\n", in__b=b"teh bad")
    flags = "in --output-dir out --edits e.jsonl --html e.html"
    fail_at_bad(monkeypatch)
    with pytest.raises(UserError, match="no memory"):
        runs(flags)
    assert tree(".").keys() == {"in/a.txt", "in/b.txt", "out/a.txt"}
    monkeypatch.setattr(Words, "write", WRITE)
    runs(flags)
    files = {json.loads(line)["file"] for line in Path("e.jsonl").read_text().splitlines()}
    assert files == {"in/b.txt"} and "in/a.txt" not in Path("e.html").read_text()
    for flag in ("--edits", "--html"):
        printed = run(b"", f"in in/a.txt --output-dir o{flag} {flag} -", {"teh": "the"})
        assert b"in/a.txt" in printed and tree(f"o{flag}")["a.txt"] == b"the\n"


def test_the_page_has_the_lines_that_changed_file_by_file(runs):
    put(in__a=b"\xef\xbb\xbfno\n\nteh <b>\tcat\r\n" + b"no\n", in__b=b"no\n", in__c=b"teh\nx ab\n")
    runs("in --output-dir out --html e.html --protect ab")
    page = Path("e.html").read_text()
    edit = '<del>teh</del><ins class="s0">the</ins><sub>0.25</sub>'
    assert page.count(edit) == 2 and page.count("<article>") == 2
    assert f"{edit} &lt;b&gt;    cat</p>" in page
    for text in (
        "<dt>files</dt><dd>3</dd>",
        "<dt>lines</dt><dd>7</dd>",
        "<dt>edits applied</dt><dd>2</dd>",
        "<dt>not applied</dt><dd>0</dd>",
        "<bdi>in/c.txt</bdi>",
        "<h2>line 3</h2>",
    ):
        assert text in page
    assert "in/b.txt" not in page


def test_a_surer_edit_is_darker():
    edits = [Edit(2 * place, "a", "b", one) for place, one in enumerate((0.98, 0.8, 0.3))]
    lines = [(1, Correction("a a a", "", tuple(edits)))]
    page = render_html({"x": lines}, {}, "title")
    assert re.findall(r'class="(s\d)">b<', page) == ["s4", "s2", "s0"]


@pytest.mark.parametrize(
    "flags, named",
    [
        ("a b --output-dir out", "a/x.txt and b/x.txt .* out/x.txt"),
        ("a --output-dir a", "--output-dir a .* a/x.txt"),
        ("a --output-dir to_a", "--output-dir to_a .* a/x.txt"),
        ("empty --output-dir out", "empty"),
    ],
)
def test_a_target_that_cannot_be_is_told_before_anything_is_written(runs, flags, named):
    put(a__x=b"teh\n", b__x=b"teh\n")
    Path("empty").mkdir()
    os.symlink("a", "to_a")
    before = tree(".")
    with pytest.raises(UserError, match=named):
        runs(flags)
    assert tree(".") == before


def test_a_terminal_sees_how_far_a_run_is(runs, monkeypatch):
    put(in__a=b"teh\n" * 4)
    monkeypatch.setattr("lev_plugins.io.lines.PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    runs("in --output-dir out --buffer 2")
    shown = sys.stderr.getvalue()
    assert "%" in shown and shown.rpartition("\r")[2].startswith("1 file corrected: 4 lines")
