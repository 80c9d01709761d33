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


#: preprocess has fairseq's options
MARKS = {"preprocess": [pytest.mark.plugin]}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS.get(name, ())) for name in names.COMMANDS]
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


def test_without_a_command_all_are_listed(monkeypatch, capsys):
    names.main([])
    shown = capsys.readouterr().out
    assert shown == printed_text(lambda: names.main(["--help"]), capsys)
    assert set(names.COMMANDS) <= {line.split()[0] for line in shown.splitlines() if line.strip()}
    for command in ([], ["correct"]):
        monkeypatch.setattr(sys, "argv", [names.RUN, *command, "--version"])
        assert printed_text(names.main, capsys) == f"lev_plugins {__version__}\n"
    with refuses("corect"):
        names.main(["corect", "--help"])


def test_a_command_runs_by_its_name(monkeypatch, capsys):
    for program, run in (("/bin/__main__.py lev-enct5_prepare", names.main),
                         ("/bin/lev-enct5-prepare", names.run_script)):  # fmt: skip
        monkeypatch.setattr(sys, "argv", [*program.split(), "--help"])
        assert "--subwords-of" in printed_text(run, capsys)


def test_a_mistyped_option_is_one_line_with_the_nearest(capsys):
    with pytest.raises(SystemExit, match="2"):
        names.load("noise").main(["--knd", "ocr"])
    assert capsys.readouterr().err == (
        "error: unrecognized arguments: --knd ocr; did you mean --kind?\n"
    )


@pytest.mark.parametrize("flag, shown", [("--help", False), ("--help-all", True)])
def test_advanced_options_are_shown_by_help_all_alone(flag, shown, capsys):
    parser = make_parser("noise", "Adds noise.", usage="[options] A\n[options] B")
    adder(parser)("--rate P", "share of the words", 0.25)
    few = adder(parser.add_argument_group("for few"))
    few("--seed N", "where chance begins", 1, advanced=True)
    few("--quick", "skip what takes time", advanced=True)
    options = vars(parser.parse_args("--seed 3 --quick".split()))
    assert options == {"rate": 0.25, "seed": 3, "quick": True}
    text = printed_text(lambda: parser.parse_args([flag]), capsys)
    assert "--rate" in text and "[options] B" in text
    assert [part in text for part in ("--seed", "--quick", "for few")] == [shown] * 3
