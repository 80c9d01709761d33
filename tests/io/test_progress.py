"""Progress is for people at a terminal; what is counted is what comes out."""

import io
import sys

import pytest

from lev_plugins.io import progress as module
from lev_plugins.io.progress import lines_of, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch):
    """Counts ten items on a stream in the place of standard error; gives what it shows."""

    def run(stream: io.StringIO | None, total: int | None = 10) -> str:
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(progress(iter(range(10)), "lines", total)) == list(range(10))
        return "" if stream is None else stream.getvalue()

    return run


@pytest.mark.parametrize("stream", [io.StringIO(), None], ids=["a file", "closed"])
def test_nothing_is_shown_where_nobody_watches(shown, stream, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    assert shown(stream) == ""


def test_nothing_is_shown_of_what_is_done_at_once(shown):
    assert shown(Terminal()).strip() == ""


@pytest.mark.parametrize(("total", "counted"), [(10, "0/10"), (None, "0 lines")])
def test_a_terminal_shows_what_is_done_and_is_clean_again(shown, monkeypatch, total, counted):
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    text = shown(Terminal(), total)
    assert counted in text and text.rsplit("\r", 1)[0].endswith(" ")


@pytest.mark.parametrize(
    ("stdin", "stdout", "total", "output", "visible"),
    [
        (False, True, 10, "-", False),  # between the lines that are printed
        (False, True, 10, "file", True),
        (False, False, 10, "-", True),
        (True, False, None, "-", False),  # between the lines that are typed
        (True, False, 10, "-", True),
    ],
)
def test_nothing_is_shown_between_lines_of_the_same_terminal(
    monkeypatch, stdin, stdout, total, output, visible
):
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    for name, terminal in (("stdin", stdin), ("stdout", stdout), ("stderr", True)):
        monkeypatch.setattr(sys, name, Terminal() if terminal else io.StringIO())
    assert list(progress(range(3), "lines", total, output)) == [0, 1, 2]
    assert bool(sys.stderr.getvalue()) == visible


def test_the_total_is_the_number_of_lines(tmp_path):
    (tmp_path / "text").write_bytes(b"a\nb\r\n\nc\n")
    assert lines_of(str(tmp_path / "text")) == 4
    assert lines_of("-") is lines_of("/dev/stdin") is lines_of(str(tmp_path / "none")) is None
