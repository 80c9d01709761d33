"""Splits the text of an example into SentencePiece subwords.

    python examples/post_editing/pieces.py WORK VOCABULARY train,dev,test src,mt,pe

Learns WORK/spm.model, of about VOCABULARY subwords, from all sides of the first part of WORK/text,
and writes WORK/pieces/PART.SIDE for every WORK/text/PART.SIDE. Spaces of any kind are plain ones.
"""

import os
from collections.abc import Iterator

import sentencepiece

from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_lines, read_parallel
from lev_runtime.text.codec import plain_spaces, train_sentencepiece


def text_lines(path: str) -> Iterator[str]:
    """Lines in which every space is a plain one, as ``--bpe sentencepiece`` reads them later."""
    return map(plain_spaces, read_lines(path))


def main() -> None:
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", metavar="WORK", help="folder with text/PART.SIDE")
    parser.add_argument("vocabulary", metavar="VOCABULARY", type=int, help="subwords, about")
    parser.add_argument("parts", metavar="PARTS", help="such as train,dev,test")
    parser.add_argument("sides", metavar="SIDES", help="such as src,mt,pe")
    args = parser.parse_args()
    work, parts, sides = args.work, args.parts.split(","), args.sides.split(",")
    for part in parts:
        for _ in read_parallel([f"{work}/text/{part}.{side}" for side in sides]):
            pass  # as many lines, all of them readable
    first = [f"{work}/text/{parts[0]}.{side}" for side in sides]
    train_sentencepiece(
        (line for path in first for line in text_lines(path)),
        args.vocabulary,
        flag="VOCABULARY",
        model_prefix=f"{work}/spm",
        normalization_rule_name="identity",  # what is kept comes out as it went in
    )
    os.makedirs(f"{work}/pieces", exist_ok=True)
    pieces = sentencepiece.SentencePieceProcessor(model_file=f"{work}/spm.model")
    for part in parts:
        for side in sides:
            with open(f"{work}/pieces/{part}.{side}", "w", encoding="utf-8") as file:
                for line in text_lines(f"{work}/text/{part}.{side}"):
                    file.write(" ".join(pieces.encode(line, out_type=str)) + "\n")


if __name__ == "__main__":
    run_cli(main)
