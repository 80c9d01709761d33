"""The base of the commands' parsers."""

import argparse

import pytest

from lev_plugins import __version__
from lev_plugins.cli.options import adder, make_parser, show_all


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
    assert [text in told for text in ("--seed", "--quick", "for few", "--version")] == [shown] * 4


def test_a_usage_without_text_lists_the_options_that_are_shown():
    made = parser(usage="")
    assert "--rate" in made.format_usage() and "--seed" not in made.format_usage()
    show_all(made)
    assert "--seed" in made.format_usage()


def test_every_way_to_call_a_command_has_a_line():
    first, second = parser().format_usage().splitlines()
    assert first.split() == ["usage:", *second.split()[:-1], "A"]


def test_advanced_options_have_types_and_defaults_as_the_others():
    assert vars(parser().parse_args([])) == {"rate": 0.25, "seed": 1, "quick": False}
    assert vars(parser().parse_args("--seed 3 --quick".split())) == {
        "rate": 0.25, "seed": 3, "quick": True,
    }  # fmt: skip


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"lev_plugins {__version__}\n")
