"""The benchmark runs at a tiny size, compares equal work and prints its table."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lev_plugins.errors import UserError

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "levt_speed.py"
TINY = (
    "--dim 32 --layers 1 --ffn 64 --heads 2 --vocab 100 --steps 1 --tokens 300 --length 12 "
    "--threads 1"
).split()
ROW = re.compile(
    r"^(\w+: [\w', ]+?) +([\d.]+) +(ms|MiB) +([\d.]+) +(?:ms|MiB) +([\d.]+) +[\d.]+ … [\d.]+$", re.M
)


@pytest.fixture(scope="module")
def speed():
    spec = importlib.util.spec_from_file_location("levt_speed", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["levt_speed"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["levt_speed"]


@pytest.fixture(scope="module")
def peers(speed):
    return speed.build_peers(speed.checked(TINY))


def test_the_table_comes_out_with_what_was_equal(speed, capsys):
    assert speed.main([*TINY, "--no-memory", "--drafts"]) == 0
    out = capsys.readouterr().out
    rows = {match[1]: match for match in ROW.finditer(out)}
    decoding = [
        f"decoding: batch {size}, {rules} rules" for size in (1, 64) for rules in ("stock's", "own")
    ]
    assert list(rows) == ["training: gradients", "training: update with Adam", *decoding]
    for match in rows.values():
        stock, ours, ratio = (float(match[group]) for group in (2, 4, 5))
        assert ours > 0 and ratio == pytest.approx(stock / ours, abs=0.03 + 0.1 * ratio)
    assert "training: labels equal, logits of the insertion heads within" in out
    assert re.search(r"decoding, batch 64, stock's rules: 64 of 64 outputs equal", out)
    assert re.search(r"post-editing, batch 64: [\d.]+ ms", out)
    signature = out.splitlines()[-1]
    assert signature.startswith(f"torch:{torch.__version__}|device:cpu")
    assert "|threads:1|" in signature and "|layers:1+1|dim:32|" in signature


@pytest.mark.slow
def test_each_side_measures_its_memory_in_a_process_of_its_own():
    command = [sys.executable, str(SCRIPT), *TINY, "--clock", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = {match[1]: match for match in ROW.finditer(done.stdout)}
    for name in ("memory: process at its peak", "memory: two updates on top"):
        assert rows[name][3] == "MiB" and float(rows[name][2]) > 0 and float(rows[name][4]) > 0
    assert "|clock:cpu|" in done.stdout


def test_a_difference_in_the_weights_is_noticed(speed):
    args = speed.checked(TINY)
    peers = speed.build_peers(args)
    with torch.no_grad():
        peers.ours.placeholder_head.weight.mul_(1.1)
    with pytest.raises(UserError, match="logits differ"):
        speed.check_training(peers, args)


def test_outputs_that_differ_stop_the_race(speed, peers):
    right, wrong = ([[{"tokens": torch.tensor([0, n, 2]), "steps": 1}]] for n in (5, 6))
    decode = {"stock": lambda sample: right, "same": lambda sample: wrong}
    with pytest.raises(UserError, match="0 of 1 outputs"):
        speed.agreement(decode, "same", [{}], required=True)
    assert speed.agreement(decode, "same", [{}], required=False).startswith("0 of 1")


def test_the_script_gives_every_sentence_the_length_of_its_source(speed, peers):
    args = speed.checked(TINY)
    torch.manual_seed(3)
    for side in speed.SIDES:
        peers.model(side).eval()
    special = peers.our_task.target_dictionary.nspecial
    sample = speed.batch(speed.sentences(9, args, special), "cpu")
    lengths = sample["net_input"]["src_tokens"].ne(1).sum(1).tolist()
    with speed.scripted(peers, speed.Script(special)):
        for decode in speed.decoders(peers, args).values():
            outputs = speed.outputs(decode(sample))
            assert [len(one) for one in outputs] == lengths
            assert all(min(one[1:-1], default=special) >= special for one in outputs)
    assert "token_logits" not in vars(peers.ours)  # the models' own methods are back


@pytest.mark.parametrize(
    "wrong, said",
    [
        (["--heads", "5"], "--heads 5 does not divide --dim 32"),
        (["--steps", "0"], "--steps 0"),
        (["--vocab", "5"], "--vocab 5"),
    ],
)
def test_impossible_sizes_are_refused(speed, wrong, said):
    with pytest.raises(UserError, match=said):
        speed.checked([*TINY, *wrong])
