"""Whether LevT learns to copy: random sentences, whose target is the source.

    python benchmarks/copy_task.py WORK --updates 500 --seeds 1,2,3

Trained is what examples/translation/train.sh trains from references, with the same flags (those
behind ``--`` come last); measured are held-out sentences that come out exactly as they went in,
decoded from nothing. What is finished is kept in WORK and not done again.
"""

import argparse
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.commands import run  # noqa: E402
from benchmarks.machine import machine  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402

SIZES = {"train": 20_000, "valid": 200, "test": 500}
EXACT = re.compile(r"^Generate test .*?accuracy[^\d]*([\d.]+)", re.M | re.I)


def prepare(work: Path, args: argparse.Namespace) -> None:
    """Text of the three parts, and WORK/data."""
    shutil.rmtree(work / "data.new", ignore_errors=True)
    rng = random.Random(0)
    for part, lines in SIZES.items():
        text = "".join(
            " ".join(f"w{rng.randrange(args.symbols)}" for _ in range(rng.randint(2, args.longest)))
            + "\n"
            for _ in range(lines)
        )
        for side in ("src", "tgt"):
            (work / f"{part}.{side}").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "lev_plugins", "preprocess", "--source-lang", "src"]
    command += ["--target-lang", "tgt", "--joined-dictionary", "--destdir", str(work / "data.new")]
    for part in SIZES:
        command += [f"--{part}pref", str(work / part)]
    run(command, work / "preprocess.log")
    os.replace(work / "data.new", work / "data")


def exact(work: Path, seed: int, args: argparse.Namespace) -> float:
    """Trains with a seed; the share of the test sentences that are copied, in per cent."""
    folder = work / f"{args.updates}.{seed}"
    answer = folder / "generate.log"
    if not answer.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        train = ["bash", str(ROOT / "examples/translation/train.sh"), str(work), "levt"]
        train += ["--save-dir", str(folder), "--disable-validation"]
        run([*train, *args.flags], folder / "train.log", UPDATES=str(args.updates), SEED=str(seed))
        decode = ["fairseq-generate", str(work / "data"), "--user-dir", str(ROOT / "lev_plugins")]
        decode += ["--task", "translation_edit", "--source-lang", "src", "--target-lang", "tgt"]
        decode += ["--path", str(folder / "checkpoint_last.pt"), "--batch-size", "64"]
        run([*decode, "--scoring", "accuracy"], folder / "generate.new")
        os.replace(folder / "generate.new", answer)
    found = EXACT.search(answer.read_text(encoding="utf-8"))
    if not found:
        raise UserError(f"{answer} has no accuracy: delete {folder} and run this again")
    return float(found[1])


def same_settings(path: Path, settings: list[int | str]) -> None:
    """Keeps the settings of WORK, so that nothing finished under others is taken for theirs.

    Raises:
        UserError: it holds what other settings gave.
    """
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != settings:
        raise UserError(f"{path.parent} was made with other options or flags: name another folder")
    path.write_text(json.dumps(settings) + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    """Prepare, train, print the share of each seed and the mean."""
    words = list(sys.argv[1:] if argv is None else argv)
    end = words.index("--") if "--" in words else len(words)
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("work", type=Path, help="folder for data and models")
    made.add_argument("--updates", type=int, default=500, help="default %(default)s")
    made.add_argument("--seeds", default="1,2,3", help="default %(default)s")
    made.add_argument("--symbols", type=int, default=50, help="different words (default 50)")
    made.add_argument("--longest", type=int, default=12, help="words, at most (default 12)")
    args = made.parse_args(words[:end])
    args.flags = words[end + 1 :]
    seeds = args.seeds.split(",")
    if not all(seed.isdecimal() for seed in seeds) or min(args.updates, args.symbols) < 1:
        raise UserError(f"--seeds {args.seeds}: give numbers with commas; all sizes above 0")
    if args.longest < 2:
        raise UserError(f"--longest {args.longest}: give 2 at least")
    args.work.mkdir(parents=True, exist_ok=True)
    same_settings(args.work / "settings.json", [args.symbols, args.longest, *args.flags])
    if not (args.work / "data").is_dir():
        prepare(args.work, args)
    shares = []
    for seed in map(int, seeds):
        shares.append(exact(args.work, seed, args))
        print(f"seed {seed}: {shares[-1]:.1f} % copied exactly", flush=True)
    print(machine("cpu"))
    print(
        f"{args.updates} updates: {fmean(shares):.1f} % ({min(shares):.1f} … {max(shares):.1f}) "
        f"of {SIZES['test']} sentences are copied exactly"
    )


if __name__ == "__main__":
    sys.exit(run_cli(main))
