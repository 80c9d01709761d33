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

from lev_plugins.cli import report as command
from lev_plugins.errors import UserError
from lev_plugins.metrics import METRICS, correction_counts, grammar, make_correction_metric
from lev_plugins.metrics.corpus import add_up
from lev_plugins.reports.edits import EditCounts, agreement, common, count_edits
from lev_plugins.reports.figures import NO_EDIT_BASELINE
from lev_plugins.reports.input import Given, gather
from lev_plugins.reports.plots import draw
from lev_plugins.reports.printed import read_printed
from lev_plugins.reports.table import render_table

QUICK = ("--metrics", "bleu,ter,accuracy")
# Anything that a line of text can hold, with what means something here at every turn.
HOSTILE = st.text(
    st.sampled_from("HDST-0\t\r\x0b\x85\u2028\x00\x1b$_\\{}%&<>\"' é字")
    | st.characters(exclude_characters="\n", exclude_categories=["Cs"]),
    max_size=12,
)


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


def write(path: Path, *sentences: Sentence, log: Sequence[str] = ()) -> str:
    lines = [line for sentence in sentences for line in sentence.lines]
    path.write_bytes("".join(f"{line}\n" for line in [*lines, *log]).encode())
    return str(path)


def write_text(path: Path, *lines: str) -> str:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return str(path)


def report(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """The JSON of a report."""
    path = tmp_path / "report.json"
    command.main([*arguments, "--json", str(path)])
    return json.loads(path.read_text())


def refusal(*arguments: str) -> str:
    with pytest.raises(UserError) as error:
        command.main(list(arguments))
    return str(error.value)


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
        right_kept=2,
        right_miscorrected=1,
        wrong_gone=1,
        wrong_left=1,
        right_inserted=1,
        wrong_inserted=1,
        needed=3,
        remaining=3,
    )


def test_a_repeated_word_is_not_broken_where_another_can_stand_for_it():
    counts = count_edits("the cat the".split(), "cat the".split(), ["the"])
    assert (counts.right_kept, counts.right_miscorrected) == (1, 0)
    assert (counts.wrong_gone, counts.wrong_left) == (1, 1)


@given(FEW, FEW)
def test_the_no_edit_baseline_breaks_nothing_and_the_reference_itself_leaves_nothing(
    draft, reference
):
    nothing = count_edits(draft, draft, reference)
    assert nothing.right_miscorrected == nothing.wrong_gone == 0
    assert nothing.right_inserted == nothing.wrong_inserted == 0
    assert nothing.remaining == nothing.needed
    perfect = count_edits(draft, reference, reference)
    assert perfect.right_miscorrected == perfect.wrong_left == perfect.wrong_inserted == 0
    assert perfect.remaining == 0 and perfect.right_kept == nothing.right_kept


@given(FEW, FEW, FEW)
def test_every_token_is_counted_once(draft, output, reference):
    counts = count_edits(draft, output, reference)
    of_draft = (counts.right_kept, counts.right_miscorrected, counts.wrong_gone, counts.wrong_left)
    assert sum(of_draft) == len(draft) and min(of_draft) >= 0
    inserted = counts.right_inserted + counts.wrong_inserted
    assert inserted == len(output) - common(draft, output)
    assert min(counts.right_inserted, counts.wrong_inserted) >= 0


# ---------------------------------------------------------------- reading


def test_outputs_are_put_in_order_and_log_lines_passed_over(tmp_path):
    path = write(
        tmp_path / "out",
        Sentence(2, output="third"),
        Sentence(0, output="first"),
        Sentence(1, output="second"),
        log=["2026-11-20 | INFO | fairseq_cli.generate | {'path': 'H-0'}", "Generate test: 1"],
    )
    corpus = gather(Given(printed=[path]))
    assert corpus.numbers == [0, 1, 2]
    assert [corpus.systems[0].outputs[n] for n in corpus.numbers] == ["first", "second", "third"]


def test_detokenised_text_is_taken_and_tokens_where_there_is_none(tmp_path):
    whole = Sentence(0, output="can't", tokens="can 't")
    assert read_printed(write(tmp_path / "a", whole)).outputs == {0: "can't"}
    whole.lines = [line for line in whole.lines if not line.startswith("D-")]
    assert read_printed(write(tmp_path / "b", whole)).outputs == {0: "can 't"}


def test_the_best_of_several_outputs_is_taken_with_its_iterations_and_said(tmp_path):
    sentence = Sentence(0, output="bad", score="-2.0", steps=4)
    sentence.lines += Sentence(0, output="good", score="-0.5", steps=2).lines[2:]
    sentence.lines += Sentence(0, output="also good", score="-0.5", steps=9).lines[2:]
    sentence.lines += Sentence(0, output="lost", score="nan", steps=9).lines[2:]
    printed = read_printed(write(tmp_path / "out", sentence))
    assert printed.outputs == {0: "good"} and printed.iterations == {0: 2}
    assert "1 sentences have several outputs; the one with the best score" in printed.notes[0]


def test_windows_line_ends_do_not_stick_to_the_text(tmp_path):
    (tmp_path / "out").write_bytes(b"H-0\t-1\ta b\r\nI-0\t3\r\n")
    printed = read_printed(str(tmp_path / "out"))
    assert printed.outputs == {0: "a b"} and printed.iterations == {0: 3}


def test_standard_input_is_read(tmp_path, monkeypatch):
    class Stdin:
        buffer = io.BytesIO("".join(f"{line}\n" for line in Sentence(0).lines).encode())

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert report(tmp_path, "-", *QUICK)["systems"][0]["scores"]["accuracy"] == 100


@pytest.mark.parametrize(
    ("text", "said"),
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
    ],
)
def test_a_damaged_output_is_one_error_line(tmp_path, text, said):
    path = tmp_path / "out"
    path.write_bytes(text.encode())
    message = refusal(str(path), *QUICK)
    assert said in message and message.startswith(str(path)) and "\n" not in message


def test_bytes_that_are_no_text_are_named(tmp_path):
    (tmp_path / "out").write_bytes(b"H-0\t-1\ta\nH-1\t-1\t\xff\n")
    assert "line 2: byte 8 of the line is not valid UTF-8" in refusal(str(tmp_path / "out"))
    assert "gone: cannot be read: No such file" in refusal(str(tmp_path / "gone"))


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_hostile_text_comes_through_and_miscorrects_nothing(tmp_path_factory, texts):
    tmp_path = tmp_path_factory.mktemp("hostile")
    texts = [text.removesuffix("\r") for text in texts]
    sentences = [
        Sentence(number, text, text, text, draft=text) for number, text in enumerate(texts)
    ]
    path = write(tmp_path / "out", *sentences)
    printed = read_printed(path)
    assert list(printed.outputs.values()) == list(printed.references.values()) == texts
    figures = report(tmp_path, path, "--metrics", "accuracy", "--unit", "character")
    for system in figures["systems"]:
        assert system["scores"] == {"accuracy": 100.0}
        assert system["edits"] is None or system["edits"]["remaining"] == 0


# ---------------------------------------------------------------- what belongs together


def test_text_files_take_the_place_of_printed_lines(tmp_path):
    hypotheses = write_text(tmp_path / "hyp", "a b", "", "c")
    figures = report(
        tmp_path,
        *(
            "--hypotheses",
            hypotheses,
            "--references",
            write_text(tmp_path / "ref", "a b", "x", "c"),
        ),
        *("--drafts", write_text(tmp_path / "mt", "a", "x", "c c"), *QUICK),
    )
    nothing, ours = figures["systems"]
    assert (nothing["name"], ours["name"]) == (NO_EDIT_BASELINE, "hyp")
    assert ours["scores"]["accuracy"] == pytest.approx(200 / 3)
    assert ours["against_draft"] == {"better": 2, "worse": 1, "equal": 0}


def test_files_of_unequal_length_are_refused_with_their_counts(tmp_path):
    out = write(tmp_path / "out", Sentence(0), Sentence(1))
    one, two, three = (write_text(tmp_path / str(count), *["a"] * count) for count in (1, 2, 3))
    assert f"{one} has 1, {two} has 2" in refusal(out, "--references", one, "--drafts", two)
    assert f"line 10: sentence 1, but {one} has 1 lines" in refusal(out, "--drafts", one)
    assert f"{out}: 1 of 3 sentences are missing: 2" in refusal(out, "--drafts", three)
    empty = write_text(tmp_path / "empty")
    assert f"no lines in {empty}" in refusal("--hypotheses", empty)


def test_sentences_that_one_output_lacks_are_left_out_for_all_and_counted(tmp_path):
    whole = write(tmp_path / "a", *(Sentence(n, output="a b" if n else "x") for n in range(4)))
    part = write(tmp_path / "b", Sentence(1), Sentence(3))
    drafts = write_text(tmp_path / "mt", "x", "a b", "x", "a b")
    refused = refusal(whole, part, "--drafts", drafts, *QUICK)
    assert refused.startswith(f"{part}: 2 of 4 sentences are missing: 0, 2; generate again")
    figures = report(tmp_path, whole, part, "--drafts", drafts, "--allow-missing", *QUICK)
    assert figures["sentences"] == 2
    assert [one["scores"]["accuracy"] for one in figures["systems"]] == [100, 100, 100]
    assert f"{part}: 2 of 4 sentences are missing: 0, 2; left out for all" in figures["notes"][0]
    other = write(tmp_path / "c", Sentence(0), Sentence(2))
    assert "no sentence in common" in refusal(part, other, "--allow-missing", *QUICK)


def test_outputs_of_other_data_are_refused(tmp_path):
    first = write(tmp_path / "a", Sentence(0, target="a"), Sentence(1, target="b"))
    second = write(tmp_path / "b", Sentence(0, target="a"), Sentence(1, target="c"))
    assert "have other T- lines for sentence 1" in refusal(first, second, *QUICK)
    references = write_text(tmp_path / "ref", "a", "b")
    assert len(report(tmp_path, first, second, "--references", references, *QUICK)["systems"]) == 2
    third = write(
        tmp_path / "c", Sentence(0, target="a", draft="x"), Sentence(1, target="b", draft="y")
    )
    fourth = write(
        tmp_path / "d", Sentence(0, target="a", draft="x"), Sentence(1, target="b", draft="z")
    )
    assert "have other E- lines for sentence 1" in refusal(third, fourth, *QUICK)


def test_an_output_that_began_from_nothing_brings_no_drafts(tmp_path):
    edited = write(tmp_path / "a", Sentence(0, draft="a"), Sentence(1, draft=""))
    generated = write(tmp_path / "b", Sentence(0, draft=""), Sentence(1, draft=""))
    systems = report(tmp_path, generated, edited, *QUICK)["systems"]
    assert [one["name"] for one in systems] == [NO_EDIT_BASELINE, "b", "a"]
    assert systems[0]["edits"]["right_kept"] == 1
    assert [one["name"] for one in report(tmp_path, generated, *QUICK)["systems"]] == ["b"]


def test_without_references_or_iterations_the_rest_is_reported_and_what_lacks_is_said(tmp_path):
    sentences = [Sentence(n, target=None, output="a c", steps=None) for n in range(2)]
    path = write(tmp_path / "out", *sentences)
    figures = report(tmp_path, path, "--drafts", write_text(tmp_path / "mt", "a b", "a c"))
    assert figures["metrics"] == {} and figures["reference_tokens"] is None
    ours = figures["systems"][1]
    assert ours["scores"] is ours["edits"] is ours["against_draft"] is ours["iterations"] is None
    assert ours["edits_made"] == {"kept": 3, "deleted": 1, "inserted": 1}
    assert ours["unchanged"] == 1
    said = " ".join(figures["notes"])
    assert "give --references FILE" in said and "generate with --print-step" in said


def test_unknown_words_in_printed_references_are_said(tmp_path):
    path = write(tmp_path / "out", Sentence(0, target="a <<unk>>", output="a <unk>"))
    assert any("<<unk>>" in note for note in report(tmp_path, path, *QUICK)["notes"])


@pytest.mark.parametrize(
    ("name", "draft"),
    [
        ("sentencepiece", "▁new est ▁words"),
        ("characters", "n e w e s t ▁ w o r d s"),
        ("subword_nmt", "new@@ est words"),
        ("_EOW", "new est_EOW words_EOW"),
    ],
)
def test_subwords_of_drafts_are_joined(tmp_path, name, draft):
    path = write(tmp_path / "out", Sentence(0, target="newest words", output="newest words"))
    drafts = write_text(tmp_path / "mt", draft)
    nothing = report(tmp_path, path, "--drafts", drafts, "--remove-bpe", name, *QUICK)["systems"][0]
    assert nothing["scores"]["accuracy"] == 100


def test_subwords_beside_words_are_refused_with_the_flag_that_joins_them(tmp_path):
    path = write(tmp_path / "out", Sentence(0, target="newest", output="newest"))
    drafts = write_text(tmp_path / "mt", "▁new est")
    message = refusal(path, "--drafts", drafts, *QUICK)
    assert message.startswith(f"{drafts} has subwords (▁) and T- lines of {path} has not")
    flags = re.search(r"--remove-bpe \S+ --remove-bpe-from \S+(?=,)", message)[0].split()
    accepted = report(tmp_path, path, "--drafts", drafts, *flags, *QUICK)
    assert accepted["systems"][0]["scores"]["accuracy"] == 100
    left = report(tmp_path, path, "--drafts", drafts, "--remove-bpe", "none", *QUICK)
    assert left["systems"][0]["scores"]["accuracy"] == 0


def test_outputs_in_subwords_are_joined_where_asked_for(tmp_path):
    path = write(tmp_path / "out", Sentence(0, target="new@@ est", output="new@@ est"))
    references = write_text(tmp_path / "ref", "newest")
    message = refusal(path, "--references", references, *QUICK)
    assert "--remove-bpe subword_nmt --remove-bpe-from hypotheses" in message
    flags = ("--remove-bpe", "@@", "--remove-bpe-from", "hypotheses")
    with pytest.raises(SystemExit):
        command.main([path, *flags])
    figures = report(
        tmp_path,
        path,
        "--references",
        references,
        "--remove-bpe",
        "subword_nmt",
        *flags[2:],
        *QUICK,
    )
    assert figures["systems"][0]["scores"]["accuracy"] == 100


def test_tokens_as_drafts_of_joined_outputs_are_refused_until_told_how_to_join(tmp_path):
    sentence = Sentence(0, target="new", output="new", tokens="n e w", draft="n e w s")
    path = write(tmp_path / "out", sentence)
    assert "say how to join them with --remove-bpe" in refusal(path, *QUICK)
    figures = report(tmp_path, path, "--remove-bpe", "characters", "--unit", "character", *QUICK)
    assert figures["systems"][1]["edits"]["wrong_gone"] == 1


# ---------------------------------------------------------------- figures


def example(tmp_path: Path) -> list[str]:
    """Four sentences: corrected, miscorrected, left alone, and changed in vain."""
    sentences = [
        Sentence(0, "s " * 3, "a b c", "a b c", steps=2),
        Sentence(1, "s " * 10, "a b c", "a b", steps=1),
        Sentence(2, "s " * 11, "a b c", "a b d", steps=0),
        Sentence(3, "", "a b", "a x", steps=1),
    ]
    path = write(tmp_path / "out", *sentences)
    return [path, "--drafts", write_text(tmp_path / "mt", "a x c", "a b c", "a b d", "a y")]


def test_figures_computed_by_hand(tmp_path):
    figures = report(tmp_path, *example(tmp_path), *QUICK)
    nothing, ours = figures["systems"]
    assert (figures["sentences"], figures["reference_tokens"], figures["draft_tokens"]) == (
        4,
        11,
        11,
    )
    assert ours["edits"] == {
        "right_kept": 7,
        "right_miscorrected": 1,
        "wrong_gone": 2,
        "wrong_left": 1,
        "right_inserted": 1,
        "wrong_inserted": 1,
        "needed": 6,
        "remaining": 5,
    }
    assert ours["edits_made"] == {"kept": 8, "deleted": 3, "inserted": 2}
    assert ours["against_draft"] == {"better": 1, "worse": 1, "equal": 2}
    assert ours["unchanged"] == 1 and nothing["unchanged"] == 4
    assert ours["scores"]["accuracy"] == nothing["scores"]["accuracy"] == 25
    assert ours["iterations"] == {
        "mean": 1.0,
        "histogram": [
            {"iterations": 0, "sentences": 1},
            {"iterations": 1, "sentences": 2},
            {"iterations": 2, "sentences": 1},
        ],
        "by_length": [
            {
                "from": 0,
                "to": 10,
                "sentences": 3,
                "mean_length": pytest.approx(13 / 3),
                "mean_iterations": pytest.approx(4 / 3),
            },
            {"from": 11, "to": 20, "sentences": 1, "mean_length": 11.0, "mean_iterations": 0.0},
        ],
    }
    assert nothing["iterations"] is None
    assert nothing["against_draft"] == {"better": 0, "worse": 0, "equal": 4}
    assert nothing["edits"]["right_miscorrected"] == 0 and nothing["edits"]["remaining"] == 6


def test_scores_are_sacrebleus(tmp_path):
    draw_words = random.Random(3)
    references = [
        " ".join(draw_words.choices("The cat sat on mats .".split(), k=7)) for _ in "12345"
    ]
    outputs = [
        text.lower() if n % 2 else text.replace("cat", "dog") for n, text in enumerate(references)
    ]
    files = ["--hypotheses", write_text(tmp_path / "h", *outputs)]
    files += ["--references", write_text(tmp_path / "r", *references)]
    scores = report(tmp_path, *files)["systems"][0]["scores"]
    wanted = {
        "bleu": sacrebleu.corpus_bleu(outputs, [references], force=True),
        "ter": sacrebleu.corpus_ter(outputs, [references]),
        "ter_normalized": sacrebleu.corpus_ter(
            outputs, [references], normalized=True, case_sensitive=True
        ),
        "chrf": sacrebleu.corpus_chrf(outputs, [references]),
    }
    assert {name: scores[name] for name in wanted} == {
        name: pytest.approx(score.score) for name, score in wanted.items()
    }
    assert set(scores) == set(METRICS), "without drafts those alone that need none"
    cased = report(tmp_path, *files, "--ter-case-sensitive", "--bleu-tokenize", "char")
    exact = sacrebleu.corpus_ter(outputs, [references], case_sensitive=True).score
    assert cased["systems"][0]["scores"]["ter"] == pytest.approx(exact) and exact > scores["ter"]
    assert "tok:char" in cased["metrics"]["bleu"]["signature"]
    assert "case:mixed" in cased["metrics"]["ter"]["signature"]


@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(tmp_path_factory, shuffler):
    tmp_path = tmp_path_factory.mktemp("order")
    path, *drafts = example(tmp_path)
    before = report(tmp_path, path, *drafts, *QUICK)
    lines = Path(path).read_text().splitlines(keepends=True)
    shuffler.shuffle(lines)
    Path(path).write_text("".join(lines))
    assert report(tmp_path, path, *drafts, *QUICK) == before


def test_characters_are_edited_where_asked_for(tmp_path):
    path = write(tmp_path / "out", Sentence(0, target="the cat", output="the cart"))
    drafts = write_text(tmp_path / "mt", "teh  cat")
    words, letters = (
        report(tmp_path, path, "--drafts", drafts, "--unit", unit, *QUICK)["systems"][1]["edits"]
        for unit in ("word", "character")
    )
    assert (words["needed"], words["remaining"]) == (2, 2)
    assert (letters["needed"], letters["remaining"]) == (2, 1)


# ---------------------------------------------------------------- corrections

NOISY = ["tbe old house", "by tne sea", "a wrod"]
CLEAN = ["the old house", "by the sea", "a word"]
CORRECTED = ["the old horse", "by the sea", "a wrod"]
PRINTED = [
    Sentence(n, source, target, output, steps=None)
    for n, (source, target, output) in enumerate(zip(NOISY, CLEAN, CORRECTED, strict=True))
]


def test_a_correction_is_scored_against_its_drafts(tmp_path):
    path = write(tmp_path / "out", *PRINTED)
    figures = report(tmp_path, path, "--drafts", write_text(tmp_path / "mt", *NOISY))
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
            lines = zip(NOISY, outputs, CLEAN)
            totals = add_up(metric, (metric.statistics(*line) for line in lines))
            assert one["scores"][name] == metric.score(totals)
    assert nothing["scores"]["edit_f05"] == 0 < ours["scores"]["edit_f05"] < 100
    assert not figures["metrics"]["words_broken"]["higher_is_better"]


def test_words_are_counted_whatever_metrics_are_asked_for(tmp_path):
    path = write(tmp_path / "out", *PRINTED)
    flags = ("--drafts", write_text(tmp_path / "mt", *NOISY))
    full = report(tmp_path, path, *flags)["systems"]
    for name in ("bleu", "edit_f05"):
        found = report(tmp_path, path, *flags, "--metrics", name)["systems"]
        assert [one["scores"] for one in found] == [{name: one["scores"][name]} for one in full]
        assert [one["words"] for one in found] == [one["words"] for one in full]


@pytest.mark.parametrize("named", [False, True])
def test_sources_take_the_place_of_drafts_where_they_were_corrected(tmp_path, named, capsys):
    path = write(tmp_path / "out", *PRINTED)
    text = write_text(tmp_path / "noisy", *NOISY)
    drafts = report(tmp_path, path, "--drafts", text)
    sources = ("--sources", text) if named else ()
    figures = report(tmp_path, path, "--against", "source", *sources)
    expected = text if named else f"S- lines of {path}"
    assert figures.pop("origin")["drafts"] == expected and drafts.pop("origin")["drafts"] == text
    assert figures == drafts
    assert f"drafts: {expected}\n" in capsys.readouterr().out
    alone = report(tmp_path, path)
    assert [one["name"] for one in alone["systems"]] == ["out"] and "--against source" in "".join(
        alone["notes"]
    )
    assert alone["systems"][0]["words"] is None
    assert "correction_rate" not in alone["metrics"]


def test_sources_that_lack_or_differ_are_refused(tmp_path):
    text = write_text(tmp_path / "text", *CORRECTED)
    clean = write_text(tmp_path / "clean", *CLEAN)
    flags = ("--references", clean, "--against", "source", *QUICK)
    assert "there are no S- lines; give the sources" in refusal("--hypotheses", text, *flags)
    first = write(tmp_path / "a", *PRINTED)
    other = write(tmp_path / "b", Sentence(0, steps=None), *PRINTED[1:])
    assert "have other S- lines for sentence 0" in refusal(first, other, *flags)
    noisy = write_text(tmp_path / "noisy", *NOISY)
    assert len(report(tmp_path, first, other, *flags, "--sources", noisy)["systems"]) == 3
    assert len(report(tmp_path, first, other, "--references", clean, *QUICK)["systems"]) == 2


def test_unknown_words_in_printed_sources_are_said(tmp_path):
    sentence = Sentence(0, "tbe <unk> house", "the old house", "the old house")
    path = write(tmp_path / "out", sentence)
    notes = " ".join(report(tmp_path, path, "--against", "source", *QUICK)["notes"])
    assert "1 S- lines hold <unk>" in notes and "--sources FILE" in notes
    assert "S- lines" not in " ".join(report(tmp_path, path, *QUICK)["notes"])


def spelt(text: str) -> str:
    return " ".join(text.replace(" ", "▁"))


def test_characters_are_joined_or_said_to_count_as_words(tmp_path):
    sentences = [
        Sentence(n, spelt(source), spelt(target), spelt(output), steps=None)
        for n, (source, target, output) in enumerate(zip(NOISY, CLEAN, CORRECTED))
    ]
    path = write(tmp_path / "spelt", *sentences)
    apart = report(tmp_path, path, "--against", "source", "--metrics", "word_accuracy")
    (note,) = [note for note in apart["notes"] if "single characters" in note]
    flags = re.search(r"--remove-bpe \S+ --remove-bpe-from \S+", note)[0].split()
    figures = report(tmp_path, path, "--against", "source", *flags)
    text = report(tmp_path, write(tmp_path / "out", *PRINTED), "--against", "source")
    assert [one["scores"] for one in figures["systems"]] == [
        one["scores"] for one in text["systems"]
    ]
    assert not any("single characters" in note for note in [*figures["notes"], *text["notes"]])


def test_errant_that_is_missing_is_one_line_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "errant", None)
    grammar.load_annotator.cache_clear()
    path = write(tmp_path / "out", *PRINTED)
    flags = ("--against", "source", "--metrics", "bleu,errant_f05")
    message = refusal(path, *flags, "--json", str(tmp_path / "j"))
    assert "pip install 'lev_plugins[grammar]'" in message and "\n" not in message
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert "errant_f05" not in report(tmp_path, path, "--against", "source")["metrics"]


# ---------------------------------------------------------------- table, JSON, picture


def row(table: str, label: str) -> list[str]:
    """The numbers of the first row of that label."""
    (line, *_) = [one for one in table.splitlines() if one.strip().startswith(label)]
    return line.strip().removeprefix(label).replace("%", "").split()


def test_the_table_shows_the_numbers_of_the_json(tmp_path, capsys):
    arguments = [*example(tmp_path), "--names", "ours"]
    figures = report(tmp_path, *arguments)
    table = capsys.readouterr().out
    systems = figures["systems"]
    labels = {
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
    assert list(labels) == list(figures["metrics"])
    for name, label in labels.items():
        assert row(table, label) == [f"{one['scores'][name]:.2f}" for one in systems]
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
        counts = [one[part][key] for one in systems]
        wanted = [text for count in counts for text in (str(count), f"{100 * count / total:.1f}")]
        assert row(table, label) == wanted
    assert row(table, "edits still needed ↓") == ["6", "5"]
    assert "words of the references, 11: 8 right before\n" in table
    assert row(table, "corrected ↑") == ["0", "0.0", "1", "33.3"]
    assert row(table, "miscorrected ↓") == ["0", "0.0", "1", "12.5"]
    assert row(table, "left as they were") == ["4", "100.0", "1", "25.0"]
    assert row(table, "iterations, mean") == ["–", "1.00"]
    assert row(table, "1  ") == ["–", "2", "50.0"]
    assert row(table, "11–20 (1)") == ["–", "0.00"]
    assert table == render_table(figures)


def test_systems_stand_side_by_side_under_their_names(tmp_path, capsys):
    first, *drafts = example(tmp_path)
    (tmp_path / "b").mkdir()
    second = write(tmp_path / "b" / "out", *(Sentence(n, target=t, output=t, steps=3)
                   for n, t in enumerate(["a b c", "a b c", "a b c", "a b"])))  # fmt: skip
    figures = report(tmp_path, first, second, *drafts, *QUICK)
    assert [one["name"] for one in figures["systems"]] == [NO_EDIT_BASELINE, first, second]
    command.main([first, second, *drafts, *QUICK, "--names", "ours, perfect"])
    table = capsys.readouterr().out.rpartition("4 sentences, ")[2]
    assert re.search(r"^ +no-edit baseline +ours +perfect$", table, re.M)
    assert row(table, "exact match, % ↑") == ["25.00", "25.00", "100.00"]
    assert row(table, "3  ") == ["–", "0", "0.0", "4", "100.0"]


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png[12:16] == b"IHDR"
    return struct.unpack(">II", png[16:24])


def test_the_picture_is_a_png_with_a_panel_for_everything_that_was_computed(tmp_path):
    arguments = example(tmp_path)
    path = tmp_path / "report.png"
    figures = report(tmp_path, *arguments, *QUICK, "--png", str(path), "--title", "A $title$")
    (wide, high) = size(path.read_bytes())
    assert wide > 2 * high
    again = draw(figures, "A $title$")
    assert size(again) == (wide, high)
    for system in figures["systems"]:
        system["iterations"] = None
    assert size(draw(figures))[0] == wide // 3


def test_a_picture_of_many_systems_with_hostile_names_is_sampled_without_a_word(tmp_path, capfd):
    arguments = example(tmp_path)
    figures = report(tmp_path, *arguments, *QUICK)
    ours = figures["systems"].pop()
    names = ["$\\frac{", "字\U0001f600", "x" * 300, "\x1b[31m\n", "_^", "a", "b"]
    figures["systems"] += [{**ours, "name": name} for name in names]
    capfd.readouterr()
    assert size(draw(figures, "\x00\n$x"))[0] > 1000
    table = render_table(figures)
    assert "\x1b" not in table and len(table.splitlines()[2].split()) > 7
    assert capfd.readouterr() == ("", "")


def test_nothing_to_draw_is_said_and_nothing_is_written(tmp_path):
    path = write(tmp_path / "out", Sentence(0, steps=None))
    message = refusal(path, *QUICK, "--png", str(tmp_path / "p"), "--json", str(tmp_path / "j"))
    assert message.startswith("--png: nothing to draw")
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("library", "arguments"),
    [("matplotlib", [*QUICK, "--png", "p"]), ("rouge_score.rouge_scorer", ["--metrics", "rouge1"])],
)
def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it(
    tmp_path, monkeypatch, library, arguments
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    path = write(tmp_path / "out", Sentence(0))
    assert "pip install 'lev_plugins[report]'" in refusal(path, *arguments)
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to report on"),
        (["-", "-"], "standard input (-) can be read only once"),
        (["{out}", "--length-step", "0"], "--length-step 0: give 1 or more"),
        (["{out}", "--metrics", "bleu,blue"], "--metrics blue: choose of bleu,ter,"),
        (["{out}", "--remove-bpe-from", "all"], "--remove-bpe-from all: choose of drafts,"),
        (["{out}", "--bleu-tokenize", "moses"], "--bleu-tokenize moses: choose of "),
        (["{out}", "--data", "d", "--drafts", "f"], "--drafts and --data both name drafts"),
        (["{out}", "--metrics", "errant"], "errant_f05"),
        (["{out}", "--against", "source", "--drafts", "f"], "--against source and --drafts both"),
        (
            ["{out}", "--against", "source", "--data", "d", "--draft-lang", "mt"],
            "--against source and --data both name what was corrected: give one",
        ),
        (["{out}", "--data", "d"], "--data and --draft-lang name drafts together"),
        (["{out}", "--draft-lang", "mt"], "--data and --draft-lang name drafts together"),
        (["{out}", "--data", "{tmp}", "--draft-lang", "mt"], "no file test.SOURCE-TARGET.mt.idx"),
        (["{out}", "--names", "a,b"], "2 names for 1 systems"),
        (["{out}", "{out}", "--names", "a,a"], "--names: 'a' does not tell"),
        (["{out}", "--names", ""], "--names: '' does not tell"),
        (["{out}", "--json", ""], "--json needs the name of a file"),
        (["{out}", "--json", "-"], "--json needs the name of a file"),
        (["{out}", "--json", "{out}"], "would write over"),
        (["{out}", "--json", "{tmp}/a", "--png", "{tmp}/./a"], "would write over"),
        (["{out}", "--json", "{tmp}/gone/a"], "cannot be written (No such file or directory)"),
        (["{out}", "--drafts", "{tmp}/gone"], "gone: cannot be read: No such file"),
    ],
)
def test_a_wrong_option_is_one_error_line_and_nothing_is_written(tmp_path, arguments, said):
    out = write(tmp_path / "out", Sentence(0))
    before = (tmp_path / "out").read_bytes()
    message = refusal(*(one.format(out=out, tmp=tmp_path) for one in arguments))
    assert said in message and "\n" not in message
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == before


def test_help_shows_an_example_that_the_parser_takes(capsys):
    with pytest.raises(SystemExit) as left:
        command.main(["--help"])
    assert left.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    example_line = shown.rpartition("lev_plugins.cli.report ")[2]
    assert command.build_parser().parse_args(example_line.split()).names == ["ours", "stock"]
