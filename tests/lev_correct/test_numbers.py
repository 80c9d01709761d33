"""Features and probabilities of edits by the packaged model, in numbers.

features.tsv: a line, what stands there, what comes, a feature, its value. probabilities.tsv: a
line, what stands there, what comes, the probability of the edit where the line is the whole text.
``python tests/lev_correct/test_numbers.py`` writes what is measured now: look at the difference.
"""

from functools import cache
from pathlib import Path

import pytest

from lev_correct import Corrector
from lev_correct.judge.judge import Evidence, Run
from lev_correct.text.units import spans

TABLES = Path(__file__).parent
#: a probability of the model, which features are given
CHANCE = 0.7


def table(name: str) -> list[list[str]]:
    lines = (TABLES / f"{name}.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


@cache
def packaged() -> Corrector:
    return Corrector.from_pretrained()


@cache
def measured(line: str, before: str, after: str) -> dict[str, float]:
    """The features of an edit in a text whose files have three words often, and a slip of one."""
    corrector = packaged()
    run = Run(corrector.backend, corrector._known, corrector._weights, corrector.languages)
    text = Evidence(run)
    often = [f"flumpith fumbles {number}, a comparator" for number in range(9)]
    text.survey([*often, "a flumpiith"])
    places = [*spans(line, "letters")]
    text.lines_read += 1
    text.foreign_parts([line], [places])
    return text.line(line, places).features.of(line.index(before), before, after, CHANCE)


def probability(line: str, before: str, after: str) -> float:
    """That of an edit that is proposed, else 0."""
    [correction] = packaged().correct([line], min_confidence=0.0)
    found = [each for each in correction.edits if (each.before, each.after) == (before, after)]
    return found[0].probability if found else 0.0


@pytest.mark.parametrize("line, before, after, name, value", table("features"))
def test_a_feature_has_its_value(line, before, after, name, value):
    assert measured(line, before, after)[name] == pytest.approx(float(value), abs=2e-3)


@pytest.mark.parametrize("line, before, after, value", table("probabilities"))
def test_an_edit_has_its_probability(line, before, after, value):
    assert probability(line, before, after) == pytest.approx(float(value), abs=0.015)


def main() -> None:
    """Writes the tables anew."""
    for name, value in (("features", None), ("probabilities", probability)):
        path, lines = TABLES / f"{name}.tsv", []
        for line in path.read_text("utf-8").splitlines():
            cells = line.split("\t")
            if not line.startswith("#"):
                number = value(*cells[:3]) if value else measured(*cells[:3])[cells[3]]
                cells = [*cells[:-1], f"{number:.3f}"]
            lines.append("\t".join(cells))
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
