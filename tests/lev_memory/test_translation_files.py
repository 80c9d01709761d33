"""lev_memory: files of translations are read as others read them, and only what
is proposed changes in them; texts as lines, placeholders, numbers, matches."""

import gettext
import io
import os
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

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


def test_a_proposal_for_an_earlier_source_gives_way_to_a_new_one(tmp_path):
    path = written(tmp_path, HEADER + FUZZY)
    fill(path, proposer(Editor()))
    text = path.read_text().replace('msgid "Close the file 4"', 'msgid "Close the file 5"')
    path.write_text(text.replace('#| msgid "Close the file 3"', '#| msgid "Close the file 4"'))
    assert fill(path, proposer(Editor())).startswith("1 proposed")
    after = path.read_text()
    assert after.count("lev_plugins") == after.count("#  was:") == 1
    assert 'msgstr "Chiudi il file 5"' in after


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
    ("output", "known", "report"),
    [
        ("il fiscello", ("A list", "Una lista"), "1 proposed (1 repaired by rule)"),
        ("il fiscello", ("A basket", "FISCELLO"), "1 proposed (1 edited by the model)"),
        ("il close file3", ("A list", "Una lista"), "1 proposed (1 edited by the model)"),
        ("\u65b0\u6587\u4ef6", ("A", "\u6587\u4ef6\u65b0"), "1 proposed (1 edited by the model)"),
        ("API\u65b0", ("An API", "\u6587\u4ef6"), "1 proposed (1 repaired by rule)"),
    ],
)
def test_a_word_that_nobody_has_written_is_not_proposed(tmp_path, output, known, report):
    path = written(tmp_path, HEADER + FUZZY)
    model = Editor(change=("il file", output))
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
