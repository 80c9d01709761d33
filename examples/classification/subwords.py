"""Cuts the words of standard input into the subwords of an EncT5's data; numbers <0> stay whole.

python examples/classification/subwords.py WORK/data < TEXT
"""

import re
import sys

from lev_plugins.systems.enct5.dataset import Metadata


def main() -> None:
    metadata = Metadata.from_folder(sys.argv[1])
    tokenizer = metadata.tokenizer(sys.argv[1])
    for line in sys.stdin:
        for word in line.split():
            pieces = [metadata.pieces[number] for number in tokenizer.encode(word)]
            print(*[word] if re.fullmatch(r"<\d+>", word) else pieces, end=" ")
        print()


if __name__ == "__main__":
    main()
