"""Standard input or output is closed (``<&-``, ``>&-``): one line, and nothing half written."""

import io
import sys
from pathlib import Path
from types import ModuleType

import editors
import pytest

from lev_plugins.cli import correct, noise, predict, report, trace
from lev_plugins.errors import UserError
from lev_plugins.inference.enct5 import EncT5
from lev_plugins.io.lines import raw_lines

MODEL = ("--path", "model.pt")
COMMANDS: dict[ModuleType, tuple[str, ...]] = {
    correct: (*MODEL, "--edits", "out"),
    trace: (*MODEL, "--html", "out"),
    predict: (*MODEL, "--output", "out"),
    noise: ("--kind", "swap", "--output", "out"),
    report: ("-", "--json", "out"),
}
NAMED = [pytest.param(one, id=one.__name__.rpartition(".")[2]) for one in COMMANDS]


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands have an untrained model, and write into a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(correct, "load_corrector", lambda args: editors.edit_corrector())
    monkeypatch.setattr(trace, "load", lambda args: (lambda pairs, first: [], None, None))
    made = classmethod(lambda cls, *given: editors.enct5("classification"))
    monkeypatch.setattr(EncT5, "from_pretrained", made)


@pytest.mark.parametrize("command", NAMED)
def test_a_closed_standard_input_is_one_line(command, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match="^standard input is closed; give it a file or a pipe"):
        command.main(COMMANDS[command])
    assert not list(tmp_path.iterdir())


WRITING = {correct: MODEL, trace: MODEL, predict: MODEL, noise: ("--kind", "swap")}


@pytest.mark.parametrize("command", [one for one in NAMED if one.values[0] in WRITING])
def test_a_closed_standard_output_is_one_line(command, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\n")))
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(UserError, match="^standard output is closed; send it to a file or"):
        command.main(WRITING[command])


def test_a_closed_standard_error_changes_nothing(monkeypatch):
    """Where it is no terminal counts are not shown; see ``run_cli`` for what is printed there."""
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"zz\n")))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", None)
    assert correct.main([*MODEL, "--min-confidence", "1"]) == 0
    assert out.buffer.getvalue() == b"zz\n"


def test_a_standard_input_that_cannot_be_read_is_one_line(monkeypatch, tmp_path):
    with open(tmp_path / "out", "w") as file, open(file.fileno(), "rb", closefd=False) as wrong:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(wrong))
        with pytest.raises(UserError, match="^standard input: cannot be read"):
            list(raw_lines("-"))
