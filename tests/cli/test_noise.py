"""The noise command: text in, noisy text or drafts out, whole and in order; tables from pairs."""

import io
import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

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


def test_everything_else_comes_out_byte_for_byte(text):
    Path("in").write_bytes(HOSTILE.encode())
    for flags in ("none", "random", "swap-words", "ocr"):
        run(f"--kind {flags} --word-rate 1")
        made = Path("out").read_bytes().decode()
        assert made.count("\n") == HOSTILE.count("\n")
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


@pytest.mark.parametrize("flags", ["--kind random", DRAFTS])
def test_a_seed_gives_the_same_text_and_another_one_another(text, flags):
    first = run(flags)
    assert run(flags) == first == run(f"{flags} --seed 1")
    other = run(f"{flags} --seed 2")
    assert sum(a == b for a, b in zip(first, other)) < 40


def test_rates_and_limits_are_those_that_are_given(text):
    put("in", [" ".join(["house"] * 10)])
    for flags, changed in (("", 3), ("--word-rate 0.85", 8), ("--word-rate 1 --max-words 4", 4)):
        (line,) = run(f"--kind delete {flags}")
        assert sum(word != "house" for word in line.split()) == changed
    (line,) = run("--kind delete --word-rate 1 --char-rate 0.8 --max-chars 3")
    assert {len(word) for word in line.split()} == {2}
    assert run("--kind delete --min-length 6")[0].split() == ["house"] * 10


def test_a_table_is_learned_and_makes_noise_of_its_kind(text, capsys):
    put("clean", ["modern times", "the modern house", "and mornings"])
    put("noisy", ["modem tirnes", "the modem house", "and rnornings"])
    command.main("--learn-confusions noisy clean table.json --least 1".split())
    assert "table.json: 2 confusions from 3 lines, 40 characters, 4 " in capsys.readouterr().err
    rates = json.loads(Path("table.json").read_text())["rates"]
    assert rates == {"m": {"rn": 0.5}, "rn": {"m": pytest.approx(2 / 3)}}
    noisy = run("--kind ocr --confusions table.json --confusion-scale 2")
    for line, other in zip(text, noisy, strict=True):
        assert other == line.replace("m", "M").replace("rn", "m").replace("M", "rn")


def test_line_n_of_the_drafts_belongs_to_line_n_and_it_is_said_what_was_done(text, capsys):
    put("in", [*text * 4, ""])
    drafts = run(DRAFTS)
    assert len(drafts) == 401 and drafts[-1] == ""
    for line, draft in zip(text * 4, drafts):
        assert len(line.split()) < 6 or set(line.split()) & set(draft.split())
    tokens = 4 * sum(len(line.split()) for line in text)
    said = capsys.readouterr().err.replace(",", "")
    done = {name: int(count) for count, name in re.findall(r"(\d+) (\w+ed)\b", said)}
    assert f"of 401 lines unchanged; of {tokens} tokens" in said
    for name, share in (("dropped", 0.1), ("repeated", 0.05), ("replaced", 0.1)):
        assert done[name] / tokens == pytest.approx(share, abs=0.02)
    longer = sum(len(line.split()) for line in drafts) - tokens
    assert longer == done["repeated"] - done["dropped"]


@pytest.mark.parametrize("flags", [DRAFTS, "--drafts --replace 1 --similar 1", "--drafts --swap 1"])
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
    found = {
        word for line in run("--drafts --replace 1 --vocabulary dict") for word in line.split()
    }
    assert found <= {"ban", "q", "2019", "plain", "w"} and {"ban", "q"} <= found


@pytest.mark.parametrize(
    "flags, said",
    [
        ("--input in", "give --drafts or --kind: one of random"),
        ("--input in --drafts --kind all", "give --drafts or --kind"),
        ("--input in --kind typos", "--kind typos: there is no noise 'typos'; there are random"),
        ("--input in --kind all --word-rate 3", "--word-rate 3.0 is outside [0, 1]"),
        ("--input none --kind all", "no such file: none"),
        ("--input in --kind all --output in", "--output would write over --input in"),
        ("--input in --kind all --output no/out", "--output no/out: no folder no; make it: mkdir"),
        ("--input in --kind all --confusions t", "--confusions t is for ocr noise"),
        ("--input in --kind ocr --confusions t", "t: cannot be read"),
        ("--learn-confusions in none t", "no such file: none"),
        ("--learn-confusions in in t", "no confusion was seen 2 times; give more text"),
        ("--learn-confusions in in in", "--learn-confusions would write over NOISY in"),
        ("--learn-confusions in in t --least 0", "--least 0: give a number of 1 or more"),
        ("--input in --drafts --drop 2", "--drop 2.0 is outside [0, 1]"),
        ("--input in --drafts --drop .6 --replace .6", "make 1.2 together"),
        ("--drafts --replace 1", "--replace takes the tokens of --input FILE"),
        ("--input in --drafts --vocabulary absent", "no such file: absent"),
        ("--input in --drafts --vocabulary bad", "bad: line 2: 'b c' is neither"),
        ("--input in --drafts --vocabulary zero", "zero: no token with a frequency above 0"),
        ("--input latin --kind all --output out", "latin: line 2: byte 2 of the line is not valid"),
    ],
)
def test_what_cannot_be_is_named_and_nothing_is_written(text, flags, said):
    put("bad", ["a 1", "b c"])
    put("zero", ["", "a 0"])
    Path("latin").write_bytes(b"good\nb\xe4d\n")
    assert said in refusal(command.main, *flags.split())
