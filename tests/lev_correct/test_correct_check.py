"""``correct --check`` with a scripted model: which files, what is printed, how it ends."""

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from fake_backend import Scripted, ranking
from refusals import refuses
from scripted_command import put, run_scripted, tree

from lev_correct.cli import main as correct


@pytest.fixture
def run(monkeypatch, tmp_path):
    """:func:`.run_scripted` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(run_scripted, monkeypatch, b"")


def places(printed: bytes) -> list[str]:
    """``file:line:column`` of what a check printed."""
    return [line.partition(": ")[0] for line in printed.decode().splitlines()]


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)


FORMS = {
    "text": "in/a%\\n:,b.md:2:6: teh -> the (0.25)\nin/a%\\n:,b.md:3:4: teh -> the (0.25)\n",
    "github": "::warning file=in/a%25%0A%3A%2Cb.md,line=2,col=6,endColumn=9,title=lev-correct::"
    "teh -> the (0.25)\n"
    "::warning file=in/a%25%0A%3A%2Cb.md,line=3,col=4,endColumn=7,title=lev-correct::"
    "teh -> the (0.25)\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_findings_name_file_line_and_column_and_the_word_alone(run, form):
    words = {"(teh,": "(the,", "<i>teh</i>": "<i>the</i>"}
    Path("in").mkdir()
    Path("in/a%\n:,b.md").write_bytes("\ufeffé\nx é (teh,\r\n<i>teh</i>\n".encode())
    flags = f"--check ./in --unit word --format {form}"
    assert run(flags, words, status=1).decode() == FORMS[form]


def test_findings_as_json_and_columns_without_a_byte_order_mark(run):
    put(a=b"\xef\xbb\xbfteh\n")
    finding = json.loads(run("check a --unit word --format json", status=1))
    assert finding.pop("probability") == pytest.approx(0.25)
    assert finding == {"file": "a", "line": 1, "column": 1, "before": "teh", "after": "the"}


def test_a_folder_is_what_git_tracks_else_all_but_hidden_and_binary_files(run, capsys):
    put(a=b"teh", in__b=b"teh", image=b"teh\0", **{".hidden": b"teh", ".in__c": b"teh"})
    put(**{"x.lock": b"teh"})
    os.symlink("a", "link")
    os.symlink("gone", "nowhere")
    assert places(run("--check .", status=1)) == ["a:1:1", "in/b:1:1"]
    left_out = "left out: binary files (1), hidden files (1), lock files (1)\n"
    assert f"2 findings in 2 files (2 lines)\n{left_out}" in capsys.readouterr().err
    git("init", "-q")
    git("add", "a", ".hidden")
    assert places(run("--check .", status=1)) == ["a:1:1"]
    assert places(run("--check in", status=1)) == ["in/b:1:1"], "git tracks none of it"
    os.remove("a")
    assert run("--check .", status=0) == b""
    named = "--check .hidden x.lock in/b in image in/../in/b"
    assert places(run(named, status=1)) == [".hidden:1:1", "in/b:1:1"]


def test_a_hook_of_git_sees_the_folder_that_it_names(run, monkeypatch):
    put(a=b"teh", in__b=b"teh", in__c=b"teh")
    git("init", "-q")
    git("add", "a", "in/b")
    monkeypatch.setenv("GIT_DIR", str(Path(".git").resolve()))
    assert places(run("--check in", status=1)) == ["in/b:1:1"]


@pytest.mark.parametrize("odd", ["gone", "loop", "odd", "bad"])
def test_a_file_that_cannot_be_read_is_named_and_the_others_are_checked(run, capsys, odd):
    put(a=b"teh", z=b"teh\n")
    if odd == "loop":
        os.symlink("loop", "loop")
    elif odd != "gone":
        Path(odd).write_text(f"teh {odd}")
    assert places(run(f"--check a {odd} z", status=2)) == ["a:1:1", "z:1:1"]
    error = next(line for line in capsys.readouterr().err.splitlines() if "error: " in line)
    assert f" {odd}" in error


def test_an_error_is_no_finding(run):
    with refuses("--batch-size") as caught:
        run("check --batch-size 0")
    assert caught.value.exit_status == 2
    done = subprocess.run(
        [sys.executable, "-m", "lev_plugins", "correct", "--check", "--unit", "none"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stderr.startswith("error: ") and not done.stdout


def test_no_model_is_loaded_where_there_is_nothing_to_check(run, monkeypatch, capsys):
    put(image=b"\0")
    monkeypatch.setattr(correct, "load_corrector", None)
    assert correct.main(["--check", "."]) == 0
    assert (
        capsys.readouterr().err == "0 findings in 0 files (0 lines)\nleft out: binary files (1)\n"
    )


def test_a_word_that_returns_counts_in_all_files_of_a_run(run, monkeypatch):
    def probabilities(files: str) -> list[float]:
        corrector = ranking(Scripted(likes={"the": 0.0}))
        corrector.settings = replace(corrector.settings, protect_code=True)
        monkeypatch.setattr(correct, "load_corrector", lambda args: corrector)
        monkeypatch.setattr(sys, "stdout", out := io.TextIOWrapper(io.BytesIO()))
        assert correct.main(f"--check {files} --format json".split()) == 1
        return [json.loads(line)["probability"] for line in out.buffer.getvalue().splitlines()]

    put(a=b"teh\n", b=b"the teh\n", c=b"teh\n")
    (alone,) = probabilities("a")
    together = probabilities("a b c")
    assert len(together) == 3 and len({*together}) == 1 and together[0] < alone


SETTINGS = """\
[tool.other]
threshold = "none of ours"
[tool.lev-correct]
threshold = 0.2
words = ["tx"]
exclude = ["./vendor/", "docs/*.txt"]
protect = ["x.z"]
"""
WORDS = {"teh": "the", "tx": "ty", "xyz": "xxx"}


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ("d docs vendor docs/b.txt", "d:1:1 docs/a:1:1"),
        ("vendor/in/c in/vendor/c", ""),
        (". --exclude a", "d:1:1 docs/b.txt:1:1 in/vendor/c:1:1 vendor/in/c:1:1"),
        (". --exclude ./vendor/*", "d:1:1 docs/a:1:1 docs/b.txt:1:1 in/vendor/c:1:1"),
        ("docs --min-confidence 0.3", ""),
        ("docs/a --protect none", "docs/a:1:1 docs/a:2:4"),
        ("docs/a --protect-words kept", "docs/a:2:1"),
    ],
)
def test_a_repository_s_settings_hold_in_its_folders_and_the_command_line_wins(run, flags, wanted):
    put(docs__a=b"teh\ntx xyz\n", vendor__in__c=b"teh", in__vendor__c=b"teh", d=b"teh x")
    put(kept=b"teh", **{"docs__b.txt": b"teh"})
    Path("pyproject.toml").write_text(SETTINGS)
    git("init", "-q")
    git("add", "docs", "vendor", "in", "d")
    shown = run(f"--unit word --check {flags}", WORDS, status=int(bool(wanted)))
    assert places(shown) == wanted.split()


def test_settings_of_a_folder_above_hold_in_it(run, monkeypatch):
    put(docs__a=b"teh\ntx xyz\n", elsewhere__x=b"")
    Path("pyproject.toml").write_text(SETTINGS.replace('["tx"]', "'words.txt'"))
    monkeypatch.chdir("elsewhere")
    run("--accept ../docs --unit word", {"tx": "ty"})
    assert Path("../words.txt").read_text() == "tx\n"
    monkeypatch.chdir("../docs")
    run("a --in-place --unit word", WORDS)
    assert Path("a").read_bytes() == b"the\ntx xyz\n"


@pytest.mark.parametrize(
    "line, message",
    [
        ("threshold = 2", "toml: threshold .* from 0 to 1"),
        ("threshold = '0.9'", "toml: threshold"),
        ("threshold = true", "toml: threshold"),
        ("treshold = 0.9", "toml: treshold .* threshold"),
        ("words = 3", "toml: words"),
        ("words = 'gone.txt'", "toml: words.* gone.txt"),
        ("protect = ['a', '(']", r"protect '\('"),
        ("protect = 'a'", "toml: protect"),
        ("exclude = [1]", "toml: exclude"),
        ("exclude.a = 1", "toml: exclude"),
        ("threshold = ", "toml .*line 2"),
    ],
)
def test_a_wrong_setting_is_named(run, line, message):
    put(a=b"teh")
    Path("pyproject.toml").write_text(f"[tool.lev-correct]\n{line}\n[tool.other]\n")
    with refuses(match=message) as caught:
        run("--check a")
    assert caught.value.exit_status == 2


def test_words_that_are_accepted_are_found_no_more(run, capsys):
    put(in__a=b"Teh (teh) tx\nxyz teh\n")
    words = {**WORDS, "(teh)": "(the)", "Teh": "The"}
    Path(".git").mkdir()
    assert run("--accept in --unit word", words) == b""
    listed = Path(".lev-correct-words.txt")
    assert listed.read_text() == "Teh\nteh\ntx\nxyz\n"
    assert "4 words accepted: .lev-correct-words.txt (Teh, teh, tx, xyz)" in capsys.readouterr().err
    put(in__a=b"Teh (teh) tx teH\nxyz teh\n")
    words["teH"] = "the"
    assert places(run("--check in .lev-correct-words.txt --unit word", words, status=1)) == [
        "in/a:1:14"
    ]
    run("--accept in --unit word", words)
    assert listed.read_text() == "Teh\nteh\ntx\nxyz\nteH\n"
    assert run("--check in --unit word", words) == b""


def test_lines_that_comments_name_are_left_alone_in_every_way(run, capsys):
    put(a=b"teh lev-correct: ignore\nteh\n<!-- lev-correct: ignore-start -->\nteh\n", b=b"teh")
    assert places(run("--check a b", status=1)) == ["a:2:1", "b:1:1"]
    assert "note: a: line 3: " in capsys.readouterr().err
    expected = Path("a").read_bytes().replace(b"\nteh\n<", b"\nthe\n<")
    assert run("a --buffer 1") == expected
    run("a b --in-place")
    assert tree() == {"a": expected, "b": b"the"}
