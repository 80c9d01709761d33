"""The rules of budgets.py, by small numbers and in a small repository."""

import shutil
import subprocess
import sys
from pathlib import Path

import budgets
import pytest
from tables import cases


@pytest.mark.parametrize("target, count, now, has_grown, updated", cases("cases.tsv", "budget"))
def test_what_is_above_its_target_only_falls(target, count, now, has_grown, updated):
    budget, measured = {"size of a": {"target": target, "count": count}}, {"size of a": now}
    assert budgets.grown(budget, measured) == ["size of a"] * has_grown
    assert budgets.updated(budget, measured, [])["size of a"] == {
        "target": target,
        "count": updated,
    }
    assert budgets.updated(budget, measured, ["a"])["size of a"]["count"] == now


@pytest.mark.parametrize("source, density", cases("cases.tsv", "density"))
def test_a_density_is_of_functions_with_three_statements(source, density):
    assert [*budgets.densities(budgets.ast.parse(source))] == [density] * bool(density)


def test_a_raised_target_fails_beside_the_commit_before(tmp_path):
    (tmp_path / "tests").mkdir()
    shutil.copy(budgets.__file__, tmp_path / "tests")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/a.py").write_text("a = b")

    def passes(target, *flags, room="a"):
        path = tmp_path / budgets.FILE
        path.write_text(f'"size of {room}" = {{ target = {target}, count = 3 }}')
        command = [sys.executable, "tests/budgets.py", *flags]
        return not subprocess.run(command, cwd=tmp_path, capture_output=True).returncode

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    assert passes(2) and passes(9)  # without a history
    git("init", "-q")
    for target in (2, 3):
        passes(target)
        git("add", ".")
        git("commit", "-qm", "x")
    assert not passes(3) and passes(2) and passes(1) and not passes(2, room="tests")
    Path(tmp_path / "a/a.py").write_text("a = b + c")
    assert not passes(2) and not passes(2, "--update") and passes(2, "--update", "a")
