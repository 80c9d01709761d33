"""EncT5 from Python: a checkpoint alone. Its answers: tests/lev_runtime/labels."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import editors
import pytest
import saved
from closeness import rounded
from editors import LABELS
from refusals import refuses

from lev_plugins import EncT5

LIMIT = 24


@functools.cache
def configuration(kind: str) -> Any:
    """Settings as fairseq-train saves them, of :data:`editors.ENCT5`."""
    words = f"nowhere/data --task enct5 --kind {kind} --arch enct5_tiny --criterion enct5"
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in editors.ENCT5.items()]
    return saved.configuration([*words.split(), *sizes, "--optimizer", "adam"])


def save(
    path: Path, kind: str, texts: int = 1, labels: Sequence[str] = LABELS, threshold: float = 0.4
) -> Path:
    """A checkpoint as fairseq-train writes it, of a model that was not trained."""
    model = editors.enct5(kind, texts, LIMIT, labels)
    kept = {**model.task.state_dict(), "threshold": threshold}
    return saved.write(path, configuration(kind), model.model, kept)


def assert_same(first: list[Any], second: list[Any]) -> None:
    """The same records; scores may differ in their last digits."""
    assert first == rounded([record.to_dict() for record in second])


# loading ------------------------------------------------------------------------------------


def test_a_checkpoint_needs_its_data_no_more_and_knows_other_options(tmp_path):
    def older(state):
        state["cfg"]["model"].pop("dropout")  # as if the option had come later
        state["cfg"]["model"].update(t5_rows=0)  # which has gone

    saved.rewritten(save(tmp_path / "model.pt", "tagging"), older)
    moved = EncT5.from_pretrained(tmp_path)
    ours = editors.enct5("tagging", limit=LIMIT).predict_tags(["a bc d"])
    assert_same([moved.predict_tags(["a bc d"])[0].to_dict()], ours)
    assert moved.threshold == 0.4


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda state: state.pop("task_state"), "description"),
        (lambda state: state["task_state"]["description"].update(kind="x"), "--kind x"),
        (lambda state: state["task_state"]["description"].update(pieces=["a"]), "model.pt"),
        (lambda state: state["model"].pop("head.weight"), "head.weight"),
    ],
)
def test_a_checkpoint_that_does_not_serve_is_named(tmp_path, change, message):
    path = saved.rewritten(save(tmp_path / "model.pt", "tagging"), change)
    with refuses(message):
        EncT5.from_pretrained(path)
