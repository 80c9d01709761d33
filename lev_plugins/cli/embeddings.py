"""Learns embeddings from which symbols stand in the same pairs of binarised training data.

A model that starts from them needs fewer updates: words that translate each other are near from
the first one on. The file is fairseq's (a line a symbol), for ``--encoder-embed-path`` and
``--decoder-embed-path`` of our models and fairseq's. The method and its source stand in
:mod:`lev_plugins.ops.cooccurrence`.
"""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lev_runtime.errors import UserError
from lev_runtime.io.options import (
    adder,
    at_least_one,
    make_parser,
    say,
)
from lev_runtime.io.output import printable, whole_file

from ..registration import register

if TYPE_CHECKING:
    from fairseq.data import Dictionary
    from torch import Tensor

#: pairs that are counted at most, evenly spaced: more of them hardly change the vectors
MAX_PAIRS = 200_000


def build_parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = make_parser(
        "embeddings",
        "Learn embeddings from which symbols stand in the same pairs of binarised training data. "
        "Pass the file to --encoder-embed-path; training then needs fewer updates.",
        "data-bin data-bin/embeddings.txt --dim 256",
    )
    add = adder(parser)
    add("data FOLDER", "folder that fairseq-preprocess or lev-preprocess made")
    add("output FILE", "file for the embeddings; with two dictionaries FILE.SRC and FILE.TGT")
    add("--dim N", "width of the model", type=int, required=True)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command; raises :class:`.UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    at_least_one(args, "dim")
    register()
    import torch

    from ..data.pairs import BinarizedPairs
    from ..ops.cooccurrence import cooccurrence_embeddings

    data = BinarizedPairs(args.data)
    torch.manual_seed(1)
    vectors = cooccurrence_embeddings(data.symbols(MAX_PAIRS), data.size, args.dim)
    if not vectors.any():
        raise UserError(f"{args.data}: all pairs have the same symbols, which tells none apart")
    source = target = args.output
    if not data.is_joined:
        source, target = (f"{args.output}.{language}" for language in data.languages)
    for path, (first, dictionary) in zip((source, target), data.dictionaries()):
        write(path, dictionary, vectors[first : first + len(dictionary)])
    flags = f"--encoder-embed-path {source} --decoder-embed-path {target}"
    say(printable(f"next: fairseq-train … {flags}"))


def write(path: str, dictionary: "Dictionary", vectors: "Tensor") -> None:
    """Writes the vectors of a dictionary's symbols, V × dim, as fairseq reads them, without those
    of symbols that no pair has: a model makes its own."""
    is_learnt = vectors.any(1)
    is_learnt[: dictionary.nspecial] = False
    numbers = np.flatnonzero(is_learnt.numpy())
    with whole_file(path) as file:
        file.write(f"{len(numbers)} {vectors.size(1)}\n")
        for number in numbers:
            values = " ".join(f"{value:.5f}" for value in vectors[number].tolist())
            file.write(f"{dictionary[number]} {values}\n")
