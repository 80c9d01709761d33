"""Gates as JSON, page and picture, the command that writes them, and their analysis."""

import csv
import io
import json
import re
import struct
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gate_analysis as analysis
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.cli import gates as command
from lev_plugins.errors import UserError
from lev_plugins.io.lines import json_line
from lev_plugins.reports.gates import picture, recorder
from lev_plugins.reports.gates.page import render_html
from lev_plugins.reports.gates.record import Record, average, read_records
from lev_plugins.reports.gates.scale import Scale, gate_scales
from lev_plugins.reports.gates.words import pieces, subword_marks
from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

UNSAFE = "<script>alert(1)</script>&\"'\u2028\0\x1b[31m\u202e{brace}"
RISKY = st.text(
    st.sampled_from("<>&\"'/\0\x1b\u2028\u202e{}%-! é") | st.characters(), min_size=1, max_size=6
)


def record(source: str = "a b", target: str = "c", line: int = 1, **fields: Any) -> Record:
    """A record of all four gates; tokens are words unless they are given."""
    sources = [*fields.pop("source_tokens", source.split()), "</s>"]
    targets = [*fields.pop("target_tokens", target.split()), "</s>"]
    values: dict[str, Any] = {
        "mask": [0.1 * (i % 10) for i in range(len(sources))],
        "copy": [0.3] * len(targets),
        "generate": [0.5] * len(targets),
        "skip": [0.2] * len(targets),
        "log_probability": [-0.1] * len(targets),
        "forced": False,
        "variant": "paper",
    } | fields
    return Record(line, source, sources, target=target, target_tokens=targets, **values)


# words ----------------------------------------------------------------------------------------


def words(tokens: list[str]) -> list[str]:
    """Words with a bar between their tokens."""
    shown: list[str] = []
    for piece in pieces(tokens, subword_marks(tokens)):
        if piece.starts:
            shown.append(piece.text)
        else:
            shown[-1] += "|" + piece.text
    return shown


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("\u2581girl \u2581re covers </s>", ["girl", "re|covers", "</s>"]),
        ("girl recover ##s ; # </s>", ["girl", "recover|s", ";", "#", "</s>"]),
        ("girl re@@ co@@ vers </s>", ["girl", "re|co|vers", "</s>"]),
        ("girl \u0120re covers </s>", ["girl", "re|covers", "</s>"]),
        ("a b \u2581 c </s>", ["a|b", "\u2423", "c", "</s>"]),
        ("a b c <unk> d </s>", ["a|b|c", "<unk>", "d", "</s>"]),
        ("girl recovers </s>", ["girl", "recovers", "</s>"]),
        ("</s>", ["</s>"]),
        ("## @@ \u2581", ["##|@@", "\u2423"]),
    ],
)
def test_tokens_are_joined_to_words_by_what_marks_them(tokens, expected):
    assert words(tokens.split()) == expected


@given(st.lists(RISKY | st.sampled_from(["\u2581", "##a", "b@@", "</s>", "\u0120x"]), max_size=8))
def test_every_token_is_shown_and_the_first_begins_a_word(tokens):
    shown = pieces(tokens, subword_marks(tokens))
    assert len(shown) == len(tokens)
    assert all(piece.text for piece in shown)
    assert not shown or shown[0].starts


# shades ---------------------------------------------------------------------------------------


def test_a_scale_runs_from_the_lowest_to_the_highest_value_or_from_0_to_1():
    rows = [record(mask=[0.0, 0.2, 0.9], copy=[0.31, 0.32], generate=[0.5, 0.47], skip=None)]
    found = gate_scales(rows, "data")
    assert found["mask"] == Scale(0.0, 0.9)
    assert found["copy"] == found["generate"] == Scale(0.3, 0.5) and "skip" not in found
    assert set(gate_scales(rows, "unit").values()) == {Scale(0.0, 1.0)}
    shades = [Scale(0.3, 0.5).shade(value) for value in (0.1, 0.3, 0.4, 0.5, 0.9)]
    assert shades == [0, 0, 5, 10, 10]


@pytest.mark.parametrize("value", [0.0, 0.3, 0.5, 1.0])
def test_a_value_that_never_changes_has_a_scale_too(value):
    scale = gate_scales([record(mask=[value] * 3)], "data")["mask"]
    assert scale.low < scale.high
    assert scale.low <= value <= scale.high


# page -----------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Cells of a page: (title, text, percent)."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.cells: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag in ("meta", "link", "br"):
            return
        self.open.append(tag)
        names = dict(attrs)
        if "cell" in (names.get("class") or "").split():
            self.cells.append([names["title"]])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("b", "i") and self.cells and "article" in self.open:
            self.cells[-1].append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def test_a_page_shows_each_token_with_its_probability():
    one = record("girl crickter", "girl", mask=[0.05, 0.97, 0.0], copy=[0.5, 0.25])
    reader = read(render_html([one], "Gates"))
    assert reader.cells[:4] == [
        ["0.0500", "girl", "5"],
        ["0.9700", "crickter", "97"],
        ["0.0000", "</s>", "0"],
        ["0.5000", "girl", "50"],
    ]
    assert len(reader.cells) == 3 + 3 * 2
    page = render_html([one], "Gates")
    assert 'class="cell c10" title="0.9700"' in page, "the darkest is the highest"
    assert "mask: 0.00<span" in page and "copy, generate, skip: 0.20<span" in page
    assert "Line 1: the target is the model's own" in page


def test_gates_that_are_off_are_left_out_and_the_text_stands_in_their_place():
    page = render_html([record("a b", "c", mask=None, skip=None)], "t")
    assert len(read(page).cells) == 2 * 2 and ">a b</p>" in page
    page = render_html([record("a b", "see", copy=None, generate=None, skip=None)], "t")
    assert len(read(page).cells) == 3 and ">see</p>" in page
    page = render_html([record("", "", mask=None)], "t")
    assert '<span class="note">empty</span>' in page


def test_numbers_stand_below_words_and_not_below_characters():
    assert 'class="heat"' in render_html([record("girl cricketer", "girl")], "t")
    assert 'class="heat dense"' in render_html([record("g i r l", "g i")], "t")
    assert ".dense .cell i { display: none; }" in render_html([], "")


# picture --------------------------------------------------------------------------------------


def test_a_picture_is_a_png_of_any_text():
    rows = [record(UNSAFE, "$x$ 漢字", line=3), record("word " * 80, "", mask=[0.5] * 81)]
    png = picture.draw(rows, "a $ title\n<b>")
    assert png.startswith(b"\x89PNG\r\n") and len(png) > 5000
    assert png != picture.draw(rows, "a $ title\n<b>", "unit")


def test_a_picture_grows_by_rows_and_not_in_width():
    sizes = []
    for words in (3, 60, 240):
        png = picture.draw([record("word " * words, "x")], "title")
        sizes.append(struct.unpack(">II", png[16:24]))
    assert sizes[0][0] == sizes[1][0] == sizes[2][0]
    assert sizes[0][1] < sizes[1][1] < sizes[2][1]


# command --------------------------------------------------------------------------------------


class FakeRecorder:
    """Answers every line with itself in capitals."""

    made: list[tuple[Any, ...]] = []

    def __init__(self, *args: Any) -> None:
        FakeRecorder.made.append(args)

    def records(self, sources: Any, targets: Any, batch_size: int, first: int) -> Any:
        for i, source in enumerate(sources):
            target = source.upper() if targets is None else targets[i]
            yield record(source, target, first + i, forced=targets is not None)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Runs a command with standard input; returns what it printed."""
    monkeypatch.setattr(recorder, "Recorder", FakeRecorder)

    def call(*arguments: str, stdin: str = "", main: Any = command.main) -> tuple[str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        main([str(one) for one in arguments])
        return capsys.readouterr()

    return call


def refusal(run: Any, *arguments: Any, **options: Any) -> str:
    with refuses() as caught:
        run(*arguments, **options)
    return str(caught.value)


LINES = ["a b", "", "c \u2028 d", "e"]


def test_every_line_comes_out_in_order(run, tmp_path):
    flags = ("--path", "x.pt", "--batch-size", "1", "--html", tmp_path / "p.html")
    out, err = run(*flags, stdin="".join(f"{line}\n" for line in LINES))
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["source"] for one in found] == LINES
    assert [one["line"] for one in found] == [1, 2, 3, 4]
    assert (tmp_path / "p.html").read_text().count("<article>") == 4
    assert f"4 lines written to {tmp_path / 'p.html'}" in err
    out, _ = run("--path", "x.pt", stdin="")
    assert out == ""


def test_lines_for_page_and_picture_can_be_chosen(run, tmp_path):
    page, image = tmp_path / "p.html", tmp_path / "p.png"
    flags = ("--path", "x.pt", "--html", page, "--png", image, "--show", "4, 1-2")
    out, err = run(*flags, stdin="".join(f"{line}\n" for line in LINES))
    assert out.count("\n") == 4 and "3 of 4 lines; choose them with --show" in err
    numbers = re.findall(r"<h2>Line (\d+)", page.read_text())
    assert numbers == ["1", "2", "4"]
    assert image.read_bytes().startswith(b"\x89PNG")


def test_targets_are_forced_line_by_line(run, tmp_path):
    (tmp_path / "t").write_text("X\nY\n")
    (tmp_path / "s").write_text("x\ny\n")
    flags = ("--path", "x.pt", "--target", tmp_path / "t")
    out, _ = run(*flags, "--input", tmp_path / "s")
    assert [json.loads(line)["target"] for line in out.splitlines()] == ["X", "Y"]
    assert "has 2 lines, the input more" in refusal(run, *flags, stdin="a\nb\nc\n")
    assert "more lines than the input, which has 1" in refusal(run, *flags, stdin="a\n")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--beam", "0"], "--beam 0: must be 1 or more"),
        (["--batch-size", "-1"], "--batch-size -1: must be 1 or more"),
        (["--max-len-b", "0"], "not both 0"),
        (["--html", "-"], "--html needs the name of a file"),
        (["--png", ""], "--png needs the name of a file"),
        (["--html", "x", "--png", "./x"], "--png would write over --html x"),
        (["--show", "1,x"], "'x' is no line"),
        (["--show", "0"], "'0' is no range of lines"),
        (["--show", "3-2"], "'3-2' is no range of lines"),
        (["--png", "x", "--show", "1-41"], "a picture of 41 lines; choose 40 at most"),
        (["--input", "not there"], "not there: cannot be read"),
        (["--target", "not there"], "not there: cannot be read"),
    ],
)
def test_mistakes_are_told_before_a_model_loads(run, flags, said):
    FakeRecorder.made.clear()
    assert said in refusal(run, "--path", "x.pt", *flags)
    assert not FakeRecorder.made


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A recorder over models, loaded from a path."""

    def make(path: str, *models: Any) -> recorder.Recorder:
        symbols = tiny.dictionary()
        task = SimpleNamespace(
            source_dictionary=symbols,
            target_dictionary=symbols,
            build_generator=lambda *given: "search",
            max_positions=lambda: (9, 9),
        )
        backend = SimpleNamespace(models=[made(task) for made in models], task=task)
        monkeypatch.setattr(recorder, "load_backend", lambda *_, **__: backend)
        return recorder.Recorder(path)

    return make


def gated(gates: str) -> Any:
    """Makes a model with these gates."""
    sizes = {"encoder_embed_dim": 8, "encoder_layers": 1, "decoder_layers": 1}
    limits = {"max_source_positions": 9, "max_target_positions": 9}
    cfg = GatedTransformerConfig(gates=gates, **sizes, **limits)
    return lambda task: GatedTransformerModel.build_model(cfg, task)


def test_checkpoints_without_gates_are_refused(recorded):
    for gates in ("mask", "copy,generate"):
        assert recorded("x.pt", gated(gates)).longest_source == 9
    other = type("Other", (), {})
    for models, said in (
        ([gated("none")], "x.pt was trained with --gates none: there is nothing"),
        ([lambda task: other()], "x.pt is no gated model; train one with --arch"),
        ([gated("mask")] * 2, "x.pt: gates are those of one model; name one checkpoint"),
    ):
        with pytest.raises(UserError, match=said):
            recorded("x.pt", *models)


def test_nothing_is_written_where_a_chosen_line_is_not_there(run, tmp_path):
    said = refusal(
        run, "--path", "x.pt", "--html", tmp_path / "p", "--json", tmp_path / "j", "--show", "1,9",
        stdin="a\n",
    )  # fmt: skip
    assert said == "--show: there is no line 9; the input has 1"
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_a_picture_is_refused_in_one_line(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = refusal(run, "--path", "x.pt", "--png", tmp_path / "p.png", stdin="a\n")
    assert "pip install 'lev_plugins[report]'" in said and not list(tmp_path.iterdir())
    write(tmp_path / "g", [record()])
    said = refusal(run, tmp_path / "g", "--png", tmp_path / "p", main=analysis.main)
    assert "pip install 'lev_plugins[report]'" in said


# records --------------------------------------------------------------------------------------


def write(path: Path, records: list[Record]) -> Path:
    path.write_text("".join(json_line(one.to_dict()) for one in records), "utf-8")
    return path


def test_what_was_written_is_read_again(tmp_path):
    rows = [record(), record(UNSAFE, "", skip=None), record("", "", mask=None)]
    assert list(read_records(str(write(tmp_path / "g", rows)))) == rows


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "line 2 is not JSON"),
        ("[1]", "line 2 is no record of gates"),
        ('{"line": 1}', "line 2 is no record of gates"),
        (json.dumps(record().to_dict() | {"mask": [0.1]}), "line 2: mask has 1 of 3 values"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path, line, said):
    path = write(tmp_path / "g", [record()])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(UserError, match=re.escape(f"{path}: {said}")):
        list(read_records(str(path)))


def test_an_average_is_over_the_text_alone():
    assert average([0.2, 0.4, 0.9]) == pytest.approx(0.3)
    assert average([0.9]) is None and average(None) is None


# analysis -------------------------------------------------------------------------------------


@pytest.fixture
def analysed(tmp_path: Path) -> list[str]:
    """Ten lines of four words, of which 0, 1, 2 … are wrong; mask follows the noise."""
    rows, clean = [], []
    for number in range(10):
        wrong = number % 5
        words = ["x"] * wrong + ["a"] * (4 - wrong)
        target = "a a a" if wrong == 4 else "a a a a"
        mask = [0.1 * wrong] * 4 + [0.9]
        rows.append(record(" ".join(words), target, number + 1, mask=mask, skip=None))
        clean.append("a a a a")
    rows.append(record("z", "", 11, skip=None))
    clean.append("")
    (tmp_path / "clean").write_text("".join(f"{line}\n" for line in clean))
    return [str(write(tmp_path / "gates.jsonl", rows)), "--reference", str(tmp_path / "clean")]


def test_noise_is_what_wrr_lacks_and_gates_are_related_to_it(run, tmp_path, analysed):
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "png")}
    flags = [part for kind, path in files.items() for part in (f"--{kind}", path)]
    out, _ = run(*analysed, *flags, "--classes", "9", main=analysis.main)
    (found,) = json.loads(files["json"].read_text())["systems"]
    assert found["gates"] == ["mask", "copy", "generate"] and found["lines"] == 11
    assert found["without_noise"] == found["without_wrr"] == 1
    by_noise = found["by_noise"]
    assert [one["mean"] for one in by_noise["classes"]] == [0, 25, 50, 75, 100]
    assert [one["lines"] for one in by_noise["classes"]] == [2] * 5
    masks = [one["mask"] for one in by_noise["classes"]]
    assert masks == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    assert by_noise["correlation"]["mask"] == pytest.approx(1)
    assert by_noise["correlation"]["copy"] is None, "it never changes"
    assert [one["mean"] for one in found["by_length"]["classes"]] == [1, 4]
    assert found["wrr_by_gate"]["mask"]["correlation"] < -0.5
    assert found["wrr_by_gate"]["mask"]["classes"][-1]["wrr"] == 75
    assert "correlation" in out and "noise of 1 line is not known" in out
    rows = list(csv.DictReader(files["csv"].open()))
    assert [row["line"] for row in rows] == [str(i) for i in range(1, 12)]
    assert float(rows[1]["noise"]) == 25 and rows[10]["noise"] == rows[10]["skip"] == ""
    assert files["png"].read_bytes().startswith(b"\x89PNG")


def test_mistakes_of_the_analysis_are_one_line(run, tmp_path, analysed):
    path = analysed[0]

    def said(*flags: Any) -> str:
        return refusal(run, *flags, main=analysis.main)

    (tmp_path / "short").write_text("a\n")
    (tmp_path / "none").write_text("")
    assert "has 11, " in said(path, "--reference", tmp_path / "short")
    assert "2 files for 1 JSONL files" in said(path, "--clean", "a", "b")
    assert "--classes 0" in said(path, "--classes", "0")
    assert "would be written over" in said(path, "--json", path)
    assert "would be written over" in said(path, "--json", "x", "--csv", "x")
    assert "need the name of a file" in said(path, "--csv", "-")
    assert "has no lines" in said(tmp_path / "none")
