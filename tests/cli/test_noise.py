"""The noise command: text in, noisy text out, whole and in order; tables learned from pairs."""

import io
import json
import random
import re
import sys
from pathlib import Path

import pytest
from hostile_lines import LINES
from refusals import refusal

from lev_plugins.cli import noise as command

WORDS = "house quickly brown jumps strange dialects wonderful morning".split()
HOSTILE = "\n".join(LINES) + (
    "\ufeffwords with\ta tab  and   spaces \r\n"
    "\n"
    " \t \n"
    "no\u00a0break a\u2028b c\x85d \x0b e\u0301te\u0301 👩\u200d👩\u200d👧 <unk> </s>\n"
    "carriage\rreturn inside, no line end at the end"
)


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Current folder with ``in``: 100 lines of up to 20 words."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(1, 20))) for _ in range(100)]
    Path("in").write_text("".join(line + "\n" for line in lines))
    return lines


def run(flags: str) -> list[str]:
    """Lines of ``out``, made from ``in``."""
    assert command.main(f"--input in --output out {flags}".split()) == 0
    return Path("out").read_bytes().decode().split("\n")[:-1]


def test_line_n_is_line_n_with_noise_and_it_is_said_how_much(text, capsys):
    noisy = run("--kind all")
    said = capsys.readouterr()
    assert len(noisy) == len(text) and said.out == ""
    changed = total = 0
    for line, other in zip(text, noisy, strict=True):
        pairs = list(zip(line.split(), other.split(), strict=True))
        different = sum(one != two for one, two in pairs)
        assert different == min(10, max(1, len(pairs) * 3 // 10))
        changed, total = changed + different, total + len(pairs)
    assert f"lines 100 of 100 (100.00 %), words {changed} of {total:,} (" in said.err
    assert re.search(r"characters [\d,]+ of [\d,]+ \(\d\d?\.\d\d %\)\n$", said.err)


def test_everything_else_comes_out_byte_for_byte(text):
    Path("in").write_bytes(HOSTILE.encode())
    for kind in ("none", "random", "swap-words", "ocr"):
        assert command.main(f"--input in --output out --kind {kind} --word-rate 1".split()) == 0
        made = Path("out").read_bytes().decode()
        assert made.count("\n") == HOSTILE.count("\n")
        assert re.findall(r"\s+", made) == re.findall(r"\s+", HOSTILE)
        assert (made == HOSTILE) == (kind == "none")


def test_streams_serve_as_well_as_files(text, monkeypatch, capsysbinary):
    Path("in").write_bytes(HOSTILE.encode())
    expected = run("--kind delete --seed 3") and Path("out").read_bytes()
    stream = io.TextIOWrapper(io.BytesIO(HOSTILE.encode()), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", stream)
    capsysbinary.readouterr()
    assert command.main("--kind delete --seed 3".split()) == 0
    assert capsysbinary.readouterr().out == expected


def test_a_seed_gives_the_same_text_and_another_one_another(text):
    first = run("--kind random")
    assert run("--kind random") == first == run("--kind random --seed 1")
    other = run("--kind random --seed 2")
    assert sum(a == b for a, b in zip(first, other)) < 5


def test_a_part_of_a_file_gets_the_noise_of_the_whole(text):
    whole = run("--kind swap,keyboard")
    Path("in").write_text("".join(line + "\n" for line in text[40:60]))
    assert run("--kind swap,keyboard --first-line 41") == whole[40:60]
    assert run("--kind swap,keyboard") != whole[40:60]


def test_rates_and_limits_are_those_that_are_given(text):
    Path("in").write_text("house house house house house house house house house house\n")
    for flags, changed in (("", 3), ("--word-rate 0.85", 8), ("--word-rate 1 --max-words 4", 4)):
        (line,) = run(f"--kind delete {flags}")
        assert sum(word != "house" for word in line.split()) == changed
    (line,) = run("--kind delete --word-rate 1 --char-rate 0.8 --max-chars 3")
    assert {len(word) for word in line.split()} == {2}
    assert run("--kind delete --min-length 6")[0].split() == ["house"] * 10
    (line,) = run("--kind random --random-edits insert --word-rate 1")
    assert {len(word) for word in line.split()} == {6}


def test_a_table_is_learned_and_makes_noise_of_its_kind(text, capsys):
    Path("clean").write_text("modern times\nthe modern house\nand mornings\n")
    Path("noisy").write_text("modem tirnes\nthe modem house\nand rnornings\n")
    assert command.main("--learn-confusions noisy clean table.json --least 1".split()) == 0
    assert capsys.readouterr().err == (
        "table.json: 2 confusions from 3 lines, 40 characters, 4 differences; left out: 0 with a "
        "space, 0 too long, 0 too rare, 0 lines too different to compare\n"
    )
    rates = json.loads(Path("table.json").read_text())["rates"]
    assert rates == {"m": {"rn": 0.5}, "rn": {"m": pytest.approx(2 / 3)}}
    noisy = run("--kind ocr --confusions table.json --confusion-scale 2")
    for line, other in zip(text, noisy, strict=True):
        assert other == line.replace("m", "M").replace("rn", "m").replace("M", "rn")


@pytest.mark.parametrize(
    "flags, said",
    [
        ("--input in", "--kind is missing; give one of random"),
        ("--input in --kind typos", "--kind typos: there is no noise 'typos'; there are random"),
        ("--input in --kind all --word-rate 3", "--word-rate 3.0 is outside [0, 1]"),
        ("--input in --kind all --max-words 0", "--max-words 0: give a number of 1 or more"),
        ("--input in --kind random --random-edits x", "--random-edits x: there is no edit 'x'"),
        ("--input in --kind all --first-line 0", "--first-line 0: lines are counted from 1"),
        ("--input none --kind all", "no such file: none"),
        ("--input in --kind all --output in", "--output would write over --input in"),
        ("--input in --kind all --output no/out", "--output no/out: no folder no; make it: mkdir"),
        ("--input in --kind all --confusions t", "--confusions t is for ocr noise"),
        ("--input in --kind ocr --confusions t", "t: cannot be read"),
        ("--learn-confusions in none t", "no such file: none"),
        ("--learn-confusions in in t", "no confusion was seen 2 times; give more text"),
        ("--learn-confusions in in in", "--learn-confusions would write over NOISY in"),
        ("--learn-confusions in in t --least 0", "--least 0: give a number of 1 or more"),
        ("--learn-confusions in in no/t", "--learn-confusions no/t: no folder no"),
    ],
)
def test_what_cannot_be_is_named(text, flags, said):
    assert said in refusal(command.main, *flags.split())


def test_bytes_that_are_no_text_leave_nothing_behind(text):
    Path("in").write_bytes(b"good\nb\xe4d\n")
    assert refusal(command.main, *"--input in --output out --kind all".split()).startswith(
        "in: line 2: byte 2 of the line is not valid UTF-8"
    )
