"""``correct check`` where a change is looked at: changed lines, identifiers, SARIF, a buffer."""

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from shutil import which
from urllib.parse import unquote

import pytest
from fake_backend import FakeBackend
from plain_files import ROOT
from refusals import refuses
from scripted_command import TEH, commit, git, places, put, run_scripted
from tables import table

from lev_correct.cli import main as correct
from lev_correct.repository.identifiers import identifiers


@pytest.fixture
def run(monkeypatch, tmp_path):
    """:func:`.run_scripted` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda flags, words=TEH, status=0, text=b"": run_scripted(
        monkeypatch, text, flags, words, status
    )


ODD = 'é "b\\.md'


@pytest.fixture
def changed(run):
    """A repository on a branch, with changes that are committed, added, and only written."""
    git("init", "-q", "-b", "main")
    git("config", "diff.noprefix", "true")  # settings of users change what diff prints
    git("config", "diff.interHunkContext", "9")
    old = b"teh\nright\n" * 3
    commit(a=old, gone=old, moved=old, mode=old, **{ODD: old})
    git("checkout", "-q", "-b", "branch")
    commit(a=old + b"teh\n")
    git("mv", "moved", "in")
    git("rm", "-q", "gone")
    git("add", "-A")
    put(**{ODD: b"++ teh\n" + old[:-6], "in": old.replace(b"right", b"right teh", 1)})
    Path("mode").chmod(0o755)
    put(untracked=b"teh\n")
    return run


def test_changed_lines_alone_are_found(changed):
    expected = [f"{ODD}:1:4", "a:7:1", "in:2:7"]
    assert sorted(places(changed("check --since main", status=1))) == sorted(expected)
    assert places(changed("check --since HEAD a in", status=1)) == ["in:2:7"]
    assert places(changed("check --since main untracked", status=1)) == ["untracked:1:1"]
    hunks = changed("check --since main --diff in", status=1).split(b"\n", 2)[2]
    assert hunks == b"@@ -2 +2 @@\n-right teh\n+right the\n"


def test_what_others_changed_since_the_branch_began_is_not_found(changed):
    git("commit", "-aqm", "branch")
    git("checkout", "-q", "main")
    commit(a=b"right\n")
    git("checkout", "-q", "branch")
    assert "a:1:1" not in places(changed("check --since main", status=1))


@pytest.fixture
def request_merged(run):
    """A branch that began at the first commit is merged into what others wrote since, as the pull
    requests are that CI checks out; the commits: first, of others."""
    git("init", "-q", "-b", "main")
    commit(a=b"right\n" * 9, b=b"right\n")
    first = git("rev-parse", "HEAD")
    git("checkout", "-q", "-b", "branch")
    commit(a=b"right\n" * 8 + b"teh\n")
    git("checkout", "-q", "main")
    commit(b=b"teh\n")
    others = git("rev-parse", "HEAD")
    git("checkout", "-q", "--detach")
    git("merge", "-q", "--no-ff", "branch", "-m", "request")
    return run, first, others


def test_what_others_changed_since_a_pull_request_was_made_is_not_found(request_merged):
    run, first, others = request_merged
    for base in (first, others):
        assert places(run(f"check --since {base}", status=1)) == ["a:9:1"]


def test_a_branch_that_took_in_what_others_changed_keeps_its_own_lines(request_merged):
    run, first, others = request_merged
    git("tag", "old", first)
    git("checkout", "-q", "branch")
    git("merge", "-q", "--no-ff", "main", "-m", "theirs")
    assert places(run("check --since main", status=1)) == ["a:9:1"]
    assert places(run("check --since old", status=1)) == ["a:9:1", "b:1:1"]


def test_a_file_without_diffs_is_compared_as_text(run):
    git("init", "-q")
    commit(**{"a.txt": b"teh\n", ".gitattributes": b"*.txt -diff\n"})
    put(**{"a.txt": b"teh\nteh\n"})
    assert places(run("check --since HEAD", status=1)) == ["a.txt:2:1"]


def test_the_hook_of_changed_lines_knows_how_pre_commit_was_called(run, monkeypatch):
    git("init", "-q")
    commit(a=b"teh\n")
    commit(a=b"teh\nteh\n")
    monkeypatch.setenv("PRE_COMMIT", "1")
    assert places(run("check --since HEAD a", status=1)) == ["a:1:1", "a:2:1"], "--all-files"
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD~1")
    assert places(run("check --since HEAD a", status=1)) == ["a:2:1"], "--from-ref HEAD~1"
    monkeypatch.delenv("PRE_COMMIT_FROM_REF")
    put(a=b"teh\n")
    git("add", "a")
    assert places(run("check --since HEAD a")) == [], "a commit that takes a line out"


def test_the_whole_repository_tells_what_is_a_term(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    commit(a=b"right\n", b=b"right\n")
    put(a=b"He wrote to the goverrnor of it.\n")
    assert correct.main(["check", "--since", "HEAD"]) == 1
    commit(b=b"x.goverrnor()\n")
    assert correct.main(["check", "--since", "HEAD~1", "a"]) == 0


@pytest.mark.parametrize("flags, message", table("lev_correct/cases.tsv", "pull request: refused"))
def test_what_cannot_be_compared_is_refused(changed, flags, message):
    with refuses(message) as caught:
        changed(f"check {flags}")
    assert caught.value.exit_status == 2


def test_without_a_repository_no_revision_is_known(run):
    with refuses("--since"):
        run("check --since HEAD")


LISTED = dict(
    recieve=["receive"], formated=["formatted"], adres=["address"], existant=["existent"],
    seperated=["separated"], occurence=["occurrence"], message=["massage", "mess age"],
)  # fmt: skip


@pytest.mark.parametrize("name, wanted", table("lev_correct/cases.tsv", "pull request: names"))
def test_misspelt_parts_of_identifiers_are_reported(name, wanted):
    find = partial(identifiers, misspelt=lambda word: LISTED.get(word, ()))
    parts = find([("a", 7, f"  {name}()"), ("b", 1, name)])
    assert " ".join(f"{part.before} {part.after}" for part in parts) == wanted
    assert all((part.file, part.line, part.places) == ("a", 7, 2) for part in parts)
    assert all(f"  {name}"[part.column - 1 :].startswith(part.before) for part in parts)


def test_identifiers_are_no_findings(run, monkeypatch):
    monkeypatch.setattr(FakeBackend, "misspelt", lambda self, word: LISTED.get(word, ()))
    put(a=b"isRecieve\nmyRecieve lev-correct: ignore\nok_recieve\n")
    words = "check a --protect-words words --identifiers"
    put(words=b"ok_recieve\n")
    assert places(run(words)) == ["a:1:3"]
    assert json.loads(run(f"{words} --format json"))["identifier"] == "isRecieve"
    run(f"{words} --accept")
    assert not Path(".lev-correct-words.txt").exists()


REGION = dict.fromkeys(("startLine", "startColumn", "endColumn"), int)
MESSAGE, FILE = {"text": str}, {"uri": str}
CHANGE = {
    "artifactLocation": FILE,
    "replacements": [{"deletedRegion": REGION, "insertedContent": MESSAGE}],
}
RESULT = {
    "ruleId": str,
    "level": str,
    "message": MESSAGE,
    "locations": [{"physicalLocation": {"artifactLocation": FILE, "region": REGION}}],
    "fixes": [{"artifactChanges": [CHANGE]}],
}
RULE = {"id": str, "shortDescription": MESSAGE}
DRIVER = {"name": str, "version": str, "rules": [RULE]}
#: What a log has, of the names and types that SARIF 2.1.0 knows.
LOG = {
    "$schema": str,
    "version": str,
    "runs": [{"tool": {"driver": DRIVER}, "columnKind": str, "results": [RESULT]}],
}


def conforms(value, shape):
    if isinstance(shape, dict):
        known = all(conforms(value[name], shape[name]) for name in value)
        return known and {*shape} - {*value} <= {"fixes"}
    if isinstance(shape, list):
        return isinstance(value, list) and all(conforms(item, shape[0]) for item in value)
    return type(value) is shape and (shape is not int or value >= 0)


def test_the_fixes_of_a_log_of_sarif_make_what_the_corrector_makes(run):
    name, words = "in/a% b.md", {**TEH, "uh": "", "(teh": "(the"}
    text = "\ufeffteh uh 𝕏 (teh teh\r\nso uh teh uh\n"
    Path("in").mkdir()
    Path(name).write_text(text, newline="")
    flags = ["check", "in", "--unit", "word", "--format", "sarif"]
    log = json.loads(run(flags, words, 1))
    assert conforms(log, LOG)
    assert log["version"] == "2.1.0" and log["runs"][0]["columnKind"] == "unicodeCodePoints"
    lines = text.removeprefix("\ufeff").split("\n")
    for result in reversed(log["runs"][0]["results"]):
        (fix,) = result["fixes"]
        (change,) = fix["artifactChanges"]
        (replacement,) = change["replacements"]
        assert unquote(change["artifactLocation"]["uri"]) == name
        region = replacement["deletedRegion"]
        line = lines[region["startLine"] - 1]
        before, after = line[: region["startColumn"] - 1], line[region["endColumn"] - 1 :]
        text_ = replacement["insertedContent"]["text"]
        lines[region["startLine"] - 1] = before + text_ + after
    assert "\ufeff" + "\n".join(lines) == run([name, "--unit", "word"], words).decode()
    put(a=b"right\n")
    assert conforms(json.loads(run("check a --format sarif")), LOG), "of no finding"


def test_a_buffer_is_checked_as_the_file_that_it_is(run):
    Path("in").mkdir()
    Path("pyproject.toml").write_text("[tool.lev-correct]\nexclude = ['out']\nwords = ['tx']")
    words, text = {**TEH, "tx": "ty"}, b"teh\ntx\n"
    flags = "check --unit word --stdin-filename"
    assert places(run(f"{flags} in/a.txt", words, 1, text)) == ["in/a.txt:1:1"]
    assert places(run(f"{flags} in/a.txt -", words, 1, text)) == ["in/a.txt:1:1"]
    assert run(f"{flags} out/a.txt", words, 0, text) == b""
    assert places(run("check --unit word", {**TEH}, 1, text)) == ["-:1:1"]


@pytest.mark.slow
@pytest.mark.skipif(not which("jq"), reason="the recipe reads JSON with jq")
def test_a_coding_agents_hook_reports_slips_of_changed_comments_and_leaves_the_file(
    tmp_path, monkeypatch
):
    text = (ROOT / "lev_correct/README.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^    (lev-correct .*jq .*)$", text, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    commit(**{"a.py": b"# Teh old line.\nx = 1\n"})
    edited = b"# Teh old line.\nx = 1\nrecieve = x  # A definately new line.\n"
    put(**{"a.py": edited})
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    asked = json.dumps({"tool_input": {"file_path": str(tmp_path / "a.py")}})
    environ = {**os.environ, "PATH": path}
    done = subprocess.run(
        ["bash", "-c", recipe], input=asked, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == ""
    assert re.findall(r":(\d+:\d+: \w+)", done.stderr) == ["3:18: definately"]
    assert Path("a.py").read_bytes() == edited
