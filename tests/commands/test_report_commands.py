"""Latencies of real models."""

import re

from conftest import ROOT

LATENCY = f"python {ROOT / 'examples' / 'analysis' / 'latency.py'}"


def test_latencies_of_an_edit_model_and_a_transformer(commands, triples, transformer, tmp_path):
    paths = [str(triples.checkpoint), str(triples.checkpoint.with_name("checkpoint_best.pt"))]
    result = commands.ok(
        f"{LATENCY} {triples.data} --path {paths[0]} --path {paths[1]} "
        f"--ar-path {transformer} --draft-lang mt --gen-subset valid --sentences 3",
        tmp_path,
    )
    rows = re.findall(r"^(.+?) {2,}([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +", result.out, re.M)
    ways = [f"autoregressive, {way}" for way in ("greedy", "draft-guided", "beam 4")]
    assert [row[0] for row in rows] == [*paths, *ways]
