"""The script that draws misspelt words from a git history."""

import gzip
import json
import sys

import pytest
import scripted_command
from plain_files import ROOT

sys.path.insert(0, str(ROOT / "examples/spelling_and_ocr"))
import typo_commits  # noqa: E402

from lev_runtime.errors import UserError  # noqa: E402

BEFORE, AFTER = "We keep the letter of the goverment.", "We keep the letter of the government."
#: the file, its line afterwards, the message
COMMITS = [
    ("drawn.md", AFTER, "Fix a typo"),
    ("several_words.md", "We kept the letters of a government.", "Fix typos"),
    ("a_right_word.md", "We read the letter of the goverment.", "Fix a typo"),
    ("no_typo.md", AFTER, "Say it better"),
    ("code.py", AFTER, "Fix a typo"),
]


def test_misspelt_words_are_drawn_with_the_lines_around_them(tmp_path, monkeypatch):
    def commit(name, line, message):
        lines = [*map("Line {}.".format, range(30)), line, "The end."]
        scripted_command.commit(message, **{name: "\n".join(lines).encode()})

    monkeypatch.chdir(tmp_path)
    scripted_command.git("init", "-q")
    for name, after, message in COMMITS:
        commit(name, BEFORE, "Begin")
        commit(name, after, message)
    typo_commits.main([str(tmp_path), str(tmp_path / "out.gz")])
    (row,) = map(json.loads, gzip.open(tmp_path / "out.gz", "rt"))
    assert row["words"] == [["goverment", "government"]] and row["new"] == AFTER
    assert row["lines"][row["line"]] == BEFORE and row["lines"][0] == "Line 5."
    assert (row["path"], row["place"]) == ("drawn.md", "text")


def test_a_folder_without_a_history_is_named_and_nothing_is_written(tmp_path):
    with pytest.raises(UserError, match=str(tmp_path)):
        typo_commits.main([str(tmp_path), str(tmp_path / "out.gz")])
    assert not [*tmp_path.iterdir()]
