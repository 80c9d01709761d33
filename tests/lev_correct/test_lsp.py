"""``lev-correct lsp`` as an editor meets it: pygls' client at the other end of two pipes."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from refusals import refuses

from lev_correct import Corrector
from lev_correct.cli import main as correct
from lev_correct.cli.options import parse

pytest.importorskip("pygls")
from lsprotocol import types  # noqa: E402
from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async  # noqa: E402
from pygls.lsp.client import LanguageClient  # noqa: E402

from lev_correct.cli import lsp  # noqa: E402

SECONDS = 300  # a busy machine is slow


@pytest.fixture(scope="module")
def packaged():
    return Corrector.from_pretrained()


class Editor:
    """An editor with one text open at a time."""

    def __init__(self) -> None:
        self.client, self.version, self.uri = LanguageClient("test", "1"), 0, ""
        self.shown: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.said: list[str] = []

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def show(params: types.PublishDiagnosticsParams) -> None:
            self.shown.put_nowait(params)

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def say(params: types.ShowMessageParams) -> None:
            self.said.append(params.message)
            self.shown.put_nowait(types.PublishDiagnosticsParams(self.uri, []))

    async def wait(self) -> list[types.Diagnostic]:
        """Returns what is shown next for the open text."""
        async with asyncio.timeout(SECONDS):
            while (params := await self.shown.get()).uri != self.uri:
                pass
        return [*params.diagnostics]

    async def open(self, path: Path, text: str) -> list[types.Diagnostic]:
        self.uri, self.version = path.as_uri(), 1
        item = types.TextDocumentItem(self.uri, "", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.wait()

    def type(self, text: str) -> None:
        self.version += 1
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def close(self) -> None:
        document = types.TextDocumentIdentifier(self.uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    async def offers(self, place: types.Range) -> dict[str, types.CodeAction]:
        """Returns what is offered at a place, by its title."""
        document, context = types.TextDocumentIdentifier(self.uri), types.CodeActionContext([])
        asked = types.CodeActionParams(document, place, context)
        found = await self.client.text_document_code_action_async(asked)
        # lsprotocol takes an action with a command for a command, and loses its arguments
        return {action.title: action for action in found or ()}

    async def ignore(self, word: str) -> None:
        asked = types.ExecuteCommandParams(lsp.ACCEPT, arguments=[self.uri, word])
        await self.client.workspace_execute_command_async(asked)


@asynccontextmanager
async def editor(corrector, flags=""):
    """An editor with a server in a thread of its own."""
    server = lsp.make_server(parse(["lsp", *flags.split()])[1], lambda args: corrector)
    (to_server, to_write), (to_read, from_server) = os.pipe(), os.pipe()
    streams = os.fdopen(to_server, "rb"), os.fdopen(from_server, "wb")
    thread = threading.Thread(target=server.start_io, args=streams)
    thread.start()
    user = Editor()
    with os.fdopen(to_read, "rb") as answers, os.fdopen(to_write, "wb") as asked:
        user.client.protocol.set_writer(StdoutWriter(asked))
        reader = StdinAsyncReader(answers)
        reading = asyncio.create_task(run_async(threading.Event(), reader, user.client.protocol))
        able = types.ClientCapabilities()
        await user.client.initialize_async(types.InitializeParams(able, process_id=None))
        user.client.initialized(types.InitializedParams())
        try:
            yield user
        finally:
            await user.client.shutdown_async(None)
            user.client.exit(None)
            await asyncio.to_thread(thread.join)
            streams[1].close()
            await reading


def edited(action: types.CodeAction, text: str) -> str:
    """Makes the edits of an action as an editor does, in UTF-16 code units."""
    (changed,) = action.edit.document_changes
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    for edit in sorted(changed.edits, key=lambda edit: edit.range.start, reverse=True):
        start, end, number = edit.range.start, edit.range.end, edit.range.start.line
        new = edit.new_text.encode("utf-16-le")
        lines[number] = (
            lines[number][: 2 * start.character] + new + lines[number][2 * end.character :]
        )
    return "\n".join(line.decode("utf-16-le") for line in lines)


async def lines_of(user: Editor, place: types.Range, text: str) -> dict[str, str]:
    """Returns what becomes of a text by each correction that is offered at a place."""
    offers = await user.offers(place)
    return {name: edited(offer, text) for name, offer in offers.items() if "Ignore" not in name}


def seen(found: list[types.Diagnostic]) -> list[tuple[int, int, int]]:
    """Returns line and column of each, and how severe it is."""
    return [(each.range.start.line, each.range.start.character, each.severity) for each in found]


ERROR, DOUBT = types.DiagnosticSeverity.Warning, types.DiagnosticSeverity.Hint
TEXT = "# 😀 Teh\u2028cat\fsat\nPlease send me the invoic. The cat sat on teh mat, teh red one.\n"


def test_an_editor_shows_errors_and_doubts_and_corrects_them_in_utf_16(packaged, tmp_path):
    async def session():
        async with editor(packaged) as user:
            found = await user.open(tmp_path / "a.md", TEXT)
            assert seen(found) == [(0, 5, ERROR), (1, 19, DOUBT), (1, 42, ERROR), (1, 51, ERROR)]
            first, doubt, second, _ = [each.range for each in found]
            assert {*(await lines_of(user, first, TEXT)).values()} == {TEXT.replace("Teh", "The")}
            corrected = [*(await lines_of(user, second, TEXT)).values()]
            assert corrected[0] == TEXT.replace("on teh", "on the")
            assert corrected[-1] == TEXT.replace("teh", "the") and len(corrected) <= lsp.WORDS + 1
            changes = await lines_of(user, doubt, TEXT)
            assert 1 < len(changes) <= lsp.WORDS and TEXT.replace("invoic.", "invoice.") in [
                *changes.values()
            ]
            nowhere = types.Range(types.Position(1, 0), types.Position(1, 3))
            assert await user.offers(nowhere) == {}

    asyncio.run(session())


def test_what_is_typed_is_checked_once_it_rests_and_a_closed_text_shows_nothing(packaged, tmp_path):
    async def session():
        async with editor(packaged) as user:
            assert await user.open(tmp_path / "a.py", "x = 1  # teh cat sat\nhat = 2\n") != []
            for end in range(9):
                user.type("x = 1  # the cat sat so\n"[: 14 + end])
            user.type("x = 1  # the cat\n\n\ny = 1  # teh cat sat\n")
            assert seen(await user.wait()) == [(3, 9, ERROR)]
            user.close()
            assert await user.wait() == [] and user.shown.empty()

    asyncio.run(session())


def test_a_text_is_checked_by_the_settings_of_its_repository(packaged, tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.lev-correct]\nexclude = ["left/*"]\nprotect = ["X.*Y"]\n'
    )
    text, generated = "X teh Y, recieve and definately.\n", "Generated by a program.\n"

    async def session():
        async with editor(packaged) as user:
            assert await user.open(tmp_path / "left/a.md", text) == []
            assert await user.open(tmp_path / "b.md", f"{generated}{text}") == []
            found = await user.open(tmp_path / "a.md", text)
            assert seen(found) == [(0, 9, ERROR), (0, 21, ERROR)]
            assert "recieve" in [*await user.offers(found[0].range)][-1]
            await user.ignore("recieve")
            assert seen(await user.wait()) == [(0, 21, ERROR)]
            assert (tmp_path / ".lev-correct-words.txt").read_text() == "recieve\n"
            (tmp_path / "pyproject.toml").write_text("[tool.lev-correct]\nodd = 1\n")
            user.type(text + text)
            await user.wait()
            assert len(user.said) == 1 and "odd" in user.said[0]

    asyncio.run(session())


@pytest.mark.slow
@pytest.mark.parametrize("last", ["exit", "nothing"])
def test_the_command_ends_with_status_0_when_the_editor_ends_it_or_goes(last):
    asked = [{"id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}}]
    asked += [{"id": 2, "method": "shutdown"}, {"method": "exit"}] if last == "exit" else []
    bodies = [json.dumps({"jsonrpc": "2.0", **message}) for message in asked]
    sent = "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies)
    run = [sys.executable, "-c", "from lev_correct.cli.main import run_script; run_script()", "lsp"]
    done = subprocess.run(run, input=sent, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and "lev-correct" in done.stdout


def test_without_pygls_a_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("lev_runtime.errors.find_spec", lambda name: None)
    with refuses("pip install '.[lsp]'"):
        correct.main(["lsp"])
