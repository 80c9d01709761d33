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
    """A line of JSON for each finished file: its name, its checksum and its edits.

    Args:
        folder: where the corrected files are.
        finished: those that are there.
    """

    def __init__(self, folder: str, finished: Sequence["Document"]) -> None:
        self.path, self.folder = os.path.join(folder, NAME), folder
        records = dict(self._records())
        self.known: list[tuple[Document, list[Edit], list[int]]] = []
        self.unknown: list[str] = []
        for document in finished:
            record = records.get(self._name(document))
            if record and record["sha256"] == _checksum(document.source):
                self.known.append((document, *_edits(record["edits"])))
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

        for document, edits, lines in self.known:
            place = 0
            for number, raw in enumerate(raw_lines(document.source), start=1):
                text = raw.removesuffix(b"\n").decode("utf-8", "surrogateescape")
                first = place
                while place < len(edits) and lines[place] == number:
                    place += 1
                of_line = tuple(edits[first:place])
                for sink in sinks:
                    done = Correction(text, apply_edits(text, of_line), of_line)
                    sink(document.source, number, done)

    def _name(self, document: "Document") -> str:
        return os.path.relpath(document.target, self.folder)

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """A later record of a file takes the place of an earlier one; what is broken is passed
        over, such as the last line of a run that was killed."""
        if not os.path.isfile(self.path):
            return
        for raw in raw_lines(self.path):
            try:
                record = json.loads(raw)
                _edits(record["edits"])
                yield record["file"], {"sha256": record["sha256"], "edits": record["edits"]}
            except (ValueError, TypeError, KeyError):
                continue


def _edits(records: Sequence[dict[str, Any]]) -> tuple[list["Edit"], list[int]]:
    from ..inference.correction import Edit

    edits, lines = [], []
    for record in records:
        fields = {name: value for name, value in record.items() if name not in ("line", "length")}
        edits.append(Edit(**fields))
        lines.append(int(record["line"]))
    return edits, lines


def _checksum(path: str) -> str:
    with reading(path):
        return checksum(path)
