"""Look at a pre-trained model, write its dictionary and cut text as its tokenizer does.

    python -m lev_plugins.cli.backbone DIR --dict dict.txt
    python -m lev_plugins.cli.backbone DIR --input train.en --output train.pieces.en

The model is a local Hugging Face directory of BERT, BART or T5; nothing is downloaded. What is in
it goes to standard error. The whole of it is loaded first: a broken one writes nothing.
"""

import argparse
import sys
from collections.abc import Sequence

from ..errors import UserError, counted
from ..fairseq_patches import run_cli
from ..io.output import printable, refuse_overwriting, whole_file
from ..io.text_files import read_lines
from ..registration import register
from .options import adder, make_parser


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "backbone",
        "Look at a pre-trained model (BERT, BART or T5 in a local Hugging Face "
        "directory), write its vocabulary as a fairseq dictionary, and cut text into its symbols.",
        "bert-base-uncased --dict dict.txt",
    )
    add = adder(parser)
    add("directory DIR", "config.json, weights and tokenizer of the model")
    add(
        "--dict FILE",
        "write the vocabulary here, for fairseq-preprocess --srcdict; whole or not at all",
    )
    add("--input FILE", "text to cut, one sentence a line")
    add("--output FILE", "the same lines as symbols of the dictionary; whole or not at all")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    if (args.input is None) != (args.output is None):
        raise UserError("--input and --output go together: the text, and where its subwords go")
    refuse_overwriting({"--dict": args.dict, "--output": args.output}, [("--input", args.input)])
    register(lean=True)
    from ..pretrained import inspect

    found = inspect(args.directory)
    for line in found.lines(args.directory):
        print(printable(line), file=sys.stderr)
    if args.dict is not None:
        with whole_file(args.dict) as file:
            # nobody has counted them
            file.writelines(f"{symbol} 1\n" for symbol in found.vocabulary.ordinary())
        size = len(found.dictionary)
        print(f"{args.dict}: {size} symbols with fairseq's own four", file=sys.stderr)
    if args.input is not None:
        cut(args.directory, args.input, args.output)
    return 0


def cut(directory: str, source: str, path: str) -> None:
    """Writes each line of a text as symbols."""
    from ..pretrained.bpe import open_tokenizer

    tokenizer, count = open_tokenizer(directory), 0
    with whole_file(path) as file:
        for line in read_lines(source):
            file.write(tokenizer.encode(line) + "\n")
            count += 1
    print(f"{path}: {counted(count, 'line')}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(run_cli(main))
