"""How much of translators' work `lev-memory repair` saves where the source of a document changed:

    python benchmarks/documents.py documents/NAME.jsonl.gz ... [--insert-new]

A line of FILE is an object with lang, old_en and new_en (the source before and now), old (the
translation before) and new (what people then wrote). Counts word edits to what people wrote, from
the old translation and from the command's output.
"""

import argparse
import gzip
import json
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from lev_memory import cli


def repaired(row: dict[str, str], options: list[str], folder: Path) -> str:
    """Returns what the command writes with options."""
    names = ("old_en", "new_en", "old")
    paths = [folder / f"{name}.{row['lang']}.md" for name in names]
    for name, path in zip(names, paths, strict=True):
        path.write_text(row[name], "utf-8", newline="")
    with redirect_stdout(StringIO()):
        cli.main(["repair", *map(str, paths), "-o", str(folder / "out.md"), *options])
    return (folder / "out.md").read_bytes().decode()


def main() -> None:
    """Prints a line for each language of each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    counts: dict[str, Counter[str]] = {}
    args, options = parser.parse_known_args()
    for file in args.files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        for row in rows:
            with tempfile.TemporaryDirectory() as folder:
                texts = row["old"], repaired(row, options, Path(folder)), row["new"]
            before, after = (
                Levenshtein.distance(text.split(), texts[2].split()) for text in texts[:2]
            )
            found = counts.setdefault(f"{Path(file).name} {row['lang']}", Counter())
            found.update(documents=1, edits=before, left=after)
            found["fewer" if after < before else "more" if after > before else "as many"] += 1
    for name, found in counts.items():
        print(name, *(f"{count:,} {what}" for what, count in found.items()), sep="; ")


if __name__ == "__main__":
    main()
