"""The command ``correct`` with a scripted model: bytes in, bytes out, edits, refusals."""

import io
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins import UserError
from lev_plugins.cli import correct, report, tune
from lev_plugins.inference.correction import Correction, Corrector
from lev_plugins.inference.correction.autoregressive import rewriting
from lev_plugins.inference.correction.backends import Backend, TextProcessing
from lev_plugins.reports.correction_report import diff


class Words(Backend):
    """A model that reads words and writes ``words[old]`` for old, with a probability of a half."""

    limit, knows_spaces = 20, True

    def __init__(self, words, **more):
        self.words = words
        self.processing = TextProcessing()
        self.calls = []

    def write(self, units, batch_size, contexts=()):
        self.calls.append(len(units))
        return [None if "endless" in unit.split() else self.answer(unit) for unit in units]

    def answer(self, text):
        unit = self.processing.tokens(text)
        written = [word for token in unit if (word := self.words.get(token, token))]
        scores = [math.log(0.5)] * (len(written) + 1)
        return rewriting(unit, written, scores, lambda token: True).answer(text, self.processing)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def tree(folder):
    """The files below a folder and their bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command on bytes; returns standard output, and keeps the model in ``run.model``."""
    monkeypatch.chdir(tmp_path)

    def runs(text, flags="", words=None, status=0):
        runs.model = Words(words or {})

        def load(args):
            return Corrector(runs.model, args.unit, args.window)

        monkeypatch.setattr(correct, "load_corrector", load)
        out = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        monkeypatch.setattr(sys, "stdout", out)
        assert correct.main(["--path", "model.pt", *flags.split()]) == status
        return out.buffer.getvalue()

    return runs


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=st.binary(max_size=60) | st.text(max_size=40).map(str.encode), buffer=st.integers(1, 3))
def test_bytes_that_the_model_does_not_change_are_those_that_came(run, text, buffer):
    assert run(text, f"--buffer {buffer}") == text


@pytest.mark.parametrize("unit", ["word", "window --window 2"])
def test_only_what_is_edited_changes(run, unit):
    text = b"\xef\xbb\xbfteh  cat\r\n\n \t \nteh\xe2\x80\xa8cat\xff teh"
    assert run(text, f"--unit {unit}", {"teh": "the"}) == text.replace(b"teh", b"the")


def test_files_are_corrected_in_order_and_a_missing_line_end_joins_no_lines(run):
    for name, text in {"a": b"teh", "b": b"", "c": b"x\r\nteh\n", "d": b"\xff teh"}.items():
        Path(name).write_bytes(text)
    expected = b"the\nx\r\nthe\nno the\n\xff the"
    assert run(b"no teh\n", "a b c - d --buffer 1", {"teh": "the"}) == expected
    run(b"a\nb\n\nc\n" * 3, "--buffer 5")
    assert len(run.model.calls) == 3


def edits():
    return [json.loads(line) for line in Path("e.jsonl").read_text().splitlines()]


def test_edits_are_json_lines_that_name_their_place(run, capsys):
    text = "ok\nno teh\u2028 cat\r\nteh x\na\u2028gone".encode() + b"\n\xff tx\xfe"
    words = {"teh": "the", "cat": "", "gone": "", "tx\ufffd": "y"}
    run(text, "--edits e.jsonl --protect t\\w+.x", words)
    raw = Path("e.jsonl").read_bytes()
    assert raw.count(b"\n") == len(raw.splitlines()) and "\u2028" not in raw.decode()
    assert b'"before": "tx\\udcfe"' in raw  # a byte that is no text
    assert edits()[0] == {
        "line": 2, "offset": 3, "length": 8, "before": "teh\u2028 cat", "after": "the",
        "probability": pytest.approx(0.25), "applied": True, "reason": None,
    }  # fmt: skip
    refused = [(one["line"], one["before"]) for one in edits() if one["reason"] == "protected"]
    assert refused == [(3, "teh")]
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    for one in edits():
        line = lines[one["line"] - 1]
        assert line[one["offset"] : one["offset"] + one["length"]] == one["before"]
    Path("a").write_text("ok\nteh\n")
    Path("b").write_text("teh\nendless\n")
    run(b"", "a b --edits e.jsonl", {"teh": "tah"})
    assert [(one["file"], one["line"]) for one in edits()] == [("a", 2), ("b", 1)]
    assert capsys.readouterr().err.startswith("b: left as it was")


def test_words_and_patterns_are_kept(run):
    Path("words.txt").write_text("teh\n\nNew York\n")
    flags = "--protect-words words.txt --protect [0-9] --protect ab"
    changes = {"teh": "the", "1x": "2x", "abc": "abd", "acb": "bcb"}
    assert run(b"teh 1x abc acb", flags, changes) == b"teh 1x abd bcb"


def test_a_line_without_an_answer_is_told_and_counts_where_someone_looks_on(
    run, capsys, monkeypatch
):
    assert run(b"a\nendless\nb endless\n", "") == b"a\nendless\nb endless\n"
    assert "left as it was" in (said := capsys.readouterr().err) and "2 lines (2, 3)\n" in said
    run(b"teh\n", "", {"teh": "the"})
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run(b"teh\n", "", {"teh": "the"})
    assert terminal.getvalue().endswith("1 line, 1 of 1 edit made\n")


@pytest.mark.parametrize(
    "flags, named",
    [
        ("--unit line --window 3", "--window 3"),
        ("--min-confidence 1.5", "--min-confidence 1.5"),
        ("--batch-size 0", "--batch-size 0"),
        ("--goal best", "--goal best"),
        ("--weight edits=-1 --weight frequency=much", "--weight frequency=much"),
        ("--protect (", "--protect '\\('"),
        ("--protect-words gone.txt", "gone.txt"),
        ("words.txt gone.txt", "gone.txt"),
        (".", r"\."),
        ("--edits no/e.jsonl", "no/e.jsonl"),
        ("--edits words.txt --protect-words words.txt", "--edits .* words.txt"),
        ("--edits e --html e", "--html .* --edits e"),
        ("--edits -", "--edits -"),
        ("--output-dir o words.txt --edits - --html -", "--html -"),
        ("--output-dir o", "--output-dir"),
        ("--output-dir o words.txt -", "--output-dir"),
        ("--output-dir . words.txt", r"--output-dir \. .* words.txt"),
        ("--output-dir words.txt/o words.txt", "words.txt/o"),
        ("--output-dir o words.txt --edits o/words.txt", "--edits .* o/words.txt"),
        ("--in-place", "--in-place"),
        ("--in-place .", r"\."),
        ("--in-place words.txt --output-dir o", "--output-dir and --in-place"),
        ("--in-place words.txt --check", "--in-place and --check"),
        ("--tune words.txt words.txt --check", "--tune and --check"),
        ("words.txt --tune words.txt words.txt", "--tune"),
        ("--edits e.jsonl --tune words.txt words.txt", "--tune .* --edits"),
        ("--tune-weights", "--tune-weights .* --tune"),
    ],
)
def test_a_mistake_is_told_before_anything_is_written(run, flags, named):
    Path("words.txt").write_text("x\n")
    with refuses(match=named):
        run(b"a\n", flags)
    assert tree(".") == {"words.txt": b"x\n"}
    assert sys.stdout.buffer.getvalue() == b""


@pytest.mark.parametrize("flags", ["--edits e.jsonl", "a --in-place --buffer 1"])
def test_a_run_that_fails_leaves_files_as_they_were(run, monkeypatch, flags):
    def fail(*_):
        raise UserError("no memory")

    Path("a").write_bytes(b"teh\nteh\n")
    monkeypatch.setattr(Words, "write", fail)
    with pytest.raises(UserError, match="no memory"):
        run(b"a\n", flags)
    assert tree(".") == {"a": b"teh\nteh\n"}


# ---------------------------------------------------------------- what would change


TEXT = b"teh\r\nok\n\xff teh teh\nteh"
CHANGED = TEXT.replace(b"teh", b"the")


@pytest.mark.parametrize("size", [1, 100])
def test_a_diff_makes_the_text_into_what_correct_writes(run, tmp_path, size):
    for name in ("one", "same", "two"):
        Path(name).write_bytes(b"ok\n" if name == "same" else TEXT)
    shown = run(b"", f"one same two --diff --buffer {size}", {"teh": "the"})
    assert shown.count(b"@@ -") == 6 and b"same" not in shown
    subprocess.run(["patch", "-s", "-p0"], input=shown, check=True, cwd=tmp_path)
    assert tree(".") == {"one": CHANGED, "same": b"ok\n", "two": CHANGED}


def test_a_terminal_sees_a_diff_in_colour():
    done = [Correction("teh", "the", ()), Correction("a", "a", ())]
    plain, shown = (diff(3, done, [b"\n", b""], colour).decode() for colour in (False, True))
    assert plain == "@@ -3 +3 @@\n-teh\n+the\n"
    assert re.sub("\x1b\\[[0-9]*m", "", shown) == plain and shown.count("\x1b[") == 6


@pytest.mark.parametrize("text, status", [(TEXT, 1), (b"ok\n", 0), (b"", 0)])
def test_a_check_ends_in_1_where_something_would_change_and_writes_no_text(run, text, status):
    Path("a").write_bytes(text)
    for flags in ("a --check", "- --check"):
        assert run(text, flags, {"teh": "the"}, status) == b""
    assert bool(run(text, "--check --diff", {"teh": "the"}, status)) == status
    assert tree(".") == {"a": text}


def test_in_place_files_are_replaced_and_keep_their_permissions(run):
    Path("a").write_bytes(TEXT)
    Path("same").write_bytes(b"ok\n")
    Path("a").chmod(0o750)
    assert run(b"", "a same --in-place --buffer 1 --edits -", {"teh": "the"}).count(b'"a"') == 4
    assert tree(".") == {"a": CHANGED, "same": b"ok\n"}
    assert Path("a").stat().st_mode & 0o777 == 0o750


def test_all_that_counts_edits_counts_the_same(run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", Terminal())
    run(b"teh ab\nteh x\n", "--protect ab --edits e.jsonl --html e.html",
        {"teh": "the", "ab": "xb"})  # fmt: skip
    records = edits()
    applied = sum(one["applied"] for one in records)
    assert 0 < applied < len(records)
    assert f"{applied} of {len(records)} edits" in sys.stderr.getvalue()
    page = Path("e.html").read_text()
    assert f"<dt>edits applied</dt><dd>{applied}</dd>" in page
    assert f"<dt>not applied</dt><dd>{len(records) - applied}</dd>" in page


def test_the_help_fits_a_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in (correct, report, tune):
        assert command.build_parser().format_help().count("\n") <= 31, command.__name__
