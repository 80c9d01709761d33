"""The guard notices what differs between two records of outputs."""

import json
import sys
from pathlib import Path

import pytest

GUARD = Path(__file__).resolve().parents[1] / "benchmarks" / "guard"
sys.path.append(str(GUARD))
import outputs  # noqa: E402
import trees  # noqa: E402

PRINTED = (
    "INFO | 1 s\nH-10\t-0.25\ta b\nP-10\t-0.25 -0.5\nH-2\t-1.5\tc\nGenerate x: TER = 1.5 (s)\n"
)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("", "", "equal"),
        ("-0.25", "-0.25001", "close"),
        ("-0.25", "-0.26", "different"),
        ("a b", "a c", "different"),
        ("H-2\t-1.5\tc\n", "", "different"),
    ],
)
def test_a_record_is_equal_close_or_different(tmp_path, old, new, verdict):
    lines, changed = (outputs.hypotheses(text) for text in (PRINTED, PRINTED.replace(old, new)))
    assert [line.split("\t")[0] for line in lines[:3]] == ["H-2", "H-10", "P-10"]
    assert lines[3] == "Generate x: TER = 1.5"
    for name, one in (("old", lines), ("new", changed)):
        (tmp_path / name).write_text(json.dumps({"case": one}))
    assert outputs.compare(lines, changed).startswith(verdict)
    code = outputs.main(["compare", str(tmp_path / "old"), str(tmp_path / "new")])
    assert code == (verdict == "different")


def test_the_logs_of_a_training_are_compared_without_times_and_every_command_is_whole():
    log = '2026 | INFO | train | {"train_wps": "7", "train_loss": "2.5", "train_train_wall": "1"}'
    assert outputs.logged(f"{log}\nother | line") == ["train train_loss=2.5"]
    for command in [*outputs.TABLE["train"].values(), *outputs.TABLE["ask"].values()]:
        assert "$" not in trees.written(command, {"tree": "t", "out": "o"})
