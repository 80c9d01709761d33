"""Commands by name, the list of all, and their parsers: a short help and a whole one."""

import argparse
import shlex
import sys
import tomllib

import pytest

from lev_plugins import __version__
from lev_plugins.cli import names
from lev_plugins.cli.options import adder, make_parser, show_all
from lev_plugins.errors import UserError


def test_every_command_of_the_list_has_a_module_and_a_console_script(root):
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    wanted = [f"lev-{name}" for name in names.COMMANDS]
    assert scripts == dict.fromkeys(wanted, "lev_plugins.cli.names:run_script")
    text = (root / "user_dir.md").read_text(encoding="utf-8")
    assert [name for name in names.COMMANDS if f"[{name}](" not in text] == []


@pytest.mark.parametrize("name", names.COMMANDS)
def test_a_help_names_the_command_as_it_was_typed_and_its_example_can_be_parsed(name, monkeypatch):
    module = names.load(name)
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


@pytest.mark.parametrize("command", [[], ["correct"]])
def test_the_version_is_that_of_the_package(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [names.RUN, *command, "--version"])
    with pytest.raises(SystemExit) as end:
        names.main()
    assert (end.value.code, capsys.readouterr().out) == (0, f"lev_plugins {__version__}\n")


@pytest.mark.parametrize(
    ("argv", "run"),
    [
        (["/somewhere/__main__.py", "enct5_prepare", "--help"], names.main),
        (["/somewhere/__main__.py", "lev-enct5-prepare", "--help"], names.main),
        (["/usr/bin/lev-enct5-prepare", "--help"], names.run_script),
    ],
)
def test_a_command_runs_by_its_name(argv, run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as end:
        run()
    assert not end.value.code and "--subwords-of" in capsys.readouterr().out


def test_an_unknown_command_is_named():
    with pytest.raises(UserError, match="corect"):
        names.main(["corect", "--help"])


def parser(usage: str = "[options] A\n[options] B") -> argparse.ArgumentParser:
    made = make_parser("noise", "Adds noise.", usage=usage)
    add = adder(made)
    add("--rate P", "share of the words", 0.25)
    group = adder(made.add_argument_group("for few"))
    group("--seed N", "where chance begins", 1, advanced=True)
    group("--quick", "skip what takes time", advanced=True)
    return made


@pytest.mark.parametrize("flag, shown", [("-h", False), ("--help", False), ("--help-all", True)])
def test_advanced_options_are_shown_by_help_all_alone(flag, shown, capsys):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([flag])
    told = capsys.readouterr().out
    assert ended.value.code == 0 and "--rate" in told
    assert [text in told for text in ("--seed", "--quick", "for few")] == [shown] * 3


def test_usage_lists_what_is_shown_or_each_way_to_call_the_command():
    first, second = parser().format_usage().splitlines()
    assert first.split() == ["usage:", *second.split()[:-1], "A"]
    made = parser(usage="")
    assert "--rate" in made.format_usage() and "--seed" not in made.format_usage()
    show_all(made)
    assert "--seed" in made.format_usage()
    found = {"rate": 0.25, "seed": 3, "quick": True}
    assert vars(made.parse_args("--seed 3 --quick".split())) == found
