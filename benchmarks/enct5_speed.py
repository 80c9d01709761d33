"""EncT5 against a T5 of the same size that writes the tags, or the label, as text.

    python benchmarks/enct5_speed.py --threads 1

One run builds both with random weights and gives them the same batches, one after the other and
in changing order, so that a busy machine slows both. Each ratio is T5's time over EncT5's.

T5 is ``gated_transformer --gates none`` with the plan of a T5 1.1. It writes one subword a tag, and
``</s>``, greedily and with the keys and values of earlier tokens kept. Untrained models would not
know when to stop, so every output has the length that it has to have. T5 is given every advantage:
no beams, no search around the loop, no attention weights to be returned, and one token a word (the
paper's T5 writes a sentinel before each tag, §4.3, and so twice as many).
"""

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import common
import torch
from common import Row

# isort: split
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.nn.precision import PRECISIONS, quantize
from lev_plugins.nn.t5 import T5Size
from lev_plugins.systems.enct5 import EncT5Model
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

SIDES = ("t5", "enct5")
KINDS = {ProblemType.TAGGING: 17, ProblemType.CLASSIFICATION: 2}  # and how many tags or classes
BATCH_SIZES = (1, 32)
EOS, ENCT5_EOS = 2, 1  # </s> of fairseq's dictionary, and of T5's own
SPECIAL = 4  # symbols before the first subword
PIECES = (0.8, 0.15, 0.05)  # how many words have 1, 2 and 3 subwords


class Peers(NamedTuple):
    """Both models for one kind of prediction, and T5's task."""

    t5: GatedTransformerModel
    enct5: EncT5Model
    kind: ProblemType
    task: TranslationTask


class Batch(NamedTuple):
    """The same sentences as either side reads them; what is to be said of each sentence."""

    t5: dict[str, Any]
    enct5: dict[str, Any]
    target: Tensor
    answers: list[int]


def build_peers(args: argparse.Namespace) -> list[Peers]:
    """For each kind of prediction T5 1.1, which is the same one, and EncT5: its encoder with a
    decoder of latents, of one block."""
    symbols = common.dictionary(args.vocab)
    task = TranslationTask(TranslationConfig(), symbols, symbols)
    sizes = {"dim": args.dim, "heads": args.heads, "head_dim": args.head_dim, "hidden": args.ffn}
    encoder, rates = {"encoder_layers": args.layers}, ("dropout", "attention_dropout")
    drop = dict.fromkeys((*rates, "activation_dropout"), 0.1)
    plan = {**sizes, **encoder, "decoder_layers": args.layers}
    options = GatedTransformerConfig(
        gates="none",
        backbone_plan=json.dumps({"kind": "t5", "mask": None, "plan": plan}),
        max_source_positions=1024,
        max_target_positions=1024,
        **drop,
    )
    t5 = GatedTransformerModel.build_model(options, task).to(args.device)
    # fairseq's search would print where each token looked; nobody has to pay for it here
    t5.decoder.needs_weights = lambda: False
    size = T5Size(**sizes, **encoder, decoder_layers=1, **drop)
    made = (EncT5Model(size, args.vocab, kind, count) for kind, count in KINDS.items())
    return [
        Peers(t5, one.to(args.device), kind, task) for kind, one in zip(KINDS, made, strict=True)
    ]


# ---------------------------------------------------------------- batches


def batches(count: int, size: int, args: argparse.Namespace, kind: ProblemType) -> list[Batch]:
    """Random sentences of about ``--length`` words, in ``count`` batches of like length."""
    lengths = torch.normal(float(args.length), args.length / 3, (count * size,)).round()
    examples = []
    for words in lengths.clamp(1, 3 * args.length).sort().values.long().tolist():
        sizes = torch.multinomial(torch.tensor(PIECES), words, replacement=True) + 1
        spans = torch.repeat_interleave(torch.arange(1, words + 1), sizes)
        pieces = torch.randint(SPECIAL, args.vocab, (len(spans),))
        said = words if kind is ProblemType.TAGGING else 1
        labels = torch.randint(0, KINDS[kind], (said,))
        ends = torch.tensor([ENCT5_EOS]), torch.tensor([0])
        spans = torch.cat([spans, ends[1]]) if kind is ProblemType.TAGGING else torch.zeros(0)
        examples.append(Example(torch.cat([pieces, ends[0]]), spans, labels))
    return [batch(examples[i : i + size], kind, args) for i in range(0, len(examples), size)]


def batch(chosen: Sequence[Example], kind: ProblemType, args: argparse.Namespace) -> Batch:
    """Sentences as fairseq's tasks make batches of them, for both."""
    end = torch.tensor([EOS])
    sources = [torch.cat([one.pieces[:-1], end]) for one in chosen]
    # a tag is a subword of the vocabulary
    targets = [torch.cat([one.labels + SPECIAL, end]) for one in chosen]
    shifted = [torch.cat([one[-1:], one[:-1]]) for one in targets]
    t5 = {
        "nsentences": len(chosen),
        "ntokens": sum(map(len, targets)),
        "net_input": {
            "src_tokens": common.padded(sources, False, args.device),
            "src_lengths": torch.tensor([len(one) for one in sources], device=args.device),
            "prev_output_tokens": common.padded(shifted, False, args.device),
        },
        "target": common.padded(targets, False, args.device),
    }
    rows = collate([[example] for example in chosen], kind, KINDS[kind])
    enct5 = {name: value.to(args.device) for name, value in rows.items()}
    target = kind.targets([one.labels for one in chosen], KINDS[kind]).to(args.device)
    return Batch(t5, enct5, target, [len(one.labels) for one in chosen])


# ---------------------------------------------------------------- measuring


def time_training(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Gradients and whole updates on the same batches."""
    criterion = CrossEntropyCriterion(peers.task, sentence_avg=False)

    def t5_loss(sample: Batch) -> Tensor:
        loss, size, _ = criterion(peers.t5, sample.t5)
        return loss / size

    def enct5_loss(sample: Batch) -> Tensor:
        loss = peers.kind.loss(peers.enct5(**sample.enct5).float(), sample.target)
        return loss / sample.target.numel()

    mean = sum(share * count for count, share in enumerate(PIECES, start=1))
    size = max(1, round(args.tokens / (mean * args.length)))
    trainers = {
        "t5": common.Updates(peers.t5, t5_loss, args),
        "enct5": common.Updates(peers.enct5, enct5_loss, args),
    }
    times = common.time_updates(trainers, batches(args.steps, size, args, peers.kind))
    for trainer in trainers.values():
        trainer.model.zero_grad()
    names = (f"{peers.kind.value}: training, {what}" for what in ("gradients", "update with Adam"))
    return [
        common.row(name, *(times[side][part] for side in SIDES)) for part, name in enumerate(names)
    ]


@torch.no_grad()
def write(model: GatedTransformerModel, sample: Batch) -> list[Tensor]:
    """The tokens that T5 writes for each sentence, ``</s>`` included, the best one at each step."""
    source = sample.t5["net_input"]
    memory = model.encoder(source["src_tokens"], source["src_lengths"])
    tokens = torch.full((len(sample.answers), 1), EOS, device=source["src_tokens"].device)
    state: dict[str, Any] = {}
    for _ in range(max(sample.answers) + 1):
        logits, _ = model.decoder(tokens, encoder_out=memory, incremental_state=state)
        tokens = torch.cat([tokens, logits[:, -1:].argmax(-1)], 1)
    return [one[1 : words + 2] for one, words in zip(tokens, sample.answers, strict=True)]


@torch.no_grad()
def predict(model: EncT5Model, kind: ProblemType, sample: Batch) -> list[Tensor]:
    """The tags, or the class, that EncT5 finds best for each sentence."""
    best = kind.scores(model(**sample.enct5).float()).argmax(-1)
    return list(best.split(sample.answers))


def check_answers(found: dict[str, list[Tensor]], sample: Batch) -> None:
    """Raises :class:`UserError` unless T5 wrote one token for each of EncT5's, and ``</s>``."""
    lengths = {side: [len(one) for one in found[side]] for side in SIDES}
    if lengths["enct5"] != sample.answers or lengths["t5"] != [n + 1 for n in sample.answers]:
        raise UserError(
            f"answers of {lengths['t5']} and {lengths['enct5']} tokens where {sample.answers} "
            "are due: no fair race"
        )


def time_predictions(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Milliseconds a sentence, for every batch size."""
    rows = []
    quantize([peers.t5.eval(), peers.enct5.eval()], PRECISIONS[0])  # as before any decoding
    answer: dict[str, Callable[[Batch], list[Tensor]]] = {
        "t5": lambda sample: write(peers.t5, sample),
        "enct5": lambda sample: predict(peers.enct5, peers.kind, sample),
    }
    for size in BATCH_SIZES:
        samples = batches(args.steps, size, args, peers.kind)
        check_answers({side: answer[side](samples[-1]) for side in SIDES}, samples[-1])
        times = common.milliseconds(answer, samples, common.clock(args))
        name = f"{peers.kind.value}: a sentence, batch {size}"
        rows.append(common.row(name, *([one / size for one in times[side]] for side in SIDES)))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table; the sizes are those of T5 1.1 small."""
    small = {"layers": 8, "ffn": 1024, "heads": 6, "vocab": 32128, "tokens": 1000, "length": 16}
    parser = common.parser_with(__doc__, **small)
    parser.add_argument("--head-dim", type=int, default=64, help="of a head (default 64)")
    args = parser.parse_args(argv)
    common.check(args, "head_dim")
    with common.quiet():
        rows = [
            row
            for peers in build_peers(args)
            for row in (*time_predictions(peers, args), *time_training(peers, args))
        ]
    print(common.table(rows, SIDES))
    print("ratio: t5/enct5 of the medians, above 1 EncT5 is faster")
    print("T5 writes one token for each tag or label, and </s>; EncT5 gives as many tags")
    print(common.signature(args, head_dim=args.head_dim))
    return 0


if __name__ == "__main__":
    run_cli(main)
