"""What a gated model's gates say of a line: as JSON, as text, as a page of heat maps (Figure 4)."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..io.output import printable
from .page import render
from .traces import labelled

GATES = ("mask", "copy", "generate", "skip")


@dataclass(frozen=True)
class Record:
    """One line.

    line: its number, from 1. source, target: texts. source_tokens: with </s>. target_tokens: of the
    hypothesis, with </s>. mask: u of the paper's Eq. 1 for each source token; copy, generate, skip:
    Eq. 6 for each target token; None where the gate is off. log_probability: of each target token,
    in nats.
    """

    line: int
    source: str
    source_tokens: list[str]
    mask: list[float] | None
    target: str
    target_tokens: list[str]
    copy: list[float] | None
    generate: list[float] | None
    skip: list[float] | None
    log_probability: list[float]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it."""
        return dataclasses.asdict(self)

    def shown(self) -> list[tuple[str, list[tuple[str, float]]]]:
        """The gates that are on: name, and tokens with the probability of each."""
        sides = dict.fromkeys(GATES, self.target_tokens) | {"mask": self.source_tokens}
        values = {name: getattr(self, name) for name in GATES}
        return [(one, list(zip(sides[one], values[one]))) for one in GATES if values[one]]


def render_text(record: Record, _: int = 0) -> str:
    """A line and its gates; behind each token its probability in percent."""
    lines = [
        labelled(f"(line {record.line})", "source", printable(record.source)),
        labelled("", "target", printable(record.target)),
    ]
    for name, cells in record.shown():
        values = (f"{printable(token)} {100 * value:.0f}" for token, value in cells)
        lines.append(labelled("", name, "  ".join(values)))
    return "\n".join(lines) + "\n"


def render_html(records: Sequence[Record], title: str) -> str:
    """The page for ``records``, in their order: the darker a token, the higher the probability."""
    facts = [("lines", f"{len(records):,}")]
    return render("gates.html", title=title, facts=facts, records=records)
