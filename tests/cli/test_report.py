"""Reports: what is read, what is counted, and that table and JSON say the same."""

import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from refusals import refusal

from lev_plugins.cli import report as command
from lev_plugins.metrics import CORRECTION_METRICS, METRICS, correction_counts
from lev_plugins.metrics.corpus import add_up
from lev_plugins.reports.figures import NO_EDIT_BASELINE
from lev_plugins.reports.printed import read_printed

QUICK = ("--metrics", "bleu,ter,accuracy")
MT = ("--drafts", "mt", *QUICK)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written into a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


class Sentence:
    """What fairseq-generate prints of a sentence."""

    def __init__(
        self,
        number: int,
        source: str = "s",
        target: str | None = "a b",
        output: str = "a b",
        steps: int | None = 1,
        tokens: str | None = None,
        score: object = -0.5,
    ) -> None:
        lines = [f"S-{number}\t{source}"]
        lines += [] if target is None else [f"T-{number}\t{target}"]
        lines.append(f"H-{number}\t{score}\t{output if tokens is None else tokens}")
        lines += [f"D-{number}\t{score}\t{output}", f"P-{number}\t0.0000 -0.5000"]
        lines += [] if steps is None else [f"I-{number}\t{steps}"]
        lines += [f"E-{number}_0\tnever read"]
        self.lines = lines


def text(name: str, *lines: str) -> str:
    """A file of these lines."""
    Path(name).write_bytes("".join(f"{line}\n" for line in lines).encode())
    return name


def printed(name: str, *sentences: Sentence, log: Sequence[str] = ()) -> str:
    """A file of what fairseq-generate prints."""
    return text(name, *(line for sentence in sentences for line in sentence.lines), *log)


def out(*arguments: Any, **fields: Any) -> str:
    """The file ``out`` of one sentence."""
    return printed("out", Sentence(0, *arguments, **fields))


def report(*arguments: str) -> dict[str, Any]:
    """The JSON of a report."""
    command.main([*arguments, "--json", "report.json"])
    found = json.loads(Path("report.json").read_text())
    Path("report.json").unlink()
    return found


def systems(*arguments: str) -> list[dict[str, Any]]:
    return report(*arguments)["systems"]


def against(system: dict[str, Any]) -> tuple[int, ...]:
    """Sentences better, worse and equal."""
    return tuple(system["against_draft"][name] for name in ("better", "worse", "equal"))


def accuracies(*arguments: str) -> list[float]:
    return [one["scores"]["accuracy"] for one in systems(*arguments)]


# ---------------------------------------------------------------- reading


def test_outputs_are_put_in_order_and_log_lines_passed_over():
    sentences = [Sentence(2, output="third"), Sentence(0, output="first"), Sentence(1, output="2")]
    log = ["2026-11-20 | INFO | fairseq_cli.generate | {'path': 'H-0'}", "Generate test: 1"]
    path = printed("out", *sentences, log=log)
    assert accuracies(path, "--references", text("r", "first", "2", "third"), *QUICK) == [100]


def test_text_is_taken_before_tokens_the_first_of_several_and_without_its_line_end():
    sentence = Sentence(0, output="can't", tokens="can 't", score=-0.5, steps=2)
    sentence.lines += Sentence(0, output="bad", score="-2.0", steps=4).lines[2:]
    found = read_printed(printed("out", sentence))
    assert found.outputs == {0: "can't"} and found.iterations == {0: 2}
    Path("out").write_bytes(b"H-0\t-1\ta b\r\nI-0\t3\r\n")
    found = read_printed("out")
    assert found.outputs == {0: "a b"} and found.iterations == {0: 3}


def test_standard_input_is_read(monkeypatch):
    lines = "".join(f"{line}\n" for line in Sentence(0).lines).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert accuracies("-", *QUICK) == [100]


@pytest.mark.parametrize(
    "content, line",
    [
        ("", ""),
        ("T-0\ta\n", ""),
        ("H-0\t-1\ta\nS-1\tb\n", "sentence 0"),
        ("H-0\t-1\ta\nD-0\t-1\ta\nH-1\t-1\ta\n", "sentence 1"),
        ("S-0\ta\nH-0\t-1\ta\nS-0\ta\nH-0\t-1\ta\n", "line 3"),
        ("H-0\t-1\n", "line 1"),
        ("H-0 -1 a\n", "line 1"),
        ("H-0\t-1\ta\nS-0\tb\n 9%|█|\rS-1\tb\nH-1\t-1\tb\n", "sentence 1"),
        ("H-0\t-1\ta\nH-999999999999\t-1\ta\n", "999999999999"),
        ("H-0\t-1\ta\nH-2\t-1\ta\nH-5\t-1\ta\n", "3 sentences"),
        (b"H-0\t-1\ta\nH-1\t-1\t\xff\n", "line 2"),
    ],
)
def test_a_damaged_output_is_one_error_line(content, line):
    Path("out").write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refusal(command.main, "out", *QUICK)
    assert line in message and message.startswith("out")


# ---------------------------------------------------------------- what belongs together


def test_text_files_take_the_place_of_printed_lines():
    files = (
        "--hypotheses",
        text("hyp", "a b", "", "c"),
        "--references",
        text("ref", "a b", "x", "c"),
    )
    text("mt", "a", "x", "c c")
    nothing, ours = systems(*files, *MT)
    assert (nothing["name"], ours["name"]) == (NO_EDIT_BASELINE, "hyp")
    assert ours["scores"]["accuracy"] == pytest.approx(200 / 3)
    assert against(ours) == (2, 1, 0)


def test_files_of_unequal_length_are_refused_with_their_counts():
    printed("out", Sentence(0), Sentence(1))
    printed("part", Sentence(1))
    for count in (0, 1, 2, 3):
        text(str(count), *["a"] * count)
    for flags, *said in (
        ("out --references 1 --drafts 2", "2 has 2", "1 has 1"),
        ("out --drafts 1", "out has 2", "1 has 1"),
        ("out --references 3", "out has 2", "3 has 3"),
        ("out part", "part has 1"),
        ("part out", "part has 1"),
        ("--hypotheses 0", "0"),
    ):
        message = refusal(command.main, *flags.split())
        assert all(one in message for one in said), flags


def test_outputs_of_other_data_are_refused():
    def two(name: str, second: str) -> str:
        return printed(name, Sentence(0, target="a"), Sentence(1, target=second))

    first, second = two("a", "b"), two("b", "c")
    assert "a and b have other T- lines" in refusal(command.main, first, second, *QUICK)
    assert len(systems(first, second, "--references", text("ref", "a", "b"), *QUICK)) == 2


def test_without_references_or_iterations_the_rest_is_reported_and_what_lacks_is_said():
    printed("out", *(Sentence(n, target=None, output="a c", steps=None) for n in range(2)))
    figures = report("out", "--drafts", text("mt", "a b", "a c"))
    assert figures["metrics"] == {}
    ours = figures["systems"][1]
    assert ours["scores"] is ours["words"] is ours["against_draft"] is ours["iterations"] is None
    assert ours["unchanged"] == 1
    said = " ".join(figures["notes"])
    assert "--references FILE" in said and "--print-step" in said


@pytest.mark.parametrize("draft", ["▁new est ▁words", "new@@ est words", "n e w e s t ▁ w o r d s"])
def test_subwords_beside_words_are_refused_and_alone_are_said(draft, capsys):
    out(target="newest words", output="newest words")
    text("mt", draft)
    message = refusal(command.main, "out", *MT)
    assert message.startswith("mt ") and "T- lines of out" in message
    command.main(["--hypotheses", "mt", "--references", "mt", *QUICK])
    assert "are counted as words" in capsys.readouterr().out


# ---------------------------------------------------------------- figures

#: a file of four sentences: corrected, miscorrected, left alone, and changed in vain
EXAMPLE = ("out", "--drafts", "mt")


@pytest.fixture
def example() -> None:
    """Writes the files of EXAMPLE."""
    sentences = [
        Sentence(0, "s " * 3, "a b c", "a b c", steps=2),
        Sentence(1, "s " * 10, "a b c", "a b", steps=1),
        Sentence(2, "s " * 11, "a b c", "a b d", steps=0),
        Sentence(3, "", "a b", "a x", steps=1),
    ]
    printed("out", *sentences)
    text("mt", "a x c", "a b c", "a b d", "a y")


def test_figures_computed_by_hand(example):
    figures = report(*EXAMPLE, *QUICK)
    nothing, ours = figures["systems"]
    assert figures["sentences"] == 4
    assert list(ours["against_draft"].values()) == [6, 5, 1, 1, 2, 0]
    assert ours["unchanged"] == 1 and nothing["unchanged"] == 4
    assert ours["scores"]["accuracy"] == nothing["scores"]["accuracy"] == 25
    iterations = ours["iterations"]
    assert iterations["mean"] == 1
    found = [(one["iterations"], one["sentences"]) for one in iterations["histogram"]]
    assert found == [(0, 1), (1, 2), (2, 1)]
    assert nothing["iterations"] is None
    assert list(nothing["against_draft"].values()) == [6, 6, 0, 0, 4, 0]


def test_scores_are_sacrebleus():
    references = ["The cat sat on mats .", "the Cat sat", "a b c d e"]
    outputs = ["the cat sat on mats .", "the dog sat", "a b d c e"]
    files = ["--hypotheses", text("h", *outputs), "--references", text("r", *references)]
    (ours,) = systems(*files)
    assert set(ours["scores"]) == set(METRICS), "without drafts those alone that need none"
    bleu = sacrebleu.corpus_bleu(outputs, [references], force=True)
    assert ours["scores"]["bleu"] == pytest.approx(bleu.score)
    ter = sacrebleu.corpus_ter(outputs, [references])
    assert ours["scores"]["ter"] == pytest.approx(ter.score)


# ---------------------------------------------------------------- corrections

NOISY = ["tbe old house", "by tne sea", "a wrod"]
CLEAN = ["the old house", "by the sea", "a word"]
CORRECTED = ["the old horse", "by the sea", "a wrod"]


def corrections(name: str = "out") -> str:
    """CORRECTED as it is printed."""
    rows = zip(NOISY, CLEAN, CORRECTED, strict=True)
    return printed(name, *(Sentence(n, *row, steps=None) for n, row in enumerate(rows)))


def test_a_correction_is_scored_against_its_drafts():
    path = corrections()
    figures = report(path, "--drafts", text("mt", *NOISY))
    nothing, ours = figures["systems"]
    assert ours["words"] == {"words": 8, "right_before": 5, "corrected": 2, "miscorrected": 1}
    assert nothing["words"] == {"words": 8, "right_before": 5, "corrected": 0, "miscorrected": 0}
    for one, outputs in ((nothing, NOISY), (ours, CORRECTED)):
        counts = correction_counts(NOISY, outputs, CLEAN)
        assert one["scores"]["word_accuracy"] == counts.word_accuracy
        assert one["scores"]["correction_rate"] == counts.correction_rate
        assert one["scores"]["words_broken"] == counts.miscorrection_rate
        for name in ("edit_precision", "edit_recall", "edit_f05"):
            metric = CORRECTION_METRICS[name]
            totals = add_up(
                metric, (metric.statistics(*line) for line in zip(NOISY, outputs, CLEAN))
            )
            assert one["scores"][name] == metric.score(totals)
    assert nothing["scores"]["edit_f05"] == 0 < ours["scores"]["edit_f05"] < 100
    assert not figures["metrics"]["words_broken"]["higher_is_better"]
    for name in ("bleu", "edit_f05"):  # words are counted whatever metrics are asked for
        found = systems(path, "--drafts", "mt", "--metrics", name)
        assert [one["scores"] for one in found] == [
            {name: one["scores"][name]} for one in figures["systems"]
        ]
        assert [one["words"] for one in found] == [nothing["words"], ours["words"]]


def test_without_drafts_nothing_is_said_of_corrections():
    alone = report(corrections())
    assert [one["name"] for one in alone["systems"]] == ["out"]
    assert "--drafts FILE" in "".join(alone["notes"])
    assert alone["systems"][0]["words"] is None and "correction_rate" not in alone["metrics"]


# ---------------------------------------------------------------- table and JSON


def row(table: str, label: str) -> list[str]:
    """The numbers of the first row of that label."""
    (line, *_) = [one for one in table.splitlines() if one.strip().startswith(label)]
    return line.strip().removeprefix(label).replace("%", "").split()


def test_the_table_shows_the_numbers_of_the_json(example, capsys):
    figures = report(*EXAMPLE, "--names", "ours")
    table = capsys.readouterr().out
    found = figures["systems"]
    for name, about in figures["metrics"].items():
        label = f"{name} {'↑' if about['higher_is_better'] else '↓'}"
        assert row(table, label) == [f"{one['scores'][name]:.2f}" for one in found]
        assert f"{name}: {about['signature']}" in table
    for key in ("better", "worse", "equal"):
        counts = [one["against_draft"][key] for one in found]
        wanted = [cell for count in counts for cell in (str(count), f"{25 * count:.1f}")]
        assert row(table, key) == wanted
    for label, cells in {
        "edits still needed ↓": "6 5",
        "corrected": "0 0.0 1 33.3",
        "miscorrected": "0 0.0 1 12.5",
        "unchanged": "4 100.0 1 25.0",
        "iterations, mean": "– 1.00",
        "1  ": "– 2 50.0",
    }.items():
        assert row(table, label) == cells.split(), label


def test_systems_stand_side_by_side_under_their_names(example, capsys):
    Path("b").mkdir()
    targets = enumerate(["a b c", "a b c", "a b c", "a b"])
    second = printed("b/out", *(Sentence(n, target=t, output=t, steps=3) for n, t in targets))
    found = systems("out", second, *MT)
    assert [one["name"] for one in found] == [NO_EDIT_BASELINE, "out", second]
    capsys.readouterr()
    command.main(["out", second, *MT, "--names", "ours, \x1b[31m"])
    table = capsys.readouterr().out
    assert [line.split()[1:3] for line in table.splitlines()[-2:]] == [["better", "than"]] * 2
    assert "3 sentences better, 0 worse" in table and "95.8 %" in table
    assert re.search(r"^ +no-edit baseline +ours +\\x1b\[31m$", table, re.M)
    assert row(table, "accuracy ↑") == ["25.00", "25.00", "100.00"]
    assert row(table, "3  ") == ["–", "0", "0.0", "4", "100.0"]


def test_empty_drafts_are_no_evidence_in_the_verdict(capsys):
    path = printed("out", *(Sentence(n, "s", "a b", one) for n, one in enumerate(("a b", "a c"))))
    (_, ours) = systems(path, "--drafts", text("mt", "", "a b"), *QUICK)
    assert list(ours["against_draft"].values()) == [0, 2, 0, 1, 0, 1]
    last = capsys.readouterr().out.splitlines()[-1]
    assert "worse than the no-edit baseline" in last and "without 1 empty draft" in last


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("", "--hypotheses"),
        ("- -", "(-)"),
        ("gone", "gone"),
        ("out --metrics bleu,blue", "--metrics blue"),
        ("out --names a,b", "--names"),
        ("out out --names a,a", "--names"),
        ("out --names=", "--names"),
        ("out --json out", "--json"),
        ("out --json gone/a", "gone/a"),
        ("out --drafts gone", "gone"),
    ],
)
def test_a_wrong_option_is_one_error_line_and_nothing_is_written(words, named):
    out()
    assert named in refusal(command.main, *words.split())
