"""The curve of Figure 5 with real checkpoints, and what is said when it cannot be plotted."""

import csv
import re
from pathlib import Path

import pytest

ANALYSIS = Path(__file__).resolve().parents[2] / "examples" / "analysis"
COMMAND = f"python {ANALYSIS / 'oracle_curve.py'}"
MODES = ["none", "deletion", "deletion+placeholder"]


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def scores(found: list[dict[str, str]], mode: str) -> list[float]:
    return [float(row["score"]) for row in found if row["mode"] == mode]


@pytest.fixture(scope="module")
def curve(commands):
    """Runs the command for a corpus, which has to succeed; gives its output."""

    def run(corpus, path, folder, more):
        command = f"{COMMAND} {corpus.data} --path {path} --cpu --csv out.csv {more}"
        return commands.ok(command, folder)

    return run


FLAGS = "--draft-lang mt --metric ter --max-iter 2"


@pytest.fixture(scope="module")
def weak(commands, curve, triples, tmp_path_factory):
    """A folder with a model that has hardly learnt anything, and its curve: its output too."""
    folder = tmp_path_factory.mktemp("weak")
    training = "--alpha 0.8 --beta 0.8 --max-update 12 --disable-validation --save-dir ."
    commands.done(triples.train(training), folder)
    checkpoint = folder / "checkpoint_last.pt"
    return folder, checkpoint, curve(triples, checkpoint, folder, f"{FLAGS} --png out.png")


def test_the_curve_is_written_as_table_csv_and_picture(weak):
    folder, _, result = weak
    found = rows(folder / "out.csv")
    assert [(row["mode"], int(row["max_iter"])) for row in found] == [
        ("no-edit baseline", 0),
        *[(mode, limit) for mode in MODES for limit in (1, 2)],
    ]
    assert {row["metric"] for row in found} == {"ter"}
    first, *table = result.out.splitlines()
    assert first == "test: 11 sentences, drafts mt"
    assert re.match(r"ter \(lower is better\): nrefs:1\|.*\|version:", table[0])
    for limit, line in enumerate(table[4:6]):
        shown = [float(number) for number in line.split()[1::2]]
        expected = [scores(found, mode)[limit] for mode in MODES]
        assert shown == pytest.approx(expected, abs=0.006)
    assert table[6].startswith("no-edit baseline (T_max = 0): ")
    assert (folder / "out.png").read_bytes().startswith(b"\x89PNG")
    assert scores(found, MODES[2])[-1] < scores(found, MODES[0])[-1], "the oracle is no help"


def test_the_curve_without_an_oracle_is_what_fairseq_generate_scores(commands, triples, weak):
    folder, checkpoint, _ = weak
    flags = "--iter-decode-max-iter 1 --scoring ter --print-step"
    result = commands.done(triples.generate(flags, checkpoint), folder)
    (ter,) = re.findall(r"TER = ([0-9.]+)", result.out)
    (row,) = [r for r in rows(folder / "out.csv") if (r["mode"], r["max_iter"]) == ("none", "1")]
    assert float(row["score"]) == pytest.approx(float(ter), abs=0.006)
    steps = [int(step) for step in result.texts("I")]
    assert float(row["mean_iterations"]) == pytest.approx(sum(steps) / 11, abs=1e-4)
