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
import io
import json
import os
import subprocess
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT, ROOT / "benchmarks"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import torch  # noqa: E402

# first, because it imports fairseq without the lines that fairseq prints otherwise
import lev_plugins  # noqa: E402, F401

# isort: split
from fairseq.criterions.label_smoothed_cross_entropy import (  # noqa: E402
    LabelSmoothedCrossEntropyCriterion,
)
from fairseq.models.transformer import TransformerModel, base_architecture  # noqa: E402
from fairseq.optim.adam import Adam  # noqa: E402
from fairseq.sequence_generator import SequenceGenerator  # noqa: E402
from fairseq.tasks.translation import TranslationConfig, TranslationTask  # noqa: E402
from levt_speed import _memory as memory_in_use  # noqa: E402
from levt_speed import clock, dictionary, padded, sentences  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks.machine import kernels, machine  # noqa: E402
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


class Row(NamedTuple):
    """A line of the table: medians of both; median, lowest and highest ratio of single pairs.

    bar: the highest ratio that is wished for; None where there is none.
    """

    name: str
    unit: str
    stock: float
    pbd: float
    ratio: float
    low: float
    high: float
    bar: float | None = None


def row(
    name: str,
    stock: Sequence[float],
    pbd: Sequence[float],
    unit: str = "ms",
    bar: float | None = None,
) -> Row:
    """A line of the table from measurements in pairs."""
    ratios = [b / a for a, b in zip(stock, pbd, strict=True)]
    spread = median(ratios), min(ratios), max(ratios)
    return Row(name, unit, median(stock), median(pbd), *spread, bar)


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
    options = Namespace(
        share_all_embeddings=True,
        dropout=args.dropout,
        max_source_positions=1024,
        max_target_positions=1024,
    )
    for side in ("encoder", "decoder"):
        setattr(options, f"{side}_embed_dim", args.dim)
        setattr(options, f"{side}_ffn_embed_dim", args.ffn)
        setattr(options, f"{side}_layers", args.layers)
        setattr(options, f"{side}_attention_heads", args.heads)
        setattr(options, f"{side}_normalize_before", args.pre_norm)
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
    symbols = dictionary(args.vocab)
    task = TranslationTask(TranslationConfig(), symbols, symbols)
    stock = TransformerModel.build_model(stock_options(args), task)
    pbd = PBDTransformerModel.build_model(pbd_options(args), task)
    kind = torch.bfloat16 if args.bf16 else torch.float32
    return Peers(stock.to(args.device, kind), pbd.to(args.device, kind), task)


def parameters(model: torch.nn.Module) -> int:
    """Numbers that are learnt; what is shared counts once."""
    return sum(one.numel() for one in model.parameters())


def batch(pairs: Sequence[tuple[Tensor, Tensor]], device: str) -> dict[str, Any]:
    """A batch as the translation task makes it: words and </s>, sources padded on the left."""
    sources, targets = zip(*[(source[1:], target[1:]) for source, target in pairs])
    shifted = [torch.cat([target[-1:], target[:-1]]) for target in targets]
    return {
        "id": torch.arange(len(pairs), device=device),
        "nsentences": len(pairs),
        "ntokens": sum(map(len, targets)),
        "net_input": {
            "src_tokens": padded(sources, True, device),
            "src_lengths": torch.tensor([len(one) for one in sources], device=device),
            "prev_output_tokens": padded(shifted, False, device),
        },
        "target": padded(targets, False, device),
    }


def training_batches(args: argparse.Namespace, special: int) -> list[dict[str, Any]]:
    """``--steps`` batches of about ``--tokens`` target tokens, sentences of like length."""
    size = max(1, args.tokens // args.length)
    pairs = sorted(sentences(args.steps * size, args, special), key=lambda pair: len(pair[1]))
    return [batch(pairs[i : i + size], args.device) for i in range(0, len(pairs), size)]


def decoding_batches(args: argparse.Namespace, special: int, size: int) -> list[dict[str, Any]]:
    """Sources of ``--length`` tokens and a sample around it; as many batches as ``--steps``."""
    return [batch(sentences(size, args, special), args.device) for _ in range(args.steps)]


# ---------------------------------------------------------------- training


class Trainer:
    """One system's update: forward, backward, and fairseq's Adam."""

    def __init__(self, peers: Peers, side: str, args: argparse.Namespace) -> None:
        self.model, self.now = peers.model(side), clock(args)
        self.criterion = LabelSmoothedCrossEntropyCriterion(peers.task, True, LABEL_SMOOTHING)
        # a rate of 0 takes the same time and leaves the weights as they are
        self.optimizer = Adam(self.model.parameters(), lr=0.0, betas=(0.9, 0.98))

    def update(self, sample: dict[str, Any]) -> tuple[float, float]:
        """Milliseconds until the gradients are there, and until the parameters are changed."""
        self.model.train()
        self.optimizer.zero_grad()
        started = self.now()
        loss, size, _ = self.criterion(self.model, sample)
        (loss / size).backward()
        gradients = self.now()
        self.optimizer.step()
        return 1000 * (gradients - started), 1000 * (self.now() - started)


def time_training(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Gradients and whole updates on the same batches."""
    batches = training_batches(args, peers.task.target_dictionary.nspecial)
    trainers = {side: Trainer(peers, side, args) for side in SIDES}
    for side in SIDES:  # not counted: first allocations, Adam's state
        trainers[side].update(batches[0])
    times: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    for number, sample in enumerate(batches):
        for side in SIDES if number % 2 else reversed(SIDES):
            times[side].append(trainers[side].update(sample))
    names = ("training: gradients", "training: update with Adam")
    return [
        row(name, *([one[part] for one in times[side]] for side in SIDES), bar=BAR)
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
        self.model, self.beam, self.now = peers.model(side).eval(), beam, clock(args)
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
                for side in SIDES if number % 2 else reversed(SIDES):
                    *one, lengths[side] = searchers[side].search(sample)
                    times[side].append((one[0], one[1]))
                check_lengths(lengths, beam)
            for part, what in enumerate(("step", "step, decoder alone")):
                name = f"decoding: batch {size}, beam {beam}, {what}"
                both = ([one[part] for one in times[side]] for side in SIDES)
                rows.append(row(name, *both, bar=BAR))
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
    """Peak memory of two updates on the largest batch, in MiB; runs in a process of its own."""
    peers = build_peers(args)
    batches = training_batches(args, peers.task.target_dictionary.nspecial)
    largest = max(batches, key=lambda one: one["target"].numel())
    trainer = Trainer(peers, side, args)
    before = memory_in_use(args.device, peak=False)
    for _ in range(2):
        trainer.update(largest)
    peak = memory_in_use(args.device, peak=True)
    return {"peak": peak, "update": peak - before}


def measure_memory(argv: Sequence[str]) -> list[Row]:
    """Peak of the process, and how much of it the updates took, each side in its own process."""
    found = {}
    for side in SIDES:
        command = [sys.executable, str(Path(__file__).resolve()), *argv, "--memory-of", side]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UserError(f"measuring the memory of {side} failed: {last}")
        found[side] = json.loads(done.stdout.strip().splitlines()[-1])
    names = {"peak": "memory: process at its peak", "update": "memory: two updates on top"}
    return [
        row(name, [found["stock"][key]], [found["pbd"][key]], "MiB") for key, name in names.items()
    ]


# ---------------------------------------------------------------- the report


def table(rows: Sequence[Row]) -> str:
    """The rows under a head, ratios with their range, and whether they keep their bar."""
    width = max(len(one.name) for one in rows)
    lines = [f"{'':{width}}  {'stock':>12}  {'pbd':>12}  pbd/stock  lowest … highest"]
    for one in rows:
        verdict = ""
        if one.bar is not None:
            verdict = f"  {'within' if one.ratio <= one.bar else 'above'} {one.bar:g}"
        lines.append(
            f"{one.name:{width}}  {one.stock:>8.2f} {one.unit:>3}  {one.pbd:>8.2f} {one.unit:>3}  "
            f"{one.ratio:>9.2f}  {one.low:.2f} … {one.high:.2f}{verdict}"
        )
    return "\n".join(lines)


def signature(args: argparse.Namespace) -> str:
    """What the numbers depend on."""
    parts = {
        "torch": torch.__version__,
        "device": f"{args.device} ({machine(args.device)})",
        "kernels": kernels(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "precision": "bf16" if args.bf16 else "fp32",
        "norm": "before" if args.pre_norm else "after",
        "without": ",".join(args.without) or "nothing",
    }
    names = ("layers", "dim", "ffn", "heads", "vocab", "dropout", "tokens", "length", "steps")
    parts |= {name: getattr(args, name) for name in (*names, "clock", "seed")}
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("--layers", type=int, default=6, help="blocks in encoder and in decoder (default 6)")
    add("--dim", type=int, default=512, help="width (default 512)")
    add("--ffn", type=int, default=2048, help="width of the feed-forward layers (default 2048)")
    add("--heads", type=int, default=8, help="attention heads (default 8)")
    add("--vocab", type=int, default=8000, help="symbols of the joined dictionary (default 8000)")
    add("--pre-norm", action="store_true", help="layer norm before each sub-layer, in both")
    add("--dropout", type=float, default=0.1, help="of both models (default 0.1)")
    add("--tokens", type=int, default=2000, help="tokens of a training batch (default 2000)")
    add("--length", type=int, default=25, help="mean length of a sentence (default 25)")
    add("--steps", type=int, default=7, help="measured batches (default 7)")
    add(
        "--without",
        nargs="*",
        default=[],
        choices=("future-modelling", "parameter-sharing", "segment-embedding"),
        help="what PBD is to do without",
    )
    add("--threads", type=int, default=0, help="torch's threads (default: torch's own choice)")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default cpu)")
    add(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="wall: what one waits (default); cpu: what the process computes, all threads "
        "together, for a machine that others use meanwhile",
    )
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
    for name in ("layers", "dim", "ffn", "heads", "tokens", "length", "steps"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name} {getattr(args, name)}: give 1 or more")
    if args.dim % args.heads:
        raise UserError(f"--heads {args.heads} does not divide --dim {args.dim}")
    if args.vocab < 20:
        raise UserError(f"--vocab {args.vocab}: give 20 or more")
    if not 0 <= args.dropout < 1:
        raise UserError(f"--dropout {args.dropout:g}: give a share from 0 up to 1")
    if args.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no GPU here; leave the option out")
    if args.device == "cuda" and args.clock == "cpu":
        raise UserError("--clock cpu does not see what a GPU does; leave the option out")
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    args = checked(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    if args.memory_of:
        print(json.dumps(peak_of_one_side(args.memory_of, args)))
        return 0
    memory = [] if args.no_memory else measure_memory(sys.argv[1:] if argv is None else argv)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():  # of fairseq
        warnings.simplefilter("ignore")
        peers = build_peers(args)
        counts = ([parameters(peers.model(side)) / 1e6] for side in SIDES)
        rows = [row("parameters", *counts, unit="M")]
        rows += [*time_training(peers, args), *time_decoding(peers, args)]
    print(table([*rows, *memory]))
    print("pbd/stock: median over pairs of measurements, above 1 PBD is slower or larger")
    print("decoding: outputs of both have equal lengths, those of their sources")
    print(signature(args))
    return 0


if __name__ == "__main__":
    run_cli(main)
