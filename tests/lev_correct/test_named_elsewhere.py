"""What another file of a run names is reported, and stays as it is."""

from pathlib import Path

import pytest
from scripted_command import put, tree
from tables import table

from lev_correct import Corrector
from lev_correct.cli import main as correct

PROJECTS = table("lev_correct/files/projects.tsv")


@pytest.fixture(scope="module")
def packaged():
    return Corrector.from_pretrained()


@pytest.fixture
def written(packaged, monkeypatch, tmp_path, capsys):
    """Checks an empty folder with ``--write``; returns what then stands in its files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(correct, "load_corrector", lambda args: packaged)

    def run(*flags: str, **files: str) -> dict[str, bytes]:
        monkeypatch.setattr(packaged, "protections", packaged.protections[:1])
        put(**{name: f"{text}\n".encode() for name, text in files.items()})
        correct.main(["check", ".", "--write", "--no-cache", *flags])
        return tree()

    return run


@pytest.mark.parametrize("name, text, other, naming", PROJECTS)
def test_what_another_file_names_stays_and_is_written_without_it(
    written, name, text, other, naming
):
    files = {name: f"{text}\n".encode(), other: f"{naming}\n".encode()}
    assert written(**{name: text, other: naming}) == files
    Path(other).unlink()
    assert written(**{name: text}) != {name: files[name]}
