"""``lev-correct lsp`` as an editor meets it: messages through two pipes."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from refusals import refuses

from lev_correct import Corrector
from lev_correct.cli import main as correct
from lev_correct.cli.options import parse

pytest.importorskip("pygls")
from lev_correct.cli import lsp  # noqa: E402

ERROR, DOUBT = 2, 4  # a warning, a hint
Message = dict[str, Any]


def framed(method: str, params: Message, number: int | None = None) -> bytes:
    """Returns a notification, or a request with a number."""
    numbered = {} if number is None else {"id": number}
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **numbered}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Editor:
    """An editor with one text, whose server runs in a thread."""

    def __init__(self, corrector: Corrector, path: Path) -> None:
        server = lsp.make_server(parse(["lsp"])[1], lambda args: corrector)
        (reads, asked), (answers, writes) = os.pipe(), os.pipe()
        self.uri, self.version, self.text = path.as_uri(), 0, ""
        self.asked, self.answers = os.fdopen(asked, "wb", 0), os.fdopen(answers, "rb")
        streams = os.fdopen(reads, "rb"), os.fdopen(writes, "wb")
        threading.Thread(target=server.start_io, args=streams, daemon=True).start()
        self.request("initialize", processId=None, capabilities={})

    def __enter__(self) -> "Editor":
        return self

    def __exit__(self, *_: object) -> None:
        self.request("shutdown")
        self.asked.write(framed("exit", {}))

    def hear(self, name: str) -> Message:
        """Returns the next message that has a name: a method, or ``result``."""
        while True:
            size = int(self.answers.readline().split()[1])
            while self.answers.readline().strip():
                pass
            message = json.loads(self.answers.read(size))
            is_error = message.get("method") == "window/showMessage"
            assert not is_error or name == message["method"], message
            if name in message or message.get("method") == name:
                return message.get("params") or message

    def request(self, method: str, **params: Any) -> Any:
        self.asked.write(framed(method, params, 1))
        return self.hear("result")["result"]

    def type(self, text: str) -> None:
        """Opens the text, or replaces it, and waits for nothing."""
        self.version, self.text = self.version + 1, text
        document = {"uri": self.uri, "version": self.version, "languageId": "", "text": text}
        kind = "didOpen" if self.version == 1 else "didChange"
        changes = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.asked.write(framed(f"textDocument/{kind}", changes))

    def seen(self, text: str | None = None) -> list[tuple[int, int, int]]:
        """Returns line and column of all that is shown next, after a text, and how severe it is."""
        if text is not None:
            self.type(text)
        shown = self.hear("textDocument/publishDiagnostics")["diagnostics"]
        self.ranges = [each["range"] for each in shown]
        starts = [place["start"] for place in self.ranges]
        pairs = zip(starts, shown, strict=True)
        return [(start["line"], start["character"], each["severity"]) for start, each in pairs]

    def offers(self, place: Message, **context: list[str]) -> list[Message]:
        named = {"textDocument": {"uri": self.uri}, "range": place}
        return self.request(
            "textDocument/codeAction", **named, context={"diagnostics": [], **context}
        )

    def changes(self, place: Message) -> list[str]:
        """Returns what becomes of the text by each change that is offered, in UTF-16 code units."""
        return [self._changed(offer["edit"]) for offer in self.offers(place) if "edit" in offer]

    def _changed(self, edit: Message) -> str:
        (change,) = edit["documentChanges"]
        assert change["textDocument"] == {"uri": self.uri, "version": self.version}
        lines = [line.encode("utf-16-le") for line in self.text.split("\n")]
        for each in reversed(change["edits"]):
            start, end = each["range"]["start"], each["range"]["end"]
            line, new = lines[start["line"]], each["newText"].encode("utf-16-le")
            first, last = 2 * start["character"], 2 * end["character"]
            lines[start["line"]] = line[:first] + new + line[last:]
        return "\n".join(line.decode("utf-16-le") for line in lines)


@pytest.fixture(scope="module")
def packaged():
    return Corrector.from_pretrained()


TEXT = "# 😀 Teh\u2028cat\fsat\nPlease send me the invoic. The cat sat on teh mat, teh red one.\n"


def test_an_editor_shows_errors_and_doubts_and_corrects_them_in_utf_16(packaged, tmp_path):
    with Editor(packaged, tmp_path / "a.md") as user:
        assert user.seen(TEXT) == [(0, 5, ERROR), (1, 19, DOUBT), (1, 42, ERROR), (1, 51, ERROR)]
        first, doubt, second, _ = user.ranges
        assert user.changes(first) == [TEXT.replace("Teh", "The")]
        one, *_, every = user.changes(second)
        assert one == TEXT.replace("on teh", "on the") and every == TEXT.replace("teh", "the")
        words = user.changes(doubt)
        assert TEXT.replace("invoic.", "invoice.") in words and 1 < len(words) <= lsp.WORDS
        between = second["end"] | {"character": 47}
        assert user.offers({"start": between, "end": between}) == []
        assert user.seen("The cat sat on the the mat.\n") == [(0, 15, ERROR)]
        assert user.changes(user.ranges[0]) == ["The cat sat on the mat.\n"]


def test_an_editor_takes_what_is_sure_by_itself_a_word_or_all_of_them(packaged, tmp_path):
    with Editor(packaged, tmp_path / "a.md") as user:
        assert len(user.seen(TEXT)) == 4
        first, doubt, *_ = user.ranges
        preferred = [[offer.get("isPreferred", False) for offer in user.offers(place)]
                     for place in (first, doubt)]  # fmt: skip
        assert preferred[0] == [True, False] and not any(preferred[1])
        fixed = TEXT.replace("Teh", "The").replace("teh", "the")
        for kind in ("source.fixAll", "source"):
            (fix,) = user.offers(doubt, only=[kind])
            assert fix["kind"] == "source.fixAll" and user._changed(fix["edit"]) == fixed
        assert user.offers(first, only=["source.organizeImports", "refactor"]) == []
        assert user.seen("A cat sat.\nPlease send me the invoic.\n") == [(1, 19, DOUBT)]
        assert user.offers(user.ranges[0], only=["source.fixAll"]) == []


def test_what_is_typed_is_checked_once_it_rests_and_a_closed_text_shows_nothing(packaged, tmp_path):
    with Editor(packaged, tmp_path / "a.py") as user:
        assert user.seen("x = 1  # teh cat sat\n") == [(0, 9, ERROR)]
        for end in range(9):
            user.type("x = 1  # teh cat sat so\n"[: 14 + end])
        assert user.seen("x = 1  # the cat\n\n\ny = 1  # teh cat sat\n") == [(3, 9, ERROR)]
        user.asked.write(framed("textDocument/didClose", {"textDocument": {"uri": user.uri}}))
        assert user.seen() == []


@pytest.mark.parametrize("name, begins", [("left/a.md", ""), ("a.md", "Generated by a program.\n")])
def test_a_text_that_a_check_of_its_folder_leaves_out_shows_nothing(
    packaged, tmp_path, name, begins
):
    (tmp_path / "pyproject.toml").write_text('[tool.lev-correct]\nexclude = ["left/*"]\n')
    with Editor(packaged, tmp_path / name) as user:
        assert user.seen(f"{begins}We recieve teh mail.\n") == []


def test_a_word_is_ignored_in_its_repository_and_wrong_settings_are_said(packaged, tmp_path):
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.lev-correct]\nprotect = ["X.*Y"]\n')
    with Editor(packaged, tmp_path / "in" / "a.md") as user:
        assert user.seen("X teh Y, recieve and definately.\n") == [(0, 9, ERROR), (0, 21, ERROR)]
        command = user.offers(user.ranges[0])[-1]["command"]
        named = {"command": command["command"], "arguments": command["arguments"]}
        user.asked.write(framed("workspace/executeCommand", named, 1))
        assert user.seen() == [(0, 21, ERROR)]
        assert (tmp_path / ".lev-correct-words.txt").read_text() == "recieve\n"
        settings.write_text("[tool.lev-correct]\nodd = 1\n")
        user.type("teh")
        assert "odd" in user.hear("window/showMessage")["message"]


@pytest.mark.slow
@pytest.mark.parametrize("last", [framed("shutdown", {}, 2) + framed("exit", {}), b""])
def test_the_command_ends_with_status_0_when_the_editor_ends_it_or_goes(last):
    sent = framed("initialize", {"processId": None, "capabilities": {}}, 1) + last
    run = [sys.executable, "-c", "from lev_correct.cli.main import run_script; run_script()", "lsp"]
    done = subprocess.run(run, input=sent, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"") and b"lev-correct" in done.stdout


def test_without_pygls_a_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("lev_runtime.errors.find_spec", lambda name: None)
    with refuses("pip install '.[lsp]'"):
        correct.main(["lsp"])
