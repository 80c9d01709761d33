"""The command ``correct`` with a scripted model: bytes in, bytes out; files, folders, refusals."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses
from scripted_command import TEH, put, run_scripted, tree
from tables import table


@pytest.fixture
def run(monkeypatch, tmp_path):
    """:func:`run_scripted` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(run_scripted, monkeypatch)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=st.binary(max_size=60) | st.text(max_size=40).map(str.encode), buffer=st.integers(1, 3))
def test_bytes_that_the_model_does_not_change_are_those_that_came(run, text, buffer):
    assert run(text, f"--buffer {buffer}", {}) == text


@pytest.mark.parametrize("unit", ["word", "window --window 2"])
def test_only_what_is_edited_changes(run, unit):
    text = b"\xef\xbb\xbfteh  cat\r\n\n \t \nteh\xe2\x80\xa8cat\xff teh"
    assert run(text, f"--unit {unit}") == text.replace(b"teh", b"the")


def test_files_are_corrected_in_order_and_a_missing_line_end_joins_no_lines(run):
    put(a=b"teh", b=b"", c=b"x\r\nteh\nx endless\n", d=b"\xff teh")
    expected = b"the\nx\r\nthe\nx endless\nno the\n\xff the"
    assert run(b"no teh\n", "a b c - d --buffer 1") == expected


FIRST = r"""
{"file": "a", "line": 2, "offset": 3, "length": 8, "before": "teh\u2028 cat", "after": "the",
 "probability": 0.25, "applied": true, "reason": null}
"""


def test_edits_are_json_lines_that_name_their_place(run):
    put(a="ok\nno teh\u2028 cat\r\nteh x\n".encode() + b"\xff tx\xfe", b=b"teh\nendless\n")
    words = {"teh": "the", "cat": "", "tx\ufffd": "y"}
    run(b"", "a b --edits e.jsonl --protect t\\w+.x", words)
    first, *edits = map(json.loads, Path("e.jsonl").read_bytes().split(b"\n")[:-1])
    assert first.pop("why") == {} and first == pytest.approx(json.loads(FIRST))
    places = [(edit["file"], edit["line"], edit["before"], edit["reason"]) for edit in edits]
    byte = "tx\udcfe"  # that is no text
    assert places == [("a", 3, "teh", "protected"), ("a", 4, byte, None), ("b", 1, "teh", None)]


@pytest.mark.parametrize("flags, named", table("lev_correct/cases.tsv", "correct: refused"))
def test_a_mistake_leaves_files_as_they_were(run, flags, named):
    put(words=b"x\n", bad=b"teh\nbad\n", binary=b"teh\0")
    before = tree()
    with refuses(match=named):
        run(b"a\n", flags)
    assert tree() == before and sys.stdout.buffer.getvalue() == b""


# what would change -------------------------------------------------------------------------------


TEXT = b"teh\r\nok\n\xff teh teh\nteh"
CHANGED = TEXT.replace(b"teh", b"the")


@pytest.mark.parametrize("size", [1, 100])
def test_a_diff_makes_the_text_into_what_correct_writes(run, size):
    put(**{"first": TEXT, "same": b"ok\n", "t o": TEXT})
    shown = run(b"", ["first", "same", "t o", "--diff", "--buffer", str(size)])
    subprocess.run(["patch", "-s", "-p0"], input=shown, check=True)
    assert tree() == {"first": CHANGED, "same": b"ok\n", "t o": CHANGED}


@pytest.mark.parametrize("text, status", [(TEXT, 1), (b"ok\n", 0), (b"", 0)])
def test_a_check_ends_in_1_where_something_would_change_and_writes_no_text(run, text, status):
    put(a=text)
    for flags in ("check a", "check -", "check --diff"):
        assert bool(run(text, flags, TEH, status)) == status
    shown = run(text, "check a --edits -", TEH, status)
    assert all(b"offset" in line for line in shown.splitlines())
    assert tree() == {"a": text}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
def test_a_file_with_the_mark_of_another_encoding_keeps_it(run, encoding):
    Path("a.txt").write_bytes("\ufeffé teh\r\n\ud83d teh".encode(encoding, "surrogatepass"))
    right = "\ufeffé the\r\n\ud83d the".encode(encoding, "surrogatepass")
    assert run(b"", "a.txt") == right
    assert run(b"", "check a.txt", status=1).count(b"teh -> the") == 2
    run(b"", "a.txt --in-place")
    assert Path("a.txt").read_bytes() == right


def test_in_place_files_are_replaced(run):
    """What they keep, and what is written to them meanwhile: lev_runtime/io/test_output.py."""
    put(a=TEXT, same=b"ok\n")
    assert run(b"", "a same --in-place --buffer 1 --edits -").count(b'"a"') == 4
    assert tree() == {"a": CHANGED, "same": b"ok\n"}


def test_a_file_that_changes_while_it_is_corrected_is_named_and_the_others_are_written(run, capsys):
    put(a=b"teh", b=b"teh", same=b"ok")
    os.utime("same", (0, 0))
    words = Changing({"teh": "the"})
    run(b"", "a b same --in-place", words, status=1)
    assert tree() == {"a": b"changed", "b": b"the", "same": b"ok"}
    assert capsys.readouterr().err.startswith("error: a has changed")
    assert os.stat("same").st_mtime == 0, "nothing is corrected in it"


class Changing(dict):
    """Words, of which the first that is asked for changes a file."""

    def get(self, word, default):
        if not Path("a").read_bytes() == b"changed":
            put(a=b"changed")
        return super().get(word, default)


def test_a_file_with_several_names_is_corrected_once_for_all(run):
    put(a=b"teh")
    os.link("a", "b")
    os.symlink("a", "c")
    run(b"", "a b c a --in-place")
    assert tree() == dict.fromkeys("abc", b"the") and os.path.samefile("a", "b")


def test_what_a_repository_excludes_is_left_by_every_command(run, capsys):
    put(**{"vendor__a": b"teh\nendless", "b": b"teh"})
    Path("pyproject.toml").write_text("[tool.lev-correct]\nexclude = ['vendor']\n")
    assert run(b"", "vendor/a b") == b"teh\nendless\nthe"
    assert "left out: 1 excluded file: vendor/a" in capsys.readouterr().err
    assert run(b"", "vendor/a --diff") == run(b"", "check vendor/a") == b""
    run(b"", "vendor/a b --in-place")
    assert Path("vendor/a").read_bytes() == b"teh\nendless" and Path("b").read_bytes() == b"the"
