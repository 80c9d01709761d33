"""lev_memory: files of translations are read as others read them, and only what
is proposed changes in them; texts as lines, placeholders, matches."""

import math
import os
import string
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from refusals import refuses
from tables import cases

from lev_memory import memory, proposals, train, translation_memory
from lev_memory.formats import files, po
from lev_memory.repair import confidence, repair
from lev_memory.repair import text as lines
from lev_runtime.text.markup import parse_markup

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: it\\n"\n'
FUZZY = """
#, fuzzy
#| msgid "Close the file 3"
msgid "Close the file 4"
msgstr "Chiudi il file 3"
"""


class Editor:
    """A model that writes the draft with a word changed, and is as sure as it is told."""

    def __init__(self, change=("", ""), score=0.0):
        self.change, self.score = change, score
        self.read = []

    @staticmethod
    def fits(source, draft, old):
        return max(len(source.split()), len(draft.split())) < 99

    @staticmethod
    def knows(term):
        return term != "sconosciuto"

    def edit(self, sources, drafts, old_sources, terms, **options):
        self.asked = terms
        drafts = [parse_markup(draft)[0] for draft in drafts]
        self.read += zip(sources, old_sources, drafts)
        return [
            SimpleNamespace(text=draft.replace(*self.change), score=self.score) for draft in drafts
        ]


def proposer(editor, *pairs, learnt=None, usual=math.inf, **options):
    """What proposes, with a model that is believed rather than a repair unless its score is low."""
    outcomes = dict.fromkeys(proposals.WAYS, [(0.801, True)] * confidence.FEWEST)
    weights = dict.fromkeys(proposals.WAYS, [{"bias": 9, "score": 1}, {"bias": 1.02, "repair": 1}])
    known = memory.Memory(pairs)
    settings = proposals.ModelSettings(0.9, 10, weights, outcomes)
    learner = proposals.Model(editor, settings, learnt or known, usual)
    return translation_memory.TranslationMemory(known, model=learner, **options)


def repaired(old, new, draft, category=repair.UNKNOWN):
    """A draft repaired by rule, if nothing else has changed."""
    rule = repair.repaired(old, new, draft, category=category)
    return rule.draft if rule.is_all else draft


def fill(path, by):
    """Fills a file; returns what became of it."""
    return translation_memory.summary(by.fill(path).report)


def written(tmp_path, text, name="a.po"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


# files --------------------------------------------------------------------------------------------


def test_a_link_is_written_through_and_a_backup_keeps_what_was_there(tmp_path):
    path, link = written(tmp_path, "old"), tmp_path / "link.po"
    path.chmod(0o640)
    link.symlink_to(path)
    for text in (b"new", b"newer"):
        files.replace_file(link, text, backup=True)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    texts = [path.with_name(f"a.po{end}").read_text() for end in ("", ".bak", ".bak1")]
    assert texts == ["newer", "old", "new"]


def test_the_folder_of_the_output_is_made(tmp_path):
    target = tmp_path / "new" / "a.po"
    files.replace_file(target, b"x")
    assert target.read_bytes() == b"x"
    with refuses("a.po"):
        files.replace_file(target / "b.po", b"x")


def translated(language, text="Leggi"):
    return HEADER.replace("it", language) + f'msgid "Read"\nmsgstr "{text}"\n'


def test_several_languages_are_no_memory_until_one_is_chosen(tmp_path):
    for language in ("it", "es"):
        written(tmp_path, translated(language, language), f"{language}.po")
    written(tmp_path, "broken", "z.po")
    problems = files.Problems()
    with refuses("es.po", "it.po", "--language es"):
        files.folder_memory(tmp_path, "", problems)
    assert files.folder_memory(tmp_path, "it", problems) == ([("Read", "it")], "it")
    assert len(problems) == 1
    with refuses("none"):
        files.files_in(tmp_path / "none", [".po"])


@pytest.mark.parametrize("name", ["a.json", "a.properties", "a.xml", "a.txml"])
def test_a_format_without_sources_is_refused(name, tmp_path):
    with refuses(name, "prop2po"):
        files.folder_memory(written(tmp_path, "{}", name), "", files.Problems())


# XLIFF --------------------------------------------------------------------------------------------


def xliff(*units):
    body = "\n".join(units)
    return (
        '<xliff version="1.2" xmlns="urn:x">\n<file source-language="en" target-language="it" '
        f'original="a"><body>\n{body}\n</body></file>\n</xliff>\n'
    )


def trans_unit(source, target, old, draft):
    match = f"<alt-trans><source>{old}</source><target>{draft}</target></alt-trans>"
    return (
        f'<trans-unit id="1"><source>{source}</source>'
        f'<target state="needs-adaptation">{target}</target>{match}</trans-unit>'
    )


@pytest.mark.parametrize("change", cases("lev_memory/cases.tsv", "translation files: breaking"))
def test_a_text_that_would_break_a_unit_is_not_proposed_and_others_are(change, tmp_path):
    text = (
        '<g id="1">{}</g> &amp; <ph id="2">%s</ph> <it id="3" pos="open">&lt;b></it> '
        '<mrk mtype="protected">name</mrk> {}'
    )
    old, new, target = text.format("go", 3), text.format("go", 4), text.format("vai", 3)
    units = trans_unit(new, target, old, target), trans_unit("Go 4", "va 3", "Go 3", "va 3")
    path = written(tmp_path, xliff(*units), "a.xlf")
    fill(path, proposer(Editor(change)))
    assert f">{text.format('vai', 4)}</target>" in path.read_text()
    assert ">va 4<" in path.read_text()


def test_deeply_nested_groups_are_read(tmp_path):
    depth = 5000
    unit = trans_unit("Go 4", "vai 3", "Go 3", "vai 3")
    path = written(tmp_path, xliff("<group>" * depth + unit + "</group>" * depth), "a.xlf")
    fill(path, proposer(Editor()))
    assert ">vai 4<" in path.read_text()


SEGMENTS = """<trans-unit id="1"><source>Go</source>
<seg-source><mrk mtype="seg" mid="0">Go 4</mrk><mrk mtype="seg" mid="1">Stay</mrk>
<mrk mtype="seg" mid="2">Stop <x/> 4</mrk><mrk mtype="seg" mid="3">New</mrk></seg-source>
<target><mrk mtype="seg" mid="0">vai 3</mrk><mrk mtype="seg" mid="1">Resta</mrk>
<mrk mtype="seg" mid="2">ferma <x/> 3</mrk><mrk mtype="seg" mid="3"></mrk></target>
<sdl:seg-defs><sdl:seg id="0" conf="Draft"/><sdl:seg id="1" conf="Translated"/>
<sdl:seg id="2" conf="RejectedSignOff"/><sdl:seg id="3" conf=""/></sdl:seg-defs></trans-unit>"""


@pytest.mark.parametrize("runs", [(2,), (1, 2)])
def test_each_segment_of_a_unit_is_one_of_its_own(runs, tmp_path):
    path = written(tmp_path, xliff(SEGMENTS), "a.sdlxliff")
    assert files.memory_of(path, "")[0] == [("Stay", "Resta")]
    pairs = [("Go 3", "vai 3"), ("Stop <␛x/> 3", "ferma <␛x/> 3")]
    for number in runs:
        fill(path, proposer(Editor(), *pairs[:number]))
    after = path.read_text()
    target = SEGMENTS[SEGMENTS.index("<target>") : SEGMENTS.index("<sdl")].strip()
    assert target.replace("3<", "4<") in after and after.count("<note") == 2


# what is proposed ---------------------------------------------------------------------------------


def entry(new, target, old="", flags="fuzzy"):
    previous = f'#| msgid "{old}"\n' if old else ""
    return f'{HEADER}\n#, {flags}\n{previous}msgid "{new}"\nmsgstr "{target}"\n'


def test_the_draft_is_the_text_that_stands_there_whatever_is_more_similar(tmp_path):
    pairs = ("Open the file now", "Apri subito il file"), ("Open the door", "Apri la porta")
    by, new = proposer(editor := Editor(), *pairs), "Open the file now then"
    for draft in ("Apri la porta", "parole che nessuno conosce"):
        fill(written(tmp_path, entry(new, draft)), by)
    wanted = [(new, "Open the door", "Apri la porta"), (new, "", "parole che nessuno conosce")]
    assert editor.read == wanted


def test_of_near_translations_that_of_the_most_similar_source_is_taken():
    near, other = "Close the file", "Open a b c"
    known = memory.Memory([(other, "Apri il file uno"), (near, "Apri il file due")])
    asked = ("Close the file now", "Apri il file tre"), ("x", "nient'altro")
    itself = near, "Apri il file uno"
    assert [*known.translated_from([*asked, itself])] == [near, "", other]
    assert [*known.translated_from([itself], itself=False)] == [near]


def test_a_probability_from_which_on_the_mean_is_as_large():
    chances = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
    outcomes = [(chance, True) for chance in chances for _ in range(confidence.FEWEST)]
    settings = proposals.ModelSettings(outcomes={"kept": outcomes})
    for precision, least in ((0.9, 0.9), (0.795, 0.7), (0.65, 0.4)):
        assert settings.confidence("kept", precision) == least
    for too_few in ([(0.5, True), (0.5, False)] * 9, outcomes[:9]):
        assert (
            proposals.ModelSettings(outcomes={"kept": too_few}).confidence("kept", 0.8) == math.inf
        )


def test_a_file_in_another_language_is_refused(tmp_path):
    with refuses("is it", "es"):
        fill(written(tmp_path, HEADER + FUZZY), proposer(Editor(), language="es"))


def test_a_glossary_has_comments_and_several_translations(tmp_path):
    text = "\ufeff\n# ours\nfile\tfichero\ta noun\nfile\tarchivo\nfile name\tnombre\n"
    terms = proposals.read_terms(written(tmp_path, text, "terms.tsv"))
    assert terms == {"file": ["fichero", "archivo"], "file name": ["nombre"]}
    with refuses("terms.tsv:1"):
        proposals.read_terms(written(tmp_path, "no tab\n", "terms.tsv"))


def test_terms_of_the_draft_are_marked():
    change = proposals.SourceChange("", "", r"il documento [=\a", ["documento", "cartella"])
    plain, (mark,) = parse_markup(change.marked())
    assert plain == change.draft and plain[mark.start : mark.end] == "documento"


@pytest.mark.parametrize(
    "translations, asked",
    [(["documento"], ["documento"]), (["Chiudi"], []), (["a", "b"], []), (["sconosciuto"], [])],
)
def test_the_model_is_asked_for_a_term_that_the_draft_lacks(tmp_path, translations, asked):
    path = written(tmp_path, HEADER + FUZZY)
    fill(path, proposer(editor := Editor(), terms={"file": translations}))
    assert editor.asked == [asked]


def test_a_text_that_the_encoding_lacks_is_not_proposed_and_others_are(tmp_path):
    other = FUZZY.replace("Close", "Open").replace("Chiudi", "Apri")
    path = written(tmp_path, HEADER.replace("UTF-8", "ISO-8859-1") + FUZZY + other)
    fill(path, proposer(Editor(("Chiudi", "“Chiudi”")), ("a", "“Chiudi” ”")))
    after = path.read_text("iso-8859-1")
    assert 'msgstr "Chiudi il file 4"' in after and 'msgstr "Apri il file 4"' in after


def test_a_file_that_changes_meanwhile_is_left_alone(tmp_path):
    path, editor = written(tmp_path, HEADER + FUZZY), Editor()
    editor.fits = lambda *texts: path.write_text("a translator's own")
    with refuses("a.po", "again"):
        fill(path, proposer(editor))
    assert path.read_text() == "a translator's own"


def test_a_difference_is_shown_in_the_encoding_of_the_file_whatever_its_name(tmp_path):
    text = (HEADER.replace("UTF-8", "ISO-8859-1") + FUZZY).replace("il file", "perché").rstrip()
    old, new = (content.encode("iso-8859-1") for content in (text, text.replace("3", "4")))
    path = tmp_path / os.fsdecode(b"perch\xe9 \xd7\x90.po")
    path.write_bytes(old)
    shown = translation_memory.Filled(files.read_document(path), old, new, []).diff()
    print(shown)
    assert '-msgstr "Chiudi perché 3"\n\\ No newline at end of file\n+msgstr' in shown


def test_a_memory_the_other_way_round_is_refused(tmp_path):
    words = [f"parola{letter}" for letter in string.ascii_lowercase]
    text = "".join(f'\n#, fuzzy\nmsgid "{word}"\nmsgstr "a"\n' for word in words)
    path = written(tmp_path, HEADER + text)
    sides = " ".join(words), "quite other words"
    with refuses("a.po", "other way round"):
        fill(path, proposer(Editor(), sides[::-1]))
    assert path.read_text() == HEADER + text
    fill(path, proposer(Editor(), sides))


# texts --------------------------------------------------------------------------------------------


@given(st.text(st.sampled_from(" \n\t\r\u00a0\u3000\u2028␊␉⍽␛\U000f0020a<>/delins"), max_size=40))
def test_a_line_has_plain_spaces_no_marks_and_all_of_the_text(text):
    line = lines.to_line(text)
    assert lines.to_text(line) == text
    assert {char for char in line if char.isspace()} <= {" "}
    assert not any(mark in line for mark in ("<del>", "</del>", "<ins>", "</ins>"))


def test_a_model_starts_with_those_repairs_too_that_are_not_all_of_a_change():
    rule = repair.repaired("in red 3", "in blue 4", "en rojo 3")
    assert (rule.draft, rule.is_all, rule.old.text) == ("en rojo 4", False, "in red 4")


@given(st.lists(st.text("ab c", min_size=1), min_size=1, max_size=6))
def test_the_best_match_is_the_most_similar_source(texts):
    asked = "a b c ab a"
    known = memory.Memory([(text, "t") for text in texts])
    words = [(text.split(), asked.split()) for text in known.sources]
    best = max((Levenshtein.normalized_similarity(*pair) for pair in words), default=0)
    (matches,) = known.matches([asked], 1, itself=True)
    assert [match.similarity for match in matches] == pytest.approx([best] if best >= 0.4 else [])


@pytest.mark.parametrize("same", [2, 4, 6, 8])
def test_a_match_of_exactly_the_least_similarity_is_one(same):
    words = [f"a{i}" for i in range(5 * same // 2)]
    other = words[:same] + ["b"] * (len(words) - same)
    (matches,) = memory.Memory([(" ".join(other), "t")]).matches([" ".join(words)], 1, itself=True)
    assert matches


@pytest.mark.parametrize("best", ["best", "last", "average"])
def test_the_checkpoint_that_does_best_on_the_validation_part_is_exported(
    best, tmp_path, monkeypatch
):
    """Also the average of the best one and the last one."""
    (tmp_path / "model").mkdir()
    for name in ("best", "last"):
        (tmp_path / f"model/checkpoint_{name}.pt").write_text(name)

    def run(name, arguments, log):
        if name == "lev-average":
            Path(arguments[-1]).write_text("average")
        else:
            Path(arguments[1]).mkdir()
            (Path(arguments[1]) / "weights").write_text(Path(arguments[0]).read_text())

    monkeypatch.setattr(train, "run_logged", run)
    monkeypatch.setattr(
        train, "validated", lambda path, work: (path / "weights").read_text() != best
    )
    train.export(tmp_path)
    assert (tmp_path / "exported/weights").read_text() == best
    assert not (tmp_path / "exporting").exists()


def test_the_trainer_is_the_package_that_an_entry_point_names(tmp_path, monkeypatch, root):
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    (name,) = project["entry-points"][train.TRAINERS].items()
    (tmp_path / "a-1.dist-info").mkdir()
    written(tmp_path, "Metadata-Version: 2.1\nName: a\nVersion: 1\n", "a-1.dist-info/METADATA")
    points = f"[{train.TRAINERS}]\n{' = '.join(name)}\n"
    written(tmp_path, points, "a-1.dist-info/entry_points.txt")
    monkeypatch.syspath_prepend(tmp_path)
    assert Path(train.plugin_folder()) == root / "lev_plugins"
    monkeypatch.setattr(train, "TRAINERS", "lev_memory.none")
    with refuses("nothing that trains"):
        train.plugin_folder()


def test_dropout_follows_the_passes_over_the_data():
    passes = (0.1, 3, 6, 12, 24, 1000)
    assert [*map(train.dropout_for, passes)] == [0, 0, 0.1, 0.2, 0.3, 0.3]


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=200))
def test_a_text_is_written_so_that_it_is_read_again(text):
    rows = po.quoted("msgstr", text)
    assert all("\n" not in row for row in rows)
    assert po.unquoted("".join(rows).removeprefix("msgstr ")) == text
    assert rows[0].startswith('msgstr "')
