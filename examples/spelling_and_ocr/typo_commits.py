"""Draws misspelt words from the history of a git repository, each in the text where people met it.

    python examples/spelling_and_ocr/typo_commits.py REPOSITORY OUT/NAME.jsonl.gz

Commits are read whose message speaks of a typo or of spelling, in files of prose. A line counts
where one word or two were replaced, and nothing else: each by one that a list has, within three
letters, where no list has the old one. OUT is what ``fit_judge.py --typo-commits`` reads: a JSON
object a line, with ``path``; ``lines`` as they stood before the commit, up to 25 on either side;
``line``, which of them was changed; ``new``, what became of it; ``words``, a pair [misspelt,
corrected] each; ``place``, ``fence`` for a line of code in Markdown, else ``text``.
"""

import argparse
import gzip
import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rapidfuzz.distance import OSA

from lev_correct import Corrector
from lev_correct.document import Document
from lev_correct.propose.backend import Backend
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.output import whole_file

#: What a commit's message says, and the files that are read.
MESSAGE = "typo|spelling|misspel|mispel"
PROSE = "md markdown mdx rst txt adoc asc tex html".split()
#: Lines on each side of a changed one; words of it that may change; letters that may differ.
AROUND, MOST_WORDS, MOST_SLIPS = 25, 2, 3
#: Lines of one commit in one file at most: more is a translation, or another edition.
MOST_LINES = 40
_HUNK = re.compile(r"@@ -(\d+)")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]{2,}")
_MARKS = "\"'`*_“”‘’.,;:?!()[]"


def git(repository: str, *arguments: str) -> str:
    """Returns what git prints; raises UserError where it fails."""
    done = subprocess.run(["git", "-C", repository, *arguments], capture_output=True)
    if done.returncode:
        raise UserError(f"{repository}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout.decode("utf-8", "replace")


def replaced(diff: str) -> Iterator[tuple[int, str, str]]:
    """Yields, of a diff without context, each line that became one other: its number from 0, and
    both."""
    number, removed, added = 0, list[str](), list[str]()
    for line in [*diff.split("\n"), "@@ -0"]:
        if start := _HUNK.match(line):
            if len(removed) == len(added):
                for place, pair in enumerate(zip(removed, added, strict=True)):
                    yield number + place, *pair
            number, removed, added = int(start[1]) - 1, [], []
        elif line[:1] == "-" and not line.startswith("--- "):
            removed.append(line[1:])
        elif line[:1] == "+" and not line.startswith("+++ "):
            added.append(line[1:])


def corrected_words(old: str, new: str, lists: Backend) -> list[tuple[str, str]]:
    """Returns the misspelt words of a line and what became of each; none where more was changed."""
    before, after = old.split(), new.split()
    changed = [pair for pair in zip(before, after) if pair[0] != pair[1]]
    if len(before) != len(after) or not 0 < len(changed) <= MOST_WORDS:
        return []
    words = []
    for wrong_token, right_token in changed:
        wrong, right = wrong_token.strip(_MARKS), right_token.strip(_MARKS)
        are_words = _WORD.fullmatch(wrong) and _WORD.fullmatch(right)
        if not are_words or wrong_token.replace(wrong, right) != right_token:
            return []
        is_near = 0 < OSA.distance(wrong.lower(), right.lower()) <= MOST_SLIPS
        if not is_near or lists.knows(wrong) or not lists.knows(right):
            return []
        words.append((wrong, right))
    return words


def excerpts(repository: str, commit: str, corrector: Corrector) -> Iterator[dict[str, Any]]:
    """Yields those of one commit."""
    endings = [f"*.{ending}" for ending in PROSE]
    names = git(repository, "diff", "--name-only", "--diff-filter=M", f"{commit}^", commit, "--",
                *endings)  # fmt: skip
    for path in names.split("\n")[:-1]:
        pairs = [*replaced(git(repository, "diff", "-U0", f"{commit}^", commit, "--", path))]
        if len(pairs) > MOST_LINES:
            continue
        rows = [(number, new, corrected_words(old, new, corrector.backend))
                for number, old, new in pairs]  # fmt: skip
        if not any(words for *_, words in rows):
            continue
        lines = git(repository, "show", f"{commit}^:{path}").split("\n")
        document = Document(corrector.judge(), corrector.backend.knows, path, lines)
        is_code, _ = document.read(lines)
        for number, new, words in rows:
            if words:
                first = max(number - AROUND, 0)
                yield {
                    "path": path,
                    "line": number - first,
                    "lines": lines[first : number + AROUND + 1],
                    "new": new,
                    "words": words,
                    "place": "fence" if is_code[number] else "text",
                }


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository")
    parser.add_argument("out", type=Path)
    args = parser.parse_args(argv)
    corrector = Corrector.from_pretrained()
    chosen = ("--max-parents=1", "--min-parents=1", "-i", "-E", f"--grep={MESSAGE}")
    seen: set[tuple[str, str]] = set()
    with whole_file(str(args.out)) as stream:
        packed = gzip.GzipFile("", "wb", fileobj=stream.buffer, mtime=0)  # the same bytes each time
        with packed:
            for commit in git(args.repository, "log", "--format=%H", *chosen).split():
                for row in excerpts(args.repository, commit, corrector):
                    key = row["path"], row["lines"][row["line"]]
                    if key not in seen:  # changed on several branches
                        seen.add(key)
                        packed.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
    print(f"{len(seen)} lines of {args.repository}")


if __name__ == "__main__":
    run_cli(main)
