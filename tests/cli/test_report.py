"""Reports: what is read, what is counted, and that table, JSON and picture say the same."""

import io
import json
import random
import re
import struct
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from lev_plugins.cli import report as command
from lev_plugins.metrics import METRICS, correction_counts, grammar, make_correction_metric
from lev_plugins.metrics.corpus import add_up
from lev_plugins.reports.edits import EditCounts, agreement, common, count_edits
from lev_plugins.reports.figures import NO_EDIT_BASELINE
from lev_plugins.reports.input import Given, gather
from lev_plugins.reports.plots import draw
from lev_plugins.reports.printed import read_printed
from lev_plugins.reports.table import render_table

QUICK = ("--metrics", "bleu,ter,accuracy")
MT = ("--drafts", "mt", *QUICK)
# Anything that a line of text can hold, with what means something here at every turn.
HOSTILE = st.text(
    st.sampled_from("HDST-0\t\r\x0b\x85\u2028\x00\x1b$_\\{}%&<>\"' é字")
    | st.characters(exclude_characters="\n", exclude_categories=["Cs"]),
    max_size=12,
)


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
        draft: str | None = None,
        tokens: str | None = None,
        score: object = -0.5,
    ) -> None:
        lines = [f"S-{number}\t{source}"]
        lines += [] if target is None else [f"T-{number}\t{target}"]
        lines.append(f"H-{number}\t{score}\t{output if tokens is None else tokens}")
        lines += [f"D-{number}\t{score}\t{output}", f"P-{number}\t0.0000 -0.5000"]
        lines += [] if steps is None else [f"I-{number}\t{steps}"]
        lines += [] if draft is None else [f"E-{number}_0\t{draft}", f"E-{number}_1\tnever read"]
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


def accuracies(*arguments: str) -> list[float]:
    return [one["scores"]["accuracy"] for one in systems(*arguments)]


# ---------------------------------------------------------------- counting edits


def subsequences(tokens: Sequence[str], other: Sequence[str]) -> list[set[int]]:
    """Where a longest common subsequence can lie in ``tokens``: every way there is."""
    for size in range(min(len(tokens), len(other)), -1, -1):
        found = []
        for places in combinations(range(len(tokens)), size):
            rest = iter(other)
            if all(tokens[place] in rest for place in places):
                found.append(set(places))
        if found:
            return found
    raise AssertionError("nothing in common is always found")


FEW = st.lists(st.sampled_from("abc"), max_size=6)


@given(FEW, FEW, FEW)
def test_agreement_is_the_best_of_all_pairs_of_longest_common_subsequences(x, y, z):
    first, second = subsequences(x, y), subsequences(x, z)
    both = max(len(one & other) for one in first for other in second)
    assert agreement(x, y, z) == (len(first[0]), len(second[0]), both)
    assert common(x, y) == len(first[0])


def test_edits_counted_by_hand():
    # right are a, b, c; kept are a, c, y; "d" is inserted as it should be, "z" as it should not
    counts = count_edits("a b x c y".split(), "a c d y z".split(), "a b c d".split())
    assert counts == EditCounts(
        *(2, 1),  # right tokens: kept, miscorrected
        *(1, 1),  # wrong ones: gone, left
        *(1, 1),  # inserted: right, wrong
        *(3, 3),  # edits: needed, remaining
    )
    # a repeated word is not broken where another can stand for it
    counts = count_edits("the cat the".split(), "cat the".split(), ["the"])
    assert (counts.right_kept, counts.right_miscorrected) == (1, 0)
    assert (counts.wrong_gone, counts.wrong_left) == (1, 1)


@given(FEW, FEW, FEW)
def test_every_token_is_counted_once_and_nothing_or_all_is_right_where_it_must_be(
    draft, output, reference
):
    counts = count_edits(draft, output, reference)
    of_draft = (counts.right_kept, counts.right_miscorrected, counts.wrong_gone, counts.wrong_left)
    assert sum(of_draft) == len(draft) and min(of_draft) >= 0
    inserted = counts.right_inserted + counts.wrong_inserted
    assert inserted == len(output) - common(draft, output)
    assert min(counts.right_inserted, counts.wrong_inserted) >= 0
    nothing = count_edits(draft, draft, reference)
    assert nothing.right_miscorrected == nothing.wrong_gone == 0
    assert nothing.right_inserted == nothing.wrong_inserted == 0
    assert nothing.remaining == nothing.needed
    perfect = count_edits(draft, reference, reference)
    assert perfect.right_miscorrected == perfect.wrong_left == perfect.wrong_inserted == 0
    assert perfect.remaining == 0 and perfect.right_kept == nothing.right_kept


# ---------------------------------------------------------------- reading


def test_outputs_are_put_in_order_and_log_lines_passed_over():
    sentences = [Sentence(2, output="third"), Sentence(0, output="first"), Sentence(1, output="2")]
    log = ["2026-11-20 | INFO | fairseq_cli.generate | {'path': 'H-0'}", "Generate test: 1"]
    corpus = gather(Given(printed=[printed("out", *sentences, log=log)]))
    assert corpus.numbers == [0, 1, 2]
    assert [corpus.systems[0].outputs[n] for n in corpus.numbers] == ["first", "2", "third"]


def test_detokenised_text_is_taken_and_tokens_where_there_is_none():
    whole = Sentence(0, output="can't", tokens="can 't")
    assert read_printed(printed("a", whole)).outputs == {0: "can't"}
    whole.lines = [line for line in whole.lines if not line.startswith("D-")]
    assert read_printed(printed("b", whole)).outputs == {0: "can 't"}


def test_the_best_of_several_outputs_is_taken_with_its_iterations_and_said():
    sentence = Sentence(0, output="bad", score="-2.0", steps=4)
    for output, score, steps in (("good", -0.5, 2), ("also good", -0.5, 9), ("lost", "nan", 9)):
        sentence.lines += Sentence(0, output=output, score=score, steps=steps).lines[2:]
    found = read_printed(printed("out", sentence))
    assert found.outputs == {0: "good"} and found.iterations == {0: 2}
    assert "of 1 sentence with several outputs the one with the best score" in found.notes[0]


def test_windows_line_ends_do_not_stick_to_the_text():
    Path("out").write_bytes(b"H-0\t-1\ta b\r\nI-0\t3\r\n")
    found = read_printed("out")
    assert found.outputs == {0: "a b"} and found.iterations == {0: 3}


def test_standard_input_is_read(monkeypatch):
    lines = "".join(f"{line}\n" for line in Sentence(0).lines).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert accuracies("-", *QUICK) == [100]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no H- or D- lines"),
        ("T-0\ta\n", "no H- or D- lines"),
        ("H-0\t-1\ta\nH-1\t-1", "line 2, the last, has no line end"),
        ("H-0\t-1\ta\nS-1\tb\n", "line 2: S-1 stands without its H- line"),
        ("H-0\t-1\ta\nD-0\t-1\ta\nH-1\t-1\ta\n", "line 3: H-1 stands without its D- line"),
        ("T-0\ta\nH-0\t-1\ta\nH-1\t-1\ta\n", "line 3: sentence 1 has no T- line"),
        ("H-0\t-1\ta\nI-0\t1\nH-1\t-1\ta\n", "line 3: sentence 1 has no I- line"),
        ("S-0\ta\nH-0\t-1\ta\nS-0\ta\nH-0\t-1\ta\n", "line 3: S-0 is there already, in line 1"),
        ("H-0\t-1\ta\nI-0\t1\nI-0\t1\n", "line 2: sentence 0 has 2 I- lines and 1 H- lines"),
        ("H-0\t-1\ta\nH-0\t-1\ta\nD-0\t-1\ta\n", "sentence 0 has 2 H- lines and 1 D- lines"),
        ("H-0\t-1\n", "line 1: a H- line is number, score and text"),
        ("H-0\tgood\ta\n", "line 1: a H- line is number, score and text"),
        ("H-0\t-1\ta\nI-0\tmany\n", "line 2: 'many' is no number of iterations"),
        ("H-0 -1 a\n", "line 1: no tab after H-0"),
        ("H-0\t-1\ta\nD-0\n", "line 2: no tab after D-0"),
        (" 50%|█ | 1/2 [0:01]\rS-0\ta\nH-0\t-1\ta\n", "line 1: a progress bar runs into"),
        ("H-0\t-1\tHalf a\r 50%|█ | 1/2 [0:01]line\n", "line 1: a progress bar runs into"),
        ("H-0\t-1\ta\nH-999999999999\t-1\ta\n", "are missing: 1, 2, 3, 4, 5 …; generate again"),
        ("H-0\t-1\ta\nI-0\t" + "9" * 5000 + "\n", "line 2: '99999999999999999999' is no number"),
        ("H-0\t-1\ta\nH-2\t-1\ta\nH-5\t-1\ta\n", "3 of 6 sentences are missing: 1, 3, 4; "),
        (b"H-0\t-1\ta\nH-1\t-1\t\xff\n", "line 2: byte 8 of the line is not valid UTF-8"),
    ],
)
def test_a_damaged_output_is_one_error_line(content, said):
    Path("out").write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refusal(command.main, "out", *QUICK)
    assert said in message and message.startswith("out")


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_hostile_text_comes_through_and_miscorrects_nothing(texts):
    texts = [one.removesuffix("\r") for one in texts]
    path = printed("out", *(Sentence(n, one, one, one, draft=one) for n, one in enumerate(texts)))
    found = read_printed(path)
    assert list(found.outputs.values()) == list(found.references.values()) == texts
    for system in systems(path, "--metrics", "accuracy", "--unit", "character"):
        assert system["scores"] == {"accuracy": 100.0}
        assert system["edits"] is None or system["edits"]["remaining"] == 0


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
    assert ours["against_draft"] == {"better": 2, "worse": 1, "equal": 0}


def test_files_of_unequal_length_are_refused_with_their_counts():
    printed("out", Sentence(0), Sentence(1))
    for count in (0, 1, 2, 3):
        text(str(count), *["a"] * count)
    assert "1 has 1, 2 has 2" in refusal(command.main, "out", "--references", "1", "--drafts", "2")
    assert "line 10: sentence 1, but 1 has 1 line," in refusal(command.main, "out", "--drafts", "1")
    for side in ("--drafts", "--references"):
        assert refusal(command.main, "out", side, "3").startswith(
            "out has sentences 0 to 1, and 3 has 3 lines: 3 may be another set's; where it is not, "
            "the last 1 of 3 sentences are missing in out: generate again, or leave them out of "
        )
    assert "no lines in 0" in refusal(command.main, "--hypotheses", "0")


def test_sentences_that_one_output_lacks_are_left_out_for_all_and_counted():
    printed("whole", *(Sentence(n, output="a b" if n else "x") for n in range(4)))
    printed("part", Sentence(1), Sentence(3))
    printed("other", Sentence(0), Sentence(2))
    text("mt", "x", "a b", "x", "a b")
    said = "part: 2 of 4 sentences (mt has 4 lines) are missing: 0, 2; "
    assert refusal(command.main, "whole", "part", *MT).startswith(f"{said}generate again")
    figures = report("whole", "part", "--allow-missing", *MT)
    assert figures["sentences"] == 2
    assert [one["scores"]["accuracy"] for one in figures["systems"]] == [100, 100, 100]
    assert f"{said}left out for all" in figures["notes"][0]
    assert "no sentence in common" in refusal(
        command.main, "part", "other", "--allow-missing", *QUICK
    )


def test_outputs_of_other_data_are_refused():
    def two(name: str, second: str, drafts: Sequence[str | None] = (None, None)) -> str:
        sides = zip(("a", second), drafts, strict=True)
        return printed(name, *(Sentence(n, target=t, draft=d) for n, (t, d) in enumerate(sides)))

    first, second = two("a", "b"), two("b", "c")
    assert "have other T- lines for sentence 1" in refusal(command.main, first, second, *QUICK)
    assert len(systems(first, second, "--references", text("ref", "a", "b"), *QUICK)) == 2
    third, fourth = two("c", "b", ("x", "y")), two("d", "b", ("x", "z"))
    assert "have other E- lines for sentence 1" in refusal(command.main, third, fourth, *QUICK)


def test_an_output_that_began_from_nothing_brings_no_drafts():
    edited = printed("a", Sentence(0, draft="a"), Sentence(1, draft=""))
    generated = printed("b", Sentence(0, draft=""), Sentence(1, draft=""))
    found = systems(generated, edited, *QUICK)
    assert [one["name"] for one in found] == [NO_EDIT_BASELINE, "b", "a"]
    assert found[0]["edits"]["right_kept"] == 1
    assert [one["name"] for one in systems(generated, *QUICK)] == ["b"]


def test_without_references_or_iterations_the_rest_is_reported_and_what_lacks_is_said():
    printed("out", *(Sentence(n, target=None, output="a c", steps=None) for n in range(2)))
    figures = report("out", "--drafts", text("mt", "a b", "a c"))
    assert figures["metrics"] == {} and figures["reference_tokens"] is None
    ours = figures["systems"][1]
    assert ours["scores"] is ours["edits"] is ours["against_draft"] is ours["iterations"] is None
    assert ours["edits_made"] == {"kept": 3, "deleted": 1, "inserted": 1}
    assert ours["unchanged"] == 1
    said = " ".join(figures["notes"])
    assert "give --references FILE" in said and "generate with --print-step" in said


def test_unknown_words_in_printed_references_and_sources_are_said():
    notes = report(out(target="a <<unk>>", output="a <unk>"), *QUICK)["notes"]
    assert any("<<unk>>" in note for note in notes)
    path = out("tbe <unk> house", "the old house", "the old house")
    notes = " ".join(report(path, "--against", "source", *QUICK)["notes"])
    assert "1 S- lines hold <unk>" in notes and "--sources FILE" in notes
    assert "S- lines" not in " ".join(report(path, *QUICK)["notes"])


@pytest.mark.parametrize(
    ("name", "draft"),
    [
        ("sentencepiece", "▁new est ▁words"),
        ("characters", "n e w e s t ▁ w o r d s"),
        ("subword_nmt", "new@@ est words"),
        ("_EOW", "new est_EOW words_EOW"),
    ],
)
def test_subwords_of_drafts_are_joined(name, draft):
    text("mt", draft)
    path = out(target="newest words", output="newest words")
    assert accuracies(path, "--remove-bpe", name, *MT)[0] == 100


def test_subwords_beside_words_are_refused_with_the_flag_that_joins_them():
    path = out(target="newest", output="newest")
    text("mt", "▁new est")
    message = refusal(command.main, path, *MT)
    assert message.startswith("mt has subwords (▁) and T- lines of out has not")
    flags = re.search(r"--remove-bpe \S+ --remove-bpe-from \S+(?=,)", message)[0].split()
    assert accuracies(path, *flags, *MT)[0] == 100
    assert accuracies(path, "--remove-bpe", "none", *MT)[0] == 0


@pytest.mark.parametrize("name", ["sentencepiece", "characters"])
@pytest.mark.parametrize("side", ["drafts", "hypotheses"])
def test_words_are_not_glued_together(name, side):
    text("mt", "newest words")
    path = out(target="newest words", output="newest words")
    flags = ["--remove-bpe", name, "--remove-bpe-from", side]
    where = "mt" if side == "drafts" else path
    message = refusal(command.main, path, *flags, *MT)
    assert message.startswith(f"{where} has no ▁, so --remove-bpe {name} would take out its spaces")


def test_outputs_in_subwords_are_joined_where_asked_for():
    path = out(target="new@@ est", output="new@@ est")
    flags = ("--references", text("ref", "newest"), *QUICK)
    joined = ("--remove-bpe", "subword_nmt", "--remove-bpe-from", "hypotheses")
    assert " ".join(joined) in refusal(command.main, path, *flags)
    with pytest.raises(SystemExit):
        command.main([path, "--remove-bpe", "@@", *joined[2:]])
    assert accuracies(path, *joined, *flags) == [100]


def test_tokens_as_drafts_of_joined_outputs_are_refused_until_told_how_to_join():
    path = out(target="new", output="new", tokens="n e w", draft="n e w s")
    assert "say how to join them with --remove-bpe" in refusal(command.main, path, *QUICK)
    found = systems(path, "--remove-bpe", "characters", "--unit", "character", *QUICK)
    assert found[1]["edits"]["wrong_gone"] == 1


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
    counts = [figures[name] for name in ("sentences", "reference_tokens", "draft_tokens")]
    assert counts == [4, 11, 11]
    assert ours["edits"] == {
        **{"right_kept": 7, "right_miscorrected": 1, "wrong_gone": 2, "wrong_left": 1},
        **{"right_inserted": 1, "wrong_inserted": 1, "needed": 6, "remaining": 5},
    }
    assert ours["edits_made"] == {"kept": 8, "deleted": 3, "inserted": 2}
    assert ours["against_draft"] == {"better": 1, "worse": 1, "equal": 2}
    assert ours["unchanged"] == 1 and nothing["unchanged"] == 4
    assert ours["scores"]["accuracy"] == nothing["scores"]["accuracy"] == 25
    iterations = ours["iterations"]
    assert iterations["mean"] == 1
    found = [(one["iterations"], one["sentences"]) for one in iterations["histogram"]]
    assert found == [(0, 1), (1, 2), (2, 1)]
    names = ("from", "to", "sentences", "mean_length", "mean_iterations")
    short, long = ([one[name] for name in names] for one in iterations["by_length"])
    assert short == pytest.approx([0, 10, 3, 13 / 3, 4 / 3]) and long == [11, 20, 1, 11, 0]
    assert nothing["iterations"] is None
    assert nothing["against_draft"] == {"better": 0, "worse": 0, "equal": 4}
    assert nothing["edits"]["right_miscorrected"] == 0 and nothing["edits"]["remaining"] == 6


def test_scores_are_sacrebleus():
    words = "The cat sat on mats .".split()
    draw = random.Random(3)
    references = [" ".join(draw.choices(words, k=7)) for _ in range(5)]
    outputs = [
        line.lower() if n % 2 else line.replace("cat", "dog") for n, line in enumerate(references)
    ]
    files = ["--hypotheses", text("h", *outputs), "--references", text("r", *references)]
    (ours,) = systems(*files)
    both = (outputs, [references])
    for name, score in {
        "bleu": sacrebleu.corpus_bleu(*both, force=True),
        "ter": sacrebleu.corpus_ter(*both),
        "ter_normalized": sacrebleu.corpus_ter(*both, normalized=True, case_sensitive=True),
        "chrf": sacrebleu.corpus_chrf(*both),
    }.items():
        assert ours["scores"][name] == pytest.approx(score.score), name
    assert set(ours["scores"]) == set(METRICS), "without drafts those alone that need none"
    cased = report(*files, "--ter-case-sensitive", "--bleu-tokenize", "char")
    exact = sacrebleu.corpus_ter(*both, case_sensitive=True).score
    assert cased["systems"][0]["scores"]["ter"] == pytest.approx(exact)
    assert exact > ours["scores"]["ter"]
    assert "tok:char" in cased["metrics"]["bleu"]["signature"]
    assert "case:mixed" in cased["metrics"]["ter"]["signature"]


def test_the_order_of_lines_changes_nothing(example):
    before = report(*EXAMPLE, *QUICK)
    lines = Path("out").read_text().splitlines()
    for seed in range(20):
        random.Random(seed).shuffle(lines)
        text("out", *lines)
        assert report(*EXAMPLE, *QUICK) == before


def test_characters_are_edited_where_asked_for():
    text("mt", "teh  cat")
    path = out(target="the cat", output="the cart")
    words, letters = (
        systems(path, "--unit", one, *MT)[1]["edits"] for one in ("word", "character")
    )
    assert (words["needed"], words["remaining"]) == (2, 2)
    assert (letters["needed"], letters["remaining"]) == (2, 1)


# ---------------------------------------------------------------- corrections

NOISY = ["tbe old house", "by tne sea", "a wrod"]
CLEAN = ["the old house", "by the sea", "a word"]
CORRECTED = ["the old horse", "by the sea", "a wrod"]
SOURCE = ("--against", "source")


def corrections(name: str = "out", spelt: bool = False) -> str:
    """CORRECTED as it is printed, in single characters where ``spelt``."""
    rows = list(zip(NOISY, CLEAN, CORRECTED, strict=True))
    if spelt:
        rows = [tuple(" ".join(one.replace(" ", "▁")) for one in row) for row in rows]
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
            metric = make_correction_metric(name)
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


@pytest.mark.parametrize("named", [False, True])
def test_sources_take_the_place_of_drafts_where_they_were_corrected(named, capsys):
    path, noisy = corrections(), text("noisy", *NOISY)
    drafts = report(path, "--drafts", noisy)
    figures = report(path, *SOURCE, *(("--sources", noisy) if named else ()))
    expected = noisy if named else "S- lines of out"
    assert figures.pop("origin")["drafts"] == expected and drafts.pop("origin")["drafts"] == noisy
    assert figures == drafts
    assert f"drafts: {expected}\n" in capsys.readouterr().out
    alone = report(path)
    assert [one["name"] for one in alone["systems"]] == ["out"]
    assert "--against source" in "".join(alone["notes"])
    assert alone["systems"][0]["words"] is None and "correction_rate" not in alone["metrics"]


def test_sources_that_lack_or_differ_are_refused():
    given = ("--references", text("clean", *CLEAN), *QUICK)
    text("text", *CORRECTED)
    assert "there are no S- lines; give the sources" in refusal(
        command.main, "--hypotheses", "text", *SOURCE, *given
    )
    first, other = corrections("a"), corrections("b")
    Path(other).write_text(Path(other).read_text().replace("tbe", "tee"))
    assert "have other S- lines for sentence 0" in refusal(
        command.main, first, other, *SOURCE, *given
    )
    noisy = ("--sources", text("noisy", *NOISY))
    assert len(systems(first, other, *SOURCE, *given, *noisy)) == 3
    assert len(systems(first, other, *given)) == 2


def test_characters_are_joined_or_said_to_count_as_words():
    path = corrections("spelt", spelt=True)
    apart = report(path, *SOURCE, "--metrics", "word_accuracy")
    (note,) = [note for note in apart["notes"] if "single characters" in note]
    flags = re.search(r"--remove-bpe \S+ --remove-bpe-from \S+", note)[0].split()
    joined, words = report(path, *SOURCE, *flags), report(corrections(), *SOURCE)
    scores = [[one["scores"] for one in found["systems"]] for found in (joined, words)]
    assert scores[0] == scores[1]
    assert not any("single characters" in note for note in [*joined["notes"], *words["notes"]])


# ---------------------------------------------------------------- table, JSON, picture


def row(table: str, label: str) -> list[str]:
    """The numbers of the first row of that label."""
    (line, *_) = [one for one in table.splitlines() if one.strip().startswith(label)]
    return line.strip().removeprefix(label).replace("%", "").split()


LABELS = {
    "bleu": "BLEU ↑",
    "ter": "TER ↓",
    "ter_normalized": "TER, normalised ↓",
    "chrf": "chrF ↑",
    "rouge1": "ROUGE-1 ↑",
    "rouge2": "ROUGE-2 ↑",
    "rougeL": "ROUGE-L ↑",
    "accuracy": "exact match, % ↑",
    "word_accuracy": "words right, % ↑",
    "wrr": "WRR, 100 − WER ↑",
    "wrr_jaccard": "WRR, Jaccard ↑",
    "wer": "WER ↓",
    "cer": "CER ↓",
    "correction_rate": "wrong words corrected, % ↑",
    "words_broken": "right words miscorrected, % ↓",
    "edit_precision": "edits, precision ↑",
    "edit_recall": "edits, recall ↑",
    "edit_f05": "edits, F0.5 ↑",
}


def test_the_table_shows_the_numbers_of_the_json(example, capsys):
    figures = report(*EXAMPLE, "--names", "ours")
    table = capsys.readouterr().out
    found = figures["systems"]
    assert list(LABELS) == list(figures["metrics"])
    for name, label in LABELS.items():
        assert row(table, label) == [f"{one['scores'][name]:.2f}" for one in found]
        assert figures["metrics"][name]["signature"] in table
    for label, part, key, total in (
        ("right, kept ↑", "edits", "right_kept", 11),
        ("right, miscorrected ↓", "edits", "right_miscorrected", 11),
        ("wrong, gone ↑", "edits", "wrong_gone", 11),
        ("wrong, left ↓", "edits", "wrong_left", 11),
        ("inserted, right ↑", "edits", "right_inserted", 11),
        ("inserted, wrong ↓", "edits", "wrong_inserted", 11),
        ("better than the draft", "against_draft", "better", 4),
        ("worse than the draft", "against_draft", "worse", 4),
        ("as good as the draft", "against_draft", "equal", 4),
    ):
        counts = [one[part][key] for one in found]
        wanted = [cell for count in counts for cell in (str(count), f"{100 * count / total:.1f}")]
        assert row(table, label) == wanted
    assert "words of the references, 11: 8 right before\n" in table
    for label, cells in {
        "edits still needed ↓": "6 5",
        "corrected ↑": "0 0.0 1 33.3",
        "miscorrected ↓": "0 0.0 1 12.5",
        "left as they were": "4 100.0 1 25.0",
        "iterations, mean": "– 1.00",
        "1  ": "– 2 50.0",
        "11–20 (1)": "– 0.00",
    }.items():
        assert row(table, label) == cells.split(), label
    assert table == render_table(figures)


def test_systems_stand_side_by_side_under_their_names(example, capsys):
    Path("b").mkdir()
    targets = enumerate(["a b c", "a b c", "a b c", "a b"])
    second = printed("b/out", *(Sentence(n, target=t, output=t, steps=3) for n, t in targets))
    found = systems("out", second, *MT)
    assert [one["name"] for one in found] == [NO_EDIT_BASELINE, "out", second]
    command.main(["out", second, *MT, "--names", "ours, perfect"])
    table = capsys.readouterr().out.rpartition("4 sentences, ")[2]
    assert re.search(r"^ +no-edit baseline +ours +perfect$", table, re.M)
    assert row(table, "exact match, % ↑") == ["25.00", "25.00", "100.00"]
    assert row(table, "3  ") == ["–", "0", "0.0", "4", "100.0"]


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png[12:16] == b"IHDR"
    return struct.unpack(">II", png[16:24])


def test_the_picture_is_a_png_with_a_panel_for_everything_that_was_computed(example):
    figures = report(*EXAMPLE, *QUICK, "--png", "report.png", "--title", "A $title$")
    wide, high = size(Path("report.png").read_bytes())
    assert wide > 2 * high and size(draw(figures, "A $title$")) == (wide, high)
    for system in figures["systems"]:
        system["iterations"] = None
    assert size(draw(figures))[0] == wide // 3


def test_a_picture_of_many_systems_with_hostile_names_is_sampled_without_a_word(example, capfd):
    figures = report(*EXAMPLE, *QUICK)
    ours = figures["systems"].pop()
    names = ["$\\frac{", "字\U0001f600", "x" * 300, "\x1b[31m\n", "_^", "a", "b"]
    figures["systems"] += [{**ours, "name": name} for name in names]
    capfd.readouterr()
    assert size(draw(figures, "\x00\n$x"))[0] > 1000
    table = render_table(figures)
    assert "\x1b" not in table and len(table.splitlines()[2].split()) > 7
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("library", "flags"),
    [
        ("matplotlib", (*QUICK, "--png", "p")),
        ("rouge_score.rouge_scorer", ("--metrics", "rouge1")),
        ("errant", (*SOURCE, "--metrics", "bleu,errant_f05", "--json", "j")),
    ],
)
def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch, library, flags
):
    monkeypatch.setitem(sys.modules, library, None)
    grammar.load_annotator.cache_clear()
    extra = "grammar" if library == "errant" else "report"
    assert f"pip install 'lev_plugins[{extra}]'" in refusal(command.main, corrections(), *flags)
    assert "errant_f05" not in report("out", *SOURCE, *QUICK)["metrics"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "nothing to report on"),
        ("- -", "standard input (-) can be read only once"),
        ("gone", "gone: cannot be read: No such file"),
        ("out --length-step 0", "--length-step 0: give 1 or more"),
        ("out --metrics bleu,blue", "--metrics blue: choose of bleu,ter,"),
        ("out --metrics errant", "errant_f05"),
        ("out --remove-bpe-from all", "--remove-bpe-from all: choose of drafts,"),
        ("out --bleu-tokenize moses", "--bleu-tokenize moses: choose of "),
        ("out --data d --drafts f", "--drafts and --data both name drafts"),
        ("out --against source --drafts f", "--against source and --drafts both"),
        (
            "out --against source --data d --draft-lang mt",
            "--against source and --data both name what was corrected: give one",
        ),
        ("out --data d", "--data and --draft-lang name drafts together"),
        ("out --draft-lang mt", "--data and --draft-lang name drafts together"),
        ("out --data . --draft-lang mt", "no file test.SOURCE-TARGET.mt.idx"),
        ("out --names a,b", "2 names for 1 systems"),
        ("out out --names a,a", "--names: 'a' does not tell"),
        ("out --names=", "--names: '' does not tell"),
        ("out --json=", "--json needs the name of a file"),
        ("out --json -", "--json needs the name of a file"),
        ("out --json out", "would write over"),
        ("out --json a --png ./a", "would write over"),
        ("out --json gone/a", "cannot be written (No such file or directory)"),
        ("out --drafts gone", "gone: cannot be read: No such file"),
        ("bare --metrics bleu --png p --json j", "--png: nothing to draw"),
    ],
)
def test_a_wrong_option_is_one_error_line_and_nothing_is_written(words, said):
    out()
    printed("bare", Sentence(0, steps=None))
    assert said in refusal(command.main, *words.split())
