"""The noise command: text in, noisy text or drafts out, whole and in order; tables from pairs."""

import io
import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

import editdistance
import pytest
from hostile_lines import LINES
from plain_files import put
from refusals import refusal

from lev_plugins.cli import noise as command
from lev_plugins.io.text_files import check_parallel

WORDS = "house quickly brown jumps strange dialects wonderful morning".split()
HOSTILE = "\n".join(LINES) + (
    "\ufeffwords with\ta tab  and   spaces \r\n"
    "\n"
    " \t \n"
    "no\u00a0break a\u2028b c\x85d \x0b e\u0301te\u0301 👩\u200d👩\u200d👧 <unk> </s>\n"
    "carriage\rreturn inside, no line end at the end"
)
DRAFTS = "--drafts --drop 0.1 --repeat 0.05 --swap 0.05 --replace 0.1 --similar 0.5"


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Current folder with ``in``: 100 lines of up to 20 words."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(1, 20))) for _ in range(100)]
    put("in", lines)
    return lines


def run(flags: str) -> list[str]:
    """Lines of ``out``, made from ``in``."""
    command.main(f"--input in --output out {flags}".split())
    return Path("out").read_bytes().decode().split("\n")[:-1]


@pytest.mark.parametrize("flags", ["--kind all", DRAFTS])
def test_line_n_is_line_n_with_noise_and_it_is_said_how_much(text, capsys, flags):
    noisy = run(flags)
    said = capsys.readouterr()
    assert len(noisy) == len(text) and said.out == ""
    pairs = list(zip(text, noisy, strict=True))
    done = {
        "lines": (sum(one != other for one, other in pairs), 100),
        "words": (
            sum(editdistance.eval(one.split(), other.split()) for one, other in pairs),
            sum(len(line.split()) for line in text),
        ),
        "characters": (
            sum(editdistance.eval(*(side.replace(" ", "") for side in pair)) for pair in pairs),
            sum(len(line.replace(" ", "")) for line in text),
        ),
    }
    for what, (changed, whole) in done.items():
        assert f"{what} {changed:,} of {whole:,} ({100 * changed / whole:.2f} %)" in said.err
        assert changed


def test_everything_else_comes_out_byte_for_byte(text):
    Path("in").write_bytes(HOSTILE.encode())
    for flags in ("none", "random", "swap-words", "ocr"):
        run(f"--kind {flags} --word-rate 1")
        made = Path("out").read_bytes().decode()
        assert re.findall(r"\s+", made) == re.findall(r"\s+", HOSTILE)
        assert (made == HOSTILE) == (flags == "none")
    run("--drafts")
    assert Path("out").read_bytes() == HOSTILE.encode(), "without a rate nothing happens"


def test_streams_serve_as_well_as_files(text, monkeypatch, capsysbinary):
    Path("in").write_bytes(HOSTILE.encode())
    for flags in ("--kind delete --seed 3", "--drafts --drop 0.5 --seed 3"):
        expected = run(flags) and Path("out").read_bytes()
        stream = io.TextIOWrapper(io.BytesIO(HOSTILE.encode()), encoding="ascii")
        monkeypatch.setattr(sys, "stdin", stream)
        capsysbinary.readouterr()
        command.main(flags.split())
        assert capsysbinary.readouterr().out == expected


def test_a_table_is_learned_and_makes_noise_of_its_kind(text, capsys):
    put("clean", ["modern times", "the modern house", "and mornings"])
    put("noisy", ["modem tirnes", "the modem house", "and rnornings"])
    command.main("--learn-confusions noisy clean table.json --least 1".split())
    assert "2 confusions from 3 lines, 40 characters, 4 " in capsys.readouterr().err
    rates = json.loads(Path("table.json").read_text())["rates"]
    assert rates == {"m": {"rn": 0.5}, "rn": {"m": pytest.approx(2 / 3)}}
    noisy = run("--kind ocr --confusions table.json --confusion-scale 2")
    for line, other in zip(text, noisy, strict=True):
        assert other == line.replace("m", "M").replace("rn", "m").replace("M", "rn")


@pytest.mark.parametrize("flags", [DRAFTS, "--drafts --replace 1 --similar 1"])
def test_drafts_of_hostile_text_keep_its_lines_for_preprocess(text, flags):
    put("in", LINES * 5)
    drafts = run(flags)
    assert check_parallel(["in", "out"]) == 5 * len(LINES)
    known = {word for line in LINES for word in line.split()}
    assert {word for draft in drafts for word in draft.split()} <= known


def test_replacements_come_from_the_given_vocabulary(text):
    counts = Counter(word for line in text for word in line.split())
    put("words", [f"{word} {count}" for word, count in counts.items()])
    assert run(f"{DRAFTS} --vocabulary words") == run(DRAFTS)
    # a dictionary of fairseq's, with the words that fill it up and a word given twice
    put("dict", ["ban 90", "q 2019", "2019 3", "plain", "w 1 #fairseq:overwrite", "madeupword 0"])
    drafts = run("--drafts --replace 1 --vocabulary dict")
    found = {word for line in drafts for word in line.split()}
    assert found <= {"ban", "q", "2019", "plain", "w"} and {"ban", "q"} <= found


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--input in", "--drafts or --kind"),
        ("--input in --drafts --kind all", "--drafts or --kind"),
        ("--input in --kind typos", "--kind typos"),
        ("--input in --kind all --word-rate 3", "--word-rate 3.0"),
        ("--input none --kind all", "none"),
        ("--input in --kind all --output in", "--output"),
        ("--input in --kind all --output no/out", "no/out"),
        ("--input in --kind all --confusions t", "--confusions t"),
        ("--input in --kind ocr --confusions t", "t: "),
        ("--learn-confusions in none t", "none"),
        ("--learn-confusions in in t", "--least"),
        ("--learn-confusions in in in", "--learn-confusions"),
        ("--learn-confusions in in t --least 0", "--least 0"),
        ("--input in --drafts --drop 2", "--drop 2.0"),
        ("--drafts --replace 1", "--vocabulary"),
        ("--input in --drafts --vocabulary absent", "absent"),
        ("--input in --drafts --vocabulary bad", "bad: line 2"),
        ("--input in --drafts --vocabulary zero", "zero: "),
        ("--input latin --kind all --output out", "latin: line 2"),
    ],
)
def test_what_cannot_be_is_named_and_nothing_is_written(text, flags, said):
    put("bad", ["a 1", "b c"])
    put("zero", ["", "a 0"])
    Path("latin").write_bytes(b"good\nb\xe4d\n")
    assert said in refusal(command.main, *flags.split())
