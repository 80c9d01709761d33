"""Commands by name: console scripts, ``python -m lev_plugins NAME``, and the list of all."""

import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module

import pytest

from lev_plugins import __version__
from lev_plugins.cli import names
from lev_plugins.errors import UserError

COMMANDS = sorted(names.summaries())


def test_the_list_has_every_module_that_runs_as_a_command(root):
    folder = root / "lev_plugins" / "cli"
    scripts = {file.stem for file in folder.glob("*.py") if "__main__" in file.read_text()}
    assert set(COMMANDS) == scripts | {file.parent.name for file in folder.glob("*/__main__.py")}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_line_in_the_list_and_its_own_name_in_its_usage(name, monkeypatch):
    module = import_module(f"lev_plugins.cli.{name}")
    line = names.summaries()[name]
    assert line and (module.__doc__ or "").startswith(line) and line.endswith((".", ":", ","))
    for typed, usage in (
        ("/bin/lev_plugins/cli/any.py", f"python -m lev_plugins.cli.{name}"),
        (f"python -m lev_plugins {name}", f"python -m lev_plugins {name}"),
        *((f"/usr/bin/{one}", one) for one, command in names.SCRIPTS.items() if command == name),
    ):
        monkeypatch.setattr(sys, "argv", [typed])
        parser = module.build_parser()
        assert parser.format_usage().startswith(f"usage: {usage} ")
        if "example:" in (parser.epilog or ""):
            assert f"example: {usage} " in " ".join(parser.format_help().split())
            words = shlex.split(parser.epilog.rpartition(f"example: {usage} ")[2])
            end = min([place for place, word in enumerate(words) if word in "<>"] or [None])
            assert parser.parse_args(words[:end])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_can_be_run_as_a_module(name, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, f"lev_plugins.cli.{name}", raising=False)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"lev_plugins.cli.{name}", run_name="__main__", alter_sys=False)
    assert ended.value.code == 0
    assert f"python -m lev_plugins.cli.{name} " in capsys.readouterr().out


def test_the_console_scripts_of_the_package_are_those_of_the_list(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == dict.fromkeys(names.SCRIPTS, "lev_plugins.cli.names:run_script")
    assert set(names.SCRIPTS.values()) <= set(COMMANDS)


@pytest.mark.parametrize("options", [[], ["--help"], ["-h"]])
def test_without_a_command_all_are_listed(options, capsys):
    try:
        names.main(options)
    except SystemExit as end:
        assert not end.code
    told = capsys.readouterr().out.splitlines()
    usage = "[--help] [--version] [--completion SHELL] [COMMAND [ARGUMENT ...]]"
    assert told[0] == f"usage: python -m lev_plugins {usage}"
    shown = {line.split()[0] for line in told if line.startswith("  ")}
    assert {names.command_of(name) for name in shown} >= set(COMMANDS)
    assert not [line for line in told if len(line) > 120]


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as end:
        names.main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"lev_plugins {__version__}\n")


@pytest.mark.parametrize("typed", ["noise", "lev-noise"])
def test_a_command_runs_by_its_name(typed, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["/somewhere/__main__.py", typed])
    clean, noisy = tmp_path / "clean", tmp_path / "noisy"
    clean.write_text("a line\n")
    names.main([typed, "--kind", "swap", "--input", str(clean), "--output", str(noisy)])
    assert sorted(noisy.read_text()) == sorted("a line\n")


def test_a_console_script_runs_its_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/lev-noise", "--help"])
    with pytest.raises(SystemExit) as end:
        names.run_script()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usage: lev-noise ")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("corect", "did you mean correct? "), ("lev-tunes", "did you mean lev-tune? "), ("xyz", "")],
)
def test_an_unknown_command_is_named_with_the_nearest_one(typed, meant):
    with pytest.raises(UserError) as told:
        names.main([typed, "--help"])
    assert str(told.value) == (
        f"there is no command {typed}; {meant}python -m lev_plugins lists all"
    )


def test_a_short_name_and_hyphens_mean_the_command():
    for typed in ("lev-predict", "predict", "enct5-predict", "enct5_predict"):
        assert names.command_of(typed) == "enct5_predict"


def test_the_document_has_every_console_script(root):
    text = (root / "user_dir.md").read_text(encoding="utf-8")
    assert all(f"`{script}`" in text for script in names.SCRIPTS)


@pytest.mark.parametrize("shell", names.SHELLS)
def test_completion_knows_the_options_of_every_console_script(shell, capsys, monkeypatch):
    pytest.importorskip("shtab")
    monkeypatch.setattr(sys, "argv", ["python -m lev_plugins"])
    assert names.main(["--completion", shell]) is None
    script = capsys.readouterr().out
    for name in names.SCRIPTS:
        assert name in script
    assert "--min-confidence" in script and "--max-bytes" in script
    assert sys.argv == ["python -m lev_plugins"]
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
        assert checked.returncode == 0, checked.stderr


def test_bash_completes_an_option(capsys):
    pytest.importorskip("shtab")
    names.main(["--completion", "bash"])
    script = capsys.readouterr().out
    asked = (
        f"{script}\nCOMP_WORDS=(lev-serve --max-b); COMP_CWORD=1; "
        "_shtab_lev_serve lev-serve --max-b lev-serve; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["--max-bytes"]


def test_without_shtab_one_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(UserError, match="--completion needs the library shtab: pip install shtab"):
        names.main(["--completion", "bash"])
