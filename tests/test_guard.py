"""The guard notices what differs between two records of outputs."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

GUARD = Path(__file__).resolve().parents[1] / "benchmarks" / "guard"
PRINTED = (
    "INFO | 1 s\nH-10\t-0.25\ta b\nP-10\t-0.25 -0.5\nH-2\t-1.5\tc\nGenerate x: TER = 1.5 (s)\n"
)


@pytest.fixture(scope="module")
def outputs() -> Iterator[ModuleType]:
    sys.path.insert(0, str(GUARD))
    import outputs

    yield outputs
    sys.path.remove(str(GUARD))
    for name in ("outputs", "trees"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda lines: lines, "equal"),
        (lambda lines: [line.replace("-0.25", "-0.25001") for line in lines], "close"),
        (lambda lines: [line.replace("-0.25", "-0.26") for line in lines], "different"),
        (lambda lines: [line.replace("a b", "a c") for line in lines], "different"),
        (lambda lines: lines[1:], "different"),
    ],
)
def test_a_record_is_equal_close_or_different(
    outputs: ModuleType, tmp_path: Path, change: Callable[[list[str]], list[str]], verdict: str
) -> None:
    lines = outputs.hypotheses(PRINTED)
    assert [line.split("\t")[0] for line in lines[:3]] == ["H-2", "H-10", "P-10"]
    assert lines[3] == "Generate x: TER = 1.5"
    assert outputs.compare(lines, change(lines)).startswith(verdict)
    for name, one in (("old", lines), ("new", change(lines))):
        (tmp_path / name).write_text(json.dumps({"case": one}))
    code = outputs.main(["compare", str(tmp_path / "old"), str(tmp_path / "new")])
    assert code == (verdict == "different")


def test_the_logs_of_a_training_are_compared_without_times(outputs: ModuleType) -> None:
    log = '2026 | INFO | train | {"train_wps": "7", "train_loss": "2.5", "train_train_wall": "1"}'
    assert outputs.logged(f"{log}\nother | line") == ["train train_loss=2.5"]


def test_every_command_of_the_table_can_be_written_out(outputs: ModuleType) -> None:
    import trees

    for command in [*outputs.TABLE["train"].values(), *outputs.TABLE["ask"].values()]:
        assert "$" not in trees.written(command, {"tree": "t", "out": "o"})
