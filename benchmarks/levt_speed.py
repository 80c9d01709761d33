"""Training updates and decoding of ``levenshtein_editor`` against fairseq's own Levenshtein model.

    python benchmarks/levt_speed.py --threads 1

One run builds both models with the same weights and gives them the same batches, one after the
other and in changing order, so that a busy machine slows both. First it checks that both do the
same work: equal labels and logits in training, equal outputs in decoding. Each ratio is the
median time of stock over the median of ours: above 1 ours is faster.

Untrained models neither delete nor insert sensibly. In decoding their heads are computed as ever,
but what they decide comes from a script (scripted.py), the same for both.
"""

import argparse
import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import common
import torch
from common import Row
from scripted import scripted

# isort: split
from fairseq.criterions.nat_loss import LabelSmoothedDualImitationCriterion
from fairseq.dataclass.configs import FairseqConfig
from fairseq.iterative_refinement_generator import IterativeRefinementGenerator
from fairseq.models.nat.levenshtein_transformer import (
    LevenshteinTransformerModel,
    levenshtein_base_architecture,
)
from fairseq.optim.adam import FairseqAdamConfig
from fairseq.optim.fp16_optimizer import FP16Optimizer
from fairseq.tasks.translation_lev import (
    TranslationLevenshteinConfig,
    TranslationLevenshteinTask,
)
from omegaconf import OmegaConf
from torch import Tensor

from lev_plugins.nn.precision import PRECISIONS, prepare_for_decoding
from lev_plugins.systems.levenshtein import LevenshteinEditorModel
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss, EditPolicyLossConfig
from lev_plugins.systems.levenshtein.generator import RefinementGenerator, RefinementOptions
from lev_plugins.systems.levenshtein.stock import editor_config
from lev_plugins.systems.levenshtein.stock_decoding import StockGenerator
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli

SIDES = ("stock", "ours")
LABEL_SMOOTHING = 0.1
DROPOUT = 0.3
ITERATIONS = 9  # stock's --iter-decode-max-iter


# ---------------------------------------------------------------- models and data


class Peers(NamedTuple):
    """Both systems, with the same weights; ``less``: ours with fewer bits, by precision."""

    stock: LevenshteinTransformerModel
    stock_task: TranslationLevenshteinTask
    ours: LevenshteinEditorModel
    our_task: TranslationEditTask
    less: dict[str, LevenshteinEditorModel]


def build_peers(args: argparse.Namespace) -> Peers:
    """Stock's model with random weights, post-norm and with shared embeddings as in its recipe, and
    ours with the same (plus a row for ``<plh>``)."""
    options = common.transformer_options(
        args,
        early_exit=",".join([str(args.layers)] * 3),
        dropout=DROPOUT,
        label_smoothing=LABEL_SMOOTHING,
        left_pad_source=True,
        left_pad_target=False,
    )
    levenshtein_base_architecture(options)
    symbols = common.dictionary(args.vocab)
    stock_task = TranslationLevenshteinTask(TranslationLevenshteinConfig(), symbols, symbols)
    stock = LevenshteinTransformerModel.build_model(options, stock_task)
    for head in (stock.decoder.embed_mask_ins, stock.decoder.embed_word_del):
        # fairseq zeroes them, taking "no padding row" for every row: zeros would compare equal
        torch.nn.init.normal_(head.weight, std=args.dim**-0.5)
    symbols = common.dictionary(args.vocab)
    our_task = TranslationEditTask(TranslationEditConfig(seed=args.seed), symbols, symbols)
    ours = LevenshteinEditorModel.build_model(editor_config(options), our_task)
    ours.load_state_dict(stock.state_dict())
    for model in (stock, ours):
        model.to(args.device, torch.bfloat16 if args.bf16 else torch.float32)
    less = {name: copy.deepcopy(ours).eval() for name in args.less}
    for name, reduced in less.items():
        prepare_for_decoding([reduced], name)
    if args.device == "cuda":  # whose graphs are of one kind of products
        less["tf32"] = copy.deepcopy(ours).eval()
        prepare_for_decoding([less["tf32"]], PRECISIONS[0])
    return Peers(stock, stock_task, ours, our_task, less)


def training_batches(args: argparse.Namespace) -> list[dict[str, Any]]:
    """``--steps`` batches of at most ``--tokens`` padded tokens, sentences of like length."""
    pool = max(64, 2 * args.steps * args.tokens // args.length)
    pairs = sorted(common.sentences(pool, args), key=lambda pair: max(map(len, pair)))
    groups: list[list[tuple[Tensor, Tensor]]] = [[]]
    for pair in pairs:  # the longest comes last, so its length is the width
        if groups[-1] and (len(groups[-1]) + 1) * max(map(len, pair)) > args.tokens:
            groups.append([])
        groups[-1].append(pair)
    spread = torch.linspace(0, len(groups) - 1, args.steps + 2)[1:-1].round().long().tolist()
    return [common.batch(groups[i], args.device) for i in spread]


def decoding_samples(args: argparse.Namespace, size: int) -> list[dict[str, Any]]:
    """Batches of ``size`` sources: three per step at size 1, else one."""
    count = args.steps * (3 if size == 1 else 1)
    batches = (common.batch(common.sentences(size, args), args.device) for _ in range(count))
    return [{"net_input": batch["net_input"]} for batch in batches]


# ---------------------------------------------------------------- training


def updates(peers: Peers, side: str, args: argparse.Namespace) -> common.Updates:
    """One system's update, states and labels made in it.

    ``stock``: as without the package. ``tf32``: ours as a GPU trains it by default.
    ``bf16``: ours as ``fairseq-train --bf16`` trains it, a model in bf16 and its master copy in
    fp32.
    """
    if side == "stock":
        stock = LabelSmoothedDualImitationCriterion(peers.stock_task, LABEL_SMOOTHING)

        def stock_loss(sample: dict[str, Any]) -> Tensor:
            noisy = peers.stock_task.inject_noise(sample["target"])
            loss, size, _ = stock(peers.stock, {**sample, "prev_target": noisy})
            return loss / size

        trainer = common.Updates(peers.stock, stock_loss, args)
        trainer.optimizer = common.StockAdam(peers.stock.parameters(), lr=0.0, betas=(0.9, 0.98))
        trainer.settings = partial(common.torch_settings, cudnn=True)
        return trainer
    model = peers.ours
    if side == "bf16":
        model = copy.deepcopy(model).to(torch.bfloat16)
    criterion = EditPolicyLoss(
        peers.our_task, EditPolicyLossConfig(label_smoothing=LABEL_SMOOTHING)
    )

    def our_loss(sample: dict[str, Any]) -> Tensor:
        loss, size, _ = criterion(model, peers.our_task.with_states(sample, 1))
        return loss / size

    trainer = common.Updates(model, our_loss, args)
    trainer.settings = partial(common.torch_settings, tf32=side == "tf32")
    if side == "bf16":
        cfg = OmegaConf.structured(FairseqConfig())
        cfg.common.bf16 = True
        adam = {"_name": "adam", "lr": [0.0], "adam_betas": "(0.9, 0.98)"}
        cfg.optimizer = OmegaConf.merge(OmegaConf.structured(FairseqAdamConfig()), adam)
        learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
        trainer.optimizer = FP16Optimizer.build_optimizer(cfg, learnt)
        trainer.backward = trainer.optimizer.backward
    return trainer


def time_training(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Gradients and whole updates on the same batches."""
    sides = [*SIDES, *(["tf32"] if args.device == "cuda" else [])]
    sides += ["bf16"] if "bf16" in args.less else []
    batches = training_batches(args)
    trainers = {side: updates(peers, side, args) for side in sides}
    times = common.time_updates(trainers, batches)
    names = ("training: gradients", "training: update with Adam")
    return [
        (
            name + (f", ours in {side}" if side != "ours" else ""),
            times["stock"][part],
            times[side][part],
        )
        for side in sides[1:]
        for part, name in enumerate(names)
    ]


@torch.no_grad()
def check_training(peers: Peers, args: argparse.Namespace) -> str:
    """Both heads for inserting, on the same states: equal labels, equal logits.

    Raises:
        UserError: they are not, so that the times would not be of the same work.
    """
    sample = peers.our_task.with_states(training_batches(args)[0], 1)
    source, states = sample["net_input"], sample["states"]
    peers.stock.eval()
    peers.ours.eval()
    sides = source["src_tokens"], source["src_lengths"]
    stock = peers.stock(*sides, states.insertion.before, sample["target"])
    ours = peers.ours(*sides, states)
    worst = 0.0
    for name, head in (("placeholder", "mask_ins"), ("token", "word_ins")):
        theirs = {key: stock[head][key][stock[head]["mask"]] for key in ("out", "tgt")}
        logits, labels = ours[name]
        if not torch.equal(labels, theirs["tgt"]):
            raise UserError(f"the labels of the {name} head differ from stock's: no fair race")
        difference = logits[:, : theirs["out"].size(1)] - theirs["out"]
        worst = max(worst, float(difference.abs().max()))
    if worst > (1.0 if args.bf16 else 1e-3):
        raise UserError(f"logits differ from stock's by up to {worst:g}: no fair race")
    return f"training: labels equal, logits of the insertion heads within {worst:.1e}"


# ---------------------------------------------------------------- decoding


Decoder = Callable[[dict[str, Any]], list[Any]]


def decoders(peers: Peers) -> dict[str, Decoder]:
    """Stock's decoder, ours with stock's rules, and ours with its own (the paper's Algorithm 2).

    Both models are set for decoding.
    """
    peers.stock.eval()
    prepare_for_decoding(
        [peers.ours.eval()], PRECISIONS[0]
    )  # as fairseq-generate does before it decodes
    symbols, task = peers.stock_task.target_dictionary, peers.our_task
    stock = IterativeRefinementGenerator(symbols, max_iter=ITERATIONS)
    same, own = (
        kind(
            task.target_dictionary,
            task.placeholder,
            RefinementOptions(max_iter=ITERATIONS + 1),
        )
        for kind in (StockGenerator, RefinementGenerator)
    )
    decode: dict[str, Decoder] = {
        "stock": partial(stock.generate, [peers.stock]),
        "same": partial(same.generate, [peers.ours]),
        "own": partial(own.generate, [peers.ours]),
    }
    for name, model in peers.less.items():  # single precision multiplied as TF32 if wanted
        settings = common.torch_settings(tf32=name == "tf32")
        decode[name] = settings(partial(own.generate, [model]))
    return decode


def agreement(
    decode: dict[str, Decoder], other: str, samples: Sequence[dict[str, Any]], least: float
) -> str:
    """How many sentences come out as from stock, and in how many iterations.

    Raises:
        UserError: they are less than a share ``least`` of all, so that the times would not be of
            the same work.
    """
    equal = total = steps = 0
    for sample in samples:
        both = zip(decode["stock"](sample), decode[other](sample), strict=True)
        for (theirs, *_), (ours, *_) in both:
            equal += theirs["tokens"].tolist() == ours["tokens"].tolist()
            steps += ours["steps"]
            total += 1
    if equal < least * total:
        raise UserError(f"only {equal} of {total} outputs are stock's: no fair race")
    return f"{equal} of {total} outputs equal, {steps / total:.2f} iterations on average"


def time_decoding(peers: Peers, args: argparse.Namespace) -> tuple[list[Row], list[str]]:
    """Rows for every batch size, and what was equal."""
    decode = decoders(peers)
    rows, notes = [], []
    labels = {"same": "stock's rules", "own": "own rules"}
    labels |= {name: f"own rules, {name}" for name in peers.less}
    for size in args.batches:
        samples = decoding_samples(args, size)
        for name, label in labels.items():
            # half precision rounds differently in the two models and may turn a close decision
            least = 0.99 if name == "same" and not args.bf16 else 0.25
            equal = agreement(decode, name, samples, least)
            notes.append(f"decoding, batch {size}, {label}: {equal}")
            if args.device == "cuda":  # a shape is a graph from its second time on
                for sample in samples:
                    decode[name](sample)
        times = common.milliseconds(decode, samples, common.clock(args))
        for name, label in labels.items():
            title = f"decoding: batch {size}, {label}"
            rows.append((title, times["stock"], times[name]))
    return rows, notes


# ---------------------------------------------------------------- the report


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options."""
    options = common.make_parser(description)
    add = options.add_argument
    add("--bf16", action="store_true", help="parameters and activations of both in bfloat16")
    add("--batches", type=lambda text: [common.count(size) for size in text.split(",")],
        default=[1, 64], help="sentences decoded at a time (default: 1,64)")  # fmt: skip
    add("--less", nargs="*", choices=PRECISIONS[1:], default=[], help="also time ours with fewer "
        "bits against stock in fp32")  # fmt: skip
    add("--no-decoding", action="store_true", help="leave out what takes longest")
    return options


def ready(args: argparse.Namespace) -> argparse.Namespace:
    """Returns the options; torch's threads and seed are set."""
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    args = ready(parser(__doc__).parse_args(argv))
    with common.quiet():  # stock's label code prints a line at every call
        peers = build_peers(args)
        notes = [check_training(peers, args)]
        rows = time_training(peers, args)
        if not args.no_decoding:
            with scripted(peers.stock, [peers.ours, *peers.less.values()]):
                decoding, more = time_decoding(peers, args)
            rows, notes = rows + decoding, notes + more
    print(common.table(rows, SIDES))
    print("ratio: stock / ours of the medians, above 1 ours is faster")
    print(*notes, common.signature(args, bf16=args.bf16), sep="\n")
    return 0


if __name__ == "__main__":
    run_cli(main)
