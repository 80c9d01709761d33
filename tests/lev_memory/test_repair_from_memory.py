"""lev_memory: what is repaired from a memory's own words, and what becomes of the others."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from tables import table
from test_translation_files import HEADER, written

from lev_memory import TranslationMemory, cli
from lev_memory.formats import files, tmx, units
from lev_memory.memory import Memory
from lev_memory.repair import code, confidence, entries, lookup
from lev_memory.repair.repair import Entry

NOUNS = {
    "file": "le fichier",
    "folder": "le dossier",
    "page": "la page",
    "option": "l'option",
    "image": "l'image",
    "table": "la table",
}
VERBS = {"Open": "Ouvrir", "Close": "Fermer", "Save": "Enregistrer", "Print": "Imprimer"}
PAIRS = [
    (f"{verb} the {noun} now", f"{done} {thing} ici")
    for verb, done in VERBS.items()
    for noun, thing in NOUNS.items()
    if (verb, noun) != ("Open", "option")
]
PAIRS += [("The red page", "La page rouge"), ("The red table", "La table rouge")]
PAIRS += [(f"{noun.title()}:", f"{thing[3:].title()}\u00a0:") for noun, thing in NOUNS.items()]


def memory_of(*pairs, precision=0.1):
    return TranslationMemory(Memory([*PAIRS, *pairs]), "fr", precision)


@pytest.mark.parametrize("old, new, draft, expected, why", table("lev_memory/changes.tsv"))
def test_a_change_of_a_source(old, new, draft, expected, why):
    unit = units.TranslationUnit(0, None, new, draft, old, "", "fuzzy")
    (decision,) = memory_of().decisions(units.BilingualFile(Path(), "fr", [unit]))
    is_made = decision.outcome == "proposed"
    assert (decision.proposal.text if is_made else "unchanged", decision.why) == (expected, why)


def test_the_same_source_elsewhere_gives_its_translation():
    (proposal,) = memory_of(("Go now", "Allez")).propose([("Go now", "Go on", "Continuez")])
    assert proposal.text == "Allez" and proposal.is_all


def test_the_draft_that_a_model_reads_has_a_small_repair_too_where_something_is_left():
    change = "Close the file xx now", "Close the folder xx then", "Fermer le fichier maintenant"
    repair = memory_of().repairer.repair(*change)
    assert repair.text == change[2]
    assert repair.eager == "Fermer le dossier maintenant"


def test_a_repair_in_part_says_so():
    change = "Close the folder 4 or die", "Close the file 3", "Fermer le fichier 3"
    (proposal,) = memory_of().propose([change])
    assert not proposal.is_all and proposal.text.startswith("Fermer le dossier 4")


def test_a_look_up_in_an_otherwise_wrong_text_is_not_proposed():
    change = "Close the folder now or die", "Close the file now", "Fermer le fichier ici"
    assert memory_of().propose([change]) == [None]


def test_a_part_of_a_compound_is_not_deleted():
    pairs = [("The mail", "Die Mail"), ("The address", "Die Adresse"), ("A mail", "Eine Mail")]
    entry = Entry("The mail address", "The mail", "Die Mail-Adresse")
    words = entries.Words(lookup.Concordance(pairs), entry)
    assert words.deletion(range(2, 3)) is None


#: the new source | the older one | the draft
OPPOSITES = """
Move it down by 10 lines | Move it up by 5 lines | Nach oben um 5 Zeilen
Disconnect after 10 minutes | Connect after 5 minutes | Nach 5 Minuten verbinden
Cannot open 4 files | Can open 3 files | Peut ouvrir 3 fichiers
Do not delete 4 files | Delete 3 files | Eliminar 3 archivos
Files without 4 pages | Files with 3 pages | File con 3 pagine
Please send the 4 reports | Please delete the 3 reports | Usuń 3 raporty
Die Seite 4 nach unten | Die Seite 3 nach oben | Page 3 upwards
Supprimer le fichier 4 | Ouvrir le fichier 3 | Open file 3
"""


@pytest.mark.parametrize("row", OPPOSITES.strip().splitlines())
def test_a_half_repair_that_says_something_else_is_not_proposed(row):
    new, old, draft = (field.strip() for field in row.split("|"))
    assert memory_of().propose([(new, old, draft)]) == [None]


def test_what_a_half_repair_leaves_is_said():
    change = "A basket and 4 red wines", "A chair and 3 red wines", "Une chaise et 3 vins rouges"
    (proposal,) = memory_of().propose([change])
    assert proposal.text == "Une chaise et 4 vins rouges" and proposal.left == "chair → basket"


@pytest.mark.parametrize("marks", ['""', "“”"])
def test_quotes_follow_the_source_where_translations_have_such_quotes(marks):
    start, end = marks
    quoted = [(f'A "{n}"', f"Un {start}{n}{end}") for n in ("red", "blue", "green")]
    change = "Say “{x}” and 4", 'Say "{x}" and 3', 'Dites "{x}" et 3'
    (proposal,) = memory_of(*quoted).propose([change])
    assert proposal.text == f"Dites {start}{{x}}{end} et 4"


@pytest.mark.parametrize("lone", ["Ouvrir (le fichier 4", 'Ouvrir "le fichier 4', "Le fichier] 4"])
def test_a_bracket_or_quotation_mark_alone_is_not_proposed(lone):
    assert not code.is_paired_like(lone, "Open the file 4", "Ouvrir le fichier 3")
    assert code.is_paired_like(lone, "Open the file 4", lone)


def test_the_more_precision_is_asked_for_the_surer_a_repair_has_to_be():
    least = [confidence.least_probability(share / 10) for share in range(11)]
    assert least == sorted(least) and 0 <= least[0] < least[-1] <= 1


@given(
    st.lists(
        st.tuples(*[st.lists(st.integers(1, 6), min_size=1, max_size=5)] * 2),
        min_size=1,
        max_size=6,
    )
)
def test_translation_probabilities_of_a_word_sum_to_one_at_most(pairs):
    codes, chances = lookup.probabilities(pairs, 7)
    assert np.bincount(codes // 7, chances).max() <= 1 + 1e-5


def test_a_look_up_is_made_only_if_it_is_better_than_none():
    memory = lookup.Concordance([("red wine", "vin rouge"), ("red", "rouge"), *PAIRS])
    words = entries.Words(memory, Entry("The big table", "The red table", "La table grande"))
    ((old, new),) = words.stretches
    assert words.edit(old, new, confidence.CHOICE) in [*words.replacements(old, new)]
    kept = {**confidence.CHOICE, "bias": -99.0}
    assert words.edit(old, new, kept) is None


WORDS = [*PAIRS, *map(tuple, table("lev_memory/words.tsv"))]


@pytest.mark.parametrize(
    "new, old, draft, text, eager, left", table("lev_memory/memory_repair.tsv")
)
def test_an_entry_is_repaired_whole_in_part_or_not(new, old, draft, text, eager, left):
    repair = entries.Repairer(WORDS).repair(old, new, draft)
    assert (repair.text, repair.eager, entries.to_do(repair.left)) == (text, eager, left)


def test_an_entry_that_is_nothing_but_a_phrase_counts_twice():
    memory = lookup.Concordance([("a cup", "une coupe"), ("cup", "tasse"), ("a", "une")])
    assert [each.text for each in memory.translations(("cup",))] == ["tasse", "coupe"]


def test_a_name_inside_of_a_translation_keeps_its_capital():
    words = entries.Words(lookup.Concordance(PAIRS), Entry("in paris", "in berlin", "à paris"))
    texts = [
        words.cased(lookup.Translation("Berlin", 1.0, is_inner), 1, "berlin")
        for is_inner in (True, False)
    ]
    assert texts == ["Berlin", "berlin"]


def test_words_of_which_one_has_no_link_are_not_deleted():
    words = entries.Words(lookup.Concordance(WORDS), Entry("The zzz page", "The", "La page"))
    assert words.deletion(range(1, 3)) is None and words.deletion(range(2, 3))


# files --------------------------------------------------------------------------------------------


def catalogue(*entries, language="fr"):
    done = "".join(f'\nmsgid "{source}"\nmsgstr "{target}"\n' for source, target in PAIRS)
    fuzzy = "".join(
        f'\n#, fuzzy\n#| msgid "{old}"\nmsgid "{new}"\nmsgstr "{draft}"\n'
        for new, old, draft in entries
    )
    return HEADER.replace("it", language) + done + fuzzy


ENTRIES = [
    ("Open the table today", "Open the file today", "Ouvrir le fichier aujourd'hui"),
    ("Quite other words", "Nothing alike", "Rien de tel"),
    ("Close the  window!", "Close the  widow!", "Fermez la veuve !"),
]


def test_a_folder_is_repaired_with_the_memory_of_each_language(tmp_path, capsys):
    places = [tmp_path / f"{name}.po" for name in ("fr", "it")]
    for place in places:
        written(tmp_path, catalogue(*ENTRIES, language=place.stem), place.name)
    before = [place.read_bytes() for place in places]
    report, out = tmp_path / "report.json", tmp_path / "out.tmx"
    words = [str(tmp_path), "--precision", "0.1", "--report", str(report), "--tmx", str(out)]
    for flag in ("--dry-run", "--diff"):
        assert cli.main(["repair", *words, flag]) == 0
        assert [place.read_bytes() for place in places] == before
    assert '+msgstr "Ouvrir la table aujourd\'hui"' in capsys.readouterr().out
    assert cli.main(["repair", *words]) == 0
    for place, old in zip(places, before):
        changed = place.read_bytes()
        assert b'"Ouvrir la table' in changed and changed.startswith(old[: old.index(b"\n#,")])
        assert changed.count(b"#, fuzzy") == len(ENTRIES)
    outcomes = {each["source"]: each for each in json.loads(report.read_text("utf-8"))}
    assert outcomes["Open the table today"]["kinds"] == ["look-up"]
    assert outcomes["Quite other words"]["why"] == "of another text"
    pairs, languages = tmx.tmx_pairs(out, out.read_bytes(), "fr")
    assert ("Open the table today", "Ouvrir la table aujourd'hui") in pairs
    assert cli.main(["repair", *words]) == 0
    assert "0 proposed" in capsys.readouterr().out
    assert cli.main(["repair", str(places[0]), "--precision", "0.1", "--diff"]) == 0
    # no diff is an answer to be explained, in one line
    (said,) = capsys.readouterr().out.splitlines()
    assert "2 kept (1 of another text, 1 without a repair), 1 left" in said


LEARNT = "".join(
    f'\nmsgid "{verb} the lid now"\nmsgstr "{done} le couvercle ici"\n'
    for verb, done in VERBS.items()
)


def test_a_second_repair_refreshes_what_nobody_has_touched(tmp_path, capsys):
    changes = [
        (f"{verb} the lid 4", f"{verb} the file 3", f"{done} le fichier 3")
        for verb, done in VERBS.items()
    ]
    path = written(tmp_path, catalogue(*changes))
    words = ["repair", str(path), "--precision", "0.1"]
    assert cli.main(words) == 0
    first = path.read_text()
    assert first.count(' le fichier 4"') == len(changes)
    assert cli.main(words) == 0
    assert path.read_text() == first and "nothing new to do" in capsys.readouterr().out
    path.write_text(first.replace('"Fermer le fichier 4"', '"Fermez 4"') + LEARNT)
    assert cli.main(words) == 0
    second = path.read_text()
    assert second.count(' le couvercle 4"') == len(changes) - 1 and '"Fermez 4"' in second
    assert second.count("was: ") == len(changes)


def test_untranslated_entries_get_what_is_sure_of_the_project_itself(tmp_path, capsys):
    empty = 'msgctxt "menu"\nmsgid "{}"\nmsgstr ""\n'
    texts = "Close the page now", "Print 4 pages", "Open the lid now"
    entries = "\n".join(empty.format(text) for text in texts)
    done = catalogue() + '\nmsgid "Print 3 pages"\nmsgstr "Imprimer 3 pages"\n\n'
    path = written(tmp_path, done + entries)
    assert cli.main(["repair", str(path)]) == 0
    units = files.read_document(path).units[-3:]
    assert [unit.standing for unit in units] == ["Fermer la page ici", "Imprimer 4 pages", ""]
    assert units[-1].state == "untranslated"
    assert cli.main(["repair", str(path)]) == 0
    assert "nothing new to do" in capsys.readouterr().out


def test_a_half_repair_says_in_the_file_what_is_left(tmp_path):
    change = "Close the bottle 4", "Close the basket 3", "Fermer le panier 3"
    for charset in ("UTF-8", "ISO-8859-1"):
        text = catalogue(change).replace("UTF-8", charset)
        path = tmp_path / f"{charset}.po"
        path.write_bytes(text.encode(charset))
        words = [str(path), "--precision", "0.1"]
        assert cli.main(["repair", *words]) == cli.main(["repair", *words]) == 0
        written_text = path.read_text(charset)
        assert written_text.count("in part") == written_text.count("to do:") == 1


def test_obsolete_entries_are_a_memory_too(tmp_path):
    gone = (
        '#~ msgid "Read the text"\n#~ msgstr "Lire"\n\n#, fuzzy\n#~ msgid "No"\n#~ msgstr "Oui"\n'
    )
    path = written(tmp_path, f"{catalogue()}\n{gone}")
    pairs = files.document_pairs(files.read_document(path))
    assert ("Read the text", "Lire") in pairs and ("No", "Oui") not in pairs


@pytest.mark.parametrize("name", ["a.po", ""])
def test_an_option_for_markdown_is_refused_elsewhere(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, catalogue(*ENTRIES), "a.po")
    assert "--insert-new" in refusal(cli.main, "repair", tmp_path / name, "--insert-new")


def untranslated(tmp_path):
    """A project of OmegaT as it writes it: an untranslated source file, and its memory."""
    source = catalogue().split("\n\n")[0]
    source += '\n\nmsgid "Open 3 files"\nmsgstr ""\n\nmsgid "Open 2 boxes"\nmsgstr ""\n'
    path = written(tmp_path, source, "app.po")
    memory = tmp_path / "omegat" / "project_save.tmx"
    memory.parent.mkdir()
    unit = '<tuv lang="{}"><seg>{}</seg></tuv>'
    body = unit.format("EN", "Open 2 files") + unit.format("FR", "Ouvrir 2 fichiers")
    memory.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE tmx SYSTEM "tmx11.dtd">'
        '<tmx version="1.1"><header creationtool="OmegaT" segtype="sentence" srclang="EN"/>'
        f"<body><tu>{body}</tu></body></tmx>"
    )
    return path, memory


def test_untranslated_entries_are_matched_by_the_memory_of_another_tool(tmp_path, capsys):
    path, memory = untranslated(tmp_path)
    before, out, matches = path.read_bytes(), tmp_path / "out.po", tmp_path / "tm/mt/a.tmx"
    words = [str(path), "-o", str(out), "--tmx", str(matches)]
    assert cli.main(["repair", *words]) == 0
    said = capsys.readouterr()
    assert "nothing to do" in said.out and "untranslated: 2" in said.out
    assert not matches.exists() and str(matches) in said.err
    assert cli.main(["repair", *words, "--memory", str(memory)]) == 0
    assert tmx.tmx_pairs(matches, matches.read_bytes(), "fr")[0] == [
        ("Open 3 files", "Ouvrir 3 fichiers")
    ]
    unit, other = files.read_document(out).units
    assert unit.state == "untranslated" and unit.standing == "Ouvrir 3 fichiers"
    assert other.standing == "Ouvrir 2 fichiers", "in part, which a tool would show as whole"
    assert path.read_bytes() == before


@given(st.lists(st.tuples(*[st.text("a<&\"'é\n", min_size=1)] * 2), max_size=4))
def test_a_written_memory_is_read_again(pairs):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tmx"
        tmx.write_tmx(path, [(*pair, "pt_BR") for pair in pairs])
        assert tmx.tmx_pairs(path, path.read_bytes(), "pt_BR")[0] == pairs


def test_a_memory_is_imported_without_trainer_and_subwords():
    code = (
        "import sys; from lev_memory import TranslationMemory;"
        "print({'lev_memory.train', 'lev_memory.prepare', 'sentencepiece'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


def test_a_memory_becomes_data_where_there_is_a_training_for_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    work = tmp_path / "work"
    written(tmp_path, catalogue(*ENTRIES))
    words = ["prepare", str(work), "--memory", str(tmp_path), "--vocabulary", "70"]
    monkeypatch.setattr("lev_runtime.errors.find_spec", lambda name: None)
    assert "[train]" in refusal(cli.main, *words)
    monkeypatch.setattr("lev_runtime.errors.find_spec", lambda name: name)
    assert cli.main(words) == 0
    assert (work / "pieces/train.src").is_file() and not (work / "data").exists()
    assert files.stored_language(work) == "fr"
