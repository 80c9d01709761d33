"""README's four commands, on small data and with small models, as people change them at first."""

import itertools
import json
import random
import re
import shlex
from pathlib import Path

import checkpoints
import pytest
import tiny
import torch
from conftest import ROOT, SEVERAL, Commands, conllu, triple
from fairseq import checkpoint_utils, tasks
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.options import get_training_parser, parse_args_and_arch
from fairseq.trainer import Trainer
from omegaconf import OmegaConf
from plain_files import put
from refusals import refuses
from states import state

from lev_plugins.fairseq_patches.training import resolve

RATES = Path(__file__).with_name("rates")
SIDE = "--{0}-embed-dim 16 --{0}-ffn-embed-dim 16 --{0}-layers 1 --{0}-attention-heads 2".format
SIZES = {
    "levt": f"{SIDE('encoder')} {SIDE('decoder')}",
    "pbd": SIDE("encoder"),
    "gated": f"{SIDE('encoder')} --decoder-layers 1",
    "tagger": f"{SIDE('encoder')} --attention-head-dim 8",
}
QUICK = "--cpu --num-workers 0 --log-format simple --log-interval 1 --no-epoch-checkpoints"


def readme() -> dict[str, list[str]]:
    """The words of each command of "One command per system", by the name of its folder."""
    text = (ROOT / "README.md").read_text("utf-8")
    block = text.partition("## One command per system")[2].partition("\nThen ")[0]
    lines = re.sub(r"\\\n", " ", block).splitlines()
    trainings = [shlex.split(line) for line in lines if line.lstrip().startswith("fairseq-train")]
    return {words[words.index("--save-dir") + 1].removeprefix("my/"): words for words in trainings}


def binarised(commands: Commands, text: Path, data: Path, sides: str) -> None:
    places = f"--trainpref {text}/train --validpref {text}/valid --destdir {data}"
    commands.preprocess(f"{sides} --joined-dictionary {places}", text)


@pytest.fixture(scope="module")
def folders(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each command, in which its ``my`` lies."""
    base, draw = tmp_path_factory.mktemp("readme"), random.Random(1)
    homes = {name: base / name for name in SIZES}
    tags = {"the": "DET", "cat": "NOUN", "sat": "VERB"}
    for part, count in (("train", 96), ("valid", 8)):
        rows = [triple(draw) for _ in range(count)]
        for side, texts in zip(("src", "pe", "mt"), zip(*rows, strict=True), strict=True):
            put(homes["levt"] / f"text/{part}.{side}", texts)
        clean = [" ".join(draw.choices(checkpoints.WORDS[:6], k=3)) for _ in range(count)]
        put(homes["gated"] / f"my/text/{part}.clean", clean)
        put(homes["pbd"] / f"text/{part}.clean", ["▁".join(text) for text in clean])
        put(homes["pbd"] / f"text/{part}.noisy", ["▁".join(text[1:]) for text in clean])
        words = [draw.choices([*tags], k=3) for _ in range(count)]
        put(homes["tagger"] / f"{part}.conllu", conllu(words, tags))
    sides = "--source-lang src --target-lang pe --draft-lang mt"
    binarised(commands, homes["levt"] / "text", homes["levt"] / "my/data", sides)
    tiny.sentencepiece_model(
        homes["levt"] / "my/spm.model", ["a b c d e f g h A B . !"] * 9, vocab_size=16
    )
    sides = "--source-lang noisy --target-lang clean"
    binarised(commands, homes["pbd"] / "text", homes["pbd"] / "my/data", sides)
    for side in ("noisy", "clean"):
        letters = sorted({letter for text in clean for letter in text.replace(" ", "▁")})
        put(homes["gated"] / f"my/text/dict.{side}.txt", [f"{letter} 1" for letter in letters])
    prepare = "--kind tagging --format conllu --bytes --destdir my/tags"
    files = "--train train.conllu --valid valid.conllu"
    commands.ok(f"python -m lev_plugins enct5-prepare {prepare} {files}", homes["tagger"])
    return homes


def small(name: str, hours: float, more: str = "") -> list[str]:
    """README's command for ``hours``, on one batch of 200 tokens an update."""
    words = readme()[name]
    words[words.index("--stop-time-hours") + 1] = str(hours)
    words[words.index("--max-tokens") + 1] = "200"
    words[words.index("--user-dir") + 1] = str(RATES)
    return [*words, *SIZES[name].split(), *QUICK.split(), *more.split()]


def noting(path: Path, **environ: str) -> dict[str, str]:
    """What the user directory of these tests is told; it imports the plug-in."""
    return {"RATES": str(path), "PYTHONPATH": str(ROOT), **environ}


def noted(path: Path) -> list[list[float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def both(commands: Commands, words: list[str], cwd: Path, saved: str) -> list[list[list[float]]]:
    """What each of two processes made its updates with; the second one is the slower."""
    paths = [cwd / f"{saved}.{rank}" for rank in range(2)]
    for path in paths:
        path.unlink(missing_ok=True)
    environs = [noting(path, SLOW=str(0.05 * rank)) for rank, path in enumerate(paths)]
    words = [*words, "--save-dir", saved, *SEVERAL.split()]
    for result in commands.ranks(words, cwd, None, environs):
        result.succeeded(words)
    return [noted(path) for path in paths]


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_two_processes_train_by_one_clock(name, commands, folders):
    """The same learning rate and share of the time in every update, and the same end."""
    home = folders[name]
    first, second = both(commands, small(name, 0.002), home, "two")
    assert first == second and len(first) > 5
    shares = [share for _, share, _ in first]
    assert shares[0] == 0 and shares == sorted(shares) and 0.5 < shares[-1] <= 1
    saved = state(home / "two/checkpoint_last.pt")["optimizer_history"][-1]
    assert saved["num_updates"] == first[-1][0] + 1 and saved["lr_scheduler_state"]["seconds"] > 7.2


@pytest.mark.slow
def test_a_budget_goes_on_with_another_number_of_processes(commands, folders):
    home = folders["levt"]
    first, _ = both(commands, small("levt", 0.002), home, "several")
    words = [*small("levt", 0.004), "--save-dir", "several"]
    commands.ok(words, home, environ=noting(home / "alone"))
    resumed = noted(home / "alone")
    assert resumed[0][0] == first[-1][0] + 1 and 0.45 < resumed[0][1] < 0.75
    again, other = both(commands, small("levt", 0.006), home, "several")
    assert again == other and again[0][0] == resumed[-1][0] + 1 and 0.6 < again[0][1] < 0.85


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["--bf16", "--amp"])
@pytest.mark.parametrize("name", SIZES)
def test_a_command_trains_in_other_precisions(name, flag, commands, folders):
    """On a CPU --amp changes nothing; in --bf16 the parameters that are kept are rounded."""
    saved = f"precision{flag}"
    words = [*small(name, 1, f"{flag} --max-update 2 --save-dir {saved}")]
    commands.ok(words, folders[name], environ=noting(folders[name] / f"{saved}.txt"))
    kept = state(folders[name] / saved / "checkpoint_last.pt")["model"].values()
    rounded = all(torch.equal(tensor, tensor.bfloat16().float()) for tensor in kept)
    assert rounded == (flag == "--bf16")


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_fp16_steps_as_on_a_gpu(name, folders, monkeypatch):
    """Computed on the CPU; only what looks for a GPU is told that there is one."""
    monkeypatch.chdir(folders[name])
    words = small(name, 1, "--fp16")[1:]
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


@pytest.mark.parametrize(
    ("optimizer", "flat"),
    [
        ("adam", True),
        ("sgd", True),
        ("muon", False),
        ("backbone_adam", False),
        ("adafactor", False),
    ],
)
def test_fp16_keeps_matrices_for_optimizers_that_need_them(optimizer, flat, monkeypatch):
    cfg = OmegaConf.structured(FairseqConfig())
    cfg.task = {"_name": "translation", "data": "."}
    cfg.optimizer, cfg.model = {"_name": optimizer}, None
    cfg.common.fp16 = True
    with refuses("--fp16", "--bf16"):
        cfg.common.cpu = True
        resolve(cfg)
    cfg.common.cpu = False
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    resolve(cfg)
    assert cfg.common.fp16_no_flatten_grads is not flat
