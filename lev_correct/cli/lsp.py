"""``lev-correct lsp``: shows an editor findings and doubts, and offers corrections.

Speaks the Language Server Protocol on standard input and output. Each open text is checked as
``lev-correct check --stdin-filename`` would, a moment after its last change.
"""

import argparse
import asyncio
import io
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol.types import (
    TEXT_DOCUMENT_CODE_ACTION,
    TEXT_DOCUMENT_DID_CHANGE,
    TEXT_DOCUMENT_DID_CLOSE,
    TEXT_DOCUMENT_DID_OPEN,
    CodeAction,
    CodeActionKind,
    CodeActionOptions,
    CodeActionParams,
    Command,
    Diagnostic,
    DiagnosticSeverity,
    DidChangeTextDocumentParams,
    DidCloseTextDocumentParams,
    OptionalVersionedTextDocumentIdentifier,
    Position,
    PublishDiagnosticsParams,
    Range,
    TextDocumentEdit,
    TextDocumentSyncKind,
    TextEdit,
    WorkspaceEdit,
)
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from lev_runtime import __version__
from lev_runtime.errors import counted

from ..lines import Edit
from ..repository.findings import findings
from ..repository.kinds import left_alone
from ..repository.repository import find_repository
from .files import corrected_files, file_text, protection_of
from .options import Load

if TYPE_CHECKING:
    from .. import Corrector

#: Seconds without a change after which a text is checked.
PAUSE = 0.3
#: Corrections that are offered for a word, at most.
WORDS = 3
#: Kinds of what is offered: at a word, and for a whole text.
QUICK_FIX, FIX_ALL = CodeActionKind.QuickFix, CodeActionKind.SourceFixAll
ACCEPT = "lev-correct.accept"  #: the command that puts a word into the repository's list


class Shown(NamedTuple):
    """An edit of a version of a text, and how the editor shows it."""

    edit: Edit
    diagnostic: Diagnostic
    version: OptionalVersionedTextDocumentIdentifier


@dataclass
class Checker:
    """Checks texts, each by the settings of its repository.

    args, load: as of :func:`.check_files`; the model is loaded for the first text, with ``protect =
    ["code"]`` or ``["none"]`` of its repository.
    """

    args: argparse.Namespace
    load: Load
    corrector: "Corrector | None" = None

    def check(self, text: TextDocument) -> list[Shown]:
        """Returns the findings and doubts of a text; none of a file that ``check .`` leaves out.

        Raises:
            UserError: settings that cannot be read, or are wrong.
        """
        path, args = text.path, copy(self.args)
        repository = find_repository([path])
        protection = protection_of(args, repository)
        if repository.excludes(path) or left_alone(path, text.source):
            return []
        self.corrector = self.corrector or self.load(args)
        self.corrector.protections[1:] = [protection]
        raw = io.BytesIO(text.source.encode("utf-8", "surrogatepass"))
        (file,) = corrected_files(self.corrector, [file_text(path, raw)], args)
        version = OptionalVersionedTextDocumentIdentifier(text.uri, text.version)
        units, rows = text.position_codec.client_num_units, list[Shown]()
        for number, correction in enumerate(file.corrections):
            listed = self.corrector.backend.misspelt
            for finding in findings(path, number + 1, correction, True, listed):
                edit, line = finding.edit, correction.source
                columns = (units(line[:end]) for end in (edit.offset, edit.end))
                place = Range(*(Position(number, column) for column in columns))
                is_doubt = edit.reason in ("confidence", "unsure")
                severity = DiagnosticSeverity.Hint if is_doubt else DiagnosticSeverity.Warning
                about = finding.message, severity, finding.rule
                rows.append(Shown(edit, Diagnostic(place, *about, source="lev-correct"), version))
        return rows

    def fixes(
        self, rows: Sequence[Shown], place: Range, kinds: Sequence[str]
    ) -> Iterator[CodeAction]:
        """Yields what an editor offers at a place of a text, of the kinds that it asks for."""
        sure = [row for row in rows if row.edit.applied]
        if sure and not {FIX_ALL, "source"}.isdisjoint(kinds):
            title = f"Correct {counted(len(sure), 'word')} in this file"
            yield action(title, FIX_ALL, sure, [row.edit.after for row in sure])
        for row in rows if QUICK_FIX in kinds else ():
            here = row.diagnostic.range
            if here.start <= place.end and place.start <= here.end:
                yield from self.quick_fixes(row, rows)

    def quick_fixes(self, here: Shown, rows: Sequence[Shown]) -> Iterator[CodeAction]:
        """Yields what an editor offers at an edit; ``rows``: all of its text."""
        assert self.corrector
        before, after = here.edit.before, here.edit.after
        words = dict.fromkeys([after, *self.corrector.backend.suggestions(before)])
        words.pop(before, None)
        for word in [*words][:WORDS]:
            fix = action(f"Change to “{word}”", QUICK_FIX, [here], [word])
            # what an editor takes without a question
            fix.is_preferred = here.edit.applied and word == after
            yield fix
        same = [row for row in rows if row.edit.before == before]
        if len(same) > 1:
            title = f"Change all {len(same)} to “{after}”"
            yield action(title, QUICK_FIX, same, [after] * len(same))
        if before.strip() and after.strip():  # as `check --accept`
            title = f"Ignore “{before}” in this repository"
            command = Command(title, ACCEPT, arguments=[here.version.uri, before])
            yield CodeAction(title, QUICK_FIX, [here.diagnostic], command=command)


def action(title: str, kind: str, rows: Sequence[Shown], words: Iterable[str]) -> CodeAction:
    """Returns the change of a text in which words are written for some of its edits."""
    shown = [row.diagnostic for row in rows]
    edits = [TextEdit(each.range, word) for each, word in zip(shown, words)]
    changed = TextDocumentEdit(rows[0].version, edits)
    return CodeAction(title, kind, shown, edit=WorkspaceEdit(None, [changed]))


def make_server(args: argparse.Namespace, load: Load) -> LanguageServer:
    """Returns a language server; arguments as of :class:`Checker`."""
    # whole texts: pygls finds changes by str.splitlines, but no editor ends lines at form feeds
    server = LanguageServer("lev-correct", __version__, TextDocumentSyncKind.Full)
    checker, turn = Checker(args, load), asyncio.Lock()
    shown: dict[str, Sequence[Shown]] = {}  # by address

    def is_current(text: TextDocument) -> bool:
        now: TextDocument = server.workspace.get_text_document(text.uri)
        return now.version == text.version

    def publish(uri: str, rows: Sequence[Shown]) -> None:
        shown[uri] = rows
        diagnostics = [row.diagnostic for row in rows]
        server.text_document_publish_diagnostics(PublishDiagnosticsParams(uri, diagnostics))

    async def check(uri: str) -> None:
        text = copy(server.workspace.get_text_document(uri))
        await asyncio.sleep(PAUSE)
        async with turn:  # what has changed meanwhile has a check of its own
            rows = await asyncio.to_thread(checker.check, text) if is_current(text) else ()
        if is_current(text):
            publish(uri, rows)

    @server.feature(TEXT_DOCUMENT_DID_OPEN)
    @server.feature(TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: DidChangeTextDocumentParams) -> None:
        await check(params.text_document.uri)

    @server.feature(TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: DidCloseTextDocumentParams) -> None:
        publish(params.text_document.uri, ())
        del shown[params.text_document.uri]

    @server.feature(TEXT_DOCUMENT_CODE_ACTION, CodeActionOptions([QUICK_FIX, FIX_ALL]))
    @server.thread()
    def actions(params: CodeActionParams) -> list[CodeAction]:
        rows, kinds = shown.get(params.text_document.uri, ()), params.context.only or [QUICK_FIX]
        return [*checker.fixes(rows, params.range, kinds)]

    @server.command(ACCEPT)
    async def accept(uri: str, word: str) -> None:
        find_repository([server.workspace.get_text_document(uri).path]).accept([word])
        await asyncio.gather(*map(check, shown))

    return server
