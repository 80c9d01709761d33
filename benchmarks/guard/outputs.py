"""Records what a tree's commands answer with fixed checkpoints, and compares two records.

    python benchmarks/guard/outputs.py record --models .guard/models --into new.json
    python benchmarks/guard/outputs.py compare base.json new.json

Commands and trainings are those of cases.toml.
"""

import argparse
import hashlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from trees import ROOT, TABLE, Tree

#: of the log of a training: how fast it was
_SPEED = re.compile(r"((train|valid)_)?(wp[sb]|ups|bsz|(train_)?wall|gb_free)")
_NUMBER = re.compile(r"-?\b\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)|\bhash=\w+")
_EDIT = ("line", "offset", "length", "before", "after", "probability", "applied")


def hypotheses(printed: str) -> list[str]:
    """fairseq's lines of sentences, in the order of the sentences, and the score of all."""
    lines = re.findall(r"^[STHDPIECA]-\d+.*$", printed, re.M)
    lines.sort(key=lambda line: int(re.split(r"[-_\t]", line)[1]))
    return lines + re.findall(r"Generate .*?(?= \(|$)", printed, re.M)


def logged(printed: str) -> list[str]:
    """Losses and metrics of a training's epochs and validations."""
    lines = []
    for name, log in re.findall(r"\| (train(?:_inner)?|valid) \| (\{.*\})", printed):
        pairs = sorted(json.loads(log).items())
        lines.append(" ".join([name, *(f"{k}={v}" for k, v in pairs if not _SPEED.fullmatch(k))]))
    return lines


def parameters(path: str) -> list[str]:
    """A hash and some values of each; the tree in PYTHONPATH says what torch may read."""
    import torch

    import lev_plugins  # noqa: F401

    lines = []
    for name, tensor in sorted(torch.load(path, weights_only=True)["model"].items()):
        values = tensor.flatten()[:: tensor.numel() // 40 + 1].tolist()
        digest = hashlib.sha256(tensor.contiguous().numpy().tobytes()).hexdigest()[:16]
        lines.append(f"{name} {tuple(tensor.shape)} hash={digest} {' '.join(map(str, values))}")
    return lines


def asked(run: Tree, name: str) -> list[str]:
    """What a command answers: lines of sentences, or records, or lines and their edits."""
    with tempfile.TemporaryDirectory() as folder:
        out, command = Path(folder, "edits.jsonl"), TABLE["ask"][name]
        printed = run(command, out=out)
        edits = out.read_text("utf-8").splitlines() if out.exists() else []
    lines = printed.split("\n")[:-1] if "\nH-" not in printed else hypotheses(printed)
    return lines + [str([json.loads(edit)[key] for key in _EDIT]) for edit in edits]


def trained(run: Tree, name: str) -> list[str]:
    """A training of ten updates, stopped within its first epoch, and resumed to twenty."""
    lines = []
    with tempfile.TemporaryDirectory() as save:
        for updates in (10, 20):
            lines += logged(run.train(name, save, f"--batch-size 24 --max-update {updates}"))
            printed = run(f"python {__file__} parameters {save}/checkpoint_last.pt")
            lines += printed.splitlines()
    return lines


def record(run: Tree, only: str, into: Path) -> None:
    """Writes the lines of every case whose name holds ``only``; the others stay as they are."""
    answers = json.loads(into.read_text("utf-8")) if into.exists() and only else {}
    jobs = [(name, asked, name) for name in TABLE["ask"]]
    ours = [name for name in TABLE["train"] if name not in ("stock", "transformer")]
    jobs += [(f"trained and resumed, {name}", trained, name) for name in ours]
    for title, job, name in jobs:
        if only not in title:
            continue
        began = time.monotonic()
        try:
            answers[title] = job(run, name)
        except RuntimeError as error:
            answers[title] = [f"failed: {error}"]
        into.write_text(json.dumps(answers, indent=0), "utf-8")
        print(f"{title}: {len(answers[title])} lines, {time.monotonic() - began:.0f} s", flush=True)


def compare(before: Sequence[str], after: Sequence[str], tolerance: float = 2e-4) -> str:
    """``equal``, ``close`` (the same words, like numbers) or ``different``, and by how much.

    Numbers are compared relatively, those below 1 absolutely.
    """
    for lines in (after, before):
        if not lines or lines[0].startswith("failed: "):
            return f"different: {lines[0] if lines else 'no answer'}"
    if before == after:
        return f"equal to the last digit, {len(before)} lines"
    if len(before) != len(after):
        return f"different: {len(before)} lines, {len(after)} lines"
    pairs, worst, words = [(a, b) for a, b in zip(before, after, strict=True) if a != b], 0.0, []
    for pair in pairs:
        if _NUMBER.sub("", pair[0]) != _NUMBER.sub("", pair[1]):
            words.append(pair)
            continue
        numbers = zip(*map(_NUMBER.findall, pair), strict=True)
        both = [(float(a), float(b)) for a, b in numbers if not a.startswith("hash")]
        worst = max([worst, *(abs(a - b) / max(1, abs(a), abs(b)) for a, b in both)])
    summary = f"{len(pairs)} of {len(before)} lines, {len(words)} in words, numbers by {worst:.1e}"
    if not words and worst <= tolerance:
        return f"close: {summary}"
    first = (words or pairs)[0]
    return f"different: {summary}\n  - {first[0][:200]}\n  + {first[1][:200]}"


def main(argv: Sequence[str] | None = None) -> int:
    """Record or compare; 1 where something differs by more than rounding."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_subparsers(dest="command", required=True).add_parser
    recording, comparing = add("record"), add("compare")
    add("parameters", help="of a checkpoint").add_argument("path")
    recording.add_argument("--tree", type=Path, default=ROOT, help="whose code (default: this)")
    recording.add_argument("--models", type=Path, required=True, help="of checkpoints.py")
    recording.add_argument("--into", type=Path, required=True, metavar="FILE")
    recording.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds it")
    comparing.add_argument("records", type=Path, nargs=2)
    comparing.add_argument("--tolerance", type=float, default=2e-4)
    args = parser.parse_args(argv)
    if args.command == "parameters":
        print(*parameters(args.path), sep="\n")
    elif args.command == "record":
        record(Tree(args.tree, args.models), args.only, args.into)
    if args.command != "compare":
        return 0
    before, after = (json.loads(path.read_text("utf-8")) for path in args.records)
    verdicts = {name: compare(before[name], after.get(name, []), args.tolerance) for name in before}
    print(*(f"{name}: {verdict}" for name, verdict in verdicts.items()), sep="\n")
    return int(any(verdict.startswith("different") for verdict in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
