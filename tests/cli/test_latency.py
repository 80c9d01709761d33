"""Latencies: who is measured when, what is made of the times, and what the table says."""

from pathlib import Path
from typing import Any

import latency as command
import pytest
import torch
from latency import System, choose

from lev_plugins.errors import UserError


class Sentences:
    """A data set of sentences 0 … size − 1, sentence n being n tokens long."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return index

    def collater(self, items: list[int]) -> dict[str, int]:
        return {"id": items[0]}

    def filter_indices_by_size(self, indices: Any, longest: int) -> tuple[Any, list[int]]:
        return indices[indices <= longest], []


class Scripted:
    """Systems whose sentences take scripted times; notes who decoded what, and the clock."""

    def __init__(self) -> None:
        self.time = 0.0
        self.calls: list[tuple[str, int]] = []

    def system(self, name: str, seconds: float, size: int = 100, longest: int = 1000) -> System:
        def decode(sample: dict[str, Any]) -> list[dict[str, Any]]:
            self.calls.append((name, sample["id"]))
            self.time += seconds * (1 + sample["id"])
            return [{"tokens": torch.tensor([0, 5, 6, 7, 2]), "steps": sample["id"] % 3}]

        def steps(best: dict[str, Any]) -> int:
            return best["steps"]

        data, specials = Sentences(size), frozenset((0, 1, 2))
        return System(name, f"{name}.pt", data, decode, steps, longest, specials)


def measured(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    scripted: Scripted,
    *systems: System,
    **more: Any,
) -> dict[str, Any]:
    monkeypatch.setattr(command, "_systems", lambda args: list(systems))
    monkeypatch.setattr(command, "clock", lambda device: lambda: scripted.time)
    (tmp_path / "model.pt").touch()
    words = [str(tmp_path), "--path", str(tmp_path / "model.pt")]
    for name, value in more.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return command.measure(command.build_parser().parse_args(words))


def test_figures_are_those_of_the_scripted_times(monkeypatch, tmp_path):
    scripted = Scripted()
    fast, slow = scripted.system("fast", 0.001, size=5), scripted.system("slow", 0.004, size=5)
    figures = measured(monkeypatch, tmp_path, scripted, fast, slow, sentences=9)
    first, second = figures["systems"]
    assert first["milliseconds"] == pytest.approx([1, 2, 3, 4, 5])
    assert (first["median_ms"], first["mean_ms"]) == (pytest.approx(3), pytest.approx(3))
    assert first["p95_ms"] == pytest.approx(4.8)
    assert first["iterations"] == pytest.approx((0 + 1 + 2 + 0 + 1) / 5)
    assert first["output_tokens"] == 3, "special symbols are not counted"
    assert (first["ratio"], second["ratio"]) == (1, pytest.approx(4))
    assert figures["sentences"] == [0, 1, 2, 3, 4] and figures["left_out"] == 0
    assert figures["conditions"]["torch"] == torch.__version__
    assert figures["conditions"]["threads"] == torch.get_num_threads() == 1


def test_sentences_are_spread_and_those_too_long_for_one_model_left_out_for_all():
    scripted = Scripted()
    systems = [scripted.system("a", 1), scripted.system("b", 1, longest=40)]
    assert choose(systems, 5) == ([0, 10, 20, 30, 40], 59)
    assert choose(systems, 1000) == (list(range(41)), 59)
    with pytest.raises(UserError, match="none of the 100 sentences fits"):
        choose([scripted.system("c", 1, longest=-1)], 5)
    with pytest.raises(UserError, match="read 3 and 100 sentences"):
        choose([*systems, scripted.system("d", 1, size=3)], 5)
