"""Corrects a copy of a folder of source code in place and checks that its code stays as it is.

    python benchmarks/edits_keep_code.py FOLDER [OPTION of lev-correct …]
    python benchmarks/edits_keep_code.py --programs [OPTION of lev-correct …]

Of each file that changes, what could be read before is read again: Python has the same syntax tree
but for its strings, JavaScript passes ``node --check`` and shell ``bash -n`` where these are
installed, JSON, TOML and XML have the same keys and elements, and Pygments' lexers find the same
tokens outside of comments, strings and text. The status is 1 if one file does not.

With ``--programs`` nine small programs of nine languages, in ``programs/``, run before and after:
what they print must not change, as their patterns, tables and look-ups have misspellings, too; the
sentence that they tell a person is corrected.
"""

import ast
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Literal, String, Text
from pygments.util import ClassNotFound

from lev_correct.cli.main import main as correct
from lev_correct.files.file_kinds import kind_of
from lev_correct.repository.checked_files import kind_left_out


def python(path: Path) -> str:
    """The syntax tree with blank strings."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def keys(value: Any) -> Any:
    """The keys of JSON or TOML; its strings blank."""
    if isinstance(value, dict):
        return {key: keys(inner) for key, inner in value.items()}
    return [*map(keys, value)] if isinstance(value, list) else type(value).__name__


def elements(path: Path) -> list[tuple[str, Any]]:
    """The elements of XML and the names of their attributes."""
    return [(node.tag, [*node.attrib]) for node in ElementTree.parse(path).iter()]


def command(*words: str) -> Callable[[Path], bool]:
    """Returns a check by a command, which raises CalledProcessError."""

    def run(path: Path) -> bool:
        subprocess.run([*words, path], check=True, capture_output=True)
        return True

    return run


def tokens(path: Path) -> list[tuple[str, str]]:
    """The tokens of the file's lexer, but for prose, of which those in a row are one; none where
    Pygments has no such lexer."""
    text = path.read_text("utf-8", "surrogateescape")
    try:
        lexer = get_lexer_by_name(kind_of(str(path), text.split("\n")))
    except ClassNotFound:
        return []
    kept = []
    for kind, value in lexer.get_tokens(text):
        is_comment = kind in Comment and kind not in Comment.Preproc
        is_string = any(kind in prose for prose in (String, Literal.Scalar, Generic))
        if value.strip() and not is_comment and kind not in Text:
            kept.append(("prose", "") if is_string else (str(kind), value))
    return [token for token, _ in groupby(kept)]


CHECKS: dict[str, Callable[[Path], Any]] = {
    ".py": python,
    ".json": lambda path: keys(json.loads(path.read_bytes())),
    ".toml": lambda path: keys(tomllib.loads(path.read_text("utf-8"))),
    ".xml": elements,
    ".sh": command("bash", "-n"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), command("node", "--check")),
}


def facts(path: Path) -> dict[str, Any]:
    """What each check finds in a file, of those that can read it."""
    results: dict[str, Any] = {"tokens": tokens(path)}
    if check := CHECKS.get(path.suffix):
        try:
            results["parser"] = check(path)
        except (FileNotFoundError, RecursionError):  # no such command, or too deep
            pass
        except Exception:
            results["parser"] = None
    return results


PROGRAMS = Path(__file__).with_name("programs")
#: How a program is made, where it is, and run, by its ending.
RUNS = {
    ".py": ["python3 {0}"],
    ".js": ["node {0}"],
    ".pl": ["perl {0}"],
    ".c": ["gcc -o {1} {0}", "{1}"],
    ".cpp": ["g++ -o {1} {0}", "{1}"],
    ".rs": ["rustc -o {1} {0}", "{1}"],
    ".java": ["java {0}"],
    ".sh": ["bash {0}"],
    ".tcl": ["tclsh {0}"],
}


def printed(program: Path) -> tuple[bytes, bytes]:
    """Returns what a program prints, and what it tells a person."""
    for command_line in RUNS[program.suffix]:
        words = command_line.format(program, program.with_suffix(".out")).split()
        done = subprocess.run(words, capture_output=True, check=True)
    return done.stdout, done.stderr


def run_programs(options: Sequence[str]) -> int:
    """Runs each program before and after it is corrected; returns the status."""
    changed = list[str]()
    for program in sorted(PROGRAMS.iterdir()):
        compiler = RUNS[program.suffix][0].split()[0]
        if not shutil.which(compiler):
            print(f"skipped: {program.name}, as there is no {compiler}")
            continue
        with tempfile.TemporaryDirectory() as place:
            copy = Path(shutil.copy(program, place))
            output, told = printed(copy)
            correct(["--in-place", *options, str(copy)])
            new_output, new_told = printed(copy)
        is_right = output == new_output and told != new_told
        print(
            f"{'as before' if is_right else 'CHANGED'}: {program.name}: {new_told.decode().strip()}"
        )
        changed += [program.name] * (not is_right)
    return bool(changed)


def main(argv: Sequence[str]) -> int:
    """Prints how many files and edits there are and which files break; returns the status."""
    folder, *options = argv
    if folder == "--programs":
        return run_programs(options)
    with tempfile.TemporaryDirectory() as place:
        copy, edits = Path(place) / "copy", Path(place) / "edits"
        shutil.copytree(folder, copy, symlinks=True)
        paths = (path for path in sorted(copy.rglob("*")) if path.is_file())
        files = [
            str(path) for path in paths if not path.is_symlink() and not kind_left_out(str(path))
        ]
        correct(["--in-place", "--edits", str(edits), *options, *files])
        applied = [edit for edit in map(json.loads, edits.open()) if edit["applied"]]
        changed = Counter(edit["file"] for edit in applied)
        broken = [
            file
            for file in changed
            if _breaks(Path(folder) / Path(file).relative_to(copy), Path(file))
        ]
        for file in broken:
            print(f"broken: {file}")
            subprocess.run(["diff", Path(folder) / Path(file).relative_to(copy), file])
    print(f"{len(files)} files, {len(changed)} changed, {len(applied)} edits, {len(broken)} broken")
    return bool(broken)


def _breaks(before: Path, after: Path) -> bool:
    was, is_now = facts(before), facts(after)
    if was.get("parser", "") is None:  # it could not be read before
        was.pop("parser"), is_now.pop("parser")
    return was != is_now


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
