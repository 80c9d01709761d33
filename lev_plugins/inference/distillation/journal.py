"""What :mod:`.lines` has finished, line by line, on disk: so that a run can be resumed."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from ...errors import UserError
from ...io.reading import checksum

# Why the teacher's line was not simply taken.
FINE, EMPTY, ENDLESS, RATIO, LONG = "fine", "empty", "endless", "ratio", "long"
REASONS = {
    EMPTY: "empty translation of a source that is not",
    ENDLESS: "length limit reached without an end",
    RATIO: "length ratio above --max-ratio",
    LONG: "source too long for the teacher",
}


@dataclass(frozen=True)
class Record:
    """One line of the distilled text: why (a reason or ``FINE``), whether replaced, the text."""

    reason: str
    replaced: bool
    text: str

    def __str__(self) -> str:
        return f"{self.reason}\t{int(self.replaced)}\t{self.text}\n"

    @classmethod
    def parse(cls, line: str) -> "Record":
        """Read what :meth:`__str__` wrote."""
        reason, replaced, text = line.removesuffix("\n").split("\t")
        return cls(reason, replaced == "1", text)


def digest(paths: Sequence[str]) -> str:
    """A fingerprint of the content of files."""
    return " ".join(checksum(path)[:16] for path in paths)


class Journal:
    """The finished lines of a run, chunk by chunk: a line of settings, then one record a line.

    A context: at its end the file is closed, and deleted where no chunk was finished. One that is
    there is resumed.

    Raises:
        UserError: the file cannot be written, is in use by another run, is no journal, or was
            begun with other settings.
    """

    def __init__(self, path: str, settings: Mapping[str, object], chunk: int, lines: int) -> None:
        self.path, self.done = path, 0
        try:
            self.file: BinaryIO = open(path, "a+b")
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror})") from error
        try:
            self._lock()
            self.file.seek(0)
            header = self.file.readline()
            if header:
                self._compare(header, settings)
                self._keep_whole_chunks(chunk, lines)
            else:
                self._begin(settings)
        except BaseException:
            self.file.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"{self.path}: another run is writing it; wait for it") from error

    def _begin(self, settings: Mapping[str, object]) -> None:
        try:
            self._write([json.dumps(dict(settings)) + "\n"])
        except BaseException:
            os.unlink(self.path)
            raise

    def _compare(self, header: bytes, settings: Mapping[str, object]) -> None:
        try:
            begun = dict(json.loads(header))
        except (TypeError, ValueError, RecursionError) as error:
            raise UserError(
                f"{self.path} is no journal of this command; delete it, or choose another "
                "--output-prefix"
            ) from error
        for flag in {**begun, **settings}:
            if begun.get(flag) != (value := settings.get(flag)):
                shown = isinstance(value, int | float)
                what = f"{flag} {begun.get(flag)}, not {value}" if shown else f"another {flag}"
                raise UserError(
                    f"{self.path} was begun with {what}; give it as it was, or delete the file "
                    "to begin anew"
                )

    def _keep_whole_chunks(self, chunk: int, lines: int) -> None:
        """Count the chunks, and cut off the lines of one that was not finished."""
        end = whole = self.file.tell()
        for number, line in enumerate(self.file, start=1):
            end += len(line)
            if line.endswith(b"\n") and (number % chunk == 0 or number == lines):
                whole, self.done = end, number
        self.file.truncate(whole)

    def _write(self, lines: Sequence[str]) -> None:
        try:
            self.file.write("".join(lines).encode())
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise UserError(
                f"{self.path}: cannot be written ({error.strerror}); free some space and continue "
                "with --resume"
            ) from error

    def append(self, records: Sequence[Record]) -> None:
        """Save the records of a chunk."""
        self._write([str(record) for record in records])
        self.done += len(records)

    def records(self) -> Iterator[Record]:
        """Everything saved so far, in order.

        Raises:
            UserError: a line is no record.
        """
        with open(self.path, "rb") as file:
            next(file)
            for number, line in enumerate(file, start=2):
                try:
                    record = Record.parse(line.decode())
                except ValueError as error:
                    raise UserError(
                        f"{self.path}: damaged, in line {number}; delete it to begin anew"
                    ) from error
                yield record

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None and not self.done:
            os.unlink(self.path)
        self.file.close()
