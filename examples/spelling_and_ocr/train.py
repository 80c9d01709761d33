"""Trains a post-editor of characters for a given time, with progress shown.

    python examples/spelling_and_ocr/train.py DATA SAVE --minutes 10 --seed 1

DATA is a folder that lev_plugins.cli.preprocess wrote, with drafts; SAVE gets the checkpoints.
The machine's speed is measured first, so that the learning rate can fall to zero just when the
time is over. The fairseq-train command is printed: it is the one to start from for your own data.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterator, List, Optional

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "lev_plugins"
WARM_UP = 0.08  # share of the updates in which the learning rate rises
DRAFT_RISE = 0.7  # … in which drafts take over from generation
LOG_EVERY = 20
TRIAL_UPDATES = 60
START_SECONDS = 15  # importing, reading data, building the model


def main() -> int:
    args = _arguments()
    languages = _languages(args.data)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as trial:
        command = training_command(args, languages, trial, TRIAL_UPDATES)
        speed = _measure_speed(command + ["--no-save", "--disable-validation"])
    if speed is None:
        return _fail("the trial run failed; the lines above say why")
    left = args.minutes * 60 - (time.monotonic() - started) - START_SECONDS
    updates = max(int(left * speed), TRIAL_UPDATES) // LOG_EVERY * LOG_EVERY
    print(f"{speed:.1f} updates a second here: {updates} updates in {args.minutes:g} minutes")
    command = training_command(args, languages, args.save, updates)
    print("\n" + _shown(command) + "\n", flush=True)
    if not _run(command, updates):
        return _fail("fairseq-train failed; the lines above say why")
    last = Path(args.save, "checkpoint_last.pt")
    if not last.is_file():
        return _fail(f"no checkpoint in {args.save}")
    # the learning rate ends at zero, so the last parameters are the ones to keep
    shutil.copyfile(last, Path(args.save, "checkpoint_best.pt"))
    return 0


def training_command(args, languages: List[str], save: str, updates: int) -> List[str]:
    """The fairseq-train command for a number of updates."""
    source, target, draft = languages
    command = [sys.executable, "-m", "fairseq_cli.train", args.data]
    command += ["--user-dir", str(PLUGINS), "--task", "translation_edit"]
    command += ["--source-lang", source, "--target-lang", target, "--draft-lang", draft]
    command += ["--alpha-start", "0.3", "--alpha", "0.9", "--beta-start", "0.3", "--beta", "0.9"]
    command += ["--roll-in-updates", str(int(DRAFT_RISE * updates)), "--bpe", "characters"]
    command += ["--arch", "levenshtein_editor_char", "--share-all-embeddings"]
    # more passes over the same words need a brake
    command += ["--dropout", "0" if args.minutes <= 20 else "0.1"]
    command += ["--max-source-positions", "128", "--max-target-positions", "128"]
    command += ["--criterion", "edit_policy_loss", "--label-smoothing", "0.1"]
    command += ["--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--clip-norm", "1.0"]
    command += ["--lr", "0.003", "--lr-scheduler", "polynomial_decay"]
    command += ["--warmup-updates", str(max(int(WARM_UP * updates), 1))]
    command += ["--total-num-update", str(updates), "--max-update", str(updates)]
    command += ["--max-tokens", "1500", "--seed", str(args.seed), "--cpu"]
    command += ["--no-epoch-checkpoints", "--disable-validation", "--save-dir", save]
    return command + ["--log-format", "json", "--log-interval", str(LOG_EVERY)]


def _measure_speed(command: List[str]) -> Optional[float]:
    """Updates a second once the first are done; None where the run failed."""
    print("measuring this machine's speed …", flush=True)
    logs = [log for log in _logs(command) if log.get("ups")]
    speeds = sorted(float(log["ups"]) for log in logs[1:] or logs)
    return speeds[len(speeds) // 2] if speeds else None


def _run(command: List[str], updates: int) -> bool:
    """Shows about twenty lines of progress; whether the last update was reached."""
    started, shown, done = time.monotonic(), 0, 0
    for log in _logs(command):
        done = int(log.get("num_updates", done))
        if done - shown < updates / 20 and done < updates:
            continue
        shown = done
        minutes = (time.monotonic() - started) / 60
        print(
            f"{minutes:5.1f} min  update {done}/{updates}  loss {log.get('loss')} bits  right: "
            f"deletions {log.get('del_acc')} %, places {log.get('plh_acc')} %, "
            f"tokens {log.get('tok_acc')} %",
            flush=True,
        )
    return done >= updates


def _logs(command: List[str]) -> Iterator[dict]:
    """The JSON lines that training logs; the last other lines go to stderr where it fails."""
    # threads that wait for long sleep instead of spinning: a busy machine is then not lost
    environment = {"GOMP_SPINCOUNT": "20000", **os.environ, "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    other: List[str] = []
    for line in process.stdout:
        found = re.search(r"train_inner \| (\{.*\})", line)
        if found:
            yield json.loads(found.group(1))
        else:
            other = other[-20:] + [line]
    if process.wait() != 0:
        errors = [line for line in other if line.startswith("error: ")]
        sys.stderr.write("".join(errors or other))


def _languages(data: str) -> List[str]:
    """Source, target and draft suffix of the training data in a folder."""
    found = []
    for path in sorted(Path(data).glob("train.*-*.*.idx")):
        _, pair, side = path.name.removesuffix(".idx").split(".")
        found.append((pair.split("-"), side))
    for (source, target), side in found:
        if side not in (source, target):
            return [source, target, side]
    raise SystemExit(_fail(f"{data} holds no training data with drafts; see --help"))


def _shown(command: List[str]) -> str:
    words = ["fairseq-train", *command[3:]]
    return " ".join(shlex.quote(word) for word in words).replace(" --", " \\\n  --")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="folder that preprocess wrote")
    parser.add_argument("save", help="folder for the checkpoints")
    parser.add_argument("--minutes", type=float, default=10, help="time to train (default 10)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    args = parser.parse_args()
    if args.minutes <= 0:
        raise SystemExit(_fail(f"--minutes {args.minutes:g}: give a time above 0"))
    return args


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
