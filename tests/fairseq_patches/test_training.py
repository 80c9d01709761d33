"""A training that begins looks at the checkpoint it begins with, and knows of no other training."""

from collections.abc import Callable
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

from lev_plugins import UserError


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a transformer."""
    made = tmp_path_factory.mktemp("training")
    tiny.dictionaries(made / "bin")
    return save(made / "run" / "other.pt", made / "bin", "stock")


@pytest.fixture
def begin(monkeypatch, path) -> Callable[..., Any]:
    """Begins a training; gives the trainer, whose ``seen`` has what looked at which checkpoint."""
    seen: list[Any] = []
    kind = SimpleNamespace(
        check_resumed=lambda cfg, stored, path: seen.append(("model", stored._name, path)),
        begin_from=lambda stored, state, path: seen.append(("begun", stored._name, path)),
    )
    task = SimpleNamespace(
        datasets={},
        load_state_dict=lambda state: seen.append("state"),
        check_resumed=lambda stored, path: seen.append((stored._name, path)),
    )
    monkeypatch.setitem(ARCH_MODEL_REGISTRY, "checked", kind)
    optimizer = SimpleNamespace(prepare_model=lambda model: seen.append("optimizer"))
    monkeypatch.setitem(OPTIMIZER_REGISTRY, "checked", optimizer)
    monkeypatch.setattr(checkpoint_utils.save_checkpoint, "best", 0.5, raising=False)

    def load(fail: Exception | None = None, updates: int = 0, **given: Any) -> Any:
        cfg = CheckpointConfig(save_dir=str(path.parent), **given)
        trainer = SimpleNamespace(
            checkpoint_suffix="",
            seen=seen,
            model=kind,
            get_model=lambda: kind,
            task=task,
            cfg=SimpleNamespace(
                optimizer=SimpleNamespace(_name="checked"),
                model=SimpleNamespace(_name="checked"),
                dataset=SimpleNamespace(train_subset="train"),
                checkpoint=cfg,
            ),
            _previous_training_time=900,
            get_num_updates=lambda: updates,
            get_train_iterator=lambda **options: SimpleNamespace(epoch=1),
            lr_step=lambda epoch: None,
        )

        def load_checkpoint(name: str, *resets: Any, **named: Any) -> None:
            """As fairseq's, which says less of a failure than it has met."""
            checkpoint_utils.load_checkpoint_to_cpu(name)
            try:
                if fail:
                    raise fail
            except Exception:
                raise RuntimeError("please ensure that the architectures match")  # noqa: B904

        trainer.load_checkpoint = load_checkpoint
        checkpoint_utils.load_checkpoint(cfg, trainer)
        return trainer

    yield load
    checkpoint_utils.save_checkpoint.best = None  # for monkeypatch


def test_model_task_and_optimizer_look_at_what_a_training_resumes_from(begin, path):
    name = str(path)
    found = begin(restore_file=name).seen
    assert found == ["optimizer", ("model", "transformer", name), "state", ("translation", name)]
    assert not hasattr(checkpoint_utils.save_checkpoint, "best"), "of the training before"


def test_a_model_takes_the_parameters_that_it_is_finetuned_from(begin, path):
    trainer = begin(finetune_from_model=str(path))
    assert trainer.seen == ["optimizer", ("begun", "transformer", str(path)), "state"]
    assert trainer._previous_training_time == 0, "the time of the other training is not its own"
    assert begin(finetune_from_model=str(path), updates=7)._previous_training_time == 900


def test_a_checkpoint_that_does_not_fit_is_one_line(begin, path):
    with refuses(path, "no such parameter"):
        begin(RuntimeError("no such parameter"), restore_file=str(path))
    with refuses("another kind of model"):
        begin(UserError("another kind of model"), restore_file=str(path))


@pytest.mark.parametrize("flag", ["restore_file", "finetune_from_model"])
@pytest.mark.parametrize("name", ["none.pt", "."])
def test_a_start_that_is_no_file_is_refused(begin, path, flag, name):
    with refuses(f"--{flag.replace('_', '-')} {path.parent / name}"):
        begin(**{flag: str(path.parent / name)})
