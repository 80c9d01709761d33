"""Records what a tree's commands answer with fixed models, and compares two records.

    python benchmarks/guard/guard.py make .guard/models --tree ../base --quickstart .quickstart
    python benchmarks/guard/guard.py record .guard/models new.json
    python benchmarks/guard/guard.py compare base.json new.json

Trainings and commands are those of cases.toml; the corrector is that of a quickstart.
"""

import argparse
import hashlib
import json
import random
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))
#: of the log of a training: how fast it was
_SPEED = re.compile(r"((train|valid)_)?(wp[sb]|ups|bsz|(train_)?wall|gb_free)")
_NUMBER = re.compile(r"-?\b\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)|\bhash=\w+")
_EDIT = ("line", "offset", "length", "before", "after", "probability", "applied")
_FILES = "--trainpref train --validpref valid --testpref test --destdir bin --joined-dictionary"
_KINDS = ("classification", "regression", "multilabel", "tagging")

sys.path[:0] = [str(ROOT / "tests" / "commands"), str(ROOT / "tests")]


class Tree:
    """Runs commands with the code of a checkout; fairseq is in memory already (warm.py)."""

    def __init__(self, code: Path, models: Path) -> None:
        import conftest

        conftest.TIMEOUT = 3600
        self.code, self.models = code.resolve(), models.resolve()
        self.folder = tempfile.TemporaryDirectory()
        self.commands = conftest.Commands(Path(self.folder.name))

    def __call__(self, command: str, folder: str = ".", out: Path | None = None) -> str:
        """Returns what it prints to standard output; ``folder``: of the models, in which it runs.

        Raises:
            RuntimeError: it failed.
        """
        while "$" in command:
            words = {"tree": str(self.code), "out": str(out)}
            command = Template(command).substitute(TABLE["words"], **words)
        command, _, typed = command.partition(" < ")
        stdin = (self.models / typed).read_bytes() if typed else b""
        environ = {"PYTHONPATH": str(self.code)}
        done = self.commands(command, self.models / folder, stdin=stdin, environ=environ)
        if done.code:
            raise RuntimeError(f"status {done.code}: {(done.err or done.out).strip()[-300:]}")
        return done.out

    def train(self, name: str, save: str, more: str) -> str:
        """Returns the log of a training, from the checkpoint in ``save`` on if there is one."""
        return self(f"fairseq-train {TABLE['train'][name]} $train --save-dir {save} {more}")


# ---------------------------------------------------------------- fixed models


def write_texts(models: Path) -> None:
    """Writes triples, clean and typed text, and labelled letters: those of the tests."""
    from conftest import write_corpus, write_fruit
    from enct5_corpus import write_corpus as write_labels
    from plain_files import put, read

    draw = random.Random(7)
    write_corpus(models / "text")
    sources, drafts = (read(models / f"text/test.{side}") for side in ("src", "mt"))
    put(models / "typed.txt", map("\t".join, zip(sources, drafts)))
    marks = ("{}", "{}", "{}", "[={}=]", "[-{}-]", "[+{}+]")
    marked = [[draw.choice(marks).format(word) for word in draft.split()] for draft in drafts]
    put(models / "marked.txt", map("\t".join, zip(sources, map(" ".join, marked))))
    put(models / "joined.txt", [draft.replace(" ", "") for draft in drafts])
    (models / "noisy").mkdir()
    write_fruit(models / "noisy", train=320, valid=24, test=40)
    clean = read(models / "noisy/test.clean")
    put(models / "noisy/typed.txt", [line.replace("e", "a", 1) + "  fig" for line in clean])
    for kind in _KINDS:
        (models / "enct5" / kind).mkdir(parents=True)
        write_labels(models / "enct5" / kind, kind)
    rows = read(models / "enct5/tagging/valid1.tsv")
    put(models / "enct5/test.txt", [row.partition("\t")[2] for row in rows])


def make(run: Tree, quickstart: Path | None) -> None:
    """Makes texts, data and checkpoints; with a quickstart's folder the corrector, too."""
    write_texts(run.models)
    if quickstart:
        corrector = run.models / "corrector"
        names = ("test", "test-listed", "people", "test-unknown")
        texts = [(quickstart / f"text/{name}.noisy").read_text("utf-8") for name in names]
        lines = "".join(texts).splitlines(keepends=True)[:4000]
        shutil.copytree(quickstart / "model", corrector)
        (corrector / "lines.txt").write_text("".join(lines), "utf-8")
        (corrector / "some.txt").write_text("".join(lines[::13]), "utf-8")
    run(f"python -m lev_plugins preprocess $pairs --draft-lang mt {_FILES}", "text")
    for kind in _KINDS:
        command = f"enct5_prepare --kind {kind} --bytes --train train.tsv --valid valid.tsv"
        run(f"python -m lev_plugins {command} --destdir bin", f"enct5/{kind}")
    for name in TABLE["train"]:
        with tempfile.TemporaryDirectory() as save:
            run.train(name, save, "--batch-size 32 --validate-interval 9")
            shutil.copyfile(Path(save, "checkpoint_last.pt"), run.models / f"{name}.pt")
        print(f"{name}.pt", flush=True)


# ---------------------------------------------------------------- records


def hypotheses(printed: str) -> list[str]:
    """Returns fairseq's lines in the order of the sentences, and the score of all."""
    lines = re.findall(r"^[STHDPIECA]-\d+.*$", printed, re.M)
    lines.sort(key=lambda line: int(re.split(r"[-_\t]", line)[1]))
    return lines + re.findall(r"Generate .*?(?= \(|$)", printed, re.M)


def logged(printed: str) -> list[str]:
    """Returns losses and metrics of a training's epochs and validations."""
    lines = []
    for name, log in re.findall(r"\| (train(?:_inner)?|valid) \| (\{.*\})", printed):
        pairs = sorted(json.loads(log).items())
        lines.append(" ".join([name, *(f"{k}={v}" for k, v in pairs if not _SPEED.fullmatch(k))]))
    return lines


def parameters(path: str) -> list[str]:
    """Returns a hash and some values of each."""
    import torch
    from fairseq import checkpoint_utils

    lines = []
    for name, tensor in sorted(checkpoint_utils.load_checkpoint_to_cpu(path)["model"].items()):
        values = tensor.flatten()[:: tensor.numel() // 40 + 1].tolist()
        digest = hashlib.sha256(tensor.contiguous().view(torch.uint8).numpy()).hexdigest()[:16]
        lines.append(f"{name} {tuple(tensor.shape)} hash={digest} {' '.join(map(str, values))}")
    return lines


def asked(run: Tree, name: str) -> list[str]:
    """Returns what a command answers: lines of sentences, or records, or lines and their edits."""
    with tempfile.TemporaryDirectory() as folder:
        out, command = Path(folder, "edits.jsonl"), TABLE["ask"][name]
        printed = run(command, out=out)
        edits = out.read_text("utf-8").splitlines() if out.exists() else []
    lines = printed.split("\n")[:-1] if "\nH-" not in printed else hypotheses(printed)
    return lines + [str([json.loads(edit)[key] for key in _EDIT]) for edit in edits]


def trained(run: Tree, name: str) -> list[str]:
    """Returns logs and parameters of a training of ten updates, and of it resumed to twenty."""
    lines = []
    with tempfile.TemporaryDirectory() as save:
        for updates in (10, 20):
            lines += logged(run.train(name, save, f"--batch-size 24 --max-update {updates}"))
            lines += parameters(f"{save}/checkpoint_last.pt")
    return lines


def record(run: Tree, only: str, into: Path) -> None:
    """Writes the lines of every case whose name holds ``only``; the others stay as they are."""
    answers = json.loads(into.read_text("utf-8")) if into.exists() and only else {}
    jobs = {name: (asked, name) for name in TABLE["ask"]}
    ours = [name for name in TABLE["train"] if name not in ("stock", "transformer")]
    jobs |= {f"trained and resumed, {name}": (trained, name) for name in ours}
    for title, (job, name) in jobs.items():
        if only in title:
            began = time.monotonic()
            try:
                answers[title] = job(run, name)
            except RuntimeError as error:
                answers[title] = [f"failed: {error}"]
            into.write_text(json.dumps(answers, indent=0), "utf-8")
            seconds = time.monotonic() - began
            print(f"{title}: {len(answers[title])} lines, {seconds:.0f} s", flush=True)


def compare(before: Sequence[str], after: Sequence[str], tolerance: float = 2e-4) -> str:
    """Returns ``equal``, ``close`` (the same words, like numbers) or ``different``, by how much.

    Numbers are compared relatively, those below 1 absolutely.
    """
    for lines in (after, before):
        if not lines or lines[0].startswith("failed: "):
            return f"different: {lines[0] if lines else 'no answer'}"
    if before == after:
        return f"equal to the last digit, {len(before)} lines"
    if len(before) != len(after):
        return f"different: {len(before)} lines, {len(after)} lines"
    pairs, worst = [(a, b) for a, b in zip(before, after, strict=True) if a != b], 0.0
    words = [pair for pair in pairs if len({_NUMBER.sub("", line) for line in pair}) > 1]
    for pair in pairs:
        for a, b in () if pair in words else zip(*map(_NUMBER.findall, pair), strict=True):
            if not a.startswith("hash"):
                difference = abs(float(a) - float(b))
                worst = max(worst, difference / max(1, abs(float(a)), abs(float(b))))
    summary = f"{len(pairs)} of {len(before)} lines, {len(words)} in words, numbers by {worst:.1e}"
    if not words and worst <= tolerance:
        return f"close: {summary}"
    first = (words or pairs)[0]
    return f"different: {summary}\n  - {first[0][:200]}\n  + {first[1][:200]}"


def main() -> int:
    """Makes models, records or compares; returns 1 if something differs by more than rounding."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("action", choices=("make", "record", "compare"))
    add("paths", nargs="+", type=Path, help="models, models and a record, or two records")
    add("--tree", type=Path, default=ROOT, help="whose code (default: this)")
    add("--quickstart", type=Path, help="make: its --work; without: no corrector")
    add("--only", default="", metavar="TEXT", help="record: cases whose name holds it")
    add("--tolerance", type=float, default=2e-4, help="compare (default: 0.0002)")
    args = parser.parse_args()
    first, *rest = args.paths
    if args.action == "compare":
        old, new = (json.loads(path.read_text("utf-8")) for path in args.paths)
        verdicts = {name: compare(old[name], new.get(name, []), args.tolerance) for name in old}
        print(*(f"{name}: {verdict}" for name, verdict in verdicts.items()), sep="\n")
        return int(any(verdict.startswith("different") for verdict in verdicts.values()))
    run = Tree(args.tree, first)
    if args.action == "make":
        first.mkdir(parents=True)
        make(run, args.quickstart)
    else:
        record(run, args.only, *rest)
    run.commands.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
