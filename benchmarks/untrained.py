"""LevT beside fairseq's own with the same random weights: what speed.py updates and decoding time.

Untrained models neither delete nor insert sensibly. In decoding their heads are computed as ever,
but a script decides, the same for both. A sentence grows to the length of its source at once, in
one slot. Then about one in twenty-nine inner tokens goes, by a number made of the token, its
position and the whole sentence, and as many as are missing come, one for each slot from the left.
Special symbols are never written; other tokens are the model's choice. Sentences of 25 tokens take
two or three iterations (paper, Table 6: 2.43).
"""

import argparse
import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import common
import torch

# isort: split
from fairseq.criterions.nat_loss import LabelSmoothedDualImitationCriterion
from fairseq.dataclass.configs import FairseqConfig
from fairseq.iterative_refinement_generator import IterativeRefinementGenerator
from fairseq.models.nat.levenshtein_transformer import (
    LevenshteinTransformerModel,
    levenshtein_base_architecture,
)
from fairseq.optim.adam import Adam, FairseqAdamConfig
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

LABEL_SMOOTHING = 0.1
DROPOUT = 0.3
ITERATIONS = 9  # stock's --iter-decode-max-iter
SCRIPTED = 1e4  # a logit that no untrained head reaches
PERIOD = 29  # one in so many tokens goes
SPECIAL = 4  # symbols that are never written

Pairs = Sequence[tuple[Tensor, Tensor]]
Output = tuple[str, int]


class Peers(NamedTuple):
    """Both systems, with the same weights; ``less``: ours with fewer bits, by precision."""

    stock: LevenshteinTransformerModel
    stock_task: TranslationLevenshteinTask
    ours: LevenshteinEditorModel
    our_task: TranslationEditTask
    less: dict[str, LevenshteinEditorModel]


def build_peers(args: argparse.Namespace) -> Peers:
    """Returns stock's model with random weights, post-norm and with shared embeddings as in its
    recipe, and ours with the same (plus a row for ``<plh>``)."""
    torch.manual_seed(args.seed)
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
    # a GPU's graphs are of one kind of products
    names = [*args.less, *(["tf32"] if args.device == "cuda" else [])]
    return Peers(stock, stock_task, ours, our_task, {name: copy.deepcopy(ours) for name in names})


@torch.no_grad()
def check(peers: Peers, pairs: Pairs, args: argparse.Namespace) -> None:
    """Prints that both heads for inserting give equal labels and logits on the same states.

    Raises:
        UserError: they do not, so that the times would not be of the same work.
    """
    sample = peers.our_task.with_states(common.batch(pairs, args.device), 1)
    source, states = sample["net_input"], sample["states"]
    peers.stock.eval()
    peers.ours.eval()
    sides = source["src_tokens"], source["src_lengths"]
    with common.quiet():
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
    print(f"labels equal, logits of the insertion heads within {worst:.1e}")


# ---------------------------------------------------------------- updates


def updates(peers: Peers, args: argparse.Namespace) -> dict[str, Callable[[Pairs], list[Output]]]:
    """Returns what makes an update of each system: states, labels, gradients, fairseq's Adam.

    ``stock``: as without the package. ``tf32``: ours as a GPU trains it by default. ``bf16``: ours
    as ``fairseq-train --bf16`` trains it, a model in bf16 and its master copy in fp32.
    """
    criterion = LabelSmoothedDualImitationCriterion(peers.stock_task, LABEL_SMOOTHING)
    config = EditPolicyLossConfig(label_smoothing=LABEL_SMOOTHING)

    def stock_loss(sample: dict[str, Any]) -> Tensor:
        noisy = peers.stock_task.inject_noise(sample["target"])
        loss, size, _ = criterion(peers.stock, {**sample, "prev_target": noisy})
        return loss / size

    def our_loss(model: Any, sample: dict[str, Any]) -> Tensor:
        own = EditPolicyLoss(peers.our_task, config)
        loss, size, _ = own(model, peers.our_task.with_states(sample, 1))
        return loss / size

    def update(model: Any, loss: Any, optimizer: Any, settings: Any, pairs: Pairs) -> list[Output]:
        with settings(), common.quiet():  # stock's label code prints a line at every call
            model.train()
            optimizer.zero_grad()
            value = loss(common.batch(pairs, args.device))
            getattr(optimizer, "backward", Tensor.backward)(value)
            optimizer.step()
        return [("", 1)] * len(pairs)

    # a rate of 0 takes the same time and leaves the weights as they are
    adam = {"lr": 0.0, "betas": (0.9, 0.98)}
    stock = common.StockAdam(peers.stock.parameters(), **adam)
    settings = partial(common.torch_settings, cudnn=True)
    systems = {"stock": partial(update, peers.stock, stock_loss, stock, settings)}
    for name in ("ours", *peers.less):
        model = copy.deepcopy(peers.ours)
        optimizer: Any = Adam(model.parameters(), **adam)
        if name == "bf16":
            model = model.to(torch.bfloat16)
            cfg = OmegaConf.structured(FairseqConfig())
            cfg.common.bf16 = True
            words = {"_name": "adam", "lr": [0.0], "adam_betas": "(0.9, 0.98)"}
            cfg.optimizer = OmegaConf.merge(OmegaConf.structured(FairseqAdamConfig()), words)
            learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
            optimizer = FP16Optimizer.build_optimizer(cfg, learnt)
        settings = partial(common.torch_settings, tf32=name == "tf32")
        systems[name] = partial(update, model, partial(our_loss, model), optimizer, settings)
    return systems


# ---------------------------------------------------------------- decoding


def decoding(peers: Peers, args: argparse.Namespace) -> dict[str, Callable[[Pairs], list[Output]]]:
    """Returns stock's decoder, ours with stock's rules, and ours with its own (the paper's
    Algorithm 2), as fairseq-generate prepares them; the script decides in all models from now on.
    """
    peers.stock.eval()
    for name, model in {PRECISIONS[0]: peers.ours, **peers.less}.items():
        prepare_for_decoding([model.eval()], name if name in PRECISIONS else PRECISIONS[0])
    script(peers.stock, [peers.ours, *peers.less.values()])
    symbols, task = peers.stock_task.target_dictionary, peers.our_task
    stock = IterativeRefinementGenerator(symbols, max_iter=ITERATIONS)
    options = RefinementOptions(max_iter=ITERATIONS + 1)
    same, own = (
        kind(task.target_dictionary, task.placeholder, options)
        for kind in (StockGenerator, RefinementGenerator)
    )

    def decode(generator: Any, model: Any, name: str, pairs: Pairs) -> list[Output]:
        sample = {"net_input": common.batch(pairs, args.device)["net_input"]}
        with common.torch_settings(tf32=name == "tf32"):
            found = generator.generate([model], sample)
        return [(str(best["tokens"].tolist()), int(best["steps"])) for best, *_ in found]

    systems = {
        "stock": partial(decode, stock, peers.stock, "stock"),
        "ours, stock's rules": partial(decode, same, peers.ours, "same"),
        "ours": partial(decode, own, peers.ours, "own"),
    }
    systems |= {name: partial(decode, own, model, name) for name, model in peers.less.items()}
    return systems


def deletion(tokens: Tensor, logits: Tensor) -> Tensor:
    """Decides B × T × 2."""
    position = torch.arange(tokens.size(1), device=tokens.device)
    state = (tokens * position * (tokens != 1)).sum(1)[:, None]
    goes = (13 * tokens + 7 * position * position + state) % PERIOD == 0
    logits[..., 1] = torch.where(goes, SCRIPTED, -SCRIPTED).to(logits)
    return logits


def placeholder(tokens: Tensor, wanted: Tensor, logits: Tensor) -> Tensor:
    """Decides B × (T − 1) × (K + 1); ``wanted``: B, length with <s> and </s>."""
    slot = torch.arange(logits.size(1), device=tokens.device)
    lengths = tokens.ne(1).sum(1)
    missing = (wanted - lengths).clip(0)[:, None]
    slots = (lengths - 1)[:, None]
    counts = missing // slots + (slot < missing % slots)
    counts = counts.clamp(max=logits.size(2) - 1)
    return logits.scatter(2, counts.unsqueeze(2), SCRIPTED)


def token(logits: Tensor) -> Tensor:
    """Decides … × V."""
    logits[..., :SPECIAL] = -SCRIPTED
    return logits


def script(stock: Any, ours: Iterable[Any]) -> None:
    """Lets the script decide in fairseq's model and in ours; every head is still computed."""
    decoder = stock.decoder
    delete, insert, fill = (
        getattr(decoder, f"forward_{name}") for name in ("word_del", "mask_ins", "word_ins")
    )

    def word_del(prev_output_tokens: Tensor, **options: Any) -> Any:
        out, attention = delete(prev_output_tokens=prev_output_tokens, **options)
        return deletion(prev_output_tokens, out), attention

    def mask_ins(prev_output_tokens: Tensor, encoder_out: Any, **options: Any) -> Any:
        inputs = {"prev_output_tokens": prev_output_tokens, "encoder_out": encoder_out}
        out, attention = insert(**inputs, **options)
        wanted = (~encoder_out["encoder_padding_mask"][0]).sum(1)
        return placeholder(prev_output_tokens, wanted, out), attention

    def word_ins(**options: Any) -> Any:
        out, attention = fill(**options)
        return token(out), attention

    for head in (word_del, mask_ins, word_ins):
        vars(decoder)[f"forward_{head.__name__}"] = head
    for model in ours:
        vars(model)["head_logits"] = partial(decided, model, model.head_logits)


def decided(model: Any, logits: Any, head: str, features: Tensor, state: Any) -> Tensor:
    """Returns the script's decisions in the place of one of our heads."""
    out: Tensor = logits(head, features, state)
    if head == "deletion":
        return deletion(state.tokens, out)
    if head == "token":
        return token(out)
    return placeholder(state.tokens, state.encoder_out.source.ne(model.pad).sum(1), out)
