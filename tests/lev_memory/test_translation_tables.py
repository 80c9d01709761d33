"""lev_memory: tables of texts, and files with what they become.

In the tables ``\\u00a0`` is such a character. A file ``a.po.expected`` is ``a.po`` after proposals
of a model that writes the draft as it is.
"""

import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import polib
import pytest
import regex
from refusals import refuses
from tables import rows
from test_translation_files import HEADER, Editor, entry, fill, proposer, repaired, written

from lev_memory import memory, proposals
from lev_memory.formats import files, po, units
from lev_memory.repair import code, invented, repair
from lev_memory.repair.layout import accelerated
from lev_memory.repair.meaning import Unfollowed

FOLDER = Path(__file__).parent
FILES = [path.with_suffix("") for path in sorted(FOLDER.glob("*/*.expected"))]


def plural(formula, singular, texts):
    """A file with a fuzzy plural."""
    forms = "".join(f'msgstr[{form}] "{text}"\n' for form, text in enumerate(texts.split("|")))
    return (
        f'{HEADER}"Plural-Forms: {formula}\\n"\n\n#, fuzzy, c-format\n'
        f'#| msgid "{singular.format("old")}"\n#| msgid_plural "%d old files"\n'
        f'msgid "{singular.format("new")}"\nmsgid_plural "%d new files"\n{forms}'
    )


def sources(formula, singular, texts):
    content = plural(formula, singular, "|".join(texts)).encode()
    return [unit.source for unit in po.PoFile(Path("a.po"), content).units]


def relation(named, asked):
    is_one = units.same_language(named, asked)
    assert units.same_language(asked, named) == is_one
    return ["one"] * is_one + ["chosen"] * units.is_language(named, asked)


CHECKS = {
    "placeholders": lambda source, text, old, draft: code.same_placeholders(source, text),
    "entities": lambda source, text, old, draft: code.same_entities(text, source, old, draft),
    "tags": lambda source, text, old, draft: code.is_nested_like(source, text),
    "made up": lambda source, text, known, read: memory.Memory([("a", known)]).made_up(
        text, source, read
    ),
    "codes": lambda source, text, old, draft: invented.codes_of(text),
    "language": lambda source, name, old, draft: [
        files.language_of(po.PoFile(Path(name), entry("a", "b").partition("\n\n")[2].encode()))
    ],
    "another meaning": lambda before, new, old, after: Unfollowed(
        old, new, before, after
    ).changes_meaning(),
    "accelerator": lambda new, _, old, draft: accelerated(old, new, draft),
    "quotes": lambda new, _, old, draft: [repair.repaired(old, new, draft, quotes='"').draft],
    "lost": lambda source, text, _, draft: invented.lost_code(text, source, draft),
    "one language": lambda named, asked, old, draft: relation(named, asked),
    "plural": lambda name, *shape: sources(*shape),
}


def table(name):
    """Returns the rows of a table; the last column says why."""
    lines_of_text = (FOLDER / name).read_text("utf-8").removesuffix("\n").split("\n")
    return [[*map(cell, line.split("\t"))] for line in lines_of_text[1:]]


def cell(text):
    return re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)


def pairs_of(text):
    """``a=b;c=d`` → both pairs."""
    return [tuple(pair.split("=", 1)) for pair in text.split(";") if pair]


@pytest.mark.parametrize("source, old, draft, expected, why", table("repair.tsv"))
def test_repairs_what_needs_no_translation(source, old, draft, expected, why):
    assert repaired(old, source, draft) == expected


@pytest.mark.parametrize("source, old, draft, expected, language", table("plurals.tsv"))
def test_a_number_beside_a_noun_changes_within_its_plural_category(
    source, old, draft, expected, language
):
    assert repaired(old, source, draft, repair.counting(language)) == expected


CODE = Path(code.__file__).with_name("code.tsv").read_text("utf-8").splitlines()[1:]


@pytest.mark.parametrize("row", [line.split("\t") for line in CODE], ids=lambda row: row[1])
def test_code_of_each_kind_is_found(row):
    group, kind, _, _, *cells = row
    ((text, found),) = rows("\t".join(cells), "\t")
    known = code.FORMATS if group == "replaced" else code.GUARDS
    assert " ".join(match[0] for match in regex.finditer(known[kind], text)) == found
    assert code.placeholders(text) != code.placeholders("")


@pytest.mark.parametrize("check, source, text, old, draft, expected, why", table("checks.tsv"))
def test_checks(check, source, text, old, draft, expected, why):
    outcome = CHECKS[check](source, text, old, draft)
    if isinstance(outcome, bool):
        outcome = ["accepted" if outcome else "refused"]
    assert " | ".join(outcome) == expected


@pytest.mark.parametrize("source, draft, output, expected, why", table("outputs.tsv"))
def test_corrects_outputs_of_the_model(source, draft, output, expected, why):
    known = memory.Memory([(str(n), "nous nous levons `Texto <más>`_ *nuevo*") for n in range(9)])
    change = proposals.SourceChange(source, "", draft)
    (proposal,) = proposals.propose(Editor((draft, output)), [change], 0.5, known)
    assert proposal.text == expected


@pytest.mark.parametrize("row", table("entries.tsv"), ids=lambda row: row[0])
def test_an_entry_becomes(row, tmp_path):
    """The columns: see the table. ``learnt``: what the model has learnt, if not the memory."""
    source, old, draft, flags, *change, known, glossary, learnt, score, expected, report, _ = row
    path = written(tmp_path, entry(source, draft, old, flags))
    terms = defaultdict(list)
    for term, translation in pairs_of(glossary):
        terms[term].append(translation)
    options = {"terms": terms}
    if learnt:
        options |= {"learnt": memory.Memory(pairs_of(learnt)), "usual": 0.5}
    model = Editor(change, float(score or 0))
    assert report in fill(path, proposer(model, *pairs_of(known), **options))
    (filled,) = polib.pofile(str(path))
    assert filled.msgstr == polib.unescape(expected) and filled.fuzzy


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_filled(path, tmp_path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    fill(copy, proposer(Editor()))
    assert copy.read_bytes() == path.with_name(f"{path.name}.expected").read_bytes()
    assert fill(copy, proposer(Editor())).startswith("0 proposed")


@pytest.mark.parametrize("name, content, parts", table("refused.tsv"))
def test_a_damaged_or_foreign_file_is_refused(name, content, parts, tmp_path):
    with refuses(*parts.split(" | ")):
        files.read_document(written(tmp_path, content, name))


@pytest.mark.parametrize("name, encoding, content, language, expected", table("memories.tsv"))
def test_a_file_is_a_memory(name, encoding, content, language, expected, tmp_path):
    path = tmp_path / name
    path.write_bytes(content.encode(encoding))
    pairs, named = files.folder_memory(path, language, files.Problems())
    assert pairs == pairs_of(expected) and named in ("it", "")


PLURALS = [row for row in table("checks.tsv") if row[0] == "plural"]


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")
@pytest.mark.parametrize("lost", [" %d", "%d ", ""])
@pytest.mark.parametrize("row", PLURALS, ids=lambda row: row[1])
def test_msgfmt_accepts_each_plural_that_it_accepted_before(row, lost, tmp_path):
    _, language, formula, _, forms, *_ = row
    single = {"ar": (1, 2), "it": (0,)}.get(language, ())
    texts = ["OLD" if form in single else f"%d OLD {form}" for form in range(len(forms))]
    entries = plural(formula, "one {} file", "|".join(texts))
    path = written(tmp_path, entries.replace("old", "OLD").replace("new", "NEW"))
    command = ["msgfmt", "-c", "-f", "-o", os.devnull, str(path)]
    before = subprocess.run(command, capture_output=True).returncode
    fill(path, proposer(Editor((lost, ""))))
    after = subprocess.run(command, capture_output=True).returncode
    assert after <= before and path.read_text().count("NEW") > 2


def test_a_header_alone_names_the_encoding(tmp_path):
    text = HEADER.replace("UTF-8", "latin1").replace('msgid ""', 'msgid "a"')
    path = written(tmp_path, text + 'msgid "b"\nmsgstr "è"\n')
    assert files.read_document(path).encoding == "utf-8"
