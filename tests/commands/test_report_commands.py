"""Reports and latencies of real outputs, and what preparing commands print runs as printed."""

import json
import re
import shlex

import pytest
import sacrebleu
from conftest import ROOT
from enct5_corpus import write_corpus

LATENCY = f"python {ROOT / 'examples' / 'analysis' / 'latency.py'}"
SPLIT = "--gen-subset valid"


def test_a_generated_output_is_reported_as_fairseq_scores_it(commands, triples, tmp_path):
    flags = f"{SPLIT} --print-step --retain-iter-history --scoring ter"
    printed = commands.done(triples.generate(flags), triples.folder)
    (tmp_path / "out").write_text(printed.out)
    command = f"report out --drafts {triples.folder}/valid.mt --json report.json"
    table = commands.ok(f"python -m lev_plugins {command}", tmp_path).out
    nothing, ours = json.loads((tmp_path / "report.json").read_text())["systems"]
    outputs, targets = triples.text("valid", "tgt"), printed.texts("D")
    ter = sacrebleu.corpus_ter(targets, [outputs]).score
    assert ours["scores"]["ter"] == pytest.approx(ter) and f"TER = {ter:.2f}" in printed.out
    right = sum(a == b for a, b in zip(outputs, targets, strict=True))
    assert ours["scores"]["accuracy"] == pytest.approx(100 * right / 11)
    steps = [int(step) for step in printed.texts("I")]
    assert ours["iterations"]["mean"] == pytest.approx(sum(steps) / 11)
    assert nothing["words"]["miscorrected"] == 0
    assert ours["against_draft"]["better"] > ours["against_draft"]["worse"]
    assert ours["unchanged"] == steps.count(0)
    assert f"{ours['scores']['bleu']:.2f}" in table and "no-edit baseline" in table


def test_latencies_of_an_edit_model_and_a_transformer(commands, triples, transformer, tmp_path):
    paths = [str(triples.checkpoint), str(triples.checkpoint.with_name("checkpoint_best.pt"))]
    result = commands.ok(
        f"{LATENCY} {triples.data} --path {paths[0]} --path {paths[1]} "
        f"--ar-path {transformer} --draft-lang mt {SPLIT} --sentences 3 --warm-up 1",
        tmp_path,
    )
    rows = re.findall(r"^(.+?) {2,}([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +", result.out, re.M)
    assert [row[0] for row in rows] == [*paths, "autoregressive, greedy", "autoregressive, beam 4"]
    steps = commands.done(triples.generate(f"{SPLIT} --print-step"), triples.folder).texts("I")
    wanted = sum(int(steps[n]) for n in (0, 5, 10)) / 3
    assert float(rows[0][4]) == pytest.approx(wanted, abs=0.006)
    assert all(float(number) > 0 for row in rows for number in row[1:4])
    assert "sentences:3|" in result.out and "|threads:1|" in result.out


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
