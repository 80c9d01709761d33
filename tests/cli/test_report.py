"""Reports: what is read, what is counted, and that table and JSON say the same."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal
from tables import table

from lev_plugins.cli import report as command
from lev_plugins.io.printed import read_printed
from lev_plugins.metrics import METRICS
from lev_plugins.reports.figures import NO_EDIT_BASELINE

QUICK = ("--metrics", "bleu,ter,accuracy")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Files are written into a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


def sentence(
    number: int, output: str, target: str | None = "a b", steps: int | None = 1, tokens: str = "t"
) -> list[str]:
    """Returns what fairseq-generate prints of a sentence."""
    lines = [f"S-{number}\ts", f"H-{number}\t-0.5\t{tokens}", f"D-{number}\t-5e-1\t{output}"]
    if target is not None:
        lines.append(f"T-{number}\t{target}")
    if steps is not None:
        lines.append(f"I-{number}\t{steps}")
    return lines


def text(name: str, *lines: str) -> str:
    """A file of these lines."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes("".join(f"{line}\n" for line in lines).encode())
    return name


def printed(name: str, *outputs: str, targets: Any = "a b", steps: Any = 1) -> str:
    """Writes what fairseq-generate prints; targets and steps may be the same for all outputs."""
    lines = []
    for number, output in enumerate(outputs):
        target = targets[number] if isinstance(targets, list) else targets
        count = steps[number] if isinstance(steps, list) else steps
        lines += sentence(number, output, target, count)
    return text(name, *lines)


def systems(*arguments: str) -> dict[str, dict[str, Any]]:
    """The figures of each system."""
    command.main([*arguments, "--json", "report.json"])
    report = json.loads(Path("report.json").read_text())
    Path("report.json").unlink()
    return {system["name"]: system["figures"] for system in report["systems"]}


def test_sentences_are_put_in_order_and_log_lines_passed_over(monkeypatch):
    """Text is taken before tokens, and the first of several outputs."""
    lines = [*sentence(1, "can't", steps=2, tokens="can 't"), "2026-11-20 | INFO | {'path': 'H-0'}"]
    lines += [*sentence(1, "bad", None, steps=4)[1:], *sentence(0, "c", steps=3), "Generate: 1"]
    typed = io.BytesIO("\r\n".join(lines).encode())
    Path("out").write_bytes(typed.getvalue())
    system = read_printed("out")
    assert system.outputs == {0: "c", 1: "can't"} and system.iterations == {0: "3", 1: "2"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(typed))
    assert systems("-", "--references", text("r", "c", "can't"), *QUICK)["-"]["accuracy"] == 100


#: files in which something is wrong
WRONG = {
    "list": "H-0 -1 a\n",
    "lacks": "T-0\ta\nT-1\ta\nH-1\t-1\ta\n",
    "gaps": "H-0\t-1\ta\nH-2\t-1\ta\nH-5\t-1\ta\n",
    "latin": "H-0\t-1\ta\nH-1\t-1\t\xff\n",
    "cut": "\xe2\x96\x81new est\n\xe2\x96\x81words\n",
    "letters": "n e w \xe2\x96\x81 w\na \xe2\x96\x81 b\n",
    **{str(count): "a\n" * count for count in range(4)},
}


def test_threshold_and_iterations_come_from_the_log_inside_or_next_to_the_output():
    logged = "cfg: {'generation': {'iter_decode_max_iter': 2}, 'task': {'delete_threshold': %s}}"
    other = "{'generation': {'iter_decode_max_iter': 10}}"
    outputs = [text("inside.out", logged % 0.7, *sentence(0, "a"))]
    outputs += [text(f"{name}.out", *sentence(0, "a")) for name in ("beside", "other", "none")]
    text("beside.log", logged % None)
    text("other.log", other)
    both = ({"delete_threshold": share, "iter_decode_max_iter": 2} for share in (0.7, 0.5))
    assert [read_printed(output).settings for output in outputs] == [*both, {}, {}]


@pytest.mark.parametrize("row", table("cli/refused.tsv", "report"))
def test_what_cannot_be_reported_is_one_error_line(row):
    """``other`` has other T- lines than ``out``."""
    words, *parts = row
    printed("out", "a b", "c")
    printed("other", "a b", "c", targets="c")
    text("part", *sentence(1, "c"))
    for name, content in WRONG.items():
        Path(name).write_bytes(content.encode("latin-1"))
    message = refusal(command.main, *words.split())
    assert all(part in message for part in parts)


def test_without_references_drafts_or_iterations_the_rest_is_reported():
    printed("out", "a c", "a c", targets=None, steps=None)
    assert systems("out", "--drafts", text("mt", "a b", "a c"))["out"] == {"unchanged": [1, 2]}
    ours = systems(printed("out", "a b", targets="c"), "--references", text("targets", "a b"))
    assert ours["out"].keys() == {*METRICS, "iterations, mean", "1"}, "those that need no drafts"


# ---------------------------------------------------------------- figures, in table and JSON


#: four sentences: corrected, miscorrected, left alone, and changed in vain
TABLE = r"""4 sentences

                      no-edit baseline        ours    \x1b[31m
ter ↓                            27.27       27.27        0.00
accuracy ↑                       25.00       25.00      100.00
miscorrection_rate ↓              0.00       12.50        0.00
corrected                   0    0.0 %  1   33.3 %  3  100.0 %
miscorrected                0    0.0 %  1   12.5 %  0    0.0 %
better                      0    0.0 %  1   25.0 %  3   75.0 %
worse                       0    0.0 %  1   25.0 %  0    0.0 %
equal                       4  100.0 %  2   50.0 %  1   25.0 %
edits still needed                   6           5           0
unchanged                   4  100.0 %  1   25.0 %  1   25.0 %
iterations, mean                     –        1.00        3.00
0                                    –  1   25.0 %           –
1                                    –  2   50.0 %           –
2                                    –  1   25.0 %           –
3                                    –           –  4  100.0 %
"""


def test_figures_computed_by_hand_stand_in_json_and_table(capsys):
    targets = ["a b c", "a b c", "a b c", "a b"]
    printed("out", "a b c", "a b", "a b d", "a x", targets=targets, steps=[2, 1, 0, 1])
    printed("b/out", *targets, targets=targets, steps=3)
    text("mt", "a x c", "a b c", "a b d", "a y")
    words = ["out", "b/out", "--drafts", "mt", "--metrics", "ter,accuracy,miscorrection_rate"]
    assert list(systems(*words)) == [NO_EDIT_BASELINE, "out", "b/out"]
    capsys.readouterr()
    command.main([*words, "--names", "ours, \x1b[31m"])
    table, _, signatures = capsys.readouterr().out.partition("\nter: ")
    assert table == TABLE and "\nmiscorrection_rate: nrefs:1|" in signatures
    command.main([*words, "--json", "-"])
    report = json.loads(capsys.readouterr().out)
    assert report["systems"][1]["figures"]["corrected"] == [1, 3]
    assert report["metrics"]["miscorrection_rate"]["better"] == "lower"


def test_empty_drafts_do_not_count_as_edited():
    ours = systems(printed("out", "a b", "a c"), "--drafts", text("mt", "", "a b"), *QUICK)["out"]
    assert (ours["better"], ours["worse"]) == ([0, 1], [1, 1])
