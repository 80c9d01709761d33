"""What was changed in the finished files of an output folder, for the reports of a resumed run."""

import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..io.lines import json_line, raw_lines
from ..io.reading import checksum, reading
from .correction_report import Sink

if TYPE_CHECKING:
    from ..inference.correction import Edit
    from ..inference.correction.documents import Document

#: Hidden, so that a folder that is corrected again passes over it.
NAME = ".corrections.jsonl"


class Journal:
    """A line of JSON for each finished file of a folder: its name, its checksum and its edits."""

    def __init__(self, folder: str, finished: Sequence["Document"]) -> None:
        self.path, self.folder = os.path.join(folder, NAME), folder
        records = dict(self._records())
        self.known: list[tuple[Document, list[tuple[int, Edit]]]] = []
        self.unknown: list[str] = []
        for document in finished:
            digest, edits = records.get(self._name(document), (None, []))
            if digest == _checksum(document.source):
                self.known.append((document, edits))
            else:
                self.unknown.append(document.source)

    def note(self, document: "Document", done: Sequence[tuple[int, "Edit"]]) -> None:
        """Keeps the edits of a file, each with its line, before its corrected text is in place.

        Raises:
            UserError: the journal cannot be written.
        """
        edits = [{"line": line, **edit.to_dict()} for line, edit in done]
        record = {"file": self._name(document), "sha256": _checksum(document.source)}
        try:
            with open(self.path, "a", encoding="utf-8", errors="backslashreplace") as file:
                # The line end in front ends what a killed run may have left.
                file.write("\n" + json_line({**record, "edits": edits}))
        except OSError as error:
            raise UserError(f"{self.path}: cannot be written ({error.strerror})") from error

    def report(self, sinks: Sequence[Sink]) -> None:
        """Gives the lines of the files that are known to the sinks."""
        from ..inference.correction.corrector import Correction, apply_edits

        for document, edits in self.known:
            by_line: dict[int, list[Edit]] = {}
            for number, edit in edits:
                by_line.setdefault(number, []).append(edit)
            for number, raw in enumerate(raw_lines(document.source), start=1):
                text = raw.removesuffix(b"\n").decode("utf-8", "surrogateescape")
                of_line = tuple(by_line.get(number, ()))
                done = Correction(text, apply_edits(text, of_line), of_line)
                for sink in sinks:
                    sink(document.source, number, done)

    def _name(self, document: "Document") -> str:
        return os.path.relpath(document.target, self.folder)

    def _records(self) -> Iterator[tuple[str, tuple[str, list[tuple[int, "Edit"]]]]]:
        """Name, checksum and edits of each file. A later record takes the place of an earlier one;
        what is broken is passed over, such as the last line of a run that was killed."""
        if not os.path.isfile(self.path):
            return
        for raw in raw_lines(self.path):
            try:
                record = json.loads(raw)
                found = record["sha256"], list(map(_edit, record["edits"]))
                yield record["file"], found
            except (ValueError, TypeError, KeyError):
                continue


def _edit(record: dict[str, Any]) -> tuple[int, "Edit"]:
    from ..inference.correction import Edit

    fields = {name: value for name, value in record.items() if name not in ("line", "length")}
    return int(record["line"]), Edit(**fields)


def _checksum(path: str) -> str:
    with reading(path):
        return checksum(path)
