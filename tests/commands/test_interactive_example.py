"""examples/interactive_editing: a person and a model, one of them played by the reference."""

import io
import sys
from types import ModuleType

import pytest
from example_scripts import modules

simulate, session = modules("interactive_editing", "simulate", "session")


@pytest.fixture
def run(monkeypatch, capsys):
    def run(module: ModuleType, *words: object, typed: str = "") -> str:
        monkeypatch.setattr(sys, "argv", ["script", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        assert module.main() == 0
        return capsys.readouterr().out

    return run


def test_a_session_takes_marks_numbers_and_enter(triples, run):
    typed = "a b\nA . ! B .\n\n" + "a b\nA ! B\n[=A\n[=!=] B\n1\n\n" + "c\n\n"
    said = run(session, triples.checkpoint, "--answers", 2, typed=typed)
    accepted = [line for line in said.splitlines() if line.startswith("accepted: ")]
    assert len(accepted) == 2  # the input ends within the third
    assert accepted[0] == "accepted: A . B ."
    assert "!" in accepted[1]  # locked, though the model takes it out
    assert "is not closed" in said


def test_help_by_a_person_is_measured(triples, run):
    files = []
    for side in ("src", "tgt", "mt"):
        files.append(triples.folder / f"valid.{side}")
    sources, references, drafts = files
    given_files = ("--sources", sources, "--references", references)
    said = run(simulate, triples.checkpoint, *given_files, "--drafts", drafts)
    rows = {line[:28].strip(): line[28:].split() for line in said.splitlines()}
    assert rows["11 sentences"]
    assert rows["no-edit baseline"][3] == "100.0%"
    assert rows["right words locked"][3] == "100.0%"
    assert float(rows["right words locked"][0]) > float(rows["no-edit baseline"][0])
    said = run(simulate, triples.checkpoint, *given_files, "--terms", 1)
    rows = {line[:28].strip(): line[28:].split() for line in said.splitlines()}
    assert rows["1 hard terms"][3] == "100.0%"
    assert set(rows) >= {"the model alone", "1 soft terms"}
