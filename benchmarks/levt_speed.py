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
import json
import sys
import unittest.mock
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
from fairseq.dataclass.configs import FairseqConfig  # noqa: E402
from fairseq.iterative_refinement_generator import IterativeRefinementGenerator  # noqa: E402
from fairseq.models.nat.levenshtein_transformer import (  # noqa: E402
    LevenshteinTransformerModel,
    levenshtein_base_architecture,
)
from fairseq.optim.adam import FairseqAdamConfig  # noqa: E402
from fairseq.optim.fp16_optimizer import FP16Optimizer  # noqa: E402
from fairseq.tasks.translation_lev import (  # noqa: E402
    TranslationLevenshteinConfig,
    TranslationLevenshteinTask,
)
from omegaconf import OmegaConf  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks import side_by_side, workload  # noqa: E402
from benchmarks.side_by_side import Row  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.nn import cpu  # noqa: E402
from lev_plugins.nn.precision import PRECISIONS, quantize  # noqa: E402
from lev_plugins.systems.levenshtein import LevenshteinEditorModel  # noqa: E402
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss  # noqa: E402
from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions  # noqa: E402
from lev_plugins.systems.levenshtein.roll_in import expert_labels  # noqa: E402
from lev_plugins.systems.levenshtein.stock import editor_config  # noqa: E402
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask  # noqa: E402

SIDES = ("stock", "ours")
SIZES = ("dim", "ffn", "heads", "vocab", "tokens", "length", "steps", "iterations")
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


def stock_options(args: argparse.Namespace) -> Namespace:
    """Options of fairseq's model, post-norm and shared embeddings as in its recipe."""
    options = workload.transformer_options(
        args,
        early_exit=",".join([str(args.layers)] * 3),
        dropout=DROPOUT,
        label_smoothing=LABEL_SMOOTHING,
        left_pad_source=True,
        left_pad_target=False,
    )
    levenshtein_base_architecture(options)
    return options


def build_peers(args: argparse.Namespace) -> Peers:
    """Stock's model with random weights, and ours with the same (plus a row for ``<plh>``)."""
    torch.manual_seed(args.seed)
    options = stock_options(args)
    symbols = workload.dictionary(args.vocab)
    stock_task = TranslationLevenshteinTask(TranslationLevenshteinConfig(), symbols, symbols)
    stock = LevenshteinTransformerModel.build_model(options, stock_task)
    for head in (stock.decoder.embed_mask_ins, stock.decoder.embed_word_del):
        # fairseq zeroes them, taking "no padding row" for every row: zeros would compare equal
        torch.nn.init.normal_(head.weight, std=args.dim**-0.5)
    symbols = workload.dictionary(args.vocab)
    our_task = TranslationEditTask(TranslationEditConfig(seed=args.seed), symbols, symbols)
    ours = LevenshteinEditorModel.build_model(editor_config(options), our_task)
    ours.load_state_dict(stock.state_dict())
    for model in (stock, ours):
        model.to(args.device, side_by_side.precision(args))
    less = {name: copy.deepcopy(ours).eval() for name in args.less}
    for name, reduced in less.items():
        quantize([reduced], name)
    return Peers(stock, stock_task, ours, our_task, less)


def training_batches(args: argparse.Namespace, special: int) -> list[dict[str, Any]]:
    """``--steps`` batches of at most ``--tokens`` padded tokens, sentences of like length."""
    pool = max(64, 2 * args.steps * args.tokens // args.length)
    pairs = sorted(workload.sentences(pool, args, special), key=lambda pair: max(map(len, pair)))
    groups: list[list[tuple[Tensor, Tensor]]] = [[]]
    for pair in pairs:  # the longest comes last, so its length is the width
        if groups[-1] and (len(groups[-1]) + 1) * max(map(len, pair)) > args.tokens:
            groups.append([])
        groups[-1].append(pair)
    spread = torch.linspace(0, len(groups) - 1, args.steps + 2)[1:-1].round().long().tolist()
    return [workload.batch(groups[i], args.device) for i in spread]


# ---------------------------------------------------------------- training


def criteria(peers: Peers) -> dict[str, Any]:
    """Both losses with fairseq's label smoothing."""
    ours = EditPolicyLoss(peers.our_task, LABEL_SMOOTHING, 0.01, 1.0, 1.0, 1.0)
    return {
        "stock": LabelSmoothedDualImitationCriterion(peers.stock_task, LABEL_SMOOTHING),
        "ours": ours,
    }


class Trainer(workload.Trainer):
    """One system's update: states and labels before what every update has."""

    def __init__(self, peers: Peers, side: str, args: argparse.Namespace) -> None:
        super().__init__(peers.model(side), args)
        self.peers, self.side, self.criterion = peers, side, criteria(peers)[side]

    def loss(self, sample: dict[str, Any]) -> Tensor:
        if self.side == "stock":
            noisy = self.peers.stock_task.inject_noise(sample["target"])
            sample = {**sample, "prev_target": noisy}
        else:
            sample = self.peers.our_task.with_roll_in(sample, 1)
        loss, size, _ = self.criterion(self.model, sample)
        return loss / size


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

    def backward(self, loss: Tensor) -> None:
        self.optimizer.backward(loss)


def time_training(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Gradients and whole updates on the same batches."""
    special = peers.our_task.target_dictionary.nspecial
    batches = training_batches(args, special)
    trainers: dict[str, Trainer] = {side: Trainer(peers, side, args) for side in SIDES}
    if "bf16" in args.less:
        trainers["bf16"] = Bf16Trainer(peers, args)
    times = workload.time_updates(trainers, batches)
    names = ("training: gradients", "training: update with Adam")
    return [
        side_by_side.row(
            name + (f", ours in {side}" if side != "ours" else ""),
            times["stock"][part],
            times[side][part],
            of_medians=True,
        )
        for side in list(trainers)[1:]
        for part, name in enumerate(names)
    ]


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
    if worst > (1e-3 if side_by_side.precision(args) is torch.float32 else 1.0):
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
    """Stock's decoder, ours with stock's rules, and ours with its own (the paper's Algorithm 2).

    Both models are set for decoding.
    """
    for side in SIDES:
        peers.model(side).eval()
    quantize([peers.ours], PRECISIONS[0])  # as fairseq-generate does before it decodes
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
    for name, model in peers.less.items():
        found[name] = lambda sample, model=model: own.generate([model], sample)
    return found


def decoding_samples(args: argparse.Namespace, special: int, size: int) -> list[dict[str, Any]]:
    """Batches of ``size`` sources with drafts: three per step at size 1, else one."""
    count = args.steps * (3 if size == 1 else 1)
    samples = []
    for _ in range(count):
        made = workload.batch(workload.sentences(size, args, special), args.device)
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
    for size in args.batches:
        samples = decoding_samples(args, special, size)
        expected = [outputs(decode["stock"](sample)) for sample in samples]
        labels = RULES | {name: f"own rules, {name}" for name in peers.less}
        for name, label in labels.items():
            # half precision rounds differently in the two models and may turn a close decision
            required = name == "same" and side_by_side.precision(args) is torch.float32
            said = agreement(decode, name, samples, required, expected)
            notes.append(f"decoding, batch {size}, {label}: {said}")
        times = side_by_side.milliseconds(decode, samples, side_by_side.clock(args))
        for name, label in labels.items():
            title, both = f"decoding: batch {size}, {label}", (times["stock"], times[name])
            rows.append(side_by_side.row(title, *both, of_medians=True))
        if args.drafts:
            notes.append(_drafted(decode["own"], samples, size, side_by_side.clock(args)))
    return rows, notes


def _drafted(
    decode: Decoder, samples: list[dict[str, Any]], size: int, now: Callable[[], float]
) -> str:
    """Post-editing has no peer: its times stand alone."""
    drafted = [{**sample, "draft": sample["drafts"]} for sample in samples]
    steps = [one[0]["steps"] for sample in drafted for one in decode(sample)]
    times = side_by_side.milliseconds({"own": decode}, drafted, now)
    return (
        f"post-editing, batch {size}: {median(times['own']):.1f} ms, "
        f"{sum(steps) / len(steps):.2f} iterations on average (stock cannot take drafts)"
    )


# ---------------------------------------------------------------- what each mechanism is worth

NEVER = 2**60
#: what ``nn/cpu.py`` does: the name there, the value that switches it off, and where it counts
MECHANISMS: dict[str, tuple[str, Any, tuple[str, ...]]] = {
    "prepacking": ("LEAST_READY", dict.fromkeys(cpu.LEAST_READY, NEVER), ("bf16 1", "bf16 64")),
    "row-padding": ("ROWS_AN_OCTAVE", NEVER, ("bf16 64",)),
    "attention": ("MOST_SCORES", -1, ("bf16 update",)),
    "dropout": ("LEVELS", 1, ("fp32 update", "bf16 update")),
    "tiles": ("LEAST_TILED", NEVER, ("int8 64",)),
}


def time_without(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Ours as it is (second) beside ours without one mechanism, in turn, for each that is asked."""
    special, rows = peers.our_task.target_dictionary.nspecial, []
    with scripted(peers, Script(special)):
        decode = decoders(peers, args)
        for name in args.without:
            constant, off, parts = MECHANISMS[name]
            for part in parts:
                kind, what = part.split()
                if what == "update":
                    half = kind == "bf16"
                    trainer = Bf16Trainer(peers, args) if half else Trainer(peers, "ours", args)
                    work: Callable[[Any], object] = trainer.update
                    samples = training_batches(args, special)
                else:
                    work, samples = decode[kind], decoding_samples(args, special, int(what))

                def less(sample: Any, work: Callable[[Any], object] = work) -> None:
                    with unittest.mock.patch.object(cpu, constant, off):  # noqa: B023
                        work(sample)

                work(samples[0])
                sides = {"without": less, "ours": work}
                times = side_by_side.milliseconds(sides, samples, side_by_side.clock(args))
                title = f"{part} without {name}"
                rows.append(side_by_side.row(title, times["without"], times["ours"]))
    return rows


# ---------------------------------------------------------------- memory and other kernels


def peak_of_one_side(side: str, args: argparse.Namespace) -> dict[str, float]:
    """Peak memory of two updates, in MiB; runs in a process of its own."""
    peers = build_peers(args)
    batches = training_batches(args, peers.our_task.target_dictionary.nspecial)
    return workload.peak_of_updates(Trainer(peers, side, args), batches, args.device)


def table_of_kernels(names: Sequence[str], argv: Sequence[str]) -> str:
    """Stock over ours, a column for each choice of kernels of :data:`KERNELS`."""
    command = [__file__, *argv, "--no-memory", "--ratios"]
    columns = {
        name: side_by_side.from_own_process(f"with the kernels {name}", command, **KERNELS[name])
        for name in names
    }
    rows = list(columns[names[0]])
    width = max(map(len, rows))
    lines = [f"{'':{width}}" + "".join(f"  {name:>10}" for name in names)]
    for one in rows:
        lines.append(f"{one:{width}}" + "".join(f"  {columns[name][one]:>10.2f}" for name in names))
    return "\n".join(lines)


# ---------------------------------------------------------------- the report


def described(args: argparse.Namespace) -> str:
    """What the numbers depend on, on one line."""
    layers = f"{args.layers}+{args.layers}"
    return side_by_side.signature(side_by_side.surroundings(args, SIZES, layers=layers))


def parser() -> argparse.ArgumentParser:
    """The options."""
    numbers = {"--tokens": 2000, "--length": 25, "--steps": 5, "--iterations": 9}
    made = side_by_side.parser_with(__doc__, side_by_side.LARGE | numbers)
    side_by_side.add_clock_options(made)
    add = made.add_argument
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
    add(
        "--without",
        default="",
        metavar="NAMES",
        help=f"only ours, as it is and without one of its mechanisms: {','.join(MECHANISMS)}",
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
    workload.check_sizes(args, ("layers", *(name for name in SIZES if name != "vocab")))
    args.batches = whole_numbers("--batches", args.batches)
    args.less = [one for one in args.less.split(",") if one]
    if not set(args.less) <= set(PRECISIONS[1:]):
        raise UserError(f"--less {','.join(args.less)}: bf16, int8 or both")
    for flag, known in (("kernels", KERNELS), ("without", MECHANISMS)):
        found = [one for one in getattr(args, flag).split(",") if one]
        if not set(found) <= set(known):
            raise UserError(f"--{flag} {','.join(found)}: choose of {','.join(known)}")
        setattr(args, flag, found)
    if args.without:
        args.less = list(PRECISIONS[1:])
    return args


def checked_for(given: argparse.Namespace, **more: Any) -> argparse.Namespace:
    """Another script's options, those that it shares with this one checked as here.

    Args:
        more: what its options stand for, in their place.
    """
    own = vars(parser().parse_args([]))
    flags = [f"--{name}={value}" for name, value in vars(given).items() if name in own]
    return argparse.Namespace(**{**vars(given), **vars(checked(flags)), **more})


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    args = checked(argv)
    side_by_side.settle(args)
    if args.memory_of:
        with side_by_side.quiet():  # stock's label code prints a line at every call
            found = peak_of_one_side(args.memory_of, args)
        print(json.dumps(found))
        return 0
    given = list(sys.argv[1:] if argv is None else argv)
    if args.kernels:
        place = next(i for i, word in enumerate(given) if word.startswith("--kernels"))
        rest = given[:place] + given[place + 1 + (given[place] == "--kernels") :]
        print(table_of_kernels(args.kernels, rest))
        print("ratio: stock / ours of the medians, each column in a process of its own")
        print(described(args))
        return 0
    if args.without:
        with side_by_side.quiet():
            rows = time_without(build_peers(args), args)
        print(side_by_side.table(rows, ("without", "ours"), digits=1), described(args), sep="\n")
        return 0
    memory = []
    if not (args.no_memory or args.ratios):
        memory = side_by_side.memory_rows(__file__, SIDES, given)
    with side_by_side.quiet():
        peers = build_peers(args)
        notes = [check_training(peers, args)]
        rows = time_training(peers, args)
        script = Script(peers.our_task.target_dictionary.nspecial)
        if not args.no_decoding:
            with scripted(peers, script):
                decoding, more = time_decoding(peers, args)
            rows, notes = rows + decoding, notes + more
    if args.ratios:
        print(json.dumps({one.name: one.ratio for one in rows}))
        return 0
    print(side_by_side.table([*rows, *memory], SIDES, "ratio", digits=1))
    print("ratio: stock / ours of the medians, above 1 ours is faster or smaller")
    print(*notes, described(args), sep="\n")
    return 0


if __name__ == "__main__":
    run_cli(main)
