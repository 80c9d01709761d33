"""What is said of a mistake: one line that names it, with nothing that a terminal obeys."""

import argparse
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from fairseq import options, tasks
from fairseq.dataclass.configs import FairseqConfig
from omegaconf import OmegaConf
from plain_files import ROOT
from tables import table

from lev_plugins import UserError
from lev_plugins.fairseq_patches import one_line_errors
from lev_runtime.errors import printable
from lev_runtime.io.commands import run_cli
from lev_runtime.io.output import whole_file

ESCAPES = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202e back \x7f \ud800"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def test_a_message_has_no_character_that_a_terminal_obeys_and_a_bearable_length():
    message = str(UserError(f"{ESCAPES}\nis not there"))
    assert not UNSAFE.search(message) and message.startswith(r"\x1b[31mred\x1b]0;title\x07 ")
    assert printable(message) == message, "what was escaped is not escaped again"
    long = str(UserError(f"line 3: {'x' * 10**5} is no number; write one"))
    assert long.startswith("line 3: xxx") and long.endswith("xxx is no number; write one")
    assert len(long) < 2_100


def ends(main: Callable[[], Any], status: int) -> None:
    with pytest.raises(SystemExit) as ended:
        run_cli(main)
    assert ended.value.code == status


def test_a_command_that_is_told_to_end_leaves_nothing_half_written(tmp_path, monkeypatch):
    def main() -> None:
        assert sys.stdin.read() == "", "a stream that is closed is empty"
        with whole_file(str(tmp_path / "out")):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)

    monkeypatch.setattr(sys, "stdin", None)
    ends(main, 143)
    assert not list(tmp_path.iterdir()) and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


# which errors are a mistake -----------------------------------------------------------------------


def setup(folder: Path, **changes: Any) -> Any:
    cfg = {"_name": "translation", "data": str(folder), **changes}
    return tasks.setup_task(OmegaConf.create(cfg))


def load_split(folder: Path) -> None:
    loading = {"train_subset": "train", "dataset_impl": "mmap", "required_seq_len_multiple": 1}
    setup(folder, source_lang="src", target_lang="tgt", **loading).load_dataset("nosuch")


def run_program(name: str) -> None:
    import fairseq_cli.generate
    import fairseq_cli.train

    getattr(fairseq_cli, name).main(OmegaConf.structured(FairseqConfig()))


class Mistaken(dict[int, int]):
    """Data whose sentences cannot be read."""

    def __missing__(self, index: int) -> None:
        raise UserError("train.mt, line 3: no draft")

    def __len__(self) -> int:
        return 1


#: what goes wrong in a folder → what its line names
MISTAKES = [
    (lambda folder: setup(folder / "missing"), "missing"),
    (lambda folder: setup(folder), "--source-lang --target-lang"),
    (lambda folder: setup(folder, source_lang="en", target_lang="tgt"), "dict.en.txt"),
    (load_split, "nosuch --gen-subset bin"),
    (open, "bin"),
    (lambda folder: open(folder / f"{ESCAPES[:-1]}.pt"), r"\x1b[31mred"),
    (lambda folder: run_program("generate"), "--path"),
    (lambda folder: run_program("train"), "--max-tokens"),
    (lambda folder: list(torch.utils.data.DataLoader(Mistaken(), num_workers=1)), "train.mt,"),
]


@pytest.mark.parametrize("mistake, named", MISTAKES)
def test_a_mistake_of_the_first_hour_is_one_line_that_names_it(tmp_path, mistake, named, capsys):
    folder = tiny.dictionaries(tmp_path / "bin")
    before = sorted(tmp_path.rglob("*"))
    ends(lambda: mistake(folder), 1)
    assert sorted(tmp_path.rglob("*")) == before
    line = capsys.readouterr().err
    assert line.startswith("error: ") and line.count("\n") == 1 and not UNSAFE.search(line)
    assert [name for name in named.split() if name not in line] == []


@pytest.fixture
def unpatched(monkeypatch):
    """Undoes what :func:`one_line_errors` replaces in this process."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(argparse.ArgumentParser, "error", argparse.ArgumentParser.error)
    level = logging.getLogger().level
    yield
    logging.getLogger().setLevel(level)


def test_a_command_of_fairseqs_logs_nothing_for_debugging_unless_asked(unpatched, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-generate"])
    for asked in ("info", "debug"):
        monkeypatch.setenv("LOGLEVEL", asked)
        logging.getLogger().setLevel(logging.DEBUG)
        one_line_errors()
        assert logging.getLevelName(logging.getLogger().level) == asked.upper()


@pytest.mark.parametrize("words, named", table("fairseq_patches/options.tsv", "mistyped"))
def test_a_mistyped_option_is_one_line_with_the_nearest(
    unpatched, monkeypatch, capsys, words, named
):
    monkeypatch.setattr(sys, "argv", ["fairseq-train"])
    one_line_errors()
    with pytest.raises(SystemExit, match="2"):
        options.parse_args_and_arch(options.get_training_parser(), ["data", *words.split()])
    line = capsys.readouterr().err
    assert named in line and line.count("\n") == 1


def test_in_a_command_of_fairseqs_a_mistake_is_one_line_and_a_fault_is_passed_on(
    unpatched, monkeypatch, capsys
):
    passed = []
    before = lambda kind, error, trace: passed.append(error)  # noqa: E731
    monkeypatch.setattr(sys, "excepthook", before)
    for program in ("my_program.py", "/lib/fairseq_cli/generate.py"):
        assert sys.excepthook is before
        monkeypatch.setattr(sys, "argv", [program])
        one_line_errors()
    for error in (UserError("fix\nthis"), fault := RuntimeError("fault"), RuntimeError()):
        sys.excepthook(type(error), error, None)
    shown = capsys.readouterr().err
    assert shown.startswith("error: fix this\nerror: --arch is missing") and passed == [fault]


def test_a_command_hands_on_its_status(capsys):
    for main, status in (
        (lambda: 3, 3),
        (lambda: None, 0),
        (lambda: signal.default_int_handler(2, None), 130),
    ):
        ends(main, status)
    with pytest.raises(ZeroDivisionError):  # a fault
        run_cli(lambda: 1 / 0)
    assert capsys.readouterr() == ("", "")
    noise = f"{sys.executable} -m lev_plugins noise --kind swap"  # which needs no torch
    script = f"yes a b | head -200000 | {noise} | head -1; echo ${{PIPESTATUS[2]}}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("a b\n141\n", "")
