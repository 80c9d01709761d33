"""How long trained models take, and how well they do, in turn and in changing order.

    python benchmarks/speed.py texts SOURCE REFERENCE FOLDER … --peer FOLDER CONVERTED
    python benchmarks/speed.py texts SOURCE REFERENCE LEVT --iterations 10
    python benchmarks/speed.py texts NOISY CLEAN PBD --guided --metrics cer,word_accuracy
    python benchmarks/speed.py memory LEVT_WORK CONCAT_WORK …
    python benchmarks/speed.py prices LEVT SOURCE DRAFT OLD
    python benchmarks/speed.py checkpoints DATA --path levt.pt --ar-path transformer.pt
    python benchmarks/speed.py updates --less bf16
    python benchmarks/speed.py decoding --less bf16

texts: exported models (lev-export, in fp32 or int8), from text to text. A LevT edits; --iterations
asks it for one to so many iterations at most. Others write greedily and with a beam of 5; with
--guided also greedily with their source as the draft. CONVERTED is the model of FOLDER in
CTranslate2, the peer (pip install -r benchmarks/requirements-peers.txt):

    ct2-fairseq-converter --model_path CHECKPOINT --data_dir DATA --user_dir lev_plugins \\
        --quantization int8 --output_dir CONVERTED

memory: fuzzy matches, by LevT and by transformer_concat in CTranslate2. LEVT_WORK is of lev-memory
prepare, train and evaluate, whose threshold for deletions and iterations are taken, with fp32 of
lev-export beside its int8. CONCAT_WORK is a copy of what prepare made, with
concat/checkpoint_best.pt of fuzzy_editor.sh. First the conversion, to CONCAT_WORK/ctranslate2.*, is
checked: how many of its greedy outputs in float32 equal fairseq's.

prices: an exported LevT by the prices of a batch (lev_runtime.batching.Prices: call, source token,
draft token), in full batches first. The runtime's are among the fastest.

checkpoints: as fairseq-generate runs them, one sentence at a time (the protocol of the LevT paper's
Table 1), in at most ten iterations. With --forced a model that writes from left to right writes the
reference, so that sizes can be compared before they are trained. Further flags are
fairseq-generate's, such as -s and -t, --gen-subset, or --draft-lang for models that edit.

updates and decoding: fairseq's own LevT (stock) beside ours, untrained, with the same random
weights on the same random sentences (untrained.py). First it is checked that both do the same work;
in decoding no system's iterations may differ by 15 % from stock's.

Milliseconds are of a sentence, and of the processor's time, on a GPU of the clock on the wall. With
more than one sentence at a time these are of about one length. MB are of what is exported or
converted. Each system is so many times as fast as the first: the median of all pairs, in brackets
the lowest and highest.
"""

import argparse
import copy
import itertools
import json
import logging
import operator
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
import torch

# isort: split
from fairseq import checkpoint_utils, options, tasks, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.sequence_generator import SequenceGenerator

from lev_memory.evaluate import scores
from lev_memory.prepare import Row, part_of
from lev_memory.proposals import ModelSettings, settings_of
from lev_plugins.metrics.corpus import add_up, make_metric
from lev_runtime import Editor, Generator, load
from lev_runtime.batching import BUFFER, Prices
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_parallel
from lev_runtime.text.source_change import mark_change

KINDS = ("float32", "int8")  # as CTranslate2 names them
BEAMS = {"greedy": 1, "beam 5": 5}
GUIDED = {"beam": 1, "draft_guided": True}
MOST_APART = 0.15  # iterations from stock's, as a share of these
LONGEST = 200  # tokens of an output: fairseq-generate's default
FIGURES = "mean median p95 steps equal mb ratio low high".split()
LINE = (
    "{name}: {mean:.1f} ms (median {median:.1f}, 95 % below {p95:.1f}); {steps:.2f} iterations or "
    "tokens; "
    "{scores}{equal} texts as the first system's; {mb:.1f} MB; {ratio:.2f} times as fast as the "
    "first ({low:.2f} … {high:.2f})"
)

Output = tuple[str, int]  #: a text, and the iterations or tokens that it took
Pairs = Sequence[tuple[str, str]]  #: sources and references
Rate = Callable[[Sequence[Any], Sequence[str]], dict[str, float]]


class System(NamedTuple):
    """What is measured: returns the outputs for rows, and where its files lie, if any do."""

    outputs: Callable[[Sequence[Any]], list[Output]]
    path: Path | None = None


Systems = dict[str, System]


# ---------------------------------------------------------------- exported models


def edited(editor: Editor, max_iter: int | None, rows: Pairs) -> list[Output]:
    """Returns texts and iterations of a LevT."""
    sources = [source for source, _ in rows]
    traces = editor.edit(sources, max_iter=max_iter, batch_size=len(rows), history=False)
    return [(trace.text, trace.steps) for trace in traces]


def written(generator: Generator, search: dict[str, Any], rows: Pairs) -> list[Output]:
    """Returns texts and tokens of a model that writes from left to right."""
    sources = [source for source, _ in rows]
    size = {"batch_size": len(rows), "max_len_b": LONGEST}
    texts = [best.text for best in generator.generate(sources, **search, **size)]
    return [(text, len(generator.codec.encode(text).split()) + 1) for text in texts]


def translate(
    translator: Any, beam: int, codec: Any, texts: Sequence[list[str]], length: int | None = None
) -> list[Output]:
    """Returns the best output for each text, which CTranslate2 reads as its tokens.

    length: tokens that it has to write; by default as many as it likes.
    """
    least, most = (length, length) if length else (1, LONGEST)
    results = translator.translate_batch(
        texts, beam_size=beam, min_decoding_length=least, max_decoding_length=most
    )
    best = [result.hypotheses[0] for result in results]
    return [(codec.decode(" ".join(tokens)), len(tokens) + 1) for tokens in best]


def translated(translator: Any, beam: int, codec: Any, rows: Pairs) -> list[Output]:
    """Returns the same of CTranslate2, which adds </s> itself."""
    return translate(translator, beam, codec, [codec.encode(source).split() for source, _ in rows])


def rated(metrics: Sequence[str], rows: Pairs, texts: Sequence[str]) -> dict[str, float]:
    """Returns scores by name."""
    results = {}
    for metric in map(make_metric, metrics):
        sums = add_up(metric, (metric.statistics(text, row[1]) for text, row in zip(texts, rows)))
        results[metric.name] = metric.score(sums)
    return results


def exported(args: argparse.Namespace) -> tuple[Systems, Pairs, Rate]:
    """Returns the systems of ``texts``."""
    systems: Systems = {}
    for folder in args.folders:
        model = load(folder, args.threads)
        if isinstance(model, Editor):
            for most in range(1, args.iterations + 1) if args.iterations else [None]:
                name = f"{folder.name}, max_iter {most or model.max_iter}"
                systems[name] = System(partial(edited, model, most), folder)
            continue
        searches: dict[str, Any] = {name: {"beam": beam} for name, beam in BEAMS.items()}
        if args.guided:
            searches["guided"] = GUIDED
        for name, search in searches.items():
            systems[f"{folder.name}, {name}"] = System(partial(written, model, search), folder)
    for folder, converted in args.peer:
        from ctranslate2 import Translator

        translator = Translator(str(converted), intra_threads=args.threads)
        codec = Generator(folder).codec
        for name, beam in BEAMS.items():
            system = System(partial(translated, translator, beam, codec), converted)
            systems[f"{converted.name} in CTranslate2, {name}"] = system
    pairs = [(source, reference) for source, reference in read_parallel(args.texts)]
    return systems, pairs, partial(rated, args.metrics)


# ---------------------------------------------------------------- fuzzy matches


def updated(editor: Editor, settings: ModelSettings, rows: Sequence[Row]) -> list[Output]:
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


def greedy(model: Any, symbols: Any, sample: dict[str, Any]) -> Any:
    """Returns the same of fairseq's greedy search."""
    generator = SequenceGenerator([model], symbols, beam_size=1, max_len_b=LONGEST)
    (best, *_), *_ = generator.generate([model], sample)
    return symbols.string(best["tokens"])


def rewritten(
    translator: Any,
    beam: int,
    codec: Any,
    drafts: dict[str, str],
    lengths: dict[str, int],
    rows: Sequence[Row],
) -> list[Output]:
    """Returns the outputs for rows and how many tokens were written, the end too.

    drafts: as the model learnt to read them, by what the memory has. lengths: tokens to write; of
    several rows at once their mean.
    """
    parts = [(mark_change(row.new, row.old), drafts[row.new + row.raw]) for row in rows]
    texts = [factored(map(codec.encode, pair)) for pair in parts]
    wanted = [lengths[row.new + row.raw] for row in rows if lengths]
    return translate(translator, beam, codec, texts, round(np.mean(wanted)) if wanted else None)


def peers(
    work: Path, rows: Sequence[Row], codec: Any, threads: int, lengths: dict[str, int]
) -> Systems:
    """Returns the converted model of a folder, and prints for how many rows it agrees.

    codec: the text processing of LEVT_WORK, which is the same. lengths: tokens of LevT's outputs,
    which the model in 8 bits writes as many of besides.
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
            edit = partial(rewritten, translator, beam, codec, drafts)
            systems[f"{name}, {kind}, {search}"] = System(partial(edit, {}), place)
            if kind == "int8":
                forced = System(partial(edit, lengths), place)
                systems[f"{name}, {kind}, {search}, as long as LevT"] = forced
    task.load_dataset("test")
    data, equal = task.dataset("test"), 0
    converted = systems[f"{name}, float32, greedy"].outputs
    for number, row in enumerate(rows):
        own = greedy(model, symbols, data.collater([data[number]]))
        ((text, _),) = converted([row])
        equal += text == codec.decode(own)
    print(f"{name}: {equal} of {len(rows)} greedy outputs in float32 equal fairseq's")
    return systems


def rated_matches(rows: Sequence[Row], texts: Sequence[str]) -> dict[str, float]:
    """Returns TER and BLEU of outputs."""
    values = scores(rows, texts, range(len(rows))).split(" / ")
    return dict(zip(("ter", "bleu"), map(float, values)))


def matches(args: argparse.Namespace) -> tuple[Systems, Sequence[Row], Rate]:
    """Returns the systems of ``memory``."""
    settings = settings_of(args.levt)
    systems: Systems = {}
    for name, folder in {"LevT, float32": "fp32", "LevT, int8": "exported"}.items():
        path = args.levt / folder
        editor = Editor(path, args.threads)
        systems[name] = System(partial(updated, editor, settings), path)
    once = replace(settings, max_iter=1)
    systems["LevT, int8, one iteration"] = System(partial(updated, editor, once), path)
    rows = part_of(args.levt, "test")
    if args.tokens:
        sizes = [len(f"{editor.codec.encode(row.new + row.draft)}".split()) for row in rows]
        least, most = args.tokens
        rows = [row for row, tokens in zip(rows, sizes) if least <= tokens <= most]
    keys = [row.new + row.raw for row in rows]
    texts = [editor.codec.encode(text).split() for text, _ in updated(editor, settings, rows)]
    lengths = dict(zip(keys, map(len, texts)))
    for work in args.concat:
        systems |= peers(work, rows[: args.sentences], editor.codec, args.threads, lengths)
    return systems, rows, rated_matches


# ---------------------------------------------------------------- checkpoints

TASK = "translation_edit"
LANGUAGES = ("source_lang", "target_lang", "draft_lang")


def decoded(
    task: Any, models: Any, generator: Any, is_forced: bool, rows: Sequence[int]
) -> list[Output]:
    """Returns the tokens of rows of a data set, and the iterations, or tokens with ``</s>``."""
    data = task.dataset(task.part)
    sample = data.collater([data[row] for row in rows])
    prefix = sample["target"] if is_forced else None
    found = task.inference_step(generator, models, sample, prefix_tokens=prefix)
    best = [hypotheses[0] for hypotheses in found]
    symbols = task.target_dictionary
    return [
        (symbols.string(output["tokens"]), int(output.get("steps", len(output["tokens"]))))
        for output in best
    ]


def checkpoints(args: argparse.Namespace) -> tuple[Systems, list[int], Rate]:
    """Returns the systems of ``checkpoints``, and rows that none finds too long.

    Raises:
        UserError: a checkpoint of the other kind, or nothing to read.
    """
    logging.disable(logging.INFO)  # fairseq's
    import lev_plugins  # noqa: F401  (registers, because fairseq is loaded)

    torch.set_num_threads(args.threads)
    systems: Systems = {}
    fitting: Any = None
    for path in [*args.path, *args.ar_path]:
        words = [args.data, "--path", path, "--task", TASK, *args.flags]
        parser = options.get_generation_parser(default_task=TASK)
        given = options.parse_args_and_arch(parser, input_args=words)
        cfg = convert_namespace_to_omegaconf(given)
        edits = path in args.path
        task = tasks.setup_task(cfg.task) if edits else None
        sides = {name: value for name in LANGUAGES if (value := cfg.task.get(name))}
        changed = None if edits else {"data": args.data, "eval_bleu": False, **sides}
        models, _, task = checkpoint_utils.load_model_ensemble_and_task([path], changed, task)
        task.part = cfg.dataset.gen_subset
        task.load_dataset(task.part)
        longest = utils.resolve_max_positions(task.max_positions(), models[0].max_positions())
        rows = np.arange(len(task.dataset(task.part)))
        rows = task.dataset(task.part).filter_indices_by_size(rows, longest)[0]
        fitting = rows if fitting is None else np.intersect1d(fitting, rows)
        for model in models:
            model.eval()
            model.prepare_for_inference_(cfg)
        for beam in [1] if edits else (1, args.beam):
            cfg.generation.beam = beam
            generator = task.build_generator(models, argparse.Namespace(**cfg.generation))
            if isinstance(generator, SequenceGenerator) == edits:
                raise UserError(f"{path}: edit models go to --path, others to --ar-path")
            name = path if edits else f"{path}, beam {beam}"
            decode = partial(decoded, task, models, generator, args.forced and not edits)
            systems[name] = System(decode, Path(path))
    if fitting is None or not len(fitting):
        raise UserError(
            "nothing to measure: give --path, --ar-path or both, and check --gen-subset"
        )
    return systems, fitting.tolist(), lambda rows, texts: {}


# ---------------------------------------------------------------- untrained models


def untrained(args: argparse.Namespace) -> tuple[Systems, Any, Rate]:
    """Returns the systems of ``updates`` and ``decoding``, and random sentences."""
    import untrained as models

    torch.set_num_threads(args.threads)
    peers = models.build_peers(args)
    rows = common.sentences(args.sentences, args)
    models.check(peers, rows[:20], args)
    make = models.updates if args.way == "updates" else models.decoding
    systems = {name: System(outputs) for name, outputs in make(peers, args).items()}
    return systems, rows, lambda rows, texts: {}


# ---------------------------------------------------------------- prices of a batch

#: beside full batches: calls and drafts from cheap to expensive
PRICES = [None, *itertools.starmap(Prices, itertools.product([30, 120, 280], [1.0], [0.5, 1, 4]))]


def at_prices(
    editor: Editor, prices: Prices | None, size: int, rows: Sequence[Sequence[str]]
) -> list[Output]:
    """Returns a LevT's outputs for sources, their drafts and old sources, cut by the prices."""
    editor.prices = prices
    sources, *more = zip(*rows)
    sides = dict(zip(("drafts", "old_sources"), more))
    traces = editor.edit(sources, **sides, batch_size=size, history=False)
    return [(trace.text, trace.steps) for trace in traces]


def priced(args: argparse.Namespace) -> tuple[Systems, Sequence[Sequence[str]], Rate]:
    """Returns the systems of ``prices``, and the rows that have a draft."""
    editor = Editor(args.folder, args.threads)
    systems = {
        f"{size} at once, {tuple(prices or ['full'])}": System(
            partial(at_prices, editor, prices, size), args.folder
        )
        for size in args.at_once
        for prices in PRICES
    }
    rows = read_parallel(args.texts)
    return systems, [row for row in rows if row[-1]], lambda rows, texts: {}


# ---------------------------------------------------------------- the report

#: what finds the systems, the rows and their scores, by the name of a way to measure
RUNNERS = {
    "texts": exported,
    "memory": matches,
    "prices": priced,
    "checkpoints": checkpoints,
    "updates": untrained,
    "decoding": untrained,
}


def now() -> float:
    """Returns seconds of the processor's time, or on a GPU of the clock, all work there done."""
    if not torch.cuda.is_initialized():
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def size(row: Any) -> int:
    """Returns the letters of a row, of a number none."""
    return 0 if isinstance(row, int) else sum(map(len, row))


def measure(systems: Systems, rows: Sequence[Any], batch: int, rate: Rate) -> list[dict[str, Any]]:
    """Returns times, steps and scores of each system, and prints them.

    batch: sentences that a system gets at once; more than one of about one length, as the runtimes
    sort a text's. rate: makes scores of rows and outputs.
    """
    noted: dict[str, list[Any]] = {name: [] for name in systems}
    rows = sorted(rows, key=size) if batch > 1 else rows
    parts = [rows[first : first + batch] for first in range(0, len(rows), batch)]
    for number, part in enumerate([parts[0], *parts]):  # the first warms up
        for name in list(systems)[:: 1 if number % 2 else -1]:  # who begins changes
            started = now()
            outputs = systems[name].outputs(part)
            noted[name].append((1000 * (now() - started) / len(part), outputs))
    measured: list[dict[str, Any]] = []
    firsts: Sequence[str] = ()
    first_times: Sequence[Any] = ()
    for name, (_, path) in systems.items():
        times, parts_written = zip(*noted[name][1:])
        texts, steps = zip(*itertools.chain(*parts_written))
        firsts, first_times = firsts or texts, first_times or times
        files = path.iterdir() if path and path.is_dir() else [path] if path else []
        pairs = np.divide(first_times, times)
        values = [
            np.average(times, weights=[*map(len, parts)]),
            np.median(times),
            np.percentile(times, 95),
            np.mean(steps),
            sum(map(operator.eq, texts, firsts)),
            sum(file.stat().st_size for file in files) / 1e6,
            np.median(pairs),
            pairs.min(),
            pairs.max(),
        ]
        share = values[FIGURES.index("steps")] / measured[0]["steps"] if measured else 1
        if path is None and abs(share - 1) > MOST_APART:
            raise UserError(f"{name}: {share:.2f} times the iterations of stock's: no fair race")
        rates = rate(rows, texts)
        shown = "".join(f"{metric} {score:.1f}; " for metric, score in rates.items())
        label = name if batch == 1 else f"{name}, batch {batch}"
        figures = {"name": label, **dict(zip(FIGURES, values)), **rates}
        print(LINE.format(**figures, scores=shown), flush=True)
        measured.append(figures)
    return measured


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Returns the options; what is left over are fairseq-generate's flags."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    ways = parser.add_subparsers(dest="way", required=True)
    texts, memory, prices, trained, updates, decoding = map(ways.add_parser, RUNNERS)
    texts.add_argument("texts", nargs=2, metavar="SOURCE REFERENCE")
    texts.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    pair: dict[str, Any] = {"type": Path, "nargs": 2, "metavar": ("FOLDER", "CONVERTED")}
    texts.add_argument("--peer", **pair, action="append", default=[], help="of CTranslate2")
    texts.add_argument("--iterations", type=int, help="of a LevT, 1 to so many (default: its own)")
    texts.add_argument("--guided", action="store_true", help="also read ahead in the source")
    names: dict[str, Any] = {"type": lambda text: text.split(","), "default": ["bleu", "ter"]}
    texts.add_argument("--metrics", **names, help="of lev-report (default: bleu,ter)")
    memory.add_argument("levt", type=Path, metavar="LEVT_WORK")
    memory.add_argument("concat", type=Path, nargs="+", metavar="CONCAT_WORK")
    memory.add_argument("--tokens", type=int, nargs=2, help="of source and draft, from and to")
    prices.add_argument("folder", type=Path, metavar="LEVT")
    prices.add_argument("texts", nargs="+", metavar="SOURCE DRAFT OLD", help="the last may lack")
    prices.add_argument("--at-once", type=common.count, nargs="+", default=[32], help="a batch")
    trained.add_argument("data", metavar="DATA", help="folder of preprocess")
    for flag in ("--path", "--ar-path"):
        trained.add_argument(flag, action="append", default=[], metavar="CHECKPOINT")
    trained.add_argument("--beam", type=common.count, default=4, help="beside greedy (default: 4)")
    trained.add_argument(
        "--forced", action="store_true", help="of --ar-path: write the references, trained or not"
    )
    for way in (updates, decoding):
        common.add_sizes(way.add_argument)
        way.add_argument("--bf16", action="store_true", help="both models in bfloat16")
        way.add_argument("--less", nargs="*", choices=["bf16"], default=[], help="ours in half")
    for way, batches, most in (
        *((way, [1, 32], None) for way in (texts, memory)),
        (prices, [BUFFER], None),
        (trained, [1], None),
        (updates, [80], 400),
        (decoding, [1, 64], 192),
    ):
        add = way.add_argument
        add("--batch", type=common.count, nargs="+", default=batches, help="sizes")
        about = f"the first so many (default: {most or 'all'})"
        add("--sentences", type=common.count, default=most, help=about)
        add("--threads", type=common.count, default=1, help="of all runtimes (default: 1)")
        add("--json", type=Path, help="also writes the figures here")
    args, args.flags = parser.parse_known_args(argv)
    if args.flags and args.way != "checkpoints":
        parser.error(f"unrecognized arguments: {' '.join(args.flags)}")
    return args


def main(argv: Sequence[str] | None = None) -> None:
    """Measures, and prints a line for each system and size."""
    args = parse(argv)
    systems, rows, rate = RUNNERS[args.way](args)
    rows = rows[: args.sentences]
    measured = [line for batch in args.batch for line in measure(systems, rows, batch, rate)]
    print(f"{common.processor()}, torch {torch.__version__}, {args.threads} threads")
    if args.json:
        args.json.write_text(json.dumps({"systems": measured}), encoding="utf-8")


if __name__ == "__main__":
    run_cli(main)
