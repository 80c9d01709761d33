"""make_drafts: a text becomes drafts, line by line, whole or not at all."""

import os
import random
import re
from pathlib import Path

import pytest
from hostile_lines import LINES
from plain_files import put
from refusals import refusal

from lev_plugins.cli import make_drafts
from lev_plugins.io.text_files import check_parallel, read_lines

NOISE = "--drop 0.1 --repeat 0.05 --swap 0.05 --replace 0.1 --similar 0.5"
HOSTILE = [*LINES, "tab\there  and   there"]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Current folder with ``in``: 400 lines, every seventh empty."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    words = [f"{a}{b}{c}" for a in "bdfk" for b in "aeiou" for c in ("n", "st", "")]
    lines = [" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(400)]
    lines[::7] = [""] * len(lines[::7])
    put("in", lines)
    return lines


def run(flags: str) -> list[str]:
    """Make ``out`` from ``in`` unless the flags say otherwise; gives the lines of ``out``."""
    assert make_drafts.main(f"--input in --output out {flags}".split()) == 0
    return Path("out").read_text(encoding="utf-8").split("\n")[:-1]


def test_line_n_belongs_to_line_n(text):
    drafts = run(NOISE)
    assert len(drafts) == len(text)
    empty = {number for number, line in enumerate(text) if not line}
    for number, (line, draft) in enumerate(zip(text, drafts, strict=True)):
        assert (number in empty) <= (draft == "")
        kept = set(line.split()) & set(draft.split())
        assert len(line.split()) < 6 or kept, f"line {number + 1} shares nothing with its draft"
    assert sum(a != b for a, b in zip(text, drafts, strict=True)) > 200


def test_a_seed_gives_the_same_drafts_and_another_one_others(text):
    first = run(f"{NOISE} --seed 5")
    assert run(f"{NOISE} --seed 5") == first
    assert run(f"{NOISE} --seed 6") != first


def test_without_noise_the_text_comes_out_as_it_is(text):
    put("in", HOSTILE)
    assert run("") == HOSTILE
    assert Path("out").read_bytes() == Path("in").read_bytes()


@pytest.mark.parametrize("flags", [NOISE, "--replace 1 --similar 1", "--repeat 1", "--swap 1"])
def test_hostile_text_keeps_its_lines_for_preprocess(text, flags):
    put("in", HOSTILE * 5)
    run(flags)
    assert check_parallel(["in", "out"]) == 5 * len(HOSTILE)
    known = {word for line in HOSTILE for word in line.split()}
    for line, draft in zip(HOSTILE * 5, read_lines("out"), strict=True):
        assert set(draft.split()) <= known
        if not line.strip():
            assert draft == line


def test_windows_line_ends_and_a_missing_last_one_are_read(text):
    put("in", ["a b", "", "c"], "\r\n")
    assert run("") == ["a b", "", "c"]
    Path("in").write_text("a b\n\nc")
    assert run("") == ["a b", "", "c"]


def test_full_drop_empties_every_line(text):
    assert run("--drop 1") == [""] * len(text)


def test_parts_of_a_file_get_the_drafts_of_the_whole(text):
    counts: dict[str, int] = {}
    for word in " ".join(text).split():
        counts[word] = counts.get(word, 0) + 1
    put("words", [f"{word} {count}" for word, count in counts.items()])
    whole = run(NOISE)
    assert run(f"{NOISE} --vocabulary words") == whole
    put("second", text[150:])
    part = run(f"{NOISE} --vocabulary words --input second --first-line 151")
    assert part == whole[150:]


def test_replacements_come_from_the_given_vocabulary(text):
    # a dictionary of fairseq's, with the words that fill it up and a word given twice
    put("dict", ["ban 90", "q 2019", "2019 3", "plain", "w 1 #fairseq:overwrite", "madeupword 0"])
    found = {word for line in run("--replace 1 --vocabulary dict") for word in line.split()}
    assert found <= {"ban", "q", "2019", "plain", "w"} and {"ban", "q"} <= found
    assert make_drafts.read_vocabulary("dict")["plain"] == 1


def test_the_summary_tells_what_was_done(text, capsys):
    drafts = run(NOISE)
    said = capsys.readouterr()
    assert said.out == ""
    tokens = sum(len(line.split()) for line in text)
    empty = text.count("")
    same = sum(a == b for a, b in zip(text, drafts, strict=True))
    assert f"out: 400 lines ({empty} of them empty), {tokens:,} tokens of in" in said.err
    done = {
        name: (int(count.replace(",", "")), float(share), float(asked))
        for name, count, share, asked in re.findall(
            r"(\w+) +([\d,]+) \(([\d.]+) %, asked for ([\d.]+) %\)", said.err
        )
    }
    assert {name: asked for name, (_, _, asked) in done.items()} == {
        "dropped": 10,
        "repeated": 5,
        "swapped": 5,
        "replaced": 10,
        "similar": 50,
    }
    for name in ("dropped", "repeated", "replaced"):
        count, share, asked = done[name]
        assert share == pytest.approx(100 * count / tokens, abs=0.006)
        assert share == pytest.approx(asked, abs=2)
    longer = sum(len(line.split()) for line in drafts) - tokens
    assert longer == done["repeated"][0] - done["dropped"][0]
    assert f"unchanged  {same} lines; emptied by --drop: {drafts.count('') - empty}" in said.err
    assert "replacements come from 60 tokens" in said.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--input absent --output out", "no such file: absent"),
        ("--input in --output in", "--output would write over --input in"),
        ("--input in --output ./in", "--output would write over --input in"),
        ("--input in --output no/out", "no folder no; make it: mkdir -p no"),
        ("--input in --output out --drop 2", "--drop 2.0 is outside [0, 1]"),
        ("--input in --output out --drop .6 --replace .6", "make 1.2 together"),
        ("--input in --output out --vocabulary absent", "no such file: absent"),
        ("--input in --output in2 --vocabulary bad", "bad: line 2: 'b c' is neither"),
        ("--input in --output bad --vocabulary bad", "--output would write over --vocabulary bad"),
        ("--input in --output in2 --vocabulary zero", "zero: no token with a frequency above 0"),
        ("--input in --output in2 --vocabulary special", "special: line 1, word 1: </s> is a"),
        ("--input special --output out", "special: line 1, word 1: </s> is a control symbol"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(text, flags, said):
    put("bad", ["a 1", "b c"])
    put("zero", ["", "a 0"])
    put("special", ["</s> 3"])
    assert said in refusal(make_drafts.main, *flags.split())


def test_an_old_output_survives_a_failure(text, monkeypatch):
    put("out", ["old"])
    Path("in").write_bytes(Path("in").read_bytes() + b"\xff\n")
    assert "line 401" in refusal(make_drafts.main, *"--input in --output out --drop 0.5".split())
    assert sorted(os.listdir()) == ["in", "out"]

    def interrupted(*_):
        raise KeyboardInterrupt

    put("in", text)
    monkeypatch.setattr(make_drafts, "noisy_line", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_drafts.main(["--input", "in", "--output", "out"])
    assert sorted(os.listdir()) == ["in", "out"] and Path("out").read_text() == "old\n"
