"""Gates as text, page and picture, and their analysis."""

import json
import re
from pathlib import Path
from typing import Any

import gate_analysis as analysis
import pytest
import torch
from refusals import refuses

from lev_plugins.cli import trace
from lev_plugins.io.lines import json_line
from lev_plugins.reports.gates import Record, render_html, render_text

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


@pytest.mark.parametrize("flags", [("--max-iter", "3"), ("--markup",)])
def test_options_of_edit_models_are_refused(tmp_path, flags):
    path = tmp_path / "x.pt"
    torch.save({"cfg": {"model": {"_name": "gated_transformer_char"}}}, path)
    with refuses(flags[0], path):
        trace.main(["--path", str(path), *flags])


# records --------------------------------------------------------------------------------------


def write(path: Path, records: list[Record]) -> Path:
    path.write_text("".join(json_line(one.to_dict()) for one in records), "utf-8")
    return path


def test_what_was_written_is_read_again(tmp_path):
    rows = [record(), record(UNSAFE, "", skip=None), record("", "", mask=None)]
    assert list(analysis.read_records(str(write(tmp_path / "g", rows)))) == rows


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


def test_noise_is_what_wrr_lacks_and_gates_are_related_to_it(tmp_path, analysed, capsys):
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "png")}
    flags = [part for kind, path in files.items() for part in (f"--{kind}", path)]
    analysis.main([*analysed, *map(str, flags), "--classes", "9"])
    out = capsys.readouterr().out
    (found,) = json.loads(files["json"].read_text()).values()
    assert found["gates"] == ["mask", "copy", "generate"] and found["lines"] == 11
    noise = found["noise"]["mask"]
    assert [one["x"] for one in noise["classes"]] == [0, 25, 50, 75, 100]
    assert [one["lines"] for one in noise["classes"]] == [2] * 5
    assert [one["y"] for one in noise["classes"]] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    assert noise["correlation"] == pytest.approx(1)
    assert found["noise"]["copy"]["correlation"] is None, "it never changes"
    assert [one["x"] for one in found["length"]["mask"]["classes"]] == [1, 4]
    assert found["wrr"]["mask"]["correlation"] < -0.5
    assert found["wrr"]["mask"]["classes"][-1]["y"] == 75
    assert "r +1.00" in out and files["png"].read_bytes().startswith(b"\x89PNG")
