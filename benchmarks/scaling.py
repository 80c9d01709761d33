"""One training in one process and in several: updates and tokens a second, and what is sent.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --sharded
    python benchmarks/scaling.py --parameters 60e6 --step-ms 150

Writes a corpus of random sentences into a temporary folder, prepares it and trains on it with
``torchrun … fairseq-train --user-dir lev_plugins --task translation_edit``, in 1 and 2 processes
in changing order. Every process has its own batch of ``--tokens`` tokens, so that with perfect
scaling updates take as long as alone and tokens a second double. Speeds are what fairseq logs
(``--log-format json``), without the first ``--interval`` updates.

Then, on paper, what DDP sends at each update of the same model: a ring all-reduce makes each
process send 2 (n − 1) / n times the gradients' bytes. Whole, that is time after the backward pass
(``legacy_ddp``); with DDP's buckets of 25 MB (``pytorch_ddp``, on GPUs) it runs beside the
backward pass, taken as half of the step, and only what does not fit, or the last bucket, is left.
Latencies are not counted. ``--sharded`` tries every ``--ddp-backend`` for two updates instead, and
says what each does; it also counts what processes say to each other at an update, beside
fairseq's own ``levenshtein_transformer``.
"""

import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import side_by_side  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402

BACKENDS = ("legacy_ddp", "no_c10d", "pytorch_ddp", "c10d", "slowmo", "fully_sharded")
PROCESSES = (2, 8, 64)  # on paper
BUCKET = 25e6  # bytes: --bucket-cap-mb
BACKWARD = 0.5  # of a step
BYTES = {"fp32": 4, "bf16, fp16": 2}
LENGTH = 25  # words of a sentence, on average
OURS = "--task translation_edit --criterion edit_policy_loss --arch levenshtein_editor"
STOCK = (
    "--task translation_lev --criterion nat_loss --arch levenshtein_transformer "
    "--label-smoothing 0.1 --noise random_delete"
)
TRAINING = (
    "--source-lang src --target-lang tgt --share-all-embeddings --optimizer adam --lr 0.0005 "
    "--num-workers 0 --no-save --disable-validation --log-format json"
)


class Speed(NamedTuple):
    """Of a run: updates and target tokens a second, seconds within updates, parameters."""

    updates: float
    tokens: float
    train_wall: float
    parameters: int


# ---------------------------------------------------------------- the corpus and the commands


def ran(words: Sequence[str], folder: Path, threads: int = 1) -> subprocess.CompletedProcess:
    """A finished command, whatever its status."""
    environ = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environ)


def last_error(done: subprocess.CompletedProcess) -> str:
    """What a command that failed says: its ``error:`` line, or else the exception's."""
    lines = [line.strip() for line in done.stderr.splitlines()]
    own = [line for line in lines if line.startswith("error: ")]
    raised = [
        line for line in lines if re.match(r"(\[rank\d+\]: )?[\w.]*(Error|Exception)\b", line)
    ]
    return (own or raised or [line for line in lines if line] or ["no message"])[0]


def prepare(folder: Path, sentences: int, args: argparse.Namespace) -> None:
    """Random pairs in ``folder``/bin; target words are the source's, a few of them other ones."""
    rng = random.Random(args.seed)
    words = [f"w{number}" for number in range(args.vocab)]
    weights = [1 / (number + 1) for number in range(args.vocab)]
    with (folder / "train.src").open("w") as sources, (folder / "train.tgt").open("w") as targets:
        for _ in range(sentences):
            source = rng.choices(words, weights, k=max(1, round(rng.gauss(LENGTH, LENGTH / 3))))
            target = [rng.choice(words) if rng.random() < 0.2 else word for word in source]
            sources.write(" ".join(source) + "\n")
            targets.write(" ".join(target) + "\n")
    flags = "--source-lang src --target-lang tgt --joined-dictionary --trainpref train"
    command = f"-m lev_plugins preprocess {flags} --destdir bin"
    words = [sys.executable, *command.split()]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environ)
    if done.returncode:
        raise UserError(f"the corpus could not be prepared: {last_error(done)}")


def sizes(args: argparse.Namespace, layered: bool = False) -> str:
    """Flags of the model; ``layered``: of fairseq's own, which names its exits."""
    parts = [f"--early-exit {','.join([str(args.layers)] * 3)}"] if layered else []
    for side in ("encoder", "decoder"):
        parts.append(f"--{side}-embed-dim {args.dim} --{side}-ffn-embed-dim {args.ffn}")
        parts.append(f"--{side}-layers {args.layers} --{side}-attention-heads {args.heads}")
    return " ".join(parts)


def training(args: argparse.Namespace, processes: int, backend: str, updates: int) -> list[str]:
    """Everything after ``fairseq-train``; ours unless the task of another is put before."""
    flags = f"bin --user-dir {ROOT / 'lev_plugins'} {TRAINING} --max-tokens {args.tokens}"
    flags += f" --seed {args.seed} --max-update {updates} --log-interval {args.interval}"
    flags += f" --distributed-world-size {processes} --ddp-backend {backend}"
    if args.device == "cpu":
        flags += " --cpu --distributed-backend gloo"
    return flags.split()


def torchrun(processes: int, program: Sequence[str], flags: Sequence[str]) -> list[str]:
    """A launch on this machine."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    return [sys.executable, *launcher, *program, *flags]


def fairseq_train() -> str:
    """The console script of this Python.

    Raises:
        UserError: it is not there.
    """
    script = Path(sys.executable).with_name("fairseq-train")
    if not script.is_file():
        raise UserError(f"{script} does not exist; install lev_plugins for this Python")
    return str(script)


# ---------------------------------------------------------------- one and several processes


def read_log(text: str) -> Speed:
    """The speed after the first interval, from fairseq's JSON log.

    Raises:
        UserError: there are fewer than two intervals.
    """
    found = [json.loads(line) for line in re.findall(r"\| train_inner \| (\{.*\})$", text, re.M)]
    parameters = re.search(r"num\. shared model params: ([\d,]+)", text)
    if len(found) < 2 or parameters is None:
        raise UserError("the training logged fewer than two intervals; raise --updates")
    counted = found[1:]
    tokens = median(float(one["wps"]) for one in counted)
    # two digits of updates a second are few where updates are slow
    updates = median(float(one["wps"]) / float(one["wpb"]) for one in counted)
    wall = float(counted[-1]["train_wall"])
    return Speed(updates, tokens, wall, int(parameters[1].replace(",", "")))


def measure(args: argparse.Namespace, folder: Path) -> dict[int, list[Speed]]:
    """``--repeats`` runs for each number of processes, in changing order."""
    total = args.interval + args.updates
    prepare(folder, 2 * total * max(args.processes) * max(1, args.tokens // LENGTH), args)
    speeds: dict[int, list[Speed]] = {count: [] for count in args.processes}
    for number in range(args.repeats):
        for count in side_by_side.in_turn(args.processes, number + 1):
            flags = [*training(args, count, args.ddp_backend, total), *OURS.split()]
            flags += sizes(args).split()
            done = ran(torchrun(count, [fairseq_train()], flags), folder, args.threads)
            if done.returncode:
                raise UserError(f"{count} processes: {last_error(done)}")
            speeds[count].append(read_log(done.stdout + done.stderr))
    return speeds


def scaling_table(speeds: dict[int, list[Speed]]) -> str:
    """A line for each number of processes; speed-ups are medians over runs in pairs."""
    first, *_ = speeds
    lines = ["processes  updates/s  tokens/s  ms/update  speed-up  lowest … highest  efficiency"]
    for count, found in speeds.items():
        ups, tokens = (median(getattr(s, name) for s in found) for name in ("updates", "tokens"))
        gains = [one.tokens / alone.tokens for one, alone in zip(found, speeds[first])]
        gain = median(gains)
        lines.append(
            f"{count:>9}  {ups:>9.2f}  {tokens:>8.0f}  {1000 / ups:>9.1f}  {gain:>8.2f}  "
            f"{min(gains):>6.2f} … {max(gains):<7.2f}  {100 * gain * first / count:>8.0f} %"
        )
    return "\n".join(lines)


# ---------------------------------------------------------------- on paper


def seconds(processes: int, size: float, bandwidth: float) -> float:
    """Of a ring all-reduce of ``size`` bytes at ``bandwidth`` GB/s: what each process sends."""
    return 2 * (processes - 1) / processes * size / (bandwidth * 1e9)


def left_over(whole: float, size: float, step: float) -> float:
    """Seconds that DDP's buckets cannot hide: more than the backward pass, or the last bucket."""
    return max(whole - BACKWARD * step, whole * min(1.0, BUCKET / size))


def paper_table(parameters: float, step: float, bandwidths: Sequence[float]) -> str:
    """Bytes and times of the all-reduce for more processes than there are here.

    Args:
        parameters: numbers that are learnt. step: seconds of an update. bandwidths: GB/s.
    """
    lines = [f"on paper: {parameters / 1e6:.1f} M parameters, {1000 * step:.1f} ms a step"]
    head = f"{'processes':>9}  {'gradients':>10}  {'MB':>7}  {'MB sent':>8}"
    head += "".join(f"  {f'ms at {speed:g} GB/s':>16}  buckets  efficiency" for speed in bandwidths)
    lines.append(head)
    for name, width in BYTES.items():
        size = width * parameters
        for count in PROCESSES:
            sent = 2 * (count - 1) / count * size
            line = f"{count:>9}  {name:>10}  {size / 1e6:>7.1f}  {sent / 1e6:>8.1f}"
            for speed in bandwidths:
                whole = seconds(count, size, speed)
                left = left_over(whole, size, step)
                share = 100 * step / (step + left)
                line += f"  {1000 * whole:>16.2f}  {1000 * left:>7.2f}  {share:>8.1f} %"
            lines.append(line)
    lines.append("buckets: ms that are left when DDP reduces beside the backward pass")
    return "\n".join(lines)


# ---------------------------------------------------------------- what backends do


def try_backends(args: argparse.Namespace, folder: Path) -> str:
    """Each ``--ddp-backend`` for two updates, in two processes and in one."""
    lines = []
    for backend in BACKENDS:
        for count in (2, 1):
            flags = [*training(args, count, backend, 2), *OURS.split(), *sizes(args).split()]
            done = ran(torchrun(count, [fairseq_train()], flags), folder, args.threads)
            said = "trains" if done.returncode == 0 else last_error(done)
            lines.append(f"{backend:<14} {count}  {said}")
    return "\n".join(["--ddp-backend  processes", *lines])


# What processes say to one another goes through these; DDP's own buckets do not.
TALK = ("all_reduce", "all_gather", "broadcast", "barrier", "reduce", "all_gather_object")


def count_talk(flags: Sequence[str]) -> None:
    """``fairseq-train`` in this process; at its end rank 0 prints its calls for each update."""
    import torch.distributed
    from fairseq import trainer
    from fairseq_cli.train import cli_main

    calls: collections.Counter[str] = collections.Counter()
    marks: list[dict[str, int]] = []
    for name in TALK:
        function = getattr(torch.distributed, name)

        def counted(*given: Any, _name: str = name, _call: Any = function, **more: Any) -> Any:
            calls[_name] += 1
            return _call(*given, **more)

        setattr(torch.distributed, name, counted)
    step = trainer.Trainer.train_step

    def marked(self: Any, *given: Any, **more: Any) -> Any:
        found = step(self, *given, **more)
        marks.append(dict(calls))
        return found

    trainer.Trainer.train_step = marked
    sys.argv = ["fairseq-train", *flags]
    cli_main()
    if os.environ.get("RANK") == "0":
        first, last = marks[0], marks[-1]
        each = {name: (last[name] - first.get(name, 0)) / (len(marks) - 1) for name in last}
        print("calls " + json.dumps({name: count for name, count in each.items() if count}))


def talk(args: argparse.Namespace, folder: Path) -> str:
    """Calls for each update of both systems, in two processes that sum gradients themselves."""
    lines = []
    for name, system in (("stock", STOCK), ("ours", OURS)):
        flags = training(args, 2, "legacy_ddp", 5)
        flags += [*system.split(), *sizes(args, name == "stock").split()]
        done = ran(torchrun(2, [str(Path(__file__).resolve()), "--talk"], flags), folder)
        if done.returncode:
            raise UserError(f"counting the calls of {name}: {last_error(done)}")
        (calls,) = re.findall(r"^calls (\{.*\})$", done.stdout, re.M)
        said = ", ".join(f"{count:g} {kind}" for kind, count in json.loads(calls).items())
        lines.append(f"calls an update, {name}: {said}")
    return "\n".join(lines)


# ---------------------------------------------------------------- options


def parser() -> argparse.ArgumentParser:
    """The options."""
    numbers = {
        "--vocab": (4000, "words"),
        "--tokens": (1000, "tokens of the batch of each process"),
        "--interval": (10, "updates in an interval of the log; the first is left out"),
        "--updates": (20, "measured updates"),
        "--repeats": (3, "runs for each number of processes"),
        "--threads": (1, "torch's threads in each process"),
        "--seed": 1,
    }
    made = side_by_side.parser_with(__doc__, side_by_side.SMALL | numbers)
    add = made.add_argument
    add("--processes", default="1,2", help="how many, comma separated (default %(default)s)")
    add("--ddp-backend", choices=BACKENDS, default="legacy_ddp", help="default: %(default)s")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where to train (default cpu)")
    add("--sharded", action="store_true", help="try every --ddp-backend and count the calls")
    add(
        "--bandwidth",
        default="300,25",
        metavar="GB/S",
        help="between processes, for the table on paper (default %(default)s: NVLink within a "
        "machine, a network of 200 Gb/s between machines)",
    )
    add("--parameters", type=float, help="on paper: of the model (default: the measured one)")
    add("--step-ms", type=float, help="on paper: of an update (default: as in one process here)")
    return made


def numbers(flag: str, given: str, kind: type) -> list[Any]:
    """``1,2`` → numbers.

    Raises:
        UserError: not all are numbers above 0.
    """
    try:
        found = [kind(part) for part in given.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 < number < float("inf") for number in found):
        raise UserError(f"{flag} {given}: numbers above 0, comma separated")
    return found


def checked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parsed options.

    Raises:
        UserError: values that nothing can be trained with.
    """
    args = parser().parse_args(argv)
    counts = "layers dim ffn heads vocab tokens interval updates repeats threads"
    side_by_side.check_counts(args, counts.split())
    if args.dim % args.heads:
        raise UserError(f"--heads {args.heads} does not divide --dim {args.dim}")
    if args.tokens < 4 * LENGTH:
        raise UserError(f"--tokens {args.tokens}: sentences need {4 * LENGTH} or more")
    if args.updates % args.interval:
        raise UserError(f"--updates {args.updates}: give a multiple of --interval {args.interval}")
    args.processes = numbers("--processes", args.processes, int)
    args.bandwidth = numbers("--bandwidth", args.bandwidth, float)
    for name in ("parameters", "step_ms"):
        value = getattr(args, name)
        if value is not None and not 0 < value < float("inf"):
            raise UserError(f"--{name.replace('_', '-')} {value:g}: give a number above 0")
    return args


def signature(args: argparse.Namespace) -> str:
    """What the numbers depend on."""
    import torch

    device = f"{args.device} ({side_by_side.machine(args.device)})"
    parts = {"torch": torch.__version__, "device": device, "cores": os.cpu_count()}
    names = "layers dim ffn heads vocab tokens updates repeats threads ddp_backend seed".split()
    return side_by_side.signature(parts | {name: getattr(args, name) for name in names})


def main(argv: Sequence[str] | None = None) -> int:
    """Train, print the tables."""
    given = sys.argv[1:] if argv is None else list(argv)
    if given[:1] == ["--talk"]:
        count_talk(given[1:])
        return 0
    args = checked(given)
    parameters, step = args.parameters, args.step_ms and args.step_ms / 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.sharded:
            prepare(folder, 20 * max(1, args.tokens // LENGTH), args)
            print(try_backends(args, folder))
            print(talk(args, folder))
            print(signature(args))
            return 0
        if not (parameters and step):
            speeds = measure(args, folder)
            print(scaling_table(speeds))
            print(signature(args))
            print()
            alone = speeds[args.processes[0]]
            parameters = parameters or alone[0].parameters
            step = step or 1 / median(one.updates for one in alone)
    print(paper_table(parameters, step, args.bandwidth))
    return 0


if __name__ == "__main__":
    run_cli(main)
