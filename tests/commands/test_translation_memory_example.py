"""examples/translation_memory: from .po files to proposals, with two updates of training."""

import re
import sys
from pathlib import Path

import editdistance
import polib
import pytest
from example_scripts import modules, refusal
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

memory, prepare, fuzzy = modules("translation_memory", "memory", "prepare", "fuzzy")
FOLDER = "translation_memory"
NOUNS = {"file": "fichero", "folder": "directorio", "page": "página", "table": "tabla"}
VERBS = {"Open": "Abrir", "Close": "Cerrar", "Read": "Leer", "Move": "Mover", "Print": "Imprimir"}
HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
MESSAGES = (
    HEADER
    + r"""
# a translator's word
#. extracted
#: a.c:1
#, fuzzy, c-format
#| msgid "Close the file %s in `old.c`"
msgid "Close the file %s in `new.c`"
msgstr "Cerrar el fichero %s en `old.c`"

#, fuzzy
#| msgid "%d old\n"
#| msgid_plural "%d olds\n"
msgid "%d new\n"
msgid_plural "%d news\n"
msgstr[0] "%d old\n"
msgstr[1] ""
"%d olds\n"
""

#, fuzzy
msgid "Open the file {x1} now"
msgstr ""

#, fuzzy
msgid "Open the file {x2} now"
msgstr "Abrir el fichero {x2} ya"

#, fuzzy
msgid ""
"wholly other words\n"
"of two lines"
msgstr "que nadie conoce"

msgid "Read"
msgstr "Leer"

#~ msgid "gone"
#~ msgstr   "ido"
"""
)


@pytest.fixture(scope="module")
def work(succeed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that prepare.py made of a .po file, with a model of two updates."""
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
    made = folder / "work"
    words = ["prepare.py", str(made), "--po", str(folder / "po"), "--vocabulary", "90"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        prepare.main()
    sizes = "--encoder-layers 1 --decoder-layers 1 --max-update 2 --save-interval-updates 0".split()
    for way in ([], ["concat"]):
        succeed(f"{FOLDER}/train.sh", made, *way, *sizes, MINUTES="600")
    return made


@pytest.mark.slow
def test_from_po_files_to_a_table(work, succeed):
    text = {side: (work / f"text/train.{side}").read_text("utf-8") for side in ("src", "new")}
    assert (work / "text/all.src").read_text("utf-8").startswith(text["src"])
    assert "<del>" in text["src"] and "<del>" not in text["new"]
    assert not (work / "memory.src").read_text("utf-8").count("not this")
    out = succeed(f"{FOLDER}/evaluate.sh", work)
    rows = {line.split("|")[1].strip(): line.split("|")[-4:-1] for line in out.splitlines()[1:]}
    assert [*rows][-4:] == ["no edits", "repaired by rule", "transformer_concat", "LevT"]
    assert (work / "settings.json").is_file()
    assert float(rows["repaired by rule"][2]) >= float(rows["no edits"][2])


@pytest.mark.slow
def test_fuzzy_entries_get_proposals_and_nothing_else_changes(work, succeed, tmp_path):
    file = tmp_path / "messages.po"
    file.write_text(MESSAGES, "utf-8")
    said = succeed(f"{FOLDER}/fuzzy.sh", work, file)
    before, after = polib.pofile(MESSAGES), polib.pofile(str(file))
    assert [(one.msgid, one.flags, one.previous_msgid) for one in before] == [
        (one.msgid, one.flags, one.previous_msgid) for one in after
    ]
    filled = [fuzzy.COMMENT in one.tcomment for one in after]
    assert filled == [True] * 4 + [False] * 3
    counts = re.findall(r"\b\d+\b", said.splitlines()[-1].removeprefix(str(file)))
    texts = [[(one.msgstr, one.msgstr_plural) for one in file] for file in (before, after)]
    same = sum(one == other for one, other in zip(*(some[:4] for some in texts)))
    assert same and counts == ["4", "5", str(same)], "one is as the memory has it"
    first, plural, empty, _, *others = after
    assert first.msgstr.count("%s") == 1
    assert plural.msgstr_plural[0].endswith("\n") and plural.msgstr_plural[1].count("%d") == 1
    assert empty.msgstr == "Abrir el fichero {x1} ya"  # as the memory has it
    assert [one.msgstr for one in others] == [one.msgstr for one in before[4:]]
    kept = [line for line in MESSAGES.splitlines() if not line.startswith(("msgstr", '"'))]
    lines = file.read_text("utf-8").splitlines()
    assert [one for one in lines if one in kept] == kept
    once = file.read_bytes()
    succeed(f"{FOLDER}/fuzzy.sh", work, file)
    assert file.read_bytes() == once


def test_what_is_not_to_be_proposed_stays_byte_for_byte():
    content = MESSAGES.replace("\n", "\r\n")
    assert fuzzy.filled(content, {}) == content
    number = content.split("\r\n").index("# a translator's word") + 1
    one = fuzzy.Proposal('a "b"\nc', 0.5)
    rest = fuzzy.filled(content, {number: {None: one}}).split(
        'msgstr ""\r\n"a \\"b\\"\\n"\r\n"c"\r\n'
    )
    # one line went, the comment came
    assert len(rest) == 2 and "".join(rest).count("\r\n") == content.count("\r\n")
    content = 'msgid "A"\nmsgstr "a\u2028\x85b"\n\nmsgid "B"\nmsgstr "old"\n'  # no ends of lines
    made = fuzzy.filled(content, {4: {None: fuzzy.Proposal("new", 0.5)}})
    assert made.endswith('0.50\nmsgid "B"\nmsgstr "new"\n') and made.startswith(content[:22])


@pytest.mark.parametrize(
    ("old", "new", "draft", "repaired"),
    [
        ("see issue 17.", "see issue 23.", "véase 17.", "véase 23."),
        ("see `os.stat`", "see `os.walk`", "véase `os.stat`", "véase `os.walk`"),
        ("see 17", "see 23", "17 y 17", "17 y 17"),  # twice
        ("an a", "an it", "la casa a", "la casa it"),  # not inside a word
        ("see 17", "see", "véase 17", "véase 17"),  # nothing comes in its place
    ],
)
def test_what_needs_no_translation_is_repaired_by_rule(old, new, draft, repaired):
    assert memory.repair(old, new, draft) == repaired
    text = "a\tb\u00a0: c\n\u202fd "  # whitespace stays
    assert memory.to_text(memory.to_line(text)) == text and "\n" not in memory.to_line(text)


@given(st.lists(st.text("ab c", min_size=1), min_size=1, max_size=6))
def test_the_best_match_is_the_most_similar_source(texts):
    asked = "a b c ab a"
    known = memory.Memory([(text, "t") for text in texts])
    words = [(text.split(), asked.split()) for text, _ in known.pairs]
    similar = [1 - editdistance.eval(*pair) / max(map(len, pair)) for pair in words]
    found = [*known.matches([asked], 1, itself=True)][0]
    best = max(similar, default=0)
    assert [one.similarity for one in found] == pytest.approx([best] if best >= 0.4 else [])


@pytest.mark.slow
def test_what_cannot_be_used_is_refused_in_one_line(work, tmp_path):
    damaged = tmp_path / "damaged.po"
    damaged.write_text(MESSAGES + '\nmsgid "no end\nmsgstr', "utf-8")
    content = damaged.read_bytes()
    assert str(damaged) in refusal(f"{FOLDER}/fuzzy.sh", work, damaged)
    assert damaged.read_bytes() == content
    assert "nowhere.po" in refusal(f"{FOLDER}/fuzzy.sh", work, tmp_path / "nowhere.po")


@pytest.mark.parametrize("left", ["all", "data"])
def test_what_a_run_left_is_refused_before_anything_is_read(left, tmp_path, monkeypatch):
    (tmp_path / left).mkdir()
    monkeypatch.setattr(sys, "argv", ["prepare.py", str(tmp_path), "--po", "nowhere"])
    with refuses(tmp_path / left):
        prepare.main()
