"""Many sentences through one process: is memory flat, is the pace steady, is the order kept?

    python benchmarks/load.py --sentences 100000 --system levenshtein --interface generate,python

Prepares a small task in a temporary folder, trains a tiny model for it, sends that many sentences
through every interface asked for, each in a process of its own, and prints a table: the memory of
the process (RSS) when a tenth of the answers had come and at the end, by how much of its own it has
grown (without the data files, which it maps into memory as it reads on), the sentences a second in
the second tenth and in the last, and whether the answers came in order. All sentences are of the
same length, so that no part of the work is harder than another.

Order: fairseq's commands print source and answer by number, which have to belong together, each
number once (in order, for ``interactive``); of the others every answer of a sample has to be what
the sentence is answered alone.
"""

import argparse
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.machine import machine  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402

DIGITS = "zero one two three four five six seven eight nine".split()
LENGTH = 8  # words of a sentence, which spell its number
SAMPLE = 40
CHUNK = 1024  # sentences in one call of the Python interface
SIZES = (
    "--encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-layers 1 "
    "--encoder-attention-heads 2"
)
DECODER = "--decoder-embed-dim 32 --decoder-ffn-embed-dim 64 --decoder-layers 1"
LIKELIHOOD = "--task translation --criterion label_smoothed_cross_entropy"
TRAINING = (
    "--optimizer adam --lr 0.01 --clip-norm 1 --batch-size 32 --num-workers 0 --cpu "
    "--no-epoch-checkpoints --disable-validation --dropout 0 --log-format none --save-dir trained"
)


@dataclass(frozen=True)
class System:
    """train: the task and the model. decode: flags of decoding. interfaces: what it has."""

    train: str
    decode: str = ""
    interfaces: tuple[str, ...] = ("generate", "interactive", "correct", "python")

    @property
    def task(self) -> str:
        return self.train.split()[1]


SYSTEMS = {
    "levenshtein": System(
        "--task translation_edit --draft-lang mt --criterion edit_policy_loss --arch "
        f"levenshtein_editor_char {SIZES} {DECODER} --decoder-attention-heads 2 "
        "--max-insertions 15 --share-all-embeddings",
        "--iter-decode-max-iter 5",
    ),
    "gated": System(
        f"{LIKELIHOOD} --arch gated_transformer_char {SIZES} --decoder-layers 1 "
        "--share-all-embeddings --gates mask,copy,generate",
        "--beam 1 --max-len-b 20",
    ),
    "pbd": System(
        f"{LIKELIHOOD} --arch pbd_transformer_char {SIZES}",
        "--beam 1 --max-len-b 20",
        ("generate", "interactive"),
    ),
    "enct5": System(
        f"--task enct5 --criterion enct5 --arch enct5 {SIZES} --attention-head-dim 16",
        interfaces=("predict", "python"),
    ),
}
INTERFACES = tuple(dict.fromkeys(one for system in SYSTEMS.values() for one in system.interfaces))


@dataclass(frozen=True)
class Memory:
    """Of a process, in MiB. whole: RSS. own: without the files that it has mapped."""

    whole: float = 0.0
    own: float = 0.0

    @classmethod
    def of(cls, pid: int) -> "Memory | None":
        """None where the process has ended."""
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return None
        sizes = dict(re.findall(r"^(VmRSS|RssAnon):\s+(\d+) kB", status, re.M))
        if len(sizes) < 2:
            return None
        return cls(int(sizes["VmRSS"]) / 1024, int(sizes["RssAnon"]) / 1024)


@dataclass
class Pace:
    """What was seen of a process while it answered.

    clock: seconds of the process with that number. marks: what it said when the first answer, and
    1, 2 … 10 tenths of them, had come. early, late: memory at the first tenth and at the end.
    """

    total: int
    clock: Callable[[int], float]
    marks: list[float] = field(default_factory=list)
    early: Memory = Memory()
    late: Memory = Memory()

    def watch(self, answers: Iterator[Any], pid: int) -> Iterator[Any]:
        """Passes answers on and takes notes."""
        often = max(self.total // 100, 1)
        for number, answer in enumerate(answers, start=1):
            if number == 1 or 10 * number >= len(self.marks) * self.total:
                self.marks.append(self.clock(pid))
            if number % often == 0:
                self.late = Memory.of(pid) or self.late
                if 10 * number <= self.total + 9 * often:
                    self.early = self.late
            yield answer

    def rate(self, tenth: int) -> float:
        """Sentences a second in the tenth 1, 2 … 10."""
        seconds = self.marks[tenth] - self.marks[tenth - 1]
        return self.total / 10 / seconds if seconds else math.inf


def computed(pid: int) -> float:
    """Seconds that a process has computed, in hundredths; no number where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


CLOCKS = {"wall": lambda pid: time.perf_counter(), "cpu": computed}


def sentence(number: int) -> str:
    return " ".join(DIGITS[int(digit)] for digit in f"{number:0{LENGTH}d}")


def draft(number: int) -> str:
    """The sentence with a word doubled or changed, or as it is."""
    words = sentence(number).split()
    place, what = number % LENGTH, number % 3
    if what == 1:
        words.insert(place, words[place])
    elif what == 2:
        words[place] = "noughts"[: 2 + place % 6]
    return " ".join(words)


# ---------------------------------------------------------------- the task and the model


def ran(words: Sequence[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def fairseq_command(command: str, task: str, flags: str) -> list[str]:
    """A fairseq command over the prepared data."""
    words = f"-m fairseq_cli.{command} bin --user-dir {ROOT / 'lev_plugins'} --task {task} {flags}"
    return [sys.executable, *words.split()]


def prepare(system: System, count: int, updates: int, seed: int, folder: Path) -> None:
    """Writes text, prepares it and trains.

    Args:
        count: sentences of the test set, whose numbers are 0, 1, 2 …
    """
    rng = random.Random(seed)
    splits = {
        "train": rng.sample(range(10**LENGTH), 512),
        "valid": rng.sample(range(10**LENGTH), 16),
        "test": range(count),
    }
    for split, numbers in splits.items():
        texts = {"src": draft, "tgt": sentence, "mt": draft}
        for side, text in texts.items():
            (folder / f"{split}.{side}").write_text("".join(f"{text(n)}\n" for n in numbers))
        labelled = (f"{'even' if n % 2 == 0 else 'odd'}\t{draft(n)}\n" for n in numbers)
        (folder / f"{split}.tsv").write_text("".join(labelled))
    if system.task == "enct5":
        more = "enct5-prepare --kind classification --bytes --train train.tsv --valid valid.tsv"
        words = f"-m lev_plugins {more} --destdir bin".split()
    else:
        more = "--source-lang src --target-lang tgt --draft-lang mt --joined-dictionary"
        splits_of = "--trainpref train --validpref valid --testpref test"
        words = f"-m lev_plugins preprocess {more} {splits_of} --destdir bin".split()
    ran([sys.executable, *words], folder)
    languages = "" if system.task == "enct5" else "--source-lang src --target-lang tgt"
    train = system.train.removeprefix(f"--task {system.task}")
    flags = f"{languages} {train} {TRAINING} --seed {seed} --max-update {updates}"
    ran(fairseq_command("train", system.task, flags), folder)


# ---------------------------------------------------------------- what answers


def load(name: str, folder: Path) -> Callable[[Sequence[str]], list[str]]:
    """Sentences → answers, through the Python interface."""
    import torch

    from lev_plugins import EncT5, LevenshteinEditor

    torch.set_num_threads(1)
    path = str(folder / "trained" / "checkpoint_last.pt")
    if name == "enct5":
        model = EncT5.from_pretrained(path)
        return lambda texts: [str(one.label) for one in model.predict(texts)]
    if name == "levenshtein":
        editor = LevenshteinEditor.from_pretrained(path, str(folder / "bin"))
        return lambda texts: [one.text for one in editor.edit(texts, texts, max_iter=5)]
    return load_corrector(path, folder)


def load_corrector(path: str, folder: Path) -> Callable[[Sequence[str]], list[str]]:
    from lev_plugins import Corrector

    corrector = Corrector.from_pretrained(path, str(folder / "bin"))
    return lambda texts: [one.text for one in corrector.correct(texts)]


def inside(name: str, folder: Path, count: int) -> None:
    """The process of the Python interface: an answer a line."""
    answer = load(name, folder)
    numbers = iter(range(count))
    while chunk := list(islice(numbers, CHUNK)):
        for text in answer([draft(number) for number in chunk]):
            print(text)
        sys.stdout.flush()


def command(name: str, interface: str, folder: Path, count: int) -> list[str]:
    """What is run."""
    system, path = SYSTEMS[name], "trained/checkpoint_last.pt"
    drafts = " --draft-lang mt" if name == "levenshtein" else ""
    decode = f"--path {path} --source-lang src --target-lang tgt --cpu {system.decode}"
    if interface == "generate":
        flags = f"{decode}{drafts} --batch-size 64 --no-progress-bar"
        return fairseq_command("generate", system.task, flags)
    if interface == "interactive":
        return fairseq_command(
            "interactive", system.task, f"{decode} --batch-size 64 --buffer-size 1024"
        )
    own = {
        "correct": f"-m lev_plugins correct --path {path} --data bin",
        "predict": f"-m lev_plugins predict --path {path} --format tsv",
        "python": f"{Path(__file__).resolve()} --inside {folder} --system {name} "
        f"--sentences {count}",
    }
    return [sys.executable, *own[interface].split()]


# ---------------------------------------------------------------- what came back


def numbered(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """The S- lines of fairseq's commands, where an answer of the same number follows."""
    source: tuple[int, str] | None = None
    for line in lines:
        head, _, text = line.partition("\t")
        if re.fullmatch("S-[0-9]+", head):
            source = int(head[2:]), text
        elif source and head == f"H-{source[0]}":
            yield source
            source = None


def numbers_in_order(interface: str, found: Sequence[tuple[int, str]], count: int) -> bool:
    """Whether each number is there once with its sentence; of ``interactive``, in order."""
    numbers = [number for number, _ in found]
    numbers = numbers if interface == "interactive" else sorted(numbers)
    return numbers == list(range(count)) and all(text == draft(n) for n, text in found)


def answers_in_order(
    found: Sequence[str], count: int, answer: Callable[[Sequence[str]], list[str]]
) -> bool:
    """Whether there are as many as sentences, and those of a sample are what each gets alone."""
    sample = random.Random(1).sample(range(count), min(SAMPLE, count))
    return len(found) == count and all(found[n] == answer([draft(n)])[0] for n in sample)


def measure(name: str, interface: str, folder: Path, count: int, clock: str) -> tuple[Pace, bool]:
    """One run, and whether its answers are in order."""
    pace = Pace(count, CLOCKS[clock])
    with (folder / "test.src").open("rb") as lines, (folder / "err").open("w+") as err:
        words = command(name, interface, folder, count)
        process = subprocess.Popen(
            words, cwd=folder, stdin=lines, stdout=subprocess.PIPE, stderr=err, encoding="utf-8"
        )
        assert process.stdout is not None
        read = (line.removesuffix("\n") for line in process.stdout)
        fairseqs = interface in ("generate", "interactive")
        found = list(pace.watch(numbered(read) if fairseqs else read, process.pid))
        if process.wait():
            err.seek(0)
            raise RuntimeError(f"{' '.join(words)}\n{err.read()[-2000:]}")
    if interface == "predict":
        found = [line.partition("\t")[0] for line in found]
    path = str(folder / "trained" / "checkpoint_last.pt")
    if fairseqs:
        return pace, numbers_in_order(interface, found, count)
    answer = load_corrector(path, folder) if interface == "correct" else load(name, folder)
    return pace, answers_in_order(found, count, answer)


# ---------------------------------------------------------------- options and the table


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Memory, pace and order over many sentences.")
    add = parser.add_argument
    add("--sentences", type=int, default=100_000, metavar="N", help="default: %(default)s")
    add("--system", default="levenshtein", help=f"of {', '.join(SYSTEMS)}; comma separated")
    add("--interface", help=f"of {', '.join(INTERFACES)}; comma separated (default: all it has)")
    add("--updates", type=int, default=150, metavar="N", help="of training (default: %(default)s)")
    add("--seed", type=int, default=1, help="of training (default: %(default)s)")
    add(
        "--clock",
        choices=tuple(CLOCKS),
        default="wall",
        help="cpu counts what the process computes, for a machine that others use meanwhile",
    )
    add("--inside", metavar="DIR", help=argparse.SUPPRESS)
    return parser


def wanted(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Systems and interfaces.

    Raises:
        UserError: one that is not known, too few sentences, no /proc.
    """
    for name in ("sentences", "updates"):
        least = 100 if name == "sentences" else 1
        if not least <= getattr(args, name) <= 10**LENGTH:
            raise UserError(f"--{name} {getattr(args, name)}: {least} to {10**LENGTH}")
    if Memory.of(os.getpid()) is None:
        raise UserError("this system has no /proc/PID/status, from which the memory is read")
    found = []
    for name in args.system.split(","):
        if name not in SYSTEMS:
            raise UserError(f"--system {name}: choose of {', '.join(SYSTEMS)}")
        has = SYSTEMS[name].interfaces
        for interface in args.interface.split(",") if args.interface else has:
            if interface not in has:
                raise UserError(f"--interface {interface}: {name} has {', '.join(has)}")
            found.append((name, interface))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; 1 where an answer was not at its place."""
    args = build_parser().parse_args(argv)
    runs = wanted(args)
    if args.inside:
        inside(args.system, Path(args.inside), args.sentences)
        return 0
    row = "{:<12}{:<12}{:>10}{:>10}{:>10}{:>9}{:>12}{:>12}  {}"
    heads = ("system", "interface", "sentences", "RSS 10 %", "RSS end", "growth")
    print(row.format(*heads, "/s 2nd 10th", "/s last", "order kept"), flush=True)
    kept = True
    for name in dict.fromkeys(name for name, _ in runs):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            prepare(SYSTEMS[name], args.sentences, args.updates, args.seed, folder)
            for interface in (interface for one, interface in runs if one == name):
                pace, right = measure(name, interface, folder, args.sentences, args.clock)
                own = pace.late.own - pace.early.own
                sizes = (pace.early.whole, pace.late.whole, own)
                shown = [f"{size:.1f}" for size in sizes]
                rates = [f"{pace.rate(tenth):.0f}" for tenth in (2, 10)]
                answer = "yes" if right else "no"
                values = (name, interface, args.sentences, *shown, *rates, answer)
                print(row.format(*values), flush=True)
                kept = kept and right
    print(f"RSS, and growth without mapped files, in MiB; {args.clock} clock; seed {args.seed}")
    print(f"cpu:{machine('cpu')}")
    return 0 if kept else 1


if __name__ == "__main__":
    run_cli(main)
