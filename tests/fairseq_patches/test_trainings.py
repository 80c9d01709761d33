"""How trainings are started, and what they look at when they begin."""

import logging
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from fairseq import checkpoint_utils, models, options
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.optim.adafactor import Adafactor
from fairseq_cli import train
from omegaconf import OmegaConf
from refusals import refuses
from saved import begin, changed, save
from tables import cases, table

from lev_plugins.fairseq_patches.hooks import Start, TrainingHooks
from lev_plugins.fairseq_patches.progress import hide_model, watch
from lev_plugins.fairseq_patches.training import resolve, resolve_in_main


@pytest.fixture(scope="module", autouse=True)
def training():
    """What is worked around in trainings is so once a command asks for its options."""
    options.get_training_parser()


# settings and processes ---------------------------------------------------------------------------


def training_config(changes: str = "") -> Any:
    """Settings of a training on a CPU; ``section.option=value …`` changes them."""
    cfg = OmegaConf.structured(FairseqConfig())
    cfg.common.cpu, cfg.model = True, None
    cfg.task = {"_name": "translation", "data": "."}
    return OmegaConf.merge(cfg, OmegaConf.from_dotlist(changes.split()))


def settled(cfg: Any) -> Any:
    """The settings as ``main`` of fairseq_cli.train completes them, whoever has called it."""
    resolve_in_main()  # this module was loaded after the package
    train.add_defaults(cfg)
    return cfg


@pytest.fixture
def launch(monkeypatch):
    """``call_main`` as ``fairseq-train`` calls it, without a GPU; gives the settings."""
    for name in ("MASTER_ADDR", "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)

    def run(cfg: Any, file: str = "fairseq_cli/train.py") -> Any:
        names = {}
        exec(compile("def main(cfg): pass", file, "exec"), names)
        distributed_utils.call_main(cfg, names["main"])
        return cfg

    return run


def test_other_commands_are_left_alone(launch):
    assert launch(training_config(), "fairseq_cli/generate.py").task.data == "."


STARTED = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "WORLD_SIZE": "2", "RANK": "0"}
COMBINED = "dataset.combine_valid_subsets=true"
ALONE = {"distributed_world_size": 2, "distributed_init_method": "tcp://127.0.0.1:29501"}


@pytest.mark.parametrize(
    "environ, settings, refused",
    [
        ({}, {"distributed_world_size": 2}, "torchrun --nproc_per_node"),
        ({}, ALONE, "--distributed-world-size 2"),
        (STARTED, {"distributed_backend": "nccl"}, "--distributed-backend nccl"),
        (STARTED, {"distributed_backend": "gloo"}, ""),
    ],
)
def test_processes_of_a_cpu_are_started_by_torchrun_and_share_gradients_by_gloo(
    launch, monkeypatch, environ, settings, refused
):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(distributed_utils, "distributed_main", lambda *_: None)
    cfg = training_config()
    cfg.distributed_training.update(settings)
    with refuses(refused) if refused else nullcontext():
        launch(cfg)
        assert cfg.distributed_training.distributed_world_size == 2


def test_a_trainings_settings_are_whole_before_they_are_kept(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = ARCH_MODEL_REGISTRY["enct5"]
    monkeypatch.setattr(model, "resolve_config", lambda cfg: setattr(cfg, "encoder_layers", 7))
    cfg = training_config(f"task.data=.:{tmp_path}/b:s3")
    cfg.model = OmegaConf.structured(models.MODEL_DATACLASS_REGISTRY["enct5"](_name="enct5"))
    assert settled(cfg).model.encoder_layers == 7
    assert cfg.task.data == f"{tmp_path}:{tmp_path}/b:s3", "folders that are there, and no others"


@pytest.mark.parametrize(
    "environ, changes, refused", cases("fairseq_patches/cases.tsv", "settings")
)
def test_settings_that_cannot_work_are_refused(monkeypatch, environ, changes, refused):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with refuses(refused) if refused else nullcontext():
        settled(training_config(changes))


@pytest.mark.parametrize(
    "bpe, kept",
    [
        ({"_name": "sentencepiece", "sentencepiece_model": __file__}, "sentencepiece_model"),
        ({"_name": "hf", "hf_directory": ".", "sentencepiece_model": "???"}, "hf_directory"),
    ],
)
def test_an_option_of_another_encoder_without_a_value_is_left_out(bpe, kept):
    """So that a file can name those of several, of which the command chooses one."""
    cfg = training_config()
    cfg.bpe = {"hf_directory": None, **bpe}
    assert {kept} == {"hf_directory", "sentencepiece_model"} & set(settled(cfg).bpe)


MODELS = {
    "levt": "--task translation_edit --arch levenshtein_editor_char --criterion edit_policy_loss",
    "pbd": "--task translation --arch pbd_transformer_char",
}


@pytest.mark.parametrize("model, flags, named", table("fairseq_patches/cases.tsv", "out of range"))
def test_options_out_of_range_are_refused_before_anything_is_read_or_built(model, flags, named):
    words = f"nowhere --cpu {MODELS[model]} {flags}".split()
    parsed = options.parse_args_and_arch(options.get_training_parser(), words)
    with refuses(named) if named else nullcontext():
        resolve(convert_namespace_to_omegaconf(parsed))


# what they begin with -----------------------------------------------------------------------------


class Component(TrainingHooks):
    """Notes by which name it was asked, and of which checkpoint."""

    cfg = None
    datasets: dict[str, Any] = {}
    seen: list[Any] = []

    @classmethod
    def prepare_model(cls, model: Any) -> None:
        cls.seen.append(cls.__name__)

    @classmethod
    def check_resumed(cls, cfg: Any, stored: Any, path: str) -> None:
        cls.seen.append((cls.__name__, path))

    def begin_from(self, start: Start) -> None:
        self.seen.append((type(self).__name__, start.path, start.finetuned))


class Model(Component): ...


class Optimizer(Component): ...


class Task(Component): ...


@pytest.fixture
def checked(monkeypatch):
    """Settings of a training whose components are those above."""
    monkeypatch.setitem(ARCH_MODEL_REGISTRY, "checked", Model)
    monkeypatch.setitem(OPTIMIZER_REGISTRY, "checked", Optimizer)
    Component.seen.clear()
    named = {name: SimpleNamespace(_name="checked") for name in ("optimizer", "model")}
    return SimpleNamespace(dataset=SimpleNamespace(train_subset="train"), **named)


def test_components_look_at_the_checkpoint_that_a_training_begins_with(checked, tmp_path):
    """What they make of it: tests/systems."""
    checkpoint_utils.save_checkpoint.best = 0.5
    path = str(save(tmp_path / "other.pt", tiny.dictionaries(tmp_path / "bin"), "stock"))
    begin(checked, Task(), finetune_from_model=path, save_dir=str(tmp_path))
    assert Component.seen == ["Optimizer", ("Model", path, True), ("Task", path, True)]
    assert not hasattr(checkpoint_utils.save_checkpoint, "best"), "of the training before"
    Component.seen.clear()
    assert begin(checked, Task(), restore_file=path) == 0, "as many epochs as it takes"
    begun = [("Model", path), ("Model", path, False), ("Task", path, False), ("Task", path)]
    assert Component.seen == ["Optimizer", *begun]
    assert begin(checked, Task(), hours=2.0, restore_file=path) == -1, "its time is over"
    checked.model.rotary_positions = False
    changed(Path(path), Path(path), "model", rotary_positions=True)
    with refuses("--rotary-positions"):
        begin(checked, Task(), finetune_from_model=path)


def test_adafactor_moves_every_tensor_by_the_same_rate():
    """fairseq's own forgets the rate with the first of them."""
    tensors = [torch.nn.Parameter(torch.full((8, 8), 0.1)) for _ in range(2)]
    optimizer = Adafactor(tensors, lr=1e-3, scale_parameter=True, relative_step=False)
    for tensor in tensors:
        tensor.grad = torch.ones_like(tensor)
    optimizer.step()
    assert torch.equal(*tensors) and not tensors[0].eq(0.1).any()


# what they say ------------------------------------------------------------------------------------


@pytest.mark.parametrize("own_time", [False, True])
def test_a_training_of_few_updates_on_a_busy_machine_says_so(own_time, caplog):
    logger = logging.getLogger("train")
    trainer = SimpleNamespace(
        cfg=SimpleNamespace(
            optimization=SimpleNamespace(max_update=0),
            lr_scheduler=SimpleNamespace(processor_time=own_time),
        ),
        get_num_updates=lambda: 3,
    )
    watch(SimpleNamespace(logger=logger), trainer)
    trainer._start_time = time.time() - 600
    with caplog.at_level(logging.INFO, "train"):
        logger.info("done training in 600 seconds")
    assert "3 updates" in caplog.text and ("--processor-time" in caplog.text) != own_time


def test_the_layers_of_a_model_are_listed_for_debugging_alone(caplog, monkeypatch):
    for level, shown in ((logging.INFO, False), (logging.DEBUG, True)):
        monkeypatch.setattr(logging.getLogger(), "level", level)
        record = logging.makeLogRecord({"msg": torch.nn.Linear(1, 1)})
        assert hide_model(record) == shown
    assert hide_model(logging.makeLogRecord({"msg": "model: Linear"}))
