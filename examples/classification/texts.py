"""Labelled lines of text: ``labels<TAB>text``, as prepare.sh writes them.

One class; labels with commas between them; or words and as many tags, with spaces between them.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lev_plugins.errors import UserError
from lev_plugins.io.text_files import read_lines, read_parallel
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.enct5.reading import Labelled, Layout


class Example(NamedTuple):
    """A text, or the words of one, and what is to be predicted of it."""

    text: str
    labels: list[str]

    @property
    def words(self) -> list[str]:
        """What stands between spaces."""
        return self.text.split()


def read(path: Path, kind: ProblemType) -> list[Example]:
    """The lines of a file that :func:`write` wrote."""
    return [_example(found) for found in Layout(kind).read(str(path))]


def _example(found: Labelled) -> Example:
    return Example(" ".join(found.texts), found.labels)


def write(path: Path, examples: Iterable[Example], kind: ProblemType) -> int:
    """Writes labels, tab and text; returns how many lines that were."""
    separator = " " if kind is ProblemType.TAGGING else ","
    lines = [f"{separator.join(one.labels)}\t{one.text}\n" for one in examples]
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return len(lines)


# ---------------------------------------------------------------- from files as they come


def tagged(words: Path, tags: Path) -> Iterator[Example]:
    """Words and tags, line by line.

    Raises:
        UserError: lines, or words and tags of a line, that differ in number.
    """
    for number, (text, labels) in enumerate(read_parallel([str(words), str(tags)]), start=1):
        found = Example(" ".join(text.split()), labels.split())
        if len(found.words) != len(found.labels):
            raise UserError(
                f"line {number}: {len(found.words)} words in {words} and {len(found.labels)} tags "
                f"in {tags}; there must be one tag a word"
            )
        yield found


def conllu(path: Path, tags: str) -> tuple[list[Example], int]:
    """The sentences of CoNLL-U, and how many words hold a space, for which they get ``_``.

    Args:
        tags: upos or xpos.
    """
    found, corrected = [], 0
    for one in Layout(ProblemType.TAGGING, "conllu", tags=tags).read(str(path)):
        words = ["_".join(word.split()) for word in one.texts]
        corrected += sum(word != before for word, before in zip(words, one.texts, strict=True))
        found.append(Example(" ".join(words), one.labels))
    return found, corrected


def named(path: Path, labels: Sequence[str]) -> Iterator[Example]:
    """Texts with any number of labels, which are names or their numbers, from 0.

    Raises:
        UserError: a label that is neither.
    """
    known = set(labels)
    for found in Layout(ProblemType.MULTILABEL).read(str(path)):
        for place, label in enumerate(found.labels):
            if label in known:
                continue
            if not label.isdecimal() or int(label) >= len(labels):
                raise UserError(
                    f"{found.where}: {label!r} is none of the {len(labels)} labels, nor the "
                    "number of one, from 0"
                )
            found.labels[place] = labels[int(label)]
        yield _example(found)


def classified(path: Path) -> list[Example]:
    """Texts with one class each."""
    return read(path, ProblemType.CLASSIFICATION)


def label_names(path: Path) -> list[str]:
    """One a line.

    Raises:
        UserError: a comma in one, which stands between labels.
    """
    found = list(read_lines(str(path)))
    for number, label in enumerate(found, start=1):
        if "," in label or not label:
            raise UserError(f"{path}: line {number}: {label!r} cannot be the name of a label")
    return found
