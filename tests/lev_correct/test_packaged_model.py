"""The model that comes with the package."""

import io
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plain_files import ROOT
from tables import rows, table

from lev_correct import Corrector
from lev_correct.cli import main as correct
from lev_correct.judge.features import ENGLISH
from lev_correct.lines import WORTH
from lev_correct.packaged import ENGLISH_SPELLING
from lev_runtime.io.text_files import read_lines

EXAMPLE = ROOT / "examples" / "spelling_and_ocr"


@pytest.fixture(scope="module")
def packaged():
    return Corrector.from_pretrained()


def misspelt(text: str) -> str:
    """A text in which every 30th word of small letters lacks one, and every 90th is so twice."""
    words = re.split(r"(\b[a-z]{6,}\b)", text)
    for number in range(1, len(words), 60):
        words[number] = words[number][:3] + words[number][4:]
        if number % 180 == 1:
            words[number] += f" {words[number]}"
    return "".join(words)


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.py", "words.txt"])
def test_a_file_has_the_same_corrections_by_every_command(name, packaged, tmp_path, monkeypatch):
    source = ROOT / ("lev_runtime/batching.py" if name == "a.py" else "docs/safety.md")
    text = misspelt(source.read_text(encoding="utf-8"))
    if name == "words.txt":  # a list of words is corrected where somebody names it
        words = re.findall("[a-z]{4,}", text)
        text = "\n".join([*words, "goverment", "beleive", "Beleive", "goverment"]) + "\n"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(correct, "load_corrector", lambda args: packaged)

    def corrected(*words: str, reads: bool = False, patched: bool = False) -> str:
        Path(name).write_text(text, encoding="utf-8")
        monkeypatch.setattr(packaged, "protections", [*protections])
        out = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdout", out)
        assert correct.main([*words, name]) in (0, 1)
        shown = out.buffer.getvalue()
        if patched:
            subprocess.run(["patch", "-s", "-p0"], input=shown, check=True)
        return shown.decode() if reads else Path(name).read_text(encoding="utf-8")

    protections = packaged.protections
    wanted = corrected(reads=True)
    assert wanted != text
    assert corrected("--in-place") == wanted
    assert corrected("--diff", patched=True) == wanted
    assert corrected("check", "--diff", patched=True) == wanted
    assert corrected("check", "--write") == wanted


#: a line, what it becomes, if it does not stay
ALONE = rows(Path(__file__).with_name("alone.tsv").read_text("utf-8"), "\t")


@pytest.mark.parametrize("line, wanted", ALONE)
def test_listed_words_and_doubled_ones_alone_in_a_text(packaged, line, wanted):
    assert packaged.correct([line], document=packaged.document())[0].text == (wanted or line)


def test_both_halves_of_a_divided_word_stay(packaged):
    for hyphen in "-\u2010\u00ad":
        lines = [f"Here is the infor{hyphen}", "mation that we recieve."]
        done = packaged.correct(lines, document=packaged.document())
        assert [line.text for line in done] == [lines[0], "mation that we receive."]


@pytest.mark.parametrize(
    "line, question", table("lev_correct/cases.tsv", "packaged model: questions")
)
def test_a_question_is_printed_and_fails_no_check(
    packaged, capsys, monkeypatch, tmp_path, line, question
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(correct, "load_corrector", lambda args: packaged)
    Path("a.md").write_text(f"{line}\n")
    for flags in ("", "--write"):
        assert correct.main(f"check a.md {flags}".split()) == 0
        assert question in capsys.readouterr().out
    assert correct.main(["check", "a.md", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["offers"] == question.split("?  ")[1].split(", ")
    assert Path("a.md").read_text() == f"{line}\n"


def test_an_edit_of_two_words_tells_its_own_terms(packaged, monkeypatch):
    monkeypatch.setattr("lev_correct.corrector.REASONS", 99)
    (edit,) = packaged.correct(["There are man ypoems in it."])[0].edits
    bias = json.loads(ENGLISH.read_bytes())["kinds"]["put in"]["bias"][0]
    odds = sum(dict(edit.why).values(), bias)
    assert edit.probability == pytest.approx(1 / (1 + math.exp(-odds)))


def test_terms_and_edits_are_the_same_in_requests_of_any_size(packaged):
    term = "Repository manpages (dsc, installable): apt --showsrc prints sources."
    lines = [term, "The the end came."] * 30
    together = [line.text for line in packaged.correct(lines, document=packaged.document())]
    single = [packaged.correct([line], document=packaged.document())[0].text for line in lines]
    assert together == single and together[::2] == lines[::2]


ERRORS = ["I recieved it and teh dog definately beleives."] * 6


@pytest.mark.parametrize("line", ["Essy sings.", "ALON WENT HOME WITH US"])
def test_a_name_stays_where_its_capital_says_nothing_in_a_text_with_errors(packaged, line):
    (named, *_) = packaged.correct([line, *ERRORS], document=packaged.document())
    assert named.text == line and all(edit.probability < WORTH for edit in named.edits)


def test_a_letter_with_a_few_slips_keeps_its_terms(packaged):
    lines = ["The doctor gave her atomoxetine last week and she sleeps better now."]
    lines += ["We made labneh and dukkah for the party, and everybody asked for more."]
    slips = ["I recieved your parcel and teh children were happy.", "She beleives it."]
    corrections = packaged.correct([*lines, *slips], document=packaged.document())
    assert [line.text for line in corrections[:2]] == lines
    assert all(line.text != line.source for line in corrections[2:])


def test_settings_of_this_repository_do_not_keep_what_is_typed_in_it():
    """README's first command, in a clone; what documents misspell on purpose is no setting."""
    program = "from lev_correct.cli.main import run_script; run_script()"
    command = [sys.executable, "-c", program]
    printed = subprocess.check_output(command, input=b"Teh goverment beleives\n", cwd=ROOT)
    assert printed == b"The government believes\n"


def test_words_that_the_files_have_oftener_correct_their_slips(packaged):
    text = packaged.document()
    text.judge.survey(f"The desugaring of {name} is done." for name in "abcde")
    line = "We plan the desguaring of loops."
    assert packaged.correct([line], document=text)[0].text == line
    text.judge.survey([line])
    (correction,) = packaged.correct([line], document=text)
    assert correction.text == "We plan the desugaring of loops."
    assert "oftener in the files" in dict(correction.edits[0].why)


def test_it_keeps_the_figures_of_its_card(packaged):
    wrong, right = zip(*(line.split("\t") for line in read_lines(str(EXAMPLE / "everyday.tsv"))))
    texts = [correction.text for correction in packaged.correct(wrong)]
    card = (ENGLISH_SPELLING / "CARD.md").read_text("utf-8")
    figure = re.search(r"^\| everyday misspellings .*\*\*([\d.]+) %\*\*", card, re.M)[1]
    share = 100 * sum(map(str.__eq__, texts, right)) / len(right)
    assert share == pytest.approx(float(figure), abs=0.1)


def test_right_text_loads_no_graph():
    corrector = Corrector.from_pretrained()
    graphs = corrector.backend.model.model.sessions
    assert corrector.correct(["Please send me the letter."])[0].edits == ()
    assert "encoder" not in graphs
    assert corrector.correct(["Please send me the lettre."])[0].edits
    assert "encoder" in graphs


def test_it_is_small_names_no_place_and_has_no_list_that_may_not_be_passed_on():
    files = list(ENGLISH_SPELLING.iterdir())
    assert sum(path.stat().st_size for path in files) <= 6_000_000
    assert ENGLISH_SPELLING / "corrector.lookup" not in files


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_sentence_alone_is_corrected_the_same_by_every_door(packaged, monkeypatch, tmp_path, end):
    wrong, right = (f"Please send me the invoic{last}.{end}" for last in ("", "e"))
    monkeypatch.setattr(correct, "load_corrector", lambda args: packaged)
    typed, saved = io.BytesIO(wrong.encode()), io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(typed))
    monkeypatch.setattr(sys, "stdout", saved)
    assert correct.main([]) == 0 and saved.buffer.getvalue().decode() == right
    (tmp_path / "a.txt").write_text(wrong)
    assert correct.main(["--in-place", str(tmp_path / "a.txt")]) == 0
    assert (tmp_path / "a.txt").read_text() == right
    assert packaged.correct([wrong])[0].text == right
