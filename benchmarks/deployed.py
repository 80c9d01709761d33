"""Updating fuzzy matches with trained models as they are deployed: how long, and how well.

    lev-export LEVT_WORK/model/checkpoint_best.pt LEVT_WORK/fp32
    python benchmarks/deployed.py LEVT_WORK CONCAT_WORK …

LevT by lev_runtime and transformer_concat by CTranslate2, from text to text, in turn and in
changing order: one test sentence at a time, and 32 of about one length. LEVT_WORK is of lev-memory
prepare, train and evaluate, whose threshold for deletions and iterations are taken. CONCAT_WORK is
a copy of what prepare made, with concat/checkpoint_best.pt of fuzzy_editor.sh. For the peer:
pip install -r benchmarks/requirements-peers.txt.

First the conversion, to CONCAT_WORK/ctranslate2.*, is checked: how many of its greedy outputs in
float32 equal fairseq's, for the sentences as fairseq-generate reads them. Milliseconds are of a
sentence and of the processor's time unless they are named wall. MB are of what is exported or
converted; LevT's has the subwords too.
"""

import argparse
import copy
import itertools
import json
import operator
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch

# isort: split
from fairseq import checkpoint_utils
from fairseq.sequence_generator import SequenceGenerator

from lev_memory.evaluate import part_of, scores
from lev_memory.prepare import Row
from lev_memory.proposals import Settings, settings_of
from lev_runtime import Editor
from lev_runtime.io.commands import run_cli
from lev_runtime.text.source_change import mark_change

KINDS = ("float32", "int8")  # as CTranslate2 names them
BEAMS = {"greedy": 1, "beam 5": 5}
LONGEST = 200  # tokens of an output: fairseq-generate's default
BATCHES = [1, 32]
FIGURES = "mean wall_mean median wall_median p95 wall_p95 steps equal mb".split()
LINE = (
    "{name}: {mean:.1f} ms (wall {wall_mean:.1f}), median {median:.1f} "
    "({wall_median:.1f}), 95 % below {p95:.1f} ({wall_p95:.1f}); {steps:.2f} iterations or tokens; "
    "{scores}; {equal} texts as the first system's; {mb:.1f} MB"
)

Output = tuple[str, int]  #: a text, and the iterations or tokens that it took
#: by their names what returns the outputs for rows, and the folder that is deployed
Systems = dict[str, tuple[Callable[[Sequence[Any]], list[Output]], Path]]


def edited(editor: Editor, settings: Settings, rows: Sequence[Row]) -> list[Output]:
    """Returns LevT's outputs for rows and their iterations."""
    traces = editor.edit(
        [row.new for row in rows],
        [row.draft for row in rows],
        old_sources=[row.old for row in rows],
        delete_threshold=settings.delete_threshold,
        max_iter=settings.max_iter,
        history=False,
    )
    return [(trace.text, trace.steps) for trace in traces]


# ---------------------------------------------------------------- transformer_concat


@torch.no_grad()
def convert(model: Any, symbols: Any, folder: Path, kind: str) -> None:
    """Writes a transformer_concat with relu as CTranslate2 reads it.

    Each token has a factor: in which part it stands, and where (:func:`factored`). The factor's
    embedding is what the model adds to the token's; CTranslate2 scales the sum of both.
    """
    from ctranslate2.converters import fairseq as converter
    from ctranslate2.specs import common_spec, transformer_spec

    model = copy.deepcopy(model)  # int8 is made in place
    encoder, decoder = model.encoder, model.decoder
    longest = encoder.max_positions()
    part = [symbols.unk()] * (longest - 1) + [symbols.eos()]
    added = encoder.embed_positions(torch.tensor([part * 2]))[0]
    nothing = torch.zeros(len(added) + 1, added.size(1))  # the first row is padding's
    encoder.embed_positions = torch.nn.Embedding.from_pretrained(nothing, padding_idx=0)
    spec = transformer_spec.TransformerSpec.from_config(
        (len(encoder.layers), len(decoder.layers)),
        decoder.cfg.decoder.attention_heads,
        pre_norm=decoder.cfg.decoder.normalize_before,
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )
    converter.set_transformer_encoder(spec.encoder, encoder)
    converter.set_transformer_decoder(spec.decoder, decoder)
    spec.encoder.embeddings[1].weight = (added / encoder.embed_scale).numpy()
    words = converter._get_vocab(symbols)
    spec.register_source_vocabulary(words)
    spec.register_source_vocabulary([f"{i}.{j}" for i in range(2) for j in range(longest)])
    spec.register_target_vocabulary(words)
    spec.config.decoder_start_token = spec.config.eos_token
    spec.validate()
    spec.optimize(kind)
    folder.mkdir(exist_ok=True)
    spec.save(str(folder))


def factored(parts: Iterable[str]) -> list[str]:
    """Returns the tokens of all parts, each with its part and its position there."""
    return [
        f"{token}￨{number}.{position}"
        for number, part in enumerate(parts)
        for position, token in enumerate(f"{part} </s>".split())
    ]


def translate(translator: Any, beam: int, codec: Any, texts: Sequence[list[str]]) -> list[Output]:
    """Returns the best output for each text, which CTranslate2 reads as its tokens."""
    results = translator.translate_batch(texts, beam_size=beam, max_decoding_length=LONGEST)
    best = [result.hypotheses[0] for result in results]
    return [(codec.decode(" ".join(tokens)), len(tokens) + 1) for tokens in best]


def greedy(model: Any, symbols: Any, sample: dict[str, Any]) -> Any:
    """Returns the same of fairseq's greedy search."""
    generator = SequenceGenerator([model], symbols, beam_size=1, max_len_b=LONGEST)
    (best, *_), *_ = generator.generate([model], sample)
    return symbols.string(best["tokens"])


def written(
    translator: Any, beam: int, codec: Any, drafts: dict[str, str], rows: Sequence[Row]
) -> list[Output]:
    """Returns the outputs for rows and how many tokens were written, the end too.

    drafts: as the model learnt to read them, by what the memory has.
    """
    parts = [(mark_change(row.new, row.old), drafts[row.new + row.raw]) for row in rows]
    texts = [factored(map(codec.encode, pair)) for pair in parts]
    return translate(translator, beam, codec, texts)


def peers(work: Path, rows: Sequence[Row], codec: Any, threads: int) -> Systems:
    """Returns the converted model of a folder, and prints for how many rows it agrees.

    codec: the text processing of LEVT_WORK, which is the same.
    """
    from ctranslate2 import Translator

    path, overrides = str(work / "concat/checkpoint_best.pt"), {"data": str(work / "data")}
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([path], overrides)
    name = f"transformer_concat {len(model.encoder.layers)} + {len(model.decoder.layers)}"
    symbols = task.target_dictionary
    drafts = {row.new + row.raw: row.draft for row in part_of(work, "test")}
    systems: Systems = {}
    for kind in KINDS:
        place = work / f"ctranslate2.{kind}"
        convert(model.eval(), symbols, place, kind)
        translator = Translator(str(place), compute_type=kind, intra_threads=threads)
        for search, beam in BEAMS.items():
            edit = partial(written, translator, beam, codec, drafts)
            systems[f"{name}, {kind}, {search}"] = edit, place
    task.load_dataset("test")
    data, equal = task.dataset("test"), 0
    converted, _ = systems[f"{name}, float32, greedy"]
    for number, row in enumerate(rows):
        own = greedy(model, symbols, data.collater([data[number]]))
        ((text, _),) = converted([row])
        equal += text == codec.decode(own)
    print(f"{name}: {equal} of {len(rows)} greedy outputs in float32 equal fairseq's")
    return systems


# ---------------------------------------------------------------- the report


def now() -> Any:
    """Returns seconds of both clocks."""
    return np.array([time.process_time(), time.perf_counter()])


def size(row: Sequence[str]) -> int:
    """Returns the letters of a row."""
    return sum(map(len, row))


def measure(
    systems: Systems, rows: Sequence[Any], batch: int, rate: Callable[..., dict[str, float]]
) -> list[dict[str, Any]]:
    """Returns times, steps and scores of each system, and prints them.

    batch: sentences that a system gets at once; more than one of about one length, as the runtimes
    sort a text's. rate: makes scores of rows and outputs.
    """
    noted: dict[str, list[Any]] = {name: [] for name in systems}
    rows = sorted(rows, key=size) if batch > 1 else rows
    parts = [rows[first : first + batch] for first in range(0, len(rows), batch)]
    for number, part in enumerate([parts[0], *parts]):  # the first warms up
        for name in common.in_turn(systems, number):
            started = now()
            outputs = systems[name][0](part)
            noted[name].append((1000 * (now() - started) / len(part), outputs))
    measured: list[dict[str, Any]] = []
    firsts: Sequence[str] = ()
    for name, (_, folder) in systems.items():
        times, outputs = zip(*noted[name][1:])
        texts, steps = zip(*itertools.chain(*outputs))
        firsts = firsts or texts
        values = [
            *np.average(times, 0, [*map(len, parts)]),
            *np.median(times, 0),
            *np.percentile(times, 95, 0),
            np.mean(steps),
            sum(map(operator.eq, texts, firsts)),
            sum(path.stat().st_size for path in folder.iterdir()) / 1e6,
        ]
        rates = rate(rows, texts)
        shown = ", ".join(f"{metric} {score:.1f}" for metric, score in rates.items())
        label = name if batch == 1 else f"{name}, batch {batch}"
        figures = {"name": label, **dict(zip(FIGURES, values)), **rates}
        print(LINE.format(**figures, scores=shown), flush=True)
        measured.append(figures)
    return measured


def rated(rows: Sequence[Row], texts: Sequence[str]) -> dict[str, float]:
    """Returns TER and BLEU of outputs."""
    values = scores(rows, texts, range(len(rows))).split(" / ")
    return dict(zip(("ter", "bleu"), map(float, values)))


def add_options(add: Callable[..., Any]) -> None:
    """Adds what is measured, and with what."""
    add("--batch", type=common.count, nargs="+", default=BATCHES, help="sizes (default: 1 32)")
    add("--sentences", type=common.count, help="the first so many (default: all)")
    add("--threads", type=common.count, default=1, help="of all runtimes (default: 1)")
    add("--json", type=Path, help="also writes the figures here")


def report(
    args: argparse.Namespace, systems: Systems, rows: Sequence[Any], rate: Callable[..., Any]
) -> None:
    """Measures all batches."""
    rows = rows[: args.sentences]
    measured = [line for batch in args.batch for line in measure(systems, rows, batch, rate)]
    if args.json:
        args.json.write_text(json.dumps({"systems": measured}), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    """Checks the conversion, measures, and prints a line for each system."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("levt", type=Path, metavar="LEVT_WORK")
    add("concat", type=Path, nargs="+", metavar="CONCAT_WORK", help="each with other blocks")
    add_options(add)
    args = parser.parse_args(argv)
    settings = settings_of(args.levt)
    systems: Systems = {}
    for name, folder in {"LevT, float32": "fp32", "LevT, int8": "exported"}.items():
        path = args.levt / folder
        editor = Editor(path, args.threads)
        systems[name] = partial(edited, editor, settings), path
    rows = part_of(args.levt, "test")
    for work in args.concat:
        systems |= peers(work, rows[: args.sentences], editor.codec, args.threads)
    report(args, systems, rows, rated)


if __name__ == "__main__":
    run_cli(main)
