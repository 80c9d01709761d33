"""Scores translators of noisy text; evaluate_translation.sh calls it.

WORK is the folder of examples/translation/prepare.sh and of translate.sh. The test set's sources
are translated as they are, with each kind of noise, and also as symspellpy (--lexicon) or a model
(--corrector) corrects them.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypeVar

import sacrebleu
from evaluate import CHECKPOINT, answer, search, symspell_with
from prepare import KINDS

from lev_plugins.cli import noise
from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.text_files import read_lines

LineChange = Callable[[list[str]], list[str]]
Name = TypeVar("Name", str, tuple[str, str])


def main(argv: Sequence[str] | None = None) -> None:
    """Noise, translations, scores, a table."""
    args = _arguments(argv)
    trained = args.work / "translate"
    systems = args.systems or sorted(path.parent.name for path in trained.glob(f"*/{CHECKPOINT}"))
    if not systems:
        raise UserError(f"{trained}: nothing is trained; examples/denoising/translate.sh does it")
    for system in systems:
        if not (trained / system / CHECKPOINT).is_file():
            raise UserError(f"--systems {system}: there is no {trained / system / CHECKPOINT}")
    output = trained / "output"
    output.mkdir(exist_ok=True)
    text = args.work / "text"
    sets = noisy_sets(text, args.source, output)
    texts = {("", name): lines for name, lines in sets.items()}
    for first, correct in correctors(args).items():
        texts |= {(first, name): lines for name, lines in at_once(correct, sets).items()}
    for (first, name), lines in texts.items():
        _write(output / f"{joined(name, first)}.source", lines)
    wanted = list(read_lines(str(text / f"test.{args.target}")))
    scores: dict[str, dict[str, float]] = {}
    for system in systems:
        print(f"translating by {system} …", file=sys.stderr, flush=True)
        found = at_once(translator(args, trained / system / CHECKPOINT), texts)
        for (first, name), lines in found.items():
            _write(output / f"{joined(system, first)}.{name}", lines)
            score = sacrebleu.corpus_bleu(lines, [wanted]).score
            scores.setdefault(joined(system, first), {})[name] = score
    for row in scores.values():
        row["noisy"] = fmean(row[kind] for kind in KINDS)
    saved = json.dumps({"systems": scores}, indent=1) + "\n"
    for path in filter(None, (output / "scores.json", args.json)):
        path.write_text(saved, encoding="utf-8")
    print(rendered(scores))


def joined(name: str, first: str) -> str:
    """The name of a system or set, and of what corrected the source first, if anything did."""
    return f"{name}+{first}" if first else name


def noisy_sets(text: Path, language: str, output: Path) -> dict[str, list[str]]:
    """The test set's lines as they are, and with each kind of noise; by name."""
    clean = text / f"test.{language}"
    sets = {"clean": list(read_lines(str(clean)))}
    for kind in KINDS:
        path = output / f"{kind}.source"
        noise.main(["--kind", kind, "--seed", "1", "--input", str(clean), "--output", str(path)])
        sets[kind] = list(read_lines(str(path)))
    return sets


def correctors(args: argparse.Namespace) -> dict[str, LineChange]:
    """What corrects the source before it is translated, by name."""
    found: dict[str, LineChange] = {}
    if args.lexicon:
        found["symspellpy"] = symspell_with(args.lexicon)
    if args.corrector:
        command = ["lev_plugins", "correct", "--path", str(args.corrector)]
        found["corrector"] = lambda lines: answer(command, lines)[:-1]
    return found


def at_once(change: LineChange, texts: Mapping[Name, Sequence[str]]) -> dict[Name, list[str]]:
    """All texts after one call with their lines; an empty line stays empty."""
    lines = [line for some in texts.values() for line in some]
    changed = iter(change([line for line in lines if line.strip()]))
    found = iter([next(changed) if line.strip() else "" for line in lines])
    return {name: [next(found) for _ in some] for name, some in texts.items()}


def translator(args: argparse.Namespace, checkpoint: Path) -> LineChange:
    """Translates lines by beam search."""
    flags = ["--source-lang", args.source, "--target-lang", args.target, "--beam", str(args.beam)]
    flags += ["--max-len-a", "2"]
    flags += ["--bpe", "sentencepiece", "--sentencepiece-model", str(args.work / "spm.model")]
    return lambda lines: search(checkpoint.parents[1] / "data", checkpoint, lines, flags)


def rendered(scores: Mapping[str, Mapping[str, float]]) -> str:
    """A table in Markdown."""
    columns = list(next(iter(scores.values())))
    lines = ["| BLEU | " + " | ".join(columns) + " |", "|" + "---|" * (1 + len(columns))]
    for system, row in scores.items():
        lines.append(f"| {system} | " + " | ".join(f"{row[one]:.2f}" for one in columns) + " |")
    return "\n".join(lines)


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of prepare.sh and translate.sh")
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-lang",
            dest=side,
            required=True,
            help="ending of the text files (evaluate_translation.sh knows it)",
        )
    parser.add_argument("--systems", nargs="+", help="folders in WORK/translate (default: all)")
    parser.add_argument(
        "--lexicon",
        type=Path,
        help="words, one a line, maybe with counts: each system also reads what symspellpy (pip "
        "install symspellpy) with them makes of the source",
    )
    parser.add_argument(
        "--corrector",
        type=Path,
        help="a checkpoint, tuned by `correct --tune`: each system also reads what `correct` makes "
        "of the source with it",
    )
    parser.add_argument("--beam", type=int, default=4, help="width of the search (default 4)")
    parser.add_argument("--json", type=Path, help="FILE: also the scores there")
    args = parser.parse_args(argv)
    if args.beam < 1:
        raise UserError(f"--beam {args.beam}: give a number of 1 or more")
    return args


if __name__ == "__main__":
    run_cli(main)
