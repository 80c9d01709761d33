"""Commands by name, the list of all, and their parsers: a short help and a whole one."""

import shlex
import sys
import tomllib

import pytest
from refusals import refuses

from lev_plugins import __version__
from lev_plugins.cli import names
from lev_runtime.io.options import adder, make_parser


def test_every_command_of_the_list_has_a_module_and_a_console_script(root):
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    homes = {name: "lev_plugins.cli.names" for name in names.COMMANDS} | names.ELSEWHERE
    assert scripts == {f"lev-{name}": f"{home}:run_script" for name, home in homes.items()}
    text = (root / "user_dir.md").read_text(encoding="utf-8")
    assert [name for name in names.COMMANDS if f"[{name}](" not in text] == []


@pytest.mark.parametrize(
    "name",  # preprocess has fairseq's options
    [
        *sorted({*names.COMMANDS} - {"preprocess"}),
        pytest.param("preprocess", marks=pytest.mark.plugin),
    ],
)
def test_a_help_names_the_command_as_it_was_typed_and_its_example_can_be_parsed(name, monkeypatch):
    module = names.load(name)
    for typed in (f"python -m lev_plugins {name}", f"lev-{name}"):
        monkeypatch.setattr(sys, "argv", [typed])
        parser = module.build_parser()
        assert parser.format_usage().startswith(f"usage: {typed} ")
        if "example:" in (parser.epilog or ""):
            words = shlex.split(parser.epilog.rpartition(f"example: {typed} ")[2])
            end = min([place for place, word in enumerate(words) if word in "<>"] or [None])
            assert parser.parse_args(words[:end])


def printed_text(main, capsys) -> str:
    """What a command that ends well prints."""
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    return capsys.readouterr().out


def test_a_command_runs_by_its_name_and_without_one_all_are_listed(monkeypatch, capsys):
    names.main([])
    shown = capsys.readouterr().out
    assert set(names.COMMANDS) <= {line.split()[0] for line in shown.splitlines() if line.strip()}
    for run, typed, expected in (
        (names.main, f"{names.RUN} --help", shown),
        (names.main, f"{names.RUN} correct --version", f"lev_plugins {__version__}\n"),
        (names.main, "/bin/__main__.py lev-enct5_prepare --help", "--subwords-of"),
        (names.run_script, "/bin/lev-enct5-prepare --help", "--subwords-of"),
    ):
        monkeypatch.setattr(sys, "argv", typed.split())
        assert expected in printed_text(run, capsys)
    with refuses("corect"):
        names.main(["corect", "--help"])


def test_only_what_was_mistyped_has_a_nearest_option(capsys):
    parser = names.load("predict").build_parser()
    for words, is_guessed in (([], False), (["--path", "a", "--devise", "cpu"], True)):
        with pytest.raises(SystemExit, match="2"):
            parser.parse_args(words)
        line = capsys.readouterr().err
        assert line.count("\n") == 1 and (line.count("--device") > 0) == is_guessed
        assert line.count("--path") == (not is_guessed)


@pytest.mark.parametrize("flag, shown", [("--help", False), ("--help-all", True)])
def test_advanced_options_are_shown_by_help_all_alone(flag, shown, capsys):
    parser = make_parser("noise", "Adds noise.")
    adder(parser)("--rate P", "share of the words", 0.25)
    few = adder(parser.add_argument_group("for few"))
    few("--seed N", "where chance begins", 1, advanced=True)
    assert vars(parser.parse_args(["--seed", "3"])) == {"rate": 0.25, "seed": 3}
    text = printed_text(lambda: parser.parse_args([flag]), capsys)
    assert "--rate" in text and [part in text for part in ("--seed", "for few")] == [shown] * 2
