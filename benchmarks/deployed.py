"""Updating fuzzy matches with trained models as they are deployed: how long, and how well.

    python benchmarks/deployed.py LEVT_WORK CONCAT_WORK …

LevT by lev_runtime and transformer_concat by CTranslate2, from text to text, one test sentence at
a time, in turn and in changing order. LEVT_WORK is of lev-memory prepare, train and evaluate,
whose threshold for deletions is taken. CONCAT_WORK is a copy of what prepare made, with
concat/checkpoint_best.pt of fuzzy_editor.sh. For the peer: pip install -r
benchmarks/requirements-peers.txt.

First the conversion is checked: how many of its greedy outputs in fp32 equal the package's own, for
which it takes the sentences as fairseq-generate reads them. Milliseconds are of the processor's
time, without "wall". Sentences that are too long for the models are left out.
"""

import argparse
import copy
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from shutil import copyfile
from statistics import fmean, median, quantiles
from typing import Any

import common
import torch

# isort: split
from fairseq import checkpoint_utils
from fairseq.sequence_generator import SequenceGenerator

from lev_memory.commands import run_logged
from lev_memory.evaluate import part_of
from lev_memory.prepare import Row
from lev_memory.proposals import settings_of
from lev_memory.repair.lines import to_text
from lev_memory.scores import bleu, ter
from lev_memory.train import EXPORTED, LEVT, checkpoint_of, symbols_of
from lev_runtime import Editor
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.source_change import mark_change

KINDS = ("fp32", "int8")
BEAMS = {"greedy": 1, "beam 5": 5}
LONGEST = 200  # tokens of an output: fairseq-generate's default
WARM_UP = 5  # sentences
PARTS = 2  # source and draft
END = "</s>"


class System:
    """A model with what runs it.

    edit: returns the output for a row, and how many iterations or tokens it took. folder: what is
    deployed.
    """

    def __init__(self, edit: Callable[[Row], tuple[str, int]], folder: Path) -> None:
        self.edit = edit
        self.megabytes = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        self.outputs: list[str] = []
        self.steps: list[int] = []
        self.times: dict[str, list[float]] = {"": [], "wall_": []}

    def run(self, row: Row) -> None:
        """Notes the output for a row, and the times."""
        wall, processor = time.perf_counter(), time.process_time()
        output, steps = self.edit(row)
        self.times[""].append(1000 * (time.process_time() - processor))
        self.times["wall_"].append(1000 * (time.perf_counter() - wall))
        self.outputs.append(to_text(output))
        self.steps.append(steps)

    def figures(self, rows: Sequence[Row]) -> dict[str, float]:
        """Returns times, steps and scores of all rows."""
        figures = {}
        for clock, taken in self.times.items():
            figures[f"{clock}mean"] = fmean(taken)
            figures[f"{clock}median"] = median(taken)
            figures[f"{clock}p95"] = quantiles(taken, n=20, method="inclusive")[-1]
        references = [to_text(row.tgt) for row in rows]
        figures["steps"] = fmean(self.steps)
        figures["ter"] = ter().corpus(self.outputs, references)
        figures["bleu"] = bleu().corpus(self.outputs, references)
        figures["mb"] = self.megabytes
        return {name: round(value, 2) for name, value in figures.items()}


# ---------------------------------------------------------------- LevT


def levt_systems(work: Path, folder: Path, threads: int) -> dict[str, System]:
    """Returns the trained model as it is exported."""
    int8 = folder / "int8"
    checkpoint = str(checkpoint_of(work / LEVT.name))
    run_logged("lev-export", [checkpoint, str(int8), "--int8"], folder / "export.log")
    threshold = settings_of(work).delete_threshold
    systems = {}
    for kind, exported in zip(KINDS, (work / EXPORTED, int8)):
        edit = partial(edited, Editor(exported, threads), threshold)
        systems[f"LevT, {kind}"] = System(edit, exported)
    return systems


def edited(editor: Editor, threshold: float, row: Row) -> tuple[str, int]:
    """Returns LevT's output for a row and its iterations."""
    (trace,) = editor.edit(
        [row.new],
        [row.draft],
        old_sources=[row.old],
        delete_threshold=threshold,
        history=False,
    )
    return trace.text, trace.steps


# ---------------------------------------------------------------- transformer_concat


@torch.no_grad()
def convert(model: Any, symbols: Any, folder: Path, kind: str) -> None:
    """Writes a transformer_concat as CTranslate2 reads it.

    Each token has a factor: in which part it stands, and where (:func:`factored`). The factor's
    embedding is what the model adds to the token's, which in CTranslate2 are scaled together.

    Raises:
        UserError: CTranslate2 is not installed.
    """
    try:
        from ctranslate2.converters import fairseq as converter
        from ctranslate2.specs import common_spec, transformer_spec
    except ImportError as error:
        raise UserError("pip install -r benchmarks/requirements-peers.txt") from error
    encoder, decoder = copy.deepcopy(model.encoder), model.decoder
    longest, scale = encoder.max_positions(), encoder.embed_scale
    part = torch.full((longest,), symbols.unk())
    part[-1] = symbols.eos()
    added = encoder.embed_positions(part.repeat(PARTS)[None])[0]
    nothing = torch.zeros(len(added) + 1, added.size(1))  # the first row is padding's
    encoder.embed_positions = torch.nn.Embedding.from_pretrained(nothing, padding_idx=0)
    spec = transformer_spec.TransformerSpec.from_config(
        (len(encoder.layers), len(decoder.layers)),
        decoder.cfg.decoder.attention_heads,
        pre_norm=decoder.cfg.decoder.normalize_before,
        activation=converter._SUPPORTED_ACTIVATIONS[decoder.cfg.activation_fn],
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )
    converter.set_transformer_encoder(spec.encoder, encoder)
    converter.set_transformer_decoder(spec.decoder, decoder)
    spec.encoder.embeddings[1].weight = (added / scale).numpy()
    words = converter._get_vocab(symbols)
    spec.register_source_vocabulary(words)
    spec.register_source_vocabulary([f"{i}.{j}" for i in range(PARTS) for j in range(longest)])
    spec.register_target_vocabulary(words)
    spec.config.decoder_start_token = spec.config.eos_token
    spec.validate()
    spec.optimize("int8" if kind == "int8" else None)
    folder.mkdir()
    spec.save(str(folder))


def factored(parts: Sequence[Sequence[str]]) -> list[str]:
    """Returns the tokens of all parts, each with its part and its position there."""
    return [
        f"{token}￨{number}.{position}"
        for number, part in enumerate(parts)
        for position, token in enumerate([*part, END])
    ]


def translate(translator: Any, beam: int, parts: Sequence[Sequence[str]]) -> list[str]:
    """Returns the tokens of the best output."""
    source = factored(parts)
    (result,) = translator.translate_batch([source], beam_size=beam, max_decoding_length=LONGEST)
    tokens: list[str] = result.hypotheses[0]
    return tokens


def greedy(model: Any, symbols: Any, source: torch.Tensor) -> list[str]:
    """Returns the tokens that fairseq's greedy search writes."""
    generator = SequenceGenerator([model], symbols, beam_size=1, max_len_b=LONGEST)
    inputs = {"src_tokens": source[None], "src_lengths": torch.tensor([len(source)])}
    (best, *_), *_ = generator.generate([model], {"net_input": inputs})
    return [symbols[token] for token in best["tokens"][:-1].tolist()]


def parts_of(row: Row, codec: Any) -> list[list[str]]:
    """Returns source and draft of a row as tokens."""
    texts = mark_change(row.new, row.old), row.draft
    return [codec.encode(text).split() for text in texts]


def written(translator: Any, beam: int, codec: Any, row: Row) -> tuple[str, int]:
    """Returns the output for a row and how many tokens were written."""
    tokens = translate(translator, beam, parts_of(row, codec))
    return codec.decode(" ".join(tokens)), len(tokens) + 1


class Peer:
    """The transformer_concat of a folder, converted; ``name`` has its blocks.

    codec: the text processing of LEVT_WORK, which is the same.
    """

    def __init__(self, work: Path, folder: Path, codec: Any, threads: int) -> None:
        path, data = work / "concat/checkpoint_best.pt", {"data": str(work / "data")}
        models, _, self.task = checkpoint_utils.load_model_ensemble_and_task([str(path)], data)
        self.model, self.codec = models[0].eval(), codec
        blocks = f"{len(self.model.encoder.layers)} + {len(self.model.decoder.layers)}"
        self.name = f"transformer_concat {blocks}"
        self.translators: dict[str, Any] = {}
        self.systems: dict[str, System] = {}
        for kind in KINDS:
            place = folder / f"{self.name}, {kind}"
            convert(self.model, self.task.target_dictionary, place, kind)
            copyfile(work / "spm.model", place / "spm.model")
            from ctranslate2 import Translator

            options = {"inter_threads": 1, "intra_threads": threads}
            translator = Translator(str(place), compute_type=kind.replace("fp", "float"), **options)
            self.translators[kind] = translator
            for search, beam in BEAMS.items():
                edit = partial(written, translator, beam, codec)
                self.systems[f"{self.name}, {kind}, {search}"] = System(edit, place)

    def agreement(self, rows: dict[int, Row]) -> int:
        """Returns how many greedy outputs in fp32 are those of fairseq-generate; the rows by their
        numbers."""
        self.task.load_dataset("test")
        data, symbols, equal = self.task.dataset("test"), self.task.target_dictionary, 0
        for number, row in rows.items():
            ours = greedy(self.model, symbols, data[number]["source"])
            equal += ours == translate(self.translators["fp32"], 1, parts_of(row, self.codec))
        return equal


# ---------------------------------------------------------------- the report


def test_rows(args: argparse.Namespace, editor: Editor) -> dict[int, Row]:
    """Returns rows of the test part that fit the models, evenly spread, by their numbers.

    Raises:
        UserError: the folders hold different texts.
    """
    rows, symbols = part_of(args.levt, "test"), symbols_of(args.levt)
    for work in args.concat:
        if part_of(work, "test") != rows or symbols_of(work) != symbols:
            raise UserError(f"{work} has other texts or subwords than {args.levt}")
    fitting = [i for i, row in enumerate(rows) if editor.fits(row.new, row.draft, row.old)]
    step = max(len(fitting) // args.sentences, 1) if args.sentences else 1
    return {i: rows[i] for i in fitting[::step][: args.sentences]}


def main(argv: Sequence[str] | None = None) -> int:
    """Checks the conversion, measures, and prints a line for each system."""
    args = build_parser().parse_args(argv)
    torch.set_num_threads(args.threads)
    editor = Editor(args.levt / EXPORTED, args.threads)
    rows = test_rows(args, editor)
    equal = {}
    with common.quiet(), tempfile.TemporaryDirectory() as folder:
        systems = levt_systems(args.levt, Path(folder), args.threads)
        for work in args.concat:
            peer = Peer(work, Path(folder), editor.codec, args.threads)
            equal[peer.name] = peer.agreement(rows)
            systems |= peer.systems
        for row in [*rows.values()][:WARM_UP]:
            for system in systems.values():
                system.edit(row)
        for number, row in enumerate(rows.values()):
            for system in common.in_turn(systems.values(), number):
                system.run(row)
    for name, count in equal.items():
        print(f"{name}: {count} of {len(rows)} greedy outputs in fp32 equal the package's")
    measured = [
        {"name": name, **system.figures([*rows.values()])} for name, system in systems.items()
    ]
    width = max(map(len, systems))
    print(f"{'':{width}}", *(f"{key:>11}" for key in measured[0] if key != "name"))
    for figures in measured:
        name, *values = figures.values()
        print(f"{name:{width}}", *(f"{value:>11.2f}" for value in values))
    print(f"sentences:{len(rows)}|threads:{args.threads}|machine:{common.processor()}")
    if args.json:
        content = {"sentences": len(rows), "equal": equal, "systems": measured}
        args.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Returns the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("levt", type=Path, metavar="LEVT_WORK")
    add("concat", type=Path, nargs="+", metavar="CONCAT_WORK", help="each with other blocks")
    add("--sentences", type=common.count, help="of the test part, evenly spread (default: all)")
    add("--threads", type=common.count, default=1, help="of both runtimes (default 1)")
    add("--json", type=Path, help="also writes the figures here")
    return parser


if __name__ == "__main__":
    run_cli(main)
