"""Measure what help by a person is worth: marks that are taken from the reference.

    python examples/interactive_editing/simulate.py MODEL --sources F --references F --drafts F \\
        [--old-sources F] [--subwords] [--sentences 500] [--json F]

MODEL is a checkpoint, or a folder of lev-export. It edits alone; with wrong words marked to go;
with every right word locked as well; and the drafts without the wrong words, unedited, are what the
editor has to beat. Lines without a draft are left out. Right words are those of the draft that an
alignment keeps. Marks end where punctuation begins: it is a word of its own. --subwords: also with
marks on subwords, by an oracle (Figure 5 of the LevT paper; a folder of lev-export), which the
editor may write again or not. Files are plain text; line n of each belongs together.
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from lev_plugins import LevenshteinEditor
from lev_plugins.metrics.corpus import add_up, make_metric
from lev_runtime import Editor
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_parallel
from lev_runtime.refine import constraints
from lev_runtime.text.markup import DROP, KEEP, write_marks
from lev_runtime.text.sentences import Draft
from lev_runtime.text.words import right_words

METRICS = ("bleu", "ter_normalized", "accuracy")
WORD = re.compile(r"\w+|[^\w\s]")
FILES = ("sources", "references", "drafts", "old_sources")
Span = tuple[int, int]
Sides = dict[str, list[str]]


def main() -> None:
    """Edits in each way, scores and prints a row for each."""
    args = _arguments()
    files = {name: getattr(args, name) for name in FILES if getattr(args, name)}
    rows = [dict(zip(files, lines)) for lines in read_parallel(list(files.values()))]
    rows = [row for row in rows if row["drafts"]][: args.sentences]
    sides = {name: [row[name] for row in rows] for name in files}
    is_folder = Path(args.model).is_dir()
    editor = Editor(args.model) if is_folder else LevenshteinEditor.from_pretrained(args.model)
    print(f"{len(rows)} sentences".ljust(44) + "   BLEU     TER   exact   right words kept")
    table = Table(sides["references"])
    edit_in_each_way(editor, sides, args.subwords, table)
    if args.json:
        written = json.dumps({"systems": table.systems}, indent=1)
        Path(args.json).write_text(f"{written}\n", encoding="utf-8")


class Table:
    """Scores outputs by the references: a printed line and, in ``systems``, numbers for each."""

    def __init__(self, references: Sequence[str]) -> None:
        self.references = references
        self.systems = dict[str, dict[str, float]]()

    def add(self, name: str, outputs: Sequence[str], kept: Sequence[Sequence[str]]) -> None:
        """Takes in the outputs of a way; ``kept``: what should be in each."""
        pairs = list(zip(outputs, self.references, strict=True))
        scores = [
            metric.score(add_up(metric, (metric.statistics(*pair) for pair in pairs)))
            for metric in map(make_metric, METRICS)
        ]
        self.systems[name] = dict(zip(("bleu", "ter", "exact"), scores, strict=True))
        present = [word in output for output, words in zip(outputs, kept) for word in words]
        share = f"{100 * sum(present) / max(len(present), 1):.1f}%"
        print(f"{name:44}{'{:7.2f} {:7.2f} {:6.1f}%'.format(*scores)} {share:>12}", flush=True)


def edit_in_each_way(editor: Any, sides: Sides, subwords: bool, table: Table) -> None:
    """Edits drafts, with marks and without."""
    drafts, references = sides["drafts"], sides["references"]
    pairs = list(zip(drafts, references, strict=True))
    right = [
        [draft[start:end] for (start, end), is_right in words_of(draft, reference) if is_right]
        for draft, reference in pairs
    ]
    others = {"old_sources": sides["old_sources"]} if "old_sources" in sides else {}

    def edit(name: str, drafts: Sequence[str], **options: Any) -> None:
        traces = editor.edit(sides["sources"], drafts, **others, **options)
        table.add(name, [trace.text for trace in traces], right)

    table.add("no-edit baseline", drafts, right)
    table.add("wrong words removed", [without(*pair) for pair in pairs], right)
    edit("the editor alone", drafts)
    edit("wrong words marked to go", [marked(*pair) for pair in pairs], markup=True)
    edit("… and right words locked", [marked(*pair, lock=True) for pair in pairs], markup=True)
    if subwords:
        encode = editor.encode_draft
        editor.encode_draft = Oracle(encode, references)
        edit("the same with subwords, by an oracle", drafts)
        editor.encode_draft = Oracle(encode, references)
        with mock.patch.object(constraints, "removed_runs", lambda tokens, marks: []):
            edit("… which may be written again", drafts)


class Oracle:
    """Reads drafts, one for each of the references in turn: wrong subwords go, right ones stay."""

    def __init__(self, encode: Any, references: Sequence[str]) -> None:
        self.encode = encode
        self.references = iter(references)

    def __call__(self, text: str, markup: bool) -> Draft:
        """Returns the draft as tokens; stands in for an editor's ``encode_draft``."""
        draft = self.encode(text, False)
        wanted = self.encode(next(self.references), False)
        right = right_words(wanted.words, draft.words)
        marks = [KEEP if place in right else DROP for place in range(len(draft.words))]
        return draft._replace(marks=[0, *marks, 0])


def words_of(draft: str, reference: str) -> list[tuple[Span, bool]]:
    """Returns where the words of the draft stand, and which are right."""
    matches = list(WORD.finditer(draft))
    right = right_words(WORD.findall(reference), [match[0] for match in matches])
    return [(match.span(), place in right) for place, match in enumerate(matches)]


def wrong_spans(draft: str, reference: str) -> list[Span]:
    """Returns where wrong words stand; neighbours are one span."""
    spans = list[Span]()
    was_right = True
    for (start, end), is_right in words_of(draft, reference):
        if not is_right:
            first = start if was_right else spans.pop()[0]
            spans.append((first, end))
        was_right = is_right
    return spans


def without(draft: str, reference: str) -> str:
    """Returns the draft without its wrong words."""
    for start, end in reversed(wrong_spans(draft, reference)):
        draft = draft[:start] + draft[end:]
    return " ".join(draft.split())


def marked(draft: str, reference: str, lock: bool = False) -> str:
    """Returns the draft with its wrong words marked to go; ``lock``: and right ones to stay.

    Of right words only what is right from one space to the next: a subword may cover both.
    """
    wrong = wrong_spans(draft, reference)
    marks = [(*span, "drop") for span in wrong]
    for start, end in [match.span() for match in re.finditer(r"\S+", draft)] if lock else []:
        if not any(first < end and start < last for first, last in wrong):
            marks.append((start, end, "keep"))
    return write_marks(draft, sorted(marks))


def _arguments() -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model", help="a trained levenshtein_editor, or a folder of lev-export")
    add("--sources", required=True, metavar="FILE", help="sources, a sentence a line")
    add("--references", required=True, metavar="FILE", help="what they should become")
    add("--drafts", required=True, metavar="FILE", help="drafts")
    add("--old-sources", metavar="FILE", help="the sources that the drafts translate")
    add("--subwords", action="store_true", help="also mark subwords, by an oracle")
    add("--sentences", type=int, default=500, help="how many, from the first (default: 500)")
    add("--json", metavar="FILE", help="file to write the numbers to")
    return parser.parse_args()


if __name__ == "__main__":
    run_cli(main)
