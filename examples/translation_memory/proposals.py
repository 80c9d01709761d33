"""What a trained model makes of fuzzy matches, at the settings that evaluate.py has chosen."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lev_plugins import LevenshteinEditor
from lev_plugins.errors import UserError


class Settings(NamedTuple):
    """delete_threshold: of the model. min_confidence: the probability below which what the model
    made is given up for the draft that was repaired by rule."""

    delete_threshold: float = 0.9
    min_confidence: float = 0.0


class Change(NamedTuple):
    """A new source, the older one, and the draft: the older one's translation, repaired."""

    new: str
    old: str
    draft: str


class Proposal(NamedTuple):
    """A translation, and the model's probability of a token of it (their geometric mean)."""

    text: str
    probability: float


def load(work: Path) -> LevenshteinEditor:
    """The model that train.sh has trained."""
    if not (work / "model").is_dir():
        where = f"bash examples/translation_memory/train.sh {work}"
        raise UserError(f"{work} holds no model: {where} trains one")
    return LevenshteinEditor.from_pretrained(work / "model", work / "data")


def settings_of(work: Path) -> Settings:
    """What evaluate.py has found best on the validation part, else the defaults."""
    path = work / "settings.json"
    return Settings(**json.loads(path.read_text("utf-8"))) if path.is_file() else Settings()


def propose(
    editor: LevenshteinEditor, changes: Sequence[Change], settings: Settings
) -> list[Proposal]:
    """The model's outputs; the draft, with probability 0, where a line is too long for it."""
    found = [Proposal(one.draft, 0.0) for one in changes]
    places = [i for i, one in enumerate(changes) if _fits(editor, one)]
    traces = editor.edit(
        *([changes[i].new for i in places], [changes[i].draft for i in places]),
        old_sources=[changes[i].old for i in places],
        delete_threshold=settings.delete_threshold,
        batch_size=32,
    )
    for i, trace in zip(places, traces, strict=True):
        sure = math.exp(min(trace.score, 0.0))
        text = trace.text if sure >= settings.min_confidence else changes[i].draft
        found[i] = Proposal(text, sure)
    return found


def _fits(editor: LevenshteinEditor, one: Change) -> bool:
    sides = editor.task.mark_change(one.new, one.old), one.draft
    sizes = (len(editor.bpe.encode(side).split()) + 2 for side in sides)
    return all(size <= limit for size, limit in zip(sizes, editor.limits))
