"""Each fault of fairseq that we work around: it is there, and our commands do not meet it."""

import logging
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fairseq import options
from fairseq.distributed import utils as distributed_utils

import lev_plugins
from lev_plugins import fairseq_patches as patches

PACKAGE = Path(lev_plugins.__file__).parent
BIN = Path(sys.executable).parent
TINY = (
    "--arch transformer --encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 8 "
    "--decoder-embed-dim 8 --encoder-ffn-embed-dim 8 --decoder-ffn-embed-dim 8 "
    "--encoder-attention-heads 1 --decoder-attention-heads 1 --optimizer adam --lr 0.01 "
    "--criterion cross_entropy --batch-size 8 --cpu --log-format simple --log-interval 1"
)
TWO = "--distributed-backend gloo --distributed-world-size 2 --ddp-backend legacy_ddp"
TORCHRUN = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "1"}


def run(command: str, cwd: Path, stdin: bytes = b"") -> SimpleNamespace:
    """A real command in a folder: ``code``, ``out`` and ``err``."""
    words = command.split()
    if (BIN / words[0]).exists():
        words[0] = str(BIN / words[0])
    environment = {name: value for name, value in os.environ.items() if name not in TORCHRUN}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        words, cwd=cwd, input=stdin, capture_output=True, timeout=600, env=environment, check=False
    )
    return SimpleNamespace(
        code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode("utf-8", "replace")
    )


def plugin(command: str, cwd: Path, stdin: bytes = b"") -> SimpleNamespace:
    """A fairseq command with the plug-in loaded."""
    return run(f"{command} --user-dir {PACKAGE}", cwd, stdin)


def error_line(result: SimpleNamespace) -> str:
    """The one line a refused command ends in."""
    assert result.code == 1
    assert "Traceback" not in result.err
    lines = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and result.err.rstrip().endswith(lines[0])
    return lines[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``bin``: 24 training, 11 validation and 5 test pairs over twelve words."""
    from fairseq_cli import preprocess

    path = tmp_path_factory.mktemp("compat")
    rng = random.Random(7)
    for name, size in (("train", 24), ("valid", 11), ("test", 5)):
        lines = [
            " ".join(rng.choices([f"w{i}" for i in range(12)], k=rng.randint(4, 9)))
            for _ in range(size)
        ]
        for language in ("en", "de"):
            (path / f"{name}.{language}").write_text("\n".join(lines) + "\n")
    flags = f"--source-lang en --target-lang de --joined-dictionary --destdir {path}/bin"
    flags += "".join(f" --{name}pref {path}/{name}" for name in ("train", "valid", "test"))
    preprocess.main(options.get_preprocessing_parser().parse_args(flags.split()))
    return path


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Path:
    """A stock transformer, trained for three updates with ``--eval-bleu``, data path relative."""
    done = plugin(f"fairseq-train bin {TINY} --eval-bleu --max-update 3 --save-dir ck", folder)
    assert done.code == 0, done.err
    return folder / "ck" / "checkpoint_last.pt"


# checkpoints


def test_generating_and_validating_read_it_and_log_no_debug_lines(checkpoint, folder):
    flags = f"bin --path {checkpoint} --cpu --batch-size 2 --required-batch-size-multiple 1"
    made = plugin(f"fairseq-generate {flags} --scoring ter --gen-subset test --beam 1", folder)
    assert made.code == 0, made.err
    assert sorted(line[:3] for line in made.out.splitlines() if line[:2] == "H-") == [
        f"H-{i}" for i in range(5)
    ]
    assert "TER = " in made.out and "|tok:tercom|" in made.out
    assert "INFO:fairseq_cli.generate:Translated 5 sentences" in made.err
    assert "DEBUG" not in made.err
    checked = plugin(f"fairseq-validate {flags} --task translation", folder)
    assert checked.code == 0, checked.err
    assert "valid on 'valid' subset | loss" in checked.out


def test_applying_twice_changes_nothing():
    def now() -> list[Any]:
        return [distributed_utils.call_main, sys.excepthook, *logging.getLogger().handlers]

    before = now()
    patches.apply()
    assert now() == before
