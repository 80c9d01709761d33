"""lev_memory: what is repaired from a memory's own words, and what becomes of the others."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_translation_files import HEADER, written

from lev_memory import TranslationMemory, cli, typos
from lev_memory.formats import files, tmx
from lev_memory.memory import Memory
from lev_memory.repair import alignment, confidence, entries, lookup, marks

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


#: the new source | the older one | the draft | what is proposed, "" for nothing
CHANGES = r"""
Open the folder now | Open the file now | Ouvrir le fichier ici | Ouvrir le dossier ici
Close the page now | Close the file now | Fermer le fichier ici | Fermer la page ici
Open the option now | Open the page now | Ouvrir la page ici | Ouvrir l'option ici
Print the file now | Save the file now | Enregistrer le fichier ici | Imprimer le fichier ici
The page | The red page | La page rouge | La page
Print 4 pages: | Print 4 pages | Imprimer 4 pages | Imprimer 4 pages :
Go! | Go. | Va… |
Go today | go today | va demain | Va demain
Print a Page 3 | Print a page 3 | Imprimer une page 3 |
Print a xylophone | Print a page | Imprimer une page |
"""


@pytest.mark.parametrize("row", CHANGES.strip().splitlines())
def test_a_change_is_repaired_by_words_of_other_entries(row):
    new, old, draft, expected = (field.strip() for field in row.split("|"))
    (proposal,) = memory_of().propose([(new, old, draft)])
    assert (proposal.text.replace("\u00a0", " ") if proposal else "") == expected


def test_the_same_source_elsewhere_gives_its_translation():
    (proposal,) = memory_of(("Go now", "Allez")).propose([("Go now", "Go on", "Continuez")])
    assert proposal.text == "Allez" and proposal.is_all


def test_a_repair_in_part_says_so():
    change = "Close the folder now or die", "Close the file now", "Fermer le fichier ici"
    (proposal,) = memory_of().propose([change])
    assert not proposal.is_all and proposal.text.startswith("Fermer le dossier")


def test_the_more_precision_is_asked_for_the_fewer_repairs_are_proposed():
    changes = [
        (new.replace("now", "today"), old, draft)
        for new, _ in PAIRS[:12]
        for old, draft in PAIRS[:12]
        if new != old
    ]
    counts = [
        sum(map(bool, memory_of(precision=precision).propose(changes)))
        for precision in (0.5, 0.8, 0.95)
    ]
    assert counts == sorted(counts, reverse=True) and counts[0] > 0
    assert all(0 <= confidence.least_probability(share / 10) <= 1 for share in range(11))


@given(
    st.lists(
        st.tuples(*[st.lists(st.integers(1, 6), min_size=1, max_size=5)] * 2),
        min_size=1,
        max_size=6,
    )
)
def test_translation_probabilities_of_a_word_sum_to_one_at_most(pairs):
    table = alignment.probabilities(pairs)
    for source in {source for source, _ in table}:
        assert sum(chance for (word, _), chance in table.items() if word == source) <= 1 + 1e-5


def test_a_word_that_the_language_has_only_with_a_capital_keeps_it():
    german = marks.Habits([("month", "Monat"), *[(f"all {n}", f"alle {n}") for n in range(20)]])
    assert german.with_capital(False, "Alle Monate") == "alle Monate"
    assert german.with_capital(False, "Monate") is None


def test_a_look_up_is_made_only_if_it_is_better_than_none():
    memory = lookup.Lookup([("red wine", "vin rouge"), ("red", "rouge"), *PAIRS])
    words = entries.Words(memory, "The big table", "The red table", "La table grande")
    ((old, new),) = words.stretches()
    assert words.edit(old, new, confidence.CHOICE) in [*words.replacements(old, new)]
    kept = {**confidence.CHOICE, "bias": -99.0}
    assert words.edit(old, new, kept) is None


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
    assert cli.main(["repair", *words, "--diff"]) == 0
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


@given(st.lists(st.tuples(*[st.text("a<&\"'é\n", min_size=1)] * 2), max_size=4))
def test_a_written_memory_is_read_again(pairs):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tmx"
        tmx.write_tmx(path, [(*pair, "pt_BR") for pair in pairs])
        assert tmx.tmx_pairs(path, path.read_bytes(), "pt_BR")[0] == pairs


@pytest.mark.parametrize(
    "old, new, is_typo",
    [
        ("Close the widnow", "Close the window", True),
        ("Close the window", "Close the windows", False),
        ("Close the door", "Open the door", False),
    ],
)
def test_a_mended_typo_is_known_by_the_corrector(old, new, is_typo):
    assert typos.is_mended_typo(old, new) == is_typo


def test_neither_repair_nor_prepare_needs_torch(tmp_path):
    written(tmp_path, catalogue(*ENTRIES))
    code = (
        "import sys; sys.modules |= dict.fromkeys(('torch', 'fairseq', 'lev_plugins'));"
        "from lev_memory.cli import main;"
        f"main(['repair', {str(tmp_path)!r}]);"
        f"sys.exit(main(['prepare', {str(tmp_path / 'work')!r}, '--memory', {str(tmp_path)!r},"
        "'--vocabulary', '70']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "work/pieces/train.src").is_file()
    assert not (tmp_path / "work/data").exists()
    assert files.stored_language(tmp_path / "work") == "fr"
