"""lev_memory: from .po files to proposals, with two updates of training."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest
from refusals import refuses

from lev_memory import cli, evaluate, prepare, proposals, propose, train
from lev_plugins.inference.checkpoints import load_state

STEPS = {"prepare": prepare, "train": train, "evaluate": evaluate, "propose": propose}
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
    args = cli.arguments([str(word) for word in words])
    return STEPS[args.command].run(args)


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


@pytest.mark.slow
def test_from_po_files_to_a_table(work, capsys):
    text = {side: (work / f"text/train.{side}").read_text("utf-8") for side in ("src", "new")}
    assert (work / "text/all.src").read_text("utf-8").startswith(text["src"])
    assert "<del>" in text["src"] and "<del>" not in text["new"]
    rows = zip(*(text[side].splitlines() for side in ("src", "new")))
    assert 0 < sum(marked == new for marked, new in rows) < 0.3 * text["new"].count("\n")
    assert not (work / "memory.src").read_text("utf-8").count("not this")
    assert step("evaluate", work) == 0
    out = capsys.readouterr().out
    assert out.count("decoding") == len(evaluate.THRESHOLDS) + 3
    table = [line for line in out.splitlines() if line.startswith("|")]
    rows = {line.split("|")[1].strip(): line.split("|")[-4:-1] for line in table}
    names = ["no edits", "repaired by rule", "LevT"]
    assert [name for name in rows if name in names] == names
    assert float(rows["repaired by rule"][2]) >= float(rows["no edits"][2])
    assert {*proposals.settings_of(work).outcomes} == {*proposals.WAYS}


@pytest.mark.slow
def test_more_minutes_resume_the_training_of_the_editor(work, capsys):
    assert json.loads((work / "model.json").read_text("utf-8"))["passes"] > 20
    assert (work / "model/checkpoint_best.pt").is_file()
    log = (work / "model/train.log").read_text("utf-8")
    assert '"valid_ter_normalized"' in log
    step("train", work, "--minutes", 600, *SIZES)
    assert capsys.readouterr().out.count("is trained") == 2
    step("train", work, "--minutes", 900, *SIZES, "--max-update", 4)
    assert capsys.readouterr().out.count("is trained") == 1, "the translation model"
    state = load_state(str(work / "model/checkpoint_last.pt"))
    assert state["optimizer_history"][-1]["num_updates"] == 4


@pytest.mark.slow
def test_a_small_memory_starts_from_the_model_of_a_larger_one(work, tmp_path, capsys):
    place = work.parent / "po/all.po"
    lines = [f"quite {noun} other {number}\n" for number in range(9) for noun in NOUNS]
    texts = [tmp_path / name for name in ("a.en", "a.it")]
    for path in texts:
        path.write_text("".join(lines), "utf-8")
    assert step("prepare", tmp_path / "other", "--text", *texts, "--vocabulary", 60) == 0
    told = json.loads((tmp_path / "other/memory.json").read_text("utf-8"))
    assert told == {"language": "it", "source": "en"}
    with refuses("--like"):
        step("train", tmp_path / "other", "--start", work)
    small = tmp_path / "small"
    assert step("prepare", small, "--memory", place, "--like", work) == 0
    capsys.readouterr()
    assert step("train", small, "--start", work, "--minutes", 600, *SIZES) == 0
    assert "translation" not in capsys.readouterr().out
    assert not (small / "translation").exists()
    assert (small / "model/checkpoint_last.pt").is_file()


@pytest.mark.slow
def test_a_folder_is_filled_and_a_broken_file_left_alone(work, tmp_path, capsys):
    outcomes = dict.fromkeys(proposals.WAYS, [(0.0, True)] * 10)
    rules = {"kept": 1.0, "found": 1.0}
    proposals.save_settings(work, proposals.Settings(0.9, 0.0, outcomes, rules))
    for name in ("a/one.po", "two.po", "broken.po"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEADER + MESSAGES + "x\n" * (name == "broken.po"), "utf-8")
    content = {path: path.read_bytes() for path in tmp_path.rglob("*.po")}
    for flag in ("--dry-run", "--diff"):
        assert step("propose", work, tmp_path, flag) == 2
        out, err = capsys.readouterr()
        assert "nothing was written" in out and "broken.po" in err
        assert ("+msgstr" in out) == (flag == "--diff")
        assert content == {path: path.read_bytes() for path in tmp_path.rglob("*.po")}
    assert step("propose", work, tmp_path, "--backup") == 2
    assert "2 of 3 files, 1 left alone" in capsys.readouterr().out
    assert (tmp_path / "broken.po").read_bytes() == content[tmp_path / "broken.po"]
    assert (tmp_path / "two.po.bak").read_bytes() == content[tmp_path / "two.po"]
    before, after = polib.pofile(HEADER + MESSAGES), polib.pofile(str(tmp_path / "a/one.po"))
    for line, other in zip(before, after, strict=True):
        assert (line.msgid, line.flags, line.previous_msgid) == (
            (other.msgid, other.flags, other.previous_msgid)
        )
    assert after[0].msgstr.count("%s") == 1 and after[1].msgstr == "Abrir el fichero {x1} ya"
    assert step("propose", work, tmp_path / "two.po", "-o", tmp_path / "new.po") == 0


#: of a folder "here"; a name that ends with / is a folder
HERE = {"here/a.po": HEADER}
DATA = {"here/data/": "", "here/text/valid.tgt": "un texto\n"}
REFUSED = [
    ({}, "prepare w --memory none", ["none"]),
    (HERE, "prepare w --memory w2", ["w2"]),
    ({"w/": ""}, "prepare w2 --memory w", ["has no file of"]),
    (HERE, "prepare w --like here --memory here", ["--like"]),
    ({"here/all/": ""}, "prepare here --memory nowhere", ["here/all"]),
    ({"here/data/": ""}, "prepare here --memory nowhere", ["here/data"]),
    (HERE, "evaluate here", ["holds no model"]),
    (HERE, "propose here none.po", ["none.po"]),
    (HERE, "propose here here/a.po", ["has no settings", "lev-memory evaluate"]),
    (HERE, "propose here here/a.po --precision 2", ["--precision 2"]),
    (HERE, "propose nowhere here/a.po", ["nowhere is no folder", "lev-memory prepare"]),
    *(
        (HERE | {"here/settings.json": text}, "propose here here/a.po", ["settings.json"])
        for text in ('{"delete', "[]", "\xff")
    ),
    (HERE, "train here --minutes 0", ["--minutes 0"]),
    (HERE, "train here", ["no data in", "lev-memory prepare"]),
    (DATA | {"here/model.json": "{}"}, "train here", ["model.json", "delete it"]),
]


@pytest.mark.parametrize(("content", "words", "parts"), REFUSED)
def test_refusals(content, words, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in content.items():
        path = tmp_path / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "latin-1")
    with refuses(*parts):
        step(*words.split())


def test_a_time_too_short_to_learn_anything_is_told_with_one_that_is_not(
    tmp_path, monkeypatch, capsys
):
    for name in ("data", "text"):
        (tmp_path / name).mkdir()
    (tmp_path / "text/valid.tgt").write_text("un texto\n", "utf-8")
    monkeypatch.setattr(train.Training, "run", lambda self, stage, more: None)
    recipe = {"dropout": 0, "passes": 1.0, "updates": {"translation": 90, "model": 200}}
    for name in ("translation", "model"):
        (tmp_path / name).mkdir()
    (tmp_path / "model.json").write_text(json.dumps(recipe), "utf-8")
    train.Training(tmp_path, 5, 1, None, []).train()
    assert "--minutes 10" in capsys.readouterr().out
    train.Training(tmp_path, 10, 1, None, []).train()
    assert "too few" not in capsys.readouterr().out


def test_an_outcome_is_better_than_the_text_and_no_worse_than_the_rule():
    row = prepare.Row("s", "a b c d", "a b c x", "n", "o", "a x x x", "0.5")
    evaluation = evaluate.Evaluation(None, evaluate.Memory([("s", "a b c d")]))
    texts = "a b c d", "a b x d", "a b x x", "a x x x", "x x x x"
    for draft, better in ((row.raw, [1, 1, 1, 0]), (row.draft, [1, 1, 0, 0])):
        proposed = [proposals.Proposal(text, 0.5) for text in texts]
        known = evaluation.outcomes([row] * 5, proposed, [draft] * 5)
        assert known == [(0.5, bool(is_better)) for is_better in better], (
            "unchanged ones say nothing"
        )


def test_a_draft_of_a_very_similar_source_asks_for_a_surer_model():
    settings = proposals.Settings(min_confidence=0.5, caution=1.0)
    new = "a b c d e f g h i j"
    for old, least in (("a b c d e f g h i x", 0.7), ("a b c d e x x x x x", 0.5), ("", 0.5)):
        change = proposals.Change(new, old, "draft")
        surer, less_sure = (proposals.Proposal("text", least + more) for more in (0.001, -0.001))
        assert settings.is_sure(change, surer)
        assert not settings.is_sure(change, less_sure)


@pytest.mark.parametrize("seed", range(20))
def test_the_chosen_margin_leaves_those_sentences_to_the_model_that_gain_most(seed):
    rng = random.Random(seed)
    margins = [rng.randrange(6) / 10 for _ in range(12)]  # many are equal
    gains = [rng.randint(-4, 3) for _ in margins]

    def gained(least):
        return sum(gain for margin, gain in zip(margins, gains, strict=True) if margin >= least)

    chosen, gain = evaluate.least_margin(margins, gains)
    assert gain == gained(chosen) == max(map(gained, [*margins, float("inf")]))


@pytest.mark.slow
def test_texts_of_one_language_are_told(programs, tmp_path, capsys):
    lines = "".join(f"the file {number}\n" for number in range(40))
    for name in ("a.en", "b.en"):
        (tmp_path / name).write_text(lines, "utf-8")
    texts = tmp_path / "a.en", tmp_path / "b.en"
    assert step("prepare", tmp_path / "work", "--text", *texts, "--vocabulary", 40) == 0
    assert "two languages?" in capsys.readouterr().err


def test_an_output_within_the_folder_is_not_filled_again(tmp_path):
    for name in ("a.po", "out/a.po", "out/deep/b.po"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(HEADER, "utf-8")

    def targets(*words: object) -> list[str]:
        args = cli.arguments(["propose", "WORK", *map(str, words)])
        paths = propose.paths_of(args)
        return [str(propose.target_of(path, args).relative_to(tmp_path)) for path in paths]

    out = tmp_path / "out"
    assert targets(tmp_path, "-o", out) == ["out/a.po"]
    assert targets(tmp_path) == ["a.po", "out/a.po", "out/deep/b.po"]
    assert targets(out, "-o", out) == ["out/a.po", "out/deep/b.po"]
    assert targets(tmp_path / "a.po", "-o", out) == ["out/a.po"]
    with refuses("is a file"):
        targets(tmp_path, "-o", tmp_path / "a.po")
