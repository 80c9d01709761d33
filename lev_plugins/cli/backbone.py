"""Look at a pre-trained model, write its dictionary, and cut text as its tokenizer does."""

import argparse
from collections.abc import Sequence

from lev_runtime.errors import UserError
from lev_runtime.io.options import adder, make_parser, say
from lev_runtime.io.output import printable, refuse_overwriting, whole_file
from lev_runtime.io.text_files import read_lines

from ..registration import register


def build_parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = make_parser(
        "backbone",
        "Inspect a pre-trained model (BERT, BART or T5 in a local Hugging Face directory), "
        "write its vocabulary as a fairseq dictionary, and tokenise text with it.",
        "bert-base-uncased --dict dict.txt",
    )
    add = adder(parser)
    add("directory FOLDER", "folder with config.json, weights and tokenizer")
    add("--dict FILE", "file for the vocabulary, for fairseq-preprocess --srcdict")
    add("--input FILE", "text to tokenise, one sentence a line")
    add("--output FILE", "the same lines as dictionary symbols")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    if (args.input is None) != (args.output is None):
        raise UserError("--input and --output go together: the text, and a file for its subwords")
    refuse_overwriting({"--dict": args.dict, "--output": args.output}, [("--input", args.input)])
    register()
    from ..pretrained import Pretrained
    from ..pretrained.vocabulary import PretrainedTokenizer, PretrainedTokenizerConfig

    pretrained = Pretrained(args.directory)
    dictionary = pretrained.vocabulary.dictionary()
    pretrained.backbone(dictionary, dictionary)  # all of it: a broken one writes nothing
    say(
        printable(f"{args.directory}: {pretrained.description()}"),
        printable(f"not used: {', '.join(pretrained.unused) or 'nothing'}"),
        printable(f"tokenizer: --bpe hf --hf-directory {args.directory}"),
    )
    if args.dict is not None:
        with whole_file(args.dict) as file:  # nobody has counted the symbols
            file.writelines(f"{symbol} 1\n" for symbol in pretrained.vocabulary.ordinary())
    if args.input is not None:
        tokenizer = PretrainedTokenizer(PretrainedTokenizerConfig(hf_directory=args.directory))
        with whole_file(args.output) as file:
            file.writelines(tokenizer.encode(line) + "\n" for line in read_lines(args.input))
