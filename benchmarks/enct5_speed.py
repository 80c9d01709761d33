"""EncT5 against a T5 of the same size that writes the tags, or the label, as text.

    python benchmarks/enct5_speed.py --threads 1

One run builds both with random weights and gives them the same batches, one after the other and
in changing order, so that a busy machine slows both. Each ratio is T5's time over EncT5's: the
median over single pairs of measurements, with the lowest and the highest.

T5 is ``gated_transformer --gates none`` with the plan of a T5 1.1. It writes one subword a tag, and
``</s>``, greedily and with the keys and values of earlier tokens kept. Untrained models would not
know when to stop, so every output has the length that it has to have. T5 is given every advantage:
no beams, no search around the loop, no attention weights to be returned, and one token a word (the
paper's T5 writes a sentinel before each tag, §4.3, and so twice as many).
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

# first, because it imports fairseq without the lines that fairseq prints otherwise
import lev_plugins  # noqa: E402, F401

# isort: split
from fairseq.criterions.cross_entropy import CrossEntropyCriterion  # noqa: E402
from fairseq.tasks.translation import TranslationConfig, TranslationTask  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks import side_by_side, workload  # noqa: E402
from benchmarks.side_by_side import Row  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.nn.precision import PRECISIONS, quantize  # noqa: E402
from lev_plugins.nn.t5 import T5Size  # noqa: E402
from lev_plugins.systems.enct5 import EncT5Model  # noqa: E402
from lev_plugins.systems.enct5.dataset import Example, collate  # noqa: E402
from lev_plugins.systems.enct5.problem_types import ProblemType  # noqa: E402
from lev_plugins.systems.gated import (  # noqa: E402
    GatedTransformerConfig,
    GatedTransformerModel,
)

SIDES = ("t5", "enct5")
KINDS = (ProblemType.TAGGING, ProblemType.CLASSIFICATION)
CLASSES = 2  # of the classifier
BATCH_SIZES = (1, 32)
EOS, ENCT5_EOS = 2, 1  # </s> of fairseq's dictionary, and of T5's own
SPECIAL = 4  # symbols before the first subword
PIECES = (0.8, 0.15, 0.05)  # how many words have 1, 2 and 3 subwords
LIMIT = 1024  # positions of T5
OPTIONS = (
    *("layers", "dim", "ffn", "heads", "head_dim", "vocab", "labels", "t5_decoder_layers"),
    *("enct5_decoder_layers", "dropout", "tokens", "length", "steps"),
)


# ---------------------------------------------------------------- models


class Peers(NamedTuple):
    """Both models for one kind of prediction, and T5's task."""

    t5: GatedTransformerModel
    enct5: EncT5Model
    kind: ProblemType
    task: TranslationTask

    def model(self, side: str) -> torch.nn.Module:
        return self.t5 if side == "t5" else self.enct5


def build_t5(args: argparse.Namespace, task: TranslationTask) -> GatedTransformerModel:
    """A T5 1.1 with random weights."""
    plan = {
        "dim": args.dim,
        "heads": args.heads,
        "head_dim": args.head_dim,
        "hidden": args.ffn,
        "encoder_layers": args.layers,
        "decoder_layers": args.t5_decoder_layers,
    }
    options = GatedTransformerConfig(
        gates="none",
        backbone_plan=json.dumps({"kind": "t5", "mask": None, "plan": plan}),
        dropout=args.dropout,
        attention_dropout=args.dropout,
        activation_dropout=args.dropout,
        max_source_positions=LIMIT,
        max_target_positions=LIMIT,
    )
    model = GatedTransformerModel.build_model(options, task)
    # fairseq's search would print where each token looked; nobody has to pay for it here
    model.decoder.needs_weights = lambda: False
    return model


def build_enct5(args: argparse.Namespace, kind: ProblemType) -> EncT5Model:
    """The same encoder with a decoder of latents."""
    size = T5Size(
        dim=args.dim,
        heads=args.heads,
        head_dim=args.head_dim,
        hidden=args.ffn,
        encoder_layers=args.layers,
        decoder_layers=args.enct5_decoder_layers,
        dropout=args.dropout,
        attention_dropout=args.dropout,
        activation_dropout=args.dropout,
    )
    return EncT5Model(size, args.vocab, kind, classes(args, kind))


def classes(args: argparse.Namespace, kind: ProblemType) -> int:
    """How many tags or classes there are."""
    return args.labels if kind is ProblemType.TAGGING else CLASSES


def build_peers(args: argparse.Namespace) -> list[Peers]:
    """For each kind of prediction T5, which is the same one, and EncT5."""
    symbols = workload.dictionary(args.vocab)
    task = TranslationTask(TranslationConfig(), symbols, symbols)
    t5 = build_t5(args, task).to(args.device, side_by_side.precision(args))
    return [
        Peers(t5, build_enct5(args, kind).to(args.device, side_by_side.precision(args)), kind, task)
        for kind in KINDS
    ]


# ---------------------------------------------------------------- batches


class Sentence(NamedTuple):
    """Pieces without ``</s>``; the word of each, from 1; and a tag a word, or one class."""

    pieces: Tensor
    spans: Tensor
    labels: Tensor


class Batch(NamedTuple):
    """The same sentences as either side reads them; what is to be said of each sentence."""

    t5: dict[str, Any]
    enct5: dict[str, Any]
    target: Tensor
    answers: list[int]


def sentences(count: int, args: argparse.Namespace, kind: ProblemType) -> list[Sentence]:
    """Random ones of about ``--length`` words, shorter ones first."""
    lengths = torch.normal(float(args.length), args.length / 3, (count,)).round()
    found = []
    for words in lengths.clamp(1, 3 * args.length).sort().values.long().tolist():
        sizes = torch.multinomial(torch.tensor(PIECES), words, replacement=True) + 1
        spans = torch.repeat_interleave(torch.arange(1, words + 1), sizes)
        pieces = torch.randint(SPECIAL, args.vocab, (len(spans),))
        said = words if kind is ProblemType.TAGGING else 1
        found.append(Sentence(pieces, spans, torch.randint(0, classes(args, kind), (said,))))
    return found


def batch(chosen: Sequence[Sentence], kind: ProblemType, args: argparse.Namespace) -> Batch:
    """Sentences as fairseq's tasks make batches of them, for both."""
    end = torch.tensor([EOS])
    sources = [torch.cat([one.pieces, end]) for one in chosen]
    # a tag is a subword of the vocabulary
    targets = [torch.cat([one.labels + SPECIAL, end]) for one in chosen]
    shifted = [torch.cat([one[-1:], one[:-1]]) for one in targets]
    t5 = {
        "nsentences": len(chosen),
        "ntokens": sum(map(len, targets)),
        "net_input": {
            "src_tokens": workload.padded(sources, False, args.device),
            "src_lengths": torch.tensor([len(one) for one in sources], device=args.device),
            "prev_output_tokens": workload.padded(shifted, False, args.device),
        },
        "target": workload.padded(targets, False, args.device),
    }
    last = torch.tensor([ENCT5_EOS]), torch.tensor([0])
    examples = [
        Example(
            torch.cat([one.pieces, last[0]]),
            torch.cat([one.spans, last[1]]) if kind is ProblemType.TAGGING else torch.zeros(0),
            one.labels,
        )
        for one in chosen
    ]
    number = classes(args, kind)
    rows = collate([[example] for example in examples], kind, number)
    enct5 = {name: value.to(args.device) for name, value in rows.items()}
    target = kind.targets([one.labels for one in examples], number).to(args.device)
    return Batch(t5, enct5, target, [len(one.labels) for one in examples])


def training_batches(args: argparse.Namespace, kind: ProblemType) -> list[Batch]:
    """``--steps`` batches of about ``--tokens`` subwords, sentences of like length."""
    mean = sum(share * count for count, share in enumerate(PIECES, start=1))
    size = max(1, round(args.tokens / (mean * args.length)))
    return _cut(sentences(args.steps * size, args, kind), size, kind, args)


def decoding_batches(args: argparse.Namespace, kind: ProblemType, size: int) -> list[Batch]:
    """Batches of that many sentences of like length; of single ones three times as many."""
    count = args.steps * (3 if size == 1 else 1)
    return _cut(sentences(count * size, args, kind), size, kind, args)


def _cut(
    found: Sequence[Sentence], size: int, kind: ProblemType, args: argparse.Namespace
) -> list[Batch]:
    return [batch(found[i : i + size], kind, args) for i in range(0, len(found), size)]


# ---------------------------------------------------------------- training


class Trainer(workload.Trainer):
    """One system's update."""

    def __init__(self, peers: Peers, side: str, args: argparse.Namespace) -> None:
        super().__init__(peers.model(side), args)
        self.side, self.kind = side, peers.kind
        self.criterion = CrossEntropyCriterion(peers.task, sentence_avg=False)

    def loss(self, sample: Batch) -> Tensor:
        if self.side == "t5":
            loss, size, _ = self.criterion(self.model, sample.t5)
            return loss / size
        loss = self.kind.loss(self.model(**sample.enct5).float(), sample.target)
        return loss / sample.target.numel()


def time_training(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Gradients and whole updates on the same batches."""
    batches = training_batches(args, peers.kind)
    trainers = {side: Trainer(peers, side, args) for side in SIDES}
    times = workload.time_updates(trainers, batches)
    for side in SIDES:
        trainers[side].model.zero_grad()
    names = (f"{peers.kind.value}: training, {what}" for what in ("gradients", "update with Adam"))
    return [
        side_by_side.row(name, *(times[side][part] for side in SIDES))
        for part, name in enumerate(names)
    ]


# ---------------------------------------------------------------- predictions


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
    now, rows = side_by_side.clock(args), []
    for side in SIDES:
        quantize([peers.model(side).eval()], PRECISIONS[0])  # as before any decoding
    answer: dict[str, Callable[[Batch], list[Tensor]]] = {
        "t5": lambda sample: write(peers.t5, sample),
        "enct5": lambda sample: predict(peers.enct5, peers.kind, sample),
    }
    for size in BATCH_SIZES:
        samples = decoding_batches(args, peers.kind, size)
        check_answers({side: answer[side](samples[-1]) for side in SIDES}, samples[-1])
        times = side_by_side.milliseconds(answer, samples, now)
        name = f"{peers.kind.value}: a sentence, batch {size}"
        each = ([one / size for one in times[side]] for side in SIDES)
        rows.append(side_by_side.row(name, *each))
    return rows


# ---------------------------------------------------------------- the report


def parser() -> argparse.ArgumentParser:
    """The options; the sizes are those of T5 1.1 small."""
    made = side_by_side.parser_with(__doc__, {})
    add = made.add_argument
    add("--layers", type=int, default=8, help="blocks of the encoder, in both (default 8)")
    add("--dim", type=int, default=512, help="width (default 512)")
    add("--ffn", type=int, default=1024, help="width of the feed-forward layers (default 1024)")
    add("--heads", type=int, default=6, help="attention heads (default 6)")
    add("--head-dim", type=int, default=64, help="width of an attention head (default 64)")
    add("--vocab", type=int, default=32128, help="pieces (default 32128)")
    add("--labels", type=int, default=17, help="tags (default 17, as Universal Dependencies has)")
    add(
        "--t5-decoder-layers",
        type=int,
        help="blocks of T5's decoder (default: as many as of its encoder)",
    )
    add("--enct5-decoder-layers", type=int, default=1, help="blocks of EncT5's (default 1)")
    add("--dropout", type=float, default=0.1, help="of both (default 0.1)")
    add("--tokens", type=int, default=1000, help="pieces of a training batch (default 1000)")
    add("--length", type=int, default=16, help="mean words of a sentence (default 16)")
    add("--steps", type=int, default=5, help="measured batches (default 5)")
    side_by_side.add_machine_options(made)
    return made


def checked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parsed options.

    Raises:
        UserError: values that no model or batch can be made of.
    """
    args = parser().parse_args(argv)
    if args.t5_decoder_layers is None:
        args.t5_decoder_layers = args.layers
    counts = [name for name in OPTIONS if name not in ("dropout", "vocab")]
    side_by_side.check_options(args, counts)
    if args.vocab < args.labels + SPECIAL:
        raise UserError(
            f"--vocab {args.vocab}: a tag is a subword of it; give {args.labels + SPECIAL} or more"
        )
    if 3 * args.length * len(PIECES) >= LIMIT:
        raise UserError(f"--length {args.length}: sentences may get too long; give 113 or less")
    if not 0 <= args.dropout < 1:
        raise UserError(f"--dropout {args.dropout:g}: give a share from 0 up to 1")
    return args


def measured(args: argparse.Namespace) -> list[Row]:
    """All rows of the table."""
    rows = []
    everyone = build_peers(args)
    for peers in everyone:
        counts = ([side_by_side.parameters(peers.model(side)) / 1e6] for side in SIDES)
        rows.append(side_by_side.row(f"{peers.kind.value}: parameters", *counts, unit="M"))
    for peers in everyone:
        rows += [*time_predictions(peers, args), *time_training(peers, args)]
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    args = checked(argv)
    side_by_side.settle(args)
    with side_by_side.quiet():
        rows = measured(args)
    print(side_by_side.table(rows, SIDES))
    print("t5/enct5: median over pairs of measurements, above 1 EncT5 is faster or smaller")
    print("T5 writes one token for each tag or label, and </s>; EncT5 gives as many tags")
    found = side_by_side.surroundings(args, OPTIONS)
    print(side_by_side.signature(found))
    keys = ("name", "unit", *SIDES, "ratio", "lowest", "highest")
    numbers = [dict(zip(keys, one, strict=True)) for one in rows]
    side_by_side.write_json(args.json, {"rows": numbers, "options": found})
    return 0


if __name__ == "__main__":
    run_cli(main)
