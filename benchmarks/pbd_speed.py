"""What ``pbd_transformer`` costs beside fairseq's own ``transformer`` of the same size.

    python benchmarks/pbd_speed.py --threads 1

One run builds both models and gives them the same batches, one after the other and in changing
order, so that a busy machine slows both. Each ratio is PBD's time over stock's. Decoding is
fairseq's beam search, for both with outputs as long as the sources: untrained models would not know
when to stop. Times are for one step of the search.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import common
import torch
from common import Row

# isort: split
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.nn.precision import PRECISIONS, quantize
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel

SIDES = ("stock", "pbd")
BATCH_SIZES = (1, 32)
BEAMS = (1, 5)


class Peers(NamedTuple):
    """Both models, and the task that is theirs."""

    stock: TransformerModel
    pbd: PBDTransformerModel
    task: TranslationTask


def build_peers(args: argparse.Namespace) -> Peers:
    """Both models with random weights."""
    symbols = common.dictionary(args.vocab)
    task = TranslationTask(TranslationConfig(), symbols, symbols)
    norms = {f"{side}_normalize_before": args.pre_norm for side in ("encoder", "decoder")}
    options = common.transformer_options(args, dropout=args.dropout, **norms)
    base_architecture(options)
    config = PBDTransformerConfig(
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
    stock = TransformerModel.build_model(options, task).to(args.device)
    return Peers(stock, PBDTransformerModel.build_model(config, task).to(args.device), task)


def batch(pairs: Sequence[tuple[Tensor, Tensor]], device: str) -> dict[str, Any]:
    """A batch as the translation task makes it: words and </s>, sources padded on the left."""
    words = [(source[1:], target[1:]) for source, target in pairs]
    made = common.batch(words, device)
    shifted = [torch.cat([target[-1:], target[:-1]]) for _, target in words]
    made["net_input"]["prev_output_tokens"] = common.padded(shifted, False, device)
    return made


def time_training(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Gradients and whole updates on the same batches, sentences of like length."""
    criterion = LabelSmoothedCrossEntropyCriterion(peers.task, True, 0.1)

    def updates(model: Any) -> common.Updates:
        def loss(sample: dict[str, Any]) -> Tensor:
            found, size, _ = criterion(model, sample)
            return found / size

        return common.Updates(model, loss, args)

    size = max(1, args.tokens // args.length)
    pairs = sorted(common.sentences(args.steps * size, args), key=lambda pair: len(pair[1]))
    batches = [batch(pairs[i : i + size], args.device) for i in range(0, len(pairs), size)]
    times = common.time_updates({side: updates(getattr(peers, side)) for side in SIDES}, batches)
    return [
        common.row(f"training: {what}", *(times[side][part] for side in SIDES), inverse=True)
        for part, what in enumerate(("gradients", "update with Adam"))
    ]


@torch.no_grad()
def search(peers: Peers, side: str, sample: dict[str, Any], beam: int) -> list[list[int]]:
    """Beam search with outputs that are as long as their sources; the lengths of all hypotheses."""
    model = getattr(peers, side)
    steps = int(sample["net_input"]["src_tokens"].size(1))
    size = {"max_len_a": 0, "max_len_b": steps - 1, "min_len": steps - 1}
    generator = SequenceGenerator([model], peers.task.tgt_dict, beam_size=beam, **size)
    found = generator.generate([model], sample)
    return [[len(one["tokens"]) for one in hypotheses] for hypotheses in found]


def check_lengths(lengths: dict[str, list[list[int]]], beam: int) -> None:
    """Raises :class:`UserError` unless all hypotheses have one length and number."""
    known = {length for side in SIDES for one in lengths[side] for length in one}
    numbers = {len(one) for side in SIDES for one in lengths[side]}
    if len(known) > 1 or numbers != {beam}:
        raise UserError(
            f"outputs of {sorted(known)} tokens, {sorted(numbers)} for a source, where all should "
            f"have one length and {beam} be there: no fair race"
        )


def time_decoding(peers: Peers, args: argparse.Namespace) -> list[Row]:
    """Rows for every batch size and beam.

    Raises:
        UserError: the two do not write equally much, so that the race would not be fair.
    """
    rows = []
    quantize([peers.pbd.eval()], PRECISIONS[0])  # as fairseq-generate does
    peers.stock.eval()
    for size in BATCH_SIZES:
        samples = [batch(common.sentences(size, args), args.device) for _ in range(args.steps)]
        steps = [one["net_input"]["src_tokens"].size(1) for one in samples]
        for beam in BEAMS:
            searches = {
                side: lambda sample, side=side, beam=beam: search(peers, side, sample, beam)
                for side in SIDES
            }
            check_lengths({side: searches[side](samples[0]) for side in SIDES}, beam)
            times = common.milliseconds(searches, samples, common.clock(args))
            both = ([t / n for t, n in zip(times[side], steps, strict=True)] for side in SIDES)
            name = f"decoding: batch {size}, beam {beam}, step"
            rows.append(common.row(name, *both, inverse=True))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    parser = common.parser_with(__doc__, steps=7)
    parser.add_argument("--pre-norm", action="store_true", help="norm before each sub-layer")
    parser.add_argument("--dropout", type=float, default=0.1, help="of both (default 0.1)")
    args = parser.parse_args(argv)
    common.check(args)
    if not 0 <= args.dropout < 1:
        raise UserError(f"--dropout {args.dropout:g}: give a share from 0 up to 1")
    with common.quiet():
        peers = build_peers(args)
        rows = [*time_training(peers, args), *time_decoding(peers, args)]
    print(common.table(rows, SIDES))
    sizes = (sum(p.numel() for p in getattr(peers, side).parameters()) / 1e6 for side in SIDES)
    print("parameters: {:.2f} M, {:.2f} M; ratio: pbd/stock, above 1 PBD is slower".format(*sizes))
    print(common.signature(args, pre_norm=args.pre_norm, dropout=args.dropout))
    return 0


if __name__ == "__main__":
    run_cli(main)
