"""The noise command: text in, noisy text out, whole and in order; tables from pairs."""

import io
import json
import random
import sys
from pathlib import Path

import pytest
from plain_files import HOSTILE as LINES
from plain_files import put
from refusals import refusal
from tables import table

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
def text(tmp_path, monkeypatch):
    """Current folder with ``in``: 100 lines of up to 20 words."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(1, 20))) for _ in range(100)]
    put("in", lines)
    return lines


def run(flags: str) -> str:
    """What ``out`` holds, made from ``in``."""
    command.main(f"--input in --output out {flags}".split())
    return Path("out").read_bytes().decode()


def test_everything_else_comes_out_byte_for_byte(text, monkeypatch, capsysbinary):
    Path("in").write_bytes(HOSTILE.encode())
    assert run("--kind none") == HOSTILE
    stream = io.TextIOWrapper(io.BytesIO(HOSTILE.encode()), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", stream)
    command.main("--kind delete --seed 3".split())
    assert capsysbinary.readouterr().out.decode() == run("--kind delete --seed 3")


def test_a_table_is_learned_and_makes_noise_of_its_kind(text):
    put("clean", ["modern times", "the modern house", "and mornings"])
    put("noisy", ["modem tirnes", "the modem house", "and rnornings"])
    command.main("--learn-confusions noisy clean table.json".split())
    rates = json.loads(Path("table.json").read_text())["rates"]
    assert rates == {"m": {"rn": 0.5}, "rn": {"m": pytest.approx(2 / 3)}}
    noisy = run("--kind ocr --confusions table.json --confusion-scale 2").split("\n")[:-1]
    for line, other in zip(text, noisy, strict=True):
        assert other == line.replace("m", "M").replace("rn", "m").replace("M", "rn")


@pytest.mark.parametrize("flags, message", table("cli/refused.tsv", "noise"))
def test_what_cannot_be_is_named_and_nothing_is_written(text, flags, message):
    Path("latin").write_bytes(b"good\nb\xe4d\n")
    assert message in refusal(command.main, *flags.split())
