"""Corrects or edits a text with several workers, each with a model of its own, by Ray Data."""

import argparse
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent
os.environ.setdefault("OMP_NUM_THREADS", "1")  # each worker has a core

import ray  # noqa: E402

LINES = 500  # of a block, which is corrected as a file of its own


class Correct:
    """Corrects blocks of lines; an actor of Ray's."""

    def __init__(self, path: str | None) -> None:
        from lev_plugins import Corrector

        self.corrector = Corrector.from_pretrained(path)

    def answers(self, lines: list[str]) -> list[str]:
        """A line for each of a block."""
        corrections = self.corrector.stream(lines, document=self.corrector.document())
        return [correction.text for correction in corrections]

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        blocks = []
        for block in batch["block"]:
            body = block.removesuffix(b"\n")
            lines = body.decode("utf-8", "surrogateescape").split("\n")
            text = "\n".join(self.answers(lines)).encode("utf-8", "surrogateescape")
            blocks.append(text + block[len(body) :])
        return {"block": blocks}


class Edit(Correct):
    """Edits blocks of lines, a source or a source, a tab and its draft, with an exported LevT."""

    def __init__(self, path: str | None) -> None:
        from lev_runtime import Editor

        self.editor = Editor(path, threads=1)

    def answers(self, lines: list[str]) -> list[str]:
        pairs = (tuple(line.split("\t")) for line in lines)
        return [trace.text for trace in self.editor.stream(pairs, history=False)]


def answered(
    lines: Iterable[bytes], worker: type[Correct], path: str | None, workers: int
) -> Iterator[bytes]:
    """Yields the blocks of lines, answered, in order."""
    rows = iter(lines)
    blocks = [{"block": block} for block in iter(lambda: b"".join(islice(rows, LINES)), b"")]
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    data = ray.data.from_items(blocks).map_batches(
        worker, fn_constructor_args=[path], batch_size=1, concurrency=workers
    )
    for row in data.iter_rows():
        yield row["block"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", help="a text, a line each")
    parser.add_argument("output")
    parser.add_argument("--path", help="model that corrects (default: the packaged one)")
    parser.add_argument("--edit", metavar="FOLDER", help="exported LevT, which edits instead")
    parser.add_argument("--workers", type=int, default=1, help="each needs a CPU (%(default)s)")
    args = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False)
    worker, path = (Edit, args.edit) if args.edit else (Correct, args.path)
    with open(args.input, "rb") as lines, open(args.output, "wb") as output:
        output.writelines(answered(lines, worker, path, args.workers))


if __name__ == "__main__":
    main()
