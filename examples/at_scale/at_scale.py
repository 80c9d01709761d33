"""Corrects or edits a text with several workers, each with a model of its own, by Ray Data."""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is sent

import ray  # noqa: E402

from lev_correct import Corrector  # noqa: E402
from lev_runtime import load  # noqa: E402

LINES = 500  # of a block, which is corrected as a file of its own


class Worker:
    """One model, which answers blocks of lines; an actor of Ray's."""

    def __init__(self, path: str | None, edits: bool) -> None:
        self.edits = edits
        self.model = load(path, threads=1) if edits else Corrector.from_pretrained(path)

    def answers(self, lines: list[str]) -> Iterator[Any]:
        """What has the text of each line."""
        if self.edits:
            return self.model.stream(line.split("\t") for line in lines)
        return self.model.stream(lines, document=self.model.document())

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        (block,) = batch["block"]
        body = block.removesuffix(b"\n")
        lines = body.decode("utf-8", "surrogateescape").split("\n")
        text = "\n".join(answer.text for answer in self.answers(lines))
        return {"block": [text.encode("utf-8", "surrogateescape") + block[len(body) :]]}


def answered(
    lines: Iterable[bytes], workers: int, *model: Any, kind: Any = Worker
) -> Iterator[bytes]:
    """Yields the blocks of lines, answered, in order; ``model``: arguments of a worker."""
    rows = iter(lines)
    blocks = [{"block": block} for block in iter(lambda: b"".join(islice(rows, LINES)), b"")]
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    options = {"fn_constructor_args": model, "batch_size": 1, "concurrency": workers}
    for row in ray.data.from_items(blocks).map_batches(kind, **options).iter_rows():
        yield row["block"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", help="model (default: the built-in English spelling model)")
    parser.add_argument("--edit", action="store_true", help="the model is an exported LevT")
    parser.add_argument("--workers", type=int, default=1, help="each needs a CPU (default: 1)")
    args = parser.parse_args()
    ray.init(include_dashboard=False)
    blocks = answered(sys.stdin.buffer, args.workers, args.path, args.edit)
    sys.stdout.buffer.writelines(blocks)


if __name__ == "__main__":
    main()
