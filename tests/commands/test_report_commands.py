"""Reports and latencies of real outputs: generate and interactive first, then the commands."""

import json
import re
from pathlib import Path

import pytest
import sacrebleu

from lev_plugins.cli.report import main as report

ANALYSIS = Path(__file__).resolve().parents[2] / "examples" / "analysis"
LATENCY = f"python {ANALYSIS / 'latency.py'}"
SPLIT = "--gen-subset valid"


@pytest.fixture(scope="module")
def generated(commands, triples, tmp_path_factory):
    """The folder of a generated output, and fairseq's own words about it."""
    folder = tmp_path_factory.mktemp("generated")
    flags = f"{SPLIT} --print-step --retain-iter-history --scoring ter"
    result = commands.done(triples.generate(flags), triples.folder)
    (folder / "generate.out").write_text(result.out)
    return folder, result


def reported(commands, folder, flags):
    result = commands(f"python -m lev_plugins report {flags} --json report.json", folder, stdin="")
    assert result.code == 0 and result.err == "", result.err
    return json.loads((folder / "report.json").read_text()), result.out


def test_a_generated_output_is_reported_as_fairseq_scores_it(commands, triples, generated):
    folder, printed = generated
    (folder / "mt").write_text("".join(f"{one}\n" for one in triples.text("valid", "mt")))
    figures, table = reported(commands, folder, "generate.out --drafts mt")
    nothing, ours = figures["systems"]
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


def test_characters_are_scored_as_text_where_fairseq_joins_them(
    commands, triples, transformer, tmp_path, capsys, root
):
    """The data are single letters: with --bpe characters a sentence is one word."""
    command = (
        f"fairseq-generate {triples.data} --source-lang src --target-lang tgt {SPLIT} --cpu "
        f"--path {transformer} --user-dir {root}/lev_plugins --task translation --scoring"
    )
    joined = commands(f"{command} cer --bpe characters", tmp_path)
    apart = commands(f"{command} word_accuracy", tmp_path)
    assert joined.code == apart.code == 0, joined.err + apart.err
    assert "each" not in joined.out and "or --post-process sentencepiece joins them" in apart.out
    (tmp_path / "out").write_text(joined.out)
    path = tmp_path / "json"
    sources = joined.texts("S")
    (tmp_path / "src").write_text("".join(f"{line}\n" for line in sources))
    report([str(tmp_path / "out"), "--drafts", str(tmp_path / "src"), "--json", str(path)])
    figures = json.loads(path.read_text())
    nothing, ours = figures["systems"]
    assert f"CER = {ours['scores']['cer']:.2f} nrefs:1" in joined.out and ours["scores"]["cer"] > 0
    assert nothing["words"]["words"] == 11, "one word a sentence"
    assert nothing["words"]["corrected"] == nothing["words"]["miscorrected"] == 0
    assert "counted as words" not in capsys.readouterr().out


def test_latencies_of_an_edit_model_and_a_transformer(commands, triples, transformer, tmp_path):
    paths = [str(triples.checkpoint), str(triples.checkpoint.with_name("checkpoint_best.pt"))]
    result = commands(
        f"{LATENCY} {triples.data} --path {paths[0]} --path {paths[1]} "
        f"--ar-path {transformer} --draft-lang mt {SPLIT} --sentences 3 --warm-up 1",
        tmp_path,
    )
    assert result.code == 0 and result.err == "", result.err
    rows = re.findall(r"^(.+?) {2,}([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +", result.out, re.M)
    names = [row[0] for row in rows]
    assert names == [*paths, "autoregressive, greedy", "autoregressive, beam 4"]
    generated = commands.done(triples.generate(f"{SPLIT} --print-step"), triples.folder)
    steps = generated.texts("I")
    wanted = sum(int(steps[n]) for n in (0, 5, 10)) / 3
    assert float(rows[0][4]) == pytest.approx(wanted, abs=0.006)
    assert all(float(number) > 0 for row in rows for number in row[1:4])
    assert "sentences:3|" in result.out and "|threads:1|" in result.out
