"""lev_memory: plurals and encodings of .po files, states, matches and code inside
XLIFF, languages of TMX; what stood there is never lost."""

import os
import subprocess
from pathlib import Path

import pytest
from refusals import refuses
from test_translation_files import (
    FUZZY,
    HEADER,
    Editor,
    files,
    fill,
    po,
    propose,
    proposer,
    written,
)

NO_MSGFMT = not any(os.access(f"{path}/msgfmt", os.X_OK) for path in os.get_exec_path())
FORMULAS = {
    "ru": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || "
    "n%100>=20) ? 1 : 2);",
    "ar": "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : "
    "n%100>=11 ? 4 : 5;",
    "sl": "nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0);",
    "ja": "nplurals=1; plural=0;",
    "it": "nplurals=2; plural=(n != 1);",
    "": "",
    "none": "nplurals=2; plural=whatever;",
}
TRANS_UNIT = '<trans-unit id="1"{attributes}><source>{source}</source>{target}{more}</trans-unit>'
MATCH = "<alt-trans{attributes}><source>{source}</source><target>{target}</target></alt-trans>"
OPEN = '<target state="needs-adaptation">{}</target>'


def plural(formula: str, *texts: str, singular: str = "one {} file") -> str:
    """A file with a fuzzy plural."""
    lines = [
        HEADER.rstrip("\n"),
        f'"Plural-Forms: {formula}\\n"\n',
        "#, fuzzy, c-format",
        f'#| msgid "{singular.format("old")}"\n#| msgid_plural "%d old files"',
        f'msgid "{singular.format("new")}"\nmsgid_plural "%d new files"',
        *(f'msgstr[{form}] "{text}"' for form, text in enumerate(texts)),
    ]
    return "\n".join(lines) + "\n"


def xliff(units: str, declaration: str = "", head: str = ' xmlns="urn:x"') -> str:
    return (
        f'{declaration}<xliff version="1.2"{head}>\n<file source-language="en" '
        f'target-language="it" original="a"><body>\n{units}\n</body></file>\n</xliff>\n'
    )


def trans_unit(source: str, target: str = "", more: str = "", attributes: str = "") -> str:
    return TRANS_UNIT.format(source=source, target=target, more=more, attributes=attributes)


def match(source: str, target: str, attributes: str = "") -> str:
    return MATCH.format(source=source, target=target, attributes=attributes)


def filled(tmp_path: Path, text: str | bytes, name: str = "a.xlf", *pairs, model=None) -> str:
    """A file after proposals."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    fill(path, proposer(model or Editor(), *pairs))
    return path.read_bytes().decode(files.read_document(path).encoding)


# .po ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "sources"),
    [
        ("it", ["one new file", "%d new files"]),
        ("", ["one new file", "%d new files"]),
        ("none", ["one new file", "%d new files"]),
        ("ja", ["%d new files"]),
        ("ru", ["%d new files"] * 3),  # the first is that of 21, too
        ("ar", ["%d new files", "one new file"] + ["%d new files"] * 4),
        ("sl", ["%d new files"] * 4),
    ],
)
def test_a_form_of_a_plural_is_of_the_source_whose_numbers_it_stands_for(
    language, sources, tmp_path
):
    path = written(tmp_path, plural(FORMULAS[language], *"abcdef"[: len(sources)]))
    assert [unit.source for unit in po.read_po(path).units] == sources


def test_the_singular_is_the_source_of_one_where_it_has_the_number_too(tmp_path):
    path = written(tmp_path, plural(FORMULAS["sl"], *"abcd", singular="%d {} file"))
    sources = [unit.source for unit in po.read_po(path).units]
    assert sources == ["%d new files", "%d new file", "%d new files", "%d new files"]


@pytest.mark.skipif(NO_MSGFMT, reason="gettext is not installed")
@pytest.mark.parametrize("lost", [" %d", "%d ", ""])
@pytest.mark.parametrize("language", FORMULAS)
def test_msgfmt_accepts_each_plural_that_it_accepted_before(language, lost, tmp_path):
    single = {"ar": (1, 2), "it": (0,)}.get(language, ())
    count = {"": 2, "none": 2}.get(language) or int(FORMULAS[language][9])
    texts = [f"old {form}" if form in single else f"%d old {form}" for form in range(count)]
    entries = plural(FORMULAS[language], *texts)
    path = written(tmp_path, entries.replace("old", "OLD").replace("new", "NEW"))

    def status() -> int:
        command = ["msgfmt", "-c", "-f", "-o", os.devnull, str(path)]
        return subprocess.run(command, capture_output=True).returncode

    before = status()
    fill(path, proposer(Editor((lost, ""))))
    assert status() <= before and path.read_text().count("NEW") > 2


def test_a_text_that_the_encoding_lacks_is_not_proposed_and_others_are(tmp_path):
    other = FUZZY.replace("Close", "Open").replace("Chiudi", "Apri")
    data = (HEADER.replace("UTF-8", "ISO-8859-1") + FUZZY + other).encode()
    after = filled(
        tmp_path, data, "a.po", ("a", "“Chiudi” ”"), model=Editor(("Chiudi", "“Chiudi”"))
    )
    assert 'msgstr "Chiudi il file 4"' in after and 'msgstr "Apri il file 4"' in after


@pytest.mark.parametrize("charset", ["UTF-7", "hex", "nothing", "UTF-16"])
def test_an_encoding_that_would_not_give_the_bytes_again_is_refused(charset, tmp_path):
    data = (HEADER.replace("UTF-8", charset) + FUZZY.replace("il", "+AOg-")).encode()
    path = tmp_path / "a.po"
    path.write_bytes(data)
    with refuses("a.po", "UTF-8"):
        po.read_po(path)


# XLIFF --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        ("&amp; ", "& "),
        ("</g>", ""),
        ('<ph id="2">%s</ph>', '<ph id="2">%d</ph>'),
        ("&lt;b", "&lt;i"),
        ("name</mrk>", "nome</mrk>"),
        ("vai", "vai \x0b"),
        ('<g id="1">vai</g>', '</g>vai<g id="1">'),
    ],
)
def test_a_text_that_would_break_a_unit_is_not_proposed_and_others_are(change, tmp_path):
    text = (
        '<g id="1">{}</g> &amp; <ph id="2">%s</ph> <it id="3" pos="open">&lt;b></it> '
        '<mrk mtype="protected">name</mrk> {}'
    )
    old, new, target = text.format("go", 3), text.format("go", 4), text.format("vai", 3)
    units = [
        trans_unit(new, OPEN.format(target), match(old, target)),
        trans_unit("Stop 4", OPEN.format("ferma 3"), match("Stop 3", "ferma 3")),
    ]
    after = filled(tmp_path, xliff("\n".join(units)), model=Editor(change))
    assert OPEN.format(text.format("vai", 4)) in after and ">ferma 4<" in after


def test_deeply_nested_groups_are_read(tmp_path):
    depth = 5000
    unit = trans_unit("Go 4", OPEN.format("vai 3"), match("Go 3", "vai 3"))
    assert ">vai 4<" in filled(tmp_path, xliff("<group>" * depth + unit + "</group>" * depth))


# TMX ----------------------------------------------------------------------------------------------


def tmx(*units: dict[str, str], srclang: str = "en", name: str = "xml:lang", head: str = "") -> str:
    body = "".join(
        "<tu>"
        + "".join(f'<tuv {name}="{code}"><seg>{text}</seg></tuv>' for code, text in unit.items())
        + "</tu>"
        for unit in units
    )
    return f'{head}<tmx version="1.4"><header srclang="{srclang}"/><body>{body}</body></tmx>'


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (tmx({"it": "Leggi", "en": "Read"}), [("Read", "Leggi")]),
        (tmx({"it": "Leggi", "en": "Read"}, srclang="*all*"), [("Read", "Leggi")]),
        (tmx({"EN-US": "Read", "IT-IT": "Leggi"}, srclang="en-us"), [("Read", "Leggi")]),
        (tmx({"en": "Read", "it": "Leggi"}, srclang="en-US"), [("Read", "Leggi")]),
        (tmx({"en-GB": "Read", "it": "Leggi"}, srclang="en-US"), [("Read", "Leggi")]),
        (tmx({"en": "Read", "it": "Leggi"}, srclang="English"), [("Read", "Leggi")]),
        (tmx({"en": "Read", "it": "Leggi"}, name="lang"), [("Read", "Leggi")]),
        (
            tmx({"en": "Read", "it": "Leggi"}, {"es": "Lee", "it": "Leggi qui"}),
            [("Read", "Leggi")],
        ),
        (
            tmx({"en": "Read", "it": "Leggi", "it-CH": "Leggi!"}),
            [("Read", "Leggi"), ("Read", "Leggi!")],
        ),
        (
            tmx({"en": '<ph x="1">%s</ph> a<bpt i="1">&lt;b></bpt>', "it": '<ph x="1">%s</ph> b'}),
            [("%s a", "%s b")],
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_a_tmx_file_is_read_in_the_languages_it_has(text, pairs, encoding, tmp_path):
    path = tmp_path / "a.tmx"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding[:6]}"?>{text}'.encode(encoding)
                     if encoding != "utf-8" else text.encode())  # fmt: skip
    assert files.folder_memory(path, "it", files.Problems())[0] == pairs


# what is written ----------------------------------------------------------------------------------


def test_a_file_that_changes_meanwhile_is_left_alone(tmp_path):
    path = written(tmp_path, HEADER + FUZZY)
    by = proposer(Editor())
    proposals = by.proposals

    def slow(document, report):
        path.write_text("a translator's own")
        return proposals(document, report)

    by.proposals = slow
    with refuses("a.po", "again"):
        fill(path, by)
    assert path.read_text() == "a translator's own"


def test_a_difference_is_shown_in_the_encoding_of_the_file_whatever_its_name(tmp_path, capsys):
    path = tmp_path / os.fsdecode(b"perch\xe9 \xd7\x90.po")
    text = (HEADER.replace("UTF-8", "ISO-8859-1") + FUZZY).replace("il file", "perché").rstrip()
    path.write_bytes(text.encode("iso-8859-1"))
    document = files.read_document(path)
    changed = text.replace("3", "4").encode("iso-8859-1")
    shown = propose.diff(document, path.read_bytes(), changed)
    print(shown)
    assert '-msgstr "Chiudi perché 3"\n\\ No newline at end of file\n+msgstr' in shown


def test_the_folder_of_the_output_is_made(tmp_path):
    target = tmp_path / "new" / "folder" / "a.po"
    files.replace_file(target, b"x")
    assert target.read_bytes() == b"x"
    with refuses("a.po"):
        files.replace_file(target / "b.po", b"x")
