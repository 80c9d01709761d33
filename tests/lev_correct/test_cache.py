"""What a check keeps for later ones changes nothing that these print."""

import io
import json
import os
import random
import sys
import time
from pathlib import Path

import pytest
from scripted_command import put

from lev_correct import Corrector
from lev_correct.cli import cache
from lev_correct.cli import main as correct
from lev_correct.words.prepared import user_cache

#: Lines of which some tell something of others: terms, slips of what is met oftener, misspellings.
LINES = [
    "The wibblet is set here.",
    "Another wibblet stands below it.",
    "Teh goverment beleives it.",
    "The frobnicator turns the left lamp on.",
    "The frobnicator turns the right lamp off.",
    "A frobnicator of steel is better than one of wood.",
    "Nobody has seen the frobnicator in winter.",
    "Every frobnicator has a price.",
    "The frobnciator is broken.",
    "We recieved the the letters.",
    "    $ run it",
    "Das ist ein langer deutscher Satz, den niemand versteht.",
    "A plain line.",
]


@pytest.fixture(scope="module")
def packaged():
    return Corrector.from_pretrained()


@pytest.fixture
def check(packaged, monkeypatch, tmp_path, capsys):
    """Checks an empty folder: status, what is printed, and the files that were read."""
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(correct, "load_corrector", lambda args: packaged)
    read = list[str]()
    whole = cache.corrected_files

    def corrected_files(corrector, texts, *args, **options):
        read.extend(text.path for text in texts)
        return whole(corrector, texts, *args, **options)

    monkeypatch.setattr(cache, "corrected_files", corrected_files)

    def run(*flags: str) -> tuple[int, bytes, str, list[str]]:
        monkeypatch.setattr(packaged, "protections", packaged.protections[:1])
        out = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdout", out)
        read.clear()
        status = correct.main(["check", *flags])
        return status, out.buffer.getvalue(), capsys.readouterr().err, [*read]

    return run


def kept_file() -> Path:
    (file,) = user_cache().glob("check-*")
    return file


def same_without(check, *flags: str) -> list[str]:
    """Asserts that a check prints what one without the cache does; returns what it has read."""
    *shown, read = check(*flags)
    assert shown == [*check(*flags, "--no-cache")[:3]]
    return read


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_check_prints_the_same_with_what_earlier_ones_kept(check, seed):
    rng, names, unread = random.Random(seed), ["a.md", "b.md", "c.py", "d__e.txt", "f", "g.md"], 0
    for _ in range(20):
        name, lines = rng.choice(names), rng.choices(LINES, k=rng.randint(0, 6))
        sign = "# " if name == "c.py" else ""
        put(**{name: "".join(f"{sign}{line}\n" for line in lines).encode()})
        if rng.random() < 0.2:
            Path(".lev-correct-words.txt").write_text(rng.choice(("", "Teh\n", "goverment\n")))
        flags = ("--min-confidence", "0.9") if rng.random() < 0.2 else ()
        files = sum(Path(name.replace("__", "/")).is_file() for name in names)
        unread += files - len(same_without(check, ".", *flags))
    assert unread > 20


def test_files_are_read_again_where_they_or_what_they_ask_about_have_changed(check):
    put(a=b"The wibblet is set.\n", b=b"A plain line.\n", c=b"I recieve it.\n")
    assert same_without(check, ".") == ["a", "b", "c"]
    assert same_without(check, ".") == []
    put(c=b"I recieve it now.\n", d=b"No more.\n")
    assert same_without(check, ".") == ["c", "d"]
    put(d=b"Another wibblet.\n")
    assert same_without(check, ".") == ["a", "d"], "the wibblet is a term now"
    assert same_without(check, "a") == ["a"], "alone it is none"
    assert same_without(check, "b", "c") == []


@pytest.mark.parametrize("change", ["words", "pattern", "threshold", "program"])
def test_all_is_read_again_by_other_settings_and_another_program(check, change, monkeypatch):
    put(a=b"I recieve it.\n")
    assert check(".")[3] == ["a"] and check(".")[3] == []
    flags = {"pattern": ("--protect", "it"), "threshold": ("--min-confidence", "0.9")}
    if change == "words":
        Path(".lev-correct-words.txt").write_text("recieve\n")
    if change == "program":
        monkeypatch.setattr(sys, "version", "4")
    assert same_without(check, ".", *flags.get(change, ())) == ["a"]


@pytest.mark.parametrize(
    "raw", [b"", b"\xff", b"[1]", b"3", b'{"FILE": ["", [], [0], false, "", []]}', b'{"FILE": []}']
)
def test_what_is_damaged_counts_for_nothing(check, raw):
    put(a=b"I recieve it.\n")
    check(".")
    whole, raw = kept_file().read_bytes(), raw.replace(b"FILE", os.path.abspath("a").encode())
    for damaged in (raw, whole[:-9], whole.replace(b"receive", b"relieve")):
        kept_file().write_bytes(damaged)
        assert same_without(check, ".") == ["a"]
        assert kept_file().read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_none(check, monkeypatch, tmp_path):
    put(a=b"I recieve it.\n")
    (tmp_path / "plain").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "plain"))
    assert [same_without(check, ".") for _ in range(2)] == [["a"], ["a"]]


def test_corrections_are_written_by_what_was_kept(check):
    put(a=b"I recieve it.\n", b=b"A plain line.\n")
    check(".")
    status, printed, _, read = check(".", "--write")
    assert (status, read) == (0, []) and printed.startswith(b"a:1:3: ")
    assert Path("a").read_text() == "I receive it.\n"


def test_what_another_file_names_is_asked_again(check):
    put(**{"a.py": b'raise ValueError("an error occured in it")\n', "b.py": b"x = 1\n"})
    assert same_without(check, ".", "--diff") == ["a.py", "b.py"]
    put(**{"b.py": b'raises(ValueError, match="error occured")\n'})
    assert same_without(check, ".", "--diff") == ["a.py", "b.py"]
    assert same_without(check, ".", "--diff") == []
    put(**{"b.py": b'raises(ValueError, match="error occured") # more\n'})
    assert same_without(check, ".", "--diff") == ["b.py"]


def test_a_cache_is_the_users_alone_and_forgets(check, tmp_path):
    put(a=b"I recieve it.\n", b=b"I recieve it.\n")
    check(".")
    folder, file = user_cache(), kept_file()
    assert [oct(path.stat().st_mode & 0o777) for path in (folder, file)] == ["0o700", "0o600"]
    old, new = folder / "check-old", folder / "check-new"
    for path, days in ((old, 91), (new, 89), (file, 0)):
        path.touch(mode=0o644)
        os.utime(path, (time.time() - days * 86400,) * 2)
    file.chmod(0o644)
    Path("b").unlink()
    check(".")
    assert new.exists() and not old.exists() and oct(file.stat().st_mode & 0o777) == "0o600"
    assert [*json.loads(file.read_bytes())] == [os.path.abspath("a")]


def test_a_cache_below_what_is_checked_is_not_read(check, monkeypatch):
    put(a=b"I recieve it.\n")
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.abspath("kept"))
    assert [check(".", "kept")[3] for _ in range(2)] == [["a"], []]
    assert user_cache() == Path("kept/lev_plugins").absolute()
    monkeypatch.setenv("HOME", os.path.abspath("home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "kept")
    assert user_cache() == Path("home/.cache/lev_plugins").absolute(), "as XDG says"
