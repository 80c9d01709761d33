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

from lev_plugins.cli import enct5_prepare
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


speed, against, growth, scaling, pbd = map(
    script, ("levt_speed", "levt_against_ar", "levt_growth", "scaling", "pbd_speed")
)
enct5, packing = map(script, ("enct5_speed", "enct5_packing"))


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


# ---------------------------------------------------------------- growth

GROWTH = [*TINY[: TINY.index("--tokens")], *"--tokens 64 --threads 1 --clock cpu".split()]
GROWTH += "--lengths 4,8,16 --batches 1,3 --typical 6 --beam 2".split()


def test_growth_is_told_for_lengths_and_batches_and_sampled(growth, capsys, tmp_path):
    picture = tmp_path / "growth.png"
    assert growth.main([*GROWTH, "--png", str(picture)]) == 0
    training, lengths, batches, end = capsys.readouterr().out.split("\n\n")
    wanted = {
        training: ("training: ms an update of at most 64 tokens", ["4", "8", "16"]),
        lengths: ("decoding: ms a sentence, batch 1", ["4", "8", "16"]),
        batches: ("decoding: ms a sentence of about 6 tokens", ["1", "3"]),
    }
    for text, (title, points) in wanted.items():
        first, _, *rows = text.splitlines()
        assert first == title
        cells = {name: values for name, *values in (row.replace("×", "").split() for row in rows)}
        assert list(cells)[: len(points) + 2] == [*points, "growth", "exponent"]
        for point in points:
            assert float(cells[point][0]) > 0 < float(cells[point][1])
    assert "labels equal" in end and "|clock:cpu|" in end
    assert picture.read_bytes().startswith(b"\x89PNG")


# ---------------------------------------------------------------- scaling

SCALING = "--layers 1 --dim 16 --ffn 16 --heads 2 --vocab 30 --tokens 100".split()
SCALING += "--interval 1 --updates 2 --repeats 1".split()


def test_the_table_on_paper_needs_no_training(scaling, capsys, monkeypatch):
    monkeypatch.setattr(scaling, "ran", None)
    given = ["--parameters", "1e9", "--step-ms", "100", "--bandwidth", "100"]
    assert scaling.main([*SCALING, *given]) == 0
    lines = capsys.readouterr().out.splitlines()
    # among 8 each sends 7 GB, 70 ms; the backward pass hides 50 of them
    assert lines[3].split() == "8 fp32 4000.0 7000.0 70.00 20.00 83.3 %".split()


# ---------------------------------------------------------------- PBD


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


def prepared(folder: Path, kind: str) -> Path:
    """Texts of one to nine words, as bytes."""
    lines = []
    for number in range(60):
        words = [f"w{number % 7}"] * (1 + number % 9)
        labels = {"tagging": " ".join("AB"[i % 2] for i in range(len(words))), "multilabel": "A,B"}
        lines.append(f"{labels[kind]}\t{' '.join(words)}\n")
    lines[0] = {"tagging": "A B\tw w\n", "multilabel": "A\tw w\n"}[kind]
    (folder / "text.tsv").write_text("".join(lines), encoding="utf-8")
    options = ["--kind", kind, "--train", str(folder / "text.tsv"), "--bytes"]
    enct5_prepare.main([*options, "--destdir", str(folder / "data")])
    return folder / "data"


LAYOUT = re.compile(
    r"^(sorted by length|random order|packed, rows of \d+) +([\d.]+) % +([\d.]+) +(\d+) +(\d+) +"
    r"(\d+) … (\d+) +([\d.]+)$",
    re.M,
)


@pytest.mark.parametrize("kind", ["tagging", "multilabel"])
def test_packing_leaves_less_padding_and_the_same_logits(packing, kind, capsys, tmp_path):
    data, path = prepared(tmp_path, kind), tmp_path / "numbers.json"
    options = "--sizes tiny --rows 64 --tokens 128 --steps 2 --threads 1 --clock cpu --json".split()
    assert packing.main([str(data), *options, str(path)]) == 0
    out = capsys.readouterr().out
    rows = {match[1]: match for match in LAYOUT.finditer(out)}
    assert list(rows) == ["sorted by length", "random order", "packed, rows of 64"]
    padding = [float(match[2]) for match in rows.values()]
    assert padding[2] < padding[1] and padding[0] < padding[1]
    for match in rows.values():
        assert 0 < int(match[6]) <= int(match[5]) <= int(match[7]) and float(match[8]) > 0
    assert float(re.search(r"^logits packed and one a row: within (\S+)$", out, re.M)[1]) < 1e-4
    found = json.loads(path.read_text(encoding="utf-8"))
    assert len({one["pieces"] for one in found["rows"]}) == 1 and len(found["rows"]) == 3
    assert found["options"]["kind"] == kind


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
levt_growth --lengths 8,4 | --lengths 8,4
levt_growth --tokens 20 | --tokens 20
scaling --interval 4 | --updates 2
pbd_speed --dropout 1 | --dropout 1
enct5_speed --vocab 20 | --vocab 20
enct5_speed --json gone/x.json | --json gone/x.json
levt_learning --row beta | --row beta
levt_learning {gone} | .*gone
"""
FIRST = {
    "levt_speed": TINY,
    "levt_against_ar": AGAINST,
    "levt_growth": GROWTH,
    "scaling": SCALING,
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


def test_packed_rows_that_see_each_other_are_noticed(packing, tmp_path, monkeypatch):
    args = packing.checked([str(prepared(tmp_path, "tagging")), "--rows", "64", "--tokens", "128"])
    model, packed = packing.build("tiny", args), packing.layouts(args)[2]
    assert packing.check_logits(model, packed, args) < 1e-4
    forward = type(model).forward

    def careless(self, **inputs):
        inputs["segments"] = inputs["segments"].clamp(max=1)
        inputs["latent_segments"] = inputs["latent_segments"].clamp(max=1)
        return forward(self, **inputs)

    monkeypatch.setattr(type(model), "forward", careless)
    with pytest.raises(UserError, match="rows of 64: logits differ"):
        packing.check_logits(model, packed, args)
