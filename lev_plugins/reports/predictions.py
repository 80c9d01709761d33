"""Predictions of an EncT5 as lines of JSON or TSV."""

from collections.abc import Callable

from lev_runtime.errors import UserError
from lev_runtime.io.lines import json_line
from lev_runtime.io.output import printable

from ..inference.enct5 import EncT5, Prediction
from ..systems.enct5.problem_types import ProblemType
from ..systems.enct5.sentences import Sentence


def json_record(number: int, prediction: Prediction) -> str:
    """Returns a line of JSON."""
    return json_line({"line": number, **prediction.to_dict()})


def tsv_record(model: EncT5) -> Callable[[int, Prediction], str]:
    """Returns a function that makes a line of TSV: answer, tab and score.

    Raises:
        UserError: a label that cannot be told from the sign between labels.
    """
    sign = " " if model.problem_type is ProblemType.TAGGING else ","
    if model.problem_type is ProblemType.TAGGING or model.problem_type.is_multilabel:
        for label in model.labels:
            if sign in label:
                raise UserError(
                    f"--format tsv: the label {label!r} contains the separator of labels; "
                    "use --format jsonl"
                )

    def line(_: int, prediction: Prediction) -> str:
        values = prediction.to_dict()
        if "value" in values:
            return f"{values['value']}\n"
        if "label" in values:
            values |= {"labels": [values["label"]], "scores": [values["score"]]}
        names = values["tags"] if "tags" in values else values["labels"]
        answer = sign.join(map(printable, names))
        scores = sign.join(f"{score:.6f}" for score in values["scores"])
        return f"{answer}\t{scores}\n"

    return line


def tagged_lines(
    model: EncT5, form: str, column: int
) -> Callable[[int, Sentence | None, Prediction | None], str]:
    """Returns a function that makes the lines of a sentence, with tags in ``column`` (from 0).

    Raises:
        UserError: a label that would be more than one column.
    """
    for label in model.labels:
        if len(label.split()) != 1:
            raise UserError(f"--format {form}: the label {label!r} has a space; use --format jsonl")

    def written(_: int, sentence: Sentence | None, prediction: Prediction | None) -> str:
        assert sentence is not None, "lines are of sentences"
        tags = () if prediction is None or prediction.tags is None else prediction.tags
        return "".join(sentence.tagged(tags, column))

    return written
