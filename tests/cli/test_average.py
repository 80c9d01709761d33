"""average: the mean of parameters, from one training, whole or not at all."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refusal
from tables import table

from lev_plugins.cli import average

#: checkpoints of a training in their order, and the value of their parameters
VALUES = {"80.pt": 1.0, "160.pt": 2.0, "1000.pt": 6.0}


def write(name: str, value: float, task_state: Any = None, **more: torch.Tensor) -> None:
    """A small checkpoint as fairseq writes it, with parameters ``value``."""
    shared = torch.full((2, 3), value)
    model = {
        "encoder": shared,
        "decoder": shared,
        "half": 256 + 2 * torch.full((2,), value, dtype=torch.bfloat16),
        "count": torch.tensor([int(value)]),
    }
    optimizer = {"step": value}
    state = {"cfg": Namespace(value=value), "model": {**model, **more}, "task_state": task_state}
    torch.save({**state, "last_optimizer_state": optimizer}, name)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """:data:`VALUES`, others, and what is no checkpoint of theirs."""
    monkeypatch.chdir(tmp_path)
    for name, value in VALUES.items():
        write(name, value)
    write("shape.pt", 1.0, encoder=torch.zeros(9))
    write("more.pt", 1.0, new=torch.zeros(2))
    for word in "ab":
        write(f"word-{word}.pt", 1.0, {"symbols": {"source": ["c"], "target": [word]}})
        write(f"label-{word}.pt", 1.0, {"description": {"labels": [word]}})
    Path("empty").mkdir()


def test_parameters_are_the_mean_and_all_else_is_the_last_ones():
    average.main([*VALUES, "--output", "mean"])
    mean = torch.load("mean", weights_only=True)
    model = mean["model"]
    assert model["encoder"].eq(3).all() and model["encoder"].shape == (2, 3)
    assert model["half"].dtype == torch.bfloat16 and model["half"].eq(262).all()
    assert model["encoder"].data_ptr() == model["decoder"].data_ptr(), "one parameter became two"
    assert model["count"].tolist() == [6]
    assert mean["cfg"].value == 6
    assert "last_optimizer_state" not in mean


@pytest.mark.parametrize("words, message", table("cli/refused.tsv", "average"))
def test_a_mistake_is_one_line_and_leaves_nothing(words, message):
    output = "" if "--output" in words else "--output mean.pt"
    assert message in refusal(average.main, *words.split(), *output.split())
