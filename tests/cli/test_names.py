"""Commands by name: console scripts, ``python -m lev_plugins NAME``, and the list of all."""

import shlex
import sys
import tomllib
from importlib import import_module

import pytest

from lev_plugins import __version__
from lev_plugins.cli import names
from lev_plugins.errors import UserError


def test_every_command_of_the_list_has_a_module_and_a_console_script(root):
    modules = (root / "lev_plugins" / "cli").glob("*.py")
    found = {file.stem for file in modules if "__main__" in file.read_text()}
    assert {command.module for command in names.COMMANDS.values()} <= found
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    wanted = [f"lev-{name}" for name in names.COMMANDS]
    assert scripts == dict.fromkeys(wanted, "lev_plugins.cli.names:run_script")
    text = (root / "user_dir.md").read_text(encoding="utf-8")
    assert [name for name in names.COMMANDS if f"[{name}](" not in text] == []


@pytest.mark.parametrize("name", names.COMMANDS)
def test_a_help_names_the_command_as_it_was_typed_and_its_example_can_be_parsed(name, monkeypatch):
    module = import_module(f"lev_plugins.cli.{names.COMMANDS[name].module}")
    for typed, usage in (
        ("any.py", f"lev-{name}"),
        (f"python -m lev_plugins {name}", f"python -m lev_plugins {name}"),
        (f"/usr/bin/lev-{name}", f"lev-{name}"),
    ):
        monkeypatch.setattr(sys, "argv", [typed])
        parser = module.build_parser()
        assert parser.format_usage().startswith(f"usage: {usage} ")
        if "example:" in (parser.epilog or ""):
            words = shlex.split(parser.epilog.rpartition(f"example: {usage} ")[2])
            end = min([place for place, word in enumerate(words) if word in "<>"] or [None])
            assert parser.parse_args(words[:end])


@pytest.mark.parametrize("options", [[], ["--help"]])
def test_without_a_command_all_are_listed(options, capsys):
    try:
        names.main(options)
    except SystemExit as end:
        assert not end.code
    told = capsys.readouterr().out.splitlines()
    assert set(names.COMMANDS) <= {line.split()[0] for line in told if line.startswith("  ")}


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as end:
        names.main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"lev_plugins {__version__}\n")


@pytest.mark.parametrize("typed", ["enct5-prepare", "enct5_prepare", "lev-enct5-prepare"])
def test_a_command_runs_by_its_name(typed, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/somewhere/__main__.py", typed, "--help"])
    with pytest.raises(SystemExit) as end:
        names.main()
    assert not end.value.code and "--subwords-of" in capsys.readouterr().out


def test_a_console_script_runs_its_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/lev-noise", "--help"])
    with pytest.raises(SystemExit) as end:
        names.run_script()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usage: lev-noise ")


def test_an_unknown_command_is_named():
    with pytest.raises(UserError, match="no command corect; python -m lev_plugins lists all"):
        names.main(["corect", "--help"])
