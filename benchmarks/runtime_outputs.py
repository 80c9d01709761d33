"""Does lev_runtime give the package's outputs? Of a trained LevT, on lines of text.

    python benchmarks/runtime_outputs.py CHECKPOINT --source test.en --draft test.es --old test.old

Exports the checkpoint, decodes the same lines by both, in single precision and in 8 bits, and
counts texts that are equal: the runtime's to the package's, and of 8 bits to single precision.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common

from lev_plugins import EditTrace, LevenshteinEditor
from lev_plugins.export.folder import editor_writer, write_folder
from lev_runtime import Editor
from lev_runtime.io.commands import run_cli

SIDES = {"source": "sources", "draft": "drafts", "old": "old_sources"}


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint")
    for name in SIDES:
        parser.add_argument(f"--{name}", type=Path, required=name == "source")
    parser.add_argument("--lines", type=int, default=500, help="of each file (default 500)")
    parser.add_argument("--batch", type=int, default=1, help="lines at a time (default 1)")
    return parser


def comparison(name: str, one: Sequence[EditTrace], other: Sequence[EditTrace]) -> str:
    """A line of figures."""
    texts = sum(a.text == b.text for a, b in zip(one, other, strict=True))
    iterations = sum(a.iterations == b.iterations for a, b in zip(one, other))
    apart = max((abs(a.score - b.score) for a, b in zip(one, other) if a.text == b.text), default=0)
    figures = f"{texts} texts, {iterations} with all iterations, of {len(one)}"
    return f"{name}: {figures} equal; scores of equal texts at most {apart:.1e} apart"


def main(argv: Sequence[str] | None = None) -> None:
    """Compare and print."""
    args = build_parser().parse_args(argv)
    lines: dict[str, Any] = {
        name: getattr(args, side).read_text("utf-8").splitlines()[: args.lines]
        for side, name in SIDES.items()
        if getattr(args, side)
    }
    given = {**lines, "batch_size": args.batch}
    traces = {}
    with common.quiet(), tempfile.TemporaryDirectory() as folder:
        single = LevenshteinEditor.from_pretrained(args.checkpoint)
        for precision in ("fp32", "int8"):
            out, int8 = Path(folder, precision), precision == "int8"
            write_folder(out, editor_writer(single, int8), int8)
            ours = LevenshteinEditor.from_pretrained(args.checkpoint, precision=precision)
            traces["package", precision] = ours.edit(**given)
            traces["runtime", precision] = Editor(out).edit(**given)
    package, runtime = traces["package", "fp32"], traces["runtime", "fp32"]
    print(comparison("runtime and package, fp32", runtime, package))
    for name in ("package", "runtime"):
        print(comparison(f"{name}, int8 and fp32", traces[name, "int8"], traces[name, "fp32"]))
    print(f"changed lines: {sum(a.text != a.draft for a in package)}; {common.processor()}")


if __name__ == "__main__":
    run_cli(main)
