"""README's LevT on small data: in two processes, resumed by one, and in other precisions.

The commands of all systems are run by test_guides.py.
"""

import itertools
import json
import re
import shlex
from pathlib import Path

import pytest
import torch
from conftest import ROOT, SEVERAL, SIZES, Commands, Corpus
from fairseq import checkpoint_utils, tasks
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.options import get_training_parser, parse_args_and_arch
from fairseq.trainer import Trainer
from omegaconf import OmegaConf
from refusals import refuses
from states import state

from lev_plugins.fairseq_patches.training import resolve

RATES = Path(__file__).with_name("rates")
QUICK = "--cpu --num-workers 0 --log-format simple --log-interval 1 --no-epoch-checkpoints"


def training(corpus: Corpus, hours: float, more: str = "") -> list[str]:
    """Returns README's command for ``hours``, small, on one batch of 200 tokens an update."""
    text = (ROOT / "README.md").read_text("utf-8").replace("\\\n", " ")
    (line,) = re.findall(r"^ +(fairseq-train .*--save-dir my/levt)$", text, re.M)
    line = re.sub("--bpe .*?spm.model", "--bpe characters", line)
    program, _, *words = shlex.split(line)
    own = f"--stop-time-hours {hours} --max-tokens 200 --user-dir {RATES} {corpus.flags}"
    return [program, str(corpus.data), *words, *f"{own} {SIZES} {QUICK} {more}".split()]


def updates(path: Path) -> list[list[float]]:
    """Returns what a process noted of each update: its number, share of the time, rate."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def both(commands: Commands, corpus: Corpus, cwd: Path, hours: float) -> list[list[list[float]]]:
    """Trains in two processes, the second one slower; returns the updates of each."""
    paths = [cwd / f"{hours}.{rank}" for rank in range(2)]
    environs = [
        {"RATES": str(path), "PYTHONPATH": str(ROOT), "SLOW": str(0.05 * rank)}
        for rank, path in enumerate(paths)
    ]
    words = training(corpus, hours, f"--save-dir several {SEVERAL}")
    for result in commands.ranks(words, cwd, None, environs):
        result.succeeded(words)
    return [updates(path) for path in paths]


def test_processes_train_by_one_clock_and_another_number_goes_on(commands, triples, tmp_path):
    """The same learning rate and share of the time in every update, and the same end."""
    first, second = both(commands, triples, tmp_path, 0.002)
    assert first == second and len(first) > 5
    shares = [share for _, share, _ in first]
    assert shares[0] == 0 and shares == sorted(shares) and 0.5 < shares[-1] <= 1
    saved = state(tmp_path / "several/checkpoint_last.pt")["optimizer_history"][-1]
    assert saved["num_updates"] == first[-1][0] + 1 and saved["lr_scheduler_state"]["seconds"] > 7.2
    environ = {"RATES": str(tmp_path / "alone"), "PYTHONPATH": str(ROOT)}
    words = training(triples, 0.004, "--save-dir several")
    commands.ok(words, tmp_path, environ=environ)
    resumed = updates(tmp_path / "alone")
    assert resumed[0][0] == first[-1][0] + 1 and 0.45 < resumed[0][1] < 0.75
    again, other = both(commands, triples, tmp_path, 0.006)
    assert again == other and again[0][0] == resumed[-1][0] + 1 and 0.6 < again[0][1] < 0.85


@pytest.mark.parametrize("flag", ["--bf16", "--amp"])
def test_a_command_trains_in_other_precisions(flag, commands, triples, tmp_path):
    """On a CPU --amp changes nothing; in --bf16 the parameters that are kept are rounded."""
    environ = {"RATES": str(tmp_path / "rates"), "PYTHONPATH": str(ROOT)}
    words = training(triples, 1, f"{flag} --max-update 2 --save-dir ck")
    commands.ok(words, tmp_path, environ=environ)
    kept = state(tmp_path / "ck" / "checkpoint_last.pt")["model"].values()
    rounded = all(torch.equal(tensor, tensor.bfloat16().float()) for tensor in kept)
    assert rounded == (flag == "--bf16")


def test_fp16_steps_as_on_a_gpu(triples, monkeypatch, tmp_path):
    """Computed on the CPU; only what looks for a GPU is told that there is one."""
    monkeypatch.chdir(tmp_path)
    words = training(triples, 1, "--fp16")[1:]
    words.remove("--cpu")
    cfg = convert_namespace_to_omegaconf(parse_args_and_arch(get_training_parser(), words))
    with monkeypatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: True)
        resolve(cfg)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: None)  # the CPU, to fairseq
    task = tasks.setup_task(cfg.task)
    trainer = Trainer(cfg, task, task.build_model(cfg.model), task.build_criterion(cfg.criterion))
    _, batches = checkpoint_utils.load_checkpoint(cfg.checkpoint, trainer)
    trainer.begin_epoch(1)
    trainer.lr_scheduler.started -= 400  # seconds: at the highest learning rate
    trainer.lr_step_update()
    before = [parameter.clone() for parameter in trainer.model.parameters()]
    assert {parameter.dtype for parameter in before} == {torch.float16}
    for batch in itertools.islice(batches.next_epoch_itr(shuffle=False), 2):
        assert trainer.train_step([batch])["loss"] > 0
    moved = [not torch.equal(*pair) for pair in zip(before, trainer.model.parameters())]
    assert sum(moved) > len(moved) / 2 and trainer.get_num_updates() == 2
    assert all(parameter.isfinite().all() for parameter in trainer.model.parameters())


@pytest.mark.parametrize("name", ["adam", "sgd", "muon", "backbone_adam", "adafactor"])
def test_fp16_keeps_matrices_for_optimizers_that_need_them(name, monkeypatch):
    cfg = OmegaConf.structured(FairseqConfig())
    cfg.task = {"_name": "translation", "data": "."}
    cfg.optimizer, cfg.model = {"_name": name}, None
    cfg.common.fp16 = cfg.common.cpu = True
    with refuses("--fp16", "--bf16"):
        resolve(cfg)
    cfg.common.cpu = False
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    resolve(cfg)
    assert cfg.common.fp16_no_flatten_grads == (name not in ("adam", "sgd"))
