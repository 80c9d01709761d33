"""What ``pbd_transformer`` costs beside fairseq's own ``transformer`` of the same size.

    python benchmarks/pbd_speed.py --threads 1

One run builds both models and gives them the same batches, one after the other and in changing
order, so that a busy machine slows both. Each ratio is PBD's time over stock's: the median over
single pairs of measurements, with the lowest and the highest. The bars: a step costs at most 1.15
times stock's, and there are about half as many parameters.

Decoding is fairseq's beam search, for both with outputs as long as the sources: untrained models
would not know when to stop. Times are for one step of the search, and once more for the decoder's
part in it alone, which the search itself does not dilute.
"""

import argparse
import contextlib
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

# first, because it imports fairseq without the lines that fairseq prints otherwise
import lev_plugins  # noqa: E402, F401

# isort: split
from fairseq.criterions.label_smoothed_cross_entropy import (  # noqa: E402
    LabelSmoothedCrossEntropyCriterion,
)
from fairseq.models.transformer import TransformerModel, base_architecture  # noqa: E402
from fairseq.sequence_generator import SequenceGenerator  # noqa: E402
from fairseq.tasks.translation import TranslationConfig, TranslationTask  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks import side_by_side, workload  # noqa: E402
from benchmarks.side_by_side import Row  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.nn.precision import PRECISIONS, quantize  # noqa: E402
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel  # noqa: E402

SIDES = ("stock", "pbd")
LABEL_SMOOTHING = 0.1
EOS = 2
BATCH_SIZES = (1, 32)
BEAMS = (1, 5)
BAR = 1.15  # of the time of a step
SIZES = ("layers", "dim", "ffn", "heads", "vocab", "dropout", "tokens", "length", "steps")


# ---------------------------------------------------------------- models and batches


class Peers(NamedTuple):
    """Both models, and the task that is theirs."""

    stock: TransformerModel
    pbd: PBDTransformerModel
    task: TranslationTask

    def model(self, side: str) -> torch.nn.Module:
        return self.stock if side == "stock" else self.pbd


def stock_options(args: argparse.Namespace) -> Namespace:
    """Options of fairseq's Transformer."""
    options = workload.transformer_options(
        args,
        dropout=args.dropout,
        encoder_normalize_before=args.pre_norm,
        decoder_normalize_before=args.pre_norm,
    )
    base_architecture(options)
    return options


def pbd_options(args: argparse.Namespace) -> PBDTransformerConfig:
    """The same size, with what the paper adds and shares unless ``--without`` says otherwise."""
    options = PBDTransformerConfig(
        encoder_embed_dim=args.dim,
        encoder_ffn_embed_dim=args.ffn,
        encoder_layers=args.layers,
        encoder_attention_heads=args.heads,
        encoder_normalize_before=args.pre_norm,
        share_all_embeddings=True,
        dropout=args.dropout,
        max_source_positions=1024,
        max_target_positions=1024,
    )
    for name in args.without:
        setattr(options, f"no_{name.replace('-', '_')}", True)
    return options


def build_peers(args: argparse.Namespace) -> Peers:
    """Both models with random weights."""
    torch.manual_seed(args.seed)
    symbols = workload.dictionary(args.vocab)
    task = TranslationTask(TranslationConfig(), symbols, symbols)
    stock = TransformerModel.build_model(stock_options(args), task)
    pbd = PBDTransformerModel.build_model(pbd_options(args), task)
    for model in (stock, pbd):
        model.to(args.device, side_by_side.precision(args))
    return Peers(stock, pbd, task)


def batch(pairs: Sequence[tuple[Tensor, Tensor]], device: str) -> dict[str, Any]:
    """A batch as the translation task makes it: words and </s>, sources padded on the left."""
    words = [(source[1:], target[1:]) for source, target in pairs]
    made = workload.batch(words, device)
    shifted = [torch.cat([target[-1:], target[:-1]]) for _, target in words]
    made["net_input"]["prev_output_tokens"] = workload.padded(shifted, False, device)
    return made


def training_batches(args: argparse.Namespace, special: int) -> list[dict[str, Any]]:
    """``--steps`` batches of about ``--tokens`` target tokens, sentences of like length."""
    size = max(1, args.tokens // args.length)
    pairs = workload.sentences(args.steps * size, args, special)
    pairs.sort(key=lambda pair: len(pair[1]))
    return [batch(pairs[i : i + size], args.device) for i in range(0, len(pairs), size)]


def decoding_batches(args: argparse.Namespace, special: int, size: int) -> list[dict[str, Any]]:
    """Sources of ``--length`` tokens and a sample around it; as many batches as ``--steps``."""
    return [batch(workload.sentences(size, args, special), args.device) for _ in range(args.steps)]


# ---------------------------------------------------------------- training


class Trainer(workload.Trainer):
    """One system's update."""

    def __init__(self, peers: Peers, side: str, args: argparse.Namespace) -> None:
        super().__init__(peers.model(side), args)
        self.criterion = LabelSmoothedCrossEntropyCriterion(peers.task, True, LABEL_SMOOTHING)

    def loss(self, sample: dict[str, Any]) -> Tensor:
        loss, size, _ = self.criterion(self.model, sample)
        return loss / size


def time_training(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Gradients and whole updates on the same batches."""
    batches = training_batches(args, peers.task.target_dictionary.nspecial)
    times = workload.time_updates({side: Trainer(peers, side, args) for side in SIDES}, batches)
    names = ("training: gradients", "training: update with Adam")
    return [
        side_by_side.row(name, *(times[side][part] for side in SIDES), inverse=True)
        for part, name in enumerate(names)
    ]


# ---------------------------------------------------------------- decoding


@contextlib.contextmanager
def timed(decoder: torch.nn.Module, now: Callable[[], float]) -> Iterator[list[float]]:
    """Inside the block, the seconds of every call of the decoder and of its reordering of beams."""
    seconds: list[float] = []
    names = ("forward", "reorder_incremental_state_scripting")

    def watched(method: Callable) -> Callable:
        def call(*positional: Any, **named: Any) -> Any:
            started = now()
            found = method(*positional, **named)
            seconds.append(now() - started)
            return found

        return call

    vars(decoder).update({name: watched(getattr(decoder, name)) for name in names})
    try:
        yield seconds
    finally:
        for name in names:
            del vars(decoder)[name]


class Searcher:
    """One system's beam search, with outputs that are all of one length."""

    def __init__(self, peers: Peers, side: str, beam: int, args: argparse.Namespace) -> None:
        self.model, self.beam, self.now = peers.model(side).eval(), beam, side_by_side.clock(args)
        if side == SIDES[1]:
            quantize([self.model], PRECISIONS[0])  # as fairseq-generate does
        self.symbols = peers.task.target_dictionary

    @torch.no_grad()
    def search(self, sample: dict[str, Any]) -> tuple[float, float, list[list[int]]]:
        """Milliseconds a step, those of the decoder alone, and the lengths of all hypotheses."""
        steps = int(sample["net_input"]["src_tokens"].size(1))
        size = {"max_len_a": 0, "max_len_b": steps - 1, "min_len": steps - 1}
        generator = SequenceGenerator([self.model], self.symbols, beam_size=self.beam, **size)
        with timed(self.model.decoder, self.now) as seconds:
            started = self.now()
            found = generator.generate([self.model], sample)
            whole = self.now() - started
        lengths = [[len(one["tokens"]) for one in hypotheses] for hypotheses in found]
        return 1000 * whole / steps, 1000 * sum(seconds) / steps, lengths


def time_decoding(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Rows for every batch size and beam.

    Raises:
        UserError: the two do not write equally much, so that the race would not be fair.
    """
    rows = []
    for size in BATCH_SIZES:
        samples = decoding_batches(args, peers.task.target_dictionary.nspecial, size)
        for beam in BEAMS:
            searchers = {side: Searcher(peers, side, beam, args) for side in SIDES}
            for side in SIDES:  # not counted: first allocations
                searchers[side].search(samples[0])
            times: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
            for number, sample in enumerate(samples):
                lengths = {}
                for side in side_by_side.in_turn(SIDES, number):
                    *one, lengths[side] = searchers[side].search(sample)
                    times[side].append((one[0], one[1]))
                check_lengths(lengths, beam)
            for part, what in enumerate(("step", "step, decoder alone")):
                name = f"decoding: batch {size}, beam {beam}, {what}"
                both = ([one[part] for one in times[side]] for side in SIDES)
                rows.append(side_by_side.row(name, *both, inverse=True))
    return rows


def check_lengths(lengths: dict[str, list[list[int]]], beam: int) -> None:
    """Raises :class:`UserError` unless all hypotheses have one length and number."""
    known = {length for side in SIDES for one in lengths[side] for length in one}
    numbers = {len(one) for side in SIDES for one in lengths[side]}
    if len(known) > 1 or numbers != {beam}:
        raise UserError(
            f"outputs of {sorted(known)} tokens, {sorted(numbers)} for a source, where all should "
            f"have one length and {beam} be there: no fair race"
        )


# ---------------------------------------------------------------- memory


def peak_of_one_side(side: str, args: argparse.Namespace) -> dict[str, float]:
    """Peak memory of two updates, in MiB; runs in a process of its own."""
    peers = build_peers(args)
    batches = training_batches(args, peers.task.target_dictionary.nspecial)
    return workload.peak_of_updates(Trainer(peers, side, args), batches, args.device)


# ---------------------------------------------------------------- the report


def described(args: argparse.Namespace) -> str:
    """What the numbers depend on, on one line."""
    more = {"norm": "before" if args.pre_norm else "after"}
    more["without"] = ",".join(args.without) or "nothing"
    return side_by_side.signature(side_by_side.surroundings(args, SIZES, **more))


def parser() -> argparse.ArgumentParser:
    """The options."""
    numbers = {"--tokens": 2000, "--length": 25, "--steps": 7}
    made = side_by_side.parser_with(__doc__, side_by_side.LARGE | numbers)
    add = made.add_argument
    add("--pre-norm", action="store_true", help="layer norm before each sub-layer, in both")
    add("--dropout", type=float, default=0.1, help="of both models (default 0.1)")
    add(
        "--without",
        nargs="*",
        default=[],
        choices=("future-modelling", "parameter-sharing", "segment-embedding"),
        help="what PBD is to do without",
    )
    side_by_side.add_clock_options(made)
    add("--bf16", action="store_true", help="parameters and activations in bfloat16")
    add("--no-memory", action="store_true", help="leave out the two processes for the memory")
    add("--seed", type=int, default=1, help="of weights and sentences (default 1)")
    add("--memory-of", choices=SIDES, help=argparse.SUPPRESS)
    return made


def checked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parsed options.

    Raises:
        UserError: values that no model or batch can be made of.
    """
    args = parser().parse_args(argv)
    workload.check_sizes(args, [name for name in SIZES if name not in ("vocab", "dropout")])
    if not 0 <= args.dropout < 1:
        raise UserError(f"--dropout {args.dropout:g}: give a share from 0 up to 1")
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    args = checked(argv)
    side_by_side.settle(args)
    if args.memory_of:
        print(json.dumps(peak_of_one_side(args.memory_of, args)))
        return 0
    memory = []
    if not args.no_memory:
        given = sys.argv[1:] if argv is None else argv
        memory = side_by_side.memory_rows(__file__, SIDES, given, inverse=True)
    with side_by_side.quiet():
        peers = build_peers(args)
        counts = ([side_by_side.parameters(peers.model(side)) / 1e6] for side in SIDES)
        rows = [side_by_side.row("parameters", *counts, unit="M", inverse=True)]
        rows += [*time_training(peers, args), *time_decoding(peers, args)]
    print(side_by_side.table([*rows, *memory], SIDES, "pbd/stock", bar=BAR))
    print("pbd/stock: median over pairs of measurements, above 1 PBD is slower or larger")
    print("decoding: outputs of both have equal lengths, those of their sources")
    print(described(args))
    return 0


if __name__ == "__main__":
    run_cli(main)
