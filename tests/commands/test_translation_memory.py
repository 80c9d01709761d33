"""lev_memory: from .po files to proposals, with two updates of training."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest
from refusals import refuses
from tables import table

from lev_memory import cli, proposals, train
from lev_plugins.inference.checkpoints import load_state

NOUNS = {"file": "fichero", "folder": "directorio", "page": "página", "table": "tabla"}
VERBS = {"Open": "Abrir", "Close": "Cerrar", "Read": "Leer", "Move": "Mover", "Print": "Imprimir"}
HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: es\\n"\n'
SIZES = "--encoder-layers 1 --decoder-layers 1 --max-update 2 --log-interval 1".split()
MESSAGES = r"""
# a translator's word
#. extracted
#: a.c:1
#, fuzzy, c-format
#| msgid "Close the file %s in `old.c`"
msgid "Close the file %s in `new.c`"
msgstr "Cerrar el fichero %s en `old.c`"

#, fuzzy
msgid "Open the file {x1} now"
msgstr ""

#, fuzzy
msgid "Read the page {x2} today"
msgstr "Leer el página {x2} ya"

#, fuzzy
msgid "wholly other words"
msgstr "que nadie conoce"

msgid "Read"
msgstr "Leer"
"""


def step(*words: object) -> int:
    """A step of lev-memory; returns its status."""
    return cli.main([str(word) for word in words])


@pytest.fixture(scope="module")
def programs(succeed) -> Iterator[None]:
    """Runs commands that do not wait for torch, and measures the speed by few updates."""
    path = os.pathsep.join([str(succeed.keywords["programs"]), os.environ["PATH"]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        patch.setattr(train, "BEGINNING", 10)
        yield


@pytest.fixture(scope="module")
def work(programs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that prepare made of .po files, with models of two updates."""
    folder = tmp_path_factory.mktemp("memory")
    entries = [
        f'msgid "{verb} the {noun} {{x{number}}} now"\n'
        f'msgstr "{VERBS[verb]} el {NOUNS[noun]} {{x{number}}} ya"\n'
        for number in range(3)
        for verb in VERBS
        for noun in NOUNS
    ]
    entries.append('msgid "Wholly unlike"\nmsgstr "nada igual"\n')
    entries.append('#, fuzzy\nmsgid "not this"\nmsgstr "esto no"\n')
    (folder / "po").mkdir()
    (folder / "po/all.po").write_text("\n".join([HEADER, *entries]), "utf-8")
    (folder / "po/broken.po").write_text("nothing of the kind", "utf-8")
    folder_of_work = folder / "work"
    assert step("prepare", folder_of_work, "--po", folder / "po", "--vocabulary", 90) == 2
    assert step("train", folder_of_work, "--minutes", 600, *SIZES) == 0
    return folder_of_work


def test_from_po_files_to_a_table(work, capsys):
    sides = [
        (work / f"text/train.{side}").read_text("utf-8").splitlines() for side in ("src", "new")
    ]
    unchanged = sum(map(str.__eq__, *sides))
    assert 0 < unchanged < 0.3 * len(sides[1])
    assert any("<del>" in line for line in sides[0]) and "<del>" not in " ".join(sides[1])
    assert "not this" not in (work / "memory.src").read_text("utf-8")
    assert step("evaluate", work) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    rows = {line.split("|")[1].strip(): line.split("|")[-4:-1] for line in table}
    assert "LevT" in rows
    assert float(rows["repair"][2]) >= float(rows["no edits"][2])
    assert {*proposals.settings_of(work).outcomes} == {*proposals.WAYS}


def test_more_minutes_resume_the_training_of_the_editor(work, capsys):
    assert json.loads((work / "model.json").read_text("utf-8"))["passes"] > 20
    assert '"valid_ter_normalized"' in (work / "model/train.log").read_text("utf-8")
    for minutes, updates, trained in ((600, 2, 2), (900, 4, 1)):
        step("train", work, "--minutes", minutes, *SIZES, "--max-update", updates)
        assert capsys.readouterr().out.count("is trained") == trained
        state = load_state(str(work / "model/checkpoint_last.pt"))
        assert state["optimizer_history"][-1]["num_updates"] == updates


def test_a_small_memory_starts_from_the_model_of_a_larger_one(work, tmp_path):
    text = "".join(f"quite {noun} other {number}\n" for number in range(9) for noun in NOUNS)
    texts = [tmp_path / name for name in ("a.en", "a.it")]
    for path in texts:
        path.write_text(text, "utf-8")
    assert step("prepare", tmp_path / "other", "--text", *texts, "--vocabulary", 60) == 0
    languages = json.loads((tmp_path / "other/memory.json").read_text("utf-8"))
    assert languages == {"language": "it", "source": "en", "like": ""}
    with refuses("--like"):
        step("train", tmp_path / "other", "--start", work)
    small = tmp_path / "small"
    po = work.parent / "po/all.po"
    assert step("prepare", small, "--memory", po, "--like", work, "--plain-drafts") == 0
    repaired, alone = (set((small / f"text/train.{side}").open()) for side in ("draft", "raw"))
    assert alone < repaired
    assert step("train", small, "--start", work, "--minutes", 600, *SIZES) == 0
    assert not (small / "translation").exists()
    assert (small / "model/checkpoint_last.pt").is_file()


def test_a_folder_is_filled_and_a_broken_file_left_alone(work, tmp_path, capsys):
    outcomes = dict.fromkeys(proposals.WAYS, [(0.9, True)] * 10)
    weights = dict.fromkeys(proposals.WAYS, [{"bias": 4.0}, {"bias": 3.0}])
    proposals.save_settings(work, proposals.ModelSettings(0.9, 10, weights, outcomes))
    (tmp_path / "a").mkdir()
    for name in ("a/one.po", "two.po", "broken.po"):
        (tmp_path / name).write_text(HEADER + MESSAGES + "x\n" * (name == "broken.po"), "utf-8")
    content = {path: path.read_bytes() for path in tmp_path.rglob("*.po")}
    assert step("propose", work, tmp_path, "--backup") == 2
    assert "broken.po" in capsys.readouterr().err
    assert (tmp_path / "broken.po").read_bytes() == content[tmp_path / "broken.po"]
    assert (tmp_path / "two.po.bak").read_bytes() == content[tmp_path / "two.po"]
    before, after = polib.pofile(HEADER + MESSAGES), polib.pofile(str(tmp_path / "a/one.po"))
    for line, other in zip(before, after, strict=True):
        for name in ("msgid", "flags", "previous_msgid"):
            assert getattr(line, name) == getattr(other, name)
    assert after[0].msgstr.count("%s") == 1 and after[1].msgstr == "Abrir el fichero {x1} ya"
    assert step("propose", work, tmp_path / "two.po", "-o", tmp_path / "new.po") == 0


@pytest.mark.parametrize("row", table("commands/refused.tsv", "memory"))
def test_refusals(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files, words, *parts = row
    for file in files.split():
        name, _, text = file.partition("=")
        path = Path(name)
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text(text or HEADER, "latin-1")
    with refuses(*parts):
        step(*words.split())


def test_an_output_within_the_folder_is_not_filled_again(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for path in (tmp_path / "a.po", out / "b.po"):
        path.write_text(HEADER, "utf-8")
    for place in (tmp_path, tmp_path / "a.po", out):
        assert step("repair", place, "-o", out) == 0
        assert {*tmp_path.rglob("*.po")} == {tmp_path / "a.po", out / "a.po", out / "b.po"}
    with refuses("is a file"):
        step("repair", tmp_path, "-o", tmp_path / "a.po")
