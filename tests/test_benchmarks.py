"""The benchmarks run at a tiny size, compare equal work and print their tables."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from lev_plugins.errors import UserError

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
TINY = (
    "--dim 32 --layers 1 --ffn 64 --heads 2 --vocab 100 --steps 1 --tokens 300 --length 12 "
    "--threads 1"
).split()
#: a name, two numbers with their unit, their ratio, from … to, and a verdict where there is one
ROW = re.compile(
    r"^(\w+(?:: [\w', ]+?)?) {2,}([\d.]+) +(ms|MiB|M) +([\d.]+) +(?:ms|MiB|M) +([\d.]+) +"
    r"([\d.]+) … ([\d.]+)(?:  (within|above) 1.15)?$",
    re.M,
)


def rows_of(out: str) -> dict[str, re.Match[str]]:
    """The rows of a table by their names."""
    return {match[1]: match for match in ROW.finditer(out)}


@pytest.fixture(scope="module")
def scripts() -> Iterator[Callable[[str], ModuleType]]:
    """Scripts as modules, with the places they import from gone at the end."""
    places, loaded = list(sys.path), {}

    def load(name: str) -> ModuleType:
        if name not in loaded:
            spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
            loaded[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded[name])
        return loaded[name]

    yield load
    sys.path[:] = places
    for name in loaded:
        del sys.modules[name]


def script(name: str) -> Any:
    """A fixture that is one of them."""
    return pytest.fixture(scope="module")(lambda scripts: scripts(name))


def ran(*words: str, **environ: str) -> str:
    """What a program prints, which has to succeed."""
    env = {**os.environ, **environ}
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


speed, against, pbd, enct5 = map(
    script, ("levt_speed", "levt_against_ar", "pbd_speed", "enct5_speed")
)


def test_the_table_comes_out_with_what_was_equal(speed, capsys):
    assert speed.main([*TINY, "--no-memory", "--drafts"]) == 0
    out = capsys.readouterr().out
    rows = rows_of(out)
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


# ---------------------------------------------------------------- LevT against a Transformer

AGAINST = [*TINY[: TINY.index("--tokens")], *"--length 6 --threads 1 --clock cpu".split()]
AGAINST_ROW = re.compile(
    r"^(AR, beam \d / LevT(?:, \w+)?) +"
    + r" +".join([r"([\d.]+) ms +([\d.]+) ms +([\d.]+)"] * 2)
    + "$",
    re.M,
)


def test_levt_stands_beside_every_beam_of_a_transformer(against, capsys):
    assert against.main([*AGAINST, "--beams", "2,1", "--less", "bf16"]) == 0
    out = capsys.readouterr().out
    rows = {match[1]: match for match in AGAINST_ROW.finditer(out)}
    assert list(rows) == [
        f"AR, beam {beam} / LevT{less}" for beam in (2, 1) for less in ("", ", bf16")
    ]
    for match in rows.values():
        for first in (2, 5):  # medians, then means
            ar, levt, ratio = (float(match[group]) for group in range(first, first + 3))
            assert ratio == pytest.approx(ar / levt, rel=0.2)
    iterations = re.search(r"^LevT: ([\d.]+) iterations on average; 3 sentences$", out, re.M)
    assert 1 <= float(iterations[1]) <= 10
    assert "|clock:cpu|" in out.splitlines()[-1]


def test_pbd_stands_beside_stock_in_training_and_in_every_search(pbd, capsys):
    tiny = [*TINY, "--length", "5", "--steps", "2", "--tokens", "60"]
    assert pbd.main([*tiny, "--no-memory", "--clock", "cpu"]) == 0
    out = capsys.readouterr().out
    rows = rows_of(out)
    searches = [
        f"decoding: batch {size}, beam {beam}, {what}"
        for size in (1, 32)
        for beam in (1, 5)
        for what in ("step", "step, decoder alone")
    ]
    training = ["training: gradients", "training: update with Adam"]
    assert list(rows) == ["parameters", *training, *searches]
    for name, match in rows.items():
        ratio, low, high = (float(match[group]) for group in (5, 6, 7))
        assert 0 < low <= ratio <= high
        verdict = "within" if ratio < 1.14 else "above" if ratio > 1.16 else match[8]
        assert match[8] == (None if name == "parameters" else verdict)
    for whole, alone in zip(searches[::2], searches[1::2]):
        assert float(rows[alone][4]) < float(rows[whole][4])
    assert "|clock:cpu|" in out.splitlines()[-1] and "|without:nothing|" in out


# ---------------------------------------------------------------- EncT5

SMALLEST = (
    "--layers 1 --dim 16 --ffn 16 --heads 2 --head-dim 8 --vocab 60 --steps 2 --tokens 60 "
    "--length 5 --threads 1 --clock cpu"
).split()


def test_enct5_stands_beside_a_t5_that_writes_its_tags(enct5, capsys, tmp_path):
    path = tmp_path / "numbers.json"
    assert enct5.main([*SMALLEST, "--json", str(path)]) == 0
    out = capsys.readouterr().out
    rows = rows_of(out)
    what = ["a sentence, batch 1", "a sentence, batch 32", "training, gradients"]
    what.append("training, update with Adam")
    kinds = ("tagging", "classification")
    wanted = [f"{kind}: parameters" for kind in kinds]
    wanted += [f"{kind}: {one}" for kind in kinds for one in what]
    assert list(rows) == wanted
    for match in rows.values():
        assert 0 < float(match[6]) <= float(match[5]) <= float(match[7])
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [one["name"] for one in found["rows"]] == wanted
    assert all(one["t5"] > 0 < one["enct5"] for one in found["rows"])
    assert found["options"]["clock"] == "cpu" and "|clock:cpu|" in out.splitlines()[-1]


# ---------------------------------------------------------------- how fast LevT learns


@pytest.mark.slow
def test_a_server_under_load_loses_and_mixes_up_nothing():
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    words = "--clients 4 --seconds 1 --length 6 --dim 64 --layers 1 --vocab 50".split()
    out = ran(sys.executable, str(BENCHMARKS / "serve_load.py"), *words)
    assert "lost 0, mixed up 0, " in out and "alone: 6 words" in out


# ---------------------------------------------------------------- what cannot be measured

#: a script with words that it cannot take | how its refusal begins
REFUSED = """
levt_speed --kernels sse | --kernels sse
levt_speed --heads 5 | --heads 5
levt_against_ar --beams 4,0 | --beams 4,0
pbd_speed --dropout 1 | --dropout 1
enct5_speed --vocab 20 | --vocab 20
enct5_speed --json gone/x.json | --json gone/x.json
levt_learning --row beta | --row beta
levt_learning {gone} | .*gone
"""
FIRST = {
    "levt_speed": TINY,
    "levt_against_ar": AGAINST,
    "pbd_speed": TINY,
    "enct5_speed": SMALLEST,
}


@pytest.mark.parametrize("row", [row for row in REFUSED.splitlines() if row])
def test_what_cannot_be_measured_is_refused(scripts, row, tmp_path):
    command, said = row.split(" | ")
    name, *words = command.format(gone=tmp_path / "gone").split()
    (tmp_path / "data").mkdir()
    first = [str(tmp_path)] if name == "levt_learning" and words[0][0] == "-" else []
    with pytest.raises(UserError) as caught:
        scripts(name).checked([*FIRST.get(name, first), *words])
    assert re.match(said, str(caught.value)), caught.value


# fair races ----------------------------------------------------------------------------------


def test_a_difference_in_the_weights_is_noticed(speed):
    args = speed.checked(TINY)
    peers = speed.build_peers(args)
    with torch.no_grad():
        peers.ours.placeholder_head.weight.mul_(1.1)
    with pytest.raises(UserError, match="logits differ"):
        speed.check_training(peers, args)


def test_outputs_that_differ_stop_the_race(speed):
    right, wrong = ([[{"tokens": torch.tensor([0, n, 2]), "steps": 1}]] for n in (5, 6))
    decode = {"stock": lambda sample: right, "same": lambda sample: wrong}
    with pytest.raises(UserError, match="0 of 1 outputs"):
        speed.agreement(decode, "same", [{}], required=True)
    assert speed.agreement(decode, "same", [{}], required=False).startswith("0 of 1")


def test_an_output_of_another_length_stops_the_race(against, monkeypatch):
    args = against.checked(AGAINST)
    peers = against.levt_speed.build_peers(args)
    (sample, *_) = against.levt_speed.decoding_samples(args, 4, 1)
    search = against.AutoregressiveSearch(args, peers.stock_task)
    words = sample["net_input"]["src_tokens"].size(1) - 2
    for beam in (1, 3):
        assert len(search.search(sample, beam)) == words + 1
    generator = against.SequenceGenerator

    def shorter(*given, max_len_b, min_len, **options):
        return generator(*given, max_len_b=max_len_b - 1, min_len=1, **options)

    monkeypatch.setattr(against, "SequenceGenerator", shorter)
    with pytest.raises(UserError, match=rf"an output of \d+ tokens for a source of {words + 1}"):
        search.search(sample, 1)


def test_searches_that_end_elsewhere_are_no_fair_race(pbd):
    equal = [[6, 6], [6, 6]]
    pbd.check_lengths({"stock": equal, "pbd": equal}, 2)
    for other in ([[6, 6], [6, 7]], [[6], [6]]):
        with pytest.raises(UserError, match="no fair race"):
            pbd.check_lengths({"stock": equal, "pbd": other}, 2)


def test_both_read_the_same_sentences_and_say_equally_much(enct5):
    args = enct5.checked(SMALLEST)
    torch.manual_seed(1)
    for peers in enct5.build_peers(args):
        sample = enct5.decoding_batches(args, peers.kind, 4)[-1]
        t5, tokens = sample.t5["net_input"]["src_tokens"], sample.enct5["tokens"]
        assert torch.equal(t5[t5 > 2], tokens[tokens > 2])
        written = sample.t5["target"]
        assert written.ne(1).sum(1).tolist() == [count + 1 for count in sample.answers]
        assert torch.equal(written[written > 2] - enct5.SPECIAL, sample.target)
        for side in enct5.SIDES:
            peers.model(side).eval()
        found = {"t5": enct5.write(peers.t5, sample)}
        found["enct5"] = enct5.predict(peers.enct5, peers.kind, sample)
        enct5.check_answers(found, sample)
        with pytest.raises(UserError, match="no fair race"):
            enct5.check_answers({**found, "t5": [one[:-1] for one in found["t5"]]}, sample)
