"""What the benchmarks have in common: the machine, and random sentences for fairseq's models."""

import argparse
import contextlib
import inspect
import io
import platform
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# fairseq before lev_plugins, which then registers its components
import fairseq  # noqa: F401
import torch

import lev_plugins  # noqa: F401

# isort: split
from fairseq import options
from fairseq.data import Dictionary, data_utils
from fairseq.optim.adam import Adam
from torch import Tensor


def processor() -> str:
    """The CPU's name and, where the system tells them, its family and model.

    The name alone does not say how wide a CPU computes: "AMD EPYC" stands for several generations.
    """
    described = Path("/proc/cpuinfo")
    first = described.read_text(errors="replace") if described.is_file() else ""
    fields = re.findall(r"^([\w ]+?)\s*: (.+)$", first.partition("\n\n")[0], re.M)
    details = {key: value.strip() for key, value in fields}
    name = details.get("model name") or platform.processor() or platform.machine()
    if {"cpu family", "model"} <= details.keys():
        return f"{name} (family {details['cpu family']}, model {details['model']})"
    return name


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hides what fairseq prints and warns of inside the block."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------- options

#: sizes of the models: as of the paper's base model
SIZES = {
    "layers": (6, "blocks in encoder and in decoder"),
    "dim": (512, "width"),
    "ffn": (2048, "width of the feed-forward layers"),
    "heads": (8, "attention heads"),
    "vocab": (8000, "symbols of the joined dictionary"),
    "length": (25, "mean length of a sentence"),
}


def count(text: str) -> int:
    """A number of an option, 1 or more."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text}: give 1 or more")
    return int(text)


def add_sizes(add: Callable[..., object]) -> None:
    """Adds the options of :data:`SIZES`, of the device and the seed."""
    for name, (default, what) in SIZES.items():
        add(f"--{name}", type=count, default=default, help=f"{what} (default: {default})")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default: cpu)")
    add("--seed", type=int, default=1, help="of weights and sentences (default: 1)")


# ---------------------------------------------------------------- fairseq's models and batches


def transformer_options(args: argparse.Namespace, **more: Any) -> argparse.Namespace:
    """Sizes as fairseq's Transformer names them, with shared embeddings, and ``more`` options."""
    options = argparse.Namespace(
        share_all_embeddings=True, max_source_positions=1024, max_target_positions=1024, **more
    )
    for side in ("encoder", "decoder"):
        setattr(options, f"{side}_embed_dim", args.dim)
        setattr(options, f"{side}_ffn_embed_dim", args.ffn)
        setattr(options, f"{side}_layers", args.layers)
        setattr(options, f"{side}_attention_heads", args.heads)
    return options


def dictionary(size: int) -> Dictionary:
    """``size`` symbols, fairseq's four special ones included."""
    symbols = Dictionary()
    for number in range(size - symbols.nspecial):
        symbols.add_symbol(f"w{number}")
    return symbols


def sentences(count: int, args: argparse.Namespace) -> list[tuple[Tensor, Tensor]]:
    """Random sources and targets, <s> … </s>: lengths around ``--length``, frequencies as in Zipf's
    law.

    No token comes twice in a sentence: then there is one minimal script only, and the labels of
    both systems can be compared.
    """
    special = 4
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
    return data_utils.collate_tokens(rows, 1, left_pad=left).to(device)


def batch(pairs: Sequence[tuple[Tensor, Tensor]], device: str) -> dict[str, Any]:
    """A batch as data sets of pairs make it: sources padded on the left."""
    sources, targets = zip(*pairs, strict=True)
    return {
        "id": torch.arange(len(pairs), device=device),
        "nsentences": len(pairs),
        "ntokens": sum(map(len, targets)),
        "net_input": {
            "src_tokens": padded(sources, True, device),
            "src_lengths": torch.tensor([len(source) for source in sources], device=device),
        },
        "target": padded(targets, False, device),
    }


@contextlib.contextmanager
def torch_settings(cudnn: bool = False, tf32: bool = False) -> Iterator[None]:
    """Inside, a GPU may compute attention by cuDNN, or multiply single precision as TF32."""
    before, matmul = torch.get_float32_matmul_precision(), torch.backends.cuda.matmul
    own_switch = getattr(matmul, "fp32_precision", None)  # which the setting moves
    try:
        torch.backends.cuda.enable_cudnn_sdp(cudnn)
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.set_float32_matmul_precision(before)
        if own_switch is not None:
            matmul.fp32_precision = own_switch


options.get_training_parser()  # what the package changes in trainings waits for it


class StockAdam(Adam):
    """fairseq's Adam as it is without the package: a few kernels for each parameter."""

    step = inspect.unwrap(Adam.step)
