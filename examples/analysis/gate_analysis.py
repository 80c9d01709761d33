"""Relate gates to noise, length and success: the result analysis of the gated-Trans paper (§5).

    python examples/analysis/gate_analysis.py gates.jsonl --reference clean.txt --png analysis.png

The JSONL is that of ``lev-trace --json``. A table goes to stdout; ``--json FILE``
writes all numbers (the keys of :func:`.figures.compute`), ``--csv FILE`` one line of numbers for
each line of text. With several files (tasks, say) they are compared as in Figure 2c.

It is a command of its own because it needs no model, and has no option in common with the one
that does.
"""

import argparse
import csv
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from gate_figures import System, compute, read_system
from gate_plots import draw
from plotting import require_matplotlib

from lev_plugins.errors import UserError, counted
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.output import printable, standard_output, whole_file
from lev_plugins.reports.gates import GATES

COLUMNS = ("file", "line", "length", "noise", "wrr", *GATES)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    _check(args)
    with ExitStack() as stack:
        # Opened first: a folder that cannot be written is told before anything is computed.
        outputs = {
            kind: stack.enter_context(whole_file(path))
            for kind in ("json", "csv", "png")
            if (path := getattr(args, kind)) is not None
        }
        names = _names(args.records)
        references = args.reference or [None] * len(args.records)
        clean = args.clean or references
        systems = [
            read_system(path, name, reference, right)
            for path, name, reference, right in zip(args.records, names, references, clean)
        ]
        figures = compute(systems, args.classes)
        if "json" in outputs:
            json.dump(figures, outputs["json"], ensure_ascii=True, allow_nan=False, indent=1)
            outputs["json"].write("\n")
        if "csv" in outputs:
            write_csv(systems, outputs["csv"])
        if "png" in outputs:
            outputs["png"].buffer.write(draw(figures, args.title))
    standard_output().write(render_table(figures))


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description="Mean gate probabilities by noise and by length, and WRR of the output by gate "
        "probability.",
        epilog="example: %(prog)s gates.jsonl --reference clean.txt --png analysis.png",
    )
    add = parser.add_argument
    add("records", nargs="+", metavar="JSONL", help="what lev-trace --json wrote")
    add(
        "--reference",
        nargs="+",
        metavar="FILE",
        help="what the outputs should be, as text; one file for each JSONL",
    )
    add(
        "--clean",
        nargs="+",
        metavar="FILE",
        help="what the sources should be (default: as --reference); give it for translation",
    )
    add("--classes", type=int, default=5, metavar="N", help="most classes of lines (default: 5)")
    add("--json", metavar="FILE", help="write all numbers")
    add("--csv", metavar="FILE", help="write the numbers of each line: " + ", ".join(COLUMNS))
    add("--png", metavar="FILE", help="draw them; needs matplotlib")
    add("--title", metavar="TEXT", help="title of the picture")
    return parser


def _check(args: argparse.Namespace) -> None:
    if args.classes < 1:
        raise UserError(f"--classes {args.classes}: must be 1 or more")
    for flag in ("reference", "clean"):
        files = getattr(args, flag)
        if files is not None and len(files) != len(args.records):
            raise UserError(
                f"--{flag}: {len(files)} files for {len(args.records)} JSONL files; give one for "
                "each"
            )
    written = [path for path in (args.json, args.csv, args.png) if path is not None]
    if "" in written or "-" in written:
        raise UserError("--json, --csv and --png need the name of a file")
    read = [*args.records, *(args.reference or []), *(args.clean or [])]
    taken = [os.path.realpath(path) for path in written]
    for path in written:
        place = os.path.realpath(path)
        if taken.count(place) > 1 or place in {os.path.realpath(one) for one in read}:
            raise UserError(f"{path} would be written over: give each output a name of its own")
    if args.png is not None:
        require_matplotlib()


def _names(paths: Sequence[str]) -> list[str]:
    """As short as tells the files apart."""
    names = [os.path.basename(path).removesuffix(".jsonl") for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


# ---------------------------------------------------------------- what comes out


def write_csv(systems: Sequence[System], stream: Any) -> None:
    """One line for each line of text, under the names of :data:`COLUMNS`; empty: not known."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for system in systems:
        for one in system.points:
            numbers = (one.noise, one.wrr, *(one.gates[gate] for gate in GATES))
            cells = ("" if value is None else f"{value:.6f}" for value in numbers)
            writer.writerow([system.name, one.line, one.length, *cells])


def render_table(figures: dict[str, Any]) -> str:
    """The numbers as text, file by file."""
    parts = [f"{figures['reading']}: {figures['signature']}\n"]
    for system in figures["systems"]:
        parts.append(f"\n{printable(system['name'])}: {system['lines']} lines\n")
        for what, count in (("noise", "without_noise"), ("WRR", "without_wrr")):
            if system[count]:
                lines = counted(system[count], "line")
                parts.append(f"  {what} of {lines} is not known: no reference words\n")
        parts.append(_means(system))
        for title, key in (("noise of the source, %", "by_noise"), ("words", "by_length")):
            parts.append(_relation(system, title, key))
        parts.append(_recognition(system))
    return "".join(parts)


def _means(system: dict[str, Any]) -> str:
    cells = [f"{gate} {_number(system['means'][gate], 3)}" for gate in system["gates"]]
    cells += [f"noise {_number(system['noise_mean'], 1)}", f"WRR {_number(system['wrr_mean'], 1)}"]
    return f"  means: {', '.join(cells)}\n"


def _relation(system: dict[str, Any], title: str, key: str) -> str:
    found, gates = system[key], system["gates"]
    if not found["classes"]:
        return ""
    lines = [f"  {title:<24}{'lines':>7}" + "".join(f"{gate:>10}" for gate in gates)]
    for one in found["classes"]:
        span = f"{one['low']:.1f} - {one['high']:.1f}"
        cells = "".join(f"{_number(one[gate], 3):>10}" for gate in gates)
        lines.append(f"    {span:<22}{one['lines']:>7}{cells}")
    cells = "".join(f"{_number(found['correlation'][gate], 2, '+'):>10}" for gate in gates)
    lines.append(f"    {'correlation':<29}{cells}")
    return "\n".join(lines) + "\n"


def _recognition(system: dict[str, Any]) -> str:
    lines = []
    for gate in system["gates"]:
        found = system["wrr_by_gate"][gate]
        for one in found["classes"]:
            span = f"{one['low']:.3f} - {one['high']:.3f}"
            lines.append(f"    {gate:<10}{span:<16}{one['lines']:>7}{_number(one['wrr'], 1):>8}")
        if found["classes"]:
            shown = _number(found["correlation"], 2, "+")
            lines.append(f"    {gate:<10}{'correlation':<23}{shown:>8}")
    head = f"  {'WRR by gate':<28}{'lines':>7}{'WRR':>8}"
    return "\n".join([head, *lines]) + "\n" if lines else ""


def _number(value: float | None, digits: int, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.{digits}f}"


if __name__ == "__main__":
    run_cli(main)
