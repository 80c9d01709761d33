"""lev_memory: tables of texts, and files with what they become.

In the tables ``\\u00a0`` is such a character. A file ``a.po.expected`` is ``a.po`` after proposals
of a model that writes the draft as it is.
"""

import re
from collections import Counter
from pathlib import Path

import polib
import pytest
from test_translation_files import HEADER, Editor, entry, fill, proposer, written

from lev_memory import memory, proposals
from lev_memory.formats import files
from lev_memory.repair import lines, repair

FOLDER = Path(__file__).parent
FILES = [path.with_suffix("") for path in sorted(FOLDER.glob("*/*.expected"))]
CHECKS = {
    "placeholders": lambda source, text, old, draft: lines.same_placeholders(source, text),
    "entities": lambda source, text, old, draft: lines.same_entities(text, source, old, draft),
    "tags": lambda source, text, old, draft: lines.is_nested_like(source, text),
}


def table(name: str) -> list[list[str]]:
    """Returns the rows of a table; the last column says why."""
    lines_of_text = (FOLDER / name).read_text("utf-8").removesuffix("\n").split("\n")
    return [[*map(cell, line.split("\t"))] for line in lines_of_text[1:]]


def cell(text: str) -> str:
    return re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)


@pytest.mark.parametrize(("source", "old", "draft", "expected", "why"), table("repair.tsv"))
def test_repairs_what_needs_no_translation(source, old, draft, expected, why):
    assert repair.repair(old, source, draft) == expected


@pytest.mark.parametrize(
    ("check", "source", "text", "old", "draft", "expected", "why"), table("checks.tsv")
)
def test_accepts_what_a_program_can_use(check, source, text, old, draft, expected, why):
    assert CHECKS[check](source, text, old, draft) == (expected == "accepted")


@pytest.mark.parametrize(("source", "draft", "output", "expected", "why"), table("outputs.tsv"))
def test_corrects_outputs_of_the_model(source, draft, output, expected, why):
    known = memory.Memory([(str(n), "nous nous levons `Texto <más>`_ *nuevo*") for n in range(9)])
    change = proposals.Change(source, "", draft)
    (proposal,) = proposals.propose(Editor((draft, output)), [change], 0.5, known)
    assert proposal.text == expected


@pytest.mark.parametrize(
    ("source", "old", "draft", "flags", "model", "by", "expected", "why"), table("entries.tsv")
)
def test_an_entry_becomes(source, old, draft, flags, model, by, expected, why, tmp_path):
    path = written(tmp_path, entry(source, draft, old, flags))
    fill(path, proposer(Editor((model, by))))
    (filled,) = polib.pofile(str(path))
    assert filled.msgstr == polib.unescape(expected) and filled.fuzzy


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_filled(path, tmp_path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    fill(copy, proposer(Editor()))
    assert copy.read_bytes() == path.with_name(f"{path.name}.expected").read_bytes()
    assert fill(copy, proposer(Editor())).startswith("0 proposed")


def test_states_of_tools():
    path = FOLDER / "xliff/states.sdlxliff"
    states = Counter(unit.state for unit in files.read_document(path).units)
    assert states == {"fuzzy": 14, "translated": 9, "locked": 3}
    assert len(files.memory_of(path, "")[0]) == 9


def test_a_header_alone_names_the_encoding(tmp_path):
    text = HEADER.replace("UTF-8", "latin1").replace('msgid ""', 'msgid "a"')
    assert files.read_document(written(tmp_path, text + 'msgid "b"\nmsgstr "è"\n')).encoding == (
        "utf-8"
    )
