"""The benchmarks run at a tiny size, compare equal work and print their tables."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from refusals import refuses

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
TINY = (
    "--dim 32 --layers 1 --ffn 64 --heads 2 --vocab 100 --steps 1 --tokens 200 --length 6 "
    "--threads 1 --clock cpu"
).split()
#: a name, two numbers with their unit, their ratio, from … to
ROW = re.compile(r"^(.*?) {2,}([\d.]+) +ms +([\d.]+) +ms +([\d.]+) +([\d.]+) … ([\d.]+)$", re.M)
SCRIPTS = ("levt_speed", "levt_against_ar")


@pytest.fixture(scope="module")
def scripts() -> SimpleNamespace:
    """Scripts as modules."""
    sys.path.append(str(BENCHMARKS))
    return SimpleNamespace(**{name: importlib.import_module(name) for name in SCRIPTS})


def measured(script: ModuleType, *words: str, capsys: Any) -> dict[str, float]:
    """The ratios of a table by the names of its rows."""
    assert script.main([*TINY, *words]) == 0
    out = capsys.readouterr().out
    assert "|threads:1|" in out.splitlines()[-1] and "|dim:32|" in out.splitlines()[-1]
    return {match[1]: float(match[4]) for match in ROW.finditer(out)}


def test_every_benchmark_ends_in_its_table(scripts, capsys):
    found = measured(scripts.levt_speed, "--batches", "1,3", "--less", "int8", capsys=capsys)
    decoding = [
        f"decoding: batch {size}, {rules}"
        for size in (1, 3)
        for rules in ("stock's rules", "own rules", "own rules, int8")
    ]
    assert list(found) == ["training: gradients", "training: update with Adam", *decoding]
    found = measured(scripts.levt_against_ar, "--less", "bf16", capsys=capsys)
    beams = [f"AR, beam {beam} / LevT" for beam in (4, 1)]
    assert list(found) == [name + less for name in beams for less in ("", ", bf16")]


@pytest.mark.slow
def test_a_server_under_load_loses_and_mixes_up_nothing():
    pytest.importorskip("fastapi")
    words = "--clients 4 --seconds 1 --length 6 --dim 64 --layers 1".split()
    command = [sys.executable, str(BENCHMARKS / "serve_load.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "lost 0, mixed up 0, " in done.stdout and "alone: 6 words" in done.stdout


# fair races ----------------------------------------------------------------------------------


def test_a_difference_in_the_weights_is_noticed(scripts):
    args = scripts.levt_speed.checked(TINY)
    peers = scripts.levt_speed.build_peers(args)
    assert "labels equal" in scripts.levt_speed.check_training(peers, args)
    with torch.no_grad():
        peers.ours.placeholder_head.weight.mul_(1.1)
    with refuses("logits differ"):
        scripts.levt_speed.check_training(peers, args)


def test_outputs_that_differ_stop_the_race(scripts):
    right, wrong = ([[{"tokens": torch.tensor([0, n, 2]), "steps": 1}]] for n in (5, 6))
    decode = {"stock": lambda sample: right, "same": lambda sample: wrong}
    agreement = scripts.levt_speed.agreement
    with refuses("0 of 1 outputs"):
        agreement(decode, "same", [{}], required=True)
    assert agreement(decode, "same", [{}], required=False).startswith("0 of 1")


def test_an_output_of_another_length_stops_the_race(scripts, monkeypatch):
    against, args = scripts.levt_against_ar, scripts.levt_speed.checked(TINY)
    task = scripts.levt_speed.build_peers(args).stock_task
    (sample, *_) = scripts.levt_speed.decoding_samples(args, 1)
    model = against.build_transformer(args, task)
    words = sample["net_input"]["src_tokens"].size(1) - 2
    assert len(against.search(model, task.tgt_dict, sample, 3)) == words + 1
    generator = against.SequenceGenerator

    def shorter(*given, max_len_b, min_len, **options):
        return generator(*given, max_len_b=max_len_b - 1, min_len=1, **options)

    monkeypatch.setattr(against, "SequenceGenerator", shorter)
    with refuses(match=rf"\d+ tokens for a source of {words + 1}"):
        against.search(model, task.tgt_dict, sample, 1)
