"""The command ``correct`` with a scripted model: bytes in, bytes out, edits, refusals."""

import csv
import io
import json
import math
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins import UserError
from lev_plugins.cli import correct
from lev_plugins.inference.correction import Corrector
from lev_plugins.inference.correction.autoregressive import answer
from lev_plugins.inference.correction.backends import TextProcessing


class Words:
    """A model that reads words and writes ``words[old]`` for old, with a probability of a half."""

    limit, knows_spaces = 20, True

    def __init__(self, words, **more):
        self.words = words
        self.tokens, self.text = TextProcessing().tokens, TextProcessing().text
        self.calls = []

    def write(self, units, batch_size):
        self.calls.append(len(units))
        made = []
        for unit in units:
            written = [word for token in unit if (word := self.words.get(token, token))]
            if "endless" in unit:
                made.append(None)
                continue
            scores = [math.log(0.5)] * (len(written) + 1)
            made.append(answer(unit, written, scores, lambda token: True))
        return made


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command on bytes; returns standard output, and keeps the model in ``run.model``."""
    monkeypatch.chdir(tmp_path)

    def runs(text, flags="", words=None):
        runs.model = Words(words or {})

        def load(args):
            return Corrector(runs.model, args.unit, args.window)

        monkeypatch.setattr(correct, "load_corrector", load)
        out = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        monkeypatch.setattr(sys, "stdout", out)
        assert correct.main(["--path", "model.pt", *flags.split()]) == 0
        return out.buffer.getvalue()

    return runs


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=st.binary(max_size=60) | st.text(max_size=40).map(str.encode), buffer=st.integers(1, 3))
def test_bytes_that_the_model_does_not_change_are_those_that_came(run, text, buffer):
    assert run(text, f"--buffer {buffer}") == text


@pytest.mark.parametrize("unit", ["word", "line", "sentence", "window --window 2"])
def test_only_what_is_edited_changes(run, unit):
    text = b"\xef\xbb\xbfteh  cat\r\n\n \t \nteh\xe2\x80\xa8cat\xff teh"
    assert run(text, f"--unit {unit}", {"teh": "the"}) == text.replace(b"teh", b"the")


def test_files_are_corrected_in_order_and_a_missing_line_end_joins_no_lines(run):
    for name, text in {"a": b"teh", "b": b"", "c": b"x\r\nteh\n", "d": b"\xff teh"}.items():
        Path(name).write_bytes(text)
    expected = b"the\nx\r\nthe\nno the\n\xff the"
    assert run(b"no teh\n", "a b c - d --buffer 1", {"teh": "the"}) == expected


def test_edits_and_what_was_left_alone_name_the_file_and_its_line(run, capsys):
    Path("a").write_text("ok\nteh\n")
    Path("b").write_text("teh\nendless\n")
    run(b"", "a b --edits e.jsonl", {"teh": "tah"})
    records = [json.loads(line) for line in Path("e.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in records] == [("a", 2), ("b", 1)]
    assert capsys.readouterr().err.startswith("b: left as it was")


def test_lines_are_read_in_chunks(run):
    run(b"a\nb\n\nc\n" * 3, "--buffer 5")
    assert len(run.model.calls) == 3


def test_edits_are_written_as_json_lines(run):
    text = "ok\nno teh\u2028 cat\r\nteh x".encode()
    run(text, "--edits e.jsonl --protect t\\w+.x", {"teh": "the", "cat": ""})
    raw = Path("e.jsonl").read_bytes()
    assert raw.count(b"\n") == len(raw.splitlines())
    records = [json.loads(line) for line in raw.splitlines()]
    assert records[0] == {
        "line": 2,
        "offset": 4,
        "length": 0,
        "before": "",
        "after": "h",
        "probability": pytest.approx(0.25),
        "applied": True,
        "reason": None,
    }
    assert [(one["line"], one["before"], one["applied"], one["reason"]) for one in records[2:]] == [
        (3, "", False, "protected"),
        (3, "h", False, "protected"),
    ]
    lines = text.decode().split("\n")
    for one in records:
        line = lines[one["line"] - 1]
        assert line[one["offset"] : one["offset"] + one["length"]] == one["before"]


def test_a_table_shows_the_words_that_change(run):
    text = b'ok\nno "teh"\t=1 cat\r\nteh x'
    run(
        text,
        "--csv e.csv --protect teh.x --min-confidence 0.2",
        {'"teh"': '"the"', "cat": "", "teh": "tah"},
    )
    with open("e.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["file", "line", "before", "after", "probability", "applied"],
        ["-", "2", '"teh"', '"the"', "0.25", "true"],
        ["-", "2", "=1 cat", "=1", "0.5", "true"],
        ["-", "3", "teh", "tah", "0.25", "false"],
    ]


def test_a_blank_that_is_deleted_may_be_a_line_separator(run):
    run("a\u2028cat".encode(), "--edits e.jsonl", {"cat": ""})
    raw = Path("e.jsonl").read_text()
    assert "\u2028" not in raw and json.loads(raw)["before"] == "\u2028cat"


def test_a_byte_that_is_no_text_is_an_escape_in_json(run):
    run(b"\xff x\xfe", "--edits e.jsonl --unit word", {"x\ufffd": "y"})
    assert b'"before": "x\\udcfe"' in Path("e.jsonl").read_bytes()


def test_words_and_patterns_are_kept(run):
    Path("words.txt").write_text("teh\n\nNew York\n")
    flags = "--protect-words words.txt --protect [0-9] --protect ab"
    changes = {"teh": "the", "1x": "2x", "abc": "abd", "acb": "bcb"}
    assert run(b"teh 1x abc acb", flags, changes) == b"teh 1x abd bcb"


def test_a_line_without_an_answer_is_told(run, capsys):
    assert run(b"a\nendless\nb endless\n", "") == b"a\nendless\nb endless\n"
    assert capsys.readouterr().err == (
        "left as it was, in whole or in part, because the model's answer had no end: "
        "2 lines (2, 3)\n"
    )


def test_nothing_is_said_where_nobody_looks_on_and_counts_where_someone_does(
    run, capsys, monkeypatch
):
    run(b"teh\n", "", {"teh": "the"})
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run(b"teh\n", "", {"teh": "the"})
    assert terminal.getvalue().endswith("1 line, 2 of 2 edits made\n")


def test_lines_that_lose_much_at_one_place_are_named(run, capsys):
    text = b"short\n" + b"x" * 20 + b" kept\n" + b"y" * 19 + b" kept\n"
    run(text, "--unit line", {"x" * 20: "", "y" * 19: "z"})
    told = capsys.readouterr().err
    assert told.startswith("20 characters or more are gone at one place")
    assert told.endswith("--window N reads N words at once: 1 line (2)\n")


def test_an_option_is_not_taken_for_a_longer_one(run, capsys):
    """``--output FILE`` would make a folder of that name, as ``--output-dir``."""
    Path("words.txt").write_text("x\n")
    with pytest.raises(SystemExit):
        run(b"", "words.txt --output new.txt")
    assert "unrecognized arguments: --output new.txt" in capsys.readouterr().err
    assert not Path("new.txt").exists()


@pytest.mark.parametrize(
    "flags, message",
    [
        ("--unit line --window 3", "--window 3 is no size of --unit line; leave one of them out"),
        ("--unit window", "--window N"),
        ("--min-confidence 1.5", "--min-confidence 1.5 is outside"),
        ("--batch-size 0", "--batch-size 0: must be 1 or more"),
        ("--buffer 0", "--buffer 0: must be 1 or more"),
        ("--protect (", "--protect '\\('"),
        ("--protect-words gone.txt", "gone.txt: cannot be read"),
        ("--edits no/e.jsonl", "no/e.jsonl: cannot be written"),
        ("--edits words.txt --protect-words words.txt", "--edits would write over"),
        ("--edits words.txt words.txt", "--edits would write over the input words.txt"),
        ("words.txt gone.txt", "gone.txt: cannot be read; give a text file"),
        ("--csv words.txt words.txt", "--csv would write over the input words.txt"),
        ("--csv e --edits e", "--edits would write over --csv e; choose another name"),
        ("--html words.txt words.txt", "--html would write over the input"),
        ("--html-lines all", "--html-lines all needs --html FILE"),
        ("--csv no/e.csv", "no/e.csv: cannot be written"),
        (".", r"\.: is a folder; give a text file, or --output-dir OUT"),
        ("--skip-invalid words.txt", "--skip-invalid needs --output-dir"),
        ("--output-dir o", "--output-dir needs files or folders"),
        ("--output-dir o words.txt -", "cannot take standard input"),
        ("--output-dir o words.txt gone.txt", "gone.txt: cannot be read"),
        ("--output-dir . words.txt", "--output-dir . would write over words.txt"),
        ("--output-dir words.txt/o words.txt", "words.txt is no folder to write to"),
        ("--output-dir o words.txt --edits o/words.txt", "--edits would write over"),
        ("--output-dir o words.txt --tune words.txt words.txt", "leave FILE out"),
        ("--output-dir o --tune words.txt words.txt", "leave --output-dir out"),
        ("--edits e.jsonl --tune words.txt words.txt", "leave --edits out"),
    ],
)
def test_a_mistake_is_told_before_anything_is_written(run, flags, message):
    Path("words.txt").write_text("x\n")
    with refuses(match=message):
        run(b"a\n", flags)
    assert [path.name for path in Path().iterdir()] == ["words.txt"]
    assert Path("words.txt").read_text() == "x\n"
    assert sys.stdout.buffer.getvalue() == b""


def test_a_run_that_fails_leaves_no_edits(run, monkeypatch):
    def fail(*_):
        raise UserError("no memory")

    monkeypatch.setattr(Words, "write", fail)
    with pytest.raises(UserError, match="no memory"):
        run(b"a\n", "--edits e.jsonl")
    assert list(Path().iterdir()) == []


def test_help_has_its_options_in_groups(capsys):
    with pytest.raises(SystemExit):
        correct.main(["--help"])
    shown = capsys.readouterr().out
    places = [
        shown.index(text)
        for text in ("model:", "--beam", "what is read", "--unit", "output and", "--edits FILE")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("text", ["frequency", "frequency=much", "=1", "edits=inf"])
def test_a_weight_is_a_name_and_a_number(run, text):
    with pytest.raises(UserError, match=f"^--weight {text}: give a name and a number"):
        run(b"", f"--weight edits=-1 --weight {text}")
