"""What an EncT5 predicts, as lines of JSON or TSV, and what was read only in part."""

import time
from collections.abc import Callable, Iterator

from ..errors import UserError, counted
from ..inference.enct5 import EncT5, Prediction
from ..io.lines import json_line
from ..io.output import printable
from ..io.text_files import few
from ..systems.enct5.problem_types import ProblemType


def json_record(number: int, found: Prediction) -> str:
    """A line of JSON."""
    return json_line({"line": number, **found.to_dict()})


def tsv_record(model: EncT5) -> Callable[[int, Prediction], str]:
    """What makes a line of TSV, answer, tab and score, of an answer.

    Raises:
        UserError: a label that cannot be told from the sign between labels.
    """
    sign = " " if model.kind is ProblemType.TAGGING else ","
    if model.kind is ProblemType.TAGGING or model.kind.many:
        for label in model.labels:
            if sign in label:
                raise UserError(
                    f"--format tsv: the label {label!r} holds what stands between labels; use "
                    "--format jsonl"
                )

    def line(_: int, found: Prediction) -> str:
        values = found.to_dict()
        if "value" in values:
            return f"{values['value']}\n"
        if "label" in values:
            values |= {"labels": [values["label"]], "scores": [values["score"]]}
        names = values["tags"] if "tags" in values else values["labels"]
        scores = (f"{score:.6f}" for score in values["scores"])
        return f"{sign.join(map(printable, names))}\t{sign.join(scores)}\n"

    return line


class ReadingReport:
    """What was read only in part, and how fast it went."""

    def __init__(self, model: EncT5) -> None:
        self.longer = f"longer than {model.metadata.max_length} subwords"
        self.lines, self.started = 0, time.perf_counter()
        self.split, self.cut = list[int](), list[int]()

    def add(self, found: Prediction) -> None:
        """Note the next line."""
        self.lines += 1
        if (found.windows or 1) > 1:
            self.split.append(self.lines)
        if found.cut:
            self.cut.append(self.lines)

    def notes(self) -> Iterator[str]:
        """Lines for a reader."""
        for what, lines in (("read in several windows", self.split), ("cut off", self.cut)):
            if lines:
                yield f"{self.longer}, {what}: {counted(len(lines), 'line')} ({few(lines, 5)})"
        yield f"{counted(self.lines, 'line')} in {time.perf_counter() - self.started:.1f} s"
