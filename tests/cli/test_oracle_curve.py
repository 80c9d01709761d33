"""The curve of Figure 5: one decoding a mode, and what is written of it."""

import csv
import io
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import oracle_curve as command
import pytest
import tiny
import torch
from decoding.fake_policy import RandomPolicy
from oracle_curve import NO_EDIT_BASELINE, Corpus, Point
from refusals import refuses

from lev_plugins.errors import UserError
from lev_plugins.inference.corpus import read_references
from lev_plugins.metrics.corpus import make_metric
from lev_plugins.systems.levenshtein.decoding.ensemble import EnsemblePolicy
from lev_plugins.systems.levenshtein.decoding.oracle import ORACLES, with_oracle

TASK = tiny.task()
ROWS = tiny.triples(20, 4, longest=7)
MOST = 4


def policies(count: int = 1) -> list[RandomPolicy]:
    return [RandomPolicy(TASK.tgt_dict, TASK.placeholder, 6 + i, 0.5) for i in range(count)]


def flags(**values: Any) -> Namespace:
    """The command's options; those that only reading the data needs are left out."""
    chosen = {"max_iter": MOST, "iter_decode_eos_penalty": 0.0, "remove_bpe": None}
    return Namespace(**{**chosen, "max_len_a": 0.0, "max_len_b": 9, **values})


def corpus(drafted: bool = True) -> Corpus:
    """Three batches, the sentences of each in another order."""
    spaced = {i: " ".join(row.target) for i, row in enumerate(ROWS)}
    drafts = {i: " ".join(row.draft) for i, row in enumerate(ROWS)}
    batches = [
        tiny.batch(TASK, [ROWS[i] for i in ids], ids, left=True, drafted=drafted)
        for ids in ([0, 5, 2, 1], [*range(19, 12, -1)], [3, 4, *range(6, 13)])
    ]
    return Corpus(batches, spaced, drafts if drafted else None)


def separately(
    models: Sequence[Any], mode: str, limit: int, args: Namespace, drafted: bool
) -> dict[int, tuple[str, int]]:
    """Outputs and iterations of a run of its own under a limit."""
    options = Namespace(
        iter_decode_max_iter=limit,
        iter_decode_eos_penalty=args.iter_decode_eos_penalty,
        max_len_a=args.max_len_a,
        max_len_b=args.max_len_b,
    )
    generator = TASK.build_generator(models, options)
    policy = models[0] if len(models) == 1 else EnsemblePolicy(models)
    found = {}
    for batch in corpus(drafted).batches:
        helped = with_oracle(policy, mode, batch["target"])
        for number, (one,) in zip(
            batch["id"].tolist(), generator.generate([helped], batch), strict=True
        ):
            text = " ".join(tiny.letters(one["tokens"], TASK.tgt_dict)).replace("_", "<unk>")
            found[number] = (text, one["steps"])
    return found


@pytest.mark.parametrize("mode", ORACLES)
@pytest.mark.parametrize("count", [1, 2], ids=["one model", "ensemble"])
@pytest.mark.parametrize("drafted", [True, False], ids=["drafts", "from nothing"])
def test_one_decoding_gives_what_separate_runs_give(mode, count, drafted):
    args = flags(iter_decode_eos_penalty=0.3)
    models = policies(count)
    decoded = dict(command.decode(TASK, models, corpus(drafted), mode, args))
    assert sorted(decoded) == list(range(20))
    for limit in range(1, MOST + 1):
        for number, (text, steps) in separately(models, mode, limit, args, drafted).items():
            assert decoded[number].outputs[limit - 1] == text
            assert min(decoded[number].steps, limit) == steps
    if drafted:
        assert len({one.steps for one in decoded.values()}) > 2, "they end at different times"
        changed = [len(set(one.outputs)) for one in decoded.values()]
        assert max(changed) > 2 and min(changed) == 1


def test_a_sentence_that_is_left_alone_is_its_draft_under_every_limit():
    tokens = torch.tensor([0, 5, 2])
    hypothesis = {"tokens": tokens, "history": [{"phase": "draft", "tokens": tokens}]}
    assert command.states_by_limit(hypothesis, 3) == [tokens] * 3


def test_states_stand_after_whole_iterations():
    states = [torch.tensor([0, number, 2]) for number in range(4, 11)]
    phases = ["draft", *["delete", "placeholder", "token"] * 2]
    history = [
        {"phase": phase, "tokens": state} for phase, state in zip(phases, states, strict=True)
    ]
    hypothesis = {"tokens": states[-1], "history": history}
    found = command.states_by_limit(hypothesis, 4)
    assert [int(one[1]) for one in found] == [7, 10, 10, 10]


@pytest.mark.parametrize("name, drafted", [("bleu", True), ("ter", True), ("accuracy", False)])
def test_every_point_is_the_score_of_its_outputs(name, drafted, capsys):
    metric, models, args = make_metric(name), policies(), flags()
    data = corpus(drafted)
    points = list(command.curve(TASK, models, data, metric, args))
    modes = [(mode, limit) for mode in ORACLES for limit in range(1, MOST + 1)]
    head = [(NO_EDIT_BASELINE, 0)] if drafted else []
    assert [(one.mode, one.max_iter) for one in points] == head + modes
    for point in points:
        if point.mode == NO_EDIT_BASELINE:
            outputs = {number: (text, 0) for number, text in data.drafts.items()}
        else:
            outputs = separately(models, point.mode, point.max_iter, args, drafted)
        totals = [0.0] * metric.size
        for number in range(20):
            numbers = metric.statistics(outputs[number][0], data.references[number])
            totals = [total + one for total, one in zip(totals, numbers, strict=True)]
        assert point.score == metric.score(totals)
        steps = [outputs[number][1] for number in range(20)]
        assert point.mean_iterations == pytest.approx(sum(steps) / 20)
    assert capsys.readouterr().err.count("20 sentences decoded") == 3


def test_a_sentence_is_measured_once_however_often_it_comes_up():
    metric, seen = make_metric("ter"), []

    class Counting:
        name, size, score = metric.name, metric.size, staticmethod(metric.score)

        @staticmethod
        def statistics(output: str, reference: str) -> tuple[float, ...]:
            seen.append((output, reference))
            return metric.statistics(output, reference)

    score = command.scorer(Counting())
    references = {0: "a b", 1: "a", 2: "a b"}
    for last in ("a b", "a b", "b"):
        score({0: "a b", 1: "a", 2: last}, references)
    assert sorted(seen) == sorted([("a b", "a b"), ("a", "a"), ("b", "a b")])


def test_text_is_made_as_fairseq_generate_makes_it():
    dictionary = TASK.tgt_dict
    tokens = tiny.stack([tiny.sentence("ab_", dictionary)], dictionary.pad(), extra=2)[0]
    text = command.text_of(TASK, None)
    assert text(tokens, False) == "a b <unk>"
    assert text(tokens, True) == "a b <<unk>>", "an unknown word is never right"
    assert command.text_of(TASK, "characters")(tokens[:3], False) == "ab"


@pytest.mark.parametrize("lines", [0, 2, 4])
def test_references_of_another_number_are_refused(tmp_path, lines):
    (tmp_path / "ref").write_text("a\n" * lines)
    with pytest.raises(UserError, match=f"ref has {lines} lines for 3 sentences"):
        read_references(str(tmp_path / "ref"), 3)
    (tmp_path / "ref").write_text("a\n\nb c\n")
    assert read_references(str(tmp_path / "ref"), 3) == ["a", "", "b c"]


POINTS = [
    Point(NO_EDIT_BASELINE, 0, 62.5, 0.0),
    Point("none", 1, 60.12346, 0.9),
    Point("none", 2, 61.0, 1.25),
    Point("deletion", 1, 70.0, 1.0),
    Point("deletion", 2, 71.0, 2.0),
    Point("deletion+placeholder", 1, 80.0, 1.0),
    Point("deletion+placeholder", 2, 100.0, 2.0),
]


def test_the_csv_has_a_line_for_every_point():
    stream = io.StringIO()
    command.write_csv(POINTS, "bleu", stream)
    rows = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert list(rows[0]) == ["mode", "max_iter", "metric", "score", "mean_iterations"]
    assert stream.getvalue().splitlines()[1:3] == [
        "no-edit baseline,0,bleu,62.5000,0.0000",
        "none,1,bleu,60.1235,0.9000",
    ]
    assert [(row["mode"], int(row["max_iter"])) for row in rows] == [
        (one.mode, one.max_iter) for one in POINTS
    ]


def test_the_table_has_a_line_for_every_limit_and_the_signature():
    metric = make_metric("bleu")
    shown = command.render_table(POINTS, metric)
    assert shown == (
        f"BLEU (higher is better): {metric.signature()}\n"
        "\n"
        "T_max                  none              deletion  deletion+placeholder\n"
        "           score iterations      score iterations      score iterations\n"
        "    1      60.12       0.90      70.00       1.00      80.00       1.00\n"
        "    2      61.00       1.25      71.00       2.00     100.00       2.00\n"
        "no-edit baseline (T_max = 0): 62.50\n"
    )
    without = command.render_table(POINTS[1:], make_metric("ter"))
    assert "no-edit baseline" not in without and without.startswith("TER (lower is better): ")


def test_the_picture_is_a_png_and_the_same_every_time():
    before = "matplotlib.pyplot" in sys.modules
    metric, title = make_metric("bleu"), "50 $ for a\x07 pair_of {words"
    png = command.draw(POINTS, metric, title)
    assert png.startswith(b"\x89PNG\r\n") and len(png) > 10_000
    assert command.draw(POINTS, metric, title) == png
    assert command.draw(POINTS[1:], metric, title) != png, "the no-edit baseline is a line"
    for key in ("linestyle", "marker"):
        assert len({style[key] for style in command.STYLES.values()}) == len(ORACLES)
    assert list(command.STYLES) == list(command.LABELS) == list(ORACLES)
    assert ("matplotlib.pyplot" in sys.modules) == before, "a program's own figures stay untouched"


@pytest.mark.parametrize(
    "words, told",
    [
        ("--max-iter 0", "--max-iter 0: must be 1 or more"),
        ("--batch-size -3", "--batch-size -3: must be 1 or more"),
        ("--metric blue", "--metric blue: choose one of bleu, ter, "),
        ("--csv -", "--csv and --png need the name of a file"),
        ("--csv a --png ./a", "a would be written over"),
        ("--references r --csv r", "r would be written over"),
        ("--references r", "--references r does not exist"),
        ("--csv no/such/folder.csv", "no/such/folder.csv: cannot be written"),
        ("", "data folder nowhere does not exist"),
    ],
)
def test_bad_options_are_named(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refuses(told):
        command.main(["nowhere", "--path", "none.pt", *words.split()])
    assert not list(tmp_path.iterdir()), "nothing is left behind"
