"""Tags as text, for a model that writes them: the baseline of the EncT5 paper (§4.3).

    python examples/classification/text_to_text.py WORK            # WORK/as_text/PART.words, .tags
    python examples/classification/text_to_text.py WORK GENERATED  # WORK/output/text-to-text.jsonl

``cat eats`` is read as ``cat <0> eats <1>`` in the subwords of EncT5's data and written as ``<0>
NOUN <1> VERB``. A word's tag is what stands after its number; GENERATED is fairseq-generate's
output.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from lev_plugins.systems.enct5.dataset import Metadata
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_lines

NO_TAG = "none"


def numbered(words: list[str], after: bool) -> str:
    """Puts ``<i>`` after word i, or before it."""
    pairs = [(word, f"<{i}>") for i, word in enumerate(words)]
    return " ".join(" ".join(pair if after else pair[::-1]) for pair in pairs)


def write_part(work: Path, part: str, metadata: Metadata) -> None:
    """Writes both sides of a part of the data."""
    tokenizer = metadata.tokenizer(str(work))
    lines = [line.split("\t", 1) for line in read_lines(str(work / "text" / f"{part}.tsv"))]
    sides: dict[str, list[str]] = {"words": [], "tags": []}
    for tags, text in lines:
        pieces = [[metadata.pieces[n] for n in tokenizer.encode(word)] for word in text.split()]
        sides["words"].append(numbered([" ".join(word) for word in pieces], after=True))
        sides["tags"].append(numbered(tags.split(), after=False))
    for side, written in sides.items():
        path = work / "as_text" / f"{part}.{side}"
        path.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")


def answers(path: str) -> dict[int, dict[str, str]]:
    """Returns each sentence's tags by number, of fairseq-generate's output."""
    found = {}
    for line in read_lines(path):
        if match := re.match(r"H-(\d+)\t[^\t]*\t(.*)", line):
            found[int(match[1])] = dict(re.findall(r"<(\d+)> (\w+)", match[2]))
    return found


def predictions(work: Path, generated: str, tags: set[str]) -> Iterator[list[str]]:
    """Yields the tags of each test sentence, ``NO_TAG`` where none of them was written."""
    written = answers(generated)
    for number, line in enumerate(read_lines(str(work / "text" / "test.tsv"))):
        tag_of = written[number]
        found = [tag_of.get(str(i), NO_TAG) for i in range(len(line.split("\t")[0].split()))]
        yield [tag if tag in tags else NO_TAG for tag in found]


def main() -> None:
    """Writes the data, or what a model wrote of it."""
    parser = Parser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder of prepare.sh tagging")
    parser.add_argument("generated", nargs="?", help="fairseq-generate's output")
    args = parser.parse_args()
    metadata = Metadata.from_folder(str(args.work / "data"))
    if args.generated is None:
        (args.work / "as_text").mkdir()
        for part in ("train", "valid", "test"):
            write_part(args.work, part, metadata)
        return
    rows = [*predictions(args.work, args.generated, {*metadata.labels})]
    lines = "".join(json.dumps({"tags": row}) + "\n" for row in rows)
    (args.work / "output" / "text-to-text.jsonl").write_text(lines, encoding="utf-8")
    missing, total = sum(row.count(NO_TAG) for row in rows), sum(map(len, rows))
    print(f"words without a tag: {missing:,} of {total:,}")


if __name__ == "__main__":
    run_cli(main)
