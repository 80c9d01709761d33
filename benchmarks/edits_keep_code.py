"""Corrects a copy of a folder of source code in place and checks that its code stays as it is.

    python benchmarks/edits_keep_code.py FOLDER [OPTION of lev-correct …]
    python benchmarks/edits_keep_code.py --programs [OPTION of lev-correct …]

In each file that changes Pygments' lexer of its language finds the same tokens as before outside of
comments, strings and text: names, keys, elements, numbers, quotes. The status is 1 if one file
differs.

With ``--programs`` nine small programs of nine languages, in ``programs/``, run before and after:
what they print must not change, as their patterns, tables and look-ups have misspellings, too; the
sentence that they tell a person is corrected.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Literal, String, Text
from pygments.util import ClassNotFound

from lev_correct.cli.main import main as correct
from lev_correct.files.file_kinds import kind_of
from lev_correct.repository.checked_files import kind_left_out


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
        origins = {file: Path(folder) / Path(file).relative_to(copy) for file in changed}
        broken = [file for file in changed if tokens(origins[file]) != tokens(Path(file))]
        for file in broken:
            print(f"broken: {file}")
            subprocess.run(["diff", origins[file], file])
    print(f"{len(files)} files, {len(changed)} changed, {len(applied)} edits, {len(broken)} broken")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
