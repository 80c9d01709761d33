"""``correct check`` with a scripted model: which files, what is printed, how it ends."""

import io
import json
import os
import subprocess
from functools import partial
from pathlib import Path

import pytest
import scripted_command
from fake_backend import Scripted, ranking
from refusals import refuses
from scripted_command import TEH, commit, git, places, put, run_scripted, tree
from tables import table

from lev_correct.cli import main as correct
from lev_correct.settings import Settings


@pytest.fixture
def run(monkeypatch, tmp_path):
    """:func:`.run_scripted` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(run_scripted, monkeypatch, b"")


FORMS = {
    "text": r"in/a%\n:,b.md:{}:{}: teh -> the (0.25)",
    "github": "::warning file=in/a%25%0A%3A%2Cb.md,line={},col={},endColumn={},title=lev-correct::"
    "teh -> the (0.25)",
    "json": r'{{"file": "in/a%\n:,b.md", "line": {}, "column": {}, "before": "teh", "after": '
    '"the", "offers": [], "written": false, "probability": 0.25, "why": {{}}}}',
}


@pytest.mark.parametrize("form", FORMS)
def test_findings_name_file_line_and_column_and_the_word_alone(run, form):
    words = {"(teh,": "(the,", "<i>teh</i>": "<i>the</i>"}
    Path("in").mkdir()
    Path("in/a%\n:,b.md").write_bytes("\ufeff(teh,\r\n<i>teh</i>\n".encode())
    shown = run(f"check ./in --unit word --format {form}", words, status=1).decode()
    assert shown.splitlines() == [FORMS[form].format(1, 2, 5), FORMS[form].format(2, 4, 7)]


def test_a_folder_is_what_git_tracks_else_all_but_hidden_and_binary_files(run, capsys, monkeypatch):
    put(a=b"teh", in__b=b"teh", image=b"teh\0", **{".hidden": b"teh", ".in__c": b"teh"})
    put(**{"x.lock": b"teh"})
    os.symlink("a", "link")
    os.symlink("gone", "nowhere")
    assert places(run("check .", status=1)) == ["a:1:1", "in/b:1:1"]
    told = capsys.readouterr().err
    assert "2 findings in 2 files (2 lines)\n" in told
    assert all(name in told for name in ("image", ".hidden", "x.lock"))
    git("init", "-q")
    git("add", "a", ".hidden")
    monkeypatch.setenv("GIT_DIR", str(Path(".git").resolve()))  # as in a hook of git
    assert places(run("check .", status=1)) == ["a:1:1"]
    assert places(run("check in", status=1)) == ["in/b:1:1"], "git tracks none of it"
    os.remove("a")
    assert run("check .", status=0) == b""
    named = "check .hidden x.lock in/b in image in/../in/b"
    Path("x.lock").write_bytes(b"# teh size")
    assert places(run(named, status=1)) == [".hidden:1:1", "x.lock:1:3", "in/b:1:1"]


@pytest.mark.parametrize("odd", ["gone", "odd", "bad"])
def test_a_file_that_cannot_be_read_is_named_and_the_others_are_checked(run, capsys, odd):
    put(a=b"teh", z=b"teh\n", odd=b"teh odd", bad=b"teh bad")
    assert places(run(f"check a {odd} z", status=2)) == ["a:1:1", "z:1:1"]
    assert odd in capsys.readouterr().err.partition("error: ")[2]


@pytest.mark.parametrize("odd", [b"fine", b"teh odd"])
def test_several_processes_print_what_one_prints(run, capsys, odd):
    put(**{f"in__{number}": b"teh\n" * number for number in range(9)}, in__5b=odd)
    printed = []
    for jobs in "13":
        shown = run(f"check in --jobs {jobs} --edits edits", status=1 + (b"odd" in odd))
        printed.append((shown, Path("edits").read_bytes(), capsys.readouterr().err))
    assert printed[0] == printed[1] and printed[0][0].count(b"teh") == 36
    files = tree("in")
    run(f"--in-place --jobs 3 {' '.join(f'in/{number}' for number in range(9))}")
    assert tree("in") == {name: text.replace(b"teh", b"the") for name, text in files.items()} | {
        "5b": odd
    }


@pytest.mark.parametrize("flag", ["-w", "--write", "--fix", "--in-place"])
def test_a_check_writes_what_is_found_says_so_and_ends_in_0(run, capsys, flag):
    put(a=b"teh\nok\n", b__c=b"ok\n", b__d=b"teh (teh)\n")
    told = run(f"check . {flag} --unit word --json", {**TEH, "(teh)": "(the)"})
    written = [json.loads(line) for line in told.splitlines()]
    found = [(each["file"], each["line"], each["column"]) for each in written if each["written"]]
    assert found == [("a", 1, 1), ("b/d", 1, 1), ("b/d", 1, 6)] and len(written) == 3
    assert "3 findings corrected in 2 files" in capsys.readouterr().err
    assert tree() == {"a": b"the\nok\n", "b/c": b"ok\n", "b/d": b"the (the)\n"}


def test_what_a_check_does_not_write_is_printed(run, monkeypatch, capsys):
    corrector = ranking(Scripted(likes={"the": 0.0}), settings=Settings(protect_code=True))
    monkeypatch.setattr(correct, "load_corrector", lambda args: corrector)
    put(**{"a.md": b"teh\n"})
    Path("b.unknown").write_bytes(b"# teh cat\n")
    assert correct.main("check . --write".split()) == 1
    written, left = capsys.readouterr().out.splitlines()
    assert written.startswith("a.md:1:1") and left.startswith("b.unknown:1:3")
    assert written.endswith("written") and not left.endswith("written")
    assert tree() == {"a.md": b"the\n", "b.unknown": b"# teh cat\n"}


class Terminal(io.TextIOWrapper):
    """Standard output that people see."""

    def isatty(self):
        return True


@pytest.mark.parametrize("words, wanted", table("lev_correct/cases.tsv", "correct check: coloured"))
def test_a_terminal_has_colours_unless_it_wants_none(run, monkeypatch, words, wanted):
    put(a=b"teh\n")
    monkeypatch.setenv("NO_COLOR", "1" * ("NO_COLOR" in words))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(scripted_command.io, "TextIOWrapper", Terminal)
    is_found = words.startswith("check") and "--write" not in words
    shown = run(words.replace("NO_COLOR", ""), status=int(is_found)).decode()
    assert wanted in shown if wanted else "\x1b" not in shown


def test_a_quiet_run_prints_what_it_finds_alone(run, capsys):
    put(**{"a": b"teh\n", "image": b"\0"})
    assert places(run("check . -q", status=1)) == ["a:1:1"]
    assert run("a --quiet") == b"the\n"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", ["help", "help check", "help lsp"])
def test_help_is_what_the_option_prints(run, capsys, words):
    printed = []
    for asked in (words, f"{words.removeprefix('help')} --help"):
        with pytest.raises(SystemExit, match="0"):
            correct.main(asked.split())
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""
    put(help=b"teh\n")
    assert run("help") == b"the\n", "a file of that name"


def test_a_shell_completes_the_commands_and_their_options(capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit, match="0"):
        correct.main(["--print-completion", "bash"])
    script = capsys.readouterr().out
    asked = "COMP_WORDS=(lev-correct check --fo); COMP_CWORD=2; $(complete -p | grep -o '_[^ ]*')"
    shell = ["bash", "-c", f'{script}\n{asked}; echo "${{COMPREPLY[@]}}"']
    assert "--format" in subprocess.check_output(shell, text=True)


def test_a_check_of_changed_lines_writes_those_alone(run):
    git("init", "-q")
    commit(a=b"teh\nteh\n")
    put(a=b"teh\nteh\nteh new\n")
    run("check --since HEAD --write")
    assert Path("a").read_bytes() == b"teh\nteh\nthe new\n"


def test_no_model_is_loaded_where_there_is_nothing_to_check(run, monkeypatch):
    put(image=b"\0")
    monkeypatch.setattr(correct, "load_corrector", None)
    assert correct.main(["check", "."]) == 0


def test_a_word_that_returns_counts_in_all_files_of_a_run(run, monkeypatch, tmp_path):
    (tmp_path / "known").write_text("zog\t3\n")

    def changed(files):
        use = Settings(protect_code=True, known=str(tmp_path / "known"))
        corrector = ranking(Scripted(likes={"receive": 0.0}), settings=use)
        monkeypatch.setattr(correct, "load_corrector", lambda args: corrector)
        correct.main(f"check {files} --edits edits".split())
        edits = map(json.loads, Path("edits").read_text().splitlines())
        return [edit["after"] for edit in edits]

    put(a=b"to recieve the\n", b=b"the cats recieve\n")
    assert changed("a") == changed("b") == ["receive"]
    assert changed("a b") == []


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


@pytest.mark.parametrize("flags, wanted", table("lev_correct/cases.tsv", "correct check: checked"))
def test_a_repository_s_settings_hold_in_its_folders_and_the_command_line_wins(run, flags, wanted):
    put(docs__a=b"teh\ntx xyz\n", vendor__in__c=b"teh", in__vendor__c=b"teh", d=b"teh x")
    put(kept=b"teh", **{"docs__b.txt": b"teh"})
    Path("pyproject.toml").write_text(SETTINGS)
    git("init", "-q")
    git("add", "docs", "vendor", "in", "d")
    shown = run(f"check --unit word {flags}", WORDS, status=int(bool(wanted)))
    assert places(shown) == wanted.split()


def test_settings_of_a_folder_above_hold_in_it(run, monkeypatch):
    put(docs__a=b"teh\ntx xyz\n", elsewhere__x=b"")
    Path("pyproject.toml").write_text(SETTINGS.replace('["tx"]', "'words.txt'"))
    monkeypatch.chdir("elsewhere")
    run("check --accept ../docs --unit word", {"tx": "ty"})
    assert Path("../words.txt").read_text() == "tx\n"
    monkeypatch.chdir("../docs")
    run("a --in-place --unit word", WORDS)
    assert Path("a").read_bytes() == b"the\ntx xyz\n"


@pytest.mark.parametrize("line, message", table("lev_correct/cases.tsv", "correct check: wrong"))
def test_a_wrong_setting_is_named(run, line, message):
    put(a=b"teh")
    Path("pyproject.toml").write_text(f"[tool.lev-correct]\n{line}\n[tool.other]\n")
    with refuses(match=message) as caught:
        run("check a")
    assert caught.value.exit_status == 2


def test_words_that_are_accepted_are_found_no_more(run):
    put(in__a=b"Teh (teh) tx\nxyz teh\nit uh is\n")
    words = {**WORDS, "(teh)": "(the)", "Teh": "The", "uh": ""}
    Path(".git").mkdir()
    assert places(run("check --accept in --unit word", words, status=1)) == ["in/a:3:4"], "no word"
    listed = Path(".lev-correct-words.txt")
    assert listed.read_text() == "Teh\nteh\ntx\nxyz\n"
    put(in__a=b"Teh (teh) tx teH\nxyz teh\n")
    words["teH"] = "the"
    left = run("check in .lev-correct-words.txt --unit word", words, status=1)
    assert places(left) == ["in/a:1:14"]
    run("check --accept in --unit word", words)
    assert listed.read_text() == "Teh\nteh\ntx\nxyz\nteH\n"


def test_lines_that_comments_name_are_left_alone_in_every_way(run, capsys):
    put(a=b"teh lev-correct: ignore\nteh\n<!-- lev-correct: ignore-start -->\nteh\n", b=b"teh")
    assert places(run("check a b", status=1)) == ["a:2:1", "b:1:1"]
    assert "a:3" in capsys.readouterr().err
    expected = Path("a").read_bytes().replace(b"\nteh\n<", b"\nthe\n<")
    assert run("a --buffer 1") == expected
    run("a b --in-place")
    assert tree() == {"a": expected, "b": b"the"}


@pytest.mark.parametrize("command", ["", "check -", "check --stdin-filename a.c"])
@pytest.mark.parametrize("text", ["int f() {\n  return 1;\n}\n", "We met.\nHe left; we not.\n\n"])
def test_code_without_a_name_is_told(monkeypatch, capsys, command, text):
    run_scripted(monkeypatch, text.encode(), command)
    is_told = "looks like code" in capsys.readouterr().err
    assert is_told == ("{" in text and "--stdin-filename" not in command)
