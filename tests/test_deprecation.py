"""Names of version 0.5: they work, and the warning says what they are called now."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from fairseq import options

from lev_plugins import Corrector, UserError, deprecation
from lev_plugins.cli import names
from lev_plugins.correction.corrector import Edit
from lev_plugins.scoring import CorrectionCounts


def test_an_old_name_of_a_module_is_the_new_one(monkeypatch):
    module = ModuleType("some_module")
    renamed = deprecation.renamed_names("some_module", {"old": "new", "moved": "math:pi"})
    module.new, module.__getattr__ = object(), renamed  # type: ignore
    monkeypatch.setitem(sys.modules, "some_module", module)
    with pytest.warns(FutureWarning, match="some_module.old is deprecated.* some_module.new$"):
        assert module.old is module.new
    with pytest.warns(FutureWarning, match="math.pi$"):
        assert module.moved == pytest.approx(3.14159)
    with pytest.raises(AttributeError, match="'some_module' has no attribute 'other'"):
        _ = module.other


def test_old_arguments_and_attributes_give_what_the_new_ones_give():
    @deprecation.renamed_arguments(old="new")
    def function(new: int) -> int:
        return new

    class Record:
        new = 5
        old = deprecation.renamed_attribute("old", "new")

    with pytest.warns(FutureWarning, match=r"function\(old=…\) is deprecated.* use new$"):
        assert function(old=3) == 3
    with pytest.warns(FutureWarning, match="Record.old is deprecated.* use new$"):
        assert Record().old == 5
    with pytest.warns(FutureWarning, match="SimpleNamespace.old is deprecated.* use new$"):
        assert deprecation.renamed_field(SimpleNamespace(old=7), "new", old="old") == 7
    assert deprecation.renamed_field(SimpleNamespace(new=7), "new", old="old") == 7


def test_old_flags_become_new_ones_with_their_values(capsys):
    names = {"--old": "--new"}
    given = ["file", "--old", "--older", "--old=5=6", "--new"]
    renamed = ["file", "--new", "--older", "--new=5=6", "--new"]
    assert deprecation.renamed_flags(given, names) == renamed
    assert capsys.readouterr().err.splitlines() == ["warning: --old is deprecated; use --new"] * 2


@pytest.mark.parametrize(("old", "new"), deprecation.MODULES.items())
def test_a_module_that_has_moved_is_imported_by_its_old_name(old, new, monkeypatch):
    monkeypatch.delitem(sys.modules, f"lev_plugins.{old}", raising=False)
    with pytest.warns(FutureWarning, match=f"lev_plugins.{old} is deprecated.* lev_plugins.{new}$"):
        found = importlib.import_module(f"lev_plugins.{old}")
    assert found is importlib.import_module(f"lev_plugins.{new}")
    assert found.__spec__ and found.__spec__.name == f"lev_plugins.{new}"


@pytest.mark.parametrize(("old", "new"), deprecation.FLAGS.items())
def test_fairseqs_commands_take_old_flags(old, new, capsys):
    parser = options.get_generation_parser(default_task="translation_edit")
    flags = ["data", "--task", "translation_edit", "--path", "x", old, "noise"]
    parsed = options.parse_args_and_arch(parser, flags)
    assert getattr(parsed, new.removeprefix("--").replace("-", "_")) == "noise"
    assert capsys.readouterr().err.startswith(f"warning: {old} is deprecated; use {new}\n")


class OldBackend:
    """As version 0.5 asked for; it never comes to an end."""

    limit, blanks = 9, True

    def tokens(self, text):
        return tuple(text)

    def text(self, tokens):
        return "".join(tokens)

    def write(self, units, batch_size):
        return [None for _ in units]


def test_a_corrector_takes_and_gives_its_old_names():
    with pytest.warns(FutureWarning, match="OldBackend.blanks is deprecated.* use knows_spaces$"):
        corrector = Corrector(OldBackend())
    with pytest.warns(FutureWarning, match=r"correct\(keep=…\) is deprecated.* use protect$"):
        (line,) = corrector.correct(["teh"], keep=["t"])
    with pytest.warns(FutureWarning, match="Correction.endless is .* use unterminated$"):
        assert line.endless == line.unterminated == ((0, 3),)
    with pytest.warns(FutureWarning, match="Edit.made is deprecated.* use applied$"):
        assert Edit(0, "a", "b", 0.5).made
    with pytest.warns(FutureWarning, match="CorrectionCounts.broken .* use miscorrected$"):
        assert CorrectionCounts(5, 4, 1, 2).broken == 2


@pytest.mark.parametrize(("old", "new"), deprecation.SCRIPTS.items())
def test_a_command_that_is_a_script_now_runs_by_its_old_name(old, new, root):
    command = [sys.executable, "-m", f"lev_plugins.{old}", "--help"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert found.returncode == 0 and f"usage: {Path(new).name}" in found.stdout, found.stderr
    assert f"use python {new}" in found.stderr


def test_without_the_source_tree_such_a_command_says_where_it_is(monkeypatch):
    monkeypatch.setattr(names, "find_spec", lambda *_: None)
    with pytest.raises(UserError, match="latency is a script .* python examples/"):
        names.main(["latency"])


def test_correct_takes_its_old_flags_and_says_nothing_of_the_new(capsys):
    from lev_plugins.cli.correct_options import RENAMED

    new = ["--protect", r"\d", "--protect-words", "names"]
    assert deprecation.renamed_flags(new, RENAMED) == new
    assert capsys.readouterr().err == ""
    assert deprecation.renamed_flags(["--keep", r"\d", "--keep-words", "names"], RENAMED) == new
    assert "--keep is deprecated; use --protect\n" in capsys.readouterr().err
