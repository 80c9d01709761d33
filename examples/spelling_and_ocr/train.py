"""Trains a corrector of characters for a given time, with progress shown.

    python examples/spelling_and_ocr/train.py DATA SAVE --minutes 10 --seed 1
    python examples/spelling_and_ocr/train.py DATA SAVE --system pbd -- --bf16

DATA is a folder that lev-preprocess wrote, for LevT with drafts; SAVE gets the
checkpoints. What stands behind -- goes to fairseq-train, last. The learning rate and the roll-in
follow the time that has passed (--lr-scheduler time_budget), so that training ends when the time is
over, on any machine and whatever else it has to do. The fairseq-train command is printed: it is the
one to start from for your own data. Where SAVE holds a training that was interrupted, the same
command resumes it; what was trained before counts.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "lev_plugins"
WARM_UP = 0.08  # share of the time in which the learning rate rises
DRAFT_RISE = 0.7  # … in which drafts take over from generation
LOG_EVERY = 2  # updates
LINES = 20  # of progress
SAVE_EVERY = 200  # updates, for a training that is interrupted
START_SECONDS = 15  # importing, reading data, building the model; no more than half of the time


def main() -> int:
    args = _arguments(sys.argv[1:])
    languages = _languages(args.data, args.system)
    command = training_command(args, languages, args.save)
    print(_shown(command) + "\n", flush=True)
    if not _run(command, args.minutes):
        return _fail("fairseq-train failed; the lines above say why")
    last = Path(args.save, "checkpoint_last.pt")
    if not last.is_file():
        return _fail(f"no checkpoint in {args.save}")
    # the learning rate ends at zero, so the last parameters are the ones to keep
    best = Path(args.save, "checkpoint_best.pt")
    shutil.copyfile(last, f"{best}.tmp")
    os.replace(f"{best}.tmp", best)  # all of it, or what was there
    return 0


def training_command(args, languages: list[str], save: str) -> list[str]:
    """The fairseq-train command for ``args.minutes``; ``languages``: source, target, draft."""
    seconds = 60 * args.minutes
    hours = (seconds - min(START_SECONDS, seconds / 2)) / 3600
    recipe = {"levt": _levt, "pbd": _pbd, "transformer": _transformer}[args.system]
    command = [sys.executable, "-m", "fairseq_cli.train", args.data]
    command += ["--user-dir", str(PLUGINS), "--source-lang", languages[0]]
    command += ["--target-lang", languages[1], "--bpe", "characters", "--share-all-embeddings"]
    # more passes over the same words need a brake
    command += recipe(languages, short=args.minutes <= 20)
    command += ["--max-source-positions", "128", "--max-target-positions", "128"]
    command += ["--label-smoothing", "0.1"]
    if "--optimizer" not in args.flags:  # another one knows no flags of muon
        command += ["--optimizer", "muon", "--muon-update-rms", "0.4"]
    command += ["--adam-betas", "(0.9, 0.98)", "--clip-norm", "1.0"]
    command += ["--lr-scheduler", "time_budget", "--warmup-share", str(WARM_UP)]
    command += ["--stop-time-hours", f"{hours:.6g}"]
    command += ["--save-interval-updates", str(SAVE_EVERY), "--keep-interval-updates", "1"]
    command += ["--seed", str(args.seed), "--cpu"]
    command += ["--no-epoch-checkpoints", "--disable-validation", "--save-dir", save]
    command += ["--log-format", "json", "--log-interval", str(LOG_EVERY)]
    return command + args.flags


def _levt(languages: list[str], short: bool) -> list[str]:
    """An editor that starts from the draft."""
    command = ["--task", "translation_edit", "--draft-lang", languages[2]]
    command += ["--alpha-start", "0.3", "--alpha", "0.9", "--beta-start", "0.3", "--beta", "0.9"]
    command += ["--roll-in-updates", str(DRAFT_RISE)]
    command += ["--arch", "levenshtein_editor_char", "--criterion", "edit_policy_loss"]
    return command + ["--dropout", "0" if short else "0.1", "--lr", "0.003", "--max-tokens", "1500"]


def _pbd(languages: list[str], short: bool) -> list[str]:
    """A writer from left to right that sees the rest of the source."""
    return ["--arch", "pbd_transformer_char", *_writer(short)]


def _transformer(languages: list[str], short: bool) -> list[str]:
    """fairseq's Transformer of PBD's size: more parameters, none shared by its two halves."""
    command = ["--arch", "transformer", *_writer(short)]
    command += ["--decoder-embed-dim", "128", "--decoder-ffn-embed-dim", "512"]
    for half in ("encoder", "decoder"):
        command += [f"--{half}-layers", "2", f"--{half}-attention-heads", "4"]
        command += [f"--{half}-normalize-before"]
    return command


def _writer(short: bool) -> list[str]:
    command = ["--task", "translation", "--criterion", "label_smoothed_cross_entropy"]
    command += ["--encoder-embed-dim", "128", "--encoder-ffn-embed-dim", "512"]
    command += ["--dropout", "0" if short else "0.1", "--attention-dropout", "0"]
    command += ["--required-batch-size-multiple", "1"]
    return command + ["--lr", "0.004", "--max-tokens", "3000"]


def _run(command: list[str], minutes: float) -> bool:
    """Shows about twenty lines of progress; whether training came to its end."""
    started, shown, ended = time.monotonic(), 0.0, False
    for log in _logs(command):
        passed = (time.monotonic() - started) / 60
        if not log:
            ended = True
            print(f"{passed:5.1f} min, the training is over", flush=True)
        elif passed - shown >= minutes / LINES:
            shown = passed
            print(progress_line(log, passed), flush=True)
    return ended


def progress_line(log: dict, passed: float) -> str:
    """What training logged after so many minutes."""
    return (
        f"{passed:5.1f} min, {float(log['minutes_left']):.1f} left  update {log['num_updates']}  "
        f"loss {log.get('loss')} bits  {_progress(log)}"
    )


def _progress(log: dict) -> str:
    """How good the predictions are, as the system measures it."""
    if "ppl" in log:
        return f"perplexity {log['ppl']}"
    return (
        f"right: deletions {log.get('del_acc')} %, places {log.get('plh_acc')} %, "
        f"tokens {log.get('tok_acc')} %"
    )


def _logs(command: list[str]) -> Iterator[dict]:
    """What training logs, {} at its end; where it fails its last lines go to stderr."""
    # threads that wait for long sleep instead of spinning: a busy machine is then not lost
    environment = {"GOMP_SPINCOUNT": "20000", **os.environ, "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    other: list[str] = []
    for line in process.stdout:
        found = re.search(r"train_inner \| (\{.*\})", line)
        if found:
            yield json.loads(found.group(1))
        else:
            other = other[-20:] + [line]
    if process.wait() == 0:
        yield {}
    else:
        errors = [line for line in other if line.startswith("error: ")]
        sys.stderr.write("".join(errors or other))


def _languages(data: str, system: str) -> list[str]:
    """Source and target suffix of the training data in a folder, and for LevT the draft's."""
    found = []
    for path in sorted(Path(data).glob("train.*-*.*.idx")):
        _, pair, side = path.name.removesuffix(".idx").split(".")
        found.append((pair.split("-"), side))
    for (source, target), side in found:
        if system != "levt":
            return [source, target]
        if side not in (source, target):
            return [source, target, side]
    drafts = " with drafts" if system == "levt" else ""
    raise SystemExit(_fail(f"{data} holds no training data{drafts}; see --help"))


def _shown(command: list[str]) -> str:
    words = ["fairseq-train", *command[3:]]
    return " ".join(shlex.quote(word) for word in words).replace(" --", " \\\n  --")


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="folder that preprocess wrote")
    parser.add_argument("save", help="folder for the checkpoints")
    parser.add_argument("--minutes", type=float, default=10, help="time to train (default 10)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    parser.add_argument(
        "--system",
        choices=("levt", "pbd", "transformer"),
        default="levt",
        help="what to train (default levt)",
    )
    end = argv.index("--") if "--" in argv else len(argv)
    args = parser.parse_args(argv[:end])
    args.flags = argv[end + 1 :]
    if args.minutes <= 0:
        raise SystemExit(_fail(f"--minutes {args.minutes:g}: give a time above 0"))
    return args


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
