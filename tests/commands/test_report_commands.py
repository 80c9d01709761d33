"""Latencies of real models, and what preparing commands print runs as printed."""

import re
import shlex

import pytest
from conftest import ROOT
from enct5_corpus import write_corpus

LATENCY = f"python {ROOT / 'examples' / 'analysis' / 'latency.py'}"
SPLIT = "--gen-subset valid"


def test_latencies_of_an_edit_model_and_a_transformer(commands, triples, transformer, tmp_path):
    paths = [str(triples.checkpoint), str(triples.checkpoint.with_name("checkpoint_best.pt"))]
    result = commands.ok(
        f"{LATENCY} {triples.data} --path {paths[0]} --path {paths[1]} "
        f"--ar-path {transformer} --draft-lang mt {SPLIT} --sentences 3",
        tmp_path,
    )
    rows = re.findall(r"^(.+?) {2,}([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +", result.out, re.M)
    ways = [f"autoregressive, {way}" for way in ("greedy", "draft-guided", "beam 4")]
    assert [row[0] for row in rows] == [*paths, *ways]
    greedy, guided = (float(row[4]) for row in rows[2:4])
    assert guided <= greedy, "passes, and tokens"
    steps = commands.done(triples.generate(f"{SPLIT} --print-step"), triples.folder).texts("I")
    wanted = sum(int(steps[n]) for n in (0, 5, 10)) / 3
    assert float(rows[0][4]) == pytest.approx(wanted, abs=0.006)
    assert all(float(number) > 0 for row in rows for number in row[1:4])
    assert "sentences:3|" in result.out


def test_the_next_command_runs_as_printed(commands, triples, tmp_path):
    flags = f"{triples.flags} --joined-dictionary --destdir bin"
    places = f"--trainpref {triples.folder}/train --validpref {triples.folder}/valid"
    printed = commands.preprocess(f"{flags} {places}", tmp_path).out
    command = shlex.split(printed.rpartition("next: ")[2])
    commands.ok([*command, "--max-update", "2"], tmp_path)
    path = tmp_path / "checkpoints" / "checkpoint_best.pt"
    corrected = commands.ok(f"python -m lev_plugins correct --path {path}", tmp_path, stdin="ab\n")
    assert corrected.out.count("\n") == 1


def test_the_next_command_of_labelled_text_runs_as_printed(commands, tmp_path):
    write_corpus(tmp_path, "tagging")
    flags = "--kind tagging --train train.tsv --valid valid.tsv --bytes --destdir bin"
    prepared = commands.ok(f"python -m lev_plugins enct5-prepare {flags}", tmp_path)
    command = shlex.split(prepared.err.rpartition("next: ")[2])
    trained = commands.ok([*command, "--max-update", "2"], tmp_path)
    assert "word_accuracy" in trained.out + trained.err
    assert (tmp_path / "checkpoints" / "checkpoint_best.pt").is_file()
