"""Exported Transformers beside fairseq's generator: how many outputs are equal.

    python benchmarks/exported_search.py [--sentences 1000] [--int8] [NAME …]

For each architecture a small model, which has learnt for some CPU seconds to copy random words,
writes for others: by fairseq's ``SequenceGenerator`` and, exported, by lev_runtime. A line has, for
each search, the sentences whose whole n-best list is equal, token for token, and the largest
difference of a score. The searches are those of :data:`SEARCHES`; draft-guided search reads a noisy
copy of what greedy search writes, transformer_concat its draft.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

# isort: split
from fairseq import options, tasks
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.sequence_generator import SequenceGenerator

import lev_plugins  # noqa: F401
from lev_plugins.export.folder import generator_writer, write_folder
from lev_plugins.inference.generation import GeneratingParts
from lev_plugins.inference.text_processing import TextProcessing
from lev_runtime import Generator
from lev_runtime.io.commands import run_cli

SMALL = (
    "--encoder-embed-dim 32 --encoder-ffn-embed-dim 48 --encoder-attention-heads 4 "
    "--encoder-layers 2 --decoder-layers 2 --dropout 0 --max-source-positions 64 "
    "--max-target-positions 64"
)
DECODER = "--decoder-embed-dim 32 --decoder-ffn-embed-dim 48 --decoder-attention-heads 4"
STOCK = f"--task translation {SMALL} {DECODER} --arch "
PRE = "--encoder-normalize-before --decoder-normalize-before"
LEARNED = "--encoder-learned-pos --decoder-learned-pos"
JOINED = "--share-all-embeddings"
CONCAT = f"--task translation_concat {SMALL} {DECODER} {JOINED} --arch transformer_concat"
#: name → options; those with JOINED in them have one dictionary
ARCHITECTURES = {
    "post-norm": f"{STOCK} transformer",
    "pre-norm": f"{STOCK} transformer {PRE}",
    "learned positions": f"{STOCK} transformer {LEARNED}",
    "no positions": f"{STOCK} transformer --no-token-positional-embeddings",
    "one dictionary": f"{STOCK} transformer {JOINED}",
    "tied output": f"{STOCK} transformer --share-decoder-input-output-embed",
    "normed, unscaled embeddings": f"{STOCK} transformer --layernorm-embedding "
    f"--no-scale-embedding {LEARNED} {JOINED}",
    "deep encoder, gelu": f"{STOCK} transformer {PRE} --activation-fn gelu_accurate "
    "--encoder-layers 6 --decoder-layers 1",
    "narrow decoder": f"{STOCK} transformer --decoder-embed-dim 16 --decoder-attention-heads 2 "
    "--encoder-normalize-before",
    "transformer_iwslt_de_en": f"{STOCK} transformer_iwslt_de_en",
    "transformer_wmt_en_de": f"{STOCK} transformer_wmt_en_de {JOINED}",
    "transformer_vaswani_wmt_en_fr_big": f"{STOCK} transformer_vaswani_wmt_en_fr_big",
    "transformer_wmt_en_de_big_t2t": f"{STOCK} transformer_wmt_en_de_big_t2t",
    "transformer_concat": CONCAT,
    "transformer_concat, learned, pre-norm": f"{CONCAT} {PRE} {LEARNED}",
    "pbd_transformer": f"--task translation {SMALL} --arch pbd_transformer",
    "pbd_transformer, rotary, pre-norm": f"--task translation {SMALL} --arch pbd_transformer "
    "--encoder-normalize-before --rotary-positions",
    "gated_transformer": f"--task translation {SMALL} --arch gated_transformer",
    "gated_transformer, all gates, pre-norm": f"--task translation {SMALL} --gates all "
    f"--arch gated_transformer --encoder-normalize-before --copy-bias 0 {JOINED}",
}
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "beam 5": {"beam": 5},
    "penalties": {"beam": 4, "lenpen": 0.6, "unkpen": 1.5, "min_len": 4, "max_len_b": 12},
    "draft-guided": {"beam": 1, "draft_guided": True},
}
LONGEST = 16  #: tokens of a source
UPDATES = 300  #: of a training: seven CPU seconds
LIMITS = {"max_len_a": 1.25, "max_len_b": 6}
SYMBOLS = [f"w{number}" for number in range(60)]
#: the names of options in ``SequenceGenerator``
NAMES = {"beam": "beam_size", "lenpen": "len_penalty", "unkpen": "unk_penalty"}
Row = tuple[str, str | None]
Found = list[list[tuple[str, float]]]


class Both(NamedTuple):
    """A model of fairseq's and its export."""

    parts: GeneratingParts
    exported: Generator


def dictionary(symbols: Sequence[str]) -> Dictionary:
    """Returns a dictionary of these symbols."""
    made = Dictionary()
    for symbol in symbols:
        made.add_symbol(symbol)
    return made


def build(name: str, folder: Path, updates: int = UPDATES, int8: bool = False) -> Both:
    """Returns a trained model of an architecture and its export, which is written to a folder."""
    words = f"{folder} --source-lang a --target-lang b {ARCHITECTURES[name]}".split()
    args = options.parse_args_and_arch(options.get_training_parser(), words)
    cfg = convert_namespace_to_omegaconf(args)
    source = target = dictionary(SYMBOLS)
    if JOINED not in words and "pbd" not in name:
        target = dictionary(SYMBOLS[:50:-1] + SYMBOLS[:40])
    task = tasks.TASK_REGISTRY[cfg.task._name](cfg.task, source, target)
    torch.manual_seed(1)
    model = task.build_model(cfg.model)
    train(model, task, updates)
    parts = GeneratingParts(model.eval(), task, cfg, TextProcessing(None, None), True)
    write_folder(folder / "exported", generator_writer(parts, {}, int8), int8)
    return Both(parts, Generator(folder / "exported", threads=1))


def train(model: Any, task: Any, updates: int) -> None:
    """Trains a model to copy sources, and to read past a draft."""
    rng = random.Random(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(updates):
        length = rng.randint(1, LONGEST)
        texts = [" ".join(rng.choices(SYMBOLS, k=length)) for _ in range(48)]
        pairs = [encoded(task, text, text) for text in texts]
        source = torch.stack([side for side, _ in pairs])
        if getattr(model, "joins_draft", False):
            source = torch.cat([source, source.roll(1, 0)], 1)
        words = [task.target_dictionary.encode_line(text, add_if_not_exist=False) for text in texts]
        target = torch.stack(words).long()
        logits, _ = model(source, torch.full((48,), source.size(1)), target.roll(1, 1))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def sentences(count: int, seed: int = 1) -> list[Row]:
    """Returns random sources, some with unknown words, and drafts."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for number in range(count):
        length = 1 + number * LONGEST // count
        words, draft = (rng.choices([*SYMBOLS, "unknown"], k=length) for _ in range(2))
        rows.append((" ".join(words), " ".join(draft)))
    return rows


@torch.no_grad()
def by_fairseq(parts: GeneratingParts, rows: Sequence[Row], search: Mapping[str, Any]) -> Found:
    """Returns the n-best lists of ``SequenceGenerator``, for batches of sources of one length."""
    model, task = parts.model, parts.task
    flags = {NAMES.get(name, name): value for name, value in search.items()}
    generator = SequenceGenerator([model], task.target_dictionary, **flags)
    found: Found = []
    for batch in batches(rows):
        items: list[Any] = [encoded(task, *row) for row in batch]
        if not getattr(model, "joins_draft", False):
            items = [source for source, _ in items]
        data = task.build_dataset_for_inference(items, [len(item) for item in items])
        sample = data.collater([data[number] for number in range(len(items))])
        lists = dict(zip(sample["id"].tolist(), generator.generate([model], sample), strict=True))
        for number in range(len(batch)):
            texts = [
                (task.target_dictionary.string(best["tokens"]), float(best["score"]))
                for best in lists[number]
            ]
            found.append(texts)
    return found


def batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yields sentences next to each other whose sources and drafts have one length."""
    batch: list[Row] = []
    for row in rows:
        if batch and len(row[0].split()) != len(batch[0][0].split()):
            yield batch
            batch = []
        batch.append(row)
    yield batch


def encoded(task: Any, source: str, draft: str | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the numbers of a source and of a draft."""
    sides = task.source_dictionary, source
    other = task.source_dictionary, draft or ""
    return tuple(
        symbols.encode_line(text, add_if_not_exist=False).long() for symbols, text in (sides, other)
    )


def noisy(text: str, rng: random.Random) -> str:
    """Returns a text with a tenth of its words changed."""
    words = [word if rng.random() > 0.1 else rng.choice(SYMBOLS) for word in text.split()]
    return " ".join(words)


def compare(both: Both, rows: Sequence[Row], search: Mapping[str, Any]) -> tuple[int, float]:
    """Returns how many n-best lists are equal, and the largest difference of their scores."""
    wanted_search = {key: value for key, value in search.items() if key != "draft_guided"}
    wanted = by_fairseq(both.parts, rows, {**LIMITS, **wanted_search})
    read = rows if both.exported.joins_draft else [(source, None) for source, _ in rows]
    if "draft_guided" in search and not both.exported.joins_draft:
        rng = random.Random(2)
        pairs = zip(rows, wanted, strict=True)
        read = [(source, noisy(best[0][0], rng)) for (source, _), best in pairs]
    lists = both.exported.stream_nbest(read, search["beam"], **{**LIMITS, **search})
    equal, difference = 0, 0.0
    for found, best in zip(lists, wanted, strict=True):
        if [text for text, _ in found] == [text for text, _ in best]:
            equal += 1
            scores = [np.array([score for _, score in side]) for side in (found, best)]
            difference = max(difference, float(abs(scores[0] - scores[1]).max(initial=0)))
    return equal, difference


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a line for each architecture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of architectures (default: all)")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--updates", type=int, default=UPDATES, help="of each training")
    parser.add_argument("--int8", action="store_true", help="export in int8")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    rows = sentences(args.sentences)
    print(f"of {args.sentences} sentences: equal n-best lists (largest difference of a score)")
    for name in args.names or ARCHITECTURES:
        with tempfile.TemporaryDirectory() as folder:
            both = build(name, Path(folder), args.updates, args.int8)
            shown = []
            for search, chosen in SEARCHES.items():
                equal, difference = compare(both, rows, chosen)
                shown.append(f"{search} {equal} ({difference:.0e})")
        print(f"{name}: {', '.join(shown)}", flush=True)
    return 0


if __name__ == "__main__":
    run_cli(main)
