"""Trains a corrector of characters for a given time, with progress shown.

    python examples/spelling_and_ocr/train.py DATA SAVE --minutes 10 --seed 1
    python examples/spelling_and_ocr/train.py DATA SAVE --system pbd -- --bf16

DATA is a folder that lev-preprocess wrote, for LevT with drafts; SAVE gets the checkpoints. What
stands behind -- goes to fairseq-train, last. The learning rate and the roll-in follow the time that
has passed (--lr-scheduler time_budget), so that training ends when the time is over, on any machine
and whatever else it has to do. The fairseq-train command is printed: it is the one to start from
for your own data. The same command resumes a training that was interrupted.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from lists import parser_of

from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli

PLUGINS = Path(__file__).resolve().parents[2] / "lev_plugins"
LINES = 20  # of progress
START_SECONDS = 15  # importing, reading data, building the model; no more than half of the time
WRITER = """--task translation --criterion label_smoothed_cross_entropy --encoder-embed-dim 128
  --encoder-ffn-embed-dim 512 --attention-dropout 0 --required-batch-size-multiple 1 --lr 0.004
  --max-tokens 3000 """
RECIPES = {
    "levt": """--task translation_edit --draft-lang {draft} --alpha-start 0.3 --alpha 0.9
      --beta-start 0.3 --beta 0.9 --roll-in-updates 0.7 --arch levenshtein_editor_char
      --criterion edit_policy_loss --lr 0.003 --max-tokens 1500""",
    "pbd": "--arch pbd_transformer_char " + WRITER,
    # of PBD's size, with more parameters: none is shared by its two halves
    "transformer": f"--arch transformer {WRITER} --decoder-embed-dim 128 "
    + "--decoder-ffn-embed-dim 512"
    + "".join(
        f" --{half}-layers 2 --{half}-attention-heads 4 --{half}-normalize-before"
        for half in ("encoder", "decoder")
    ),
}
COMMON = """--bpe characters --share-all-embeddings --max-source-positions 128
  --max-target-positions 128 --label-smoothing 0.1 --adam-betas '(0.9, 0.98)' --clip-norm 1.0
  --lr-scheduler time_budget --warmup-share 0.08 --save-interval-updates 200
  --keep-interval-updates 1 --cpu --no-epoch-checkpoints --disable-validation --log-format simple
  --log-interval 2"""
TELLS = "lev_plugins.fairseq_patches.progress | "  # what a slow training says


def main() -> None:
    """Train, show, keep the last checkpoint as the best."""
    args = _arguments(sys.argv[1:])
    command = training_command(args)
    words = " ".join(map(shlex.quote, ["fairseq-train", *command[3:]]))
    print(words.replace(" --", " \\\n  --") + "\n", flush=True)
    train(command, args.minutes)
    last, best = (Path(args.save, f"checkpoint_{name}.pt") for name in ("last", "best"))
    if not last.is_file():
        raise UserError(f"no checkpoint in {args.save}: train longer")
    # the learning rate ends at zero, so the last parameters are the ones to keep
    shutil.copyfile(last, f"{best}.tmp")
    os.replace(f"{best}.tmp", best)  # all of it, or what was there


def training_command(args: argparse.Namespace) -> list[str]:
    """The fairseq-train command for ``args.minutes``."""
    source, target, draft = _languages(args.data, args.system)
    seconds = 60 * args.minutes
    hours = (seconds - min(START_SECONDS, seconds / 2)) / 3600
    command = [sys.executable, "-m", "fairseq_cli.train", args.data, "--user-dir", str(PLUGINS)]
    command += ["--source-lang", source, "--target-lang", target]
    command += shlex.split(RECIPES[args.system].format(draft=draft) + " " + COMMON)
    # more passes over the same words need a brake
    command += ["--dropout", "0" if args.minutes <= 20 else "0.1"]
    if "--optimizer" not in args.flags:  # another one knows no flags of muon
        command += ["--optimizer", "muon", "--muon-update-rms", "0.4"]
    command += ["--stop-time-hours", f"{hours:.6g}", "--seed", str(args.seed)]
    return [*command, "--save-dir", args.save, *args.flags]


def train(command: Sequence[str], minutes: float) -> None:
    """Runs fairseq-train and shows about twenty lines of progress; its last lines where it fails.

    Raises:
        UserError: it failed.
    """
    # threads that wait for long sleep instead of spinning: a busy machine is then not lost
    environ = {"GOMP_SPINCOUNT": "20000", **os.environ, "PYTHONWARNINGS": "ignore"}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    started, shown = time.monotonic(), 0.0
    last: deque[str] = deque(maxlen=20)
    with subprocess.Popen(command, env=environ, **piped) as process:
        for line in process.stdout:
            last.append(line)
            passed = (time.monotonic() - started) / 60
            logged = "train_inner | " in line and passed - shown >= minutes / LINES
            if logged or TELLS in line or "too few to learn from" in line:
                shown = passed if logged else shown
                print(f"{passed:5.1f} min, {line.rpartition(' | ')[2]}", end="", flush=True)
    if process.returncode:
        sys.stderr.writelines([line for line in last if line.startswith("error: ")] or last)
        raise UserError("fairseq-train failed; the lines above say why")


def _languages(data: str, system: str) -> tuple[str, str, str]:
    """Source and target suffix of the training data in a folder, and for LevT the draft's."""
    for path in sorted(Path(data).glob("train.*-*.*.idx")):
        _, pair, side = path.name.removesuffix(".idx").split(".")
        source, target = pair.split("-")
        if system != "levt" or side not in (source, target):
            return source, target, side
    drafts = " with drafts" if system == "levt" else ""
    raise UserError(f"{data} holds no training data{drafts}; see --help")


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("data", help="folder that preprocess wrote")
    add("save", help="folder for the checkpoints")
    add("--minutes", type=float, default=10, help="time to train (default: 10)")
    add("--seed", type=int, default=1, help="random seed (default: 1)")
    add("--system", choices=RECIPES, default="pbd", help="what to train (default: pbd)")
    end = argv.index("--") if "--" in argv else len(argv)
    args = parser.parse_args(argv[:end])
    args.flags = argv[end + 1 :]
    if args.minutes <= 0:
        raise UserError(f"--minutes {args.minutes:g}: give a time above 0")
    return args


if __name__ == "__main__":
    run_cli(main)
