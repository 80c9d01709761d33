"""lev_memory: files of translations are read as others read them, and only what
is proposed changes in them; texts as lines, placeholders, numbers, matches."""

import gettext
import io
import os
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from refusals import refuses

from lev_memory import memory, proposals, propose, train
from lev_memory.formats import files, po
from lev_memory.repair import lines, repair
from lev_runtime.markup import parse_markup

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: it\\n"\n'
FUZZY = """
#, fuzzy
#| msgid "Close the file 3"
msgid "Close the file 4"
msgstr "Chiudi il file 3"
"""
XLIFF = """<?xml version="1.0" encoding="utf-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file source-language="en" target-language="it" datatype="plaintext" original="a"><body>
  <trans-unit id="1" approved="no"><source>Close &amp; go 4</source>
   <target state='needs-review-translation'>Chiudi &amp; vai 3</target>
   <alt-trans><source>Close &amp; go 3</source><target>Chiudi &amp; vai 3</target></alt-trans>
  </trans-unit>
  <trans-unit id="2"><source>See <x id="1" a=">"/> 4</source><target state="new"/>
   <alt-trans><source>See <x id="1" a=">"/> 3</source><target>Vedi <x id="1" a=">"/> 3</target>
   </alt-trans></trans-unit>
  <trans-unit id="3"><source>Read</source><target>Leggi</target></trans-unit>
  <trans-unit id="4" translate="no"><source>x</source></trans-unit>
  <trans-unit id="5"><source>Print</source></trans-unit>
 </body></file>
</xliff>
"""


class Editor:
    """A model that writes the draft with a word changed, and is as sure as it is told."""

    def __init__(self, change: tuple[str, str] = ("", ""), score: float = 0.0) -> None:
        self.change, self.score = change, score
        self.read: list[tuple[str, str, str]] = []

    @staticmethod
    def fits(source, draft, old):
        return max(len(source.split()), len(draft.split())) < 99

    def edit(self, sources, drafts, old_sources, **options):
        drafts = [parse_markup(draft)[0] for draft in drafts]
        self.read += zip(sources, old_sources, drafts)
        return [
            SimpleNamespace(text=draft.replace(*self.change), score=self.score) for draft in drafts
        ]


def proposer(editor: Editor, *pairs: tuple[str, str], rule: float = 1.0, **options):
    """What proposes, with a model that is believed at any probability above zero."""
    outcomes = dict.fromkeys(proposals.WAYS, [(0.01, True)] * proposals.FEWEST)
    rules = {"kept": rule, "found": rule}
    settings = proposals.Settings(0.9, 0.0, outcomes, rules)
    return propose.Proposer(editor, memory.Memory(pairs), settings, **options)


def fill(path: Path, by, **options) -> str:
    """Fills a file; returns what became of it."""
    named = {"output": None, "place": path, "diff": False, "dry_run": False, "backup": False}
    return propose.fill(path, by, SimpleNamespace(**named, **options), Counter())


def written(tmp_path: Path, text: str, name: str = "a.po") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


# files --------------------------------------------------------------------------------------------

VARIANTS = {
    "plain": HEADER + FUZZY,
    "without a header": FUZZY.lstrip(),
    "indented": HEADER + "".join(f"   {line}\n" for line in FUZZY.splitlines()),
    "no space": HEADER + FUZZY.replace("#, fuzzy", "#,fuzzy,c-format"),
    "carriage returns": (HEADER + FUZZY).replace("\n", "\r\n"),
    "carriage returns alone": (HEADER + FUZZY).replace("\n", "\r"),
    "strings on one line": HEADER + FUZZY.replace('"Chiudi il file 3"', '"Chiudi " "il file 3"'),
    "a string below": HEADER + FUZZY.replace('"Chiudi il file 3"', '""\n"Chiudi "\n\n"il file 3"'),
    "no blank line": HEADER.rstrip() + FUZZY.rstrip() + '\nmsgid "A"\nmsgstr "B"',
    "a byte order mark": "\ufeff" + FUZZY.lstrip(),
    "obsolete": HEADER + '#~ msgid "x"\n#~ msgstr "y"\n' + FUZZY,
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_fuzzy_text_is_replaced_however_the_file_is_written(name, tmp_path):
    path = written(tmp_path, VARIANTS[name])
    content = path.read_bytes()
    assert po.read_po(path).with_proposals({}) == content
    report = fill(path, proposer(Editor()))
    assert report.startswith("1 proposed (1 edited by the model), 0 kept, 0 left")
    after = path.read_bytes()
    (unit,) = (unit for unit in po.read_po(path).units if unit.state == "fuzzy")
    assert (unit.target, unit.old) == ("Chiudi il file 4", "Close the file 3")
    assert b'#  was: "Chiudi il file 3"' in after
    assert after.count(b"\r") in (0, after.count(b"\n")) or b"\n" not in after
    before = [
        line for line in content.splitlines() if b"hiudi" not in line and b"il file" not in line
    ]
    rest = [line for line in after.splitlines() if line in before]
    assert rest == before or name in ("a string below", "a byte order mark")
    assert "1 have a proposal" in fill(path, proposer(Editor())) and path.read_bytes() == after


def test_a_proposal_for_an_earlier_source_gives_way_to_a_new_one(tmp_path):
    path = written(tmp_path, HEADER + FUZZY)
    fill(path, proposer(Editor()))
    text = path.read_text().replace('msgid "Close the file 4"', 'msgid "Close the file 5"')
    path.write_text(text.replace('#| msgid "Close the file 3"', '#| msgid "Close the file 4"'))
    assert fill(path, proposer(Editor())).startswith("1 proposed")
    after = path.read_text()
    assert after.count("lev_plugins") == after.count("#  was:") == 1
    assert 'msgstr "Chiudi il file 5"' in after


def test_each_form_of_a_plural_is_filled_and_its_old_text_named(tmp_path):
    entry = """
#, fuzzy, c-format
#| msgid "%d old\\n"
#| msgid_plural "%d olds\\n"
msgid "%d new\\n"
msgid_plural "%d news\\n"
msgstr[0] "%d vecchio\\n"
msgstr[1] ""
"%d vecchi\\n"
"""
    path = written(tmp_path, HEADER + entry)
    fill(path, proposer(Editor(("vecchi", "nuovi")), ("%d new", "nuovio, nuovi")))
    (filled,) = [entry for entry in polib.pofile(str(path)) if entry.msgid]
    assert [*filled.msgstr_plural.values()] == ["%d nuovio\n", "%d nuovi\n"] and filled.fuzzy
    assert '#  was[1]: "%d vecchi\\n"' in path.read_text()


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=200))
def test_a_text_is_written_so_that_it_is_read_again(text):
    rows = po.quoted("msgstr", text)
    assert all("\n" not in row for row in rows)
    assert po.unquoted("".join(rows).removeprefix("msgstr ")) == text
    assert rows[0].startswith('msgstr "')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + 'msgid "no end\nmsgstr "x"\n', "a.po:5"),
        (HEADER + 'msgid "a"\n', "no msgstr"),
        (HEADER + "whatever\n", "a.po:5"),
        (HEADER + 'msgid "a"\nmsgid "b"\nmsgstr "c"\n', "second msgid"),
        (HEADER.replace("UTF-8", "ASCII") + 'msgid "a"\nmsgstr "è"\n', "is not ASCII"),
        (HEADER.replace("UTF-8", "nothing"), "nothing"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(text, message, tmp_path):
    with refuses(message, tmp_path):
        po.read_po(written(tmp_path, text))


def test_xliff_keeps_every_byte_but_the_proposals(tmp_path):
    path = written(tmp_path, XLIFF, "a.xlf")
    document = files.read_document(path)
    assert document.with_proposals({}) == XLIFF.encode() and document.language == "it"
    states = [unit.state for unit in document.units]
    assert states == ["fuzzy", "fuzzy", "translated", "untranslated"]
    assert fill(path, proposer(Editor())).startswith("2 proposed")
    after = path.read_text()
    assert "<target state='needs-review-translation'>Chiudi &amp; vai 4</target>" in after
    assert '<target state="new">Vedi <x id="1" a=">"/> 4</target>' in after
    assert "was: Chiudi &amp; vai 3</note>" in after
    shortened = after
    for start, end in (
        ("<note", "</note>"),
        ("<target state", "</target>"),
        ("<target ", "</target>"),
    ):
        while start in shortened:
            before, _, rest = shortened.partition(start)
            shortened = before + rest.partition(end)[2]
    assert shortened == (
        XLIFF.replace(
            "<target state='needs-review-translation'>Chiudi &amp; vai 3</target>", ""
        ).replace('<target state="new"/>', "")
    )
    assert "2 have a proposal" in fill(path, proposer(Editor()))


@pytest.mark.parametrize("text", ["<xliff version='2.0'/>", "<a>", "<html/>", ""])
def test_what_is_no_xliff_1_is_refused(text, tmp_path):
    with refuses("a.xlf"):
        files.read_document(written(tmp_path, text, "a.xlf"))


def test_a_link_is_written_through_and_a_backup_keeps_what_was_there(tmp_path):
    path = written(tmp_path, HEADER + FUZZY)
    path.chmod(0o640)
    content = path.read_bytes()
    link = tmp_path / "link.po"
    link.symlink_to(path)
    files.replace_file(link, b"new", backup=True)
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "a.po.bak").read_bytes() == content
    files.replace_file(link, b"newer", backup=True)
    assert (tmp_path / "a.po.bak").read_bytes() == content
    assert (tmp_path / "a.po.bak1").read_bytes() == b"new"


def translated(language: str, text: str = "Leggi") -> str:
    return HEADER.replace("it", language) + f'msgid "Read"\nmsgstr "{text}"\n'


def test_several_languages_are_no_memory_until_one_is_chosen(tmp_path, capsys):
    for language in ("it", "es"):
        written(tmp_path, translated(language, language), f"{language}.po")
    written(tmp_path, "broken", "z.po")
    problems = files.Problems()
    with refuses("es.po", "it.po", "--language es"):
        files.folder_memory(tmp_path, "", problems)
    assert files.folder_memory(tmp_path, "it", problems) == ([("Read", "it")], "it")
    assert problems.count == 2 and "z.po:1" in capsys.readouterr().err
    for place in (tmp_path / "none", tmp_path / "es.po", tmp_path):
        if place.name == "none":
            with refuses("none"):
                files.files_in(place, [".po"])
    assert [file.name for file in files.files_in(tmp_path, [".po"])] == ["es.po", "it.po", "z.po"]


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("es.po", "es"),
        ("app.pt_BR.po", "pt_BR"),
        ("zh-Hant/app.po", "zh_Hant"),
        ("es/LC_MESSAGES/django.po", "es"),
        ("messages.po", ""),
        ("sub/app.po", ""),
        ("ES-ES.po", "ES_ES"),
        ("es-es/app.po", "es_es"),
        ("pt-br.po", "pt_br"),
        ("how-to-fr.po", "fr"),
    ],
)
def test_a_file_that_does_not_say_its_language_is_known_by_its_name(name, language, tmp_path):
    path = tmp_path / "here" / name
    path.parent.mkdir(parents=True)
    path.write_text(FUZZY)
    assert files.language_of(files.read_document(path)) == language


def test_a_tmx_file_is_a_memory_of_one_pair_of_languages(tmp_path):
    units = "".join(
        f'<tu><tuv xml:lang="en-US"><seg>Read {i}<bpt i="1">&lt;b></bpt></seg></tuv>'
        f'<tuv xml:lang="{language}"><seg>Leggi {i}</seg></tuv></tu>'
        for i, language in enumerate(("it", "it-IT", "es"))
    )
    head = '<tmx version="1.4"><header srclang="en"/><body>'
    path = written(tmp_path, f"{head}{units}</body></tmx>", "a.tmx")
    with refuses("--language"):
        files.folder_memory(path, "", files.Problems())
    pairs, _ = files.folder_memory(path, "it", files.Problems())
    assert pairs == [("Read 0", "Leggi 0"), ("Read 1", "Leggi 1")]


# what is proposed ---------------------------------------------------------------------------------


def entry(new: str, target: str, old: str = "", flags: str = "fuzzy") -> str:
    previous = f'#| msgid "{old}"\n' if old else ""
    return f'{HEADER}\n#, {flags}\n{previous}msgid "{new}"\nmsgstr "{target}"\n'


def test_the_draft_is_the_text_that_stands_there_whatever_is_more_similar(tmp_path):
    pairs = ("Open the file now", "Apri subito il file"), ("Open the door", "Apri la porta")
    path = written(tmp_path, entry("Open the file now then", "Apri la porta"))
    by = proposer(editor := Editor(), *pairs)
    fill(path, by)
    assert editor.read == [("Open the file now then", "Open the door", "Apri la porta")]
    path = written(tmp_path, entry("Open the file now then", "parole che nessuno conosce"))
    fill(path, by)
    assert editor.read[1:] == [("Open the file now then", "", "parole che nessuno conosce")]


def test_of_near_translations_that_of_the_most_similar_source_is_taken():
    pairs = ("Open a b c", "Apri il file uno"), ("Close the file", "Apri il file due")
    known = memory.Memory(pairs)
    asked = ["Apri il file tre", "nient'altro", "Apri il file uno"]
    olds = known.translated_from(asked, ["Close the file now", "x", "Close the file"])
    assert [*olds] == ["Close the file", "", "Open a b c"]
    assert [*known.translated_from(asked[2:], ["Close the file"], itself=False)] == [
        "Close the file"
    ]


LEARNT = [("Close the file now", "Chiudi il file ora"), ("Close the file 3", "Chiudi il file 3")]
ELSEWHERE = [("Render a page", "Disegna una pagina")]


@pytest.mark.parametrize(
    ("learnt", "score", "new", "old", "report"),
    [
        (LEARNT, 0.0, "Close the file 4", "Close the file 3", "1 proposed (1 edited by the model)"),
        (LEARNT, -9.0, "Close the file 4", "Close the file 3", "1 proposed (1 repaired by rule)"),
        (LEARNT, -9.0, "Close the file 4", "", "1 kept (1 not sure enough)"),
        (LEARNT, -9.0, "Open the file 3", "Close the file 3", "1 kept (1 not sure enough)"),
        (ELSEWHERE, 0.0, "Close the file 4", "Close the file 3", "1 proposed (1 repaired by rule)"),
        (ELSEWHERE, 0.0, "Open the file 3", "Close the file 3",
         "1 kept (1 of a project that the model has not learnt)"),
    ],
)  # fmt: skip
def test_the_model_is_used_where_it_has_learnt_the_project_and_is_sure(
    learnt, score, new, old, report, tmp_path
):
    path = written(tmp_path, entry(new, "Chiudi il file 3", old))
    editor, known = Editor(("file", "documento"), score), memory.Memory(learnt)
    by = proposer(editor, *LEARNT, ("x", "documento"), rule=0.5, learnt=known, usual=0.5)
    assert report in fill(path, by)
    assert ("documento" in path.read_text()) == ("model)" in report)


def test_a_probability_from_which_on_so_many_are_better():
    ordered = [(0.9, True), (0.8, True), (0.7, False), (0.6, True), (0.5, False), (0.4, False)]
    outcomes = [outcome for outcome in ordered for _ in range(proposals.FEWEST)]
    for precision, least in ((1.0, 0.8), (0.75, 0.6), (0.5, 0.4)):
        assert proposals.least_confidence(outcomes, precision) == least
    assert proposals.least_confidence([(0.5, True), (0.5, False)] * 9, 0.8) == float("inf")
    assert proposals.least_confidence(outcomes[:9], 0.8) == float("inf"), "too few"


@pytest.mark.parametrize(
    ("written_by_model", "proposed"),
    [
        ("los módulos módulos nuevos", "los módulos nuevos"),
        ("Los los  módulos", "Los  módulos"),
        ("la clase clase clase.", "la clase."),
        ("de código de código, en", "de código, en"),
        ("nous nous lavons", "nous nous lavons"),  # so does the memory
        ("very very quick", "very very quick"),  # so does the source
        ("tal tal vez", "tal tal vez"),  # so does the draft
        ("a, a, 1 1 - - b", "a, a, 1 1 - - b"),
    ],
)
def test_a_word_that_only_the_model_has_repeated_stands_once(written_by_model, proposed):
    known = memory.Memory([(str(n), "nous nous levons") for n in range(9)])
    change = proposals.Change("a very very new text", "", "tal tal vez")
    editor = Editor((change.draft, written_by_model))
    assert proposals.propose(editor, [change], 0.5, known)[0].text == proposed


@pytest.mark.parametrize(
    ("written_by_model", "proposed"),
    [
        ("ver :meth:`sock.getopt` y más", "ver :meth:`sock.getsockopt` y más"),
        ("ver :term:`finder``.", "ver :term:`finder`."),
        ("con MAX_SIZESE (3)", "con MAX_SIZE (3)"),
        ("``os.ch(fd)`` y ``os.ch(fd)``", "``os.chdir(fd)`` y ``os.ch(fd)``"),  # the source has one
        ("un *nuevo* y/o `Texto <más>`_", "un *nuevo* y/o `Texto <más>`_"),  # words, the memory's
        ("使用MAX_SIZEE的值", "使用MAX_SIZE的值"),
        ("otro_nombre", "otro_nombre"),  # nothing alike
        ("1.200 y 3,5 %", "1.200 y 3,5 %"),  # numbers are written in each language's way
        ("OLD_NAME", "OLD_NAME"),  # the draft's
    ],
)
def test_an_identifier_that_the_model_has_misspelt_is_the_sources(written_by_model, proposed):
    known = memory.Memory([("a", "`Texto <más>`_ *nuevo*")])
    source = "see :meth:`sock.getsockopt`, :term:`finder`, MAX_SIZE, 1,200, and ``os.chdir(fd)``"
    change = proposals.Change(source, "", "con OLD_NAME")
    editor = Editor((change.draft, written_by_model))
    assert proposals.propose(editor, [change], 0.5, known)[0].text == proposed


@pytest.mark.parametrize(
    ("text", "made_up"),
    [
        ("la clase :class:`Thread`", []),
        ("la clase :class:`Threat`", ["class:`Threat`"]),
        ("la clase :class:`Thread", ["`"]),
        ("el ``ID, la clase y el ``ID``", ["`"]),
        ("el Thread_Pool:n y el ``ID``", []),  # inflected as Finnish does
        ("el Thread_Pull:n", ["Thread_Pull:n"]),
        ("el valor 10/5 + 3 = 8 y/o x", []),
    ],
)
def test_identifiers_and_markup_that_nobody_has_written_are_told(text, made_up):
    known = memory.Memory([("a", "la clase el valor y o x n con ``ID``")])
    source = "the class :class:`Thread` of Thread_Pool"
    assert known.made_up(text, source, "Threat Pull") == made_up


@pytest.mark.parametrize(
    ("new", "target", "old", "flags", "change"),
    [
        ("a %ld", "b %ld", "c %ld", "fuzzy", ("%ld", "%d")),
        ("a %1", "b %1", "c %1", "fuzzy", ("%1", "")),
        ("a %s %d", "b %s %d", "c %s %d", "fuzzy", ("%s %d", "%d %s")),
        ("a % d", "b % d", "c % d", "fuzzy, c-format", ("% d", "% s")),
        ("<b>a</b>", "<b>b</b>", "<b>c</b>", "fuzzy", ("</b>", "")),
        ("a", "b", "c", "fuzzy", ("b", "")),
        ("&File", "&Datei", "&Files", "fuzzy", ("&", "")),
        ("the <0>a</0>", "el <0>b</0>", "of <0>a</0>", "fuzzy", ("</0>", "")),
        ("a\\n\\nb", "c\\n\\nd", "e\\n\\nf", "fuzzy", ("␊␊", "␊")),
        ("Pin: a release", "Pin: versión", "Pin: release", "fuzzy", ("Pin", "in")),
        ("Use a `git am -3`", "Usa `git am -3`", "Use `git am -3`", "fuzzy", ("git am", "am")),
        ("now with --force", "con --force", "with --force", "fuzzy", ("--force", "--fuerza")),
        ("See Ann now", "Vedi Ann", "See Ann", "fuzzy", ("Ann", "Anna")),
        ("in 3 now", "en 3", "in 3", "fuzzy", ("3", "4")),
    ],
)
def test_what_a_program_could_not_use_is_not_proposed(new, target, old, flags, change, tmp_path):
    path = written(tmp_path, entry(new, target, old, flags))
    content = path.read_bytes()
    assert fill(path, proposer(Editor(change))).startswith("0 proposed, 1 kept")
    assert path.read_bytes() == content


def test_spaces_at_the_ends_stay_as_the_translator_or_the_source_wants(tmp_path):
    for new, target, old, filled in (
        ("Word 4: ", "Parola 3 : ", "Word 3: ", "Parola 4 : "),
        ("Word 4:", "Parola 3 : ", "Word 3: ", "Parola 4 :"),
        ("Word 4:\\n", "Parola 3 :", "Word 3:", "Parola 4 :\\n"),
        ("a  4 \\tb", "c  3 \\td", "a  3 \\tb", "c  4 \\td"),
    ):
        path = written(tmp_path, entry(new, target, old))
        fill(path, proposer(Editor()))
        assert f'msgstr "{filled}"' in path.read_text() or f'"{filled}"' in path.read_text()


@pytest.mark.parametrize(
    ("made", "known", "report"),
    [
        ("il fiscello", ("A list", "Una lista"), "1 proposed (1 repaired by rule)"),
        ("il fiscello", ("A basket", "FISCELLO"), "1 proposed (1 edited by the model)"),
        ("il close file3", ("A list", "Una lista"), "1 proposed (1 edited by the model)"),
        ("\u65b0\u6587\u4ef6", ("A", "\u6587\u4ef6\u65b0"), "1 proposed (1 edited by the model)"),
        ("API\u65b0", ("An API", "\u6587\u4ef6"), "1 proposed (1 repaired by rule)"),
    ],
)
def test_a_word_that_nobody_has_written_is_not_proposed(tmp_path, made, known, report):
    path = written(tmp_path, HEADER + FUZZY)
    model = Editor(change=("il file", made))
    assert fill(path, proposer(model, known)).startswith(report)


def test_proposals_have_the_terms_of_the_glossary(tmp_path):
    glossary = written(tmp_path, "# ours\nfile\tdocumento\nfolder\tcartella\n", "terms.tsv")
    terms = proposals.read_terms(glossary)
    path = written(tmp_path, entry("Open the folder 4", "Apri il documento 3", "Open the file 3"))
    fill(path, proposer(Editor(), terms=terms))
    assert 'msgstr "Apri il cartella 4"' in path.read_text()
    change = proposals.Change("", "", r"il documento [=\a", ["documento", "cartella"])
    plain, (mark,) = parse_markup(change.marked())
    assert plain == change.draft and plain[mark.start : mark.end] == "documento"
    path = written(tmp_path, entry("Open the file 4", "Apri il file 3", "Open the file 3"))
    assert "1 without a term" in fill(path, proposer(Editor(), terms=terms))
    with refuses("terms.tsv:1"):
        proposals.read_terms(written(tmp_path, "no tab\n", "terms.tsv"))


def test_nothing_stood_there_and_the_memory_has_a_match(tmp_path):
    by = proposer(
        Editor(("Apri", "Leggi")), ("Open the file 3", "Apri il file 3"), ("Read", "Leggi")
    )
    path = written(tmp_path, entry("Open the file 4", ""))
    assert "1 edited matches" in fill(path, by)
    assert 'msgstr "Leggi il file 4"' in path.read_text() and "was" not in path.read_text()
    path = written(tmp_path, entry("Read", ""))
    assert "translated so in the memory" in fill(path, by)
    path = written(tmp_path, entry("wholly other words", ""))
    assert "1 left (1 without a text and a match)" in fill(path, by)


def test_a_file_in_another_language_is_refused(tmp_path):
    with refuses("is it", "es"):
        fill(written(tmp_path, HEADER + FUZZY), proposer(Editor(), language="es"))


@pytest.mark.skipif(not any(os.access(f"{p}/msgfmt", os.X_OK) for p in os.get_exec_path()),
                    reason="gettext is not installed")  # fmt: skip
def test_msgfmt_checks_what_was_written(tmp_path):
    path = written(tmp_path, HEADER + FUZZY + FUZZY.replace("file", 'foglio\\n\\"x\\" ' * 9))
    fill(path, proposer(Editor()))
    catalogue = tmp_path / "a.mo"
    subprocess.run(["msgfmt", "-c", "-f", "-o", catalogue, path], check=True)
    read = gettext.GNUTranslations(io.BytesIO(catalogue.read_bytes()))
    assert read.gettext("Close the file 4") == "Chiudi il file 4"


# texts --------------------------------------------------------------------------------------------


@given(st.text(st.sampled_from(" \n\t\r\u00a0\u3000\u2028␊␉⍽␛\U000f0020a<>/delins"), max_size=40))
def test_a_line_has_plain_spaces_no_marks_and_all_of_the_text(text):
    line = lines.to_line(text)
    assert lines.to_text(line) == text
    assert {char for char in line if char.isspace()} <= {" "}
    assert not any(mark in line for mark in ("<del>", "</del>", "<ins>", "</ins>"))


@pytest.mark.parametrize(
    "placeholder",
    [
        *"%1 %L1 %s %ld %'d %*d %-5.2f %.*f %@ %1$@ %<PRIu64> %zu %2$s %(name)s %% $1".split(),
        *"$name ${name} {0} {} {name} {{name}} %{name} %PATH% %n <0> </0> <1/> @:app.name".split(),
        *"@.lower:app.name @:(app.name) {0,number} $t(key) :name #{x} %#@files@ $NAME$".split(),
        *"@count __name__ !name :smile: [b] [/b] [url=http://x.y] \\n [a](b/c.md) [a][1]".split(),
        *["{{ name }}", "{% tag %}", "<%= x %>", "<?php x ?>", "[[Main page]]", '[a ids="1"]'],
        *["{{PLURAL:$1|a|b}}", "{0,date,short}", '<xliff:g id="n">', "&File", "_File", "E&xit"],
    ],
)
def test_a_placeholder_has_to_stay(placeholder):
    text = f"a {placeholder} b"
    assert lines.same_placeholders(text, f"{placeholder} c")
    assert not lines.same_placeholders(text, "a b")
    assert not lines.same_placeholders(text, f"{text} {placeholder}")
    assert lines.same_placeholders("100 % of it", "100 % davon")


@pytest.mark.parametrize(
    ("old", "new", "draft", "repaired"),
    [
        ("see issue 17.", "see issue 23.", "véase 17.", "véase 23."),
        ("see `os.stat`", "see `os.walk`", "véase `os.stat`", "véase `os.walk`"),
        ("see 17", "see 23", "17 y 17", "17 y 17"),  # twice
        ("an A", "an X", "la Casa A", "la Casa X"),  # not inside a word
        ("see 17", "see", "véase 17", "véase 17"),  # nothing comes in its place
        ("x in x", "y in x", "x", "x"),  # the new source has it too
        ("from 3 to 4", "from 4 to 5", "de 3 a 4", "de 4 a 5"),  # not what was just written
        ("page 3 of 4", "page 4 of 5", "página 3", "página 3"),  # not all of a change
        ("in 3.5 s", "in 4.25 s", "en 3,5 s", "en 4,25 s"),
        ("1,000.5 s", "12,000.75 s", "1.000,5 s", "12.000,75 s"),
        ("1,000 files", "2,500 files", "1\u202f000 fichiers", "2\u202f500 fichiers"),
        ("1,000 files", "2,500 files", "1⎵000 fichiers", "2⎵500 fichiers"),
        ("1,000 files", "2,500 files", "1000 ficheros", "2500 ficheros"),
        ("1000 files", "25000 files", "1.000 ficheros", "25.000 ficheros"),
        ("1,000 files", "2,000 files", "1 fichero", "1 fichero"),  # another value
        ("the 3rd", "the 4th", "el 3.º", "el 4.º"),
        ("the 3rd day", "the 4th day", "am 3. Tag", "am 4. Tag"),
        ("the 1st", "the 2nd", "le 1er", "le 1er"),  # of the first alone
        ("05/31/2023", "06/01/2024", "31.05.2023", "01.06.2024"),
        ("Jan 5, 2023", "Jan 7, 2024", "5 de enero de 2023", "7 de enero de 2024"),
        ("version 3.12.1", "version 3.13.0", "versión 3.12.1", "versión 3.13.0"),
        # a word of the source
        ("GIMP is fast.", "Sadly GIMP is fast.", "GIMP est rapide.", "GIMP est rapide."),
        ("as PDF", "as text file", "en PDF", "en PDF"),
        ("Contact Anna", "Contact your host", "Contacter Anna", "Contacter Anna"),
        ("4 items", "several items", "4 elementos", "4 elementos"),
        ("Chapter 4", "Chapter Four", "Kapitel 4", "Kapitel 4"),
        ("the General page", "the Advanced page", "la página General", "la página General"),
        ("in April 2023", "in May 2024", "im April 2023", "im April 2023"),
        ('Write "no" here', 'Write "yes" here', 'Escriba "no" aquí', 'Escriba "no" aquí'),
        # not all of a change
        ("1 message", "3 messages", "1 mensaje", "1 mensaje"),
        ("3 of 3", "4 of 5", "3 de 3", "3 de 3"),
        ("in red 3", "in blue 4", "en rojo 3", "en rojo 3"),
        ("PNG", "PNG, GIF", "PNG", "PNG"),
        ("$4", "€5", "4 $", "5 €"),
        ("sum: 2 + 2 = 4", "sum: 2 + 3 = 5", "suma: 2 + 2 = 4", "suma: 2 + 3 = 5"),
        ("sum: 2 + 2 = 4", "sum: 2 + 3 = 5", "suma: 2+2=4", "suma: 2+2=4"),
        # an address, whole
        ("on a://b.c/en/d", "on a://x.y/fr/d", "auf a://b.c/en/d", "auf a://x.y/fr/d"),
        ("on a://b.c/en/d", "on a://x.y/fr/d", "auf a://b.c/de/d", "auf a://b.c/de/d"),
        ("to a@b.cd", "to e@f.gh", "an a.x@b.cd", "an a.x@b.cd"),
        ("in C:\\a\\b.txt", "in C:\\c\\d.txt", "a C:\\a\\b.txt", "a C:\\c\\d.txt"),
        # no translation
        ("Krita is fast, 3", "Krita is fast, 4", "Krita is fast, 3", "Krita is fast, 3"),
        ("written by Anna", "written by Boris", "escrito por Anna", "escrito por Boris"),
        ("by Anna Li.", "by Jean-Paul S. Roy.", "von Anna Li.", "von Jean-Paul S. Roy."),
        ("%s is %s", "%s was %s", "%s est %s", "%s est %s"),
        ("%s of %d", "%(a)s of %(b)d", "%s de %d", "%(a)s de %(b)d"),
        ("run `a` or `a`", "run `b` or `b`", "usa `a` o `a`", "usa `b` o `b`"),
        ("use --all -v", "use --any -q", "usar --all -v", "usar --any -q"),
    ],
)
def test_what_needs_no_translation_is_repaired_by_rule(old, new, draft, repaired):
    assert repair.repair(old, new, draft) == repaired


def test_a_model_starts_with_those_repairs_too_that_are_not_all_of_a_change():
    assert repair.repaired("in red 3", "in blue 4", "en rojo 3") == ("en rojo 4", False)


@given(st.lists(st.text("ab c", min_size=1), min_size=1, max_size=6))
def test_the_best_match_is_the_most_similar_source(texts):
    asked = "a b c ab a"
    known = memory.Memory([(text, "t") for text in texts])
    words = [(text.split(), asked.split()) for text, _ in known.pairs]
    similar = [1 - Levenshtein.distance(*pair) / max(map(len, pair)) for pair in words]
    matches = [*known.matches([asked], 1, itself=True)][0]
    best = max(similar, default=0)
    assert [match.similarity for match in matches] == pytest.approx([best] if best >= 0.4 else [])


@pytest.mark.parametrize(("words", "same"), [(5, 2), (10, 4), (15, 6), (20, 8)])
def test_a_match_of_exactly_the_least_similarity_is_one(words, same):
    source = " ".join(f"a{i}" for i in range(words))
    other = " ".join(f"{'a' if i < same else 'b'}{i}" for i in range(words))
    assert [*memory.Memory([(other, "t")]).matches([source], 1, itself=True)][0]


def test_dropout_follows_the_passes_over_the_data():
    rates = [train.dropout_for(passes) for passes in (0.1, 3, 6, 12, 24, 1000)]
    assert rates == [0, 0, 0.1, 0.2, 0.3, 0.3]
