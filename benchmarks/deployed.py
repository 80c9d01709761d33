"""Updating fuzzy matches with trained models as they are deployed: how long, and how well.

    lev-export LEVT_WORK/model/checkpoint_best.pt LEVT_WORK/fp32
    python benchmarks/deployed.py LEVT_WORK CONCAT_WORK …

LevT by lev_runtime and transformer_concat by CTranslate2, from text to text, one test sentence at
a time, in turn and in changing order. LEVT_WORK is of lev-memory prepare, train and evaluate, whose
threshold for deletions and iterations are taken. CONCAT_WORK is a copy of what prepare made, with
concat/checkpoint_best.pt of fuzzy_editor.sh. For the peer: pip install -r
benchmarks/requirements-peers.txt.

First the conversion, to CONCAT_WORK/ctranslate2.*, is checked: how many of its greedy outputs in
float32 equal fairseq's, for the sentences as fairseq-generate reads them. Milliseconds are of the
processor's time unless they are named wall. MB are of what is exported or converted; LevT's has the
subwords too.
"""

import argparse
import copy
import json
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
FIGURES = "mean wall_mean median wall_median p95 wall_p95 steps ter bleu mb".split()
LINE = (
    "{name}: {mean:.1f} ms (wall {wall_mean:.1f}), median {median:.1f} ({wall_median:.1f}), "
    "95 % below {p95:.1f} ({wall_p95:.1f}); {steps:.2f} iterations or tokens; "
    "TER {ter:.1f}, BLEU {bleu:.1f}; {mb:.1f} MB"
)

#: by their names what returns the output for a row, and how many iterations or tokens it took; and
#: the folder that is deployed
Systems = dict[str, tuple[Callable[[Row], tuple[str, int]], Path]]


def edited(editor: Editor, settings: Settings, row: Row) -> tuple[str, int]:
    """Returns LevT's output for a row and its iterations."""
    (trace,) = editor.edit(
        [row.new],
        [row.draft],
        old_sources=[row.old],
        delete_threshold=settings.delete_threshold,
        max_iter=settings.max_iter,
        history=False,
    )
    return trace.text, trace.steps


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


def translate(translator: Any, beam: int, parts: Iterable[str]) -> str:
    """Returns the tokens of the best output, with spaces between them."""
    (result,) = translator.translate_batch(
        [factored(parts)], beam_size=beam, max_decoding_length=LONGEST
    )
    return " ".join(result.hypotheses[0])


def greedy(model: Any, symbols: Any, sample: dict[str, Any]) -> Any:
    """Returns the same of fairseq's greedy search."""
    generator = SequenceGenerator([model], symbols, beam_size=1, max_len_b=LONGEST)
    (best, *_), *_ = generator.generate([model], sample)
    return symbols.string(best["tokens"])


def written(translator: Any, beam: int, codec: Any, row: Row) -> tuple[str, int]:
    """Returns the output for a row and how many tokens were written, its end too."""
    parts = map(codec.encode, (mark_change(row.new, row.old), row.draft))
    tokens = translate(translator, beam, parts)
    return codec.decode(tokens), len(tokens.split()) + 1


def peers(work: Path, rows: Sequence[Row], codec: Any, threads: int) -> Systems:
    """Returns the converted model of a folder, and prints for how many rows it agrees.

    codec: the text processing of LEVT_WORK, which is the same.
    """
    from ctranslate2 import Translator

    path, overrides = str(work / "concat/checkpoint_best.pt"), {"data": str(work / "data")}
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([path], overrides)
    name = f"transformer_concat {len(model.encoder.layers)} + {len(model.decoder.layers)}"
    symbols = task.target_dictionary
    systems: Systems = {}
    for kind in KINDS:
        place = work / f"ctranslate2.{kind}"
        convert(model.eval(), symbols, place, kind)
        translator = Translator(str(place), compute_type=kind, intra_threads=threads)
        for search, beam in BEAMS.items():
            edit = partial(written, translator, beam, codec)
            systems[f"{name}, {kind}, {search}"] = edit, place
    task.load_dataset("test")
    data, equal = task.dataset("test"), 0
    converted, _ = systems[f"{name}, float32, greedy"]
    for number, row in enumerate(rows):
        own = greedy(model, symbols, data.collater([data[number]]))
        equal += converted(row)[0] == codec.decode(own)
    print(f"{name}: {equal} of {len(rows)} greedy outputs in float32 equal fairseq's")
    return systems


# ---------------------------------------------------------------- the report


def now() -> Any:
    """Returns seconds of both clocks."""
    return np.array([time.process_time(), time.perf_counter()])


def measure(systems: Systems, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns times, steps and scores of each system."""
    noted: dict[str, list[Any]] = {name: [] for name in systems}
    for number, row in enumerate([rows[0], *rows]):  # the first warms up
        for name in common.in_turn(systems, number):
            started = now()
            output, steps = systems[name][0](row)
            noted[name].append((1000 * (now() - started), output, steps))
    measured = []
    for name, (_, folder) in systems.items():
        times, outputs, steps = zip(*noted[name][1:])
        values = [
            *np.mean(times, 0),
            *np.median(times, 0),
            *np.percentile(times, 95, 0),
            np.mean(steps),
            *map(float, scores(rows, outputs, range(len(rows))).split(" / ")),
            sum(path.stat().st_size for path in folder.iterdir()) / 1e6,
        ]
        measured.append({"name": name, **dict(zip(FIGURES, values))})
    return measured


def main(argv: Sequence[str] | None = None) -> None:
    """Checks the conversion, measures, and prints a line for each system."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("levt", type=Path, metavar="LEVT_WORK")
    add("concat", type=Path, nargs="+", metavar="CONCAT_WORK", help="each with other blocks")
    add("--sentences", type=common.count, help="the first so many (default: all)")
    add("--threads", type=common.count, default=1, help="of both runtimes (default: 1)")
    add("--json", type=Path, help="also writes the figures here")
    args = parser.parse_args(argv)
    settings = settings_of(args.levt)
    systems: Systems = {}
    for name, folder in {"LevT, float32": "fp32", "LevT, int8": "exported"}.items():
        path = args.levt / folder
        editor = Editor(path, args.threads)
        systems[name] = partial(edited, editor, settings), path
    rows = part_of(args.levt, "test")[: args.sentences]
    for work in args.concat:
        systems |= peers(work, rows, editor.codec, args.threads)
    measured = measure(systems, rows)
    for figures in measured:
        print(LINE.format(**figures))
    if args.json:
        args.json.write_text(json.dumps({"systems": measured}), encoding="utf-8")


if __name__ == "__main__":
    run_cli(main)
