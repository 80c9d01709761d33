"""The benchmark of translation histories: judged on other projects than it was fitted on."""

import random
import shutil
import sys
from pathlib import Path

import pytest
from test_translation_files import HEADER, written

from lev_memory.formats import files

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import translation_history as history  # noqa: E402


def rows_of(project, is_better, seed):
    """Entries of a project; the surer a repair, the more often it is better, if ``is_better``."""
    rng, rows = random.Random(seed), []
    for _ in range(60):
        share = rng.random()
        better = (rng.random() < share) == is_better
        texts = "new", "old", "draft", "repair", "written"
        edits = 4, 4, 2 if better else 5, 8
        rows.append(history.Row(project, "fr", texts, {"share": share}, *edits))
    return rows


def test_a_project_is_judged_by_the_others():
    usual = [row for seed in range(4) for row in rows_of(f"p{seed}", True, seed)]
    other = rows_of("odd", False, 9)
    proposed = dict(zip(map(id, usual + other), history.judged(usual + other, 0.8)))
    shares = [row.features["share"] for row in other if proposed[id(row)]]
    assert shares and min(shares) > 0.5, "as in the other projects, however wrong it is here"


def test_the_language_that_no_fit_reads_changes_no_number():
    rows, other = rows_of("p", True, 1), rows_of("q", False, 2)
    unseen = [row._replace(language=history.UNSEEN) for row in other]
    assert history.numbers_of(rows) == history.numbers_of([*rows, *unseen])
    assert history.numbers_of(rows) != history.numbers_of([*rows, *other])


def test_files_of_a_language_are_found_by_their_folders(tmp_path):
    names = ["a/locale/fr/LC_MESSAGES/a.po", "a/locale/fr_FR/b.mo", "a/locale/fr/LC_MESSAGES/a.mo"]
    for name in [*names, "a/locale/fr_CA/c.po", "a/locale/de/a.po"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    found = history.catalogues(tmp_path, "fr")
    assert {path.relative_to(tmp_path).as_posix() for path in found.values()} == {*names[:2]}


@pytest.mark.skipif(not shutil.which("msgmerge"), reason="gettext is not installed")
def test_the_memory_has_no_translation_of_the_new_version_alone(tmp_path):
    same, old, new = (
        ("Cancel", "Annulla"),
        ("Close the file 3", "Chiudi 3"),
        ("Wholly other", "Ben altro"),
    )
    later = [same, ("Close the file 4", "Chiudi il file 4"), new]
    before, after = (
        written(
            tmp_path, HEADER + "".join(f'\nmsgid "{a}"\nmsgstr "{b}"\n' for a, b in pairs), name
        )
        for name, pairs in (("old.po", [same, old]), ("new.po", later))
    )
    plural = (
        '\nmsgid "%d new"\nmsgid_plural "%d new ones"\nmsgstr[0] "%d nuovo"\nmsgstr[1] "%d nuovi"\n'
    )
    after.write_text(after.read_text() + plural)
    history.merge(before, after, tmp_path / "merged" / "it.po")
    document = files.read_document(tmp_path / "merged/it.po")
    assert {*files.document_pairs(document, drafts=True)} == {same, old}
    (fuzzy,) = (unit for unit in document.units if unit.state == "fuzzy")
    assert (fuzzy.source, fuzzy.old, fuzzy.target) == (later[1][0], *old)
