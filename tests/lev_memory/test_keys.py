"""lev_memory: an app's texts by key follow what their source has become."""

import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from scripted_command import commit, git, put, tree
from tables import cases

from lev_memory import cli
from lev_memory.formats.files import language_of
from lev_memory.formats.keys import KeyedFile
from lev_memory.formats.units import Proposal

#: files of each format: old, new, de, and expected, which comes out
SAMPLES = Path(__file__).parent / "keys"
ENDINGS = [path.suffix for path in sorted(SAMPLES.glob("old.*"))]
OLD = {"open": "Open the file", "folder": "Open the folder", "end": "Version 3.1 is out"}
NEW = OLD | {"open": "Open the folder", "end": "Version 3.2 is out", "more": {"x": "New"}}
GERMAN = {"open": "Datei öffnen", "folder": "Ordner öffnen", "end": "Version 3.1 ist da"}
FRENCH = {"open": "Ouvrir", "folder": "Ouvrir le dossier", "end": "La version 3.1 est sortie"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(**{"other.txt": b"not ours\n"})


def as_json(texts):
    return json.dumps(texts, indent=2, ensure_ascii=False).encode()


def files(texts, german=GERMAN):
    return {
        "i18n__en.json": as_json(texts),
        "i18n__de.json": as_json(german),
        "i18n__fr.json": as_json(FRENCH),
    }


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_changed_by_key_is_repaired_and_all_else_stays_byte_for_byte(ending):
    sides = [str(SAMPLES / f"{name}{ending}") for name in ("old", "new", "de")]
    assert cli.main(["repair", *sides, "-o", f"out{ending}"]) == 0
    assert Path(f"out{ending}").read_bytes() == (SAMPLES / f"expected{ending}").read_bytes()
    assert {*tree()} == {"other.txt", f"out{ending}"}


def test_each_language_of_a_folder_is_repaired_from_its_own_texts(capsys):
    git("init", "-q")
    commit(**files(OLD))
    put(**files(NEW))
    assert cli.main("repair --since HEAD i18n/en.json i18n".split()) == 0
    assert "(more.x)" in capsys.readouterr().out
    assert json.loads(Path("i18n/de.json").read_bytes()) == GERMAN | {
        "open": "Ordner öffnen",
        "end": "Version 3.2 ist da",
    }
    assert json.loads(Path("i18n/fr.json").read_bytes()) == FRENCH | {
        "open": "Ouvrir le dossier",
        "end": "La version 3.2 est sortie",
    }


RESX = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<root><data name="\u00e4">{}</data></root>'


@pytest.mark.parametrize(
    "name, encoding, old, new, there, expected",
    [
        (  # a form of a plural that English lacks, whatever stands first there
            "a.json", "utf-8",
            '{"n_other": "3.1", "n_one": "1"}', '{"n_other": "3.2", "n_one": "1"}',
            '{"n_few": "kilka 3.1", "n_one": "1"}', '{"n_few": "kilka 3.2", "n_one": "1"}',
        ),
        ("a.properties", "latin-1", "a=\\ in 3.1", "a=\\ in 3.2", "a=\\ zu 3.1", "a=\\ zu 3.2"),
        ("a.yml", "utf-8", "en: {a: b 3.1}", "en: {a: b 3.2}", "de: {a: c 3.1}", "de: {a: c 3.2}"),
        (
            "a.resx", "latin-1",
            *(RESX.format(f"<comment/><value>in 3.{n}</value>") for n in "12"),
            *(RESX.format(f"<value>f\u00fcr 3.{n}</value><comment/>") for n in "12"),
        ),
    ],
)  # fmt: skip
def test_a_file_is_read_as_it_was_written(name, encoding, old, new, there, expected):
    old, new, there = (text.encode(encoding) for text in (old, new, there))
    put(**{f"old__{name}": old, f"new__{name}": new, f"de__{name}": there})
    assert cli.main(f"repair old/{name} new/{name} de/{name}".split()) == 0
    assert Path("de", name).read_bytes().decode(encoding) == expected


def test_a_text_with_a_comma_is_quoted_where_it_may_stand_in_brackets():
    sides = b"de: {a: alt}", b"en: {a: old}", b"en: {a: new}"
    document = KeyedFile(Path("de.yml"), *sides)
    written = document.with_proposals({document.units[0]: Proposal("neu, {x}", 1.0)})
    assert written == b'de: {a: "neu, {x}"}'


def test_a_folder_has_the_files_of_the_sources_name_or_beside_it():
    git("init", "-q")
    named = {"res__values__a.json": as_json(OLD), "res__values-de__a.json": as_json(GERMAN)}
    commit(**named, **{"res__values-de__b.json": as_json(GERMAN), "res__values__c.yml": b"a: b\n"})
    put(**{"res__values__a.json": as_json(NEW)})
    assert cli.main("repair --since HEAD res/values/a.json res".split()) == 0
    assert git("status", "--short").split() == [
        "M",
        "res/values-de/a.json",
        "M",
        "res/values/a.json",
    ]


def test_what_was_translated_since_stays():
    git("init", "-q")
    commit(**files(OLD))
    translated = GERMAN | {"open": "Den Ordner öffnen", "end": "Version 3.1 ist raus"}
    put(**files(NEW, translated))
    before = tree("i18n")["de.json"]
    assert cli.main("repair --since HEAD i18n/en.json i18n/de.json".split()) == 0
    assert tree("i18n")["de.json"] == before


@pytest.mark.parametrize(
    "path, language",
    cases("lev_memory/cases.tsv", "keys: the language is said by the name or the folder"),
)
def test_the_language_is_said_by_the_name_or_the_folder(path, language):
    data = (SAMPLES / f"de{Path(path).suffix}").read_bytes()
    assert language_of(KeyedFile(Path(path), data, data, data)) == language


TEXTS = st.text(
    st.characters(exclude_categories=["C"]) | st.sampled_from("\n\t'\"\\:#{"),
    min_size=1,
    max_size=30,
).filter(str.strip)


@given(st.sampled_from(ENDINGS), TEXTS, st.data())
def test_a_text_that_is_written_is_read_again(ending, text, data):
    old, new, there = ((SAMPLES / f"{name}{ending}").read_bytes() for name in ("old", "new", "de"))
    document = KeyedFile(Path(f"de{ending}"), there, old, new)
    unit = data.draw(st.sampled_from(document.units))
    if ending in (".xml", ".resx"):
        text = escape(text)
    texts = document.texts(document.with_proposals({unit: Proposal(text, 1.0)}))
    assert texts[document.messages[unit].key] == text
    assert len(texts) == len(document.texts(there))


@pytest.mark.parametrize(
    "name, data",
    [
        ("de.json", b'{"a": "b",}'),
        ("de.yml", b"de:\n  a: [b\n"),
        ("strings.xml", b"<resources><string name='a'>b</resources>"),
        ("colors.xml", b"<layout/>"),
        ("de.json", b'{"a": "\xff"}'),
    ],
)
def test_a_damaged_file_is_named_and_nothing_is_written(name, data):
    put(**{"there__de.json": data, f"there__{name}": data, "old": b"{}", "new": b"{}"})
    assert name in refusal(cli.main, "repair", "old", "new", f"there/{name}")


def test_new_keys_are_named_and_not_put_in():
    put(**files(NEW))
    words = "repair i18n/en.json i18n/en.json i18n/de.json --insert-new"
    assert "--insert-new" in refusal(cli.main, *words.split())
