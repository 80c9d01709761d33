"""What an EncT5 predicts, as lines of JSON or TSV, and what was read only in part."""

import sys
import time
from collections.abc import Callable

from ..errors import UserError, counted
from ..inference.enct5 import EncT5, Prediction, Tagged
from ..io.lines import json_line
from ..io.output import printable
from ..io.text_files import LineNumbers
from ..systems.enct5.problem_types import ProblemType


def json_record(number: int, found: Prediction | Tagged) -> str:
    """A line of JSON."""
    return json_line({"line": number, **found.to_dict()})


def tsv_record(model: EncT5, labels: list[str] | None) -> Callable[[int, Prediction | Tagged], str]:
    """What makes a line of TSV of an answer.

    Raises:
        UserError: a label that cannot be told from the sign between labels.
    """
    sign = " " if model.kind is ProblemType.TAGGING else ","
    if model.kind is ProblemType.TAGGING or model.kind.many:
        for label in model.labels if labels is None else labels:
            if sign in label:
                raise UserError(
                    f"--format tsv: the label {label!r} holds what stands between labels; use "
                    "--format jsonl"
                )

    def line(_: int, found: Prediction | Tagged) -> str:
        """Answer, tab and score."""
        values = found.to_dict()
        if "value" in values:
            return f"{values['value']}\n"
        if "label" in values:
            return f"{printable(values['label'])}\t{values['score']:.6f}\n"
        names = values["tags"] if "tags" in values else values["labels"]
        scores = (f"{score:.6f}" for score in values["scores"])
        return f"{sign.join(map(printable, names))}\t{sign.join(scores)}\n"

    return line


class ReadingReport:
    """What was read only in part, and how fast it went."""

    def __init__(self, model: EncT5) -> None:
        longer = f"longer than {model.max_length} subwords"
        self.lines, self.started = 0, time.perf_counter()
        self.noted = {
            f"{longer}, read in several windows": LineNumbers(),
            f"{longer}, cut off": LineNumbers(),
        }

    def add(self, found: Prediction | Tagged) -> None:
        """Note the next line."""
        self.lines += 1
        for lines, noted in zip(self.noted.values(), (getattr(found, "windows", 1) > 1, found.cut)):
            if noted:
                lines.add(self.lines)

    def close(self, where: str) -> None:
        """Tell it on standard error."""
        seconds = time.perf_counter() - self.started
        for what, lines in self.noted.items():
            if lines:
                print(f"{what}: {counted(lines.count, 'line')} ({lines})", file=sys.stderr)
        print(f"{counted(self.lines, 'line')} in {seconds:.1f} s{where}", file=sys.stderr)
