"""Validation by decoded text: a scripted task writes what the test says, and is counted."""

from types import SimpleNamespace
from typing import Any

import pytest
import sacrebleu
import torch
from fairseq.criterions import FairseqCriterion
from fairseq.data import Dictionary
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from torch import nn

from lev_plugins.metrics.corpus import METRICS, make_metric
from lev_plugins.tasks.post_editing import PostEditingTask
from lev_plugins.tasks.validation import EvaluationConfig

ALL = ",".join(METRICS)
FAIRSEQ = ("loss", "bsz", "wpb", "wps")  # what fairseq logs itself
SYMBOLS = Dictionary()
for word in "the cat sat on mat . a@@ b dog ▁c ▁d e".split():
    SYMBOLS.add_symbol(word)
ROWS = [
    ("the cat sat on the mat .", "the cat sat on the mat ."),
    ("the mat sat on the cat .", "the cat sat on the mat ."),
    ("", "the dog sat on the mat"),
    ("dog", ""),
    ("a dog sat", "dog sat on the mat ."),
]


class Loss(FairseqCriterion):
    """A criterion that counts sentences."""

    def forward(self, model: nn.Module, sample: dict[str, Any]) -> tuple[Any, int, dict[str, Any]]:
        rows = len(sample["target"])
        return torch.tensor(1.0), rows, {"loss": 1.0, "nsentences": rows, "ntokens": rows}

    @staticmethod
    def reduce_metrics(logging_outputs: list[dict[str, Any]]) -> None:
        metrics.log_scalar("loss", sum(log["loss"] for log in logging_outputs))

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True


class Scripted(PostEditingTask):
    """Writes ``sample["written"]``."""

    options: Any = None

    def build_generator(self, models: Any, args: Any, *_: Any, **__: Any) -> Any:
        self.options = args
        return models

    def inference_step(self, generator: Any, models: Any, sample: Any, **_: Any) -> Any:
        assert generator is self.validation.generator and len(models) == 1
        return [[{"tokens": tokens}] for tokens in sample["written"]]


@pytest.fixture(autouse=True)
def plain_model(monkeypatch):
    """Models and criterions are empty: fairseq builds none."""
    monkeypatch.setattr(FairseqTask, "build_model", lambda *_: nn.Linear(1, 1))
    monkeypatch.setattr(FairseqTask, "build_criterion", lambda self, cfg: cfg or Loss(self))


def task(**options: Any) -> Scripted:
    return Scripted(EvaluationConfig(**options), SYMBOLS, SYMBOLS)


def training(**options: Any) -> Scripted:
    """A task that has built its model for a training."""
    edit_task = task(**options)
    edit_task.build_model(None)
    return edit_task


def logged(of: PostEditingTask, rows: list[tuple[str, str]]) -> dict[str, Any]:
    """The logging output of one validation batch."""
    written, targets = (
        [PostEditingTask.encode_text(text, str, SYMBOLS) for text in side] for side in zip(*rows)
    )
    padded = nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=SYMBOLS.pad())
    return of.valid_step({"target": padded, "written": written}, nn.Linear(1, 1), Loss(of))[2]


def stats(of: PostEditingTask, *steps: list[dict[str, Any]]) -> dict[str, Any]:
    """What a validation gives; each step has the logging outputs of its processes."""
    with metrics.aggregate(new_root=True) as logged_metrics:
        for outputs in steps:
            of.reduce_metrics(outputs, Loss(of))
    return logged_metrics.get_smoothed_values()


def of_rows(rows: list[tuple[str, str]], **options: Any) -> dict[str, Any]:
    edit_task = training(**options)
    return stats(edit_task, [logged(edit_task, rows)])


# what is counted ----------------------------------------------------------------------------------


SENTENCE = st.lists(st.sampled_from("the cat sat on mat .".split()), max_size=6).map(" ".join)


@given(
    rows=st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=8),
    cuts=st.lists(st.integers(0, 8), max_size=3),
)
def test_batches_and_processes_change_nothing(rows, cuts):
    edit_task = task(eval_metrics=ALL)
    expected = stats(edit_task, [logged(edit_task, rows)])
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [rows[a:b] for a, b in zip(edges, edges[1:]) if a < b]
    outputs = [logged(edit_task, part) for part in parts]
    summed = {key: sum(output[key] for output in outputs) for key in outputs[0]}
    # batch after batch; a batch in each process, gathered; the same, summed as fairseq does
    for steps in ([[output] for output in outputs], [outputs], [[summed]]):
        figures = stats(edit_task, *steps)
        assert [figures[name] for name in METRICS] == [expected[name] for name in METRICS]


def test_what_is_asked_for_is_logged_and_nothing_else():
    asked = {"eval_bleu": True, "eval_metrics": "ter, bleu"}
    assert of_rows(ROWS, **asked).keys() == {"bleu", "ter", *FAIRSEQ}
    assert of_rows(ROWS).keys() == {*FAIRSEQ}
    edit_task = training(eval_metrics=ALL)
    trained = stats(edit_task, [{"loss": 1.0, "nsentences": 1, "ntokens": 1}])
    assert not METRICS.keys() & trained.keys(), "training decodes nothing"
    nothing = {key: 0 * value for key, value in logged(edit_task, ROWS).items()}
    figures = stats(edit_task, [nothing])
    assert {figures[name] for name in METRICS} == {0}


def test_eval_tokenized_bleu_leaves_tokens_as_they_are():
    rows = [("a@@ b the cat sat", "a@@ b the cat .")]
    unknown = of_rows([("zebra", "zebra")], eval_metrics="accuracy")
    assert unknown["accuracy"] == 0, "an unknown word is never right"
    for tokenize, options in (("13a", {}), ("none", {"eval_tokenized_bleu": True})):
        score = sacrebleu.corpus_bleu([rows[0][0]], [[rows[0][1]]], tokenize=tokenize).score
        assert of_rows(rows, eval_bleu=True, **options)["bleu"] == round(score, 2)


def test_text_is_detokenised():
    options = {"eval_bleu_args": '{"iter_decode_max_iter": 3}', "eval_bleu_remove_bpe": "@@ "}
    edit_task = training(eval_metrics="accuracy", **options)
    assert edit_task.options.iter_decode_max_iter == 3, "generation options reach the generator"
    edit_task.validation.tokenizer = SimpleNamespace(decode=lambda text: text.replace("ab", "b"))
    logs = logged(edit_task, [("the b .", "the a@@ b ."), ("the cat", "the mat")])
    assert stats(edit_task, [logs])["accuracy"] == 50


# what cannot be, and selection --------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"eval_metrics": "rouge3"},
        {"eval_metrics": "ter", "eval_bleu_args": "{beam: 4}"},
        {"eval_metrics": "ter", "eval_bleu_args": '{"max_iter": 4}'},
        {"eval_metrics": "ter", "eval_bleu_detok_args": "x"},
    ],
)
def test_options_that_cannot_be_are_refused_when_training_starts(options):
    (*_, name) = options
    with refuses(f"--{name.replace('_', '-')}"):
        training(**options)


def best(name: str, maximize: bool = False, criterion: Any = None, **options: Any) -> Any:
    """The criterion of a training that selects by this metric."""
    selection = {"best_checkpoint_metric": name, "maximize_best_checkpoint_metric": maximize}
    return training(**selection, **options).build_criterion(criterion)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_selects_where_it_is_computed_and_in_its_own_direction(name):
    higher = make_metric(name).higher_is_better
    best(name, higher, eval_metrics=name)
    with refuses(f"--best-checkpoint-metric {name}", "--maximize-best-checkpoint-metric"):
        best(name, not higher, eval_metrics=name)
    with refuses(f"--best-checkpoint-metric {name}", f"--eval-metrics {name}"):
        best(name, higher, eval_metrics="chrf" if name != "chrf" else "ter")


def test_a_checkpoint_may_be_validated_by_other_metrics_than_it_was_selected_by():
    edit_task = task(best_checkpoint_metric="ter", eval_metrics="accuracy")
    edit_task.build_model(None, from_checkpoint=True)
    edit_task.build_criterion(None)
    assert stats(edit_task, [logged(edit_task, ROWS)])["accuracy"] == 20  # as fairseq-validate does
