"""Gates as JSON, text, page and picture, the command that shows them, and their analysis."""

import csv
import io
import json
import re
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gate_analysis as analysis
import gate_figures
import gate_pictures
import pytest
import tiny
from refusals import refuses

from lev_plugins.cli import trace as command
from lev_plugins.errors import UserError
from lev_plugins.io.lines import json_line
from lev_plugins.reports import gate_recorder
from lev_plugins.reports.gates import Record, render_html, render_text
from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

UNSAFE = "<script>alert(1)</script>&\"'\u2028\0\x1b[31m\u202e{brace}"


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


# text and page ----------------------------------------------------------------------------------


def test_each_token_stands_with_its_probability_and_gates_that_are_off_are_left_out():
    one = record("girl crickter", "girl", mask=[0.05, 0.97, 0.0], copy=[0.5, 0.25], skip=None)
    assert render_text(one).splitlines() == [
        "(line 1)        source » girl crickter",
        "                target » girl",
        "                mask   » girl 5  crickter 97  </s> 0",
        "                copy   » girl 50  </s> 25",
        "                generate » girl 50  </s> 50",
    ]
    page = render_html([one], "Gates")
    cells = re.findall(r'--p: ([0-9.]+)" title="\1"><b>(.*?)</b><i>(\d+)</i>', page)
    assert cells[:2] == [("0.0500", "girl", "5"), ("0.9700", "crickter", "97")]
    assert len(cells) == 3 + 2 * 2 and page.count('class="cell dark"') == 1
    assert "<dt>mask, mean</dt><dd>0.340</dd>" in page and "skip, mean" not in page


def test_a_picture_grows_by_rows_and_takes_any_text(tmp_path):
    sizes = []
    for rows in ([record(UNSAFE, "$x$ 漢字")], [record("word " * 80, "x"), record("", "")]):
        gate_pictures.main([str(write(tmp_path / "g", rows)), str(tmp_path / "png")])
        png = (tmp_path / "png").read_bytes()
        sizes.append(struct.unpack(">II", png[16:24]))
    assert sizes[0][0] == sizes[1][0] and sizes[0][1] < sizes[1][1]
    with refuses("none of the lines [7]"):
        gate_pictures.main([str(tmp_path / "g"), str(tmp_path / "x"), "--lines", "7"])


# command --------------------------------------------------------------------------------------


class FakeRecorder:
    """Answers every line with itself in capitals."""

    def __init__(self, path: str, beam: int, **options: Any) -> None:
        assert (path, beam, options["device"]) == ("x.pt", 3, "cpu")

    def records(self, pairs: Any, batch_size: int, first: int) -> Any:
        for i, (source, target) in enumerate(pairs):
            written = source.upper() if target is None else target
            yield record(source, written, first + i, forced=target is not None)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Runs a command with standard input; returns what it printed."""
    monkeypatch.setattr(gate_recorder, "has_gates", lambda path: True)
    monkeypatch.setattr(gate_recorder, "Recorder", FakeRecorder)

    def call(*arguments: Any, stdin: str = "", main: Any = command.main) -> tuple[str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        main([str(one) for one in arguments])
        return capsys.readouterr()

    return call


MODEL = ("--path", "x.pt", "--beam", "3", "--device", "cpu", "--batch-size", "1")


def test_every_line_comes_out_in_order_and_targets_are_forced(run, tmp_path):
    lines = ["a b", "", "c \u2028 d", "e\tf", *"abcdefgh"]  # of more than one chunk
    flags = ("--html", tmp_path / "p.html", "--json", tmp_path / "j")
    out, _ = run(*MODEL, *flags, stdin="".join(f"{line}\n" for line in lines))
    found = [json.loads(line) for line in (tmp_path / "j").read_text("utf-8").splitlines()]
    assert [one["source"] for one in found] == [line.split("\t")[0] for line in lines]
    assert [one["line"] for one in found] == list(range(1, 13))
    assert [one["forced"] for one in found] == [False] * 3 + [True] + [False] * 8
    assert found[3]["target"] == "f"
    assert (tmp_path / "p.html").read_text().count("<article>") == 12
    assert re.findall(r"^\(line (\d+)\)", out, re.M) == [str(i) for i in range(1, 13)]
    out, _ = run(*MODEL, "--json", stdin="a\n")
    assert json.loads(out)["target"] == "A"


@pytest.mark.parametrize("flags", [("--max-iter", "3"), ("--markup",)])
def test_options_of_edit_models_are_refused(run, flags):
    with refuses(f"{flags[0]} is for an edit model, and x.pt is none"):
        run(*MODEL, *flags)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A recorder over models, loaded from a path."""

    def make(*gates: str) -> gate_recorder.Recorder:
        symbols = tiny.dictionary()
        task = SimpleNamespace(
            source_dictionary=symbols,
            target_dictionary=symbols,
            build_generator=lambda *given: "search",
            max_positions=lambda: (9, 9),
        )
        models = [gated(one, task) for one in gates]
        backend = SimpleNamespace(models=models, task=task)
        monkeypatch.setattr(gate_recorder, "load_backend", lambda *_, **__: backend)
        return gate_recorder.Recorder("x.pt", 5)

    return make


def gated(gates: str, task: Any) -> GatedTransformerModel:
    """A model with these gates."""
    sizes = {"encoder_embed_dim": 8, "encoder_layers": 1, "decoder_layers": 1}
    limits = {"max_source_positions": 9, "max_target_positions": 9}
    return GatedTransformerModel.build_model(
        GatedTransformerConfig(gates=gates, **sizes, **limits), task
    )


def test_a_model_without_gates_and_an_ensemble_are_refused(recorded):
    for gates in ("mask", "copy,generate"):
        assert recorded(gates).limits == {"source": 9, "target": 9}
    for models, said in (
        (["none"], "x.pt was trained with --gates none"),
        (["mask"] * 2, "x.pt: gates are those of one model; name one checkpoint"),
    ):
        with pytest.raises(UserError, match=said):
            recorded(*models)


# records --------------------------------------------------------------------------------------


def write(path: Path, records: list[Record]) -> Path:
    path.write_text("".join(json_line(one.to_dict()) for one in records), "utf-8")
    return path


def test_what_was_written_is_read_again(tmp_path):
    rows = [record(), record(UNSAFE, "", skip=None), record("", "", mask=None)]
    assert list(gate_figures.read_records(str(write(tmp_path / "g", rows)))) == rows


def test_an_average_is_over_the_text_alone():
    assert gate_figures.average([0.2, 0.4, 0.9]) == pytest.approx(0.3)
    assert gate_figures.average([0.9]) is None and gate_figures.average(None) is None


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
        with refuses() as caught:
            run(*flags, main=analysis.main)
        return str(caught.value)

    (tmp_path / "short").write_text("a\n")
    (tmp_path / "none").write_text("")
    assert "has 11, " in said(path, "--reference", tmp_path / "short")
    assert "2 files for 1 JSONL files" in said(path, "--clean", "a", "b")
    assert "--classes 0" in said(path, "--classes", "0")
    assert "would be written over" in said(path, "--json", path)
    assert "would be written over" in said(path, "--json", "x", "--csv", "x")
    assert "need the name of a file" in said(path, "--csv", "-")
    assert "has no lines" in said(tmp_path / "none")
