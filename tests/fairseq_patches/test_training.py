"""A training that begins looks at the checkpoint it begins with, and knows of no other training.

What models and tasks make of it: tests/systems; a start that is no file: tests/commands.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from fairseq import checkpoint_utils
from fairseq.dataclass.configs import CheckpointConfig
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from refusals import refuses
from saved import save


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checkpoint of a transformer."""
    made = tmp_path_factory.mktemp("training")
    tiny.dictionaries(made / "bin")
    return str(save(made / "run" / "other.pt", made / "bin", "stock"))


@pytest.fixture
def seen(monkeypatch) -> list[Any]:
    """What looks at which checkpoint; the best of a training before is still known."""
    found: list[Any] = []
    kind = SimpleNamespace(
        check_resumed=lambda cfg, stored, path: found.append(("model", path)),
        begin_from=lambda stored, state, path: found.append(("begun", path)),
    )
    optimizer = SimpleNamespace(prepare_model=lambda model: found.append("optimizer"))
    monkeypatch.setitem(ARCH_MODEL_REGISTRY, "checked", kind)
    monkeypatch.setitem(OPTIMIZER_REGISTRY, "checked", optimizer)
    checkpoint_utils.save_checkpoint.best = 0.5
    return found


def begin(seen: list[Any], path: str, updates: int = 0, fail: str = "", **given: Any) -> Any:
    """The trainer of a training that begins; fairseq's says less of a failure than it has met."""

    def load_checkpoint(name: str, *resets: Any, **named: Any) -> None:
        checkpoint_utils.load_checkpoint_to_cpu(name)
        if fail:
            try:
                raise RuntimeError(fail)
            except RuntimeError:
                raise RuntimeError("please ensure that the architectures match")  # noqa: B904

    cfg = CheckpointConfig(save_dir=str(Path(path).parent), **given)
    named = {name: SimpleNamespace(_name="checked") for name in ("optimizer", "model")}
    trainer = SimpleNamespace(
        cfg=SimpleNamespace(dataset=SimpleNamespace(train_subset="train"), checkpoint=cfg, **named),
        checkpoint_suffix="",
        model=None,
        get_model=lambda: ARCH_MODEL_REGISTRY["checked"],
        task=SimpleNamespace(
            datasets={},
            check_resumed=lambda stored, path: seen.append(("task", path)),
        ),
        _previous_training_time=900,
        load_checkpoint=load_checkpoint,
        get_num_updates=lambda: updates,
        get_train_iterator=lambda **options: SimpleNamespace(epoch=1),
        lr_step=lambda epoch: None,
        lr_scheduler=None,
    )
    checkpoint_utils.load_checkpoint(cfg, trainer)
    return trainer


def test_model_task_and_optimizer_look_at_what_a_training_begins_with(seen, path):
    trainer = begin(seen, path, finetune_from_model=path)
    assert seen == ["optimizer", ("begun", path)]
    assert trainer._previous_training_time == 0, "the time of the other training is not its own"
    seen.clear()
    assert begin(seen, path, 7, restore_file=path)._previous_training_time == 900
    assert seen == ["optimizer", ("model", path), ("task", path)]
    assert not hasattr(checkpoint_utils.save_checkpoint, "best"), "of the training before"
    with refuses(path, "no such parameter"):
        begin(seen, path, fail="no such parameter", restore_file=path)
