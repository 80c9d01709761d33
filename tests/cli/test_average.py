"""average: the mean of parameters, from one training, whole or not at all."""

import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refusal

from lev_plugins.cli import average
from lev_plugins.inference import averaging


def write(path: Path, value: float, told: dict[str, Any] | None = None, **changed: Any) -> Path:
    """A small checkpoint as fairseq writes it, with parameters ``value`` and options ``told``."""
    model = {
        "weight": torch.full((2, 3), value),
        "half": torch.full((2,), value, dtype=torch.bfloat16),
        "count": torch.tensor([int(value)]),
    }
    state = {
        "args": None,
        "cfg": Namespace(value=value),
        "model": {**model, **changed},
        "task_state": {"value": value},
        "last_optimizer_state": {"step": value},
        **(told or {}),
    }
    torch.save(state, path)
    return path


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Checkpoints of 80, 160 and 1000 updates, whose parameters are 1, 2 and 6."""
    monkeypatch.chdir(tmp_path)
    names = ["checkpoint_1_80.pt", "checkpoint_1_160.pt", "checkpoint_9_1000.pt"]
    for name, value in zip(names, (1.0, 2.0, 6.0), strict=True):
        write(Path(name), value)
    return names


def read(path: str) -> dict[str, Any]:
    return torch.load(path, weights_only=True)


def test_parameters_are_the_mean_and_all_else_is_the_newest_ones(three, capsys):
    average.main([*three, "--output", "mean.pt"])
    found = read("mean.pt")
    assert found["model"]["weight"].eq(3).all() and found["model"]["weight"].shape == (2, 3)
    assert found["model"]["half"].dtype == torch.bfloat16 and found["model"]["half"].eq(3).all()
    assert found["model"]["count"].tolist() == [6]
    assert found["cfg"].value == 6 and found["task_state"] == {"value": 6}
    assert "last_optimizer_state" not in found
    assert capsys.readouterr().out == f"mean.pt: the average of {', '.join(three)}\n"


def test_a_folder_stands_for_its_numbered_checkpoints_by_number(three):
    for name in ("checkpoint_last.pt", "checkpoint_best.pt", "checkpoint2.pt", "other_1_99.pt"):
        write(Path(name), 100.0)
    average.main([".", "--output", "all.pt"])
    average.main([".", "--last", "2", "--output", "two.pt"])
    assert read("all.pt")["model"]["weight"].eq(3).all()
    assert read("two.pt")["model"]["weight"].eq(4).all()


def test_epochs_count_where_no_checkpoint_has_updates(tmp_path):
    for epoch in (2, 10, 9):
        write(tmp_path / f"checkpoint{epoch}.pt", float(epoch))
    found = [path.name for path in averaging.chosen([str(tmp_path)])]
    assert found == ["checkpoint2.pt", "checkpoint9.pt", "checkpoint10.pt"]


def test_half_precision_numbers_lose_nothing_on_the_way(tmp_path):
    value = torch.tensor([256.0, 258.0], dtype=torch.bfloat16)
    paths = [write(tmp_path / f"checkpoint{n}.pt", 0.0, half=value) for n in range(9)]
    assert averaging.average(paths)["model"]["half"].tolist() == [256.0, 258.0]


def test_a_parameter_with_two_names_stays_one(tmp_path):
    paths = []
    for number in (1.0, 3.0):
        shared = torch.full((40,), number, dtype=torch.float64)
        paths.append(write(tmp_path / f"{number}.pt", 0.0, encoder=shared, decoder=shared))
    model = averaging.average(paths)["model"]
    assert model["encoder"].eq(2).all() and model["decoder"] is model["encoder"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["gone.pt"], "gone.pt"),
        (["empty"], "empty"),
        (["checkpoint_1_80.pt", "./checkpoint_1_80.pt"], "twice"),
        ([".", "--last", "4"], "--last 4"),
        ([".", "--output", "no/mean.pt"], "no/mean.pt"),
        ([".", "--output", "empty"], "empty"),
        ([".", "--output", "checkpoint_1_80.pt"], "--output"),
        (["shape.pt", "checkpoint_1_80.pt"], "shape.pt and .*weight"),
        (["checkpoint_1_80.pt", "more.pt"], "new"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(three, arguments, said):
    Path("empty").mkdir()
    torch.save([1, 2], "list")
    write(Path("shape.pt"), 1.0, weight=torch.zeros(9))
    write(Path("more.pt"), 1.0, new=torch.zeros(2))
    output = [] if "--output" in arguments else ["--output", "mean.pt"]
    assert re.search(said, refusal(average.main, *arguments, *output))
