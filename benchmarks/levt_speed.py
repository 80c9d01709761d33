"""Training updates and decoding of ``levenshtein_editor`` against fairseq's own Levenshtein model.

    python benchmarks/levt_speed.py --threads 1

One run builds both models with the same weights and gives them the same batches, one after the
other and in changing order, so that a busy machine slows both. First it checks that both do the
same work: equal labels and logits in training, equal outputs in decoding. Each ratio is the
median time of stock over the median of ours: above 1 ours is faster (or needs less memory).

Untrained models neither delete nor insert sensibly. In decoding their heads are computed as ever,
but what they decide comes from a script (see :class:`Script`), the same for both.
"""

import argparse
import contextlib
import copy
import io
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

# first, because it imports fairseq without the lines that fairseq prints otherwise
import lev_plugins  # noqa: E402, F401

# isort: split
from fairseq.criterions.nat_loss import LabelSmoothedDualImitationCriterion  # noqa: E402
from fairseq.data import Dictionary  # noqa: E402
from fairseq.dataclass.configs import FairseqConfig  # noqa: E402
from fairseq.iterative_refinement_generator import IterativeRefinementGenerator  # noqa: E402
from fairseq.models.nat.levenshtein_transformer import (  # noqa: E402
    LevenshteinTransformerModel,
    levenshtein_base_architecture,
)
from fairseq.optim.adam import Adam, FairseqAdamConfig  # noqa: E402
from fairseq.optim.fp16_optimizer import FP16Optimizer  # noqa: E402
from fairseq.tasks.translation_lev import (  # noqa: E402
    TranslationLevenshteinConfig,
    TranslationLevenshteinTask,
)
from omegaconf import OmegaConf  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks.machine import kernels, machine  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.nn.precision import PRECISIONS, quantize  # noqa: E402
from lev_plugins.systems.levenshtein import LevenshteinEditorModel  # noqa: E402
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss  # noqa: E402
from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions  # noqa: E402
from lev_plugins.systems.levenshtein.roll_in import expert_labels  # noqa: E402
from lev_plugins.systems.levenshtein.stock import editor_config  # noqa: E402
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask  # noqa: E402

SIDES = ("stock", "ours")
KINDS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
LABEL_SMOOTHING = 0.1
DROPOUT = 0.3
RULES = {"same": "stock's rules", "own": "own rules"}
#: kernels of other machines: what torch, MKL and oneDNN are told in their environment
KERNELS = {
    "own": {},
    "torch": {"LEV_PLUGINS_ONEDNN": "0"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "torch-avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "LEV_PLUGINS_ONEDNN": "0",
    },
}
SCRIPTED = 1e4  # a logit that no untrained head reaches


class Row(NamedTuple):
    """A line of the table: medians of both, and the lowest and highest ratio of a single pair."""

    name: str
    unit: str
    stock: float
    ours: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        return self.stock / self.ours if self.ours else float("nan")


# ---------------------------------------------------------------- models and data


class Peers(NamedTuple):
    """Both systems, with the same weights; ``less``: ours with fewer bits, by precision."""

    stock: LevenshteinTransformerModel
    stock_task: TranslationLevenshteinTask
    ours: LevenshteinEditorModel
    our_task: TranslationEditTask
    less: dict[str, LevenshteinEditorModel]

    def model(self, side: str) -> torch.nn.Module:
        return self.stock if side == "stock" else self.ours


def dictionary(size: int) -> Dictionary:
    """``size`` symbols, fairseq's four special ones included."""
    made = Dictionary()
    for number in range(size - made.nspecial):
        made.add_symbol(f"w{number}")
    return made


def precision(args: argparse.Namespace) -> str:
    """Of parameters and activations."""
    return "bf16" if args.bf16 else "fp16" if getattr(args, "fp16", False) else "fp32"


def stock_options(args: argparse.Namespace) -> Namespace:
    """Options of fairseq's model, post-norm and shared embeddings as in its recipe."""
    options = Namespace(
        share_all_embeddings=True,
        early_exit=",".join([str(args.layers)] * 3),
        dropout=DROPOUT,
        label_smoothing=LABEL_SMOOTHING,
        max_source_positions=1024,
        max_target_positions=1024,
        left_pad_source=True,
        left_pad_target=False,
    )
    for side in ("encoder", "decoder"):
        setattr(options, f"{side}_embed_dim", args.dim)
        setattr(options, f"{side}_ffn_embed_dim", args.ffn)
        setattr(options, f"{side}_layers", args.layers)
        setattr(options, f"{side}_attention_heads", args.heads)
    levenshtein_base_architecture(options)
    return options


def build_peers(args: argparse.Namespace) -> Peers:
    """Stock's model with random weights, and ours with the same (plus a row for ``<plh>``)."""
    torch.manual_seed(args.seed)
    options = stock_options(args)
    symbols = dictionary(args.vocab)
    stock_task = TranslationLevenshteinTask(TranslationLevenshteinConfig(), symbols, symbols)
    stock = LevenshteinTransformerModel.build_model(options, stock_task)
    for head in (stock.decoder.embed_mask_ins, stock.decoder.embed_word_del):
        # fairseq zeroes them, taking "no padding row" for every row: zeros would compare equal
        torch.nn.init.normal_(head.weight, std=args.dim**-0.5)
    symbols = dictionary(args.vocab)
    our_task = TranslationEditTask(TranslationEditConfig(seed=args.seed), symbols, symbols)
    ours = LevenshteinEditorModel.build_model(editor_config(options), our_task)
    ours.load_state_dict(stock.state_dict())
    kind = KINDS[precision(args)]
    stock.to(args.device, kind)
    ours.to(args.device, kind)
    less = {name: copy.deepcopy(ours).eval() for name in args.less}
    for name, model in less.items():
        quantize([model], name)
    return Peers(stock, stock_task, ours, our_task, less)


def sentences(count: int, args: argparse.Namespace, special: int) -> list[tuple[Tensor, Tensor]]:
    """Random sources and targets: lengths around ``--length``, frequencies as in Zipf's law.

    No token comes twice in a sentence: then there is one minimal script only, and the labels of
    both systems can be compared.
    """
    weights = 1 / torch.arange(1, args.vocab - special + 1, dtype=torch.float)
    longest = min(3 * args.length, args.vocab - special)

    def sentence(length: float) -> Tensor:
        words = torch.multinomial(weights, int(min(max(length, 1), longest))) + special
        return torch.cat([torch.tensor([0]), words, torch.tensor([2])])

    lengths = torch.normal(float(args.length), args.length / 3, (count,))
    stretch = 0.85 + 0.3 * torch.rand(count)  # how much longer the target is
    return [
        (sentence(source), sentence(source * factor))
        for source, factor in zip(lengths.tolist(), stretch.tolist(), strict=True)
    ]


def padded(rows: Sequence[Tensor], left: bool, device: str) -> Tensor:
    """Rows of any length → B × T, padded with 1."""
    width = max(map(len, rows))
    out = torch.ones(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        start = width - len(row) if left else 0
        out[i, start : start + len(row)] = row
    return out.to(device)


def batch(pairs: Sequence[tuple[Tensor, Tensor]], device: str) -> dict[str, Any]:
    """A batch as both tasks' data sets make it: sources padded on the left."""
    sources, targets = zip(*pairs)
    return {
        "id": torch.arange(len(pairs), device=device),
        "nsentences": len(pairs),
        "ntokens": sum(map(len, targets)),
        "net_input": {
            "src_tokens": padded(sources, True, device),
            "src_lengths": torch.tensor([len(row) for row in sources], device=device),
        },
        "target": padded(targets, False, device),
    }


def training_batches(args: argparse.Namespace, special: int) -> list[dict[str, Any]]:
    """``--steps`` batches of at most ``--tokens`` padded tokens, sentences of like length."""
    pool = max(64, 2 * args.steps * args.tokens // args.length)
    pairs = sorted(sentences(pool, args, special), key=lambda pair: max(map(len, pair)))
    groups: list[list[tuple[Tensor, Tensor]]] = [[]]
    for pair in pairs:  # the longest comes last, so its length is the width
        if groups[-1] and (len(groups[-1]) + 1) * max(map(len, pair)) > args.tokens:
            groups.append([])
        groups[-1].append(pair)
    spread = torch.linspace(0, len(groups) - 1, args.steps + 2)[1:-1].round().long().tolist()
    return [batch(groups[i], args.device) for i in spread]


# ---------------------------------------------------------------- training


def criteria(peers: Peers) -> dict[str, Any]:
    """Both losses with fairseq's label smoothing."""
    ours = EditPolicyLoss(peers.our_task, LABEL_SMOOTHING, 0.01, 1.0, 1.0, 1.0)
    return {
        "stock": LabelSmoothedDualImitationCriterion(peers.stock_task, LABEL_SMOOTHING),
        "ours": ours,
    }


class Trainer:
    """One system's update: states and labels, forward, backward, and fairseq's Adam."""

    def __init__(self, peers: Peers, side: str, args: argparse.Namespace) -> None:
        self.peers, self.side, self.now = peers, side, clock(args)
        self.model, self.criterion = peers.model(side), criteria(peers)[side]
        # a rate of 0 takes the same time and leaves both with the same weights
        self.optimizer = Adam(self.model.parameters(), lr=0.0, betas=(0.9, 0.98))

    def loss(self, sample: dict[str, Any]) -> Tensor:
        """The loss of a batch, divided by its sample size."""
        if self.side == "stock":
            noisy = self.peers.stock_task.inject_noise(sample["target"])
            sample = {**sample, "prev_target": noisy}
        else:
            sample = self.peers.our_task.with_roll_in(sample, 1)
        loss, size, _ = self.criterion(self.model, sample)
        return loss / size

    def update(self, sample: dict[str, Any]) -> tuple[float, float]:
        """Seconds until the gradients are there, and until the parameters are changed."""
        self.model.train()
        self.optimizer.zero_grad()
        started = self.now()
        self.loss(sample).backward()
        gradients = self.now()
        self.optimizer.step()
        return gradients - started, self.now() - started


class Bf16Trainer(Trainer):
    """Ours as ``fairseq-train --bf16`` trains it: a model in bf16, its master copy in fp32."""

    def __init__(self, peers: Peers, args: argparse.Namespace) -> None:
        small = copy.deepcopy(peers.ours).bfloat16()
        super().__init__(peers._replace(ours=small), "ours", args)
        cfg = OmegaConf.structured(FairseqConfig())
        cfg.common.bf16 = True
        adam = {"_name": "adam", "lr": [0.0], "adam_betas": "(0.9, 0.98)"}
        cfg.optimizer = OmegaConf.merge(OmegaConf.structured(FairseqAdamConfig()), adam)
        parameters = [one for one in small.parameters() if one.requires_grad]
        self.optimizer = FP16Optimizer.build_optimizer(cfg, parameters)

    def update(self, sample: dict[str, Any]) -> tuple[float, float]:
        self.model.train()
        self.optimizer.zero_grad()
        started = self.now()
        self.optimizer.backward(self.loss(sample))
        gradients = self.now()
        self.optimizer.step()
        return gradients - started, self.now() - started


def clock(args: argparse.Namespace) -> Callable[[], float]:
    """A function that gives seconds, all work on the device done."""
    if args.clock == "cpu":
        return time.process_time
    if args.device == "cpu":
        return time.perf_counter

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now


def time_training(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Gradients and whole updates on the same batches."""
    special = peers.our_task.target_dictionary.nspecial
    batches = training_batches(args, special)
    trainers: dict[str, Trainer] = {side: Trainer(peers, side, args) for side in SIDES}
    if "bf16" in args.less:
        trainers["bf16"] = Bf16Trainer(peers, args)
    for trainer in trainers.values():  # not counted: first allocations, Adam's state
        trainer.update(batches[0])
    times: dict[str, list[tuple[float, float]]] = {side: [] for side in trainers}
    for number, sample in enumerate(batches):
        for side in list(trainers) if number % 2 else reversed(list(trainers)):
            times[side].append(trainers[side].update(sample))
    names = ("training: gradients", "training: update with Adam")
    return [
        row(name + (f", ours in {side}" if side != "ours" else ""), stock, ours)
        for side in list(trainers)[1:]
        for part, name in enumerate(names)
        for stock, ours in [[[1000 * one[part] for one in times[s]] for s in ("stock", side)]]
    ]


def row(name: str, stock: Sequence[float], ours: Sequence[float], unit: str = "ms") -> Row:
    """A line of the table from measurements in pairs."""
    ratios = [a / b for a, b in zip(stock, ours, strict=True)]
    return Row(name, unit, median(stock), median(ours), min(ratios), max(ratios))


@torch.no_grad()
def check_training(peers: Peers, args: argparse.Namespace) -> str:
    """Both heads for inserting, on the same states: equal labels, equal logits.

    Raises:
        UserError: they are not, so that the times would not be of the same work.
    """
    special = peers.our_task.target_dictionary.nspecial
    sample = peers.our_task.with_roll_in(training_batches(args, special)[0], 1)
    source, states = sample["net_input"], sample["roll_in"].insertion
    for side in SIDES:
        peers.model(side).eval()
    stock = peers.stock(
        source["src_tokens"], source["src_lengths"], states.before, sample["target"]
    )
    roll_in = sample["roll_in"]
    ours, inputs = peers.ours(source["src_tokens"], source["src_lengths"], roll_in)
    labels = expert_labels(roll_in, inputs, ours["placeholder"].size(1) - 1)
    worst = 0.0
    for name, head in (("placeholder", "mask_ins"), ("token", "word_ins")):
        theirs = {key: stock[head][key][stock[head]["mask"]] for key in ("out", "tgt")}
        logits = ours[name]
        if not torch.equal(labels[name], theirs["tgt"]):
            raise UserError(f"the labels of the {name} head differ from stock's: no fair race")
        difference = logits[:, : theirs["out"].size(1)] - theirs["out"]
        worst = max(worst, float(difference.abs().max()))
    if worst > (1e-3 if precision(args) == "fp32" else 1.0):
        raise UserError(f"logits differ from stock's by up to {worst:g}: no fair race")
    return f"training: labels equal, logits of the insertion heads within {worst:.1e}"


# ---------------------------------------------------------------- decoding


class Script:
    """What both decoders do, whatever their heads say.

    A sentence grows to the length of its source at once, in one slot. Then about one in ``every``
    inner tokens goes, by a number made of the token, its position and the whole sentence, and as
    many as are missing come, one for each slot from the left. Special symbols are never written;
    other tokens are the model's choice. With the default, sentences of 25 tokens take two or three
    iterations (paper, Table 6: 2.43).
    """

    def __init__(self, special: int, every: int = 29) -> None:
        self.special, self.every = special, every

    def deletion(self, tokens: Tensor, logits: Tensor) -> Tensor:
        """B × T × 2."""
        position = torch.arange(tokens.size(1), device=tokens.device)
        state = (tokens * position).masked_fill(tokens.eq(1), 0).sum(1, keepdim=True)
        goes = (13 * tokens + 7 * position**2 + state) % self.every == 0
        logits[..., 1] = torch.where(goes, SCRIPTED, -SCRIPTED).to(logits)
        return logits

    def placeholder(self, tokens: Tensor, wanted: Tensor, logits: Tensor) -> Tensor:
        """B × (T − 1) × (K + 1); ``wanted``: B, length with <s> and </s>."""
        lengths = tokens.ne(1).sum(1)
        missing = (wanted - lengths).clamp(min=0).unsqueeze(1)
        slots = (lengths - 1).unsqueeze(1)
        index = torch.arange(logits.size(1), device=tokens.device).unsqueeze(0)
        counts = missing // slots + (index < missing % slots).long()
        counts = counts.clamp(max=logits.size(2) - 1)
        return logits.scatter(2, counts.unsqueeze(2), SCRIPTED)

    def token(self, logits: Tensor) -> Tensor:
        """… × V."""
        logits[..., : self.special] = -SCRIPTED
        return logits


@contextlib.contextmanager
def scripted(peers: Peers, script: Script) -> Iterator[None]:
    """Lets the script decide for both models inside the block; every head is still computed."""
    decoder, ours = peers.stock.decoder, peers.ours
    delete, insert, fill = (
        decoder.forward_word_del,
        decoder.forward_mask_ins,
        decoder.forward_word_ins,
    )

    def stock_delete(prev_output_tokens, **options):
        out, attention = delete(prev_output_tokens=prev_output_tokens, **options)
        return script.deletion(prev_output_tokens, out), attention

    def stock_insert(prev_output_tokens, encoder_out, **options):
        out, attention = insert(
            prev_output_tokens=prev_output_tokens, encoder_out=encoder_out, **options
        )
        wanted = (~encoder_out["encoder_padding_mask"][0]).sum(1)
        return script.placeholder(prev_output_tokens, wanted, out), attention

    def stock_fill(**options):
        out, attention = fill(**options)
        return script.token(out), attention

    replaced = {
        decoder: {
            "forward_word_del": stock_delete,
            "forward_mask_ins": stock_insert,
            "forward_word_ins": stock_fill,
        },
        **{model: _scripted_methods(model, script) for model in (ours, *peers.less.values())},
    }
    for module, methods in replaced.items():
        vars(module).update(methods)
    try:
        yield
    finally:
        for module, methods in replaced.items():
            for name in methods:
                del vars(module)[name]


def _scripted_methods(model: LevenshteinEditorModel, script: Script) -> dict[str, Callable]:
    delete, insert, fill = model.deletion_logits, model.placeholder_logits, model.token_logits

    def deletion_logits(tokens, memory):
        return script.deletion(tokens, delete(tokens, memory))

    def placeholder_logits(tokens, memory):
        whole = memory.states.new_ones(memory.states.shape[:2], dtype=torch.bool)
        wanted = (whole if memory.mask is None else memory.mask.flatten(1)).sum(1)
        return script.placeholder(tokens, wanted, insert(tokens, memory))

    def token_logits(tokens, memory, where):
        return script.token(fill(tokens, memory, where))

    return {
        "deletion_logits": deletion_logits,
        "placeholder_logits": placeholder_logits,
        "token_logits": token_logits,
    }


Decoder = Callable[[dict[str, Any]], list]


def decoders(peers: Peers, args: argparse.Namespace) -> dict[str, Decoder]:
    """Stock's decoder, ours with stock's rules, and ours with its own (the paper's Algorithm 2)."""
    symbols, task = peers.stock_task.target_dictionary, peers.our_task
    stock = IterativeRefinementGenerator(symbols, max_iter=args.iterations)
    same, own = (
        RefinementGenerator(
            task.target_dictionary,
            task.placeholder,
            RefinementOptions(max_iter=args.iterations + (not rules), stock=rules),
        )
        for rules in (True, False)
    )
    found: dict[str, Decoder] = {
        "stock": lambda sample: stock.generate([peers.stock], sample),
        "same": lambda sample: same.generate([peers.ours], sample),
        "own": lambda sample: own.generate([peers.ours], sample),
    }
    for precision, model in peers.less.items():
        found[precision] = lambda sample, model=model: own.generate([model], sample)
    return found


def decoding_samples(args: argparse.Namespace, special: int, size: int) -> list[dict[str, Any]]:
    """Batches of ``size`` sources with drafts: three per step at size 1, else one."""
    count = args.steps * (3 if size == 1 else 1)
    samples = []
    for _ in range(count):
        made = batch(sentences(size, args, special), args.device)
        draft = made["target"].clone()  # every tenth token is wrong
        wrong = draft.ge(special) & (torch.rand(draft.shape, device=draft.device) < 0.1)
        draft[wrong] = special + (draft[wrong] + 1) % (args.vocab - special)
        samples.append({"net_input": made["net_input"], "drafts": draft})
    return samples


def outputs(hypotheses: list) -> list[list[int]]:
    """Tokens of the best hypothesis of each sentence."""
    return [one[0]["tokens"].tolist() for one in hypotheses]


def agreement(
    decode: dict[str, Decoder],
    other: str,
    samples: list[dict[str, Any]],
    required: bool,
    expected: list[list[list[int]]] | None = None,
) -> str:
    """How many sentences come out as from stock, and in how many iterations.

    Args:
        expected: stock's outputs, where they are known.

    Raises:
        UserError: equal outputs are ``required``, and more than one in a hundred differs.
    """
    equal = total = steps = 0
    if expected is None:
        expected = [outputs(decode["stock"](sample)) for sample in samples]
    for sample, theirs in zip(samples, expected, strict=True):
        hypotheses = decode[other](sample)
        pairs = zip(outputs(hypotheses), theirs, strict=True)
        equal += sum(a == b for a, b in pairs)
        total += len(hypotheses)
        steps += sum(one[0]["steps"] for one in hypotheses)
    if required and equal < 0.99 * total:
        raise UserError(f"only {equal} of {total} outputs are stock's: no fair race")
    return f"{equal} of {total} outputs equal, {steps / total:.2f} iterations on average"


def time_decoding(peers: Peers, args: argparse.Namespace) -> tuple[list[Row], list[str]]:
    """Rows for every batch size, and what was equal."""
    special = peers.our_task.target_dictionary.nspecial
    decode = decoders(peers, args)
    rows, notes = [], []
    for side in SIDES:
        peers.model(side).eval()
    quantize([peers.ours], PRECISIONS[0])  # as fairseq-generate does before it decodes
    for size in args.batches:
        samples = decoding_samples(args, special, size)
        expected = [outputs(decode["stock"](sample)) for sample in samples]
        labels = RULES | {name: f"own rules, {name}" for name in peers.less}
        for name, label in labels.items():
            # half precision rounds differently in the two models and may turn a close decision
            required = name == "same" and precision(args) == "fp32"
            said = agreement(decode, name, samples, required, expected)
            notes.append(f"decoding, batch {size}, {label}: {said}")
        times: dict[str, list[float]] = {name: [] for name in decode}
        for number, sample in enumerate(samples):
            for name in list(decode) if number % 2 else reversed(list(decode)):
                times[name].append(_milliseconds(decode[name], sample, clock(args)))
        for name, label in labels.items():
            rows.append(row(f"decoding: batch {size}, {label}", times["stock"], times[name]))
        if args.drafts:
            notes.append(_drafted(decode["own"], samples, size, clock(args)))
    return rows, notes


def _milliseconds(decode: Decoder, sample: dict[str, Any], now: Callable[[], float]) -> float:
    started = now()
    decode(sample)
    return 1000 * (now() - started)


def _drafted(
    decode: Decoder, samples: list[dict[str, Any]], size: int, now: Callable[[], float]
) -> str:
    """Post-editing has no peer: its times stand alone."""
    drafted = [{**sample, "draft": sample["drafts"]} for sample in samples]
    steps = [one[0]["steps"] for sample in drafted for one in decode(sample)]
    times = [_milliseconds(decode, sample, now) for sample in drafted]
    return (
        f"post-editing, batch {size}: {median(times):.1f} ms, "
        f"{sum(steps) / len(steps):.2f} iterations on average (stock cannot take drafts)"
    )


# ---------------------------------------------------------------- memory


def peak_of_one_side(side: str, args: argparse.Namespace) -> dict[str, float]:
    """Peak memory of two updates on the largest batch, in MiB; runs in a process of its own."""
    peers = build_peers(args)
    special = peers.our_task.target_dictionary.nspecial
    largest = max(training_batches(args, special), key=lambda one: one["target"].numel())
    trainer = Trainer(peers, side, args)
    before = _memory(args.device, peak=False)
    for _ in range(2):
        trainer.update(largest)
    peak = _memory(args.device, peak=True)
    return {"peak": peak, "update": peak - before}


def _memory(device: str, peak: bool) -> float:
    """MiB in use, or at the most so far.

    Linux hands a parent's ``ru_maxrss`` down to its children, so ``VmHWM`` is read where it can be.
    """
    if device == "cuda":
        read = torch.cuda.max_memory_allocated if peak else torch.cuda.memory_allocated
        return read() / 2**20
    status = Path("/proc/self/status")
    if status.is_file():
        name = "VmHWM:" if peak else "VmRSS:"
        line = next(one for one in status.read_text().splitlines() if one.startswith(name))
        return int(line.split()[1]) / 2**10
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)


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
        row(name, [found["stock"][key]], [found["ours"][key]], "MiB") for key, name in names.items()
    ]


# ---------------------------------------------------------------- other kernels


def ratios_under(kernels_of: str, argv: Sequence[str]) -> dict[str, float]:
    """Ratios by the rows' names, measured in a process that takes the kernels of :data:`KERNELS`.

    Raises:
        UserError: it failed.
    """
    command = [sys.executable, str(Path(__file__).resolve()), *argv, "--no-memory", "--ratios"]
    environ = {**os.environ, **KERNELS[kernels_of]}
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"measuring with the kernels {kernels_of} failed: {last}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def table_of_kernels(names: Sequence[str], argv: Sequence[str]) -> str:
    """Stock over ours, a column for each choice of kernels."""
    columns = {name: ratios_under(name, argv) for name in names}
    rows = list(columns[names[0]])
    width = max(map(len, rows))
    lines = [f"{'':{width}}" + "".join(f"  {name:>10}" for name in names)]
    for one in rows:
        lines.append(f"{one:{width}}" + "".join(f"  {columns[name][one]:>10.2f}" for name in names))
    return "\n".join(lines)


# ---------------------------------------------------------------- the report


def table(rows: Sequence[Row]) -> str:
    """The rows under a head, ratios with the range over single pairs."""
    width = max(len(one.name) for one in rows)
    lines = [f"{'':{width}}  {'stock':>12}  {'ours':>12}  ratio  lowest … highest"]
    for one in rows:
        unit = f" {one.unit:>3}"
        lines.append(
            f"{one.name:{width}}  {one.stock:>8.1f}{unit}  {one.ours:>8.1f}{unit}  "
            f"{one.ratio:>5.2f}  {one.low:.2f} … {one.high:.2f}"
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
        "precision": precision(args),
        "layers": f"{args.layers}+{args.layers}",
        "dim": args.dim,
        "ffn": args.ffn,
        "heads": args.heads,
        "vocab": args.vocab,
        "tokens": args.tokens,
        "length": args.length,
        "steps": args.steps,
        "iterations": args.iterations,
        "clock": args.clock,
        "seed": args.seed,
    }
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
    add("--tokens", type=int, default=2000, help="tokens of a training batch (default 2000)")
    add("--length", type=int, default=25, help="mean length of a sentence (default 25)")
    add("--steps", type=int, default=5, help="measured batches (default 5)")
    add("--iterations", type=int, default=9, help="stock's --iter-decode-max-iter (default 9)")
    add("--threads", type=int, default=0, help="torch's threads (default: torch's own choice)")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default cpu)")
    add(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="wall: what one waits (default); cpu: what the process computes, all threads "
        "together, for a machine that others use meanwhile",
    )
    less = made.add_mutually_exclusive_group()
    less.add_argument("--bf16", action="store_true", help="parameters and activations in bfloat16")
    less.add_argument("--fp16", action="store_true", help="the same in half precision, for a GPU")
    add("--batches", default="1,64", help="sentences decoded at a time (default 1,64)")
    add(
        "--less",
        default="",
        metavar="PRECISIONS",
        help="also time ours with fewer bits against stock in fp32: bf16, int8 or bf16,int8",
    )
    add("--drafts", action="store_true", help="also time post-editing, which stock cannot do")
    add("--no-decoding", action="store_true", help="leave out what takes longest")
    add("--no-memory", action="store_true", help="leave out the two processes for the memory")
    add("--seed", type=int, default=1, help="of weights and sentences (default 1)")
    add(
        "--kernels",
        default="",
        metavar="NAMES",
        help=f"ratios alone, each under the kernels of another machine: {','.join(KERNELS)}",
    )
    add("--ratios", action="store_true", help=argparse.SUPPRESS)
    add("--memory-of", choices=SIDES, help=argparse.SUPPRESS)
    return made


def whole_numbers(flag: str, given: str) -> list[int]:
    """``1,64`` as numbers of 1 or more."""
    found = [int(one) for one in given.split(",") if one.isdecimal()]
    if len(found) != len(given.split(",")) or min(found) < 1:
        raise UserError(f"{flag} {given}: give numbers of 1 or more, such as 1,64")
    return found


def checked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parsed options.

    Raises:
        UserError: values that no model or batch can be made of.
    """
    args = parser().parse_args(argv)
    for name in ("layers", "dim", "ffn", "heads", "tokens", "length", "steps", "iterations"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name} {getattr(args, name)}: give 1 or more")
    if args.dim % args.heads:
        raise UserError(f"--heads {args.heads} does not divide --dim {args.dim}")
    args.batches = whole_numbers("--batches", args.batches)
    args.less = [one for one in args.less.split(",") if one]
    if not set(args.less) <= set(PRECISIONS[1:]):
        raise UserError(f"--less {','.join(args.less)}: bf16, int8 or both")
    args.kernels = [one for one in args.kernels.split(",") if one]
    if not set(args.kernels) <= set(KERNELS):
        raise UserError(f"--kernels {','.join(args.kernels)}: choose of {','.join(KERNELS)}")
    if args.vocab < 20:
        raise UserError(f"--vocab {args.vocab}: give 20 or more")
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
    noise = io.StringIO()  # stock's label code prints a line at every call
    if args.memory_of:
        with contextlib.redirect_stdout(noise):
            found = peak_of_one_side(args.memory_of, args)
        print(json.dumps(found))
        return 0
    given = list(sys.argv[1:] if argv is None else argv)
    if args.kernels:
        place = next(i for i, word in enumerate(given) if word.startswith("--kernels"))
        rest = given[:place] + given[place + 1 + (given[place] == "--kernels") :]
        print(table_of_kernels(args.kernels, rest))
        print("ratio: stock / ours of the medians, each column in a process of its own")
        print(signature(args))
        return 0
    memory = [] if args.no_memory or args.ratios else measure_memory(given)
    with contextlib.redirect_stdout(noise):
        peers = build_peers(args)
        notes = [check_training(peers, args)]
        rows = time_training(peers, args)
        script = Script(peers.our_task.target_dictionary.nspecial)
        decoding, more = [], []
        if not args.no_decoding:
            with scripted(peers, script):
                decoding, more = time_decoding(peers, args)
    if args.ratios:
        print(json.dumps({one.name: one.ratio for one in [*rows, *decoding]}))
        return 0
    print(table([*rows, *decoding, *memory]))
    print("ratio: stock / ours of the medians, above 1 ours is faster or smaller")
    for note in itertools.chain(notes, more):
        print(note)
    print(signature(args))
    return 0


if __name__ == "__main__":
    run_cli(main)
