"""Decoding with LevT against an autoregressive Transformer of the same depth (paper, Table 1).

    python benchmarks/levt_against_ar.py --threads 1 --less bf16
    python benchmarks/levt_against_ar.py --threads 1 --deployed --clock cpu

fairseq's Transformer with beam search, and ``levenshtein_editor``, one sentence at a time, in one
run and in changing order. Both have random weights. Every output of the Transformer is as long as
its source; LevT follows the script of levt_speed.py, which writes sentences of the same length in
about as many iterations as in Table 1; on a CPU the script's own time is not counted. A ratio is
the Transformer's time over LevT's: above 1 LevT is faster.
"""

import argparse
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import common
import levt_speed
import torch
from scripted import Script, scripted

# isort: split
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator

from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli

BEAMS = (4, 1)
LENGTH = 27  # </s> makes it 28, as in Table 1


def build_transformer(args: Any, task: Any, deep: bool = False) -> TransformerModel:
    """fairseq's, with random weights and LevT's size; ``deep``: all blocks of both sides are the
    encoder's, and the decoder has one."""
    options = common.transformer_options(args, dropout=levt_speed.DROPOUT)
    if deep:
        options.encoder_layers, options.decoder_layers = 2 * args.layers, 1
    base_architecture(options)
    return TransformerModel.build_model(options, task).to(args.device).eval()


def search(model: TransformerModel, symbols: Any, sample: dict[str, Any], beam: int) -> list[int]:
    """The best output of beam search for one sentence, as long as its source.

    Raises:
        UserError: it is not, so that the race would not be fair.
    """
    source = sample["net_input"]["src_tokens"][:, 1:]  # no <s>, as the translation task has it
    words = source.size(1) - 1
    size = {"max_len_a": 0, "max_len_b": words, "min_len": words}
    generator = SequenceGenerator([model], symbols, beam_size=beam, **size)
    lengths = torch.tensor([source.size(1)], device=source.device)
    inputs = {"src_tokens": source, "src_lengths": lengths}
    output: list[int] = generator.generate([model], {"net_input": inputs})[0][0]["tokens"].tolist()
    if len(output) != words + 1:
        raise UserError(f"an output of {len(output)} tokens for a source of {words + 1}")
    return output


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    args = levt_speed.ready(build_parser().parse_args(argv))
    with common.quiet(), torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        peers = levt_speed.build_peers(args)
        task, symbols = peers.stock_task, peers.stock_task.tgt_dict
        models = {"AR": build_transformer(args, task)}
        if args.deep:
            models[f"AR {2 * args.layers} + 1"] = build_transformer(args, task, deep=True)
        decode = levt_speed.decoders(peers)
        levt = {"LevT": decode["own"], **{f"LevT, {name}": decode[name] for name in args.less}}
        now = common.clock(args)
        script = Script(args.every, now=now) if args.device == "cpu" else Script(args.every)
        others: dict[str, Any] = {}
        if args.batch == 1:
            for name, model in models.items():
                for beam in BEAMS:
                    others[f"{name}, beam {beam}"] = partial(search, model, symbols, beam=beam)
        if args.deployed:
            from deployed import runtime_decoders, translators

            levt |= runtime_decoders(peers, Path(folder), script, levt_speed.ITERATIONS + 1)
            for name, model in models.items():
                place = Path(folder, name)
                place.mkdir()
                converted = translators(model, symbols, args, place)
                prefix = "" if name == "AR" else f"{name}, "
                others |= {prefix + other: decoder for other, decoder in converted.items()}
        with scripted(None, [peers.ours, *peers.less.values()], script):
            samples = levt_speed.decoding_samples(args, args.batch)
            steps = [best["steps"] for sample in samples for (best, *_) in decode["own"](sample)]
            contestants, measured = others | levt, [samples[0], *samples]
            times = common.milliseconds(contestants, measured, lambda: now() - script.seconds)
    counted = {name: taken[1:] for name, taken in times.items()}  # the first warms up
    rows = [
        (f"{other} / {name}", counted[other], counted[name]) for other in others for name in levt
    ]
    print(common.table(rows, ("AR", "LevT")))
    for name, taken in counted.items():
        print(f"mean, {name}: {fmean(taken) / args.batch:.2f} ms a sentence")
    print(f"LevT: {fmean(steps):.2f} iterations on average; {len(steps)} sentences")
    print(common.signature(args, batch=args.batch))
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = levt_speed.parser(__doc__)
    parser.set_defaults(length=LENGTH)
    parser.add_argument("--every", type=int, default=31, help="one in so many tokens is "
        "deleted (default: 31)")  # fmt: skip
    parser.add_argument("--batch", type=common.count, default=1, help="sentences at a time, of "
        "fairseq's beam search one (default: 1)")  # fmt: skip
    parser.add_argument("--deep", action="store_true", help="also a Transformer with twice the "
        "blocks in its encoder and one in its decoder")  # fmt: skip
    parser.add_argument("--deployed", action="store_true", help="also what models are deployed "
        "with: lev_runtime, and CTranslate2 (requirements-peers.txt)")  # fmt: skip
    return parser


if __name__ == "__main__":
    run_cli(main)
