"""The benchmarks at a tiny size, and the tables of the documents: what the list of results says."""

import argparse
import json
import os
import re
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import test_docs
import torch
from refusals import refuses
from test_docs import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import common  # noqa: E402
import correctors  # noqa: E402
import gates  # noqa: E402
import perceptron  # noqa: E402
import prose  # noqa: E402
import results  # noqa: E402
import speed  # noqa: E402
import untrained  # noqa: E402
from linear_tagger.first_subword import FirstSubword  # noqa: E402

from lev_plugins.reports.figures import KNOWN  # noqa: E402

TINY = (
    "--dim 32 --layers 1 --ffn 64 --heads 2 --vocab 100 --length 6 --sentences 6 --batch 3 "
    "--less bf16"
).split()
LINE = re.compile(r"^(.*), batch 3: .* ms .* (\d) texts as .*; ([\d.]+) times as fast", re.M)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["updates", "decoding"])
def test_untrained_models_are_timed_beside_stock(way, capsys):
    speed.main([way, *TINY])
    lines = {name: (equal, ratio) for name, equal, ratio in LINE.findall(capsys.readouterr().out)}
    assert lines.pop("stock") == ("6", "1.00")
    assert lines.keys() >= {"ours", "bf16"}
    assert way == "updates" or lines["ours, stock's rules"][0] == "6"


def test_a_difference_in_the_weights_is_noticed(capsys):
    args = speed.parse(["updates", *TINY])
    peers, pairs = untrained.build_peers(args), common.sentences(6, args)
    untrained.check(peers, pairs, args)
    assert "labels equal" in capsys.readouterr().out
    with torch.no_grad():
        peers.ours.placeholder_head.weight.mul_(1.1)
    with refuses("logits differ"):
        untrained.check(peers, pairs, args)


def test_a_system_of_other_iterations_than_stocks_is_not_timed():
    def taking(steps: int) -> speed.System:
        return speed.System(lambda rows: [("", steps)] * len(rows))

    systems = {"stock": taking(20), "ours": taking(22), "hasty": taking(16)}
    with refuses("hasty"):
        speed.measure(systems, [("a", "b")], 1, lambda rows, texts: {})


TEXTS = {
    "right_text/a.txt": "The cat.",
    "foreign/b.txt": "Der Hund.",
    "in_context/c.noisy": "In teh house.",
    "in_context/c.gold": '[["k", ["nonword", ["the"]], "k"]]',
    "here/pyproject.toml": "[tool.codespell]\nignore-words-list = 'teh'",
}


def test_a_peer_obeys_no_configuration_of_the_folder_where_it_is_measured(tmp_path, monkeypatch):
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path / "here")
    assert correctors.measure("codespell", tmp_path)["made_right"] == 100


def test_the_perceptrons_weights_are_means_over_all_words():
    text = [("the cat ran", "D N V"), ("a cat", "D N"), ("ran the cat", "V D N")]
    tagger, sums = perceptron.Tagger("DNV"), dict.fromkeys("DNV", 0.0)
    learn, words_seen = tagger.learn, 0

    def watched(*word: Any) -> None:
        nonlocal words_seen
        learn(*word)
        words_seen += 1
        for tag, weight in tagger.weights["any"].items():
            sums[tag] += weight

    tagger.learn = watched
    for words, tags in 2 * text:
        tagger.tagged(words.split(), tags.split())
    tagger.average()
    means = {tag: pytest.approx(total / words_seen) for tag, total in sums.items()}
    assert dict.fromkeys("DNV", 0) | tagger.weights["any"] == means
    assert [tagger.tagged(words.split()) for words, _ in text] == [t.split() for _, t in text]


def test_a_linear_tagger_reads_the_first_subword_of_each_word():
    states = torch.arange(10.0).view(2, 5, 1)
    seen = [[[0, 1, 1, 0, 0], [0, 0, 0, 1, 1]], [[0, 0, 1, 0, 0], [1, 1, 1, 1, 1]]]
    examples = torch.tensor([[1, 1], [1, 0]])
    features = FirstSubword()(examples, examples, states, torch.tensor(seen).bool())
    assert features.flatten().tolist() == [1, 3, 7]


def test_the_mask_gate_is_read_word_by_word():
    line, known = gates.words_of, {"der", "Hund"}
    masked = [0.1, 0.4, 0.2, 0.9, 0.3, 0.0, 0.2, 0.1]
    words = [*line(list("dcr▁Hund"), list("der▁Hund"), masked, known)]
    assert words == [(True, True, 0.4), (False, False, 0.3)]
    assert not [*line(list("dcr▁Hund"), list("derHund"), masked, known)]


# the list of results ---------------------------------------------------------------------------

COLUMNS = [
    {"metric": "right", "head": "right, %", "digits": 1, "best": "highest"},
    {"metric": "seeds", "head": "seeds"},
]
HEAD = {"table": "words", "head": "test", "judged_by": "right", "columns": COLUMNS}
MEASURED = {"command": ["bash run.sh"], "version": "0.6.0", "date": "2026-11-21", "cpu": "a CPU"}
PAGE = "# Results\n\nOne line.\n<!-- table: words -->\n{}\nThe end.\n"


def row(right: Any, system: str = "PBD", **fields: Any) -> dict[str, Any]:
    entry = {"table": "words", "system": system, "kind": "system", "seeds": [1], **MEASURED}
    return {**entry, "cores": 2, "torch": "2.13.0", "metrics": {"right": right}, **fields}


@pytest.fixture
def run(tmp_path):
    """Runs the script in a folder with one table of a row and a baseline, and returns its page."""
    (tmp_path / "benchmarks").mkdir()
    page = tmp_path / "RESULTS.md"
    page.write_text(PAGE.format("| old |\n|---|\n"))

    def run_with(system: dict[str, Any], *flags: str) -> str:
        baseline = row(80.0, "no-edit baseline", kind="no-edit", seeds=[])
        results.write(tmp_path / results.LIST, [HEAD, system, baseline])
        assert results.main(["--root", str(tmp_path), *flags]) == 0
        return page.read_text()

    return run_with


def test_a_number_of_a_page_needs_a_row_that_rounds_to_it_or_a_word(tmp_path, monkeypatch, capsys):
    numbers = {"7 %": ["words", "PBD", "right", "Transformer", 100], "2": None, "3": "a date"}
    rows = [row(71.0), row(1000.0, "Transformer")]
    for name, lines in (("prose", [{"page": "A.md", "numbers": numbers}]), ("results", rows)):
        (tmp_path / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    monkeypatch.setattr(prose, "LISTS", [tmp_path / "prose", tmp_path / "results"])
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    text = "7 % and 2.\n<!-- table: words -->\n| 5 |\n\nOn 3 and 4.\n"
    (tmp_path / "A.md").write_text(text)
    assert prose.main() == 1
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["4", "2"]


def test_the_documents_say_what_the_list_says(capsys):
    statuses = results.main(["--check"]), prose.main()
    assert statuses == (0, 0), capsys.readouterr().err


#: a program and its words in a line of the list, after the variables that it gets
STEP = re.compile(
    r"((?:\w+=\S+ )*)(python|bash|lev-[a-z-]+|fairseq-[a-z]+)((?: (?:'[^']*'|[^\s;&|<>']+))+)"
)


@pytest.mark.slow
def test_every_command_of_the_list_is_understood(monkeypatch):
    """Unless its row names the commit that understands it."""
    parse, known = argparse.ArgumentParser.parse_args, test_docs.known_flags()
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", lambda *all: sys.exit(parse(*all)))
    monkeypatch.syspath_prepend(ROOT / "examples/spelling_and_ocr")
    monkeypatch.chdir(ROOT)
    rows = [row for row in results.read(results.LIST) if "commit" not in row]
    lines = [line for row in rows for line in row.get("command", ())]
    for variables, program, line in {*STEP.findall(re.sub(r"\$\w+", "1", ";".join(lines)))}:
        words = shlex.split(line)
        if program == "bash":
            read = {*re.findall(r"\w+", Path(words[0]).read_text("utf-8"))}
            assert {*re.findall(r"[A-Z_]+(?==)|--[a-z][\w-]*", variables + line)} <= known | read
            continue
        if program != "python":
            words.insert(0, str(Path(sys.executable).with_name(program)))
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            runpy.run_path(words[0], run_name="__main__")
        assert end.value.code != 2, line  # argparse's status
        assert {*getattr(end.value.code, "metrics", ())} <= {*KNOWN}, line


def test_a_row_takes_the_numbers_of_reports_one_for_each_seed(run, tmp_path):
    for seed, right in ((1, 81.0), (2, 83.0)):
        figures = {"right": right, "corrected": [4, 5]}
        report = {"systems": [{"name": "no edits"}, {"name": "pbd", "figures": figures}]}
        (tmp_path / f"{seed}.json").write_text(json.dumps(report))
    files = [str(tmp_path / f"{seed}.json") for seed in (1, 2)]
    page = run(row(84.0, seeds=[1]), "--add", "words", "PBD", "pbd", *files, "--seeds", "1", "2")
    assert "82.0** (81.0 … 83.0) | 2 |" in page


def test_a_figure_is_found_by_its_own_name_and_by_the_columns_that_call_it_otherwise(tmp_path):
    report, figures = tmp_path / "1.json", {"accuracy": [3, 4]}
    report.write_text(json.dumps({"systems": [{"name": "a", "figures": figures}]}))
    values = results.metrics(str(report), "a")
    assert values["accuracy"] == values["exact"] == 3
