"""Draws a text before and after its correction as SVG, from what ``correct --edits`` wrote.

    lev-correct --path MODEL --edits edits.jsonl noisy.txt > clean.txt
    python docs/edit_picture.py noisy.txt edits.jsonl docs/edit.svg

A word that was changed stands on red before and on green after, with its probability below; one
that the model would have changed, but for the threshold, has a dashed line below.
"""

import json
import re
import sys
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

ADVANCE, LINE, SIZE, MARGIN = 7.9, 21, 13, 14  # of a character and of a line, in pixels
INK, RED, GREEN, GREY = "#1f2328", "#ffd7d5", "#b4f1b4", "#59636e"


class Word(NamedTuple):
    """A word of the text, what stands there afterwards, and how sure the model is of it."""

    column: int
    before: str
    after: str
    wanted: str
    probability: float | None


def words_of(line: str, edits: list[dict[str, Any]]) -> list[Word]:
    """The words between whitespace with the edits that lie in them."""
    found = []
    for match in re.finditer(r"\S+", line):
        start, end = match.span()
        inside = [one for one in edits if start <= one["offset"] <= end]
        after = wanted = match[0]
        for one in sorted(inside, key=lambda edit: -edit["offset"]):
            at = one["offset"] - start
            wanted = wanted[:at] + one["after"] + wanted[at + one["length"] :]
            if one["applied"]:
                after = after[:at] + one["after"] + after[at + one["length"] :]
        probability = min((one["probability"] for one in inside), default=None)
        found.append(Word(start, match[0], after, wanted, probability))
    return found


def label(x: float, y: float, text: str, size: float = SIZE, color: str = INK) -> str:
    """Text whose width does not depend on the reader's fonts."""
    width = len(text) * ADVANCE * size / SIZE
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{color}" '
        f'textLength="{width:.1f}">{escape(text)}</text>'
    )


def word_shapes(word: Word, after: bool, x: float, y: float) -> list[str]:
    """One word, with what marks it."""
    text = word.after if after else word.before
    width = len(text) * ADVANCE
    shapes = []
    if word.before != word.after:
        box = f'x="{x - 2:.1f}" y="{y - 13:.1f}" width="{width + 4:.1f}" height="17" rx="3"'
        shapes.append(f'<rect {box} fill="{GREEN if after else RED}"/>')
        if after:
            shapes.append(label(x, y + 12, f"{word.probability:.2f}", 8, GREY))
    elif after and word.wanted != word.before:
        line = f'x1="{x:.1f}" x2="{x + width:.1f}" y1="{y + 4:.1f}" y2="{y + 4:.1f}"'
        shapes.append(f'<line {line} stroke="{GREY}" stroke-dasharray="2 2"/>')
        shapes.append(label(x, y + 13, f"{word.wanted} {word.probability:.2f}: left", 8, GREY))
    return [*shapes, label(x, y, text)]


def picture(lines: list[str], edits: list[dict[str, Any]]) -> str:
    """The SVG: the lines as they came, and below them the lines as they left."""
    by_line = defaultdict(list)
    for one in edits:
        by_line[one["line"]].append(one)
    rows = [words_of(line, by_line[number]) for number, line in enumerate(lines, start=1)]
    width = max(map(len, lines)) * ADVANCE + 2 * MARGIN + 24
    shapes, y = [], MARGIN + 8.0
    for after, title in ((False, "before"), (True, "after")):
        shapes.append(label(MARGIN, y, title, 10, GREY))
        y += LINE
        for row in rows:
            shift = 0
            for word in row:
                shapes += word_shapes(word, after, MARGIN + (word.column + shift) * ADVANCE, y)
                shift += (len(word.after) - len(word.before)) if after else 0
            y += LINE + (9 if after else 0)
        y += 4
    frame = f'<rect width="{width:.0f}" height="{y:.0f}" rx="6" fill="#fff" stroke="#d1d9e0"/>'
    font = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y:.0f}" '
        f'viewBox="0 0 {width:.0f} {y:.0f}" font-family="{font}" role="img">'
    )
    return "\n".join([head, "<title>A text before and after</title>", frame, *shapes, "</svg>\n"])


def main(arguments: list[str]) -> str | None:
    """Read text and edits, write the picture; returns what is wrong with the arguments."""
    if len(arguments) != 3:
        return "error: three files are needed: TEXT EDITS.jsonl PICTURE.svg"
    text, edits, target = map(Path, arguments)
    records = [json.loads(line) for line in edits.read_text("utf-8").splitlines()]
    target.write_text(picture(text.read_text("utf-8").splitlines(), records), encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
