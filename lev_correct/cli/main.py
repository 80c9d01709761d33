"""Correct text: noisy lines in, clean lines out, everything else kept byte for byte.

Lines end at ``\\n`` alone. Bytes that are not UTF-8 pass through.

``--edits FILE`` gets one JSON object for each edit that the model wants: ``file`` (where files were
given), ``line`` (of the file, from 1) and the fields of
:class:`lev_correct.Edit`.
"""

import argparse
import os
import shutil
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from lev_runtime.errors import UserError, counted
from lev_runtime.io.commands import run_cli
from lev_runtime.io.lines import (
    STANDARD_STREAM,
    is_stream,
    progress,
    with_pauses,
)
from lev_runtime.io.options import as_flags, say, text_processing
from lev_runtime.io.output import standard_output, whole_file
from lev_runtime.io.text_files import read_lines

from ..report import (
    Report,
    Sink,
    diff,
    json_sink,
)
from ..repository.checked_files import checked_files
from ..repository.ignore import IgnoreComments
from ..repository.repository import NAMED, Repository, find_repository
from ..text.grammar import has_grammar
from .check import Check, diff_header, failing_checks
from .files import (
    corrected_files,
    encoding_at,
    joined,
    read_file,
    source_lines,
)
from .options import (
    build_parser,
    check,
    check_reports,
    weights,
)
from .tune import tune

if TYPE_CHECKING:
    from .. import Correction, Corrector
    from ..text.protection import Protection


def run_script() -> NoReturn:
    """Runs the command of this process and exits."""
    run_cli(main)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, or the status of a check, or raises UserError."""
    args = build_parser().parse_args(argv)
    args.check = args.check or args.accept
    with failing_checks() if args.check else nullcontext(), as_flags(args):
        return correct(args)


def correct(args: argparse.Namespace) -> int:
    """Check the options, load the model, correct; as :func:`main`."""
    check(args)
    from ..repository.documents import plan, require_text
    from ..text.protection import Protection

    paths = [path for path in args.files if not is_stream(path)]
    repository = Repository(os.curdir) if args.tune else find_repository(paths)
    words = _use(repository, args)
    patterns = [pattern for pattern in args.protect if pattern not in NAMED]
    protection = Protection(patterns, words)
    if args.check:
        return check_files(args, repository, protection)
    if args.in_place:
        require_text(args.files)
    files, skipped = [(path, path) for path in args.files] if args.in_place else [], ""
    if args.output_dir:
        todo = plan(args.files, args.output_dir)
        check_reports(args, {"what is written": [*todo], "the input": args.files})
        files = [(path, target) for target, path in todo.items() if not os.path.exists(target)]
        skipped = f"; {len(todo) - len(files):,} skipped, there already"
        if not files:
            say(f"0 files corrected{skipped}")
            return 0
    elif not files:
        standard_output()
    with ExitStack() as stack:
        # First: a folder that cannot be written is told before the model loads.
        report = Report(list(_sinks(args, stack)), bool(args.files))
        corrector = load_corrector(args)
        if args.tune:
            return tune(corrector, args, protection)
        corrector.protections.append(protection)
        Run(corrector, args, report).all(files)
    say(*report.notes())
    if args.output_dir:
        say(f"{counted(len(files), 'file')} corrected: {report}{skipped}")
    elif sys.stderr.isatty() and not sys.stdout.isatty():
        say(report)
    return 0


def _use(repository: Repository, args: argparse.Namespace) -> list[str]:
    """Takes what the options leave open from a repository's settings; returns protected words."""
    if args.min_confidence is None:
        args.min_confidence = repository.threshold
    if args.protect is None:
        args.protect = list(repository.protect)
    words = read_lines(args.protect_words) if args.protect_words else repository.words
    return [*words, *(() if args.tune else repository.listed_words(args.accept))]


def check_files(args: argparse.Namespace, repository: Repository, protection: "Protection") -> int:
    """What ``--check`` does; returns its status."""
    if args.exclude:
        repository = replace(repository, exclude=tuple(args.exclude), root=os.curdir)
    chosen = checked_files(args.files or [STANDARD_STREAM], repository.excludes)
    check_reports(args, {"the input": chosen.files})

    def load() -> "Corrector":
        corrector = load_corrector(args)
        corrector.protections.append(protection)
        return corrector

    with ExitStack() as stack:
        report = Report(list(_sinks(args, stack)), bool(args.files))
        return Check(args, repository, load, report).run(chosen)


def _sinks(args: argparse.Namespace, stack: ExitStack) -> Iterator[Sink]:
    """The reports that were asked for, each opened."""
    if args.edits:
        yield json_sink(stack.enter_context(whole_file(args.edits)), bool(args.files))


#: seconds; longer than others wait, as lines that are read together tell more of their text
PAUSE = 0.2
FOREIGN = (
    "most words are unknown, as in another language, so its lines stay, or edits below 0.9 "
    "(--protect none makes them)"
)


@dataclass
class Run:
    """A model, what it is to do, and what it did."""

    corrector: "Corrector"
    args: argparse.Namespace
    report: Report

    def all(self, files: Sequence[tuple[str, str]]) -> None:
        """Every file to where it goes, else to standard output; says which settings are in use."""
        file, use = self.corrector.settings_file, self.corrector.settings
        if file and self.args.path:
            sure = self.args.min_confidence
            sure = use.min_confidence if sure is None else sure
            words = ", protected words" if use.protect_words else ""
            flags = f"--unit {self.corrector.unit} --min-confidence {sure:.3g}{words}"
            say(f"settings of {file}: {flags} ({use.tuned})")
        if self.args.in_place:
            self.in_place()
        elif files:
            self.to_files(files)
        else:
            self.to_standard_output()

    def to_standard_output(self) -> None:
        """The text of all files, or what would change in them."""
        out, colour = standard_output().buffer, sys.stdout.isatty()
        open_end = False
        for path in self.args.files or [STANDARD_STREAM]:
            names, encoding = diff_header(path), encoding_at(path)
            for done, end in self.corrected(path, STANDARD_STREAM):
                if self.args.diff:
                    hunks = diff(self.report.line + 1, [done], [end], colour)
                    out.write(names + hunks if hunks else b"")
                    names = b"" if hunks else names
                else:
                    out.write(b"\n" * open_end)  # the last line of the file before had none
                    open_end = not end
                    out.write(joined([done], [end], encoding))
                out.flush()
                self.report.add([done])

    def in_place(self) -> None:
        """Each file over itself, whole or not at all, with its permissions."""
        texts = list(map(read_file, self.args.files))
        for file in corrected_files(self.corrector, texts, self.args):
            path = file.text.path
            self.report.begin(path)
            if file.foreign:
                self._say_foreign(path)
            with whole_file(path) as out:
                shutil.copymode(path, out.name)
                out.buffer.write(joined(file.corrections, file.text.ends, encoding_at(path)))
            self.report.add(file.corrections)

    def to_files(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Each file to its place, whole or not at all."""
        for path, target in progress(pairs, "files", total=len(pairs)):
            try:
                os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            except OSError as error:
                raise UserError(f"{target}: cannot write ({error.strerror})") from error
            with whole_file(target) as out:
                encoding = encoding_at(path)
                for done, end in self.corrected(path):
                    out.buffer.write(joined([done], [end], encoding))
                    self.report.add([done])

    def corrected(
        self, path: str, output: str | None = None
    ) -> Iterator[tuple["Correction", bytes]]:
        """The lines of a file, corrected, and their line ends."""
        self.report.begin(path)
        text = read_file(path).lines if has_grammar(path) and not is_stream(path) else ()
        document, noted = self.corrector.document(path=path, text=text), False
        ends: deque[bytes] = deque()  # of the lines that are not answered yet

        def bodies() -> Iterator[str]:
            for line in progress(source_lines(path), "lines", output, path):
                body = line.removesuffix(b"\n")
                ends.append(line[len(body) :])
                yield body.decode("utf-8", "surrogateescape")

        corrections = self.corrector.stream(
            with_pauses(bodies(), path, PAUSE),
            buffer=self.args.buffer,
            ignored=IgnoreComments().read,
            min_confidence=self.args.min_confidence,
            document=document,
            batch_size=self.args.batch_size,
        )
        for correction in corrections:
            if document and document.foreign and not noted:
                noted = True
                self._say_foreign(path)
            yield correction, ends.popleft()

    def _say_foreign(self, path: str) -> None:
        say(f"note: {f'{path}: ' if self.args.files else ''}{FOREIGN}")


def load_corrector(args: argparse.Namespace) -> "Corrector":
    """Return the corrector of a checkpoint; imported only here, to keep ``--help`` quick."""
    from .. import Corrector

    names = (
        "path data device unit window beam precision settings lexicon lookup bigrams confusions "
        "draft_guided eager"
    )
    options: dict[str, Any] = {name: getattr(args, name) for name in names.split()}
    options["weights"] = weights(args.weight or ())
    corrector = Corrector.from_pretrained(**options | text_processing(args))
    if named := [name for name in args.protect or () if name in NAMED]:
        code = named[-1] == "code"
        corrector.settings = replace(corrector.settings, protect_code=code)
    return corrector
