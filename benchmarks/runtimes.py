"""Exported models on one text: how long, and how well.

    python benchmarks/runtimes.py SOURCE REFERENCE FOLDER … --peer FOLDER CONVERTED
    python benchmarks/runtimes.py SOURCE REFERENCE LEVT --iterations 10
    python benchmarks/runtimes.py NOISY CLEAN PBD --guided --metrics cer,word_accuracy

FOLDERs are of lev-export, in fp32 or int8. A LevT edits; --iterations asks it for one to so many
iterations at most. Others write greedily and with a beam of 5; with --guided also greedily with
their source as the draft. CONVERTED is the model of FOLDER in CTranslate2:

    ct2-fairseq-converter --model_path CHECKPOINT --data_dir DATA --user_dir lev_plugins \\
        --quantization int8 --output_dir CONVERTED

From text to text, in turn and in changing order, with the figures of deployed.py.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from deployed import BEAMS, LONGEST, Output, Systems, add_options, report, translate

from lev_plugins.metrics.corpus import add_up, make_metric
from lev_runtime import Editor, Generator, load
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_parallel

GUIDED = {"beam": 1, "draft_guided": True}
Rows = Sequence[tuple[str, str]]  #: sources and references


def edited(editor: Editor, max_iter: int | None, rows: Rows) -> list[Output]:
    """Returns texts and iterations of a LevT."""
    sources = [source for source, _ in rows]
    traces = editor.edit(sources, max_iter=max_iter, batch_size=len(rows), history=False)
    return [(trace.text, trace.steps) for trace in traces]


def written(generator: Generator, search: dict[str, Any], rows: Rows) -> list[Output]:
    """Returns texts and tokens of a model that writes from left to right."""
    sources = [source for source, _ in rows]
    size = {"batch_size": len(rows), "max_len_b": LONGEST}
    texts = [best.text for best in generator.generate(sources, **search, **size)]
    return [(text, len(generator.codec.encode(text).split()) + 1) for text in texts]


def translated(translator: Any, beam: int, codec: Any, rows: Rows) -> list[Output]:
    """Returns the same of CTranslate2, which adds </s> itself."""
    texts = [codec.encode(source).split() for source, _ in rows]
    return translate(translator, beam, codec, texts)


def systems_of(args: argparse.Namespace) -> Systems:
    """Returns all that is measured."""
    systems: Systems = {}
    for folder in args.folders:
        model = load(folder, args.threads)
        if isinstance(model, Editor):
            for most in range(1, args.iterations + 1) if args.iterations else [None]:
                name = f"{folder.name}, max_iter {most or model.max_iter}"
                systems[name] = partial(edited, model, most), folder
            continue
        searches: dict[str, Any] = {name: {"beam": beam} for name, beam in BEAMS.items()}
        if args.guided:
            searches["guided"] = GUIDED
        for name, search in searches.items():
            systems[f"{folder.name}, {name}"] = partial(written, model, search), folder
    for folder, converted in args.peer:
        from ctranslate2 import Translator

        translator = Translator(str(converted), intra_threads=args.threads)
        codec = Generator(folder).codec
        for name, beam in BEAMS.items():
            system = partial(translated, translator, beam, codec), converted
            systems[f"{converted.name} in CTranslate2, {name}"] = system
    return systems


def rated(metrics: Sequence[str], rows: Rows, texts: Sequence[str]) -> dict[str, float]:
    """Returns scores by name."""
    scores = {}
    for metric in map(make_metric, metrics):
        sums = add_up(metric, (metric.statistics(text, row[1]) for text, row in zip(texts, rows)))
        scores[metric.name] = metric.score(sums)
    return scores


def main(argv: Sequence[str] | None = None) -> None:
    """Measures, and prints a line for each system."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    for name in ("source", "reference"):
        add(name, metavar=name.upper())
    add("folders", type=Path, nargs="+", metavar="FOLDER")
    pair = {"type": Path, "nargs": 2, "metavar": ("FOLDER", "CONVERTED")}
    add("--peer", **pair, action="append", default=[], help="a model in CTranslate2")
    add("--iterations", type=int, help="of a LevT, 1 to so many (default: its own)")
    add("--guided", action="store_true", help="also read ahead in the source")
    names = {"type": lambda text: text.split(","), "default": ["bleu", "ter"]}
    add("--metrics", **names, help="of lev-report, with commas between (default: bleu,ter)")
    add_options(add)
    args = parser.parse_args(argv)
    rows = [*read_parallel([args.source, args.reference])][: args.sentences]
    report(args, systems_of(args), rows, partial(rated, args.metrics))


if __name__ == "__main__":
    run_cli(main)
