"""What is said of a mistake: one line, nothing in it that a terminal obeys, the nearest name."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lev_plugins import UserError
from lev_plugins import fairseq_patches as patches
from lev_plugins.errors import printable

ESCAPES = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202e back \x7f \ud800"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
ROOT = Path(__file__).resolve().parent.parent


def ends(main) -> None:
    with pytest.raises(SystemExit):
        patches.run_cli(main)


def test_a_message_has_no_character_that_a_terminal_obeys():
    said = str(UserError(f"{ESCAPES}\nis not there"))
    assert not UNSAFE.search(said) and said.startswith(r"\x1b[31mred\x1b]0;title\x07 ")
    assert printable(said) == said, "what was escaped is not escaped again"
    assert str(UserError("Zürich 東京 \u200d ünï")) == "Zürich 東京 \u200d ünï"


def used(*words: str):
    """A command that is given these words and has one option."""

    def main() -> None:
        argparse.ArgumentParser(prog="x").parse_args(words)

    return main


def missing() -> None:
    raise FileNotFoundError(2, "", f"{ESCAPES}.pt")


def reused() -> None:
    raise UserError(ESCAPES)


@pytest.mark.parametrize("main", [missing, reused, used(ESCAPES), used("--help=" + ESCAPES)])
def test_no_command_sends_what_it_was_given_to_the_terminal(main, capsys):
    ends(main)
    said = capsys.readouterr().err
    assert "red" in said and not UNSAFE.search(said), said


def test_what_a_closed_standard_error_is_told_does_not_land_in_the_output(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    ends(lambda: print("noise", file=sys.stderr))
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    ends(lambda: None)
    ends(missing)


def test_examples_in_shell_show_control_characters_too():
    for path in sorted((ROOT / "examples").rglob("*.sh")):
        text = path.read_text()
        for line in re.findall(r"^ *printf 'error: .*", text, re.MULTILINE):
            script = f"fail() {{\n{line}\n}}\nfail $'no \\x1b[31m\\x07red'\n"
            said = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
            assert said.stderr == "error: no ?[31m?red\n", path
